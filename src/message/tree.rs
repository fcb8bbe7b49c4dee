//! The codec of the tree protocol: a task for an agent, or its response, with YAML frontmatter.
//!
//! `id`, `from`, `to`, `status` and `created` are always written; [`render`] refuses values that [`parse`] would not
//! return. Reading is wider ([`super::liberal`]): only `id` is required, and guesses are in [`Task::doubts`]. A change
//! of status rewrites that one field and leaves every other byte as it was ([`set_status`]).

mod header;
mod write;

use std::fmt;

use serde::{Deserialize, Serialize};

use super::envelope::Priority;
use super::frontmatter::{self, ParseError, Split, known_key};
use super::liberal::{self, UNKNOWN};
use super::step::Step;
use crate::name::MessageId;
use header::Header;
pub use write::render;

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pending,
    InProgress,
    Completed,
    Failed,
}

impl Status {
    pub const ALL: [Self; 4] = [Self::Pending, Self::InProgress, Self::Completed, Self::Failed];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A message of the tree protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub id: String,
    pub from: String,
    pub to: String,
    pub status: Status,
    /// ISO 8601 with a zone; empty if a message that was read has no usable time.
    pub created: String,
    pub priority: Priority,
    pub context: Option<String>,
    pub workflow: Option<String>,
    pub step: Option<Step>,
    /// In responses: the request they answer.
    pub request_id: Option<String>,
    pub duration_seconds: Option<u64>,
    pub error: Option<String>,
    /// Scalar fields of other programs, in the order they were found.
    pub extra: Vec<(String, String)>,
    pub body: String,
    /// The reader's guesses.
    pub doubts: Vec<String>,
}

/// The fields of the protocol.
pub(super) const OWN: [&str; 12] = [
    "id",
    "from",
    "to",
    "status",
    "created",
    "priority",
    "context",
    "workflow",
    "step",
    "request_id",
    "duration_seconds",
    "error",
];

/// Our own fields that other protocols have; read in any case, like those of the protocol.
const OURS: [&str; 3] = ["msg_id", "reply_to", "channel"];

/// The spelling of a key that is read in any case.
fn spelled(key: &str) -> Option<&'static str> {
    known_key(key, &OWN).or_else(|| known_key(key, &OURS))
}

/// Reads a message.
pub fn parse(bytes: &[u8]) -> Result<Task, ParseError> {
    parse_with(bytes, None)
}

/// Reads a message; `id`, from its file name, is used if it has none itself.
pub fn parse_named(bytes: &[u8], id: &str) -> Result<Task, ParseError> {
    parse_with(bytes, Some(id))
}

fn parse_with(bytes: &[u8], name: Option<&str>) -> Result<Task, ParseError> {
    let (split, above) = frontmatter::split_message(frontmatter::text(bytes)?)?;
    task(split, name).map_err(|e| e.moved_down(above))
}

fn task(split: Split<'_>, name: Option<&str>) -> Result<Task, ParseError> {
    let header = Header::read(split.header)?;
    let mut doubts = header.doubts.clone();
    let status = status(&header, &mut doubts)?;
    let id = id(&header, name, &mut doubts)?;
    // An id must fit on a line of its own, because it may be written to other protocols.
    for key in ["id", "request_id"] {
        if let (Some(field), Some(value)) = (header.field(key), header.text(key)) {
            MessageId::parse_lenient(value).map_err(|why| field.bad(why))?;
        }
    }
    let from = header.text("from").unwrap_or_else(|| {
        doubts.push("`from` is missing; the sender is unknown".to_owned());
        UNKNOWN
    });
    let to = header.text("to").unwrap_or_else(|| {
        doubts.push("`to` is missing".to_owned());
        ""
    });
    let text = |key: &str| header.text(key).map(str::to_owned);
    Ok(Task {
        id,
        from: from.to_owned(),
        to: to.to_owned(),
        status,
        created: liberal::created(header.text("created"), &mut doubts),
        priority: header
            .text("priority")
            .map_or(Priority::Normal, |word| liberal::priority(word, &mut doubts)),
        context: text("context"),
        workflow: text("workflow"),
        step: number(&header, "step", &mut doubts),
        request_id: text("request_id"),
        duration_seconds: number(&header, "duration_seconds", &mut doubts),
        error: text("error"),
        extra: header
            .fields()
            .iter()
            .filter(|(name, field)| !OWN.contains(&name.as_str()) && field.value.is_some())
            .map(|(name, field)| (name.clone(), field.text().unwrap_or_default().to_owned()))
            .collect(),
        body: split.body.to_owned(),
        doubts,
    })
}

