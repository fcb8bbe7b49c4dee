//! Directories outside a room: a workspace's `.mailbox`, a `.claude` tree, the inbox that a message names.
//!
//! They are reached by a whole path in which no component is a link, and must belong to this user. Their modes
//! are left as they are, because a project decides those. How a file here is changed that
//! others write too is in `swap`.

use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{self, Mode};
use rustix::io::{Errno, retry_on_intr};

use super::Dir;
use super::flags::dir_flags;
use crate::mailbox::fault::{Durability, Error, Result};
use crate::{os, random};

impl Dir {
    /// Opens a directory outside the room by its absolute path, through no link at all.
    pub fn outside(path: &Path) -> Result<Self> {
        let plain = path.components().all(|c| matches!(c, Component::RootDir | Component::Normal(_)));
        if !path.is_absolute() || !plain {
            return Err(Error::io("open", path, Errno::INVAL));
        }
        let fd = match os::open_without_links(path, dir_flags()) {
            Ok(fd) => fd,
            // Some systems, old kernels and some sandboxes lack the call; and it does not say which component is none to go through.
            Err(Errno::NOSYS | Errno::PERM | Errno::LOOP | Errno::NOTDIR) => step_by_step(path)?,
            Err(e) => return Err(Error::io("open", path, e)),
        };
        Self::of(fd, path)
    }

    /// The directory `name` below this one, made and durable if it was missing.
    pub fn create_dir_synced(&self, name: &str) -> Result<Self> {
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
    pub fn create_synced(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.create(name, bytes)?.proven()
    }

    /// Like [`Dir::create_synced`], for a caller to whom a file that is visible is there, durable or not.
    pub fn create(&self, name: &str, bytes: &[u8]) -> Result<Durability> {
        let staged = format!(".{name}.{}", random::unique_hex());
        self.stage(&staged, bytes)?;
        self.publish_staged(&staged, self, name)
    }
}

fn step_by_step(path: &Path) -> Result<OwnedFd> {
    let mut at = retry_on_intr(|| fs::open("/", dir_flags(), Mode::empty()))
        .map_err(|e| Error::io("open", path, e))?;
    let mut so_far = std::path::PathBuf::from("/");
    for component in path.components().filter(|c| matches!(c, Component::Normal(_))) {
        so_far.push(component);
        at = match retry_on_intr(|| fs::openat(&at, component.as_os_str(), dir_flags(), Mode::empty())) {
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
        assert!(step_by_step(&path.join("a/b")).is_ok());
        assert!(step_by_step(&path.join("link/b")).is_err());
    }

    #[test]
    fn nothing_is_placed_over_another() {
        let (_temp, path) = home();
        let dir = Dir::outside(&path).unwrap();
        dir.create_synced("f", b"one").unwrap();
        assert!(matches!(dir.create_synced("f", b"two"), Err(Error::Exists { .. })));
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 1);
    }
}
