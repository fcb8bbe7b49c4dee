//! The seed's shell interface: operations that address mailboxes by id and make them if they are missing.
//!
//! The rest of Postroom addresses by name and makes no mailbox implicitly; `shell-init` needs these operations to
//! return what the replaced shell functions return (format.md §8).

use super::send::Sender;
use super::setup::checked_name;
use super::{Letter, Me, Post, Receipt, Result, Why};
use crate::journal::Event;
use crate::mailbox::{Folder, IfAny, Maildir, trash};
use crate::name::{MailboxId, MessageId};
use crate::registry::{self, Editing, Entry, Registry};
use crate::room::Extent;

impl Post {
    /// The mailbox with this id, made if it is missing.
    pub fn ensure(&self, id: &MailboxId) -> Result<Me> {
        self.room.may_write()?;
        let mailbox = self.placed(self.made(id)?)?;
        mailbox.home().mark_seen();
        let name = self.registered().ok().and_then(|r| r.by_id(id)).map(|e| e.name.clone());
        Ok(Me { id: id.clone(), name, why: Why::Id, mailbox })
    }

    /// The directory of a mailbox by its id alone, made if it is missing. Durable on return.
    fn made(&self, id: &MailboxId) -> Result<Maildir> {
        let root = self.room.root();
        if self.room.extent(id) == Extent::Whole {
            // The command that made it may have been interrupted before the sync.
            root.sync()?;
            return Ok(Maildir::open(root, id)?);
        }
        // A prune that finds new mail restores the directory, and needs its path free.
        let _lock = root.lock(registry::LOCK)?;
        Ok(Maildir::make(root, id, None)?)
    }

    /// Makes or completes the directory of a mailbox that another engine registered or made in part; `None` if there is
    /// no such mailbox. The registry is read again under its lock: a prune removes directory and name under that lock,
    /// and a concurrent sender must not restore them.
    pub(super) fn make_home(&self, id: &MailboxId) -> Result<Option<Maildir>> {
        let is_known = |registry: &Registry| registry.by_id(id).is_some();
        let is_there = || self.room.extent(id) != Extent::Absent;
        if self.room.may_write().is_err() || !self.registered().is_ok_and(is_known) && !is_there() {
            return Ok(None);
        }
        let root = self.room.root();
        let editing = Editing::begin(root)?;
        if !is_there() && !is_known(&editing.registry) {
            return Ok(None);
        }
        // A prune was interrupted before it counted the new mail.
        if !is_there() && trash::return_unfinished(root, id)? {
            return Ok(Some(Maildir::open(root, id)?));
        }
        let (entry, was_there) = (editing.registry.by_id(id), is_there());
        let home = Maildir::make(root, id, entry.map(Entry::card).as_deref())?;
        if let Some(entry) = entry.filter(|_| !was_there) {
            // The directory may also have been lost, with mail in it.
            let note = "its directory was missing".to_owned();
            self.record(Event { to: entry.name.clone(), note, ..Event::new("setup", id.as_str()) });
        }
        Ok(Some(home))
    }

    /// The mailbox that `AGENT_MAILBOX_ID` means: an existing id, else a name.
    pub fn own_id_by_text(&self, text: &str) -> Result<Option<MailboxId>> {
        match self.existing_id(text)? {
            Some(id) => Ok(Some(id)),
            None => Ok(self.registry()?.lookup(text)?.map(|entry| entry.id.clone())),
        }
    }

    /// Delivers to an id, from an id that may have no mailbox yet.
    pub fn send_by_id(&self, from: &MailboxId, to: &MailboxId, letter: &Letter) -> Result<Receipt> {
        self.room.may_write()?;
        // A refused letter makes no mailbox.
        self.check_letter(letter)?;
        self.made(to)?;
        let mailbox = self.existing_id(from.as_str())?.map(|id| self.mailbox(&id)).transpose()?;
        let sender = Sender { id: from, mailbox: mailbox.as_ref(), room: None, network: None };
        self.send_one(&sender, letter, to, &MessageId::fresh(), false)
    }

