//! The seed's shell interface: flows that address mailboxes by id and make them when they are missing.
//!
//! Everything else in Postroom names its recipients and never mints; `shell-init` needs these to give the
//! results of the shell functions it stands in for (format.md §8).

use super::send::Sender;
use super::{Error, Letter, Me, Post, Receipt, Result, Why};
use crate::journal::Event;
use crate::mailbox::Folder;
use crate::mailbox::Maildir;
use crate::name::{MailboxId, MessageId, Name};
use crate::registry::{Editing, Entry};

impl Post {
    /// The mailbox with this id, made if it is missing.
    pub fn ensure(&self, id: &MailboxId) -> Result<Me> {
        self.room.may_write()?;
        let mailbox = self.placed(Maildir::make(self.room.root(), id, None)?)?;
        mailbox.home().mark_seen();
        let name = self.registered().ok().and_then(|r| r.by_id(id)).map(|e| e.name.clone());
        Ok(Me { id: id.clone(), name, why: Why::Id, mailbox })
    }

    /// The mailbox that `AGENT_MAILBOX_ID` means: an id that is there, else a name.
    pub fn own_id_by_text(&self, text: &str) -> Result<Option<MailboxId>> {
        match self.existing_id(text)? {
            Some(id) => Ok(Some(id)),
            None => Ok(self.registry()?.lookup(text)?.map(|entry| entry.id.clone())),
        }
    }

    /// Delivers to an id, from an id that may have no mailbox yet.
    pub fn send_by_id(&self, from: &MailboxId, to: &MailboxId, letter: &Letter) -> Result<Receipt> {
        self.room.may_write()?;
        // What is refused makes no mailbox.
        self.check_letter(letter)?;
        Maildir::make(self.room.root(), to, None)?;
        let mailbox = self.existing_id(from.as_str())?.map(|id| self.mailbox(&id)).transpose()?;
        let sender = Sender { id: from, mailbox: mailbox.as_ref() };
        self.send_as(sender, letter, std::slice::from_ref(to), &MessageId::fresh(), false)?
            .pop()
            .ok_or(Error::EmptyBody)
    }

    /// Paths of unread messages in the order of their names; a mailbox that is not there has none.
    pub fn list_by_id(&self, id: &MailboxId) -> Result<Vec<std::path::PathBuf>> {
        let mailbox = match Maildir::open(self.room.root(), id) {
            Err(e) if e.is_missing() => return Ok(vec![]),
            other => other?,
        };
        let mut names = match mailbox.list(Folder::Inbox, usize::MAX) {
            Err(e) if e.is_missing() => return Ok(vec![]),
            other => other?.names,
        };
        names.sort();
        Ok(names.iter().map(|name| mailbox.path(Folder::Inbox, name)).collect())
    }

    /// Archives by file name; what is not in the inbox is no error.
    pub fn archive_by_name(&self, me: &Me, name: &str) -> Result<()> {
        // A name with a separator cannot be in the inbox, and must not be tried as a path.
        if name.is_empty() || name.contains('/') || name == ".." {
            return Ok(());
        }
        me.mailbox.shift(name, Folder::Inbox, Folder::Archive)?;
        Ok(())
    }

    /// Gives an id a name: the name, or `None` if somebody has it. A second name of one id is an alias.
    pub fn register(&self, name: &str, id: &MailboxId) -> Result<Option<String>> {
        self.room.may_write()?;
        let name = Name::parse(name).map_err(|why| Error::BadName {
            what: "the name",
            text: name.to_owned(),
            why,
        })?;
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
            None => Entry {
                name: name.to_string(),
                id: id.clone(),
                harness: self.caller.harness.clone(),
                inbox: self.room.path().join(id.as_str()).join(Folder::Inbox.word()).display().to_string(),
                pid: self.caller.pid,
                created: self.now().to_string(),
                extra: serde_json::Map::new(),
            },
        };
        if entry.harness.is_empty() {
            entry.harness = "unknown".to_owned();
        }
        Maildir::make(self.room.root(), id, Some(&entry.card()))?;
        editing.registry.entries.retain(|e| e.id != *id);
        editing.registry.entries.push(entry);
        editing.commit()?;
        self.record(Event { to: name.to_string(), ..Event::new("setup", id.as_str()) });
        Ok(Some(name.to_string()))
    }
}
