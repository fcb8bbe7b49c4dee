//! Messages as they are shown: their headers, and whole with the body.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use crate::mailbox::attachments::{FileState, FoundFile};
use crate::mailbox::reading;
use crate::message;
use crate::post::{Opened, Post};

/// A mailbox: its id, and its name for people.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Party<'a> {
    /// The id of the mailbox.
    pub id: &'a str,
    /// Its name, or the id again if it has none.
    pub name: Cow<'a, str>,
}

impl<'a> Party<'a> {
    pub fn of(post: &'a Post, id: &'a str) -> Self {
        Self { id, name: post.name_of(id).into() }
    }
}

/// The sender of a message that is shown whole.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sender<'a> {
    /// The id that the message gives.
    pub id: &'a str,
    /// The name of that mailbox, with its room if it is in another one.
    pub name: String,
    /// Whether the sender is proven. Always false: a room signs, its mailboxes do not.
    pub verified: bool,
    /// Whether its room is proven: it is on another machine, and signed the message.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub verified_room: bool,
}

/// The fields of every message, with its sender in the form `F`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Envelope<'a, F> {
    /// The id of the message.
    pub id: &'a str,
    /// The sender.
    pub from: F,
    /// The id of the mailbox that it was written for.
    pub to: &'a str,
    /// The subject.
    pub subject: &'a str,
    /// When it was sent.
    pub time: String,
    /// How urgent it is.
    #[cfg_attr(test, schemars(extend("enum" = crate::message::Priority::ALL.map(|priority| priority.as_str()))))]
    pub priority: &'static str,
    /// The conversation it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<&'a str>,
    /// The id of the message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<&'a str>,
    /// The protocol in which it is written.
    #[cfg_attr(test, schemars(extend("enum" = crate::message::Protocol::ALL.map(|protocol| protocol.as_str()))))]
    pub protocol: &'static str,
    /// Fields that Postroom does not know.
    pub extra: Pairs<'a, &'a str>,
    /// The files that were sent along; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

/// A file that was sent along.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Attachment {
    /// Its name.
    pub name: String,
    /// Its size in bytes, as it was sent.
    pub size: u64,
    /// Its SHA-256, as it was sent.
    pub sha256: String,
    /// `here`, `missing`, `changed` or `unreadable`; only in a message that is shown whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("enum" = ["here", "missing", "changed", "unreadable"])))]
    pub state: Option<&'static str>,
    /// Its path; left out if it is not what was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl Attachment {
    fn named(attachment: message::Attachment) -> Self {
        let message::Attachment { name, sha256, size } = attachment;
        Self { name, size, sha256, state: None, path: None }
    }

    fn found(file: &FoundFile) -> Self {
        let (state, path) = match &file.state {
            FileState::Here(path) => ("here", Some(path.display().to_string())),
            FileState::Missing => ("missing", None),
            FileState::Changed => ("changed", None),
            FileState::Unreadable(_) => ("unreadable", None),
        };
        Self { state: Some(state), path, ..Self::named(file.attachment.clone()) }
    }
}

impl<'a, F> Envelope<'a, F> {
    fn of(envelope: &'a message::Envelope, from: F, time: String, attachments: Vec<Attachment>) -> Self {
        let mut extra = Pairs::of(&envelope.extra);
        extra.0.retain(|(key, value)| message::Attachment::parse(key, value).is_none());
        Self {
            id: envelope.id.as_str(),
            from,
            to: &envelope.to,
            subject: &envelope.subject,
            time,
            priority: envelope.priority.as_str(),
            channel: envelope.channel.as_deref(),
            reply_to: envelope.reply_to.as_ref().map(|id| id.as_str()),
            protocol: envelope.native.protocol().as_str(),
            extra,
            attachments,
        }
    }
}

/// The header of a message.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Header<'a> {
    #[serde(flatten)]
    pub envelope: Envelope<'a, Party<'a>>,
    /// Remarks for a reader: `superseded` if a newer request of the same sender and channel waits, or if a reply says
    /// only that; `waits for step N of WORKFLOW`; `doubtful: …` for each guess (docs/reference/format.md §3.4).
    pub remarks: &'a [String],
    /// The name of its file.
    pub file: &'a str,
    /// The size of its file in bytes.
    pub size: u64,
}

impl<'a> Header<'a> {
    pub fn of(post: &'a Post, header: &'a reading::Header) -> Self {
        let envelope = &header.envelope;
        let from = Party { id: envelope.from.as_str(), name: post.sender_shown(envelope).into() };
        let attachments = message::Attachment::all(envelope).into_iter().map(Attachment::named).collect();
        Self {
            envelope: Envelope::of(envelope, from, header.time.to_string(), attachments),
            remarks: &header.remarks,
            file: &header.name,
            size: header.size,
        }
    }

    pub fn all(post: &'a Post, headers: &'a [reading::Header]) -> Vec<Self> {
        headers.iter().map(|header| Self::of(post, header)).collect()
    }
}

/// A message with its body.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Message<'a> {
    #[serde(flatten)]
    pub envelope: Envelope<'a, Sender<'a>>,
    /// The folder it was in when it was opened: `inbox`, `archive`, `failed`, `quarantine`, `claimed` or `in_progress`.
    pub was: &'static str,
    /// The name of its file.
    pub file: &'a str,
    /// The whole text.
    pub body: &'a str,
    /// The guesses that a reader has to make; left out if none.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub doubts: &'a [String],
}

impl<'a> Message<'a> {
    pub fn of(post: &Post, opened: &'a Opened) -> Self {
        let envelope = &opened.message.envelope;
        let from = Sender {
            id: envelope.from.as_str(),
            name: post.sender_shown(envelope),
            verified: false,
            verified_room: envelope.extra(crate::message::FROM_NETWORK).is_some(),
        };
        let attachments = opened.files.iter().map(Attachment::found).collect();
        Self {
            envelope: Envelope::of(envelope, from, opened.time.to_string(), attachments),
            was: opened.folder.as_str(),
            file: &opened.name,
            body: &opened.message.body,
            doubts: &envelope.doubts,
        }
    }
}

/// A file that cannot be read as a message, or does not fit.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BadFile<'a> {
    /// Its name, or its path in a tree.
    pub file: &'a str,
    /// What is wrong.
    pub why: &'a str,
}

impl<'a> BadFile<'a> {
    pub fn all(broken: &'a [reading::Unreadable]) -> Vec<Self> {
        broken.iter().map(|broken| Self { file: &broken.name, why: &broken.why }).collect()
    }
}

/// Keys with their values, as an object in their own order. Keys must differ.
#[derive(Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(inline))]
pub struct Pairs<'a, V>(
    #[cfg_attr(test, schemars(with = "std::collections::BTreeMap<String, V>"))] pub Vec<(&'a str, V)>,
);

impl<'a> Pairs<'a, &'a str> {
    pub fn of(pairs: &'a [(String, String)]) -> Self {
        Self(pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect())
    }
}

impl<V: Serialize> Serialize for Pairs<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}
