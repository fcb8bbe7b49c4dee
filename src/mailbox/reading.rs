//! Reading: one message out of a folder, its envelope alone or whole.
//!
//! A file that cannot be read is told apart from a disk that failed: the first is broken and may be put
//! aside, the second is passing, and the file stays where it is.

use std::time::Duration;

use rustix::fs::FileType;

use super::disk;
use super::fault::{Error, Result};
use super::folder::Folder;
use super::maildir::{Layout, Listing, Maildir};
use crate::clock::Timestamp;
use crate::message::any::{self, Head};
use crate::message::{Envelope, Message, ParseError, Priority, file_name, frontmatter};

/// A file placed by hand may still be growing; until it is this old nobody calls it broken.
const GROWING: Duration = Duration::from_secs(5);

/// The longest message of a workspace that is opened for its priority.
const LOOKED_AT: u64 = 16 * 1024 * 1024;

/// What is known of a message without its body.
#[derive(Debug, Clone)]
pub struct Header {
    pub name: String,
    pub envelope: Envelope,
    pub time: Timestamp,
    pub size: u64,
}

/// A file that cannot be read as a message.
#[derive(Debug)]
pub struct Unreadable {
    pub name: String,
    pub why: String,
    /// When it was last written, if that much could be seen.
    pub time: Option<Timestamp>,
    /// The disk failed, not the file: it may be readable the next time, so it stays where it is.
    pub passing: bool,
    /// Quarantine is for rooms: elsewhere it is told of and left where it is.
    pub left_alone: bool,
}

impl Unreadable {
    /// Whether it is old enough to be called broken.
    pub fn is_settled(&self, now: Timestamp) -> bool {
        !self.passing
            && self
                .time
                .is_none_or(|time| time > now && time.since(now) > GROWING || now.since(time) >= GROWING)
    }
}

impl Maildir {
    /// How many messages are unread, and when the oldest came; by names and one look at a file.
    pub fn unread(&self) -> Result<(usize, Option<Timestamp>)> {
        let inbox = self.folder(Folder::Inbox)?;
        if self.layout() == Layout::Workspace {
            let listing = self.list(Folder::Inbox, 1)?;
            let oldest = listing.names.first().and_then(|name| inbox.stat(name).ok());
            return Ok((listing.total, oldest.map(|stat| mtime(&stat))));
        }
        let (mut count, mut oldest) = (0, Vec::new());
        inbox.scan(|name, kind| {
            if kind == FileType::RegularFile && file_name::is_message(name) {
                count += 1;
                if oldest.is_empty() || name < oldest.as_slice() {
                    oldest = name.to_vec();
                }
            }
        })?;
        let time = str::from_utf8(&oldest)
            .ok()
            .filter(|n| !n.is_empty())
            .and_then(|n| inbox.stat(n).ok())
            .map(|s| mtime(&s));
        Ok((count, time))
    }

    /// The first `limit` messages in order of arrival where only the messages themselves tell their priority.
    pub(super) fn arrivals_by_envelope(&self, folder: Folder, limit: usize) -> Result<Listing> {
        let mut listing = self.list(folder, usize::MAX)?;
        let priority = |name: &String| match self.header(folder, name, LOOKED_AT) {
            Ok(Some(header)) => header.envelope.priority,
            _ => Priority::Normal,
        };
        listing.names.sort_by_cached_key(priority);
        listing.names.truncate(limit);
        Ok(listing)
    }

    /// Reads the envelope of a message and not its body. `Ok(None)`: it has gone meanwhile.
    pub fn header(
        &self,
        folder: Folder,
        name: &str,
        limit: u64,
    ) -> std::result::Result<Option<Header>, Unreadable> {
        let Some(mut opened) = self.open_message(folder, name)? else { return Ok(None) };
        let size = u64::try_from(opened.stat.st_size).unwrap_or(0);
        let time = mtime(&opened.stat);
        let most = limit + frontmatter::HEADER_LIMIT as u64;
        if size > most {
            let path = self.path(folder, name);
            return Err(self.unreadable(folder, name, &Error::TooLarge { path, size, limit: most }));
        }
        let broken = |e: ParseError| Unreadable {
            name: name.to_owned(),
            why: e.to_string(),
            time: Some(time),
            passing: false,
            left_alone: false,
        };
        let mut bytes = Vec::new();
        let found =
            |envelope: Box<Envelope>| Header { name: name.to_owned(), envelope: *envelope, time, size };
        for more in [4096, frontmatter::HEADER_LIMIT] {
            bytes.extend(opened.head(more).map_err(|e| self.unreadable(folder, name, &e))?);
            let whole = bytes.len() as u64 >= size;
            match any::parse_head(&bytes, whole).map_err(broken)? {
                Head::Envelope(envelope) => return Ok(Some(found(envelope))),
                Head::ReadOn => {}
                Head::ReadAll => {
                    let rest = usize::try_from(size).unwrap_or(usize::MAX).saturating_sub(bytes.len());
                    bytes.extend(opened.head(rest + 1).map_err(|e| self.unreadable(folder, name, &e))?);
                    let message = any::parse(&bytes).map_err(broken)?;
                    return Ok(Some(found(Box::new(message.envelope))));
                }
            }
        }
        Err(broken(ParseError::HeaderTooLong))
    }

