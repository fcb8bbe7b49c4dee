//! Where messages lie. `disk` is the only door to rename, link and fsync; `lock` waits for others; a
//! mailbox of the native protocol is [`maildir::Maildir`], whose files are read by `reading` and whose agent
//! is looked for by `presence`; one of the tree protocol is [`tree::Agent`] in a [`tree::Tree`]. Nothing
//! here knows a terminal or a verb.

pub mod claim;
pub mod disk;
pub mod fault;
pub mod folder;
pub mod lock;
pub mod maildir;
pub mod once;
pub mod place;
pub mod presence;
pub mod reading;
mod recent;
pub mod tree;

pub use disk::Dir;
pub use fault::Error;
pub use folder::{Folder, Token};
pub use maildir::Maildir;
pub use place::Mailbox;

use std::time::Duration;

/// Lets a bounded time pass; the one place where mail waits for something that no watch can tell.
#[allow(clippy::disallowed_methods, reason = "polling for a lock and for a file system without a watch")]
pub(crate) fn pause(duration: Duration) {
    std::thread::sleep(duration);
}
