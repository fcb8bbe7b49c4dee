//! Trust: what a repository or a room would run, and which of it the person has looked at.
//!
//! An [`Item`] is one thing that can be trusted: an agent, a workflow, or the limits of a file of settings. Its description
//! says everything that decides what is run, and the number of that text is its fingerprint, so that a change of one item
//! stops that item and no other. [`Look`] makes the items of a project, [`Record`] is what the person said about them, and
//! [`Trusted`] holds the one against the other. Paths in a description are relative to the project, so that a worktree of
//! the same files has the same fingerprints.
//!
//! Nothing here asks, prints or finds the person's settings; the caller hands their path in.

mod choice;
mod covered;
mod difference;
mod item;
mod look;
mod record;
mod table;
mod trusted;

use std::path::PathBuf;

use thiserror::Error as ThisError;

pub use choice::Choice;
pub use difference::difference;
pub use item::{Item, Key, What, plain};
pub use look::{Look, PLACES, described_agent};
pub use record::{Record, State, Store};
pub use trusted::Trusted;

pub type Result<T> = std::result::Result<T, Error>;

/// Why it cannot be said what would run, or what is trusted.
#[derive(Debug, ThisError)]
pub enum Error {
    #[error(transparent)]
    Disk(#[from] crate::mailbox::fault::Error),
    #[error("{} cannot be covered by trust", .path.display())]
    Uncovered { path: PathBuf },
    #[error("{}: {}", .path.display(), .why.trim_end())]
    Settings { path: PathBuf, why: String },
    #[error("there is no {kind} `{}` here", crate::message::visible::clip(.name, 60))]
    Unknown { kind: &'static str, name: String },
}
