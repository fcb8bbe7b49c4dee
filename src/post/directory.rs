//! Look-ups in the registry, for protocols that identify mailboxes by their own paths and names.

use std::path::{Path, PathBuf};

use super::{Error, Post, Result};
use crate::mailbox::maildir::CARD_LIMIT;
use crate::mailbox::tree::Tree;
use crate::mailbox::{self, Directory, Folder, Mailbox, Maildir};
use crate::message::Protocol;
use crate::name::MailboxId;
use crate::registry::{self, Entry, Registry};
use crate::room::Extent;

impl Post {
    /// A mailbox with its home open: its messages are there, or where the registry says.
    pub(super) fn placed(&self, home: Maildir) -> Result<Mailbox> {
        let card;
        let entry = match self.registered() {
            Ok(registry) => registry.by_id(home.id()),
            // Without a registry, the mailbox's own card says where it is.
            Err(e @ registry::Error::Disk(_)) => return Err(Error::from_registry(e)),
            Err(_) => {
                card = home.dir().read("card.json", CARD_LIMIT)?.and_then(|card| Registry::parse(&card).ok());
                card.as_ref().and_then(|card| card.by_id(home.id()))
            }
        };
        let Some((entry, protocol)) = entry.and_then(|e| Some((e, Protocol::parse(e.text("protocol")?)?)))
        else {
            return Ok(Mailbox::native(home));
        };
        match Mailbox::elsewhere(home, protocol, Path::new(&entry.inbox)) {
            Err(e) if e.is_missing() => {
                Err(Error::NoPlace { name: entry.name.clone(), path: entry.inbox.clone() })
            }
            other => Ok(other?),
        }
    }

    /// The id of an existing mailbox. A failed look-up is an error.
    pub(super) fn existing_id(&self, text: &str) -> Result<Option<MailboxId>> {
        let Ok(id) = MailboxId::parse(text) else { return Ok(None) };
        // Another engine may have registered it without making its directory.
        if self.registered().is_ok_and(|registry| registry.by_id(&id).is_some()) {
            return Ok(Some(id));
        }
        if self.room.extent(&id) == Extent::Absent {
            return Ok(None);
        }
        match Maildir::open(self.room.root(), &id) {
            Err(e) if e.is_missing() || matches!(e, mailbox::Error::NotADirectory { .. }) => Ok(None),
            other => Ok(other.map(|_| Some(id))?),
        }
    }

    fn entries(&self) -> &[Entry] {
        self.registered().map(|registry| registry.entries.as_slice()).unwrap_or_default()
    }

    /// The trees that contain mailboxes of this room.
    pub(super) fn known_trees(&self) -> Vec<PathBuf> {
        let of_tree = |entry: &&Entry| entry.text("protocol") == Some(Protocol::Tree.as_str());
        let claude = |entry: &Entry| Path::new(&entry.inbox).ancestors().nth(2).map(Path::to_owned);
        let mut trees: Vec<PathBuf> = self.entries().iter().filter(of_tree).filter_map(claude).collect();
        trees.sort();
        trees.dedup();
        trees
    }

    /// Registers inboxes made by hand: in known trees, and in the tree around the working directory. `true` if there were some.
    pub fn adopt_new_inboxes(&self) -> Result<bool> {
        let mut new = vec![];
        let near = self.caller.tree.and_then(|find| find());
        for path in self.known_trees().into_iter().chain(near) {
            let tree = match Tree::open(&path) {
                Err(e) if e.is_missing() || !matches!(e, mailbox::Error::Io { .. }) => continue,
                other => other?,
            };
            let is_new = |found: &super::adopt::FoundInbox| {
                !self.entries().iter().any(|e| Path::new(&e.inbox) == found.inbox)
                    && !self.registered().is_ok_and(|r| r.is_taken(&found.name, None))
            };
            new.extend(super::adopt::agents(&tree)?.into_iter().filter(is_new));
        }
        if new.is_empty() || self.room.may_write().is_err() {
            return Ok(false);
        }
        self.adopt_all(new)?;
        let _ = self.renewed.set(Registry::load(self.room.root())?);
        Ok(true)
    }
}

impl Directory for Post {
    fn open(&self, id: &MailboxId) -> mailbox::fault::Result<Mailbox> {
        self.mailbox(id).map_err(into_disk)
    }

    fn resolve(&self, text: &str) -> mailbox::fault::Result<Option<MailboxId>> {
        match Post::resolve(self, text) {
            // Two mailboxes have this name, so it is unclear which one is meant.
            Err(Error::AmbiguousName { .. }) => Ok(None),
            other => other.map_err(into_disk),
        }
    }

    fn owner_of(&self, path: &str) -> mailbox::fault::Result<Option<MailboxId>> {
        let path = Path::new(path);
        let entry_of = |dir: &Path| self.entries().iter().find(|entry| Path::new(&entry.inbox) == dir);
        if let Some(entry) = entry_of(path) {
            return Ok(Some(entry.id.clone()));
        }
        let dir = match path.parent() {
            _ if path.ends_with("inbox") => path,
            Some(parent) => parent,
            None => return Ok(None),
        };
        if let Ok(below) = dir.strip_prefix(self.room.path()) {
            let mut parts = below.components();
            let id = parts.next().and_then(|id| id.as_os_str().to_str()).unwrap_or_default();
            let rest = parts.as_path();
            if rest == Path::new(".mailbox/inbox") || rest == Path::new(Folder::Inbox.as_str()) {
                return self.existing_id(id).map_err(into_disk);
            }
        }
        Ok(entry_of(dir).map(|entry| entry.id.clone()))
    }

    fn may_receive(&self, dir: &Path) -> bool {
        self.room.settings().reply_destinations.iter().any(|allowed| allowed == dir)
            || self.entries().iter().any(|entry| Path::new(&entry.inbox) == dir)
    }

    fn trees(&self) -> Vec<PathBuf> {
        self.known_trees()
    }

    fn names_of(&self, id: &MailboxId) -> Vec<String> {
        let entry = self.registered().ok().and_then(|registry| registry.by_id(id));
        let names = entry.into_iter().flat_map(Entry::names);
        names.chain([id.as_str()]).map(str::to_owned).collect()
    }

    fn limit(&self) -> u64 {
        self.room.limits().body_bytes
    }
}

/// Turns an error of a verb into one of the disk, for the layers below the verbs.
fn into_disk(e: Error) -> mailbox::Error {
    match e {
        Error::Disk(e) => e,
        e => mailbox::Error::Content { path: PathBuf::new(), why: e.to_string() },
    }
}
