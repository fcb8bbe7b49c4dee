//! Reading: one message from a folder, its envelope alone or whole.
//!
//! A broken file is distinguished from a failing disk: a broken file may be put aside; after a disk failure, which is
//! transient, the file stays in place.

use std::path::Path;
use std::time::Duration;

use super::disk;
use super::fault::{Error, IfAny, Result};
use super::folder::Folder;
use super::maildir::{Layout, Maildir};
use super::place::{Place, PlaceFault, Reading};
use crate::clock::{Clock, SystemClock, Timestamp};
use crate::message::any::{self, Head};
use crate::message::{Envelope, Message, ParseError, frontmatter};

/// A file placed by hand may still be growing; before this age it is not called broken.
pub const GROWING: Duration = Duration::from_secs(5);

/// A file is complete when it was not written to for this long.
const STABLE: Duration = Duration::from_millis(250);

/// A message without its body.
#[derive(Debug, Clone)]
pub struct Header {
    pub name: String,
    pub envelope: Envelope,
    pub time: Timestamp,
    pub size: u64,
    /// Remarks to show before reading: superseded, waiting for an earlier step, doubtful.
    pub remarks: Vec<String>,
}

impl Header {
    pub fn of(name: &str, envelope: Envelope, time: Timestamp, size: u64) -> Self {
        Self { name: name.to_owned(), envelope, time, size, remarks: vec![] }
    }
}

/// A file that cannot be read as a message.
#[derive(Debug)]
pub struct Unreadable {
    pub name: String,
    pub why: String,
    /// The time of its last write, if that could be read.
    pub time: Option<Timestamp>,
    /// The disk failed, not the file: the next read may succeed, so it stays in place.
    pub transient: bool,
    /// Only rooms have a quarantine: elsewhere the file is reported and stays in place.
    pub not_quarantined: bool,
    /// It has no frontmatter at all, and may be a plain note.
    pub is_bare: bool,
}

impl Unreadable {
    /// From a parser's error.
    pub(super) fn parsed(name: &str, e: &ParseError, time: Option<Timestamp>) -> Self {
        let is_bare = matches!(e, ParseError::NoFrontmatter);
        let (name, why) = (name.to_owned(), e.to_string());
        Self { name, why, time, transient: false, not_quarantined: false, is_bare }
    }

    /// An entry named like a message that is not one.
    pub fn strange(name: &str, what: &str, not_quarantined: bool) -> Self {
        Self { transient: false, not_quarantined, ..Self::failing(name, format!("it is {what}")) }
    }

    /// A failure of the disk, not of the file.
    pub(super) fn transient(name: &str, e: &Error) -> Self {
        Self::failing(name, e.to_string())
    }

    /// Data needed to understand it could not be read.
    pub fn failing(name: &str, why: String) -> Self {
        Self {
            name: name.to_owned(),
            why,
            time: None,
            transient: true,
            not_quarantined: false,
            is_bare: false,
        }
    }

    /// The failure of the disk as an error of the disk.
    pub(super) fn failure(self, path: &Path) -> Error {
        Error::std("read", path, std::io::Error::other(self.why))
    }

    /// Whether it is old enough to be called broken.
    pub fn is_quiescent(&self, now: Timestamp) -> bool {
        !self.transient
            && self
                .time
                .is_none_or(|time| time > now && time.since(now) > GROWING || now.since(time) >= GROWING)
    }
}

