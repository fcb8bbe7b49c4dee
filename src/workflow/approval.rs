//! Approval gates: the run asks a person by mail, and asks again until the answer is yes or no. Part of the [`Engine`],
//! and also pure.

use super::engine::{Answer, Ask, AskKind, Engine};
use super::item::Passed;
use super::template::Template;
use crate::message::visible;
use crate::name::MessageId;

/// How often the question is repeated after an answer that is neither yes nor no.
const ASKED: usize = 20;

/// What a person said.
#[derive(Debug, PartialEq, Eq)]
enum Word {
    Approve,
    Reject(String),
    Unclear,
}

impl Engine {
    /// What the run asks a person now, in order.
    pub fn asks_of_person(&self) -> Vec<&Ask> {
        let asks_person = |ask: &&Ask| match &ask.kind {
            AskKind::Approval { by, .. } => self.facts.persons.contains(by),
            AskKind::Work { .. } | AskKind::Command { .. } => false,
        };
        let mut asks: Vec<&Ask> = self.open().values().filter(asks_person).collect();
        asks.sort_by_key(|ask| (ask.step, ask.item));
        asks
    }

    /// The word that names a question to `approve`: `RUN/STEP`, or digits of its id if the step may ask several.
    pub fn name_of_ask(&self, step: usize, id: &MessageId) -> String {
        let step = &self.definition.steps[step];
        match id.brief().filter(|_| step.foreach.is_some()) {
            Some(digits) => digits,
            None => format!("{}/{}", self.facts.run, step.name),
        }
    }

    pub(super) fn approval(
        &mut self,
        step: usize,
        item: usize,
        gate: usize,
        by: &str,
        ask: Option<&Template>,
        text: &str,
    ) -> Passed {
        let attempt = self.steps[step].items[item].attempt;
        let name = self.definition.steps[step].name.clone();
        for asked in 0..ASKED {
            let id = self.id_of(step, item, attempt, "approval", gate * ASKED + asked);
            // Anybody can write an answer in the person's name into a mailbox, so only the recorded word counts.
            let recorded = |answer: &&Answer| {
                answer.failed.is_some()
                    || answer.said.is_some()
                    || !self.facts.persons.iter().any(|name| name == by)
            };
            let Some(answer) = self.answers.get(&id).filter(recorded) else {
                let is_person = self.facts.persons.iter().any(|name| name == by);
                let command = is_person.then(|| self.name_of_ask(step, &id));
                let body = match self.question(step, item, ask, text, command, asked > 0) {
                    Ok(body) => body,
                    Err(why) => return Passed::No(why),
                };
                let subject = self.subject("approve? ", step, item);
                let kind = AskKind::Approval { by: by.to_owned(), subject, body };
                // A person may take any time.
                let timeout = self.definition.steps[step].timeout.filter(|_| !is_person);
                return Passed::Asks(Box::new(Ask { id, step, item, attempt, kind, timeout }));
            };
            if let Some(why) = &answer.failed {
                return Passed::No(why.clone());
            }
            let said = answer.said.as_ref();
            let how = said.map_or(String::new(), |said| format!(" ({}, {})", said.at, said.terminal));
            match word(said.map_or(&answer.body, |said| &said.answer)) {
                Word::Approve => {
                    self.decisions.push(format!("{name}: approved by {by}{how}"));
                    return Passed::Yes;
                }
                Word::Reject(why) => {
                    let clipped = visible::clip(&why, 120);
                    self.decisions.push(format!("{name}: rejected by {by}{how}: {clipped}"));
                    return Passed::No(format!("{by} rejected it: {why}"));
                }
                Word::Unclear => {}
            }
        }
        Passed::No(format!("{by} was asked {ASKED} times and said neither approve nor reject"))
    }

    /// The question. `named`: the word for `approve`, if a person is asked.
    fn question(
        &mut self,
        step: usize,
        item: usize,
        ask: Option<&Template>,
        text: &str,
        named: Option<String>,
        again: bool,
    ) -> Result<String, String> {
        let asked = match ask {
            Some(ask) => self.written(step, item, ask)?,
            None => format!(
                "The step `{}` is done. May the run go on with its result?",
                self.definition.steps[step].name
            ),
        };
        let unclear = if again { "Your answer was neither `approve` nor `reject`.\n\n" } else { "" };
        let shown = self.quoted(&self.label(step, item), text, self.facts.body_bytes / 2);
        let command = named.map_or(String::new(), |word| {
            format!("{IN_TERMINAL}`postroom approve {word}`, or `postroom reject {word} -m WHY`.\n")
        });
        let body = format!("{unclear}{}\n\n{command}{BY_MAIL}\n\n## Result\n\n{}\n", asked.trim_end(), shown);
        self.fits(&body)?;
        Ok(body)
    }
}

/// How a person can answer a question.
const IN_TERMINAL: &str = "In a terminal: ";
const BY_MAIL: &str = "Answer this message with the line `approve`, or with `reject` and why.";

/// A question without the lines that say how to answer it, for a place that has its own way.
pub fn bare(question: &str) -> String {
    let (before, after) = question.split_once(BY_MAIL).unwrap_or((question, ""));
    let is_hint = |line: &str| line.starts_with(IN_TERMINAL) && line.contains("`postroom approve ");
    let lines: Vec<&str> = before.lines().collect();
    let kept = lines.len() - usize::from(lines.last().is_some_and(|line| is_hint(line)));
    format!("{}\n{}", lines[..kept].join("\n"), after)
}

/// What an answer means. It approves only if its first line is exactly `approve`.
fn word(text: &str) -> Word {
    let text = text.trim();
    if text.lines().next().is_some_and(|line| line.trim_end() == "approve") {
        return Word::Approve;
    }
    match text.strip_prefix("reject").filter(|rest| !rest.starts_with(char::is_alphanumeric)) {
        Some(rest) => {
            let why = rest.trim_start_matches(|c: char| !c.is_alphanumeric()).trim();
            Word::Reject(if why.is_empty() { "no reason was given".to_owned() } else { why.to_owned() })
        }
        None => Word::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_question_has_no_commands() {
        let how = format!("{IN_TERMINAL}`postroom approve x`, or `postroom reject x -m WHY`.\n{BY_MAIL}");
        assert_eq!(bare(&format!("Good?\n\n{how}\n\n## Result\n\nyes\n")), "Good?\n\n\n\n## Result\n\nyes\n");
        assert_eq!(bare("Good?"), "Good?\n");
    }

    #[test]
    fn a_word_decides() {
        assert_eq!(word("approve"), Word::Approve);
        assert_eq!(word("approve \n\nIt is fine.\n"), Word::Approve);
        assert_eq!(word("reject: too long"), Word::Reject("too long".into()));
        assert_eq!(word("reject\nToo long."), Word::Reject("Too long.".into()));
        assert_eq!(word("reject"), Word::Reject("no reason was given".into()));
        for unclear in [
            "",
            "approving would be wrong",
            "approve, but not yet",
            "ok, but",
            "yes",
            "I approve",
            "rejected",
        ] {
            assert_eq!(word(unclear), Word::Unclear, "{unclear}");
        }
    }
}
