//! The origin of a message: the sender that it names, in the form of its protocol. It is not verified.

use std::fmt;

use super::liberal::UNKNOWN;
use crate::name::MailboxId;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// A mailbox of a room, by its id; by its name if the message was written by hand.
    Mailbox(String),
    /// An agent of a `.claude` tree, by the name of its inbox.
    Agent(String),
    /// A workspace, by its path.
    Workspace(String),
    /// The message does not say.
    Unknown,
}

impl Origin {
    /// The mailbox that a text names. No mailbox has the name that stands for an unknown sender.
    pub fn mailbox(text: impl Into<String>) -> Self {
        Self::known(text.into(), Self::Mailbox)
    }

    pub fn agent(text: impl Into<String>) -> Self {
        Self::known(text.into(), Self::Agent)
    }

    pub fn workspace(path: impl Into<String>) -> Self {
        Self::known(path.into(), Self::Workspace)
    }

    fn known(text: String, kind: fn(String) -> Self) -> Self {
        if text.is_empty() || text == UNKNOWN { Self::Unknown } else { kind(text) }
    }

    /// The text in the message.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Mailbox(text) | Self::Agent(text) | Self::Workspace(text) => text,
            Self::Unknown => UNKNOWN,
        }
    }

    /// Whether it is this mailbox.
    pub fn is(&self, id: &MailboxId) -> bool {
        matches!(self, Self::Mailbox(text) if text == id.as_str())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
