//! Locating: finds a message in the whole room. Compares file names first, and opens only those with the right digits.

use std::collections::BTreeMap;

use super::find::{clip, digits, no_match};
use super::{Error, Me, Post, Result};
use crate::clock::Timestamp;
use crate::mailbox::reading::Header;
use crate::mailbox::{Dir, Folder, Mailbox};
use crate::message::file_name;
use crate::name::{MailboxId, MessageId};

/// One copy of a message.
#[derive(Debug, Clone)]
pub struct Copy {
    pub mailbox: MailboxId,
    pub folder: Folder,
    pub header: Header,
}

impl Copy {
    pub fn time(&self) -> Timestamp {
        self.header.time
    }
}

/// Every directory of a root that may be a mailbox, sorted.
pub(super) fn mailbox_ids(root: &Dir) -> Result<Vec<MailboxId>> {
    let names = root.names(|_, kind| kind == rustix::fs::FileType::Directory)?;
    Ok(names.iter().filter_map(|name| MailboxId::parse(name).ok()).collect())
}

impl Post {
    /// Every directory of the room that may be a mailbox.
    pub(super) fn mailbox_ids(&self) -> Result<Vec<MailboxId>> {
        mailbox_ids(self.room.root())
    }

    /// Every mailbox of the room that can be opened, the caller's own first. Each is opened only when it is needed:
    /// there may be more of them than a process may hold open.
    pub(super) fn all_mailboxes(&self, me: Option<&Me>) -> Result<impl Iterator<Item = Result<Mailbox>>> {
        let own = me.map(|me| me.id.clone());
        let mut ids = self.mailbox_ids()?;
        ids.retain(|id| Some(id) != own.as_ref());
        let ids = own.clone().into_iter().chain(ids);
        Ok(ids.filter_map(move |id| match self.mailbox(&id) {
            // The disk failed, or it is the caller's own: its mail must not count as absent.
            Err(e) if e.hides_mail() => Some(Err(e)),
            Err(_) if Some(&id) != own.as_ref() => None,
            other => Some(other),
        }))
    }

    /// All copies of the one message that `reference` names, anywhere in the room; an exact id opens only the names
    /// with its digits.
    pub fn locate(&self, me: Option<&Me>, reference: &str) -> Result<(MessageId, Vec<Copy>)> {
        let mut found: BTreeMap<MessageId, Vec<Copy>> = BTreeMap::new();
        let mut wanted = reference.to_owned();
        for mailbox in self.all_mailboxes(me)? {
            let mailbox = mailbox?;
            for folder in mailbox.folders()? {
                for copy in self.candidates(&mailbox, folder, &wanted)? {
                    found.entry(copy.header.envelope.id.clone()).or_default().push(copy);
                }
            }
            // Digits are looked up in the caller's own mailbox first; a message found there is the one meant.
            if me.is_some_and(|me| me.id == *mailbox.id())
                && found.len() == 1
                && let Some(id) = found.keys().next()
            {
                wanted = id.to_string();
            }
        }
        match found.len() {
            0 | 1 => found.pop_first().ok_or_else(|| no_match(reference)),
            _ => Err(Error::AmbiguousMessage {
                reference: clip(reference),
                matches: found.keys().take(8).map(ToString::to_string).collect(),
            }),
        }
    }

    /// Calls `see` with each readable header of the room, except those of known files.
    pub(super) fn every_header(
        &self,
        is_known: impl Fn(&str, &str) -> bool,
        mut see: impl FnMut(&Mailbox, Header),
    ) -> Result<()> {
        for mailbox in self.all_mailboxes(None)? {
            let mailbox = mailbox?;
            for folder in mailbox.folders()? {
                for name in mailbox.list(folder, usize::MAX)?.names {
                    if is_known(mailbox.id().as_str(), &name) {
                        continue;
                    }
                    if let Some(header) = self.header_if_message(&mailbox, folder, &name)? {
                        see(&mailbox, header);
                    }
                }
            }
        }
        Ok(())
    }

    /// The messages of a folder that `reference` may name.
    fn candidates(&self, mailbox: &Mailbox, folder: Folder, reference: &str) -> Result<Vec<Copy>> {
        let hex = digits(reference);
        let wanted = reference.to_ascii_lowercase();
        let mut copies = vec![];
        for name in mailbox.list(folder, usize::MAX)?.names {
            let fits = match file_name::short(&name) {
                Some(short) => hex.len() >= 4 && (hex.starts_with(short) || short.starts_with(&hex)),
                None => true,
            };
            if !fits {
                continue;
            }
            let Some(header) = self.header_if_message(mailbox, folder, &name)? else { continue };
            let id = &header.envelope.id;
            if id.is_called(reference)
                || wanted.len() >= 4 && id.brief().is_some_and(|s| s.starts_with(&wanted))
            {
                copies.push(Copy { mailbox: mailbox.id().clone(), folder, header });
            }
        }
        Ok(copies)
    }
}