impl Maildir {
    /// Reads the envelope of a message, without its body. `Ok(None)` if it has gone meanwhile.
    pub fn header(&self, folder: Folder, name: &str, limit: u64) -> Reading<Header> {
        let Some(mut opened) = self.open_message(folder, name)? else { return Ok(None) };
        let size = u64::try_from(opened.stat.st_size).unwrap_or(0);
        let time = mtime(&opened.stat);
        let most = limit + frontmatter::HEADER_LIMIT as u64;
        if size > most {
            let path = self.path(folder, name);
            return Err(self.unreadable(folder, name, &Error::TooLarge { path, size, limit: most }));
        }
        let broken = |e: ParseError| Unreadable::parsed(name, &e, Some(time));
        let mut bytes = Vec::new();
        let found = |envelope: Box<Envelope>| Header::of(name, *envelope, time, size);
        for more in [4096, frontmatter::HEADER_LIMIT] {
            bytes.extend(opened.head(more).map_err(|e| self.unreadable(folder, name, &e))?);
            let whole = bytes.len() as u64 >= size;
            match any::parse_head(&bytes, whole) {
                Ok(Head::Envelope(envelope)) => return Ok(Some(found(envelope))),
                Ok(Head::ReadOn) => {}
                // The name of the file may supply the missing field.
                Ok(Head::ReadAll) | Err(ParseError::Missing { .. }) => {
                    let rest = usize::try_from(size).unwrap_or(usize::MAX).saturating_sub(bytes.len());
                    bytes.extend(opened.head(rest + 1).map_err(|e| self.unreadable(folder, name, &e))?);
                    let message = any::parse_named(&bytes, name).map_err(broken)?;
                    return Ok(Some(found(Box::new(message.envelope))));
                }
                Err(e) => return Err(broken(e)),
            }
        }
        Err(broken(ParseError::HeaderTooLong))
    }

    /// Reads a whole message. `Ok(None)` if it has gone meanwhile.
    pub fn message(&self, folder: Folder, name: &str, limit: u64) -> Reading<(Message, Timestamp)> {
        let Some(opened) = self.open_message(folder, name)? else { return Ok(None) };
        let time = mtime(&opened.stat);
        let bytes = opened.read_all(limit + frontmatter::HEADER_LIMIT as u64);
        let bytes = bytes.map_err(|e| self.unreadable(folder, name, &e))?;
        match any::parse_named(&bytes, name) {
            Ok(message) => Ok(Some((message, time))),
            Err(e) => Err(Unreadable::parsed(name, &e, Some(time))),
        }
    }

    fn open_message(&self, folder: Folder, name: &str) -> Reading<disk::Opened> {
        // If a folder cannot be opened, its files are not to blame.
        let elsewhere = |e: Error| Unreadable::transient(name, &e);
        let Some(dir) = self.folder_if_any(folder).map_err(elsewhere)? else { return Ok(None) };
        let opened = dir.open_file(name).if_any().map_err(|e| self.unreadable(folder, name, &e))?;
        let Some(opened) = opened else { return Ok(None) };
        // Some file systems answer from a cache for a while; only a second link that exists now counts.
        if opened.stat.st_nlink > 1
            && dir.links(name).map_err(elsewhere)? > 1
            && !self.is_staged(name, &opened.stat).map_err(elsewhere)?
        {
            let path = dir.path().join(name);
            return Err(self.unreadable(folder, name, &Error::HardLink { path }));
        }
        Ok(Some(opened))
    }

    /// Whether the second link of a message is its own staging file, left by a publisher that had to link and could not
    /// unlink, or was killed before it.
    fn is_staged(&self, name: &str, stat: &rustix::fs::Stat) -> Result<bool> {
        let (folder, start) = match self.layout() {
            Layout::ProtocolFields => ("tmp", name.to_owned()),
            Layout::Workspace => (Folder::Inbox.as_str(), format!(".{name}.")),
        };
        let Some(dir) = self.dir().sub(folder).if_any()? else { return Ok(false) };
        for name in dir.names(|name, _| name.starts_with(&start))? {
            let own = dir.stat(&name).if_any()?;
            if own.is_some_and(|own| (own.st_ino, own.st_dev) == (stat.st_ino, stat.st_dev)) {
                return Ok(stat.st_nlink == 2);
            }
        }
        Ok(false)
    }

    fn unreadable(&self, folder: Folder, name: &str, e: &Error) -> Unreadable {
        let stat = self.folder(folder).and_then(|dir| dir.stat(name)).ok();
        // No descriptors, a failing disk: not a fault of the file. A mode without read permission is.
        let barred = e.is_forbidden() && stat.as_ref().is_some_and(|s| s.st_mode & 0o400 == 0);
        let transient = matches!(e, Error::Io { .. }) && !barred;
        let time = stat.map(|s| mtime(&s));
        Unreadable { time, transient, ..Unreadable::transient(name, e) }
    }
}

