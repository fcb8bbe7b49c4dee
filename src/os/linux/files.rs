//! Files: renames with a promise, listings without a copy, opens without links, kinds of disks, and access lists.

#![allow(clippy::disallowed_methods, reason = "they are for mailbox/disk.rs, which is the door")]

use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, RawDir, RawDirEntry, RenameFlags, ResolveFlags};
use rustix::io::{Errno, Result, retry_on_intr};
use rustix::path::Arg;

/// The attribute that holds what a mode cannot say about who may read a file.
const ACCESS_LIST: &str = "system.posix_acl_access";

/// Makes a file or a directory survive a power cut.
pub fn sync(fd: impl AsFd) -> Result<()> {
    fs::fsync(fd)
}

/// Renames, never onto another file.
pub fn rename_new(from: impl AsFd, name: impl Arg, to: impl AsFd, new: impl Arg) -> Result<()> {
    fs::renameat_with(from, name, to, new, RenameFlags::NOREPLACE)
}

/// Exchanges two names of a directory in one step.
pub fn exchange(dir: impl AsFd, one: &str, other: &str) -> Result<()> {
    retry_on_intr(|| fs::renameat_with(&dir, one, &dir, other, RenameFlags::EXCHANGE))
}

/// Opens a path, through no link at all.
pub fn open_without_links(path: &Path, flags: OFlags) -> Result<OwnedFd> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    retry_on_intr(|| fs::openat2(fs::CWD, path, flags, Mode::empty(), resolve))
}

/// Shows every entry of a directory but `.` and `..`, in no order, straight from the kernel's buffer.
pub fn entries(dir: impl AsFd, mut see: impl FnMut(&[u8], FileType)) -> Result<()> {
    let dir = dir.as_fd();
    each(dir, &mut vec![MaybeUninit::uninit(); 64 * 1024], |entry| {
        let kind = match entry.file_type() {
            FileType::Unknown => fs::statat(dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            known => known,
        };
        see(entry.file_name().to_bytes(), kind);
        ControlFlow::Continue(())
    })
}

/// Whether a directory holds nothing; one look into the kernel's buffer, however much there is.
pub fn is_empty(dir: impl AsFd) -> Result<bool> {
    let mut empty = true;
    each(dir, &mut [MaybeUninit::uninit(); 1024], |_| {
        empty = false;
        ControlFlow::Break(())
    })?;
    Ok(empty)
}

fn each(
    dir: impl AsFd,
    buffer: &mut [MaybeUninit<u8>],
    mut see: impl FnMut(&RawDirEntry<'_>) -> ControlFlow<()>,
) -> Result<()> {
    let mut entries = RawDir::new(dir, buffer);
    while let Some(entry) = entries.next() {
        match entry {
            Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
            Ok(entry) if see(&entry).is_break() => break,
            Ok(_) | Err(Errno::INTR) => {}
            // Removed while it was open: there is nothing in it.
            Err(Errno::NOENT) => break,
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// How many links a file has now, not as a cache remembers it.
pub fn links(dir: impl AsFd, name: &str) -> Result<u32> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_FORCE_SYNC;
    fs::statx(dir, name, flags, fs::StatxFlags::NLINK).map(|stat| stat.stx_nlink)
}

/// The kind of network disk that a path leads to, if it does.
pub fn network(path: &Path) -> Option<&'static str> {
    match kind_of_disk(path)? {
        0x6969 => Some("NFS"),
        0x517b | 0xfe53_4d42 | 0xff53_4d42 => Some("SMB"),
        0x0102_1997 => Some("9p"),
        0x6573_5546 => Some("FUSE"),
        0x5346_414f | 0x6b41_4653 => Some("AFS"),
        0x00c3_6400 => Some("Ceph"),
        _ => None,
    }
}

/// Whether this machine's clock dates the files. Only local disks are known to: the server of a network disk has its own clock.
pub fn is_dated_by_this_machine(path: &Path) -> bool {
    // ext2 to ext4, XFS, Btrfs, tmpfs, F2FS, ZFS, bcachefs, ramfs, overlayfs (what is written goes to its upper layer).
    matches!(
        kind_of_disk(path),
        Some(0xef53 | 0x5846_5342 | 0x9123_683e | 0x0102_1994 | 0xf2f5_2010 | 0x2fc1_2fc1 | 0xca45_1a4e)
            | Some(0x8584_58f6 | 0x794c_7630)
    )
}

/// The type of the field differs between platforms; the numbers are all of 32 bits.
fn kind_of_disk(path: &Path) -> Option<u32> {
    retry_on_intr(|| fs::statfs(path)).ok().map(|disk| disk.f_type as u32)
}

/// The access list of a file, if it has more than a mode.
pub fn access_list(file: impl AsFd) -> Result<Option<Vec<u8>>> {
    let read = || {
        // Nearly no file has one, and the kernel clears as much memory as it is offered. So the first question offers none.
        fs::fgetxattr(&file, ACCESS_LIST, &mut [0_u8; 0])?;
        let mut acl = vec![0; 64 * 1024];
        let length = fs::fgetxattr(&file, ACCESS_LIST, &mut acl)?;
        acl.truncate(length);
        Ok(acl)
    };
    match read() {
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(None),
        other => other.map(Some),
    }
}

/// Gives a file an access list, or takes away the one that its directory gave it.
pub fn set_access_list(file: impl AsFd, acl: Option<&[u8]>) -> Result<()> {
    match acl {
        Some(acl) => fs::fsetxattr(file, ACCESS_LIST, acl, fs::XattrFlags::empty()),
        None => match fs::fremovexattr(file, ACCESS_LIST) {
            Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            other => other,
        },
    }
}
