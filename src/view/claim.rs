//! A mailbox as a work queue: claims, how each attempt ended, and dead letters.

use serde::Serialize;

use super::Versioned;
use super::message::Message;
use crate::dispatch::parked::Parked;
use crate::mailbox::claim;
use crate::post::{Claimed, DeadLetter, Me, Opened, Post};

/// A claim that is held.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Held<'a> {
    /// The token for `done`, `release`, `fail` and `claim --renew`.
    pub token: String,
    /// The name of the mailbox that the message was taken from.
    pub queue: &'a str,
    /// When the lease ends.
    pub until: &'a str,
    /// Which attempt this is, counted from 1.
    pub attempt: u32,
}

/// A message that was taken with a lease, printed by `claim`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Claim<'a> {
    /// The claim; left out if there was nothing to take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<Held<'a>>,
    /// The message; empty if there was nothing to take.
    pub messages: Vec<Message<'a>>,
}

impl<'a> Claim<'a> {
    pub const NOTHING: Self = Self { claim: None, messages: vec![] };

    pub fn of(post: &'a Post, claimed: &'a Claimed) -> Self {
        let claim = Held {
            token: claimed.token.to_string(),
            queue: post.name_of(claimed.queue.as_str()),
            until: &claimed.terms.ends,
            attempt: claimed.terms.attempt,
        };
        Self { claim: Some(claim), messages: vec![Message::of(post, &claimed.opened)] }
    }
}

/// The outcome of a claim, printed by `claim --renew`, `release`, `fail`, and `done` without an answer.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClaimState<'a> {
    /// The token of the claim.
    pub token: &'a str,
    /// `renewed`, `done`, `released` or `failed`.
    #[cfg_attr(test, schemars(extend("enum" = ["renewed", "done", "released", "failed"])))]
    pub state: &'a str,
    /// When the lease ends; left out if the claim has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<&'a str>,
}

/// How one attempt at a message ended.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Attempt<'a> {
    /// When it ended.
    pub time: &'a str,
    /// The token of its claim.
    pub token: &'a str,
    /// The mailbox that held the claim.
    pub owner: &'a str,
    /// `expired`, `failed`, `released` or `retried`.
    pub how: &'a str,
    /// The reason; left out if none was given.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub why: &'a str,
}

impl<'a> Attempt<'a> {
    pub fn all(attempts: &'a [claim::Attempt]) -> Vec<Versioned<Self>> {
        let of = |claim::Attempt { v: _, time, token, owner, how, why }: &'a claim::Attempt| {
            Versioned::of(Self { time, token, owner, how, why })
        };
        attempts.iter().map(of).collect()
    }
}

/// A dead letter.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FailedMessage<'a> {
    /// The id of the message; left out if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a str>,
    /// Its subject; left out if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<&'a str>,
    /// The name of its file.
    pub file: &'a str,
    /// Why it was given up.
    pub reason: &'a str,
    /// How often it was tried.
    pub tries: u32,
    /// How each attempt ended.
    pub attempts: Vec<Versioned<Attempt<'a>>>,
}

impl<'a> FailedMessage<'a> {
    fn of(letter: &'a DeadLetter) -> Self {
        let envelope = letter.envelope.as_ref().ok();
        Self {
            id: envelope.map(|envelope| envelope.id.as_str()),
            subject: envelope.map(|envelope| envelope.subject.as_str()),
            file: &letter.name,
            reason: letter.reason(),
            tries: letter.tries,
            attempts: Attempt::all(&letter.attempts),
        }
    }
}

/// An unread message that starts no agent until a person releases it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ParkedMessage<'a> {
    /// The name of its file.
    pub file: &'a str,
    /// Why it waits.
    pub reason: &'a str,
    /// Since when.
    pub since: &'a str,
}

impl<'a> ParkedMessage<'a> {
    fn of(parked: &'a Parked) -> Self {
        Self { file: &parked.file, reason: &parked.why, since: &parked.since }
    }
}

/// The dead letters of a mailbox, printed by `failed list`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FailedList<'a> {
    /// The id of the mailbox.
    pub mailbox: &'a str,
    /// The dead letters.
    pub failed: Vec<FailedMessage<'a>>,
    /// Unread messages that wait for a person; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parked: Vec<ParkedMessage<'a>>,
}

impl<'a> FailedList<'a> {
    pub fn of(me: &'a Me, letters: &'a [DeadLetter], parked: &'a [Parked]) -> Self {
        let failed = letters.iter().map(FailedMessage::of).collect();
        Self { mailbox: me.id.as_str(), failed, parked: parked.iter().map(ParkedMessage::of).collect() }
    }
}

/// What one mailbox of the room gave up or parked.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FailedIn<'a> {
    /// The name of the mailbox.
    pub name: &'a str,
    #[serde(flatten)]
    pub list: FailedList<'a>,
}

/// What the mailboxes of a room gave up or parked, printed by `failed list` for the whole room.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FailedListAll<'a> {
    /// The mailboxes that have any.
    pub mailboxes: Vec<FailedIn<'a>>,
}

/// A dead letter with its body, printed by `failed show`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FailedShow<'a> {
    /// The message.
    pub message: Message<'a>,
    /// How each attempt ended.
    pub attempts: Vec<Versioned<Attempt<'a>>>,
}

impl<'a> FailedShow<'a> {
    pub fn of(post: &Post, opened: &'a Opened, attempts: &'a [claim::Attempt]) -> Self {
        Self { message: Message::of(post, opened), attempts: Attempt::all(attempts) }
    }
}

/// Dead letters that are unread again, printed by `failed retry`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FailedRetry {
    /// Their ids.
    pub retried: Vec<String>,
}
