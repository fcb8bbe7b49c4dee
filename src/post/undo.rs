//! Undo: restores what a prune moved into the trash. After a failure or an interruption, a second run completes it.

use serde::Deserialize;

use super::line::counted;
use super::prune::RunsToPrune;
use super::setup::not_reserved;
use super::{Error, Post, Result};
use crate::clock::Timestamp;
use crate::groups::Groups;
use crate::journal::Event;
use crate::mailbox::claim::ATTEMPTS;
use crate::mailbox::trash::{Bag, Trash};
use crate::mailbox::{Maildir, attachments};
use crate::message::visible;
use crate::name::{MailboxId, Name};
use crate::registry::{Editing, Entry, Registry};

/// The content of one prune, which can be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trashed {
    pub id: String,
    pub at: Timestamp,
    /// The names of mailboxes.
    pub mailboxes: Vec<String>,
    pub runs: Vec<String>,
    /// Finished messages of mailboxes that were kept.
    pub messages: usize,
}

impl Trashed {
    pub fn is_empty(&self) -> bool {
        self.mailboxes.is_empty() && self.runs.is_empty() && self.messages == 0
    }

    /// What it has, in words.
    pub fn contents(&self) -> String {
        let mailboxes = self.mailboxes.iter().map(|name| format!("the mailbox {}", visible::line(name)));
        let runs = self.runs.iter().map(|run| format!("the run {run}"));
        let messages = (self.messages > 0).then(|| counted(self.messages, "message"));
        mailboxes.chain(runs).chain(messages).collect::<Vec<_>>().join(", ")
    }
}

/// A prune's note of a mailbox, written before the move.
#[derive(Debug, Deserialize)]
struct Note {
    names: String,
    groups: Vec<(String, String)>,
}

/// A mailbox to restore.
struct Returning {
    id: MailboxId,
    entries: Vec<Entry>,
    groups: Vec<(String, String)>,
}

impl Post {
    /// The content of the trash, newest first.
    pub fn trashed(&self) -> Result<Vec<Trashed>> {
        let Some(trash) = Trash::existing(self.room.root())? else { return Ok(vec![]) };
        let all = trash.bags()?.iter().map(|bag| self.trashed_in(bag)).collect::<Result<Vec<_>>>()?;
        // An interrupted prune may have moved nothing.
        Ok(all.into_iter().filter(|bag| !bag.is_empty()).collect())
    }

    /// Deletes everything in the trash.
    pub fn empty_trash(&self) -> Result<()> {
        self.room.may_write()?;
        let Some(trash) = Trash::existing(self.room.root())? else { return Ok(()) };
        // Under the lock, no other prune has an uncounted mailbox in the trash.
        let editing = Editing::begin(self.room.root())?;
        self.return_unfinished(&editing, &trash)?;
        Ok(trash.bags()?.iter().try_for_each(|bag| trash.remove(bag))?)
    }

    /// Restores the content of the prune with this id. `name`: a new name for the mailbox, because its own is taken.
    pub fn undo(
        &self,
        by: &str,
        reference: &str,
        name: Option<&Name>,
        workflows: &dyn RunsToPrune,
    ) -> Result<Trashed> {
        self.room.may_write()?;
        name.map_or(Ok(()), |name| not_reserved(name.as_str()))?;
        let unknown = || Error::NotInTrash { id: reference.to_owned() };
        let trash = Trash::existing(self.room.root())?.ok_or_else(unknown)?;
        let mut bags = trash.bags()?;
        bags.retain(|bag| bag.id.starts_with(reference) && reference.len() >= 4);
        let bag = match bags.as_slice() {
            [bag] => bag,
            _ => return Err(unknown()),
        };
        let what = self.trashed_in(bag)?;
        self.return_mailboxes(by, bag, name)?;
        // With the mailboxes registered just now, because their mail comes back next.
        let post = self.again()?;
        let (files, mail): (Vec<_>, Vec<_>) =
            bag.mail()?.into_iter().partition(|trashed| trashed.folder == attachments::FOLDER);
        // Before their messages, which are shown as soon as they are back.
        for trashed in files {
            post.mailbox(&trashed.mailbox)?.bring_files_back(&trashed.names, bag)?;
        }
        for trashed in mail {
            post.mailbox(&trashed.mailbox)?.bring_back(&trashed.folder, &trashed.names, bag)?;
        }
        workflows.bring_back(&post, bag)?;
        trash.remove(bag)?;
        Ok(what)
    }

