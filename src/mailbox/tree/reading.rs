//! The messages of an agent by their ids, and those that cannot be read as tasks: broken, or of another protocol.

use std::collections::HashSet;

use super::agent::Agent;
use super::facts::{Seen, Tray};
use crate::clock::Timestamp;
use crate::mailbox::disk::Dir;
use crate::mailbox::fault::{Error, Result};
use crate::mailbox::folder::Folder;
use crate::mailbox::place::Stray;
use crate::mailbox::reading::{GROWING, Unreadable, is_stable, mtime};
use crate::message::{Message, ParseError, ProtocolFields, any};
use crate::name::MessageId;

impl Agent {
    /// The files of a folder that may hold the message with this id.
    pub fn twins(&self, folder: Folder, id: &MessageId) -> Result<Vec<String>> {
        let tray = self.facts(Tray::Inbox)?;
        let archived = if folder == Folder::Archive { Some(self.facts(Tray::ArchivedInbox)?) } else { None };
        let all = tray.readable().chain(archived.iter().flat_map(|seen| seen.readable()));
        let twins: HashSet<&str> = all
            .filter(|(_, facts)| {
                let called = id.as_str().strip_prefix(facts.id.as_str()).and_then(|to| to.strip_prefix('@'));
                facts.msg_id.as_deref() == Some(id.as_str()) || called == Some(facts.to.as_str())
            })
            .map(|(name, _)| name)
            .collect();
        // Most often there is none, and then no list is needed. A file that could not be read may be one.
        if twins.is_empty() {
            for seen in [Some(tray), archived].into_iter().flatten() {
                seen.certain()?;
            }
            return Ok(vec![]);
        }
        let mut names = self.list(folder, usize::MAX)?.names;
        names.retain(|name| twins.contains(name.as_str()));
        Ok(names)
    }

    pub(super) fn unreadable(&self, name: &str, e: &Error) -> Unreadable {
        let stat = self.dir().stat(name).ok();
        let time = stat.map(|stat| mtime(&stat));
        let broken = match e {
            Error::Unparsed { source, .. } => Unreadable::parsed(name, source, time),
            e => Unreadable {
                time,
                transient: matches!(e, Error::Io { .. }),
                ..Unreadable::transient(name, e)
            },
        };
        Unreadable { not_quarantined: true, ..broken }
    }

    /// Messages of the other protocols in this inbox. They have no status, so their state would be unknown.
    pub(super) fn foreign_messages(&self, seen: &Seen, limit: u64, now: Timestamp) -> Result<Vec<Stray<'_>>> {
        let mut strays = vec![];
        for name in seen.broken() {
            let bytes = match self.dir().read(&name, limit) {
                Ok(Some(bytes)) => bytes,
                // The doctor reports files that cannot be messages; they do not hold up the rest.
                Ok(None) | Err(Error::TooLarge { .. } | Error::Link { .. } | Error::NotAFile { .. }) => {
                    continue;
                }
                Err(e) => return Err(e),
            };
            let message = match any::parse(&bytes) {
                Ok(message) if !matches!(message.envelope.native, ProtocolFields::Tree { .. }) => message,
                Err(ParseError::NoFrontmatter) => {
                    let about = format!("{name} {}", mtime(&self.dir().stat(&name)?).precise());
                    let Ok(message) = any::note(&bytes, &about) else { continue };
                    message
                }
                _ => continue,
            };
            if is_settled(self.dir(), &name, &message, now)? {
                strays.push(Stray { message, put_away: Box::new(move || self.put_away(&name)) });
            }
        }
        Ok(strays)
    }

    pub(super) fn is_unread_answer(&self, name: &str) -> Result<bool> {
        Ok(self.task(name)?.is_some_and(|found| super::agent::is_answer(&found.task)))
    }
}

/// Whether a file in another format may be filed: it is complete, and one without frontmatter has not changed for a while.
fn is_settled(dir: &Dir, name: &str, message: &Message, now: Timestamp) -> Result<bool> {
    if !is_stable(dir, name)? {
        return Ok(false);
    }
    let time = mtime(&dir.stat(name)?);
    let is_old = time > now || now.since(time) >= GROWING;
    Ok(message.envelope.doubts.is_empty() || is_old)
}
