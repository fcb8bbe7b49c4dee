//! Where messages are and what happened: `trace`, `log`, `thread`, `sent` and `search`.

use serde::Serialize;

use super::Versioned;
use super::claim::Attempt;
use super::message::{Header, Party};
use crate::journal;
use crate::post::{self, Post, line};

/// Something that happened, printed by `log`, one document per line.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Event<'a> {
    /// When, with milliseconds.
    pub time: &'a str,
    /// One word: `sent`, `shown`, `archived`, `setup`, …
    pub event: &'a str,
    /// The mailbox that acted.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub by: &'a str,
    /// The id of the message.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub id: &'a str,
    /// The mailbox that it went to.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub to: &'a str,
    /// The mailbox in which it happened, if that is not the one that acted.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub mailbox: &'a str,
    /// The subject of the message.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub subject: &'a str,
    /// The id of the message that it answers.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reply_to: &'a str,
    /// The name of the file.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub file: &'a str,
    /// Further details.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub note: &'a str,
}

impl<'a> Event<'a> {
    pub fn of(event: &'a journal::Event) -> Self {
        let journal::Event { v: _, time, event, by, id, to, mailbox, subject, reply_to, file, note } = event;
        Self { time, event, by, id, to, mailbox, subject, reply_to, file, note }
    }
}

/// One copy of a message.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Copy<'a> {
    /// The mailbox that it is in.
    pub mailbox: Party<'a>,
    /// The folder that it is in.
    pub folder: &'static str,
    /// The name of its file.
    pub file: &'a str,
    /// Its state: `queued`, `claimed`, `in progress`, `shown`, `done`, `answered`, `filed`, `failed`, or `archived, no
    /// evidence how`; on its way to another machine also `waits for network`, `carried` or `delivered`.
    pub state: &'static str,
    /// The state in words, with who, when and why.
    pub detail: String,
    /// How earlier attempts at it ended.
    pub attempts: Vec<Versioned<Attempt<'a>>>,
}

impl<'a> Copy<'a> {
    fn of(post: &'a Post, located: &'a post::Located) -> Self {
        Self {
            mailbox: match &located.address {
                Some(address) => Party { id: located.copy.mailbox.as_str(), name: address.into() },
                None => Party::of(post, located.copy.mailbox.as_str()),
            },
            folder: located.copy.folder.as_str(),
            file: &located.copy.header.name,
            state: located.state.as_str(),
            detail: line::of_state(post, &located.state),
            attempts: Attempt::all(&located.attempts),
        }
    }
}

/// An answer to a message.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Answer<'a> {
    /// The id of the answer.
    pub id: &'a str,
    /// The mailbox that it came from.
    pub from: &'a str,
}

/// Where a message is and what happened to it, printed by `trace`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trace<'a> {
    /// The id of the message.
    pub id: &'a str,
    /// Its subject.
    pub subject: &'a str,
    /// Its sender.
    pub from: Party<'a>,
    /// Its copies; empty if it is in no mailbox and only the journal knows it.
    pub copies: Vec<Copy<'a>>,
    /// Its answers.
    pub answers: Vec<Answer<'a>>,
    /// Its journal entries, as `log` prints them.
    pub events: Vec<Versioned<Event<'a>>>,
}

impl<'a> Trace<'a> {
    pub fn of(post: &'a Post, trace: &'a post::Trace) -> Self {
        let answer = |answer: &'a post::GivenAnswer| Answer { id: &answer.id, from: &answer.from };
        Self {
            id: trace.id.as_str(),
            subject: &trace.subject,
            from: Party::of(post, &trace.from),
            copies: trace.copies.iter().map(|located| Copy::of(post, located)).collect(),
            answers: trace.answers.iter().map(answer).collect(),
            events: trace.events.iter().map(|event| Versioned::of(Event::of(event))).collect(),
        }
    }
}

/// One message of a conversation.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Branch<'a> {
    /// Its depth in the conversation: 0 for the first message, 1 for an answer to that.
    pub depth: usize,
    /// The id of the message.
    pub id: &'a str,
    /// The id of the message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<&'a str>,
    /// The mailbox that sent it.
    pub from: &'a str,
    /// The mailboxes that it went to.
    pub to: &'a [String],
    /// Its subject.
    pub subject: &'a str,
    /// When it was sent.
    pub time: &'a str,
}

/// A whole conversation, printed by `thread`. Each message comes after the one that it answers.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Thread<'a> {
    /// The messages.
    pub messages: Vec<Branch<'a>>,
}

impl<'a> Thread<'a> {
    pub fn of(branches: &'a [post::Branch]) -> Self {
        let branch = |post::Branch { depth, node }: &'a post::Branch| {
            let post::Node { id, reply_to, from, to, subject, time, is_bounce: _ } = node;
            Branch { depth: *depth, id, reply_to: reply_to.as_deref(), from, to, subject, time }
        };
        Self { messages: branches.iter().map(branch).collect() }
    }
}

/// A message that was sent.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SentMessage<'a> {
    /// The id of the message.
    pub id: &'a str,
    /// The recipient.
    pub to: Party<'a>,
    /// Its subject.
    pub subject: &'a str,
    /// When it was sent.
    pub time: &'a str,
    /// Its state, as in `trace`; left out if it is gone from that mailbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// The state in words.
    pub detail: String,
}

/// The messages that a mailbox sent, printed by `sent`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sent<'a> {
    /// The messages, newest first.
    pub sent: Vec<SentMessage<'a>>,
}

impl<'a> Sent<'a> {
    pub fn of(post: &'a Post, sent: &'a [post::Sent]) -> Self {
        let message = |sent: &'a post::Sent| SentMessage {
            id: &sent.id,
            to: Party::of(post, &sent.to),
            subject: &sent.subject,
            time: &sent.time,
            state: sent.state.as_ref().map(post::MessageState::as_str),
            detail: line::of_sent(post, sent),
        };
        Self { sent: sent.iter().map(message).collect() }
    }
}

/// A line that matches.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Line<'a> {
    /// Its number, counted from 1.
    pub line: usize,
    /// Its text.
    pub text: &'a str,
}

/// A message that matches.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Hit<'a> {
    #[serde(flatten)]
    pub header: Header<'a>,
    /// The mailbox that it is in.
    pub mailbox: Party<'a>,
    /// The folder that it is in.
    pub folder: &'static str,
    /// The lines that match; empty if only the subject does.
    pub lines: Vec<Line<'a>>,
}

/// Messages that match, printed by `search`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Search<'a> {
    /// The messages.
    pub hits: Vec<Hit<'a>>,
    /// Whether there are more than the limit.
    pub more: bool,
}

impl<'a> Search<'a> {
    pub fn of(post: &'a Post, hits: &'a [post::Hit], more: bool) -> Self {
        let hit = |hit: &'a post::Hit| Hit {
            header: Header::of(post, &hit.copy.header),
            mailbox: Party::of(post, hit.copy.mailbox.as_str()),
            folder: hit.copy.folder.as_str(),
            lines: hit.lines.iter().map(|line| Line { line: line.number, text: &line.text }).collect(),
        };
        Self { hits: hits.iter().map(hit).collect(), more }
    }
}
