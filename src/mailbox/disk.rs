//! The disk: the only door to files. Nothing else in Postroom opens, renames, links, syncs or removes.
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
mod log;
#[cfg(feature = "mutations")]
mod mutation;
mod outside;
mod swap;
mod whereabouts;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, RawDir, Stat};
use rustix::io::{Errno, retry_on_intr};

pub use swap::Swapped;
pub use above::check_above;
pub use whereabouts::{is_dated_by_this_machine, network};

use self::flags::{dir_flags, exclusive, file_flags, fsync, no_replace};
use super::fault::{Durability, Error, Result};
use crate::random;

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
    /// until the directory is known to be finished: whoever made it may have been interrupted.
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
    pub fn make_sub(&self, name: &str) -> Result<Self> {
        match self.sub(name) {
            Err(e) if e.is_missing() => self.make_new(name),
            other => other,
        }
    }

    /// The same for a directory that is most likely missing.
    pub fn make_new(&self, name: &str) -> Result<Self> {
        match fs::mkdirat(&self.fd, name, DIR_MODE) {
            Ok(()) => fs::chmodat(&self.fd, name, DIR_MODE, AtFlags::empty())
                .map_err(|e| self.fault("set the mode of", name, e))?,
            Err(Errno::EXIST) => {}
            Err(e) => return Err(self.fault("make", name, e)),
        }
        self.sub(name)
    }

    /// Writes and syncs a new file where no reader looks.
    pub fn stage(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let synced =
            self.create(name, bytes).and_then(|file| fsync(&file).map_err(|e| self.fault("sync", name, e)));
        if synced.is_err() {
            let _ = fs::unlinkat(&self.fd, name, AtFlags::empty());
        }
        synced
    }

    /// Writes a new file without sync, where a power cut makes its content worthless anyway.
    pub fn write_new(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.create(name, bytes).map(|_| ())
    }

    fn create(&self, name: &str, bytes: &[u8]) -> Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | exclusive() | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = retry_on_intr(|| fs::openat(&self.fd, name, flags, FILE_MODE))
            .map_err(|e| self.fault("create", name, e))?;
        let written = || {
            let mut file = File::from(fd);
            file.write_all(bytes).map_err(|e| Error::std("write", &self.path.join(name), e))?;
            // A umask can take away the owner's own rights. And a file that was looked at after it was written has another
            // time of change when it is moved, by which its readers know that it is whole.
            let stat = fs::fstat(&file).map_err(|e| self.fault("look at", name, e))?;
            if stat.st_mode & 0o777 != FILE_MODE.as_raw_mode() {
                fs::fchmod(&file, FILE_MODE).map_err(|e| self.fault("set the mode of", name, e))?;
            }
            Ok(file)
        };
        let written = written();
        if written.is_err() {
            let _ = fs::unlinkat(&self.fd, name, AtFlags::empty());
        }
        written
    }

    /// Moves a file to another directory in one step that never replaces. `Error::Exists` if the name is
    /// taken there, [`Error::is_missing`] if the file is gone here. The caller syncs `to`.
    pub fn publish(&self, name: impl AsRef<OsStr>, to: &Dir, new: &str) -> Result<()> {
        let name = name.as_ref();
        if self.renames(name, to, new)? {
            return Ok(());
        }
        self.unlink(name).inspect_err(|_| {
            // Others may move it too: it belongs to whoever takes it away from here, and nobody may have it twice.
            let _ = to.unlink(OsStr::new(new));
        })
    }

    /// Gives a staged file, which nobody else moves, its name in `to`, and syncs `to`. After an error nothing is visible
    /// there, and nothing is left here.
    pub fn publish_staged(&self, staged: &str, to: &Dir, new: &str) -> Result<Durability> {
        let renamed = self.renames(OsStr::new(staged), to, new).inspect_err(|_| {
            let _ = self.remove(staged);
        })?;
        // It is visible now, so from here on nothing is an error.
        let left = if renamed { Ok(()) } else { self.remove(staged) };
        Ok(Durability::of(to.sync().and(left)))
    }

    /// Gives a file its new name. `false`: and it still has its old one, because some file systems know no NOREPLACE, and
    /// a hard link refuses a taken name just as surely.
    fn renames(&self, name: &OsStr, to: &Dir, new: &str) -> Result<bool> {
        let (doing, e) = match retry_on_intr(|| fs::renameat_with(&self.fd, name, &to.fd, new, no_replace()))
        {
            Ok(()) => return Ok(true),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                match fs::linkat(&self.fd, name, &to.fd, new, AtFlags::empty()) {
                    Ok(()) => return Ok(false),
                    Err(e) => ("link", e),
                }
            }
            Err(e) => ("move", e),
        };
        Err(match e {
            Errno::EXIST => Error::Exists { path: to.path.join(new) },
            e => self.fault(doing, name, e),
        })
    }

    fn unlink(&self, name: &OsStr) -> Result<()> {
        fs::unlinkat(&self.fd, name, AtFlags::empty()).map_err(|e| self.fault("remove", name, e))
    }

    /// Puts new content in the place of a file, whole or not at all, and durable.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let staged = format!(".{name}.{}", random::unique_hex());
        self.stage(&staged, bytes)?;
        if let Err(e) = retry_on_intr(|| fs::renameat(&self.fd, &staged, &self.fd, name)) {
            let _ = self.remove(&staged);
            return Err(self.fault("replace", name, e));
        }
        self.sync()
    }

    /// Puts new content in the place of a file, whole or not at all, without sync.
    pub fn exchange(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let staged = format!(".{name}.{}", random::unique_hex());
        self.write_new(&staged, bytes)?;
        retry_on_intr(|| fs::renameat(&self.fd, &staged, &self.fd, name)).map_err(|e| {
            let _ = self.remove(&staged);
            self.fault("replace", name, e)
        })
    }

    /// Makes the content of a file here survive a power cut.
    pub fn sync_file(&self, name: &str) -> Result<()> {
        let opened = self.open_file(name)?;
        fsync(&opened.file).map_err(|e| self.fault("sync", name, e))
    }

    /// Removes an empty directory.
    pub fn remove_dir(&self, name: &str) -> Result<()> {
        fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR).map_err(|e| self.fault("remove", name, e))
    }

    /// Makes what was published, made or removed here survive a power cut.
    #[cfg_attr(feature = "mutations", track_caller)]
    pub fn sync(&self) -> Result<()> {
        fsync(&self.fd).map_err(|e| Error::io("sync", &self.path, e))
    }

    /// Renames a directory that lies below this one, never onto another.
    pub fn rename_dir(&self, name: &str, to: &Dir, new: &str) -> Result<()> {
        match fs::renameat_with(&self.fd, name, &to.fd, new, no_replace()) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(Error::Exists { path: to.path.join(new) }),
            // Without NOREPLACE a directory can still only replace an empty one.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                fs::renameat(&self.fd, name, &to.fd, new).map_err(|e| self.fault("move", name, e))
            }
            Err(e) => Err(self.fault("move", name, e)),
        }
    }

    /// Opens a regular file of this user for reading, without following a link or waiting on a FIFO.
    pub fn open_file(&self, name: &str) -> Result<Opened> {
        let path = self.path.join(name);
        let fd =
            retry_on_intr(|| fs::openat(&self.fd, name, file_flags(), Mode::empty())).map_err(
                |e| match e {
                    Errno::LOOP => Error::Link { path: path.clone() },
                    Errno::NXIO => Error::NotAFile { path: path.clone(), what: "a socket or device" },
                    e => Error::io("open", &path, e),
                },
            )?;
        let stat = fs::fstat(&fd).map_err(|e| Error::io("look at", &path, e))?;
        check_regular(&stat, &path)?;
        check_owner(&stat, &path)?;
        // A second link may be somebody's file outside the room: that one's mode is not ours to change.
        if self.tightens && stat.st_mode & 0o077 != 0 && stat.st_nlink == 1 {
            let _ = fs::fchmod(&fd, FILE_MODE);
        }
        Ok(Opened { file: File::from(fd), stat, path })
    }

    /// What a file holds, if all of it fits into the buffer, and nothing asked about the file itself: enough to see
    /// that it need not be opened with care. `None` says nothing.
    pub fn skim<'b>(&self, name: &str, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        let fd = fs::openat(&self.fd, name, file_flags(), Mode::empty()).ok()?;
        let length = rustix::io::read(&fd, &mut *buffer).ok()?;
        // A shorter read is the end of a file.
        (length < buffer.len()).then(|| &buffer[..length])
    }

    /// The whole of a small file. `None` if it is not there.
    pub fn read(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        match self.open_file(name) {
            Ok(opened) => opened.read_all(limit).map(Some),
            Err(e) if e.is_missing() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The last bytes of a file, at most `limit`. `None` if it is not there.
    pub fn tail(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        let mut opened = match self.open_file(name) {
            Err(e) if e.is_missing() => return Ok(None),
            other => other?,
        };
        let size = u64::try_from(opened.stat.st_size).unwrap_or(0);
        let start = SeekFrom::Start(size.saturating_sub(limit));
        opened.file.seek(start).map_err(|e| Error::std("read", &opened.path, e))?;
        opened.head(usize::try_from(limit.min(size)).unwrap_or(usize::MAX)).map(Some)
    }

    /// Appends one line in one write; without sync, for logs that nothing depends on.
    pub fn append(&self, name: &str, line: &[u8]) -> Result<()> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = match retry_on_intr(|| fs::openat(&self.fd, name, flags, Mode::empty())) {
            Err(Errno::NOENT) => {
                let fd = retry_on_intr(|| fs::openat(&self.fd, name, flags | OFlags::CREATE, FILE_MODE))
                    .map_err(|e| self.fault("create", name, e))?;
                fs::fchmod(&fd, FILE_MODE).map_err(|e| self.fault("set the mode of", name, e))?;
                fd
            }
            other => other.map_err(|e| self.fault("open", name, e))?,
        };
        File::from(fd).write_all(line).map_err(|e| Error::std("write", &self.path.join(name), e))
    }

    /// Sets the time of a file to now, making it if it is missing; never durable.
    pub fn touch(&self, name: &str) -> Result<()> {
        let now = fs::Timespec { tv_sec: 0, tv_nsec: fs::UTIME_NOW as _ };
        let times = fs::Timestamps { last_access: now, last_modification: now };
        match fs::utimensat(&self.fd, name, &times, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => self.append(name, b""),
            other => other.map_err(|e| self.fault("touch", name, e)),
        }
    }

    pub fn remove(&self, name: &str) -> Result<()> {
        self.unlink(OsStr::new(name))
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
                _ => dir.unlink(&entry)?,
            }
        }
        fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR).map_err(|e| self.fault("remove", name, e))
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

    /// Shows every entry but `.` and `..` to `see`, in no order, straight from the kernel's buffer.
    pub fn scan(&self, see: impl FnMut(&[u8], FileType)) -> Result<()> {
        let fd = retry_on_intr(|| fs::openat(&self.fd, ".", dir_flags(), Mode::empty()))
            .map_err(|e| Error::io("open", &self.path, e))?;
        self.scan_by(&fd, see)
    }

    /// The same for a directory that was opened for nothing else, and needs no descriptor of its own for it.
    pub fn scan_once(self, see: impl FnMut(&[u8], FileType)) -> Result<()> {
        self.scan_by(&self.fd, see)
    }

    fn scan_by(&self, fd: &OwnedFd, mut see: impl FnMut(&[u8], FileType)) -> Result<()> {
        let mut buffer = vec![MaybeUninit::uninit(); 64 * 1024];
        let mut entries = RawDir::new(fd, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Err(Errno::INTR) => continue,
                // Removed while it was open: there is nothing in it.
                Err(Errno::NOENT) => return Ok(()),
                other => other.map_err(|e| Error::io("list", &self.path, e))?,
            };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => fs::statat(&self.fd, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                known => known,
            };
            see(name, kind);
        }
        Ok(())
    }

    pub(super) fn fault(&self, doing: &'static str, name: impl AsRef<Path>, e: Errno) -> Error {
        Error::io(doing, &self.path.join(name), e)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Opened {
    /// The first bytes, at most `limit`.
    pub fn head(&mut self, limit: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; limit];
        let mut filled = 0;
        while filled < limit {
            match (&self.file).read(&mut bytes[filled..]) {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                // A shorter read is the end of a file.
                Ok(got) if got < limit - filled => {
                    filled += got;
                    break;
                }
                other => filled += other.map_err(|e| Error::std("read", &self.path, e))?,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// Everything, if it is no more than `limit`.
    pub fn read_all(self, limit: u64) -> Result<Vec<u8>> {
        let size = u64::try_from(self.stat.st_size).unwrap_or(0);
        let too_large = |path: &Path, size| Err(Error::TooLarge { path: path.to_owned(), size, limit });
        if size > limit {
            return too_large(&self.path, size);
        }
        // One byte more than there should be tells a file that grows; a shorter read is the end of a file.
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0) + 1];
        let mut filled = 0;
        loop {
            let got = match (&self.file).read(&mut bytes[filled..]) {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                other => other.map_err(|e| Error::std("read", &self.path, e))?,
            };
            filled += got;
            if got == 0 || filled < bytes.len() {
                bytes.truncate(filled);
                return Ok(bytes);
            }
            if bytes.len() as u64 > limit {
                return too_large(&self.path, bytes.len() as u64);
            }
            bytes.resize((bytes.len() * 2).min(usize::try_from(limit).unwrap_or(usize::MAX) + 1), 0);
        }
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
