//! Where messages lie, and their whole life there. `disk` is the only door to rename, link and fsync; `lock` waits for others.
//!
//! A [`Mailbox`] has a home in the room and a [`Place`] where its messages lie: `maildir`, `workspace` and `tree` are the places of the
//! three protocols behind one interface. `folder`, `claim` and `reading` are what the two protocols share whose state is a
//! directory. `delivery` is a message on its way, `collect` mail that was put where another protocol had it put, and `directory`
//! what a protocol may ask about the room. `trash` keeps what was pruned. Nothing here knows a terminal or a verb.

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
pub mod workspace;

pub use delivery::{Delivery, DeliveryOutcome, ReplyRoute, ReplyTarget};
pub use directory::Directory;
pub use disk::Dir;
pub use fault::{Durability, Error, IfAny};
pub use folder::{Folder, Token};
pub use maildir::Maildir;
pub use open::Mailbox;
pub use place::Place;

use std::time::Duration;

/// The longest file that is looked at again to say what is wrong with it.
const TEXT_LIMIT: u64 = 16 * 1024 * 1024;

/// Lets a bounded time pass; the one place where mail waits for something that no watch can tell.
#[allow(clippy::disallowed_methods, reason = "polling for a lock and for a file system without a watch")]
pub(crate) fn pause(duration: Duration) {
    std::thread::sleep(duration);
}
