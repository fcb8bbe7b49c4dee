//! A mailbox of the native protocol (format.md §2, §4, §5).
//!
//! ```text
//! <root>/<id>/tmp/          staging; readers never look here
//!            /inbox/        unread: a message is unread if and only if it is here
//!            /archive/      consumed; never changed again
//!            /quarantine/   what could not be read
//!            /answering/    one empty file per reply under way
//!            /card.json     its names, for a lost registry
//!            /seen          touched by every command of this mailbox
//!            /.alive        flocked by a resident process
//!            /.deliver.lock flocked while a delivery with a given id looks for itself
//! ```
//!
//! Where a message lies is its state. Every step is one rename that replaces nothing, and no name changes
//! inside a directory that is scanned, so a scan never misses what is there throughout.

use std::collections::BinaryHeap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::fs::FileType;

use super::disk::{self, Dir};
use super::fault::{Error, Result};
use super::lock::{Hold, Lock};
use crate::clock::Timestamp;
use crate::message::{Envelope, FileName, Message, Priority, file_name, frontmatter, maildir};
use crate::name::MailboxId;

/// A file placed by hand may still be growing; until it is this old nobody calls it broken.
const GROWING: Duration = Duration::from_secs(5);

/// How long after its last command a mailbox counts as alive.
const ALIVE: Duration = Duration::from_secs(600);

/// The directories that hold messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Folder {
    Inbox,
    Archive,
    Quarantine,
}

impl Folder {
    pub fn word(self) -> &'static str {
        match self {
            Self::Inbox => "inbox",
            Self::Archive => "archive",
            Self::Quarantine => "quarantine",
        }
    }
}

/// One mailbox, open.
#[derive(Debug)]
pub struct Maildir {
    dir: Dir,
    id: MailboxId,
    /// `tmp` and `inbox`, opened by the first delivery and kept for the next.
    delivery: OnceLock<(Dir, Dir)>,
}

/// What became of a delivery that was not refused.
#[derive(Debug)]
pub enum Delivered {
    /// It is there and survives a power cut.
    Durable,
    /// It is there, but the directory could not be synced.
    Unproven(Error),
}

/// The outcome of a look into a folder: the first names in order, and how many there are in all.
#[derive(Debug, Default)]
pub struct Listing {
    pub names: Vec<String>,
    pub total: usize,
    /// Entries called `*.md` that are no regular files, or whose names are not UTF-8.
    pub strange: Vec<(OsString, &'static str)>,
}

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
}

impl Unreadable {
    /// Whether it is old enough to be called broken.
    pub fn is_settled(&self, now: Timestamp) -> bool {
        self.time.is_none_or(|time| time > now && time.since(now) > GROWING || now.since(time) >= GROWING)
    }
}

/// Whether anyone seems to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Alive,
    SilentSince(Timestamp),
    NeverSeen,
}

impl Maildir {
    /// Opens the mailbox `id` of a room.
    pub fn open(root: &Dir, id: &MailboxId) -> Result<Self> {
        Ok(Self { dir: root.sub(id.as_str())?, id: id.clone(), delivery: OnceLock::new() })
    }

    /// Makes a mailbox in one visible step, or completes one that was made by hand. Durable on return.
    pub fn make(root: &Dir, id: &MailboxId, card: Option<&[u8]>) -> Result<Self> {
        if root.stat(id.as_str()).is_err_and(|e| e.is_missing()) {
            let staging = root.make_sub(".staging")?;
            let name = format!("{id}.{}", disk::unique_hex());
            Self::furnish(&staging.make_sub(&name)?, card)?;
            staging.sync()?;
            match staging.rename_dir(&name, root, id.as_str()) {
                Ok(()) => root.sync()?,
                // Another process made it in the same moment; its directory serves as well.
                Err(Error::Exists { .. }) => {}
                Err(e) => return Err(e),
            }
            return Self::open(root, id);
        }
        let mailbox = Self::open(root, id)?;
        Self::furnish(&mailbox.dir, card)?;
        Ok(mailbox)
    }

    fn furnish(dir: &Dir, card: Option<&[u8]>) -> Result<()> {
        for folder in ["tmp", "inbox", "archive"] {
            dir.make_sub(folder)?;
        }
        match card {
            Some(card) if dir.read("card.json", CARD_LIMIT)?.as_deref() != Some(card) => {
                dir.replace("card.json", card)
            }
            _ => dir.sync(),
        }
    }

