//! A mailbox of the native protocol (format.md §2, §4, §5).
//!
//! ```text
//! <root>/<id>/tmp/          staging; readers never look here
//!            /inbox/        unread: a message is unread if and only if it is here
//!            /archive/      consumed; never changed again
//!            /claimed/<token>/  taken with a lease, with its claim.json (claim.rs); flocked while it is renewed or ended
//!            /failed/       given up, with a reason in attempts/
//!            /attempts/     one file per message that was tried, one line per attempt
//!            /quarantine/   what could not be read
//!            /answering/    one empty file per reply under way
//!            /card.json     its names, for a lost registry
//!            /seen          touched by every command of this mailbox
//!            /.alive        flocked by a resident process
//!            /.deliver.lock flocked while a delivery with a given id looks for itself
//! ```
//!
//! The directory of a message is its state. Every step is one rename that replaces nothing, and no name changes inside
//! a scanned directory. So a scan never misses a message that is there throughout.

mod arrivals;
mod life;
mod once;
mod recent;

pub(super) use recent::APART;

use std::collections::BinaryHeap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::sync::OnceLock;

use rustix::fs::FileType;

use super::claim::TERMS;
use super::disk::Dir;
use super::fault::{Durability, Error, IfAny, Result};
use super::folder::Folder;
use super::lock;
use super::place::Listing;
use super::reading::mtime;
use crate::message::{FileName, Priority, file_name};
use crate::name::MailboxId;
use crate::random;

/// One mailbox, open.
#[derive(Debug)]
pub struct Maildir {
    dir: Dir,
    id: MailboxId,
    layout: Layout,
    /// `tmp` and `inbox`, opened by the first delivery and kept for the next.
    delivery: OnceLock<(Dir, Dir)>,
}

/// Which of the two protocols with a directory as state this one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Message names are `*.md`, and give their order.
    ProtocolFields,
    /// A workspace's `.mailbox`: names have no extension, and the time of the file gives the order.
    Workspace,
}

impl Maildir {
    /// Opens the mailbox `id` of a room.
    pub fn open(root: &Dir, id: &MailboxId) -> Result<Self> {
        Ok(Self::at(root.sub(id.as_str())?, id))
    }

    /// A mailbox whose directory is already open, wherever it is.
    pub fn at(dir: Dir, id: &MailboxId) -> Self {
        Self { dir, id: id.clone(), layout: Layout::ProtocolFields, delivery: OnceLock::new() }
    }

