//! Writing: new files, made where no reader looks and published in one step, and files that are replaced or only grow.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::flags::{exclusive, fsync, is_unknown, rename_new};
use super::{Dir, FILE_MODE};
use crate::mailbox::fault::{Durability, Error, IfAny, Result};
use crate::random;

impl Dir {
    /// Writes and syncs a new file where no reader looks.
    pub fn stage(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.new_file(name, bytes)
            .and_then(|(file, _)| fsync(&file).map_err(|e| self.fault("sync", name, e)))
            .inspect_err(|_| drop(self.remove(name)))
    }

    /// Writes a new file without sync, where a power cut makes its content worthless anyway.
    pub fn write_new(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.new_file(name, bytes).map(|_| ())
    }

    /// A new file with this content, and what it is: of the mode that every file of a room has.
    pub(super) fn new_file(&self, name: &str, bytes: &[u8]) -> Result<(File, Stat)> {
        let flags = OFlags::WRONLY | OFlags::CREATE | exclusive() | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = retry_on_intr(|| fs::openat(&self.fd, name, flags, FILE_MODE))
            .map_err(|e| self.fault("create", name, e))?;
        let written = || {
            let mut file = File::from(fd);
            file.write_all(bytes).map_err(|e| Error::std("write", &self.path.join(name), e))?;
            // A umask can take away the owner's own rights. And a file that was looked at after it was written has another
            // time of change when it is moved, by which its readers know that it is whole.
            let mut stat = fs::fstat(&file).map_err(|e| self.fault("look at", name, e))?;
            if stat.st_mode & 0o777 != FILE_MODE.as_raw_mode() {
                fs::fchmod(&file, FILE_MODE).map_err(|e| self.fault("set the mode of", name, e))?;
                stat.st_mode = stat.st_mode & !0o777 | FILE_MODE.as_raw_mode();
            }
            Ok((file, stat))
        };
        written().inspect_err(|_| drop(self.remove(name)))
    }

    /// A new file that only grows while one process writes it: the output of a run. Nothing depends on it.
    pub fn log_file(&self, name: &str) -> Result<File> {
        self.new_file(name, b"").map(|(file, _)| file)
    }

    /// Moves a file to another directory in one step that never replaces. `Error::Exists` if the name is
    /// taken there, [`Error::is_missing`] if the file is gone here. The caller syncs `to`.
    pub fn publish(&self, name: impl AsRef<OsStr>, to: &Dir, new: &str) -> Result<()> {
        let name = name.as_ref();
        if self.renames(name, to, new)? {
            return Ok(());
        }
        // Another process may move it too. The one that removes it from here has it, so the link is taken back.
        self.remove(name).inspect_err(|_| drop(to.remove(new)))
    }

    /// As [`Dir::publish`], under the first of some names that is free, which it returns. `None` if the file is gone here.
    pub fn publish_free(
        &self,
        name: &str,
        to: &Dir,
        names: impl Iterator<Item = String>,
    ) -> Result<Option<String>> {
        for new in names {
            match self.publish(name, to, &new) {
                Err(Error::Exists { .. }) => {}
                other => return Ok(other.if_any()?.map(|()| new)),
            }
        }
        Err(Error::Exists { path: to.path.join(name) })
    }

    /// Gives a staged file, which nobody else moves, its name in `to`, and syncs `to`. After an error nothing is visible
    /// there, and nothing is left here.
    pub fn publish_staged(&self, staged: &str, to: &Dir, new: &str) -> Result<Durability> {
        let renamed = self.renames(OsStr::new(staged), to, new).inspect_err(|_| drop(self.remove(staged)))?;
        // It is visible now, so from here on nothing is an error.
        let left = if renamed { Ok(()) } else { self.remove(staged) };
        Ok(Durability::of(to.sync().and(left)))
    }

    /// Gives a file its new name. `false`: and it still has its old one, because some file systems know no NOREPLACE, and
    /// a hard link refuses a taken name just as surely.
    fn renames(&self, name: &OsStr, to: &Dir, new: &str) -> Result<bool> {
        let (doing, e) = match retry_on_intr(|| rename_new(self, name, to, new)) {
            Ok(()) => return Ok(true),
            Err(e) if !is_unknown(e) => ("move", e),
            Err(_) => match fs::linkat(&self.fd, name, &to.fd, new, AtFlags::empty()) {
                Ok(()) => return Ok(false),
                // A directory has no second name.
                Err(Errno::PERM) if self.is_directory(name) => {
                    return self.rename_plainly(name, to, new).map(|()| true);
                }
                Err(e) => ("link", e),
            },
        };
        Err(match e {
            Errno::EXIST => Error::Exists { path: to.path.join(new) },
            e => self.fault(doing, name, e),
        })
    }

    fn is_directory(&self, name: &OsStr) -> bool {
        fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
    }

    /// Puts new content in the place of a file, whole or not at all, and durable.
    pub fn replace_synced(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let staged = format!(".{name}.{}", random::unique_hex());
        self.stage(&staged, bytes)?;
        self.rename_over(&staged, name)?;
        self.sync()
    }

    /// Puts new content in the place of a file, whole or not at all, without sync.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let staged = format!(".{name}.{}", random::unique_hex());
        self.write_new(&staged, bytes)?;
        self.rename_over(&staged, name)
    }

    fn rename_over(&self, staged: &str, name: &str) -> Result<()> {
        retry_on_intr(|| fs::renameat(&self.fd, staged, &self.fd, name))
            .map_err(|e| self.fault("replace", name, e))
            .inspect_err(|_| drop(self.remove(staged)))
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
}