    pub fn id(&self) -> &MailboxId {
        &self.id
    }

    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    pub fn path(&self, folder: Folder, name: &str) -> PathBuf {
        self.dir.path().join(folder.word()).join(name)
    }

    /// Writes a whole message, makes it durable and publishes it into the inbox.
    pub fn deliver(&self, name: &FileName, bytes: &[u8]) -> Result<Delivered> {
        let (tmp, inbox) = match self.delivery.get() {
            Some(open) => open,
            None => {
                let open = (self.dir.sub("tmp")?, self.dir.sub("inbox")?);
                self.delivery.get_or_init(|| open)
            }
        };
        let staged = format!("{}.{}", name.as_str(), disk::unique_hex());
        tmp.stage(&staged, bytes)?;
        if let Err(e) = tmp.publish(&staged, inbox, name.as_str()) {
            let _ = tmp.remove(&staged);
            return Err(e);
        }
        Ok(match inbox.sync() {
            Ok(()) => Delivered::Durable,
            Err(e) => Delivered::Unproven(e),
        })
    }

    /// The first `limit` names of a folder: by priority, then by name, which is by time.
    pub fn list(&self, folder: Folder, limit: usize) -> Result<Listing> {
        let dir = match self.dir.sub(folder.word()) {
            Err(e) if e.is_missing() && folder != Folder::Inbox => return Ok(Listing::default()),
            other => other?,
        };
        let mut heap: BinaryHeap<(Priority, String)> = BinaryHeap::new();
        let mut listing = Listing::default();
        dir.scan(|name, kind| {
            if !file_name::is_message(name) {
                return;
            }
            let Ok(text) = str::from_utf8(name) else {
                listing.strange.push((OsString::from_vec(name.to_vec()), "a file whose name is not UTF-8"));
                return;
            };
            if kind != FileType::RegularFile {
                listing.strange.push((OsString::from(text), super::fault::kind(kind)));
                return;
            }
            listing.total += 1;
            let priority = file_name::priority(name);
            if heap.len() >= limit {
                // The heap's top is the last of the kept; most names of a large inbox come after it.
                match heap.peek() {
                    Some((p, n)) if (priority, text) < (*p, n.as_str()) => heap.pop(),
                    _ => return,
                };
            }
            heap.push((priority, text.to_owned()));
        })?;
        listing.names = heap.into_sorted_vec().into_iter().map(|(_, name)| name).collect();
        Ok(listing)
    }

