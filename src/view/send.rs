//! Receipts: the outcome of each copy of a sent message, and of waiting for it.

use serde::Serialize;

use crate::name::MailboxId;
use crate::post::{self, Outcome};

/// What became of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// It is in the mailbox and durable.
    Queued,
    /// This message was already delivered.
    SentBefore,
    /// It is in the mailbox, but its durability is not proven.
    Unproven,
    /// It was not delivered.
    Failed,
}

impl Delivery {
    pub fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Queued => Self::Queued,
            Outcome::Already(_) => Self::SentBefore,
            Outcome::Unproven(_) => Self::Unproven,
            Outcome::Failed(_) => Self::Failed,
        }
    }
}

/// The recipient of a copy.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Recipient<'a> {
    /// The id of the mailbox; left out if an answer went to a file that belongs to no mailbox of the room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a str>,
    /// Its name, its address if it is in another room, or the path of the file.
    pub name: &'a str,
}

/// One copy of a message that was sent.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Receipt<'a> {
    /// The id of the message.
    pub id: &'a str,
    /// The recipient.
    pub to: Recipient<'a>,
    /// The subject.
    pub subject: &'a str,
    /// What became of it.
    pub state: Delivery,
    /// For a failure the reason, for `sent_before` the folder, for `unproven` the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The name of the delivered file.
    pub file: &'a str,
}

impl<'a> Receipt<'a> {
    fn of(receipt: &'a post::Receipt) -> Self {
        let detail = match &receipt.outcome {
            Outcome::Queued => None,
            Outcome::Already(folder) => Some(folder.as_str().to_owned()),
            Outcome::Unproven(why) => Some(why.clone()),
            Outcome::Failed(e) => Some(e.to_string()),
        };
        Self {
            id: receipt.id.as_str(),
            to: Recipient { id: receipt.to.id().map(MailboxId::as_str), name: &receipt.name },
            subject: &receipt.subject,
            state: Delivery::of(&receipt.outcome),
            detail,
            file: &receipt.file,
        }
    }
}

/// The outcome of each copy, printed by `send`, `reply`, `handback`, and `done` with an answer. `reply --channel` has
/// one receipt per request, the newest last.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Receipts<'a> {
    /// One receipt per copy.
    pub receipts: Vec<Receipt<'a>>,
}

impl<'a> Receipts<'a> {
    pub fn of(receipts: &[&'a post::Receipt]) -> Self {
        Self { receipts: receipts.iter().map(|receipt| Receipt::of(receipt)).collect() }
    }
}

/// The progress of a copy, printed by `send --wait-for`, one document per copy.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Fate<'a> {
    /// The id of the message.
    pub id: &'a str,
    /// The name of the recipient.
    pub to: &'a str,
    /// Whether it reached the awaited state.
    pub reached: bool,
    /// Its state, in words.
    pub state: &'a str,
}

/// A new agent with its task, printed by `spawn`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Spawn<'a> {
    /// The name of the new agent.
    pub name: &'a str,
    /// The id of its mailbox.
    pub id: &'a str,
    /// The id of the message that holds its task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a str>,
    /// Whether a window or a pane was opened for it.
    pub opened: bool,
    /// Why none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'a str>,
    /// The command that starts it.
    pub command: &'a str,
}

/// One file that was moved.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Filed {
    /// Its name.
    pub file: String,
    /// False if it was already in that folder.
    pub moved: bool,
}

/// Messages that were moved to another folder, printed by `archive` and `unarchive`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Archive {
    /// The folder they are in now: `archive` or `inbox`.
    pub folder: &'static str,
    /// The messages.
    pub filed: Vec<Filed>,
}