    /// Paths of unread messages, sorted by name; a missing mailbox has none.
    pub fn list_by_id(&self, id: &MailboxId) -> Result<Vec<std::path::PathBuf>> {
        let Some(mailbox) = Maildir::open(self.room.root(), id).if_any()? else { return Ok(vec![]) };
        let mut names = mailbox.list(Folder::Inbox, usize::MAX).if_any()?.unwrap_or_default().names;
        names.sort();
        Ok(names.iter().map(|name| mailbox.path(Folder::Inbox, name)).collect())
    }

    /// Archives by file name; a name that is not in the inbox is not an error.
    pub fn archive_by_name(&self, me: &Me, name: &str) -> Result<()> {
        // A name with a separator cannot be in the inbox, and must not be tried as a path.
        if name.is_empty() || name.contains('/') || name == ".." {
            return Ok(());
        }
        me.mailbox.shift(name, Folder::Inbox, Folder::Archive)?;
        Ok(())
    }

    /// Gives an id a name. Returns the name, or `None` if it is taken. A second name of one id is an alias.
    pub fn register(&self, name: &str, id: &MailboxId) -> Result<Option<String>> {
        self.room.may_write()?;
        let name = checked_name(name)?;
        let mut editing = Editing::begin(self.room.root())?;
        if editing.registry.is_taken(name.as_str(), None) {
            return Ok(None);
        }
        let mut entry = match editing.registry.by_id(id).cloned() {
            Some(mut entry) => {
                let aliases: Vec<&str> = entry.aliases().chain([name.as_str()]).collect();
                let aliases = aliases.join(" ");
                entry.extra.insert("aliases".into(), aliases.into());
                entry
            }
            None => {
                let inbox = self.room.path().join(id.as_str()).join(Folder::Inbox.as_str());
                let inbox = inbox.display().to_string();
                let entry = Entry::new(name.as_str(), id.clone(), inbox, self.now().to_string());
                Entry { harness: self.caller.harness.clone(), pid: self.caller.pid, ..entry }
            }
        };
        if entry.harness.is_empty() {
            entry.harness = "unknown".to_owned();
        }
        Maildir::make(self.room.root(), id, Some(&entry.card()))?;
        editing.registry.set(entry);
        editing.commit()?;
        self.record(Event { to: name.to_string(), ..Event::new("setup", id.as_str()) });
        Ok(Some(name.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Caller, Doomed, Error, NewMailbox};
    use super::*;
    use crate::clock::SystemClock;

    fn post(path: &std::path::Path) -> Post {
        Post::open_or_make(path, Caller::default(), Arc::new(SystemClock)).unwrap()
    }

    fn bob(post: &Post) -> MailboxId {
        post.setup(&NewMailbox { name: Some("bob".into()), child: true, ..NewMailbox::default() }).unwrap().id
    }

    #[test]
    fn a_sender_beside_a_prune_does_not_bring_the_mailbox_back() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("room");
        let id = bob(&post(&path));
        // Both read the registry before the prune.
        let (sender, other) = (post(&path), post(&path));
        assert!(sender.home(&id).is_ok());
        let doomed = Doomed::Mailbox { id: id.clone(), name: "bob".into(), unread: 0, messages: 0 };
        other.prune("alice", &[doomed], &crate::workflow::pruning::Workflows, false, |_| ()).unwrap();
        assert!(matches!(sender.home(&id), Err(Error::NoMailbox { .. })));
        assert!(sender.room.root().stat(id.as_str()).is_err_and(|e| e.is_missing()));
    }

    #[test]
    fn a_mailbox_whose_prune_was_interrupted_is_put_back() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("room");
        let id = bob(&post(&path));
        let post = post(&path);
        let bag = trash::Trash::make(post.room.root()).unwrap().new_bag(post.now()).unwrap();
        let mailbox = bag.take_mailbox(post.room.root(), &id).unwrap().unwrap();
        mailbox.dir().touch("mark").unwrap();
        assert!(post.home(&id).unwrap().dir().stat("mark").is_ok());
    }
}
