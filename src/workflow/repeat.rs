//! What a person's `retry` repeats: whole steps, or single items of a step in one round. Pure.
//!
//! It is computed once, from the run as it is when the person asks, and recorded in the mail of the run. So every later
//! computation repeats the same. Items that are done keep their results.
//!
//! ```text
//! repeat join                      the whole step
//! repeat each, round 1: 3 17 42    these items of it, counted from 1
//! ```

use std::collections::BTreeSet;

use super::definition::Definition;
use super::engine::Engine;
use super::standing::{Phase, StepState};

/// Steps and items to repeat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repeat {
    pub steps: Vec<String>,
    pub parts: Vec<Part>,
}

/// Items of a step in one round; both counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub step: String,
    pub round: u32,
    pub items: Vec<usize>,
}

impl Repeat {
    /// Everything that failed, or was in progress when the run ended.
    pub fn failed(engine: &Engine) -> Self {
        let mut repeat = Self::default();
        let (definition, states) = (engine.definition(), engine.steps());
        let mut whole = BTreeSet::new();
        for (index, state) in states.iter().enumerate() {
            let stops = matches!(state.phase, Phase::Failed(_, false) | Phase::Running);
            if !stops || is_being_handled(engine, index) {
                continue;
            }
            let open = unfinished(state);
            if !open.is_empty() {
                repeat.add(definition, index, state, open);
                continue;
            }
            whole.insert(index);
            // It lacks results that it joins.
            for need in &definition.steps[index].needs {
                let open = unfinished(&states[*need]);
                if !open.is_empty() {
                    repeat.add(definition, *need, &states[*need], open);
                    whole.extend(begun_after(engine, *need));
                }
            }
        }
        repeat.steps = names(definition, whole);
        repeat
    }

    /// A step and all that follow it. Of a step that failed in part, only the unfinished items, unless `all`.
    pub fn from_step(engine: &Engine, step: usize, all: bool) -> Self {
        let definition = engine.definition();
        let (defined, state) = (&definition.steps[step], &engine.steps()[step]);
        let mut whole: BTreeSet<usize> = indices(&definition.after(step)).collect();
        let open = unfinished(state);
        let mut repeat = Self::default();
        if !all && defined.foreach.is_some() && !open.is_empty() {
            whole.retain(|index| *index != step && definition.steps[*index].handler_of != Some(step));
            repeat.add(definition, step, state, open);
        }
        repeat.steps = names(definition, whole);
        repeat
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.parts.is_empty()
    }

    fn add(&mut self, definition: &Definition, step: usize, state: &StepState, items: Vec<usize>) {
        let part = Part { step: definition.steps[step].name.clone(), round: state.round, items };
        if !self.parts.contains(&part) {
            self.parts.push(part);
        }
    }

    /// The lines of a message that records it.
    pub fn text(&self) -> String {
        let mut text: String = self.steps.iter().map(|step| format!("repeat {step}\n")).collect();
        for Part { step, round, items } in &self.parts {
            let items: Vec<String> = items.iter().map(|item| (item + 1).to_string()).collect();
            text.push_str(&format!("repeat {step}, round {}: {}\n", round + 1, items.join(" ")));
        }
        text
    }

    /// Reads those lines. `None` if one of them is wrong.
    pub fn parse(text: &str) -> Option<Self> {
        let mut repeat = Self::default();
        for line in text.lines().filter_map(|line| line.strip_prefix("repeat ")) {
            let Some((step, rest)) = line.split_once(", round ") else {
                repeat.steps.push(line.to_owned());
                continue;
            };
            let (round, items) = rest.split_once(": ")?;
            let round = round.parse::<u32>().ok()?.checked_sub(1)?;
            let item = |word: &str| word.parse::<usize>().ok()?.checked_sub(1);
            let items = items.split(' ').map(item).collect::<Option<_>>()?;
            repeat.parts.push(Part { step: step.to_owned(), round, items });
        }
        Some(repeat)
    }
}

/// The items of a step without a result.
fn unfinished(state: &StepState) -> Vec<usize> {
    let open = state.items.iter().enumerate().filter(|(_, item)| item.outcome != Some(Ok(())));
    open.map(|(index, _)| index).collect()
}

/// Whether the handler of a step's failure has failed or is in progress: then the handler is repeated, not the step.
fn is_being_handled(engine: &Engine, step: usize) -> bool {
    let steps = engine.definition().steps.iter().zip(engine.steps());
    let mut handlers = steps.filter(|(defined, _)| defined.handler_of == Some(step));
    handlers.any(|(_, handler)| {
        handler.round == engine.steps()[step].round
            && matches!(handler.phase, Phase::Failed(_, false) | Phase::Running)
    })
}

/// The steps after this one that have begun: they used its results.
fn begun_after(engine: &Engine, step: usize) -> impl Iterator<Item = usize> {
    let after = engine.definition().after(step);
    let begun = move |index: &usize| *index != step && engine.steps()[*index].phase != Phase::Waiting;
    indices(&after).filter(begun).collect::<Vec<_>>().into_iter()
}

fn indices(reached: &[bool]) -> impl Iterator<Item = usize> {
    reached.iter().enumerate().filter(|(_, reached)| **reached).map(|(index, _)| index)
}

fn names(definition: &Definition, steps: BTreeSet<usize>) -> Vec<String> {
    steps.into_iter().map(|index| definition.steps[index].name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_was_written() {
        let part = Part { step: "each".into(), round: 2, items: vec![0, 16, 41] };
        let repeat = Repeat { steps: vec!["a".into(), "b".into()], parts: vec![part] };
        let text = repeat.text();
        assert_eq!(text, "repeat a\nrepeat b\nrepeat each, round 3: 1 17 42\n");
        assert_eq!(Repeat::parse(&format!("by user\n{text}")), Some(repeat));
        for wrong in
            ["repeat a, round 0: 1", "repeat a, round 1: 0", "repeat a, round 1: x", "repeat a, round 1"]
        {
            assert_eq!(Repeat::parse(wrong), None, "{wrong}");
        }
    }
}