    /// How many messages are unread, and when the oldest came; by names and one look at a file.
    pub fn unread(&self) -> Result<(usize, Option<Timestamp>)> {
        let inbox = self.dir.sub(Folder::Inbox.word())?;
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

    /// Reads the envelope of a message and not its body. `Ok(None)`: it has gone meanwhile.
    pub fn header(&self, folder: Folder, name: &str) -> std::result::Result<Option<Header>, Unreadable> {
        let mut opened = match self.open_message(folder, name) {
            Ok(Some(opened)) => opened,
            Ok(None) => return Ok(None),
            Err(e) => return Err(self.unreadable(folder, name, e.to_string())),
        };
        let size = u64::try_from(opened.stat.st_size).unwrap_or(0);
        let time = mtime(&opened.stat);
        let broken = |why: String| Unreadable { name: name.to_owned(), why, time: Some(time) };
        let mut bytes = Vec::new();
        for more in [4096, frontmatter::HEADER_LIMIT] {
            bytes.extend(opened.head(more).map_err(|e| broken(e.to_string()))?);
            let whole = bytes.len() as u64 >= size;
            match maildir::parse_head(&bytes, whole) {
                Ok(Some(envelope)) => {
                    return Ok(Some(Header { name: name.to_owned(), envelope, time, size }));
                }
                Ok(None) => {}
                Err(e) => return Err(broken(e.to_string())),
            }
        }
        Err(broken(frontmatter::ParseError::HeaderTooLong.to_string()))
    }

    /// Reads a whole message. `Ok(None)`: it has gone meanwhile.
    pub fn message(
        &self,
        folder: Folder,
        name: &str,
        limit: u64,
    ) -> std::result::Result<Option<(Message, Timestamp)>, Unreadable> {
        let opened = match self.open_message(folder, name) {
            Ok(Some(opened)) => opened,
            Ok(None) => return Ok(None),
            Err(e) => return Err(self.unreadable(folder, name, e.to_string())),
        };
        let time = mtime(&opened.stat);
        let broken = |why: String| Unreadable { name: name.to_owned(), why, time: Some(time) };
        let bytes =
            opened.read_all(limit + frontmatter::HEADER_LIMIT as u64).map_err(|e| broken(e.to_string()))?;
        let message = maildir::parse(&bytes).map_err(|e| broken(e.to_string()))?;
        Ok(Some((message, time)))
    }

    fn open_message(&self, folder: Folder, name: &str) -> Result<Option<disk::Opened>> {
        let dir = match self.dir.sub(folder.word()) {
            Err(e) if e.is_missing() => return Ok(None),
            other => other?,
        };
        let opened = match dir.open_file(name) {
            Err(e) if e.is_missing() => return Ok(None),
            other => other?,
        };
        if opened.stat.st_nlink > 1 && !self.is_staged(name, &opened.stat) {
            return Err(Error::HardLink { path: dir.path().join(name) });
        }
        Ok(Some(opened))
    }

    /// Whether the second link of a message is its own staging file, left by a publisher that had to
    /// link and was killed before it could unlink.
    fn is_staged(&self, name: &str, stat: &rustix::fs::Stat) -> bool {
        let Ok(tmp) = self.dir.sub("tmp") else {
            return false;
        };
        let mut own = false;
        let _ = tmp.scan(|staged, _| {
            own |= str::from_utf8(staged)
                .ok()
                .filter(|s| s.starts_with(name))
                .and_then(|s| tmp.stat(s).ok())
                .is_some_and(|s| (s.st_ino, s.st_dev) == (stat.st_ino, stat.st_dev));
        });
        own && stat.st_nlink == 2
    }

    fn unreadable(&self, folder: Folder, name: &str, why: String) -> Unreadable {
        let stat = self.dir.sub(folder.word()).and_then(|dir| dir.stat(name));
        Unreadable { name: name.to_owned(), why, time: stat.ok().map(|s| mtime(&s)) }
    }

    /// Moves a message from one folder to another; `false` if it is no longer there. Durable on return.
    pub fn shift(&self, name: &str, from: Folder, to: Folder) -> Result<bool> {
        let source = self.dir.sub(from.word())?;
        let target = match self.dir.sub(to.word()) {
            Err(e) if e.is_missing() => {
                let made = self.dir.make_sub(to.word())?;
                self.dir.sync()?;
                made
            }
            other => other?,
        };
        match source.publish(name, &target, name) {
            Ok(()) => target.sync().map(|()| true),
            Err(e) if e.is_missing() => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Puts away what cannot be read, under a name that is safe to look at. Gone already is no error.
    pub fn quarantine(&self, name: &OsString) -> Result<()> {
        let inbox = self.dir.sub("inbox")?;
        let target = self.dir.make_sub(Folder::Quarantine.word())?;
        self.dir.sync()?;
        let clean: String = name
            .to_string_lossy()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' })
            .take(180)
            .collect();
        let mut result = inbox.publish(name, &target, &clean);
        if matches!(result, Err(Error::Exists { .. })) {
            result = inbox.publish(name, &target, &format!("{}.{clean}", disk::unique_hex()));
        }
        match result {
            Err(e) if e.is_missing() => Ok(()),
            Err(e) => Err(e),
            Ok(()) => target.sync(),
        }
    }

    /// Says that this mailbox's agent was here. Nothing depends on it, so failure is no matter.
    pub fn mark_seen(&self) {
        let _ = self.dir.touch("seen");
    }

    /// Held by a resident process as long as it lives.
    pub fn stay_alive(&self) -> Option<Lock> {
        self.dir.try_lock(".alive", Hold::Together).ok().flatten()
    }

    pub fn presence(&self, now: Timestamp) -> Presence {
        let resident =
            self.dir.stat(".alive").is_ok() && matches!(self.dir.try_lock(".alive", Hold::Alone), Ok(None));
        match self.dir.stat("seen").map(|stat| mtime(&stat)) {
            _ if resident => Presence::Alive,
            Ok(seen) if now.since(seen) < ALIVE => Presence::Alive,
            Ok(seen) => Presence::SilentSince(seen),
            Err(_) => Presence::NeverSeen,
        }
    }
}

/// The longest card that is read.
pub const CARD_LIMIT: u64 = 64 * 1024;

/// When a file was last written.
pub fn mtime(stat: &rustix::fs::Stat) -> Timestamp {
    Timestamp::from_parts(stat.st_mtime, i32::try_from(stat.st_mtime_nsec).unwrap_or(0))
}