/// The status. A header without one is still a task if it has an id, or sender and recipient.
fn status(header: &Header<'_>, doubts: &mut Vec<String>) -> Result<Status, ParseError> {
    let has = |key: &str| header.text(key).is_some();
    match (header.field("status"), header.text("status")) {
        (Some(field), _) if field.value.is_none() => Err(field.bad("a list or a map, not one value")),
        (Some(field), Some(word)) => liberal::status(word, doubts)
            .ok_or_else(|| field.bad("not one of pending, in_progress, completed, failed")),
        _ if has("id") || has("from") && has("to") => {
            doubts.push("`status` is missing and read as pending".to_owned());
            Ok(Status::Pending)
        }
        _ => Err(ParseError::Missing { field: "status" }),
    }
}

/// The id, else the caller's name for it; but a message with the id of another protocol belongs to that protocol.
fn id(header: &Header<'_>, name: Option<&str>, doubts: &mut Vec<String>) -> Result<String, ParseError> {
    let missing = ParseError::Missing { field: "id" };
    match (header.text("id"), name) {
        (Some(id), _) => Ok(id.to_owned()),
        (None, Some(name)) if header.text("status").is_some() || header.text("msg_id").is_none() => {
            MessageId::parse_lenient(name).map_err(|_| missing)?;
            doubts.push(format!("`id` is missing; {} is used", liberal::shown(name)));
            Ok(name.to_owned())
        }
        _ => Err(missing),
    }
}

fn number<T: std::str::FromStr>(header: &Header<'_>, key: &str, doubts: &mut Vec<String>) -> Option<T> {
    let text = header.text(key)?;
    let number = text.parse().ok();
    if number.is_none() {
        doubts.push(format!("`{key}: {}` is not a number and is ignored", liberal::shown(text)));
    }
    number
}

/// The whole text with another status; every other byte is kept.
pub fn set_status(text: &str, status: Status) -> Result<String, ParseError> {
    changed(text, |header| header.with("status", status.as_str()))
}

/// The whole text with another status and, if it can be written, the error. A completed task loses the `error` of an
/// earlier try. The status matters most: an `error` that cannot be changed in place stays.
pub fn change(text: &str, status: Status, error: Option<&str>) -> Result<String, ParseError> {
    let with_status = set_status(text, status)?;
    let result = match error {
        Some(error) => changed(&with_status, |header| header.with("error", error)),
        None if status == Status::Completed => changed(&with_status, |header| {
            Ok(header.without("error").unwrap_or_else(|| header.lines().to_owned()))
        }),
        None => return Ok(with_status),
    };
    Ok(result.unwrap_or(with_status))
}

/// The whole text with a change of its header.
fn changed(
    text: &str,
    change: impl FnOnce(&Header<'_>) -> Result<String, ParseError>,
) -> Result<String, ParseError> {
    let (split, above) = frontmatter::split_message(text)?;
    let changed = Header::read(split.header).and_then(|header| change(&header));
    // The header is a slice of the text, so the pointers give its offset.
    let start = split.header.as_ptr() as usize - text.as_ptr() as usize;
    let changed = changed.map_err(|e| e.moved_down(above))?;
    Ok(format!("{}{changed}{}", &text[..start], &text[start + split.header.len()..]))
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
