//! The engine: computes the state of a run and its next asks, as a pure function of the definition, the inputs and the
//! accepted mail. No clock, no disk, no randomness.
//!
//! Everything whose result can differ between two computations (an agent's answer, a person's decision, the exit of a
//! command, a timeout) is an [`Answer`] to an [`Ask`]. The id of an ask is derived from the run, the step, the item,
//! the round and the attempt. So every computation gets the same ids, and a run that was interrupted anywhere continues
//! from its mail alone. `item.rs` turns one item of a step into a result; `context.rs` builds what templates see.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value as Json;

pub use super::ask::{Answer, Ask, AskKind, Control};
use super::definition::{Definition, ITEMS, Join, OnFailure, Then};
pub use super::standing::{Item, Phase, Status, StepState};
use crate::name::MessageId;

/// The constants of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    pub run: String,
    pub inputs: serde_json::Map<String, Json>,
    /// The directory for results that are too large for a prompt.
    pub results: PathBuf,
    /// The longest text that can be sent.
    pub body_bytes: usize,
    /// Names in gates that mean the person, whose answer counts only if recorded.
    pub persons: Vec<String>,
}

/// An item of a step, in one round of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ItemOfRound {
    step: usize,
    item: usize,
    round: u32,
}

/// A run, computed from its mail.
#[derive(Debug)]
pub struct Engine {
    pub(super) definition: Arc<Definition>,
    pub(super) facts: RunFacts,
    pub(super) answers: HashMap<MessageId, Answer>,
    controls: BTreeMap<u32, Control>,
    /// Asks that were sent before, as far as known. A run that has to stop lets them end and begins nothing else.
    asked: HashSet<MessageId>,
    /// How often a person repeated each step, and single items of it in a round.
    epochs: Vec<u32>,
    renewed: HashMap<ItemOfRound, u32>,
    pub(super) steps: Vec<StepState>,
    followers: Vec<Vec<usize>>,
    work: VecDeque<Work>,
    /// Asks without an answer.
    pub(super) open: HashMap<MessageId, Ask>,
    /// New asks since the last `take_fresh`, in order.
    pub(super) fresh: Vec<MessageId>,
    /// Results that prompts refer to by path: file name and text.
    pub(super) kept: BTreeMap<String, String>,
    /// The sentences that name such a path.
    pub(super) references: HashSet<String>,
    /// Decisions about results, for people.
    pub(super) decisions: Vec<String>,
    running: BTreeSet<usize>,
    /// Steps whose state may have changed since the last `take_touched`.
    touched: BTreeSet<usize>,
    stopping: bool,
}

#[derive(Debug, Clone, Copy)]
enum Work {
    Check(usize),
    Item(usize, usize),
}

impl Engine {
    /// Computes the state of a run.
    pub fn new(
        definition: Arc<Definition>,
        facts: RunFacts,
        answers: HashMap<MessageId, Answer>,
        controls: BTreeMap<u32, Control>,
        asked: HashSet<MessageId>,
    ) -> Self {
        let count = definition.steps.len();
        let (mut epochs, mut renewed) = (vec![0; count], HashMap::new());
        for control in controls.values() {
            let Control::Retry(repeat) = control else { continue };
            for step in repeat.steps.iter().filter_map(|name| definition.step(name)) {
                epochs[step] += 1;
            }
            for part in &repeat.parts {
                let Some(step) = definition.step(&part.step) else { continue };
                for item in &part.items {
                    let of = ItemOfRound { step, item: *item, round: part.round };
                    *renewed.entry(of).or_default() += 1;
                }
            }
        }
        let mut engine = Self {
            steps: vec![StepState::default(); count],
            followers: definition.followers(),
            epochs,
            renewed,
            work: VecDeque::new(),
            open: HashMap::new(),
            fresh: vec![],
            kept: BTreeMap::new(),
            references: HashSet::new(),
            decisions: vec![],
            running: BTreeSet::new(),
            touched: (0..count).collect(),
            stopping: false,
            definition,
            facts,
            answers,
            controls,
            asked,
        };
        let roots = engine.definition.steps.iter().enumerate();
        let roots = roots.filter(|(_, step)| step.needs.is_empty() && step.handler_of.is_none());
        engine.work = roots.map(|(index, _)| Work::Check(index)).collect();
        engine.settle();
        engine
    }

    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    pub fn facts(&self) -> &RunFacts {
        &self.facts
    }

    /// How many steps are settled. In a completed run this is all of them: what waits there is not needed.
    pub fn settled(&self) -> usize {
        if self.status() == Status::Completed {
            return self.steps.len();
        }
        self.steps.iter().filter(|step| step.phase.is_settled()).count()
    }

    pub fn steps(&self) -> &[StepState] {
        &self.steps
    }

