//! Errors of the disk: one type, with the path and the failed operation.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, FileType};
use rustix::io::Errno;
use thiserror::Error as ThisError;

use crate::message::{ParseError, Unwritable};

pub type Result<T> = std::result::Result<T, Error>;

/// A refusal or failure of [`super::disk`].
#[derive(Debug, ThisError)]
pub enum Error {
    #[error("cannot {doing} {}: {source}", .path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is a symbolic link", .path.display())]
    Link { path: PathBuf },
    #[error("{} is {what}, not a regular file", .path.display())]
    NotAFile { path: PathBuf, what: &'static str },
    #[error("{} is {what}, not a directory", .path.display())]
    NotADirectory { path: PathBuf, what: &'static str },
    #[error("{} belongs to another user (uid {owner})", .path.display())]
    OtherOwner { path: PathBuf, owner: u32 },
    #[error("{} is writable by others and not sticky, so anyone could replace its contents", .path.display())]
    LooseParent { path: PathBuf },
    #[error("{} belongs to another user (uid {owner}), who could replace its contents", .path.display())]
    OtherParent { path: PathBuf, owner: u32 },
    #[error("{} has a second hard link", .path.display())]
    HardLink { path: PathBuf },
    #[error("{} is {size} bytes, over the limit of {limit}", .path.display())]
    TooLarge { path: PathBuf, size: u64, limit: u64 },
    #[error("{} is there already", .path.display())]
    Exists { path: PathBuf },
    #[error("{}: {why}", .path.display())]
    Content { path: PathBuf, why: String },
    #[error("{}: {source}", .path.display())]
    Unparsed { path: PathBuf, source: ParseError },
    #[error(transparent)]
    Unwritable(#[from] Unwritable),
    #[error("no mail can go to {}: {why}", crate::message::visible::clip(.path, 200))]
    Destination { path: String, why: String },
    #[error("{} keeps being changed by others; nothing was written", .path.display())]
    Busy { path: PathBuf },
    #[error("{} was pruned meanwhile; nothing was delivered", .path.display())]
    Pruned { path: PathBuf },
    #[error("{} is held by another process for over {seconds} s", .path.display())]
    Locked { path: PathBuf, seconds: u64 },
}

/// Whether a visible file survives a power cut.
#[derive(Debug)]
pub enum Durability {
    Proven,
    /// The directory could not be synced, or the staging file beside it could not be removed.
    Unproven(Error),
}

impl Durability {
    pub(super) fn of(synced: Result<()>) -> Self {
        match synced {
            Ok(()) => Self::Proven,
            Err(e) => Self::Unproven(e),
        }
    }

    /// For a caller that needs durability: `Unproven` becomes an error.
    pub fn proven(self) -> Result<()> {
        match self {
            Self::Proven => Ok(()),
            Self::Unproven(e) => Err(e),
        }
    }
}

impl Error {
    pub(super) fn io(doing: &'static str, path: &Path, e: Errno) -> Self {
        Self::std(doing, path, e.into())
    }

    pub(super) fn std(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { doing, path: path.to_owned(), source }
    }

    pub(super) fn not_a_directory(at: BorrowedFd<'_>, name: &Path, path: PathBuf) -> Self {
        match fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW).map(|s| FileType::from_raw_mode(s.st_mode)) {
            Ok(FileType::Symlink) => Self::Link { path },
            Ok(other) => Self::NotADirectory { path, what: kind(other) },
            Err(e) => Self::io("open", &path, e),
        }
    }

    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Io { source, .. } => Errno::from_io_error(source),
            _ => None,
        }
    }

    /// Whether the file or directory does not exist.
    pub fn is_missing(&self) -> bool {
        self.errno() == Some(Errno::NOENT)
    }

    /// Whether the disk failed for now, so that the state is unknown.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Io { .. }) && !self.is_missing() && !self.is_forbidden()
    }

    /// Whether the system forbade it, as a sandbox does.
    pub fn is_forbidden(&self) -> bool {
        matches!(self.errno(), Some(Errno::ACCESS | Errno::PERM | Errno::ROFS))
    }
}

/// Turns "not there" into `None`. Every other error stays an error.
pub trait IfAny<T> {
    fn if_any(self) -> Result<Option<T>>;
}

impl<T> IfAny<T> for Result<T> {
    fn if_any(self) -> Result<Option<T>> {
        match self {
            Err(e) if e.is_missing() => Ok(None),
            other => other.map(Some),
        }
    }
}

/// The kind of a file, in words.
pub(super) fn kind(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a regular file",
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "of an unknown kind",
    }
}
