//! One item of a step: from the ask to a result that passed its gates, attempt by attempt. Part of the [`Engine`], and
//! also pure.

use std::sync::Arc;

use serde_json::Value as Json;

use super::definition::{Gate, Output};
use super::engine::{Ask, AskKind, Engine, Phase, StepState};
use super::schema;
use super::verdict::{Ruling, Verdict};
use crate::message::envelope::subject_with;
use crate::message::visible;
use crate::name::MessageId;

/// How often an agent is asked again whose verdict is unclear.
const UNCLEAR: u32 = 2;

/// The outcome of a gate.
pub(super) enum Passed {
    Yes,
    No(String),
    /// The agent decided against what it looked at. To ask it again would not change that.
    Rejected(String),
    /// The agent decided nothing, and is asked again.
    Unclear(String),
    /// An ask has to be answered first.
    Asks(Box<Ask>),
}

impl Engine {
    /// The last step, in the order of the definition, that has a result.
    pub fn last_result(&self) -> Option<&str> {
        let has_text = |state: &StepState| state.items.iter().any(|item| item.text.is_some());
        let last = self.steps.iter().rposition(|state| state.phase == Phase::Done && has_text(state))?;
        Some(&self.definition.steps[last].name)
    }

    /// The last request to an agent for each item of a step.
    pub fn last_requests(&self, step: usize) -> Vec<MessageId> {
        let items = self.steps[step].items.iter().enumerate();
        items.map(|(item, state)| self.id_of(step, item, state.attempt, "work", 0)).collect()
    }

    /// Advances an item as far as answers exist. Returns how it ended, or `None` while it waits for an answer.
    pub(super) fn follow(&mut self, step: usize, item: usize) -> Option<Result<(), String>> {
        let definition = Arc::clone(&self.definition);
        let defined = &definition.steps[step];
        let agent = defined.agent.render(&self.context(step, Some(item), &defined.agent.uses));
        match agent.map(|agent| agent.trim().to_owned()) {
            Ok(agent) => self.steps[step].items[item].agent = agent,
            Err(why) => return Some(Err(why)),
        }
        loop {
            let attempt = self.steps[step].items[item].attempt;
            let id = self.id_of(step, item, attempt, "work", 0);
            let Some(answer) = self.answers.get(&id).cloned() else {
                return match self.work_for(step, item) {
                    Ok(kind) => {
                        self.ask(Ask { id, step, item, attempt, kind, timeout: defined.timeout });
                        None
                    }
                    // A request that cannot be written fails in the same way on every attempt.
                    Err(why) => Some(Err(why)),
                };
            };
            let passed = match answer.failed {
                Some(why) => Passed::No(why),
                None => {
                    let state = &mut self.steps[step].items[item];
                    (state.text, state.file) = (Some(answer.body.clone()), answer.file);
                    self.gates(step, item, &answer.body)
                }
            };
            let state = &mut self.steps[step].items[item];
            let (refused, again) = match passed {
                Passed::Yes => return Some(Ok(())),
                Passed::No(why) => (why, attempt < defined.retry + state.unclear),
                Passed::Rejected(why) => (why, false),
                Passed::Unclear(why) => {
                    state.unclear += 1;
                    (why, state.unclear <= UNCLEAR)
                }
                Passed::Asks(ask) => {
                    self.ask(*ask);
                    return None;
                }
            };
            if !again {
                return Some(Err(refused));
            }
            (state.attempt, state.failure) = (attempt + 1, Some(refused));
        }
    }

    fn ask(&mut self, ask: Ask) {
        self.fresh.push(ask.id.clone());
        self.open.insert(ask.id.clone(), ask);
    }

    /// The request to the agent.
    fn work_for(&mut self, step: usize, item: usize) -> Result<AskKind, String> {
        let definition = Arc::clone(&self.definition);
        let defined = &definition.steps[step];
        let mut body = self.written(step, item, &defined.prompt)?;
        if !body.ends_with('\n') {
            body.push('\n');
        }
        let failure = self.steps[step].items[item].failure.clone();
        // The next attempt has to know why the last one failed, unless the template already includes the failure.
        if let Some(why) = failure.filter(|_| !defined.prompt.uses.others.contains("failure")) {
            let label = format!("{}-failure", self.label(step, item));
            let why = self.quoted(&label, &why, definition.result_bytes);
            body.push_str(&format!("\n## Why the last attempt was not accepted\n\n{why}\n"));
        }
        if defined.output == Output::Json {
            body.push_str("\n## Expected Output\n\nJSON and nothing else");
            for gate in &defined.gates {
                if let Gate::Schema(schema) = gate {
                    body.push_str(&format!(", of this schema:\n\n```json\n{schema:#}\n```"));
                }
            }
            body.push('\n');
        }
        for gate in &defined.gates {
            if let Gate::Verdict(verdict) = gate {
                body.push_str(&format!("\n## Verdict\n\nEnd with a line that is {}.\n", verdict.lines()));
            }
        }
        self.fits(&body)?;
        if body.trim().is_empty() {
            return Err("its prompt is empty".to_owned());
        }
        let subject = self.subject("", step, item);
        let to = self.steps[step].items[item].agent.clone();
        Ok(AskKind::Work { to, subject, body })
    }

