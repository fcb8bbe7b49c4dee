//! The facts of a message of a tree, without its body: enough to list, order, route and clean up.
//!
//! A [`Tray`] is one of the four directories of an agent. Reading it gives every file that is named like a message,
//! with its [`TaskFacts`] or its fault.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::mailbox::fault;
use crate::message::tree::{Status, Task};
use crate::message::{Priority, Step, any};

/// The directories of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tray {
    Inbox,
    Outbox,
    ArchivedInbox,
    ArchivedOutbox,
}

impl Tray {
    pub const ALL: [Self; 4] = [Self::Inbox, Self::Outbox, Self::ArchivedInbox, Self::ArchivedOutbox];

    /// The path from the tree to the directory that contains the agents'.
    pub(super) fn way(self) -> &'static [&'static str] {
        match self {
            Self::Inbox => &["inboxes"],
            Self::Outbox => &["outboxes"],
            Self::ArchivedInbox => &["archive", "inboxes"],
            Self::ArchivedOutbox => &["archive", "outboxes"],
        }
    }

    /// The directory of its indexes.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Inbox => "inboxes",
            Self::Outbox => "outboxes",
            Self::ArchivedInbox => "archive-inboxes",
            Self::ArchivedOutbox => "archive-outboxes",
        }
    }
}

/// The frontmatter of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFacts {
    pub id: String,
    pub from: String,
    pub to: String,
    pub status: Status,
    #[serde(default, skip_serializing_if = "is_normal")]
    pub priority: Priority,
    pub created: String,
    /// The id of this message in another protocol, if it came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub msg_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
    /// Its context, else the first line of its request.
    pub subject: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_seconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its reader had to guess something, so no agent is started for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub doubtful: bool,
}

impl TaskFacts {
    pub fn of(task: &Task) -> Self {
        Self {
            id: task.id.clone(),
            from: task.from.clone(),
            to: task.to.clone(),
            status: task.status,
            priority: task.priority,
            created: task.created.clone(),
            msg_id: task.extra.iter().find(|(key, _)| key == "msg_id").map(|(_, value)| value.clone()),
            request_id: task.request_id.clone(),
            workflow: task.workflow.clone(),
            step: task.step,
            subject: any::subject_of_task(task),
            duration_seconds: task.duration_seconds,
            error: task.error.clone(),
            doubtful: !task.doubts.is_empty() || task.extra.iter().any(|(key, _)| key == "doubt"),
        }
    }

    /// Whether it is an answer that was routed here and not read yet: information, not a task (protocols: tree §3.4).
    pub fn is_unread_answer(&self) -> bool {
        is_unread_answer(self.status, &self.id, self.request_id.as_deref(), self.msg_id.as_deref())
    }

    /// Whether it is unread mail: a task that nobody has started, or an answer.
    pub fn is_unread(&self) -> bool {
        self.status == Status::Pending || self.is_unread_answer()
    }

    pub fn time(&self) -> Option<Timestamp> {
        Timestamp::parse(&self.created)
    }

    /// Whether it still needs work.
    pub fn is_open(&self) -> bool {
        matches!(self.status, Status::Pending | Status::InProgress)
    }
}

/// A routed answer is completed from the start; it leaves the inbox when it is read.
pub(super) fn is_unread_answer(
    status: Status,
    id: &str,
    request: Option<&str>,
    msg_id: Option<&str>,
) -> bool {
    status == Status::Completed && request.is_some() && (msg_id.is_some() || id.ends_with("-response"))
}

/// The content of a tray.
#[derive(Debug, Default)]
pub struct Seen {
    /// By file name; an unreadable file comes with the reason, with line and field, but without the path.
    pub facts: Vec<(String, Result<TaskFacts, String>)>,
    /// Entries called `*.md` that are not regular files, or whose names are not UTF-8.
    pub strange: Vec<(OsString, &'static str)>,
    /// A file could not be read, so its content is unknown.
    pub failing: Option<fault::Error>,
    /// How many files were opened, because they changed since the last look.
    pub opened: usize,
}

impl Seen {
    /// The names of the messages that could not be read.
    pub fn broken(&self) -> Vec<String> {
        self.facts.iter().filter(|(_, facts)| facts.is_err()).map(|(name, _)| name.clone()).collect()
    }

    /// Turns a read failure into an error, for callers that must not take an unread file for a missing one.
    pub fn certain(self) -> fault::Result<Self> {
        match self.failing {
            Some(e) => Err(e),
            None => Ok(self),
        }
    }

    /// The messages that could be read.
    pub fn readable(&self) -> impl Iterator<Item = (&str, &TaskFacts)> {
        self.facts.iter().filter_map(|(name, facts)| Some((name.as_str(), facts.as_ref().ok()?)))
    }
}

fn is_normal(priority: &Priority) -> bool {
    *priority == Priority::Normal
}
