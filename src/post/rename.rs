//! Renaming: gives a mailbox another name. Its id stays, and with it all mail, claims, groups, bindings and aliases. The old
//! name is free; the entry only remembers it, for senders who still use it. The card comes first and the registry last, in
//! one write: until then the old name holds.

use super::setup::checked_name;
use super::{Error, Post, Result, USER};
use crate::journal::Event;
use crate::mailbox::Maildir;
use crate::name::{MailboxId, fold};
use crate::registry::{Editing, Entry, WAS};

/// A mailbox with its new name.
#[derive(Debug)]
pub struct Renamed {
    pub id: MailboxId,
    pub old: String,
    pub name: String,
}

impl Post {
    /// Renames the mailbox that `old` names: by its name, an alias, or its id.
    pub fn rename(&self, old: &str, new: &str) -> Result<Renamed> {
        self.room.may_write()?;
        let name = checked_name(new)?;
        let wanted = fold(name.as_str());
        // Also registers an inbox that was made by hand.
        let known = self.addressee(old);
        let mut editing = Editing::begin(self.room.root())?;
        let registry = &editing.registry;
        let by_id = known.as_ref().ok().filter(|id| id.as_str() == old).and_then(|id| registry.by_id(id));
        let Some(mut entry) = registry.lookup(old)?.or(by_id).cloned() else {
            let was = |entry: &&Entry| entry.text(WAS).is_some_and(|was| fold(was) == fold(old));
            let Some(done) = registry.lookup(name.as_str())?.filter(was) else {
                return Err(known.err().unwrap_or_else(|| self.unknown(old)));
            };
            // An earlier run may have been interrupted between writing the registry and making it durable.
            self.room.root().sync()?;
            return Ok(Renamed { id: done.id.clone(), old: old.to_owned(), name: done.name.clone() });
        };
        if self.is_persons(&entry.id) || wanted == USER {
            return Err(Error::PersonsName);
        }
        // An id is an address, too.
        let is_other_id = self.existing_id(name.as_str())?.is_some_and(|other| other != entry.id);
        if is_other_id || editing.registry.is_taken(name.as_str(), Some(&entry.id)) {
            return Err(Error::Taken {
                suggestions: editing.registry.suggestions(&name),
                name: name.to_string(),
                is_left: false,
            });
        }
        let before = entry.clone();
        let aliases: Vec<&str> = before.aliases().filter(|alias| fold(alias) != wanted).collect();
        match aliases.is_empty() {
            true => entry.extra.remove("aliases"),
            false => entry.extra.insert("aliases".into(), aliases.join(" ").into()),
        };
        entry.name = name.to_string();
        entry.extra.insert(WAS.into(), before.name.as_str().into());
        Maildir::make(self.room.root(), &entry.id, Some(&entry.card()))?;
        let entries = &mut editing.registry.entries;
        if let Some(place) = entries.iter_mut().find(|e| e.id == before.id && e.name == before.name) {
            *place = entry.clone();
        }
        editing.commit()?;
        self.tell_program();
        let (old, name) = (before.name, entry.name);
        self.record(Event {
            to: name.clone(),
            note: old.clone(),
            ..Event::new("renamed", entry.id.as_str())
        });
        Ok(Renamed { id: entry.id, old, name })
    }
}