    pub fn controls(&self) -> &BTreeMap<u32, Control> {
        &self.controls
    }

    pub fn decisions(&self) -> &[String] {
        &self.decisions
    }

    pub fn answer(&self, id: &MessageId) -> Option<&Answer> {
        self.answers.get(id)
    }

    /// The asks that wait for an answer.
    pub fn open(&self) -> &HashMap<MessageId, Ask> {
        &self.open
    }

    /// Returns the asks since the last call.
    pub fn take_fresh(&mut self) -> Vec<Ask> {
        let fresh = std::mem::take(&mut self.fresh);
        fresh.iter().filter_map(|id| self.open.get(id).cloned()).collect()
    }

    /// Returns the steps whose state may have changed since the last call.
    pub fn take_touched(&mut self) -> BTreeSet<usize> {
        std::mem::take(&mut self.touched)
    }

    /// Returns the results to keep since the last call.
    pub fn take_kept(&mut self) -> BTreeMap<String, String> {
        std::mem::take(&mut self.kept)
    }

    pub fn status(&self) -> Status {
        match (self.controls.values().next_back(), self.running.is_empty(), self.stopping) {
            (Some(Control::Cancel { .. }), ..) => Status::Cancelled,
            (_, false, _) => Status::InProgress,
            (_, true, true) => Status::Failed,
            (_, true, false) => Status::Completed,
        }
    }

    /// Accepts an answer. `false` if no ask waits for it.
    pub fn accept(&mut self, id: &MessageId, answer: Answer) -> bool {
        let Some(ask) = self.open.remove(id) else { return false };
        self.fresh.retain(|fresh| fresh != id);
        self.answers.insert(id.clone(), answer);
        self.work.push_back(Work::Item(ask.step, ask.item));
        self.settle();
        true
    }

    /// Computes the run again with one more command of a person.
    pub fn add_control(&mut self, number: u32, control: Control) {
        let (definition, facts) = (Arc::clone(&self.definition), self.facts.clone());
        let mut controls = std::mem::take(&mut self.controls);
        controls.insert(number, control);
        let (answers, asked) = (std::mem::take(&mut self.answers), std::mem::take(&mut self.asked));
        *self = Self::new(definition, facts, answers, controls, asked);
    }

    fn settle(&mut self) {
        while let Some(work) = self.work.pop_front() {
            match work {
                Work::Check(step) => self.check(step),
                Work::Item(step, item) => self.look_at(step, item),
            }
        }
    }

    /// The id of an ask.
    pub(super) fn id_of(
        &self,
        step: usize,
        item: usize,
        attempt: u32,
        kind: &str,
        number: usize,
    ) -> MessageId {
        let (name, round) = (&self.definition.steps[step].name, self.steps[step].round);
        let renewed = self.renewed.get(&ItemOfRound { step, item, round }).copied().unwrap_or(0);
        let epoch = self.epochs[step] + renewed;
        let run = &self.facts.run;
        let what = format!("workflow {run} {epoch} {name} {item} {round} {attempt} {kind} {number}");
        MessageId::derived(what.as_bytes())
    }

    /// Begins a step if everything it waits for is settled.
    fn check(&mut self, step: usize) {
        self.touched.insert(step);
        if self.steps[step].phase != Phase::Waiting || !self.may_begin(step) {
            return;
        }
        let definition = Arc::clone(&self.definition);
        let defined = &definition.steps[step];
        let phases = || defined.needs.iter().map(|need| &self.steps[*need].phase);
        // Only when all are settled: the joined results must not depend on who was faster.
        if !phases().all(Phase::is_settled) {
            return;
        }
        if let Join::AtLeast(wanted) = defined.join {
            let there: usize = defined.needs.iter().map(|need| self.successes(*need)).sum();
            if there < wanted {
                self.running.insert(step);
                let why = format!("only {there} of the {wanted} results that it joins are there");
                return self.fail(step, why);
            }
        }
        let skipped = |phase: &Phase| matches!(phase, Phase::Skipped(_));
        if !defined.needs.is_empty() && defined.when.is_none() && phases().all(skipped) {
            return self.end(step, Phase::Skipped("what it needs was skipped".to_owned()));
        }
        self.running.insert(step);
        if let Some(when) = &defined.when {
            match when.truth(&self.context(step, None, &when.uses)) {
                Ok(true) => {}
                Ok(false) => return self.end(step, Phase::Skipped(format!("`{}` is false", when.source))),
                Err(why) => return self.fail(step, format!("its `when` cannot be evaluated: {why}")),
            }
        }
        let values = match &defined.foreach {
            None => vec![Json::Null],
            Some(foreach) => match foreach.items(&self.context(step, None, &foreach.uses)) {
                Ok(items) if items.len() > ITEMS => {
                    let why = format!("its `foreach` has {} items; {ITEMS} are the limit", items.len());
                    return self.fail(step, why);
                }
                Ok(items) => items,
                Err(why) => return self.fail(step, format!("its `foreach` cannot be evaluated: {why}")),
            },
        };
        self.begin(step, values);
    }

