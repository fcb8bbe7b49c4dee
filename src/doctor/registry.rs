//! The doctor's checks of the registry: every name leads to a mailbox, and every mailbox with a card is registered.

use std::collections::HashMap;
use std::path::Path;

use super::{Doctor, Grade};
use crate::mailbox::Folder;
use crate::mailbox::maildir::CARD_LIMIT;
use crate::mailbox::{Error, Mailbox, Maildir, trash};
use crate::message::Protocol;
use crate::name::{MailboxId, Name, fold};
use crate::registry::{self, Editing, Entry, Registry};

impl Doctor<'_> {
    pub(super) fn registry(&mut self, mailboxes: &[MailboxId]) -> Result<(), Error> {
        let root = self.room.root();
        let path = root.path().join("registry.json");
        let (mut registry, broken) = match Registry::load(root) {
            Ok(registry) => (registry, None),
            Err(registry::Error::Disk(e)) => return Err(e),
            Err(e) => (Registry::default(), Some(e.to_string())),
        };
        // Read before any change: a card that cannot be read now would be missing from the rebuilt registry.
        let cards = self.cards(&registry, mailboxes)?;
        if let Some(why) = broken {
            self.keep_broken("registry.json", "§6.3", why);
        }
        for (name, _) in &registry.strange {
            self.find(Grade::Note, "§6.2", &path, format!("the entry `{name}` is invalid and ignored"));
        }
        let known: Vec<MailboxId> = registry.entries.iter().map(|entry| entry.id.clone()).collect();
        let mut changed = self.entries(&mut registry, &path);
        changed |= self.unregistered(&mut registry, cards, &path);
        if self.fix && changed {
            // Read again under the lock: a mailbox may have been registered in the meantime.
            let mut editing = match Editing::begin(root) {
                Ok(editing) => editing,
                Err(registry::Error::Disk(e)) => return Err(e),
                Err(_) => return Ok(()),
            };
            for entry in registry.entries {
                // Other engines may give one id several names.
                let same = |e: &&mut Entry| (&e.id, &e.name) == (&entry.id, &entry.name);
                let taken = editing.registry.is_taken(&entry.name, Some(&entry.id));
                match editing.registry.entries.iter_mut().find(same) {
                    // Only the inbox is repaired; the other fields keep their current values.
                    Some(now) => now.inbox = entry.inbox,
                    // Renamed or pruned since the first read.
                    None if known.contains(&entry.id) => {}
                    None if root.stat(entry.id.as_str()).is_err_and(|e| e.is_missing()) => {}
                    None if taken => {}
                    None => editing.registry.entries.push(entry),
                }
            }
            match editing.commit() {
                Ok(_) => self.to_commit.iter().for_each(|at| self.findings[*at].fixed = true),
                Err(registry::Error::Disk(e)) => return Err(e),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Checks each entry; `true` if one was repaired.
    fn entries(&mut self, registry: &mut Registry, path: &Path) -> bool {
        let mut changed = false;
        let mut names: HashMap<String, MailboxId> = HashMap::new();
        let root = self.room.root();
        for entry in &mut registry.entries {
            for name in entry.names() {
                let other = names.insert(fold(name), entry.id.clone());
                if let Some(other) = other.filter(|other| *other != entry.id) {
                    let what = format!("`{name}` names both {other} and {}", entry.id);
                    self.find(Grade::Fault, "§6.1", path, what);
                }
            }
            let inbox =
                root.path().join(entry.id.as_str()).join(Folder::Inbox.as_str()).display().to_string();
            if let Some(protocol) = entry.text("protocol") {
                self.place(entry, protocol, path);
            } else if entry.inbox != inbox {
                let what = format!("`{}` has its inbox at {}, not {inbox}", entry.name, entry.inbox);
                self.find(Grade::Fault, "§6.1", path, what);
                self.to_commit.push(self.findings.len() - 1);
                entry.inbox = inbox;
                changed = true;
            }
            if root.stat(entry.id.as_str()).is_err_and(|e| e.is_missing()) {
                let (id, card) = (entry.id.clone(), entry.card());
                let what = format!("`{}` has no mailbox {id}", entry.name);
                self.repair(Grade::Fault, "§6.1", path, what, || match Editing::begin(root) {
                    // Pruned since the first read.
                    Ok(editing) if editing.registry.by_id(&id).is_none() => Ok(()),
                    Ok(_editing) => {
                        // A prune was interrupted.
                        trash::return_unfinished(root, &id)?;
                        Maildir::make(root, &id, Some(&card)).map(|_| ())
                    }
                    Err(registry::Error::Disk(e)) => Err(e),
                    Err(_) => Ok(()),
                });
            }
        }
        changed
    }

    /// Checks that the messages of a mailbox outside the room are where the registry says.
    fn place(&mut self, entry: &Entry, protocol: &str, path: &Path) {
        let Ok(home) = Maildir::open(self.room.root(), &entry.id) else { return };
        let found = match Protocol::parse(protocol) {
            None => Err(format!("`{}` has the protocol `{protocol}`, which is unknown", entry.name)),
            Some(protocol) => Mailbox::elsewhere(home, protocol, Path::new(&entry.inbox))
                .map_err(|e| format!("the messages of `{}` cannot be reached: {e}", entry.name)),
        };
        if let Err(what) = found.and_then(|mailbox| self.foreign(&mailbox)) {
            self.find(Grade::Fault, "§9.1", path, what);
        }
    }

    /// Reports faults in a mailbox outside the room, and leaves its files alone.
    fn foreign(&mut self, mailbox: &Mailbox) -> Result<(), String> {
        let found = mailbox.faults(self.room.limits().body_bytes, self.now()).map_err(|e| e.to_string())?;
        for fault in found {
            let grade = if fault.is_litter { Grade::Litter } else { Grade::Note };
            let left = if fault.is_litter { "" } else { " (left alone)" };
            self.find(grade, fault.rule, fault.path, format!("{}{left}", fault.why));
        }
        Ok(())
    }

    /// Registers mailboxes that have a card with a name, but no entry.
    fn unregistered(&mut self, registry: &mut Registry, cards: Vec<Entry>, path: &Path) -> bool {
        let mut changed = false;
        for mut entry in cards {
            // An interrupted adoption left this home. Its messages already have a name, and an inbox has only one.
            if registry.entries.iter().any(|other| other.inbox == entry.inbox) {
                continue;
            }
            let (id, name) = (&entry.id, &entry.name);
            let what = format!("the mailbox {id} has the name `{name}` on its card and no entry");
            self.find(Grade::Fault, "§6.3", path, what);
            self.to_commit.push(self.findings.len() - 1);
            if registry.is_taken(&entry.name, None)
                && let Some(free) =
                    Name::parse(&entry.name).ok().and_then(|n| registry.suggestions(&n).into_iter().next())
            {
                entry.name = free;
            }
            registry.entries.push(entry);
            changed = true;
        }
        changed
    }

    /// The entries on the cards of mailboxes that have no entry.
    fn cards(&mut self, registry: &Registry, mailboxes: &[MailboxId]) -> Result<Vec<Entry>, Error> {
        let mut cards = vec![];
        for id in mailboxes.iter().filter(|id| registry.by_id(id).is_none()) {
            let read = Maildir::open(self.room.root(), id)
                .and_then(|mailbox| mailbox.dir().read("card.json", CARD_LIMIT));
            match read {
                Ok(Some(bytes)) => match Registry::parse(&bytes).map(|card| card.by_id(id).cloned()) {
                    Ok(entry) => cards.extend(entry),
                    Err(why) => {
                        let path = self.room.path().join(id.as_str()).join("card.json");
                        self.find(Grade::Fault, "§6.3", path, why);
                    }
                },
                Ok(None) => {}
                // The disk failed, not the card.
                Err(e) if e.is_transient() => return Err(e),
                Err(e) if e.is_missing() => {}
                Err(e) => {
                    self.find(Grade::Fault, "§6.3", self.room.path().join(id.as_str()), e.to_string());
                }
            }
        }
        Ok(cards)
    }
}
