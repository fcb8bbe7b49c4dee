//! A room: one root directory with its mailboxes, registry, journal and limits.
//!
//! ```text
//! <root>/.postroom          the format's version; absent in a room made by hand, which is version 1
//!       /postroom.toml      the room's limits, if any were set
//!       /registry.json      names -> mailboxes        (registry.rs)
//!       /.journal/          what happened             (journal.rs)
//!       /.sessions/         who is which agent session (session.rs)
//!       /.staging/          mailboxes in the making
//!       /<id>/              a mailbox                 (mailbox/maildir.rs)
//! ```
//!
//! A room of a newer format is opened for reading only ([`Room::may_write`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FileType;
use thiserror::Error as ThisError;

use crate::clock::Clock;
use crate::mailbox::{self, Dir};
use crate::name::MailboxId;
use crate::settings::{self, Limits, RoomSettings};

/// The version of docs/format.md that this program writes.
pub const FORMAT: u32 = 1;

/// The file that says the version; its presence makes a directory a room.
pub const VERSION_FILE: &str = ".postroom";

/// Why a room cannot be used.
#[derive(Debug, ThisError)]
pub enum Error {
    #[error("there is no room at {}", .path.display())]
    NoRoom { path: PathBuf },
    #[error("{} is no room, and other things lie in it", .path.display())]
    NotEmpty { path: PathBuf },
    #[error("the path of a room must be absolute and plain: {}", .path.display())]
    BadPath { path: PathBuf },
    #[error("{} is written in format {found}; this program knows {FORMAT} and only reads it", .path.display())]
    Newer { path: PathBuf, found: u32 },
    #[error("{} does not say a format version", .path.display())]
    BadVersion { path: PathBuf },
    #[error(transparent)]
    Settings(#[from] settings::Error),
    #[error(transparent)]
    Disk(#[from] mailbox::Error),
}

/// An open room.
#[derive(Debug)]
pub struct Room {
    root: Dir,
    settings: RoomSettings,
    clock: Arc<dyn Clock>,
    format: u32,
}

impl Room {
    /// Opens the room at `path`.
    pub fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let mut room = Self::look(path, clock)?;
        room.root.make_own()?;
        Ok(room)
    }

    /// Opens the room at `path` to look at it; nothing in it is changed, not even a mode.
    pub fn look(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        check_path(path)?;
        let root = match Dir::look(path) {
            Err(e) if e.is_missing() => return Err(Error::NoRoom { path: path.to_owned() }),
            other => other?,
        };
        let format = match root.read(VERSION_FILE, 64)? {
            // Any directory may be named by mistake; only one that looks like a room is treated as one.
            None if !is_by_hand(&root)? => return Err(Error::NoRoom { path: path.to_owned() }),
            None => FORMAT,
            Some(bytes) => {
                version(&bytes).ok_or_else(|| Error::BadVersion { path: path.join(VERSION_FILE) })?
            }
        };
        let settings = match root.read(settings::FILE, settings::LARGEST)? {
            None => RoomSettings::default(),
            Some(bytes) => RoomSettings::parse(
                &String::from_utf8_lossy(&bytes),
                &path.join(settings::FILE).display().to_string(),
            )?,
        };
        Ok(Self { root, settings, clock, format })
    }

    /// Opens the room at `path`, making it first if there is none.
    pub fn open_or_make(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        check_path(path)?;
        let root = match Dir::look(path) {
            Err(e) if e.is_missing() => Dir::make(path)?,
            other => other?,
        };
        if root.read(VERSION_FILE, 64)?.is_none() {
            // Somebody else may have begun a room here since the first look.
            if !is_by_hand(&root)? && !is_empty(&root)? && root.read(VERSION_FILE, 64)?.is_none() {
                return Err(Error::NotEmpty { path: path.to_owned() });
            }
            root.sync_parents()?;
            root.replace(VERSION_FILE, format!("postroom {FORMAT}\n").as_bytes())?;
        }
        Self::open(path, clock)
    }

    pub fn root(&self) -> &Dir {
        &self.root
    }

    pub fn path(&self) -> &Path {
        self.root.path()
    }

    pub fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    pub fn settings(&self) -> &RoomSettings {
        &self.settings
    }

    pub fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    /// The clock for whoever opens the same room again.
    pub fn shared_clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    pub fn format(&self) -> u32 {
        self.format
    }

    /// Refuses to change a room whose format this program does not know.
    pub fn may_write(&self) -> Result<(), Error> {
        if self.format <= FORMAT {
            return Ok(());
        }
        Err(Error::Newer { path: self.path().to_owned(), found: self.format })
    }
}

/// Whether a root without a version is a room that was made by hand: it has a registry, or a mailbox.
fn is_by_hand(root: &Dir) -> Result<bool, Error> {
    if root.stat("registry.json").is_ok() {
        return Ok(true);
    }
    let mut candidates = vec![];
    root.scan(|name, kind| {
        if kind == FileType::Directory {
            candidates.extend(str::from_utf8(name).ok().and_then(|name| MailboxId::parse(name).ok()));
        }
    })?;
    Ok(candidates.iter().any(|id| root.stat(&format!("{id}/inbox")).is_ok()))
}

fn is_empty(root: &Dir) -> Result<bool, Error> {
    let mut empty = true;
    // A name that was being written when a first setup was interrupted is no reason to refuse the next.
    root.scan(|name, _| empty &= name.starts_with(b"..postroom."))?;
    Ok(empty)
}

fn version(bytes: &[u8]) -> Option<u32> {
    str::from_utf8(bytes).ok()?.trim().strip_prefix("postroom ")?.parse().ok()
}

/// A room's path is absolute and has no `..`.
fn check_path(path: &Path) -> Result<(), Error> {
    use std::path::Component;
    let plain = path.components().all(|c| matches!(c, Component::RootDir | Component::Normal(_)));
    if !path.is_absolute() || !plain || path.parent().is_none() {
        return Err(Error::BadPath { path: path.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use std::os::unix::fs::PermissionsExt;

    fn clock() -> Arc<dyn Clock> {
        Arc::new(SystemClock)
    }

    #[test]
    fn a_room_is_made_once_and_then_opened() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("state/room");
        assert!(matches!(Room::open(&path, clock()), Err(Error::NoRoom { .. })));
        Room::open_or_make(&path, clock()).unwrap().may_write().unwrap();
        assert_eq!(std::fs::read_to_string(path.join(".postroom")).unwrap(), "postroom 1\n");
        assert_eq!(Room::open_or_make(&path, clock()).unwrap().format(), 1);
    }

    #[test]
    fn a_directory_of_something_else_is_no_room_and_stays_as_it_is() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("project");
        std::fs::create_dir_all(path.join("src")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        assert!(matches!(Room::open(&path, clock()), Err(Error::NoRoom { .. })));
        assert!(matches!(Room::open_or_make(&path, clock()), Err(Error::NotEmpty { .. })));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o755);
        std::fs::create_dir_all(path.join("bob/inbox")).unwrap();
        assert!(Room::open(&path, clock()).is_ok());
    }

    #[test]
    fn a_newer_room_is_read_only() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("room");
        Room::open_or_make(&path, clock()).unwrap();
        std::fs::write(path.join(".postroom"), "postroom 2\n").unwrap();
        assert!(matches!(
            Room::open(&path, clock()).unwrap().may_write(),
            Err(Error::Newer { found: 2, .. })
        ));
        std::fs::write(path.join(".postroom"), "???").unwrap();
        assert!(matches!(Room::open(&path, clock()), Err(Error::BadVersion { .. })));
    }

    #[test]
    fn loose_parents_and_odd_paths_are_refused() {
        let temp = tempfile::tempdir().unwrap();
        let parent = temp.path().join("p");
        std::fs::create_dir(&parent).unwrap();
        std::fs::set_permissions(&parent, PermissionsExt::from_mode(0o777)).unwrap();
        assert!(matches!(
            Room::open_or_make(&parent.join("r"), clock()),
            Err(Error::Disk(mailbox::Error::LooseParent { .. }))
        ));
        std::fs::set_permissions(&parent, PermissionsExt::from_mode(0o1777)).unwrap();
        assert!(Room::open_or_make(&parent.join("r"), clock()).is_ok());
        for bad in ["relative", "/", "/a/../b"] {
            assert!(matches!(Room::open(Path::new(bad), clock()), Err(Error::BadPath { .. })), "{bad}");
        }
    }
}
