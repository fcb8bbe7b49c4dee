//! Finds a message by the text that a person or an agent types: an unambiguous prefix of its id, of at least four hex
//! digits, or its file name. Searches the caller's own mailbox, unread mail first.

use super::{Error, Me, Post, Result};
use crate::mailbox::{Folder, Mailbox};
use crate::message::file_name;
use crate::name::{MailboxId, MessageId};

/// The location of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundMessage {
    pub folder: Folder,
    pub name: String,
}

impl Post {
    /// The one message of this mailbox that `reference` names.
    pub fn find(&self, me: &Me, reference: &str) -> Result<FoundMessage> {
        match self.find_anywhere(me, reference) {
            // It may be where a sender of another protocol had to put it. A second look finds a message that moved into
            // a folder which was already searched.
            Err(Error::NoMessage { .. }) => {
                self.refresh(&me.mailbox)?;
                self.find_anywhere(me, reference)
            }
            other => other,
        }
    }

    /// Whether a message lies unread in a mailbox.
    pub fn is_unread(&self, mailbox: &MailboxId, id: &MessageId) -> Result<bool> {
        match self.find_in(&self.other(mailbox)?, id.as_str(), Folder::Inbox) {
            Ok(_) => Ok(true),
            Err(Error::NoMessage { .. }) => Ok(false),
            Err(e) => Err(e),
        }
    }

    fn find_anywhere(&self, me: &Me, reference: &str) -> Result<FoundMessage> {
        // Unread mail comes first: an old message with the same prefix is not meant.
        match self.find_first(me, reference, [Folder::Inbox, Folder::Archive]) {
            Err(Error::NoMessage { .. } | Error::ShortReference { .. }) => self.find_elsewhere(me, reference),
            // Several answers to one request have its name. Later ones also have a number, and are named with it.
            Ok(found) if found.folder == Folder::Inbox && is_numbered(&found.name, reference) => {
                match self.find_in(me, reference, Folder::Archive) {
                    Ok(older) if !is_numbered(&older.name, reference) => Ok(older),
                    _ => Ok(found),
                }
            }
            other => other,
        }
    }

    /// Searches claimed and failed messages last.
    fn find_elsewhere(&self, me: &Me, reference: &str) -> Result<FoundMessage> {
        let seen = [Folder::Inbox, Folder::Archive];
        // Unreadable files are found too, so that the fault can be reported.
        let left = me.mailbox.folders()?.into_iter().filter(|folder| !seen.contains(folder));
        let broken = (!me.mailbox.has_quarantine()).then_some(Folder::Quarantine);
        for folder in left.chain(broken) {
            match self.find_in(me, reference, folder) {
                Err(Error::NoMessage { .. } | Error::ShortReference { .. }) => {}
                other => return other,
            }
        }
        Err(no_match(reference))
    }

    /// The one message that `reference` names in the first folder that has one.
    pub(super) fn find_first(&self, me: &Me, reference: &str, folders: [Folder; 2]) -> Result<FoundMessage> {
        match self.find_in(me, reference, folders[0]) {
            Err(Error::NoMessage { .. } | Error::ShortReference { .. }) => {
                self.find_in(me, reference, folders[1])
            }
            other => other,
        }
    }

    /// The one message of one folder that `reference` names.
    pub(super) fn find_in(&self, me: &Me, reference: &str, folder: Folder) -> Result<FoundMessage> {
        let mut found = self.matches(&me.mailbox, folder, reference)?;
        match found.len() {
            0 => Err(no_match(reference)),
            1 => Ok(FoundMessage { folder, name: found.swap_remove(0) }),
            _ => Err(Error::AmbiguousMessage {
                reference: clip(reference),
                matches: found.iter().take(8).map(|name| self.full_id(me, folder, name)).collect(),
            }),
        }
    }

    /// Every message of one folder that `reference` names.
    pub(super) fn matches(&self, mailbox: &Mailbox, folder: Folder, reference: &str) -> Result<Vec<String>> {
        let hex = digits(reference);
        let plain = reference.bytes().all(|b| b.is_ascii_hexdigit());
        // Short digits, as `check` shows them, are compared with the file name; anything else needs the envelope.
        let by_name = plain && (4..=8).contains(&hex.len());
        let (mut sure, mut maybe) = (vec![], vec![]);
        for name in mailbox.list(folder, usize::MAX)?.names {
            // A whole id is not a prefix of another one: 100 is not 1000.
            if name.strip_suffix(".md") == Some(reference) {
                return Ok(vec![name]);
            }
            match file_name::short(&name) {
                // A whole name means that file only, not one with this prefix.
                _ if name == reference => return Ok(vec![name]),
                // A request is named by its id, and so is a task.
                None if reference.len() >= 4 && name.starts_with(reference) => sure.push(name),
                Some(short) if by_name && short.starts_with(&hex) => sure.push(name),
                // The digits of an id's prefix are a prefix of its digits.
                Some(short) if by_name || !(hex.starts_with(short) || short.starts_with(&hex)) => {}
                _ => maybe.push(name),
            }
        }
        if sure.is_empty() {
            for name in maybe {
                let Some(header) = self.header_if_message(mailbox, folder, &name)? else { continue };
                let id = &header.envelope.id;
                if id.as_str().eq_ignore_ascii_case(reference) {
                    return Ok(vec![name]);
                }
                if id.is_called(reference) {
                    sure.push(name);
                }
            }
        }
        Ok(sure)
    }

    fn full_id(&self, me: &Me, folder: Folder, name: &str) -> String {
        match self.header(&me.mailbox, folder, name) {
            Ok(Some(header)) => header.envelope.id.to_string(),
            _ => name.to_owned(),
        }
    }
}

/// Whether the name of a file in a workspace ends with a number that the reference lacks.
fn is_numbered(name: &str, reference: &str) -> bool {
    let number = name.rsplit_once('.').map(|(_, number)| number);
    name != reference && number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// The error for a text that names no message.
pub(super) fn no_match(reference: &str) -> Error {
    let is_short = reference.len() < 4;
    let reference = clip(reference);
    if is_short { Error::ShortReference { reference } } else { Error::NoMessage { reference } }
}

/// The hex digits of a reference, in lower case.
pub(super) fn digits(reference: &str) -> String {
    reference.chars().filter(char::is_ascii_hexdigit).map(|c| c.to_ascii_lowercase()).collect()
}

pub(super) fn clip(reference: &str) -> String {
    crate::message::visible::clip(reference, 80)
}
