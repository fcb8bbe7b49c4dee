//! Files: listings, and the sync. The other calls of Linux are missing: they return `NOSYS`, and the caller uses link, unlink, rename
//! and openat instead.

#![allow(clippy::disallowed_methods, reason = "they are for mailbox/disk.rs, which is the door")]

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{self, AtFlags, FileType, OFlags};
use rustix::io::{Errno, Result};
use rustix::path::Arg;

/// Makes a file or a directory survive a power cut.
#[cfg(not(target_vendor = "apple"))]
pub fn sync(fd: impl AsFd) -> Result<()> {
    fs::fsync(fd)
}

/// Makes a file or a directory survive a power cut. An fsync only hands it to the disk, which may keep it in its cache.
///
/// Never compiled: written from rustix's documentation.
#[cfg(target_vendor = "apple")]
pub fn sync(fd: impl AsFd) -> Result<()> {
    match fs::fcntl_fullfsync(&fd) {
        // Some disks, network disks among them, do not know it.
        Err(Errno::NOTSUP | Errno::NOTTY | Errno::INVAL) => fs::fsync(&fd),
        other => other,
    }
}

/// Renames, never onto another file. The caller links and unlinks instead.
pub fn rename_new(_: impl AsFd, _: impl Arg, _: impl AsFd, _: impl Arg) -> Result<()> {
    Err(Errno::NOSYS)
}

/// Exchanges two names of a directory in one step.
pub fn exchange(_: impl AsFd, _: &str, _: &str) -> Result<()> {
    Err(Errno::NOSYS)
}

/// Opens a path, through no link at all. The caller opens one component at a time instead.
pub fn open_without_links(_: &Path, _: OFlags) -> Result<OwnedFd> {
    Err(Errno::NOSYS)
}

/// Shows every entry of a directory but `.` and `..`, in no order.
pub fn entries(dir: impl AsFd, mut see: impl FnMut(&[u8], FileType)) -> Result<()> {
    let mut all = match fs::Dir::read_from(&dir) {
        // Removed while it was open: there is nothing in it.
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    while let Some(entry) = all.read() {
        let entry = match entry {
            Err(Errno::INTR) => continue,
            Err(Errno::NOENT) => return Ok(()),
            other => other?,
        };
        if matches!(entry.file_name().to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => fs::statat(&dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            known => known,
        };
        see(entry.file_name().to_bytes(), kind);
    }
    Ok(())
}

/// Whether a directory holds nothing.
pub fn is_empty(dir: impl AsFd) -> Result<bool> {
    let mut empty = true;
    entries(dir, |_, _| empty = false)?;
    Ok(empty)
}

/// How many links a file has now, not as a cache remembers it.
pub fn links(_: impl AsFd, _: &str) -> Result<u32> {
    Err(Errno::NOSYS)
}

/// The kind of network disk that a path leads to, if it is known.
pub fn network(_: &Path) -> Option<&'static str> {
    None
}

/// Whether files are known to be dated by the clock of this machine.
pub fn is_dated_by_this_machine(_: &Path) -> bool {
    false
}

/// The access list of a file, if it has more than a mode. There is no portable way to see one.
pub fn access_list(_: impl AsFd) -> Result<Option<Vec<u8>>> {
    Ok(None)
}

/// Gives a file an access list, or takes away the one that its directory gave it.
pub fn set_access_list(_: impl AsFd, acl: Option<&[u8]>) -> Result<()> {
    acl.map_or(Ok(()), |_| Err(Errno::NOSYS))
}
