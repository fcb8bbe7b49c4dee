//! Settings: the content of a `postroom.toml`. Pure; the caller finds the file and passes its text.
//!
//! A file above the working directory belongs to the project and names its room. The file in a room's root holds the
//! limits of that room, because every sender must obey the same limits. The person's own file is `personal`. An unknown
//! key is an error with line and column.

pub mod agents;
pub mod personal;
pub mod worktree;

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;

use self::agents::{Agents, DispatchSettings};
use crate::name::{BadName, RoomName};

/// The file's name, in a project and in a room.
pub const FILE: &str = "postroom.toml";

/// The largest file that is read: enough for some thousands of agents.
pub const LARGEST: u64 = 1024 * 1024;

/// Why a file is refused.
#[derive(Debug, Error)]
pub enum Error {
    #[error("{path}: {}", .why.trim_end())]
    Toml { path: String, why: String },
    #[error("{path}: `room`: {why}")]
    Room { path: String, why: BadName },
}

/// The content of a project's file.
#[derive(Debug, Default, PartialEq)]
pub struct Project {
    pub room: Option<RoomName>,
    /// The program that works for each mailbox; run only after the person approved it once.
    pub agents: Agents,
    pub dispatch: Option<DispatchSettings>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProject {
    room: Option<String>,
    #[serde(default)]
    agents: Agents,
    dispatch: Option<DispatchSettings>,
}

impl Project {
    pub fn parse(text: &str, path: &str) -> Result<Self, Error> {
        let raw: RawProject =
            toml::from_str(text).map_err(|e| Error::Toml { path: path.to_owned(), why: e.to_string() })?;
        let room = raw.room.as_deref().map(RoomName::parse).transpose();
        let room = room.map_err(|why| Error::Room { path: path.to_owned(), why })?;
        Ok(Self { room, agents: raw.agents, dispatch: raw.dispatch })
    }
}

/// A path without `.` and `..`, for a path that may not exist.
pub fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// The limits of a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// The longest body that is sent or read.
    pub body_bytes: u64,
    /// The longest file that is attached.
    pub attachment_bytes: u64,
    /// The most files that one message has.
    pub attachments: usize,
    /// The most unread messages of a mailbox; `None` means no limit, and costs no count.
    pub mailbox_messages: Option<usize>,
    /// How long the journal is kept.
    pub journal_days: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 1024 * 1024,
            attachment_bytes: 16 * 1024 * 1024,
            attachments: 8,
            mailbox_messages: None,
            journal_days: 90,
        }
    }
}

/// The content of the file in a room's root.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RoomSettings {
    pub limits: Limits,
    /// Directories that a workspace message may name for its reply, besides the known inboxes.
    pub reply_destinations: Vec<PathBuf>,
    /// The program that works for each mailbox of this room. Run only after the person approved it once, because agents
    /// write in rooms.
    pub agents: Agents,
    pub dispatch: Option<DispatchSettings>,
}

impl RoomSettings {
    pub fn parse(text: &str, path: &str) -> Result<Self, Error> {
        toml::from_str(text).map_err(|e| Error::Toml { path: path.to_owned(), why: e.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_names_its_room() {
        assert_eq!(Project::parse("room = \"build\"\n", "f").unwrap().room.unwrap().as_str(), "build");
        assert!(Project::parse("room = \"../x\"", "f").is_err());
    }

    #[test]
    fn limits_have_defaults() {
        let limits = RoomSettings::parse("[limits]\nmailbox_messages = 5\n", "f").unwrap();
        assert_eq!(limits.limits, Limits { mailbox_messages: Some(5), ..Limits::default() });
    }

    #[test]
    fn unknown_keys_are_errors_with_line_and_column() {
        let error = Project::parse("room = \"a\"\nrom = 1\n", "x/postroom.toml").unwrap_err().to_string();
        assert!(error.contains("x/postroom.toml") && error.contains("line 2, column 1"), "{error}");
        assert!(RoomSettings::parse("[limits]\nbody = 1\n", "f").is_err());
    }
}
