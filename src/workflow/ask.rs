//! What a run asks, and what it is told: everything that could come out otherwise another time.

use std::time::Duration;

use crate::name::MessageId;
use crate::post::Said;

/// What came back for an ask.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    pub body: String,
    /// It failed, and why.
    pub failed: Option<String>,
    /// Who answered.
    pub from: String,
    /// The file it lies in.
    pub file: String,
    /// What the person's own command has recorded for this ask.
    pub said: Option<Box<Said>>,
}

/// What a person has said about the run as a whole, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    Cancel,
    /// From this step on, everything again.
    Retry(String),
}

/// Something the run wants to know.
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
    /// An agent is to do the step.
    Work { to: String, subject: String, body: String },
    /// A person is to approve of the result.
    Approval { by: String, subject: String, body: String },
    /// A command is to pass the result.
    Command { gate: usize, text: String },
}
