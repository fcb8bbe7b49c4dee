//! Finding a message by what a person or an agent types: any unambiguous beginning of its id, from four hex
//! digits on, or its file name. One's own mailbox is searched, unread mail first.

use super::{Error, Me, Post, Result};
use crate::mailbox::maildir::Folder;
use crate::message::file_name;

/// Where a message lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub folder: Folder,
    pub name: String,
}

impl Post {
    /// The one message of this mailbox that `reference` names.
    pub fn find(&self, me: &Me, reference: &str) -> Result<Found> {
        // What is unread comes first: an old message with the same beginning is not meant.
        match self.find_in(me, reference, Folder::Inbox) {
            Err(Error::NoMessage { .. }) => self.find_in(me, reference, Folder::Archive),
            other => other,
        }
    }

    /// The one message of one folder that `reference` names.
    pub(super) fn find_in(&self, me: &Me, reference: &str, folder: Folder) -> Result<Found> {
        let mut found = self.matches(me, folder, reference)?;
        match found.len() {
            0 if digits(reference).len() < 4 && !reference.ends_with(".md") => {
                Err(Error::ShortReference { reference: clip(reference) })
            }
            0 => Err(Error::NoMessage { reference: clip(reference) }),
            1 => Ok(Found { folder, name: found.swap_remove(0) }),
            _ => Err(Error::AmbiguousMessage {
                reference: clip(reference),
                matches: found.iter().take(8).map(|name| full_id(me, folder, name)).collect(),
            }),
        }
    }

    fn matches(&self, me: &Me, folder: Folder, reference: &str) -> Result<Vec<String>> {
        let hex = digits(reference);
        // Digits alone, as `check` shows them, are told by the name; anything longer asks the envelope.
        let by_name = hex.len() >= 4 && hex.len() <= 8 && reference.bytes().all(|b| b.is_ascii_hexdigit());
        let mut sure = vec![];
        let mut maybe = vec![];
        for name in me.mailbox.list(folder, usize::MAX)?.names {
            match file_name::short(&name) {
                _ if name == reference => sure.push(name),
                Some(short) if by_name && short.starts_with(&hex) => sure.push(name),
                Some(_) if by_name => {}
                Some(short) if hex.len() >= 8 && !hex.starts_with(short) => {}
                _ if reference.len() >= 4 => maybe.push(name),
                _ => {}
            }
        }
        if !sure.is_empty() {
            return Ok(sure);
        }
        let reference = reference.to_ascii_lowercase();
        maybe.retain(|name| match me.mailbox.header(folder, name) {
            Ok(Some(header)) => header.envelope.id.as_str().to_ascii_lowercase().starts_with(&reference),
            _ => false,
        });
        Ok(maybe)
    }
}

fn full_id(me: &Me, folder: Folder, name: &str) -> String {
    match me.mailbox.header(folder, name) {
        Ok(Some(header)) => header.envelope.id.to_string(),
        _ => name.to_owned(),
    }
}

fn digits(reference: &str) -> String {
    reference.chars().filter(char::is_ascii_hexdigit).map(|c| c.to_ascii_lowercase()).collect()
}

fn clip(reference: &str) -> String {
    crate::message::visible::clip(reference, 80)
}
