//! The doctor's checks of attachments: each belongs to a message and is what was sent, and what an interrupted delivery left
//! is removed once it is old. Nothing is removed while a file that cannot be read may own it.

use std::path::Path;

use rustix::fs::FileType;

use super::{Doctor, Grade, entries};
use crate::mailbox::attachments::{Compared, FOLDER, compare};
use crate::mailbox::maildir::CARD_LIMIT;
use crate::mailbox::{Dir, Error, IfAny, Mailbox, Maildir};
use crate::message::{Attachment, Protocol};
use crate::name::MailboxId;
use crate::registry::Registry;

impl Doctor<'_> {
    pub(super) fn attachments(&mut self, id: &MailboxId) -> Result<(), Error> {
        let Some(mailbox) = self.owner(id)? else { return Ok(()) };
        // The files first: what is delivered meanwhile has an owner then.
        let Some(all) = mailbox.dir().sub(FOLDER).if_any()? else { return Ok(()) };
        let found = entries(&all)?;
        let owners = mailbox.owners_of_files()?;
        for (name, kind) in found {
            let path = all.path().join(&name).display().to_string();
            let message = MailboxId::parse(&name).ok();
            let named = message.as_ref().and_then(|message| owners.named.get(message));
            if kind != FileType::Directory {
                self.find(Grade::Fault, "§3.5", path, "is not the directory of a message");
            } else if message.is_some_and(|message| owners.pruned.contains(&message)) {
                // It goes when the trash does, or comes back with its message.
            } else if let Some(named) = named {
                self.files(&all, &name, named)?;
            } else if owners.is_incomplete {
                self.find(Grade::Note, "§3.5", path, "may belong to a message that cannot be read");
            } else {
                self.litter(&all, &name);
            }
        }
        for (message, named) in &owners.named {
            let own = all.path().join(message.as_str());
            for Attachment { name, .. } in named {
                if own.join(name).symlink_metadata().is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound)
                {
                    let what = format!("names the attachment {name}, which is not there");
                    self.find(Grade::Note, "§3.5", format!("message {message}"), what);
                }
            }
        }
        Ok(())
    }

    fn files(&mut self, all: &Dir, message: &str, named: &[Attachment]) -> Result<(), Error> {
        let Some(stat) = all.stat(message).if_any()? else { return Ok(()) };
        self.modes(all, message, &stat);
        let Some(own) = all.sub_if_any(message)? else { return Ok(()) };
        for (name, _) in entries(&own)? {
            let Some(attachment) = named.iter().find(|attachment| attachment.name == name) else {
                self.litter(&own, &name);
                continue;
            };
            let path = own.path().join(&name).display().to_string();
            if let Some(stat) = own.stat(&name).if_any()? {
                self.modes(&own, &name, &stat);
            }
            if compare(&own, attachment)? == Compared::Other {
                self.find(Grade::Fault, "§3.5", path, "is not what was sent");
            }
        }
        Ok(())
    }

    /// The mailbox whose attachments are in this home. `None` if it is unknown which messages it has: the registry, the card
    /// or the place of the messages cannot be read, which is reported elsewhere, or they are in another room.
    fn owner(&self, id: &MailboxId) -> Result<Option<Mailbox>, Error> {
        let home = Maildir::open(self.room.root(), id)?;
        let card = home.dir().read("card.json", CARD_LIMIT)?;
        let card = card.map_or_else(|| Ok(Registry::default()), |card| Registry::parse(&card));
        let (Ok(card), Ok(registry)) = (card, Registry::load(self.room.root())) else { return Ok(None) };
        let Some(entry) = registry.by_id(id).or(card.by_id(id)) else {
            return Ok(Some(Mailbox::native(home)));
        };
        Ok(match entry.text("protocol").map(Protocol::parse) {
            None => Some(Mailbox::native(home)),
            Some(None | Some(Protocol::Maildir)) => None,
            Some(Some(protocol)) => Mailbox::elsewhere(home, protocol, Path::new(&entry.inbox)).ok(),
        })
    }
}
