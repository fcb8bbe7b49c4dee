//! Asks and answers of a run: everything whose result can differ between two computations.

use std::time::Duration;

use super::repeat::Repeat;
use crate::name::MessageId;
use crate::post::Said;

/// The answer to an ask.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    pub body: String,
    /// The reason, if it failed.
    pub failed: Option<String>,
    /// The sender of the answer.
    pub from: String,
    /// The file that holds it.
    pub file: String,
    /// The verdict that the person's own command recorded for this ask.
    pub said: Option<Box<Said>>,
}

/// A person's commands about the whole run, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// End the run. With `let_finish`, agents at work go on to their end.
    Cancel {
        let_finish: bool,
    },
    Retry(Repeat),
}

/// A question of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    pub id: MessageId,
    pub step: usize,
    pub item: usize,
    pub attempt: u32,
    pub kind: AskKind,
    pub timeout: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AskKind {
    /// An agent has to do the step.
    Work { to: String, subject: String, body: String },
    /// A person has to approve the result.
    Approval { by: String, subject: String, body: String },
    /// A command has to pass the result.
    Command { gate: usize, text: String },
}
