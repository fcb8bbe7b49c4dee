//! Directories outside a room: a workspace's `.mailbox`, a `.claude` tree, the inbox that a message names.
//!
//! They are reached by a whole path in which no component is a link, and must belong to this user. Their modes
//! are left as they are, because a project decides those. Files here are also changed by hand, so a change puts
//! the new file in the place of the old one only if the old one is still what was read ([`Dir::swap`]).

use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{self, AtFlags, Mode, OFlags, RenameFlags, ResolveFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::Dir;
use crate::mailbox::fault::{Error, Result};
use crate::random;

/// What became of a change of a file that others may change too.
#[derive(Debug, PartialEq, Eq)]
pub enum Swapped {
    /// The new content is in place, and survives a power cut.
    Done,
    /// The file is not what was read any more; nothing was changed.
    Changed,
}

impl Dir {
    /// Opens a directory outside the room by its absolute path, through no link at all.
    pub fn outside(path: &Path) -> Result<Self> {
        let plain = path.components().all(|c| matches!(c, Component::RootDir | Component::Normal(_)));
        if !path.is_absolute() || !plain {
            return Err(Error::io("open", path, Errno::INVAL));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = retry_on_intr(|| {
            fs::openat2(
                fs::CWD,
                path,
                flags,
                Mode::empty(),
                ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
            )
        });
        let fd = match opened {
            Ok(fd) => fd,
            // Old kernels and some sandboxes lack the call; and it does not say which component is none to go through.
            Err(Errno::NOSYS | Errno::PERM | Errno::LOOP | Errno::NOTDIR) => step_by_step(path, flags)?,
            Err(e) => return Err(Error::io("open", path, e)),
        };
        Self::of(fd, path)
    }

    /// The directory `name` below this one, made and durable if it was missing.
    pub fn made_sub(&self, name: &str) -> Result<Self> {
        match self.sub(name) {
            Err(e) if e.is_missing() => {
                let made = self.make_new(name)?;
                self.sync()?;
                Ok(made)
            }
            other => other,
        }
    }

    /// Writes a new file beside its readers and gives it its name in one step that never replaces; durable on
    /// return. `Error::Exists` if the name is taken.
    pub fn place(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.put(name, bytes)?;
        self.sync()
    }

    /// The same, for whoever syncs the directory and tells a failure of that apart.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let staged = format!(".{name}.{}", random::unique_hex());
        self.stage(&staged, bytes)?;
        self.publish(&staged, self, name).inspect_err(|_| {
            let _ = self.remove(&staged);
        })
    }

    /// Puts new content in the place of a file that was read when `read` was known of it. What others wrote
    /// meanwhile is put back and told.
    pub fn swap(&self, name: &str, bytes: &[u8], read: &Stat) -> Result<Swapped> {
        let staged = format!(".{name}.{}", random::unique_hex());
        self.stage(&staged, bytes)?;
        // Who may read a file here is for its owner to say.
        let mode = Mode::from_raw_mode(read.st_mode & 0o777);
        if mode != Mode::RUSR | Mode::WUSR {
            fs::chmodat(self.fd(), &staged, mode, AtFlags::empty())
                .map_err(|e| self.fault("set the mode of", name, e))?;
        }
        match retry_on_intr(|| fs::renameat_with(self.fd(), &staged, self.fd(), name, RenameFlags::EXCHANGE))
        {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                return self.swap_by_look(name, &staged, read);
            }
            Err(e) => {
                let _ = self.remove(&staged);
                return Err(self.fault("replace", name, e));
            }
        }
        self.sync()?;
        // What was displaced has its name now; if it is not what was read, it goes back whence it came. The look comes
        // after the sync: who had it open to append to it has most likely written by then.
        if self.stat(&staged).is_ok_and(|displaced| is_same(&displaced, read)) {
            let _ = self.remove(&staged);
            return Ok(Swapped::Done);
        }
        retry_on_intr(|| fs::renameat_with(self.fd(), &staged, self.fd(), name, RenameFlags::EXCHANGE))
            .map_err(|e| self.fault("put back", name, e))?;
        // What was in its place may be on the disk already.
        self.sync()?;
        let _ = self.remove(&staged);
        Ok(Swapped::Changed)
    }

    /// The same where two names cannot be exchanged: the look comes just before the change.
    fn swap_by_look(&self, name: &str, staged: &str, read: &Stat) -> Result<Swapped> {
        if !self.stat(name).is_ok_and(|now| is_same(&now, read)) {
            let _ = self.remove(staged);
            return Ok(Swapped::Changed);
        }
        if let Err(e) = retry_on_intr(|| fs::renameat(self.fd(), staged, self.fd(), name)) {
            let _ = self.remove(staged);
            return Err(self.fault("replace", name, e));
        }
        self.sync().map(|()| Swapped::Done)
    }
}