    /// The `.mailbox` directory of a workspace.
    pub(super) fn workspace(dir: Dir, id: &MailboxId) -> Self {
        Self { layout: Layout::Workspace, ..Self::at(dir, id) }
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// Whether a file of this name is a message.
    pub fn is_message(&self, name: &[u8]) -> bool {
        match self.layout {
            Layout::ProtocolFields => file_name::is_message(name),
            // The terms of a claim are beside its message, whose name has no extension here.
            Layout::Workspace => {
                str::from_utf8(name).is_ok_and(|name| name != TERMS && MailboxId::parse(name).is_ok())
            }
        }
    }

    /// Makes a mailbox in one visible step, or completes one made by hand. Durable on return.
    pub fn make(root: &Dir, id: &MailboxId, card: Option<&[u8]>) -> Result<Self> {
        if root.stat(id.as_str()).is_err_and(|e| e.is_missing()) {
            let staging = root.create_dir(".staging")?;
            let name = format!("{id}.{}", random::unique_hex());
            // Its name in the staging directory need not be durable, only its content.
            Self::furnish(&staging.create_dir(&name)?, card)?;
            match staging.rename_dir(&name, root, id.as_str()) {
                Ok(()) => root.sync()?,
                // Another process made it at the same time; that directory is as good.
                Err(Error::Exists { .. }) => {}
                Err(e) => return Err(e),
            }
            return Self::open(root, id);
        }
        let mailbox = Self::open(root, id)?;
        Self::furnish(&mailbox.dir, card)?;
        // The process that made it may have been interrupted before the sync.
        root.sync()?;
        Ok(mailbox)
    }

    fn furnish(dir: &Dir, card: Option<&[u8]>) -> Result<()> {
        for folder in ["tmp", "inbox", "archive"] {
            dir.create_dir(folder)?;
        }
        match card {
            Some(card) if dir.read("card.json", CARD_LIMIT)?.as_deref() != Some(card) => {
                dir.replace_synced("card.json", card)
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

    /// Writes a whole message, makes it durable and publishes it in the inbox.
    pub fn publish(&self, name: &FileName, bytes: &[u8]) -> Result<Durability> {
        let (tmp, inbox) = match self.delivery.get() {
            Some(open) => open,
            None => {
                let open = (self.dir.sub("tmp")?, self.dir.sub("inbox")?);
                self.delivery.get_or_init(|| open)
            }
        };
        let staged = format!("{}.{}", name.as_str(), random::unique_hex());
        tmp.stage(&staged, bytes)?;
        let how = tmp.publish_staged(&staged, inbox, name.as_str())?;
        match self.dir.is_in_place() {
            Ok(true) => Ok(how),
            Ok(false) => self.settle_with_prune(inbox, name.as_str(), how),
            Err(e) => Ok(Durability::Unproven(e)),
        }
    }

    /// Handles a prune that moved this mailbox away during the delivery. The prune holds the registry's lock until it
    /// has counted the new mail. After that, either the mailbox is back with the message in it, or nobody will see the
    /// message, and it is withdrawn.
    fn settle_with_prune(&self, inbox: &Dir, name: &str, how: Durability) -> Result<Durability> {
        let in_place = Dir::open(self.dir.path().parent().unwrap_or(self.dir.path())).and_then(|root| {
            let _lock = root.lock(lock::ROOM)?;
            self.dir.is_in_place()
        });
        if matches!(in_place, Ok(true)) {
            return Ok(how);
        }
        match (inbox.remove(name), in_place) {
            // The prune took too long to wait for; the message is withdrawn, so the prune removes nothing acknowledged.
            (Ok(()), Err(e)) => Err(e),
            (Err(e), Ok(_)) if e.is_missing() => Err(Error::Pruned { path: self.dir.path().to_owned() }),
            (Ok(()), Ok(_)) => Err(Error::Pruned { path: self.dir.path().to_owned() }),
            // The message exists, but its final place is unknown.
            (Err(e), _) => Ok(Durability::Unproven(e)),
        }
    }

    /// The first `limit` names of a folder: by priority, then by name, which is by time.
    pub fn list(&self, folder: Folder, limit: usize) -> Result<Listing> {
        let dir = match self.folder(folder) {
            Err(e) if e.is_missing() && folder != Folder::Inbox => return Ok(Listing::default()),
            other => other?,
        };
        if self.layout == Layout::Workspace {
            return self.list_by_time(&dir, limit);
        }
        let mut heap: BinaryHeap<(Priority, String)> = BinaryHeap::new();
        let mut listing = see_all(dir, |priority, text| {
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

    /// The first `limit` names, ordered by the time of the file, because names give no order here.
    fn list_by_time(&self, dir: &Dir, limit: usize) -> Result<Listing> {
        let (mut listing, mut names) = (Listing::default(), vec![]);
        dir.scan(|name, kind| match (str::from_utf8(name), kind) {
            // A name with a leading dot is being written, and a directory is not a message.
            _ if name.starts_with(b".") || kind == FileType::Directory => {}
            (Ok(text), FileType::RegularFile) if self.is_message(name) => names.push(text.to_owned()),
            (_, FileType::RegularFile) => {
                listing
                    .strange
                    .push((OsString::from_vec(name.to_vec()), "a file whose name cannot be an id"));
            }
            _ => listing.strange.push((OsString::from_vec(name.to_vec()), super::fault::kind(kind))),
        })?;
        listing.total = names.len();
        if limit > 0 {
            names.sort_by_cached_key(|name| (dir.stat(name).ok().map(|stat| mtime(&stat)), name.clone()));
            names.truncate(limit);
            listing.names = names;
        }
        Ok(listing)
    }

    /// Moves a message from one folder to another and returns its name there; `None` if it is gone. Durable on return.
    pub fn shift(&self, name: &str, from: Folder, to: Folder) -> Result<Option<String>> {
        let source = self.folder(from)?;
        let target = match to {
            Folder::Claimed(_) => self.folder(to)?,
            other => self.made_folder(other.as_str())?,
        };
        let Some(file) = source.to_move(name).if_any()? else { return Ok(None) };
        // Two messages may have had one name, one after the other; the second gets a number in the new folder.
        let moved = source.publish_free(name, &target, file_name::candidates(name))?;
        moved.map(|new| target.sync_moved(&file).map(|()| new)).transpose()
    }

    /// Moves an unreadable file to quarantine, under a safe name. Succeeds if the file is already gone.
    pub fn quarantine(&self, name: &OsString) -> Result<()> {
        let inbox = self.dir.sub("inbox")?;
        let target = self.made_folder(Folder::Quarantine.as_str())?;
        let clean: String = name
            .to_string_lossy()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' })
            .take(180)
            .collect();
        let mut result = inbox.publish(name, &target, &clean);
        if matches!(result, Err(Error::Exists { .. })) {
            result = inbox.publish(name, &target, &format!("{}.{clean}", random::unique_hex()));
        }
        result.if_any()?.map_or(Ok(()), |()| target.sync())
    }
}

/// Shows each name of a message with its priority, and counts them.
fn see_all(dir: Dir, mut see: impl FnMut(Priority, &str)) -> Result<Listing> {
    let mut listing = Listing::default();
    dir.scan_once(|name, kind| {
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
        see(file_name::priority(name), text);
    })?;
    Ok(listing)
}

/// The longest card that is read.
pub const CARD_LIMIT: u64 = 64 * 1024;

/// A mailbox for a test, in the temporary directory that is returned first.
#[cfg(test)]
pub(super) fn fresh() -> (tempfile::TempDir, Maildir) {
    let temp = tempfile::tempdir().unwrap();
    let root = Dir::open(&temp.path().canonicalize().unwrap()).unwrap();
    let id = MailboxId::parse("alice-1").unwrap();
    Maildir::make(&root, &id, None).unwrap();
    let mailbox = Maildir::open(&root, &id).unwrap();
    (temp, mailbox)
}
