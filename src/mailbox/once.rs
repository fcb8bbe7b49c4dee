//! Delivery with an id that the sender chose: a retry must find itself (format.md §4.4).
//!
//! Under `.deliver.lock` every folder that may hold the message is searched by file name, and only names
//! with the same eight digits are opened. The same bytes are success; other bytes under the same id are an
//! error. Fresh ids never come here, so ordinary delivery does not depend on how full a mailbox is.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::fault::{Error, Result};
use super::folder::Folder;
use super::maildir::{Delivered, Layout, Maildir};
use crate::message::{FileName, any, file_name, frontmatter};
use crate::name::MessageId;

/// What became of a delivery that may be a retry.
#[derive(Debug)]
pub enum Once {
    /// It lies in the inbox now, under this name.
    Delivered { how: Delivered, name: String },
    /// The same bytes lie here already.
    Already { folder: Folder, name: String },
    /// The id is taken by other bytes.
    Taken { path: PathBuf },
}

impl Maildir {
    /// Delivers unless the same message is here already, in whatever state.
    pub fn deliver_once(&self, id: &MessageId, name: &FileName, bytes: &[u8]) -> Result<Once> {
        let _lock = self.dir().lock(".deliver.lock")?;
        let mut used = BTreeSet::new();
        // Somebody may be moving it from a folder that was not looked at yet to one that was: so twice.
        for _ in 0..2 {
            if let Some(found) = self.find_twin(id, bytes, &mut used)? {
                return Ok(found);
            }
        }
        self.deliver_beside(name, bytes, &used)
    }

    /// Delivers under a name that is neither among `used` nor in the inbox: the wanted one, or that with a number.
    /// A name that another message had would make the two one to whoever looked at the first.
    pub fn deliver_beside(&self, name: &FileName, bytes: &[u8], used: &BTreeSet<String>) -> Result<Once> {
        let mut last = Error::Exists { path: self.path(Folder::Inbox, name.as_str()) };
        for number in 1..1000 {
            let name = if number == 1 { name.clone() } else { name.numbered(number) };
            if used.contains(name.as_str()) {
                continue;
            }
            match self.deliver(&name, bytes) {
                Err(e @ Error::Exists { .. }) => last = e,
                other => return Ok(Once::Delivered { how: other?, name: name.as_str().to_owned() }),
            }
        }
        Err(last)
    }

    /// The same message, or another one under its id, wherever it lies. All names with its digits are put into `used`.
    pub fn find_twin(
        &self,
        id: &MessageId,
        bytes: &[u8],
        used: &mut BTreeSet<String>,
    ) -> Result<Option<Once>> {
        for folder in self.folders()? {
            for twin in self.twins(folder, id)? {
                used.insert(twin.clone());
                // A claim may end between two looks, and its directory with it.
                let Some(dir) = self.folder_if_any(folder)? else { break };
                let Some(found) = dir.read(&twin, bytes.len() as u64 + READ_SLACK)? else { continue };
                if found == bytes {
                    // Whoever put it here may have been interrupted before it was durable.
                    return Ok(Some(match dir.sync() {
                        Ok(()) => Once::Already { folder, name: twin },
                        Err(e) => Once::Delivered { how: Delivered::Unproven(e), name: twin },
                    }));
                }
                if any::parse(&found).is_ok_and(|m| m.envelope.id == *id) {
                    return Ok(Some(Once::Taken { path: self.path(folder, &twin) }));
                }
            }
        }
        Ok(None)
    }

    /// The names in a folder that carry the digits of an id.
    pub fn twins(&self, folder: Folder, id: &MessageId) -> Result<Vec<String>> {
        let Some(short) = id.short() else {
            return Ok(vec![]);
        };
        let mut names = vec![];
        let dir = match self.folder(folder) {
            Err(e) if e.is_missing() => return Ok(names),
            other => other?,
        };
        dir.scan(|name, _| {
            // A reply is called like the request it answers, so in a workspace the name does not tell.
            if let Ok(name) = str::from_utf8(name)
                && match self.layout() {
                    Layout::Native => file_name::short(name) == Some(&short),
                    Layout::Workspace => self.is_message(name.as_bytes()),
                }
            {
                names.push(name.to_owned());
            }
        })?;
        Ok(names)
    }
}

/// A twin may differ in its head; it is compared, not shown, so a little more than our own size will do.
const READ_SLACK: u64 = (2 * frontmatter::HEADER_LIMIT + 16 * 1024 * 1024) as u64;
