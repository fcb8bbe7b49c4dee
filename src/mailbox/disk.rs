//! The disk: the only door to files. Nothing else in Postroom creates, renames, links, syncs or removes.
//!
//! A [`Dir`] is an open directory; everything happens relative to it, one checked path component at a time,
//! and never through a symbolic link. What is made is 0700 or 0600 whatever the umask; what is found
//! looser is tightened, and what another user owns is refused. A file becomes visible by one atomic step
//! that replaces nothing ([`Dir::publish`]), after its bytes were synced; the caller then syncs the
//! directory ([`Dir::sync`]) before it reports anything. A failed fsync is never tried again, because the
//! kernel forgets the failure (format.md §4).

#![allow(clippy::disallowed_methods, reason = "this is the door")]

mod above;
mod flags;
#[cfg(feature = "mutations")]
mod mutation;
mod outside;
mod reading;
mod swap;
mod whereabouts;
mod writing;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

pub use above::check_above;
pub use reading::{glimpse, read_source};
pub use swap::Swapped;
pub use whereabouts::DirState;

use self::flags::{dir_flags, file_flags, fsync, is_unknown, rename_new};
use super::fault::{Error, IfAny, Result};

const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
const DIR_MODE: Mode = Mode::RWXU;

/// An open directory of this user.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
    /// Whether loose modes of what is opened here are tightened: not while only looking.
    tightens: bool,
}

/// A file that was opened without following or waiting, with what was known of it at that moment.
#[derive(Debug)]
pub struct Opened {
    file: File,
    pub stat: Stat,
    path: PathBuf,
}

/// A file on its way from one directory to another; nothing if it is a link, or one that cannot be opened.
#[derive(Debug)]
pub struct Moving(Option<OwnedFd>);

impl Dir {
    /// Opens a directory by path. Neither it nor the directory above may be a link, and nobody else may be
    /// able to swap it.
    pub fn open(path: &Path) -> Result<Self> {
        let mut dir = Self::look(path)?;
        dir.make_own()?;
        Ok(dir)
    }

