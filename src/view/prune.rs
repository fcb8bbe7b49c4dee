//! Removal and restoration: `prune` and `undo`.

use serde::Serialize;

use crate::post::{Doomed, Trashed};

/// Something that is removed: a mailbox, a workflow run, or one message.
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
    /// A whole workflow run.
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
                Self::Message { mailbox: id.as_str(), folder: folder.as_str(), file: name }
            }
        }
    }
}

/// The removal, printed by `prune`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Prune<'a> {
    /// False if it only shows what it would remove.
    pub removed: bool,
    /// The items that are removed, or would be.
    pub items: Vec<Item<'a>>,
    /// The id for `undo`; left out if nothing was put into the trash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<&'a str>,
}

impl<'a> Prune<'a> {
    pub fn of(plan: &'a [Doomed], removed: bool, undo: Option<&'a str>) -> Self {
        Self { removed, items: plan.iter().map(Item::of).collect(), undo }
    }
}

/// The contents of the trash from one prune.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Bag<'a> {
    /// The id for `undo`.
    pub id: &'a str,
    /// When it was removed.
    pub at: String,
    /// The names of its mailboxes.
    pub mailboxes: &'a [String],
    /// The ids of its workflow runs.
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
    /// The contents, one entry for each prune.
    pub trash: Vec<Bag<'a>>,
}

impl<'a> Trash<'a> {
    pub fn of(bags: &'a [Trashed], removed: Option<bool>) -> Self {
        Self { removed, trash: bags.iter().map(Bag::of).collect() }
    }
}

/// The restored items, printed by `undo` with an id.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Undo<'a> {
    /// The items that the prune had removed.
    pub restored: Bag<'a>,
}

impl<'a> Undo<'a> {
    pub fn of(bag: &'a Trashed) -> Self {
        Self { restored: Bag::of(bag) }
    }
}