/// The unreadable files in a place where everything stays in place.
pub(super) fn unreadable_faults(place: &dyn Place, limit: u64, now: Timestamp) -> Result<Vec<PlaceFault>> {
    let mut found = vec![];
    for folder in place.folders()? {
        let listing = match place.list(folder, usize::MAX) {
            Err(e) if e.is_missing() && folder != Folder::Inbox => continue,
            other => other?,
        };
        for name in &listing.names {
            if let Err(broken) = place.message(folder, name, limit)
                && broken.is_quiescent(now)
                && !broken.is_bare
            {
                let path = place.path(folder, name);
                found.push(PlaceFault { path, why: broken.why, rule: "§10.4", is_litter: false });
            }
        }
    }
    Ok(found)
}

/// What was read; `None` if it is gone or not a message. A failure of the disk stays an error.
pub fn if_message<T>(read: Reading<T>) -> Reading<T> {
    match read {
        Err(broken) if !broken.transient => Ok(None),
        other => other,
    }
}

/// Whether the reader of a message has to guess something.
pub(super) fn is_doubtful(read: &Reading<Header>) -> bool {
    match read {
        Ok(header) => header.as_ref().is_some_and(|header| !header.envelope.doubts.is_empty()),
        Err(broken) => broken.is_bare,
    }
}

/// Whether a process may be writing to a file now. A file that was moved or linked after its last write is complete,
/// and a time in the future says nothing.
pub(super) fn is_growing(stat: &rustix::fs::Stat, now: Timestamp) -> bool {
    let nanos = |part: u64| i32::try_from(part).unwrap_or(0);
    let changed = Timestamp::from_parts(stat.st_ctime, nanos(stat.st_ctime_nsec));
    changed == mtime(stat) && changed <= now && now.since(changed) < STABLE
}

/// Whether a file is complete, after a short wait if that is uncertain: a copy by hand is visible in parts. `false` if
/// it is still growing, or gone.
pub(super) fn is_stable(dir: &disk::Dir, name: &str) -> Result<bool> {
    let look = || dir.stat(name).if_any();
    let Some(mut stat) = look()? else { return Ok(false) };
    // Files have the times of the kernel's clock, even if a command uses another clock.
    if !is_growing(&stat, SystemClock.now()) {
        return Ok(true);
    }
    let key = |stat: &rustix::fs::Stat| (stat.st_ino, stat.st_size, stat.st_ctime, stat.st_ctime_nsec);
    for _ in 0..4 {
        super::pause(STABLE);
        let Some(again) = look()? else { return Ok(false) };
        if key(&again) == key(&stat) {
            return Ok(true);
        }
        stat = again;
    }
    Ok(false)
}

/// When a file was last written.
pub fn mtime(stat: &rustix::fs::Stat) -> Timestamp {
    Timestamp::from_parts(stat.st_mtime, i32::try_from(stat.st_mtime_nsec).unwrap_or(0))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use super::*;

    /// Swapping a folder for a link and back does not make its files broken.
    #[test]
    fn a_folder_that_cannot_be_opened_is_no_fault_of_its_messages() {
        let (temp, mailbox) = crate::mailbox::maildir::fresh();
        let path = |folder: &str| mailbox.dir().path().join(folder);
        let passing = |name: &str| mailbox.header(Folder::Inbox, name, 1024).unwrap_err().transient;
        std::fs::write(path("inbox").join("x.md"), "no message").unwrap();
        assert!(!passing("x.md"));
        std::fs::rename(path("inbox"), path("away")).unwrap();
        std::os::unix::fs::symlink(path("away"), path("inbox")).unwrap();
        assert!(passing("x.md"));
        std::fs::remove_file(path("inbox")).unwrap();
        std::fs::rename(path("away"), path("inbox")).unwrap();
        // Only a look into `tmp` tells whether a second link is its own.
        std::fs::hard_link(path("inbox").join("x.md"), temp.path().join("x.md")).unwrap();
        assert!(!passing("x.md"));
        std::fs::rename(path("tmp"), path("away")).unwrap();
        std::os::unix::fs::symlink(path("away"), path("tmp")).unwrap();
        assert!(passing("x.md"));
    }
}