    /// Opens a directory to look at it: nothing in it is changed, not even a mode.
    pub fn look(path: &Path) -> Result<Self> {
        if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            let stat = fs::lstat(parent).map_err(|e| Error::io("look at", parent, e))?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
                return Err(Error::Link { path: parent.to_owned() });
            }
            above::check_holder(&stat, parent)?;
        }
        Self::open_at(fs::CWD, path, path.to_owned(), false)
    }

    /// From here on this is known to be ours, and loose modes are tightened.
    pub fn make_own(&mut self) -> Result<()> {
        let stat = fs::fstat(&self.fd).map_err(|e| Error::io("look at", &self.path, e))?;
        self.tightens = true;
        self.tighten_self(&stat)
    }

    fn tighten_self(&self, stat: &Stat) -> Result<()> {
        if stat.st_mode & 0o077 == 0 || !self.tightens {
            return Ok(());
        }
        fs::fchmod(&self.fd, DIR_MODE).map_err(|e| Error::io("set the mode of", &self.path, e))
    }

    /// Makes a directory by path if it is missing, parents included, and opens it. None of it is durable
    /// before [`Dir::sync_parents`].
    pub fn make(path: &Path) -> Result<Self> {
        let missing: Vec<&Path> =
            path.ancestors().take_while(|p| fs::lstat(*p).is_err_and(|e| e == Errno::NOENT)).collect();
        for step in missing.into_iter().rev() {
            match fs::mkdir(step, DIR_MODE) {
                Ok(()) => fs::chmod(step, DIR_MODE).map_err(|e| Error::io("set the mode of", step, e))?,
                Err(Errno::EXIST) => {}
                Err(e) => return Err(Error::io("make", step, e)),
            }
        }
        Self::open(path)
    }

    /// Makes the way to this directory survive a power cut, as far up as this user can have made it. Asked for
    /// until the directory is known to be finished: the process that made it may have been interrupted.
    pub fn sync_parents(&self) -> Result<()> {
        for parent in self.path.ancestors().skip(1) {
            let flags = dir_flags() & !OFlags::NOFOLLOW;
            let fd = fs::open(parent, flags, Mode::empty()).map_err(|e| Error::io("open", parent, e))?;
            let stat = fs::fstat(&fd).map_err(|e| Error::io("look at", parent, e))?;
            if check_owner(&stat, parent).is_err() {
                break;
            }
            fsync(&fd).map_err(|e| Error::io("sync", parent, e))?;
        }
        Ok(())
    }

    fn open_at(at: BorrowedFd<'_>, name: &Path, path: PathBuf, tightens: bool) -> Result<Self> {
        let fd = match retry_on_intr(|| fs::openat(at, name, dir_flags(), Mode::empty())) {
            Ok(fd) => fd,
            // O_DIRECTORY with O_NOFOLLOW says ENOTDIR of a link; which of the two it was matters to people.
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(Error::not_a_directory(at, name, path)),
            Err(e) => return Err(Error::io("open", &path, e)),
        };
        let stat = fs::fstat(&fd).map_err(|e| Error::io("look at", &path, e))?;
        check_owner(&stat, &path)?;
        let dir = Self { fd, path, tightens };
        dir.tighten_self(&stat)?;
        Ok(dir)
    }

    /// A directory of this user that is open already, and whose modes are its owner's affair.
    pub(super) fn of(fd: OwnedFd, path: &Path) -> Result<Self> {
        let stat = fs::fstat(&fd).map_err(|e| Error::io("look at", path, e))?;
        check_owner(&stat, path)?;
        Ok(Self { fd, path: path.to_owned(), tightens: false })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory `name` below this one.
    pub fn sub(&self, name: &str) -> Result<Self> {
        Self::open_at(self.fd.as_fd(), Path::new(name), self.path.join(name), self.tightens)
    }

    /// The directory `name` below this one, made if it is missing. The caller syncs `self`, once for all
    /// that it makes there.
    pub fn create_dir(&self, name: &str) -> Result<Self> {
        match self.sub(name) {
            Err(e) if e.is_missing() => self.make_new(name),
            other => other,
        }
    }

    /// As [`Dir::create_dir`], for a directory that is most likely missing.
    pub fn make_new(&self, name: &str) -> Result<Self> {
        match fs::mkdirat(&self.fd, name, DIR_MODE) {
            Ok(()) => fs::chmodat(&self.fd, name, DIR_MODE, AtFlags::empty())
                .map_err(|e| self.fault("set the mode of", name, e))?,
            Err(Errno::EXIST) => {}
            Err(e) => return Err(self.fault("make", name, e)),
        }
        self.sub(name)
    }

    /// Makes the content of a file here survive a power cut.
    pub fn sync_file(&self, name: &str) -> Result<()> {
        let opened = self.open_file(name)?;
        fsync(&opened.file).map_err(|e| self.fault("sync", name, e))
    }

    /// A file that is about to be moved. It is opened before, so that a lack of descriptors moves nothing.
    pub fn to_move(&self, name: &str) -> Result<Moving> {
        match retry_on_intr(|| fs::openat(&self.fd, name, file_flags(), Mode::empty())) {
            Ok(fd) => Ok(Moving(Some(fd))),
            Err(Errno::LOOP | Errno::ACCESS | Errno::NXIO) => Ok(Moving(None)),
            Err(e) => Err(self.fault("open", name, e)),
        }
    }

    /// Makes the move of a file to this directory survive a power cut: the file first, because btrfs otherwise brings its old
    /// name back beside the new one.
    #[cfg_attr(feature = "mutations", track_caller)]
    pub fn sync_moved(&self, file: &Moving) -> Result<()> {
        self.sync_content(file)?;
        self.sync()
    }

    /// Syncs many moved files, by their names here. A process that has moved a file on syncs it itself.
    #[cfg_attr(feature = "mutations", track_caller)]
    pub fn sync_all_moved(&self, names: &[impl AsRef<str>]) -> Result<()> {
        for name in names {
            self.to_move(name.as_ref()).if_any()?.map_or(Ok(()), |file| self.sync_content(&file))?;
        }
        self.sync()
    }

    #[cfg_attr(feature = "mutations", track_caller)]
    fn sync_content(&self, file: &Moving) -> Result<()> {
        file.0.as_ref().map_or(Ok(()), |file| fsync(file).map_err(|e| Error::io("sync", &self.path, e)))
    }

    /// Removes an empty directory.
    pub fn remove_dir(&self, name: &(impl AsRef<OsStr> + ?Sized)) -> Result<()> {
        let name = name.as_ref();
        fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR).map_err(|e| self.fault("remove", name, e))
    }

    /// Makes what was published, made or removed here survive a power cut.
    #[cfg_attr(feature = "mutations", track_caller)]
    pub fn sync(&self) -> Result<()> {
        fsync(&self.fd).map_err(|e| Error::io("sync", &self.path, e))
    }

    /// Renames a directory that lies below this one, never onto another.
    pub fn rename_dir(&self, name: &str, to: &Dir, new: &str) -> Result<()> {
        match rename_new(self, OsStr::new(name), to, new) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(Error::Exists { path: to.path.join(new) }),
            Err(e) if is_unknown(e) => self.rename_plainly(OsStr::new(name), to, new),
            Err(e) => Err(self.fault("move", name, e)),
        }
    }

    /// Renames a directory where no rename refuses to replace: it can still only replace an empty one.
    fn rename_plainly(&self, name: &OsStr, to: &Dir, new: &str) -> Result<()> {
        fs::renameat(&self.fd, name, &to.fd, new).map_err(|e| match e {
            Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR => Error::Exists { path: to.path.join(new) },
            e => self.fault("move", name, e),
        })
    }

    pub fn remove(&self, name: &(impl AsRef<OsStr> + ?Sized)) -> Result<()> {
        let name = name.as_ref();
        fs::unlinkat(&self.fd, name, AtFlags::empty()).map_err(|e| self.fault("remove", name, e))
    }

    /// Removes a directory and all below it, never through a link.
    pub fn remove_tree(&self, name: impl AsRef<OsStr>) -> Result<()> {
        let name = name.as_ref();
        let dir = Self::open_at(self.fd.as_fd(), name.as_ref(), self.path.join(name), self.tightens)?;
        let mut inside = vec![];
        dir.scan(|entry, kind| inside.push((OsString::from_vec(entry.to_vec()), kind)))?;
        for (entry, kind) in inside {
            match kind {
                FileType::Directory => dir.remove_tree(&entry)?,
                _ => dir.remove(&entry)?,
            }
        }
        self.remove_dir(name)
    }

    /// What lies under a name, without following it.
    pub fn stat(&self, name: &str) -> Result<Stat> {
        fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|e| self.fault("look at", name, e))
    }

    /// Tightens the mode of a file or directory that lies here.
    pub fn tighten(&self, name: &str, stat: &Stat) -> Result<()> {
        let mode =
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory { DIR_MODE } else { FILE_MODE };
        fs::chmodat(&self.fd, name, mode, AtFlags::empty())
            .map_err(|e| self.fault("set the mode of", name, e))
    }

    pub(super) fn fault(&self, doing: &'static str, name: impl AsRef<Path>, e: Errno) -> Error {
        Error::io(doing, &self.path.join(name), e)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn check_owner(stat: &Stat, path: &Path) -> Result<()> {
    match is_ours(stat) {
        true => Ok(()),
        false => Err(Error::OtherOwner { path: path.to_owned(), owner: stat.st_uid }),
    }
}

fn is_ours(stat: &Stat) -> bool {
    static ME: OnceLock<u32> = OnceLock::new();
    stat.st_uid == *ME.get_or_init(|| rustix::process::geteuid().as_raw())
}

fn check_regular(stat: &Stat, path: &Path) -> Result<()> {
    let what = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(()),
        other => super::fault::kind(other),
    };
    Err(Error::NotAFile { path: path.to_owned(), what })
}

#[cfg(test)]
#[path = "disk_tests.rs"]
mod tests;