    /// Reads a whole message. `Ok(None)`: it has gone meanwhile.
    pub fn message(
        &self,
        folder: Folder,
        name: &str,
        limit: u64,
    ) -> std::result::Result<Option<(Message, Timestamp)>, Unreadable> {
        let Some(opened) = self.open_message(folder, name)? else { return Ok(None) };
        let time = mtime(&opened.stat);
        let bytes = opened.read_all(limit + frontmatter::HEADER_LIMIT as u64);
        let bytes = bytes.map_err(|e| self.unreadable(folder, name, &e))?;
        match any::parse(&bytes) {
            Ok(message) => Ok(Some((message, time))),
            Err(e) => Err(Unreadable {
                name: name.to_owned(),
                why: e.to_string(),
                time: Some(time),
                passing: false,
                left_alone: false,
            }),
        }
    }

    fn open_message(
        &self,
        folder: Folder,
        name: &str,
    ) -> std::result::Result<Option<disk::Opened>, Unreadable> {
        // A folder that cannot be opened, whatever it is just now, says nothing about what lies in it.
        let elsewhere = |e: Error| Unreadable {
            name: name.to_owned(),
            why: e.to_string(),
            time: None,
            passing: true,
            left_alone: false,
        };
        let Some(dir) = self.folder_if_any(folder).map_err(elsewhere)? else { return Ok(None) };
        let opened = match dir.open_file(name) {
            Err(e) if e.is_missing() => return Ok(None),
            other => other.map_err(|e| self.unreadable(folder, name, &e))?,
        };
        if opened.stat.st_nlink > 1 && !self.is_staged(name, &opened.stat).map_err(elsewhere)? {
            let path = dir.path().join(name);
            return Err(self.unreadable(folder, name, &Error::HardLink { path }));
        }
        Ok(Some(opened))
    }

    /// Whether the second link of a message is its own staging file, left by a publisher that had to
    /// link and was killed before it could unlink.
    fn is_staged(&self, name: &str, stat: &rustix::fs::Stat) -> Result<bool> {
        let tmp = match self.dir().sub("tmp") {
            Err(e) if e.is_missing() => return Ok(false),
            other => other?,
        };
        let mut own = false;
        tmp.scan(|staged, _| {
            own |= str::from_utf8(staged)
                .ok()
                .filter(|s| s.starts_with(name))
                .and_then(|s| tmp.stat(s).ok())
                .is_some_and(|s| (s.st_ino, s.st_dev) == (stat.st_ino, stat.st_dev));
        })?;
        Ok(own && stat.st_nlink == 2)
    }

    fn unreadable(&self, folder: Folder, name: &str, e: &Error) -> Unreadable {
        let stat = self.folder(folder).and_then(|dir| dir.stat(name)).ok();
        // No descriptors, a failing disk: that is no fault of the file. A mode without read permission is.
        let barred = e.is_forbidden() && stat.as_ref().is_some_and(|s| s.st_mode & 0o400 == 0);
        let passing = matches!(e, Error::Io { .. }) && !barred;
        let time = stat.map(|s| mtime(&s));
        Unreadable { name: name.to_owned(), why: e.to_string(), time, passing, left_alone: false }
    }
}

/// When a file was last written.
pub fn mtime(stat: &rustix::fs::Stat) -> Timestamp {
    Timestamp::from_parts(stat.st_mtime, i32::try_from(stat.st_mtime_nsec).unwrap_or(0))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use super::*;

    /// Somebody swaps a folder for a link and back: what lies in it is not broken.
    #[test]
    fn a_folder_that_cannot_be_opened_is_no_fault_of_its_messages() {
        let (temp, mailbox) = crate::mailbox::maildir::fresh();
        let path = |folder: &str| mailbox.dir().path().join(folder);
        let passing = |name: &str| mailbox.header(Folder::Inbox, name, 1024).unwrap_err().passing;
        std::fs::write(path("inbox").join("x.md"), "no message").unwrap();
        assert!(!passing("x.md"));
        std::fs::rename(path("inbox"), path("away")).unwrap();
        std::os::unix::fs::symlink(path("away"), path("inbox")).unwrap();
        assert!(passing("x.md"));
        std::fs::remove_file(path("inbox")).unwrap();
        std::fs::rename(path("away"), path("inbox")).unwrap();
        // Whether a second link is its own can only be told by a look into `tmp`.
        std::fs::hard_link(path("inbox").join("x.md"), temp.path().join("x.md")).unwrap();
        assert!(!passing("x.md"));
        std::fs::rename(path("tmp"), path("away")).unwrap();
        std::os::unix::fs::symlink(path("away"), path("tmp")).unwrap();
        assert!(passing("x.md"));
    }
}