    pub(super) fn fits(&self, body: &str) -> Result<(), String> {
        let limit = self.facts.body_bytes;
        match body.len() > limit {
            true => Err(format!("its prompt is {} bytes long; the limit of the room is {limit}", body.len())),
            false => Ok(()),
        }
    }

    pub(super) fn subject(&self, prefix: &str, step: usize, item: usize) -> String {
        let defined = &self.definition.steps[step];
        let which = match &defined.foreach {
            Some(_) => format!("{} {}", defined.name, item + 1),
            None => defined.name.clone(),
        };
        let about = if defined.about.is_empty() {
            String::new()
        } else {
            format!(" ({})", visible::clip(&defined.about, 80))
        };
        subject_with(prefix, &format!("{}: {which}{about}", self.definition.name))
    }

    /// Checks whether a result passes all gates.
    fn gates(&mut self, step: usize, item: usize, text: &str) -> Passed {
        let definition = Arc::clone(&self.definition);
        let defined = &definition.steps[step];
        self.steps[step].items[item].json = None;
        if defined.output == Output::Json {
            match json_of(text) {
                Ok(json) => self.steps[step].items[item].json = Some(json),
                Err(why) => return Passed::No(why),
            }
        }
        for (number, gate) in defined.gates.iter().enumerate() {
            let passed = match gate {
                Gate::Contains(wanted) if text.contains(wanted.as_str()) => Passed::Yes,
                Gate::Contains(wanted) => Passed::No(refusal(wanted, text)),
                Gate::Verdict(verdict) => match verdict.ruling(text) {
                    Ruling::Accept => Passed::Yes,
                    Ruling::Reject(word) => {
                        Passed::Rejected(format!("its verdict is {word}:\n{}", Verdict::besides(text)))
                    }
                    Ruling::Unclear(why) => Passed::Unclear(format!("{why}:\n\n{}", text.trim())),
                },
                Gate::Schema(schema) => {
                    self.fits_schema(step, item, schema).map_or_else(Passed::No, |()| Passed::Yes)
                }
                Gate::Command { .. } => self.command(step, item, number, text),
                Gate::Approval { by, ask } => self.approval(step, item, number, by, ask.as_ref(), text),
            };
            if !matches!(passed, Passed::Yes) {
                return passed;
            }
        }
        Passed::Yes
    }

    fn fits_schema(&self, step: usize, item: usize, schema: &Json) -> Result<(), String> {
        let state = &self.steps[step].items[item];
        let json = match &state.json {
            Some(json) => json.clone(),
            None => json_of(state.text.as_deref().unwrap_or_default())?,
        };
        let faults: Vec<String> = schema::faults(schema, &json).into_iter().take(5).collect();
        match faults.is_empty() {
            true => Ok(()),
            false => Err(format!("its output does not fit the schema: {}", faults.join("; "))),
        }
    }

    fn command(&mut self, step: usize, item: usize, gate: usize, text: &str) -> Passed {
        let attempt = self.steps[step].items[item].attempt;
        let id = self.id_of(step, item, attempt, "command", gate);
        match self.answers.get(&id) {
            Some(answer) => answer.failed.clone().map_or(Passed::Yes, Passed::No),
            None => {
                let kind = AskKind::Command { gate, text: text.to_owned() };
                Passed::Asks(Box::new(Ask { id, step, item, attempt, kind, timeout: None }))
            }
        }
    }

    /// The file name of a result within its run.
    pub(super) fn label(&self, step: usize, item: usize) -> String {
        let defined = &self.definition.steps[step];
        match &defined.foreach {
            Some(_) => format!("{}-{}", defined.name, item + 1),
            None => defined.name.clone(),
        }
    }
}

/// The reason for refusing a result that lacks a text. The agent of the next attempt reads it.
fn refusal(wanted: &str, text: &str) -> String {
    let clipped = visible::clip(wanted, 80);
    format!("`{clipped}` does not stand in its result:\n\n{}", text.trim())
}

/// The JSON of an answer: all of it, else its last fenced block.
pub(super) fn json_of(text: &str) -> Result<Json, String> {
    let whole = serde_json::from_str(text.trim());
    let Err(e) = whole else { return whole.map_err(|e| e.to_string()) };
    let mut parts = text.split("\n```").collect::<Vec<_>>();
    if text.starts_with("```") {
        parts.insert(0, "");
        parts[1] = parts[1].trim_start_matches("```");
    }
    let inside = parts.iter().skip(1).rev().filter_map(|part| part.split_once('\n'));
    let last = inside.map(|(_, rest)| serde_json::from_str(rest.trim())).find_map(Result::ok);
    last.ok_or_else(|| format!("its output is not JSON: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_is_found_as_agents_wrap_it() {
        for text in [
            "{\"a\": 1}",
            " {\"a\":1}\n",
            "```json\n{\"a\":1}\n```",
            "Here it is:\n\n```json\n{\"a\": 1}\n```\nDone.",
        ] {
            assert_eq!(json_of(text), Ok(json!({"a": 1})), "{text}");
        }
        assert!(json_of("no").unwrap_err().contains("not JSON"));
        assert!(json_of("```").is_err() && json_of("").is_err() && json_of("```\n```").is_err());
    }
}
