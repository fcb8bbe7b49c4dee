//! What is removed and can be brought back: `prune` and `undo`.

use serde::Serialize;

use crate::post::{Doomed, Trashed};

/// Something that is removed: a mailbox, a run of a workflow, or one message.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Item<'a> {
    /// A mailbox with all its mail.
    Mailbox {
        /// Its id.
        mailbox: &'a str,
        /// Its name.
        name: &'a str,
        /// How many of its messages are unread or claimed.
        unread: usize,
        /// How many messages it has.
        messages: usize,
    },
    /// A run of a workflow, as a whole.
    Run {
        /// Its id.
        run: &'a str,
        /// How many messages it has.
        messages: usize,
    },
    /// One message.
    Message {
        /// The id of its mailbox.
        mailbox: &'a str,
        /// Its folder.
        folder: &'static str,
        /// The name of its file.
        file: &'a str,
    },
}

impl<'a> Item<'a> {
    fn of(doomed: &'a Doomed) -> Self {
        match doomed {
            Doomed::Mailbox { id, name, unread, messages } => {
                Self::Mailbox { mailbox: id.as_str(), name, unread: *unread, messages: *messages }
            }
            Doomed::Run { id, messages } => Self::Run { run: id.as_str(), messages: *messages },
            Doomed::Message { id, folder, name } => {
                Self::Message { mailbox: id.as_str(), folder: folder.word(), file: name }
            }
        }
    }
}

/// What is removed, printed by `prune`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Prune<'a> {
    /// False: it only says what it would remove.
    pub removed: bool,
    /// What goes, or went.
    pub items: Vec<Item<'a>>,
    /// The id by which `undo` brings it back; left out if nothing was put into the trash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<&'a str>,
}

impl<'a> Prune<'a> {
    pub fn of(plan: &'a [Doomed], removed: bool, undo: Option<&'a str>) -> Self {
        Self { removed, items: plan.iter().map(Item::of).collect(), undo }
    }
}

/// What one prune put into the trash.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Bag<'a> {
    /// The id by which `undo` brings it back.
    pub id: &'a str,
    /// When it was removed.
    pub at: String,
    /// The names of its mailboxes.
    pub mailboxes: &'a [String],
    /// The ids of its runs of workflows.
    pub runs: &'a [String],
    /// How many single messages it holds.
    pub messages: usize,
}

impl<'a> Bag<'a> {
    fn of(bag: &'a Trashed) -> Self {
        let Trashed { id, at, mailboxes, runs, messages } = bag;
        Self { id, at: at.to_string(), mailboxes, runs, messages: *messages }
    }
}

/// The trash, printed by `undo` without an id, and by `prune --forever` alone.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trash<'a> {
    /// Whether `prune --forever` emptied it; left out by `undo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<bool>,
    /// What each prune put there.
    pub trash: Vec<Bag<'a>>,
}

impl<'a> Trash<'a> {
    pub fn of(bags: &'a [Trashed], removed: Option<bool>) -> Self {
        Self { removed, trash: bags.iter().map(Bag::of).collect() }
    }
}

/// What was brought back, printed by `undo` with an id.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Undo<'a> {
    /// What the prune had removed.
    pub restored: Bag<'a>,
}

impl<'a> Undo<'a> {
    pub fn of(bag: &'a Trashed) -> Self {
        Self { restored: Bag::of(bag) }
    }
}