    /// Whether a step may begin. Once the run has to stop, only a step whose first request was already sent may.
    fn may_begin(&self, step: usize) -> bool {
        let begun = || {
            let first = self.id_of(step, 0, 0, "work", 0);
            // Items are repeated only of a step that had begun.
            let repeated = || self.renewed.keys().any(|renewed| renewed.step == step);
            self.answers.contains_key(&first) || self.asked.contains(&first) || repeated()
        };
        !self.stopping || begun()
    }

    /// The number of results of a step that can be joined.
    fn successes(&self, step: usize) -> usize {
        self.steps[step].items.iter().filter(|item| item.outcome == Some(Ok(()))).count()
    }

    /// Begins a round of a step.
    fn begin(&mut self, step: usize, values: Vec<Json>) {
        self.touched.insert(step);
        self.running.insert(step);
        let count = values.len();
        let state = &mut self.steps[step];
        // This round's templates can refer to the results of the previous round.
        let before = std::mem::take(&mut state.items);
        let kept = |item: &Item| Item { text: item.text.clone(), json: item.json.clone(), ..Item::default() };
        state.items = (0..count).map(|at| before.get(at).map(kept).unwrap_or_default()).collect();
        (state.phase, state.values, state.open) = (Phase::Running, values, count);
        if count == 0 {
            return self.end(step, Phase::Done);
        }
        self.work.extend((0..count).map(|item| Work::Item(step, item)));
    }

    /// Advances one item as far as its answers allow.
    fn look_at(&mut self, step: usize, item: usize) {
        self.touched.insert(step);
        if self.steps[step].items.get(item).is_none_or(|item| item.outcome.is_some()) {
            return;
        }
        let Some(outcome) = self.follow(step, item) else { return };
        let state = &mut self.steps[step];
        state.items[item].outcome = Some(outcome);
        state.open -= 1;
        if state.open > 0 {
            return;
        }
        let failure = |(at, item): (usize, &Item)| Some((at, item.outcome.clone()?.err()?));
        let failures: Vec<(usize, String)> = state.items.iter().enumerate().filter_map(failure).collect();
        match failures.as_slice() {
            [] => self.end(step, Phase::Done),
            [(_, why)] if self.definition.steps[step].foreach.is_none() => self.fail(step, why.clone()),
            [(first, why), ..] => {
                let (failed, all) = (failures.len(), self.steps[step].items.len());
                self.fail(step, format!("{failed} of {all} items failed; item {}: {why}", first + 1));
            }
        }
    }

    /// A step has finally failed, unless another step handles the failure.
    fn fail(&mut self, step: usize, why: String) {
        match self.definition.steps[step].on_failure {
            OnFailure::Continue => self.end(step, Phase::Failed(why, true)),
            OnFailure::Step { step: handler, rounds, .. } if self.steps[step].round < rounds => {
                self.steps[handler].round = self.steps[step].round;
                if !self.may_begin(handler) {
                    return self.end(step, Phase::Failed(why, false));
                }
                self.steps[step].phase = Phase::Failed(why, false);
                self.begin(handler, vec![Json::Null]);
            }
            OnFailure::Stop | OnFailure::Step { .. } => self.end(step, Phase::Failed(why, false)),
        }
    }

    fn end(&mut self, step: usize, phase: Phase) {
        self.touched.insert(step);
        let goes_on = !matches!(phase, Phase::Failed(_, false));
        self.steps[step].phase = phase;
        self.running.remove(&step);
        if let Some(owner) = self.definition.steps[step].handler_of {
            self.handled(owner, goes_on);
        } else if goes_on {
            self.work.extend(self.followers[step].iter().copied().map(Work::Check));
        } else {
            self.stopping = true;
        }
    }

    /// The handler of a step's failure is done, or failed itself.
    fn handled(&mut self, owner: usize, done: bool) {
        let OnFailure::Step { then, .. } = self.definition.steps[owner].on_failure else { return };
        let why = match &self.steps[owner].phase {
            Phase::Failed(why, _) => why.clone(),
            _ => String::new(),
        };
        match then {
            Then::Again if done => {
                self.steps[owner].round += 1;
                if !self.may_begin(owner) {
                    self.steps[owner].round -= 1;
                    return self.end(owner, Phase::Failed(why, false));
                }
                // `when` and `join` apply to every round, not only the first.
                self.steps[owner].phase = Phase::Waiting;
                self.check(owner);
            }
            Then::Continue if done => self.end(owner, Phase::Failed(why, true)),
            _ => self.end(owner, Phase::Failed(why, false)),
        }
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
