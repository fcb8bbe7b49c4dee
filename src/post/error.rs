//! What a verb can fail with: one error, its exit code, and what to type next.

use thiserror::Error as ThisError;

use crate::mailbox::{self, fault};
use crate::message::envelope::BadValue;
use crate::name::BadName;
use crate::{registry, room};

pub type Result<T> = std::result::Result<T, Error>;

/// The exit codes of the command line (design: "exit codes are a contract").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Failure {
    Nothing = 1,
    Usage = 2,
    Unknown = 3,
    Refused = 4,
    NotDone = 5,
    Unproven = 6,
}

#[derive(Debug, ThisError)]
pub enum Error {
    #[error("nobody here is called `{name}`")]
    UnknownName { name: String, nearest: Vec<String>, all: Vec<String> },
    #[error("this command has no mailbox to act as")]
    WhoAmI,
    #[error("{source_of_name} says `{name}`, but nobody here is called that")]
    NotMe { source_of_name: &'static str, name: String, nearest: Vec<String> },
    #[error("the mailbox of `{name}` ({id}) is not in the room")]
    NoMailbox { id: String, name: String },
    #[error("the sender `{from}` has no mailbox here, so nobody can be answered")]
    NoSender { from: String },
    #[error("no message begins with `{reference}`")]
    NoMessage { reference: String },
    #[error("`{reference}` fits several messages: {}", .matches.join(", "))]
    AmbiguousMessage { reference: String, matches: Vec<String> },
    #[error("`{reference}` is too short: four hex digits or more name a message")]
    ShortReference { reference: String },
    #[error("the message has no text")]
    EmptyBody,
    #[error("the text is over this room's limit of {limit} bytes")]
    BodyTooLarge { limit: u64 },
    #[error("the text is not UTF-8 (byte {at})")]
    BodyNotUtf8 { at: usize },
    #[error("{place} looks like {what}")]
    Secret { what: &'static str, place: String },
    #[error("the mailbox of `{name}` is full: {count} unread messages, limit {limit}")]
    Full { name: String, count: usize, limit: usize },
    #[error("{what} `{}`: {why}", crate::message::visible::clip(.text, 80))]
    BadName { what: &'static str, text: String, why: BadName },
    #[error("{field}: {why}")]
    BadValue { field: &'static str, why: BadValue },
    #[error("the name `{name}` is taken")]
    Taken { name: String, suggestions: Vec<String> },
    #[error("`{name}` already is the name of this mailbox's owner, not `{wanted}`")]
    AlreadyNamed { name: String, wanted: String },
    #[error("a message with the id {id} and other contents was sent before: {path}")]
    IdTaken { id: String, path: String },
    #[error("{}: {why}", .path)]
    Unreadable { path: String, why: String },
    #[error("{why}")]
    Failing { why: String },
    #[error("{0}")]
    Registry(String),
    #[error("{reason}")]
    AmbiguousName { reason: String },
    #[error(transparent)]
    Room(#[from] room::Error),
    #[error(transparent)]
    Disk(#[from] mailbox::Error),
}

impl From<registry::Error> for Error {
    fn from(e: registry::Error) -> Self {
        match e {
            registry::Error::Disk(e) => Self::Disk(e),
            e => Self::from_registry(&e),
        }
    }
}

impl Error {
    pub(super) fn from_registry(e: &registry::Error) -> Self {
        match e {
            registry::Error::Ambiguous { .. } => Self::AmbiguousName { reason: e.to_string() },
            e => Self::Registry(e.to_string()),
        }
    }

    pub fn code(&self) -> Failure {
        match self {
            Self::UnknownName { .. }
            | Self::WhoAmI
            | Self::NotMe { .. }
            | Self::NoMailbox { .. }
            | Self::NoSender { .. }
            | Self::NoMessage { .. } => Failure::Unknown,
            Self::Room(room::Error::NoRoom { .. }) => Failure::Unknown,
            Self::ShortReference { .. } => Failure::Usage,
            Self::Failing { .. } => Failure::NotDone,
            Self::Disk(e) | Self::Room(room::Error::Disk(e)) => disk_code(e),
            _ => Failure::Refused,
        }
    }

    /// What to type next, most useful first.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::UnknownName { nearest, all, .. } => names_hint(nearest, all),
            Self::WhoAmI => vec![
                "postroom setup NAME      makes your mailbox and binds it to this agent session".into(),
                "postroom --as NAME …     acts as a mailbox that exists (or export AGENT_MAILBOX_ID=NAME)"
                    .into(),
            ],
            Self::NotMe { name, nearest, .. } => {
                let mut hints = vec![format!("postroom setup {name}")];
                hints.extend(nearest.iter().map(|n| format!("did you mean `{n}`?")));
                hints
            }
            Self::NoMailbox { .. } | Self::Registry(_) => vec!["postroom doctor --fix".into()],
            Self::NoMessage { .. } => {
                vec!["postroom check shows what is unread; postroom log what happened".into()]
            }
            Self::NoSender { .. } => {
                vec!["postroom names shows who is here; postroom archive ID files the message away".into()]
            }
            Self::ShortReference { .. } => vec!["postroom check shows the ids".into()],
            Self::BadName { what: "--id" | "--reply-to", .. } => {
                vec!["letters, digits, `.`, `-`, `_`, eight of them hex digits; postroom check --json shows full ids".into()]
            }
            Self::BadName { .. } => {
                vec!["letters and digits of any script, `.`, `-`, `_`; at most 64".into()]
            }
            Self::BadValue { .. } => vec!["give it as one plain line of at most 1000 bytes".into()],
            Self::BodyNotUtf8 { .. } => {
                vec!["mail is text: put other data into a file and send its path".into()]
            }
            Self::Unreadable { .. } => {
                vec!["postroom doctor shows what cannot be read, and --fix puts it aside".into()]
            }
            Self::AmbiguousName { .. } => vec!["write the name exactly as postroom names shows it".into()],
            Self::Room(room::Error::NotEmpty { .. } | room::Error::BadPath { .. }) => {
                vec!["name a new or empty directory: --root DIR".into()]
            }
            Self::Disk(fault::Error::OtherOwner { .. })
            | Self::Room(room::Error::Disk(fault::Error::OtherOwner { .. })) => {
                vec!["a room belongs to one user: --root DIR names another".into()]
            }
            Self::Disk(fault::Error::NotADirectory { .. })
            | Self::Room(room::Error::Disk(fault::Error::NotADirectory { .. })) => {
                vec!["--root DIR names the directory of a room".into()]
            }
            Self::Failing { .. } => vec!["try again".into()],
            Self::AmbiguousMessage { .. } => vec!["give more digits of the id".into()],
            Self::EmptyBody => vec!["-m TEXT, --file FILE, or the text on standard input".into()],
            Self::BodyTooLarge { .. } => vec!["put it into a file and send its path".into()],
            Self::Secret { .. } => vec!["--allow-secrets sends it all the same".into()],
            Self::Full { name, .. } => {
                vec![format!("`{name}` must read or archive mail first; nothing was sent")]
            }
            Self::Taken { name, suggestions } => {
                let mut hints: Vec<String> =
                    suggestions.iter().map(|s| format!("postroom setup {s}")).collect();
                hints.push(format!("if `{name}` is yours: postroom --as {name} …"));
                hints
            }
            Self::AlreadyNamed { name, wanted } => {
                vec![format!("postroom --as {name} setup --alias {wanted}")]
            }
            Self::IdTaken { .. } => vec!["leave --id out, or give another".into()],
            Self::Room(room::Error::NoRoom { .. }) => {
                vec!["postroom setup NAME      makes the room and your mailbox in it".into()]
            }
            Self::Disk(fault::Error::LooseParent { path })
            | Self::Room(room::Error::Disk(fault::Error::LooseParent { path })) => {
                vec![format!("chmod go-w {}", path.display())]
            }
            Self::Room(room::Error::Newer { .. }) => vec!["use the newer postroom that wrote it".into()],
            Self::Disk(fault::Error::Link { path })
            | Self::Room(room::Error::Disk(fault::Error::Link { path })) => {
                vec![format!("links are not followed; name the real place of {}", path.display())]
            }
            _ => vec![],
        }
    }

    /// Whether the system forbade a write, as an agent's sandbox does.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Disk(e) | Self::Room(room::Error::Disk(e)) if e.is_forbidden())
    }
}

fn disk_code(e: &fault::Error) -> Failure {
    match e {
        fault::Error::Io { .. } | fault::Error::Locked { .. } => Failure::NotDone,
        _ => Failure::Refused,
    }
}

fn names_hint(nearest: &[String], all: &[String]) -> Vec<String> {
    let mut hints = vec![];
    if !nearest.is_empty() {
        hints.push(format!("nearest: {}", nearest.join(", ")));
    }
    match all.len() {
        0 => hints.push("nobody has a mailbox here yet: postroom setup NAME".into()),
        1..=20 => hints.push(format!("here are: {}", all.join(", "))),
        n => hints.push(format!("here are {n} names: postroom names")),
    }
    hints
}
