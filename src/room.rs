//! A room: one root directory with its mailboxes, registry, journal and limits.
//!
//! ```text
//! <root>/.postroom          the format's version; absent in a room made by hand, which is version 1
//!       /README.md          for people: the folders, and how to take part by hand
//!       /postroom.toml      the room's limits, if any were set
//!       /registry.json      names -> mailboxes        (registry.rs)
//!       /.journal/          what happened             (journal.rs)
//!       /.staging/          mailboxes in the making
//!       /.trash/            what was pruned           (mailbox/trash.rs)
//!       /<id>/              a mailbox                 (mailbox/maildir/)
//! ```
//!
//! A root without a version is a room if it has `registry.json`, `.registry.lock` or an `<id>/inbox`. One without these and
//! without any directory may become a room; the files in it are left as they are. A room of a newer format is opened for
//! reading only ([`Room::may_write`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{FileType, Stat};
use thiserror::Error as ThisError;

use crate::clock::Clock;
use crate::mailbox::{self, Dir, IfAny};
use crate::name::MailboxId;
use crate::registry;
use crate::settings::{self, Limits, RoomSettings};

/// The version of docs/reference/format.md that this program writes.
pub const FORMAT: u32 = 1;

/// The file that says the version; its presence makes a directory a room.
pub const VERSION_FILE: &str = ".postroom";

/// The page for people who look into the room. No program reads it.
pub const README: &str = "README.md";

/// Files whose presence makes a directory a room.
const MARKS: [&str; 3] = [VERSION_FILE, registry::FILE, registry::LOCK];

/// Why a room cannot be used.
#[derive(Debug, ThisError)]
pub enum Error {
    #[error("there is no room at {}", .path.display())]
    NoRoom { path: PathBuf },
    #[error("{} is not a room, and contains other directories", .path.display())]
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

/// The kind of a directory without a version file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// A room made by hand or by another engine.
    Room,
    /// No mark of a room and no directory: a room may be made here.
    Vacant,
    /// Any of its directories may be another engine's first mailbox, whose folders are made one by one.
    Unclear,
    /// Something else.
    Foreign,
}

/// How complete a mailbox is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Nothing, or a directory of something else.
    Absent,
    /// Some folders are missing: other engines make them on demand.
    Part,
    /// Complete. Also a name that is not a directory: opening it gives the right error.
    Whole,
}

/// An open room.
#[derive(Debug)]
pub struct Room {
    root: Dir,
    settings: RoomSettings,
    clock: Arc<dyn Clock>,
    format: u32,
    /// Where sessions are bound; `None` if this user's state directory is unknown.
    sessions: Option<PathBuf>,
}

impl Room {
    /// Sets the directory in which this user's sessions are bound.
    pub fn with_sessions(self, sessions: Option<PathBuf>) -> Self {
        Self { sessions, ..self }
    }

    pub fn sessions(&self) -> Option<&Path> {
        self.sessions.as_deref()
    }

