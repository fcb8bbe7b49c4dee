//! What durability and never replacing rest on: the sync, and the flags of every open and rename, each said once.
//!
//! With the feature `mutations` each of them can be left out, so that a test sees whether that would be noticed.

use std::ffi::OsStr;
use std::os::fd::AsFd;

use rustix::fs::OFlags;
use rustix::io::{Errno, Result};

use super::Dir;
use crate::os;

/// The one sync of a file or a directory.
#[cfg_attr(feature = "mutations", track_caller)]
pub(super) fn fsync(fd: impl AsFd) -> Result<()> {
    #[cfg(feature = "mutations")]
    if super::mutation::leaves_out("sync") {
        return Ok(());
    }
    os::sync(fd)
}

/// A rename that never replaces. Some systems and disks know none ([`is_unknown`]).
#[cfg_attr(feature = "mutations", track_caller)]
pub(super) fn rename_new(from: &Dir, name: &OsStr, to: &Dir, new: &str) -> Result<()> {
    #[cfg(feature = "mutations")]
    if super::mutation::leaves_out("no-replace") {
        return rustix::fs::renameat(&from.fd, name, &to.fd, new);
    }
    os::rename_new(&from.fd, name, &to.fd, new)
}

/// Whether a call failed because there is no such call here.
pub(super) fn is_unknown(e: Errno) -> bool {
    matches!(e, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
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
