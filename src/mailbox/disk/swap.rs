//! Files that others write too: settings of agent programs, messages and shared files of a tree, `.gitignore`.
//!
//! Such a file is replaced ([`Dir::compare_and_swap`]) or removed ([`Dir::remove_read`]) only if it is still what was read. It is moved
//! out of the way in one step, compared, and put back if it is something else; nothing that somebody wrote is ever removed.
//! A new file keeps the mode, the group and the access list of the old one.

use rustix::fs::{self, Mode, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::Dir;
use super::flags::{fsync, is_unknown};
use crate::mailbox::fault::{Error, Result};
use crate::{os, random};

/// What became of a change of a file that others may change too.
#[derive(Debug, PartialEq, Eq)]
pub enum Swapped {
    /// The new content is in place, or the file is gone, and that survives a power cut.
    Done,
    /// The file is not what was read any more; nothing was changed.
    Changed,
}

impl Dir {
    /// Puts new content in the place of a file that was read: `was` are its bytes and what was known of it then. Its mode,
    /// group and access list stay. What others wrote meanwhile is put back and told.
    pub fn compare_and_swap(&self, name: &str, bytes: &[u8], was: (&[u8], &Stat)) -> Result<Swapped> {
        let staged = format!(".{name}.{}", random::unique_hex());
        let ours = self.stage_like(&staged, bytes, name, was.1)?;
        let swapped = self.swap_staged(name, &staged, (bytes, &ours), was);
        // Nothing but what was written here, or what it took the place of, is ever removed.
        match &swapped {
            Ok(Swapped::Done | Swapped::Changed) => drop(self.remove(&staged)),
            Err(_) if matches!(self.is_still(&staged, (bytes, &ours)), Ok(true)) => {
                drop(self.remove(&staged))
            }
            Err(_) => {}
        }
        swapped
    }

    fn swap_staged(
        &self,
        name: &str,
        staged: &str,
        ours: (&[u8], &Stat),
        was: (&[u8], &Stat),
    ) -> Result<Swapped> {
        if !is_same(&self.stat(name)?, was.1) {
            return Ok(Swapped::Changed);
        }
        let exchange = |doing| os::exchange(self.fd(), staged, name).map_err(|e| self.fault(doing, name, e));
        match exchange("replace") {
            Ok(()) => {}
            Err(e) if e.errno().is_some_and(is_unknown) => return self.swap_by_look(name, staged, was),
            Err(e) => return Err(e),
        }
        // What was displaced has the staged name now; if it is not what was read, it goes back. The look comes after the sync:
        // who had it open to append to it has most likely written by then.
        let looked = self.sync().and_then(|()| self.is_still(staged, was));
        if matches!(looked, Ok(true)) {
            return Ok(Swapped::Done);
        }
        exchange("put back")?;
        if !matches!(self.is_still(staged, ours), Ok(true)) {
            // Somebody wrote once more in between: that is newer, so it gets the name, and nothing is thrown away.
            exchange("put back")?;
            return Err(self.kept(staged));
        }
        // What was in its place may be on the disk already.
        self.sync()?;
        looked.map(|_| Swapped::Changed)
    }

    /// As [`Dir::compare_and_swap`] where two names cannot be exchanged: the look comes just before the change.
    fn swap_by_look(&self, name: &str, staged: &str, was: (&[u8], &Stat)) -> Result<Swapped> {
        if !self.is_still(name, was)? {
            return Ok(Swapped::Changed);
        }
        retry_on_intr(|| fs::renameat(self.fd(), staged, self.fd(), name))
            .map_err(|e| self.fault("replace", name, e))?;
        self.sync().map(|()| Swapped::Done)
    }

    /// Removes a file that was read. What others wrote meanwhile is put back and told. Durable on return.
    pub fn remove_read(&self, name: &str, was: (&[u8], &Stat)) -> Result<Swapped> {
        if !is_same(&self.stat(name)?, was.1) {
            return Ok(Swapped::Changed);
        }
        // Only what nobody else reaches by its name can be compared and then removed.
        let aside = format!(".{name}.{}", random::unique_hex());
        self.publish(name, self, &aside)?;
        let looked = self.sync().and_then(|()| self.is_still(&aside, was));
        if matches!(looked, Ok(true)) {
            self.remove(&aside)?;
            return self.sync().map(|()| Swapped::Done);
        }
        // A program that found no file may have made a new one, which is not replaced.
        self.publish(&aside, self, name).map_err(|_| self.kept(&aside))?;
        self.sync()?;
        looked.map(|_| Swapped::Changed)
    }

    /// Whether a file is the one that was read, and holds the same bytes: a clock may be too coarse to tell.
    fn is_still(&self, name: &str, (bytes, stat): (&[u8], &Stat)) -> Result<bool> {
        match self.open_file(name) {
            Ok(opened) if is_same(&opened.stat, stat) => match opened.read_all(bytes.len() as u64) {
                Err(Error::TooLarge { .. }) => Ok(false),
                now => Ok(now? == bytes),
            },
            Ok(_) => Ok(false),
            Err(e @ Error::Io { .. }) => Err(e),
            // A link, a directory or somebody else's file.
            Err(_) => Ok(false),
        }
    }

    fn kept(&self, name: &str) -> Error {
        let why = "it was saved here while postroom changed it, and again right after; this is the earlier of the two";
        Error::Content { path: self.path().join(name), why: why.to_owned() }
    }

    /// Stages new content for a file, with the access that people have to it now.
    fn stage_like(&self, staged: &str, bytes: &[u8], name: &str, read: &Stat) -> Result<Stat> {
        let acl = os::access_list(&self.open_file(name)?.file)
            .map_err(|e| self.fault("read the access list of", name, e))?;
        let make = || {
            let (file, made) = self.new_file(staged, bytes)?;
            let fault = |doing| move |e| self.fault(doing, staged, e);
            let mut mode = read.st_mode & 0o777;
            if made.st_gid != read.st_gid {
                match fs::fchown(&file, None, Some(fs::Gid::from_raw(read.st_gid))) {
                    Ok(()) => {}
                    // Of a group that this user is not in: what that one may do, another group may not.
                    Err(Errno::PERM) => mode &= !0o070,
                    Err(e) => return Err(fault("set the group of")(e)),
                }
            }
            os::set_access_list(&file, acl.as_deref()).map_err(fault("set the access list of"))?;
            if mode != made.st_mode & 0o777 {
                fs::fchmod(&file, Mode::from_raw_mode(mode)).map_err(fault("set the mode of"))?;
            }
            fsync(&file).map_err(fault("sync"))?;
            fs::fstat(&file).map_err(fault("look at"))
        };
        make().inspect_err(|_| drop(self.remove(staged)))
    }
}

/// Whether a file is the one that was read, unchanged. A rename touches only the change time.
fn is_same(now: &Stat, read: &Stat) -> bool {
    let key = |s: &Stat| {
        let times = (s.st_mtime, s.st_mtime_nsec);
        (s.st_dev, s.st_ino, s.st_size, times, s.st_mode, s.st_gid)
    };
    key(now) == key(read)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn home() -> (tempfile::TempDir, std::path::PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap();
        (temp, path)
    }

    /// A file as it is read before a change.
    fn read(dir: &Dir, name: &str) -> (Vec<u8>, Stat) {
        dir.read_known(name, 1024).unwrap().unwrap()
    }

    #[test]
    fn a_change_by_another_hand_is_kept_and_told() {
        let (_temp, path) = home();
        let dir = Dir::outside(&path).unwrap();
        dir.create_synced("f", b"one").unwrap();
        let (bytes, stat) = read(&dir, "f");
        std::fs::write(path.join("f"), "by hand").unwrap();
        assert_eq!(dir.compare_and_swap("f", b"two", (&bytes, &stat)).unwrap(), Swapped::Changed);
        assert_eq!(dir.remove_read("f", (&bytes, &stat)).unwrap(), Swapped::Changed);
        assert_eq!(std::fs::read_to_string(path.join("f")).unwrap(), "by hand");
        let (bytes, stat) = read(&dir, "f");
        assert_eq!(dir.compare_and_swap("f", b"two", (&bytes, &stat)).unwrap(), Swapped::Done);
        assert_eq!(std::fs::read_to_string(path.join("f")).unwrap(), "two");
        std::fs::set_permissions(path.join("f"), PermissionsExt::from_mode(0o644)).unwrap();
        let (bytes, stat) = read(&dir, "f");
        assert_eq!(dir.compare_and_swap("f", b"three", (&bytes, &stat)).unwrap(), Swapped::Done);
        assert_eq!(dir.stat("f").unwrap().st_mode & 0o777, 0o644);
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 1);
        let (bytes, stat) = read(&dir, "f");
        assert_eq!(dir.remove_read("f", (&bytes, &stat)).unwrap(), Swapped::Done);
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0);
    }

    #[test]
    fn other_bytes_are_another_file_whatever_its_times_say() {
        let (_temp, path) = home();
        let dir = Dir::outside(&path).unwrap();
        dir.create_synced("f", b"one").unwrap();
        let (_, stat) = read(&dir, "f");
        // As if it had been written in place and within one tick of the clock.
        assert_eq!(dir.compare_and_swap("f", b"new", (b"old", &stat)).unwrap(), Swapped::Changed);
        assert_eq!(dir.remove_read("f", (b"old", &stat)).unwrap(), Swapped::Changed);
        assert_eq!(std::fs::read_to_string(path.join("f")).unwrap(), "one");
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 1);
    }
}