/// Whether a file is the one that was read, unchanged. A rename touches only the change time.
fn is_same(now: &Stat, read: &Stat) -> bool {
    let key = |s: &Stat| (s.st_dev, s.st_ino, s.st_size, s.st_mtime, s.st_mtime_nsec);
    key(now) == key(read)
}

fn step_by_step(path: &Path, flags: OFlags) -> Result<OwnedFd> {
    let mut at =
        retry_on_intr(|| fs::open("/", flags, Mode::empty())).map_err(|e| Error::io("open", path, e))?;
    let mut so_far = std::path::PathBuf::from("/");
    for component in path.components().filter(|c| matches!(c, Component::Normal(_))) {
        so_far.push(component);
        at = match retry_on_intr(|| fs::openat(&at, component.as_os_str(), flags, Mode::empty())) {
            Ok(fd) => fd,
            Err(Errno::LOOP | Errno::NOTDIR) => {
                return Err(Error::not_a_directory(fs::CWD, &so_far, so_far.clone()));
            }
            Err(e) => return Err(Error::io("open", &so_far, e)),
        };
    }
    Ok(at)
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

    #[test]
    fn no_link_anywhere_on_the_way() {
        let (_temp, path) = home();
        std::fs::create_dir_all(path.join("a/b/c")).unwrap();
        std::os::unix::fs::symlink(path.join("a"), path.join("link")).unwrap();
        assert!(Dir::outside(&path.join("a/b/c")).is_ok());
        for bad in ["link/b/c", "link", "a/../a/b"] {
            assert!(Dir::outside(&path.join(bad)).is_err(), "{bad}");
        }
        assert!(Dir::outside(Path::new("a")).is_err());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        assert!(step_by_step(&path.join("a/b"), flags).is_ok());
        assert!(step_by_step(&path.join("link/b"), flags).is_err());
    }

    #[test]
    fn a_change_by_another_hand_is_kept_and_told() {
        let (_temp, path) = home();
        let dir = Dir::outside(&path).unwrap();
        dir.place("f", b"one").unwrap();
        let read = dir.stat("f").unwrap();
        std::fs::write(path.join("f"), "by hand").unwrap();
        assert_eq!(dir.swap("f", b"two", &read).unwrap(), Swapped::Changed);
        assert_eq!(std::fs::read_to_string(path.join("f")).unwrap(), "by hand");
        let read = dir.stat("f").unwrap();
        assert_eq!(dir.swap("f", b"two", &read).unwrap(), Swapped::Done);
        assert_eq!(std::fs::read_to_string(path.join("f")).unwrap(), "two");
        std::fs::set_permissions(path.join("f"), PermissionsExt::from_mode(0o644)).unwrap();
        let read = dir.stat("f").unwrap();
        assert_eq!(dir.swap("f", b"three", &read).unwrap(), Swapped::Done);
        assert_eq!(dir.stat("f").unwrap().st_mode & 0o777, 0o644);
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 1);
    }

    #[test]
    fn nothing_is_placed_over_another() {
        let (_temp, path) = home();
        let dir = Dir::outside(&path).unwrap();
        dir.place("f", b"one").unwrap();
        assert!(matches!(dir.place("f", b"two"), Err(Error::Exists { .. })));
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 1);
    }
}
