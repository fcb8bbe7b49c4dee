//! Unread mail: what `check`, `wait` and `read` show, in one room or in all of them.

use serde::Serialize;

use super::message::{BadFile, Header, Message};
use crate::post::{Checked, Error, Looked, Me, Post, There, Unread};

/// The room of a result.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RoomPlace {
    /// The name of the room; left out if the room was given by its directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room: Option<String>,
    /// The directory of the room.
    pub root: String,
}

/// Headers of the unread mail of a mailbox, printed by `check`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Check<'a> {
    #[serde(flatten)]
    pub place: RoomPlace,
    /// The id of the mailbox.
    pub mailbox: &'a str,
    /// How many messages are unread; `messages` may hold fewer.
    pub unread: usize,
    /// The headers, most urgent first.
    pub messages: Vec<Header<'a>>,
    /// Files that cannot be read.
    pub unreadable: Vec<BadFile<'a>>,
}

impl<'a> Check<'a> {
    pub fn of(place: RoomPlace, post: &'a Post, me: &'a Me, unread: usize, checked: &'a Checked) -> Self {
        let (mailbox, messages) = (me.id.as_str(), Header::all(post, &checked.headers));
        Self { place, mailbox, unread, messages, unreadable: BadFile::all(&checked.unreadable) }
    }
}

/// The unread mail of one of several mailboxes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MailboxMail<'a> {
    #[serde(flatten)]
    pub place: RoomPlace,
    /// The id of the mailbox.
    pub mailbox: &'a str,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// How many messages are unread; `messages` may hold fewer.
    pub unread: usize,
    /// The headers, most urgent first.
    pub messages: Vec<Header<'a>>,
    /// Files that cannot be read.
    pub unreadable: Vec<BadFile<'a>>,
}

impl<'a> MailboxMail<'a> {
    fn all(looked: &'a Looked<Unread>) -> Vec<Self> {
        let of_room = |There { room, what }: &'a There<Unread>| {
            let place =
                RoomPlace { room: room.name.clone(), root: what.post.room().path().display().to_string() };
            what.mailboxes.iter().map(move |(me, checked)| {
                let Check { place, mailbox, unread, messages, unreadable } =
                    Check::of(place.clone(), &what.post, me, checked.total, checked);
                Self { place, mailbox, name: me.name.as_deref(), unread, messages, unreadable }
            })
        };
        looked.found.iter().flat_map(of_room).collect()
    }
}

/// A room that could not be read.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FailedRoom {
    /// Its name, or its directory if it has none.
    pub room: String,
    /// What went wrong.
    pub why: String,
}

impl FailedRoom {
    pub fn all(failed: &[There<Error>]) -> Vec<Self> {
        failed.iter().map(|t| Self { room: t.room.shown(), why: t.what.to_string() }).collect()
    }
}

/// Unread mail in all rooms, printed by `check --all`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckAll<'a> {
    /// How many messages are unread in all of the mailboxes.
    pub unread: usize,
    /// The mailboxes.
    pub mailboxes: Vec<MailboxMail<'a>>,
    /// Rooms that could not be read.
    pub failed: Vec<FailedRoom>,
}

impl<'a> CheckAll<'a> {
    pub fn of(looked: &'a Looked<Unread>, unread: usize) -> Self {
        Self { unread, mailboxes: MailboxMail::all(looked), failed: FailedRoom::all(&looked.failed) }
    }
}

/// The mail that a `wait` ended with.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Wait<'a> {
    #[serde(flatten)]
    pub place: RoomPlace,
    /// The id of the mailbox.
    pub mailbox: &'a str,
    /// The headers, most urgent first.
    pub messages: Vec<Header<'a>>,
    /// Whether the time was over before mail came.
    pub timed_out: bool,
    /// Files that cannot be read; only when the time was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<Vec<BadFile<'a>>>,
}

impl<'a> Wait<'a> {
    pub fn mail(place: RoomPlace, post: &'a Post, me: &'a Me, checked: &'a Checked) -> Self {
        let messages = Header::all(post, &checked.headers);
        Self { place, mailbox: me.id.as_str(), messages, timed_out: false, unreadable: None }
    }

    pub fn timed_out(place: RoomPlace, me: &'a Me, left: &'a Checked) -> Self {
        let unreadable = Some(BadFile::all(&left.unreadable));
        Self { place, mailbox: me.id.as_str(), messages: vec![], timed_out: true, unreadable }
    }
}

/// The mail that a `wait --all` ended with.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WaitAll<'a> {
    /// Whether the time was over before mail came.
    pub timed_out: bool,
    /// The mailboxes.
    pub mailboxes: Vec<MailboxMail<'a>>,
    /// Rooms that could not be read.
    pub failed: Vec<FailedRoom>,
}

impl<'a> WaitAll<'a> {
    pub fn of(looked: &'a Looked<Unread>, timed_out: bool) -> Self {
        Self { timed_out, mailboxes: MailboxMail::all(looked), failed: FailedRoom::all(&looked.failed) }
    }
}

/// Messages that were shown, printed by `read`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Read<'a> {
    #[serde(flatten)]
    pub place: RoomPlace,
    /// The id of the mailbox.
    pub mailbox: &'a str,
    /// The messages.
    pub messages: Vec<Message<'a>>,
}

/// A question and its answer, printed by `ask`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ask<'a> {
    /// The id of the question.
    pub id: &'a str,
    /// Whether the time was over before an answer came.
    pub timed_out: bool,
    /// Whether the question was given up; the exit code is then 4.
    pub bounced: bool,
    /// The state of the question, in words; only when the time was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'a str>,
    /// The answer; empty when the time was over.
    pub messages: Vec<Message<'a>>,
}
