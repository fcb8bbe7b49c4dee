//! Mailboxes: where messages are stored, and their whole life there. Only `disk` renames, links and syncs; `lock` waits
//! for other processes.
//!
//! A [`Mailbox`] has a home in the room and a [`Place`] for its messages: `maildir`, `workspace` and `tree` are the
//! places of the three protocols behind one interface. `folder`, `claim` and `reading` are shared by the two protocols
//! whose state is a directory. `delivery` is one message to one mailbox, `collect` finds mail that was put into a place
//! of another protocol, and `directory` is the protocols' view of the room. `attachments` are the files beside
//! messages, `trash` keeps pruned mail, and `unread_counts` what a resident process has counted. Nothing here knows a terminal or a verb.

pub mod attachments;
pub mod claim;
pub mod collect;
pub mod delivery;
pub mod directory;
pub mod disk;
pub mod fault;
pub mod folder;
pub mod lock;
pub mod maildir;
pub mod open;
pub mod place;
pub mod presence;
pub mod reading;
pub mod trash;
pub mod tree;
pub mod unread_counts;
pub mod workspace;

pub use delivery::{Delivery, DeliveryOutcome, ReplyRoute, ReplyTarget};
pub use directory::Directory;
pub use disk::Dir;
pub use fault::{Durability, Error, IfAny};
pub use folder::{Folder, Token};
pub use maildir::Maildir;
pub use open::Mailbox;
pub use place::Place;
pub use unread_counts::UnreadCounts;

use std::time::Duration;

/// The longest file that is read again to explain its fault.
const TEXT_LIMIT: u64 = 16 * 1024 * 1024;

/// Pauses for a bounded time; the only place where mail waits for something that no watch can report.
#[allow(clippy::disallowed_methods, reason = "polling for a lock and for a file system without a watch")]
pub(crate) fn pause(duration: Duration) {
    std::thread::sleep(duration);
}
