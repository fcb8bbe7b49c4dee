//! The results of the tools of the Model Context Protocol. A model pays for each byte, so default values are left out;
//! and it sees the text, so invisible characters are made visible.

use serde::Serialize;

use super::send::Delivery;
use crate::mailbox::reading;
use crate::message::{Attachment, Priority, visible};
use crate::post::{self, Checked, Outcome, Post, line};

/// The result of `setup`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Setup<'a> {
    /// The name of the mailbox.
    pub name: &'a str,
    /// Its id.
    pub id: &'a str,
    /// How many messages are unread; left out if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<usize>,
    /// Whether it is bound to this agent session.
    pub bound: bool,
    /// What the person has to do so that the name lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl<'a> Setup<'a> {
    pub fn of(made: &'a post::Setup, note: Option<String>) -> Self {
        let (id, bound) = (made.id.as_str(), made.bound.is_some());
        Self { name: &made.name, id, unread: made.unread, bound, note }
    }
}

/// One name.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Name {
    /// The name.
    pub name: String,
    /// How many messages are unread; left out if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<usize>,
    /// Whether a process of its holder exists.
    pub alive: bool,
    /// What this agent can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

/// The result of `names`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Names {
    /// The names.
    pub names: Vec<Name>,
}

impl Names {
    pub fn of(names: &[post::Listed]) -> Self {
        let name = |listed: &post::Listed| Name {
            name: visible::line(&listed.name),
            unread: listed.unread.map(|(count, _)| count),
            alive: listed.in_session,
            about: listed.about.as_deref().map(visible::line),
        };
        Self { names: names.iter().map(name).collect() }
    }
}

/// The header of a message.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Header {
    /// The id for `read` and `reply`.
    pub id: String,
    /// The name of the sender.
    pub from: String,
    /// The subject.
    pub subject: String,
    /// When it was sent.
    pub time: String,
    /// How urgent it is; left out if `normal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<&'static str>,
    /// The conversation it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The id of the message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// The names of its attachments; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<String>,
}

impl Header {
    fn of(post: &Post, header: &reading::Header) -> Self {
        let envelope = &header.envelope;
        Self {
            id: visible::line(&envelope.called(&header.name)),
            from: visible::line(&post.sender_shown(envelope)),
            subject: visible::line(&envelope.subject),
            time: header.time.to_string(),
            priority: (envelope.priority != Priority::Normal).then(|| envelope.priority.as_str()),
            channel: envelope.channel.as_deref().map(visible::line),
            reply_to: envelope.reply_to.as_ref().map(|id| visible::line(id.as_str())),
            attachments: Attachment::all(envelope).into_iter().map(|one| one.name).collect(),
        }
    }

    fn all(post: &Post, checked: &Checked) -> Vec<Self> {
        checked.headers.iter().map(|header| Self::of(post, header)).collect()
    }
}

/// The result of `check`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Check {
    /// How many messages are unread; `messages` may hold fewer.
    pub unread: usize,
    /// The headers, most urgent first.
    pub messages: Vec<Header>,
    /// Files that cannot be read, one line each; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

impl Check {
    pub fn of(post: &Post, checked: &Checked) -> Self {
        let unreadable = checked.unreadable.iter().map(line::of_unreadable).collect();
        Self { unread: checked.total, messages: Header::all(post, checked), unreadable }
    }
}

/// The result of `wait`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Wait {
    /// Whether the time was over before mail came.
    pub timed_out: bool,
    /// The headers, most urgent first.
    pub messages: Vec<Header>,
    /// When the time was over: files that cannot be read, one line each; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

impl Wait {
    pub fn mail(post: &Post, checked: &Checked) -> Self {
        Self { timed_out: false, messages: Header::all(post, checked), unreadable: vec![] }
    }

    pub fn timed_out(left: &Checked) -> Self {
        let unreadable = left.unreadable.iter().map(line::of_unreadable).collect();
        Self { timed_out: true, messages: vec![], unreadable }
    }
}

/// The result of `read`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Read<'a> {
    /// The id for `reply`; left out if there was nothing to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The message between two lines with the same random number, or why there is none.
    pub text: &'a str,
}

/// One copy of a message that was sent.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Receipt<'a> {
    /// The id of the message.
    pub id: &'a str,
    /// The name of the recipient.
    pub to: &'a str,
    /// What became of it.
    pub state: Delivery,
    /// Where it is, or why its durability is not proven.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The result of `send` and of `reply`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Receipts<'a> {
    /// One receipt per copy.
    pub receipts: Vec<Receipt<'a>>,
}

impl<'a> Receipts<'a> {
    pub fn of(receipts: &'a [post::Receipt]) -> Self {
        let receipt = |receipt: &'a post::Receipt| {
            let told = matches!(receipt.outcome, Outcome::Unproven(_) | Outcome::Already(_));
            Receipt {
                id: receipt.id.as_str(),
                to: &receipt.name,
                state: Delivery::of(&receipt.outcome),
                detail: told.then(|| line::of_receipt_in_two(receipt).1),
            }
        };
        Self { receipts: receipts.iter().map(receipt).collect() }
    }
}

/// The result of `archive`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Archive<'a> {
    /// The ids as given.
    pub archived: &'a [String],
}
