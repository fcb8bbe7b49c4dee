//! The messages of an agent as envelopes, for verbs that know no protocol.

use std::collections::HashSet;

use super::agent::Agent;
use super::facts::Tray;
use super::{Error, Result};
use crate::clock::Timestamp;
use crate::mailbox::disk::Dir;
use crate::mailbox::fault;
use crate::mailbox::folder::Folder;
use crate::mailbox::reading::{Header, Unreadable, mtime};
use crate::message::{Message, ParseError, any};
use crate::name::MessageId;

impl Agent {
    /// A whole message, and its time of writing. `Ok(None)` if it is no longer in this folder.
    pub fn message(
        &self,
        folder: Folder,
        name: &str,
        limit: u64,
    ) -> std::result::Result<Option<(Message, Timestamp)>, Unreadable> {
        let Some((task, _, stat)) =
            self.read_task(folder, name, limit).map_err(|e| self.unreadable(name, &e))?
        else {
            return Ok(None);
        };
        let time = Timestamp::parse(&task.created).unwrap_or_else(|| mtime(&stat));
        Ok(Some((any::of_task(task), time)))
    }

    /// The envelope of a message alone.
    pub fn header(
        &self,
        folder: Folder,
        name: &str,
        limit: u64,
    ) -> std::result::Result<Option<Header>, Unreadable> {
        let read = self.message(folder, name, limit)?;
        Ok(read.map(|(message, time)| Header::of(name, message.envelope, time, message.body.len() as u64)))
    }

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

    /// The directories that hold its messages: the inbox, where a field is the state, and the archive.
    pub fn search_dirs(&self) -> fault::Result<Vec<(Folder, Dir)>> {
        let mut dirs = vec![];
        for (tray, folder) in [(Tray::Inbox, Folder::Inbox), (Tray::ArchivedInbox, Folder::Archive)] {
            dirs.extend(self.tree().tray(tray, self.id())?.map(|dir| (folder, dir)));
        }
        Ok(dirs)
    }

    fn unreadable(&self, name: &str, e: &Error) -> Unreadable {
        let stat = self.dir().stat(name).ok();
        let time = stat.map(|stat| mtime(&stat));
        let broken = match e {
            Error::Unreadable { source, .. } => Unreadable::parsed(name, source, time),
            Error::Disk(e) => Unreadable {
                time,
                transient: matches!(e, fault::Error::Io { .. }),
                ..Unreadable::transient(name, e)
            },
            e => Unreadable { why: e.to_string(), ..Unreadable::parsed(name, &ParseError::Empty, time) },
        };
        Unreadable { not_quarantined: true, ..broken }
    }
}