    /// Opens the room at `path`.
    pub fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let mut room = Self::look(path, clock)?;
        room.root.make_own()?;
        Ok(room)
    }

    /// Opens the room at `path` read-only; it changes nothing in the room, not even a mode.
    pub fn look(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        check_path(path)?;
        let Some(root) = Dir::look(path).if_any()? else {
            return Err(Error::NoRoom { path: path.to_owned() });
        };
        let format = match root.read(VERSION_FILE, 64)? {
            // A user may name any directory by mistake; only one that looks like a room is accepted.
            None if standing(&root)? != Standing::Room => {
                return Err(Error::NoRoom { path: path.to_owned() });
            }
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
        Ok(Self { root, settings, clock, format, sessions: None })
    }

    /// Opens the room at `path`, making it first if there is none.
    pub fn open_or_make(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        check_path(path)?;
        let root = match Dir::look(path) {
            Err(e) if e.is_missing() => {
                Self::check_above(path)?;
                Dir::make(path)?
            }
            other => other?,
        };
        if root.read(VERSION_FILE, 64)?.is_none() {
            Self::check_above(path)?;
            if settled(&root)? == Standing::Foreign {
                return Err(Error::NotEmpty { path: path.to_owned() });
            }
            root.sync_parents()?;
            // Before the version: a room that this program made has the page.
            explain(&root)?;
            root.replace_synced(VERSION_FILE, format!("postroom {FORMAT}\n").as_bytes())?;
        }
        Self::open(path, clock)
    }

    /// Refuses a room that another user could move away, by any directory above it. `open` checks only the parent
    /// directory, because every command pays for that.
    pub fn check_above(path: &Path) -> Result<(), Error> {
        Ok(mailbox::disk::check_above(path)?)
    }

    /// Whether this directory is not yet a room, and may become one.
    pub fn is_vacant(path: &Path) -> Result<bool, Error> {
        Ok(standing(&Dir::look(path)?)? == Standing::Vacant)
    }

    /// How complete a mailbox is; opens nothing.
    pub fn extent(&self, id: &MailboxId) -> Extent {
        let is_missing = |path: String| self.root.stat(&path).is_err_and(|e| e.is_missing());
        let lacks = |name: &str| is_missing(format!("{id}/{name}"));
        if is_missing(id.to_string()) || lacks("inbox") && lacks("card.json") {
            return Extent::Absent;
        }
        match ["tmp", "inbox", "archive"].into_iter().any(lacks) {
            true => Extent::Part,
            false => Extent::Whole,
        }
    }

    /// Gives a room that was made earlier its page for people.
    pub fn explain(&self) -> Result<(), Error> {
        explain(&self.root)
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

    /// The clock, for opening the same room again.
    pub fn shared_clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    pub fn format(&self) -> u32 {
        self.format
    }

    /// Refuses changes to a room whose format this program does not know.
    pub fn may_write(&self) -> Result<(), Error> {
        if self.format <= FORMAT {
            return Ok(());
        }
        Err(Error::Newer { path: self.path().to_owned(), found: self.format })
    }
}

/// Writes the page for people, unless something has its name already: from then on it is theirs.
fn explain(root: &Dir) -> Result<(), Error> {
    if root.stat(README).if_any()?.is_some() {
        return Ok(());
    }
    match root.create_synced(README, include_bytes!("room_readme.md")) {
        // Another process made it, or a person.
        Err(mailbox::Error::Exists { .. }) => Ok(()),
        other => Ok(other?),
    }
}

fn standing(root: &Dir) -> Result<Standing, Error> {
    if is_marked(root)? {
        return Ok(Standing::Room);
    }
    let (mut ids, mut foreign) = (vec![], false);
    root.scan(|name, kind| match (kind, str::from_utf8(name).ok().and_then(|n| MailboxId::parse(n).ok())) {
        (FileType::Directory, Some(id)) => ids.push(id),
        // A link may lead to a directory.
        (FileType::Directory | FileType::Symlink, _) => foreign = true,
        _ => {}
    })?;
    for id in &ids {
        if is_dir(root, &format!("{id}/inbox"))? {
            return Ok(Standing::Room);
        }
    }
    if ids.is_empty() && !foreign {
        return Ok(Standing::Vacant);
    }
    // Another process may have begun a room here since the first look.
    if is_marked(root)? {
        return Ok(Standing::Room);
    }
    for id in &ids {
        let odd = !is_dir(root, &format!("{id}/tmp"))? && !root.is_empty_at(id.as_str())?;
        // The directory may contain the inbox that was missing at the first look.
        if odd && is_dir(root, &format!("{id}/inbox"))? {
            return Ok(Standing::Room);
        }
        foreign |= odd;
    }
    Ok(if foreign { Standing::Foreign } else { Standing::Unclear })
}

/// Gives another engine half a second to finish its first mailbox.
fn settled(root: &Dir) -> Result<Standing, Error> {
    for _ in 0..50 {
        match standing(root)? {
            Standing::Unclear => mailbox::pause(Duration::from_millis(10)),
            known => return Ok(known),
        }
    }
    Ok(Standing::Foreign)
}

fn is_marked(root: &Dir) -> Result<bool, Error> {
    for mark in MARKS {
        if root.stat(mark).if_any()?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_dir(root: &Dir, path: &str) -> Result<bool, Error> {
    let is_it = |stat: Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    Ok(root.stat(path).if_any()?.is_some_and(is_it))
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
#[path = "room_tests.rs"]
mod tests;
