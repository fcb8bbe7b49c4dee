//! Trust: what a repository or a room would run, and which of it the person has reviewed.
//!
//! An [`Item`] is one thing that can be trusted: an agent, a workflow, or the limits of a settings file. Its
//! description contains everything that decides what is run, and the digest of that text is its fingerprint. So a
//! change of one item stops only that item. [`Look`] builds the items of a project, [`Record`] is the person's
//! decisions about them, and [`Trusted`] compares the two. Paths in a description are relative to the project, so a
//! worktree with the same files has the same fingerprints.
//!
//! Nothing here asks, prints or finds the person's settings; the caller passes their path.

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
pub use record::{Record, Store, TrustState};
pub use trusted::Trusted;

pub type Result<T> = std::result::Result<T, Error>;

/// Why it cannot be determined what would run, or what is trusted.
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