    fn return_mailboxes(&self, by: &str, bag: &Bag, name: Option<&Name>) -> Result<()> {
        let root = self.room.root();
        let mut editing = Editing::begin(root)?;
        let mut groups = Groups::load(root)?;
        let (mut returning, mut in_groups) = (notes(bag)?, false);
        for mailbox in &mut returning {
            for entry in &mut mailbox.entries {
                check_free(&editing.registry, entry, name, &bag.id)?;
            }
        }
        for mailbox in returning {
            bag.return_mailbox(root, &mailbox.id)?;
            for entry in mailbox.entries {
                if name.is_some() {
                    Maildir::make(root, &mailbox.id, Some(&entry.card()))?;
                }
                self.record(Event {
                    note: entry.name.clone(),
                    mailbox: mailbox.id.to_string(),
                    ..Event::new("restored", by)
                });
                editing.registry.entries.retain(|e| (&e.id, &e.name) != (&entry.id, &entry.name));
                editing.registry.entries.push(entry);
            }
            in_groups |= !mailbox.groups.is_empty();
            groups.restore(mailbox.groups);
        }
        if in_groups {
            groups.save(root)?;
        }
        editing.commit()?;
        Ok(())
    }

    /// The content of a bag. A mailbox that is still in its place was not removed: its prune was interrupted, or refused.
    pub(super) fn trashed_in(&self, bag: &Bag) -> Result<Trashed> {
        let runs = bag.runs()?;
        let registry = Registry::load(self.room.root())?;
        let mut mailboxes = vec![];
        for mailbox in notes(bag)? {
            let id = mailbox.id.to_string();
            if runs.contains(&id) || !bag.has_mailbox(&mailbox.id)? && registry.by_id(&mailbox.id).is_some() {
                continue;
            }
            mailboxes.push(mailbox.entries.first().map_or(id, |entry| entry.name.clone()));
        }
        let mail = bag.mail()?;
        let is_mail = |folder: &str| folder != ATTEMPTS && folder != attachments::FOLDER;
        let mail = mail.iter().filter(|trashed| is_mail(&trashed.folder));
        let messages = mail.map(|trashed| trashed.names.len()).sum();
        Ok(Trashed { id: bag.id.clone(), at: bag.at, mailboxes, runs, messages })
    }
}

/// Refuses an entry whose name or inbox another mailbox has by now; if only the name is taken, it may get another.
fn check_free(registry: &Registry, entry: &mut Entry, name: Option<&Name>, bag: &str) -> Result<()> {
    let taken = |name: &str| registry.is_taken(name, Some(&entry.id));
    let own = entry.name.clone();
    if taken(&own)
        && let Some(name) = name.filter(|name| !taken(name.as_str()))
    {
        entry.name = name.to_string();
    }
    if let Some(name) = entry.names().find(|name| taken(name)) {
        // Another name than its own cannot be chosen anew.
        let renamed = Name::parse(name).ok().filter(|_| name == own);
        let suggestions = renamed.map(|name| registry.suggestions(&name)).unwrap_or_default();
        return Err(Error::UndoTaken { name: name.to_owned(), bag: bag.to_owned(), suggestions });
    }
    match registry.entries.iter().find(|e| e.inbox == entry.inbox && e.id != entry.id) {
        Some(other) => Err(Error::InboxTaken { name: own, other: other.name.clone() }),
        None => Ok(()),
    }
}

fn notes(bag: &Bag) -> Result<Vec<Returning>> {
    let read = |(id, bytes): (MailboxId, Vec<u8>)| {
        let broken = |why: String| Error::Unreadable { path: bag.note_path(&id).display().to_string(), why };
        let note: Note = serde_json::from_slice(&bytes).map_err(|e| broken(e.to_string()))?;
        let entries = Registry::parse(note.names.as_bytes()).map_err(broken)?.entries;
        Ok(Returning { id, entries, groups: note.groups })
    };
    bag.mailboxes()?.into_iter().map(read).collect()
}
