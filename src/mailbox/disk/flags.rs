//! What durability and never replacing rest on: the sync, and the flags of every open and rename, each said once.
//!
//! With the feature `mutations` each of them can be left out, so that a test sees whether that would be noticed.

use std::os::fd::AsFd;

use rustix::fs::{OFlags, RenameFlags};

/// The one sync of a file or a directory.
#[cfg_attr(feature = "mutations", track_caller)]
pub(super) fn fsync(fd: impl AsFd) -> rustix::io::Result<()> {
    #[cfg(feature = "mutations")]
    if super::mutation::leaves_out("sync") {
        return Ok(());
    }
    rustix::fs::fsync(fd)
}

/// What keeps a rename from replacing.
#[cfg_attr(feature = "mutations", track_caller)]
pub(super) fn no_replace() -> RenameFlags {
    #[cfg(feature = "mutations")]
    if super::mutation::leaves_out("no-replace") {
        return RenameFlags::empty();
    }
    RenameFlags::NOREPLACE
}

/// What keeps a new file from being one that is there.
#[cfg_attr(feature = "mutations", track_caller)]
pub(super) fn exclusive() -> OFlags {
    #[cfg(feature = "mutations")]
    if super::mutation::leaves_out("exclusive") {
        return OFlags::empty();
    }
    OFlags::EXCL
}

pub(super) fn dir_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

pub(super) fn file_flags() -> OFlags {
    OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY
}
