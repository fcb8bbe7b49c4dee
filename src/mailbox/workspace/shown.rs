//! Requests that were shown and not answered. A request stays in the inbox until its reply is delivered, so the home
//! records what was shown: `read` continues with the next one, and an answer ends it.
//!
//! `<root>/<mailbox>/shown/<file>.<time>`: an empty file for each. If it is deleted, the request is shown again.

use super::{Workspace, is_request};
use crate::mailbox::fault::{IfAny, Result};
use crate::mailbox::folder::Folder;
use crate::mailbox::reading::{Header, mtime};
use crate::message::envelope::Envelope;

const FOLDER: &str = "shown";

/// The remark on a request that a newer one replaced.
pub(crate) const SUPERSEDED: &str = "superseded";

impl Workspace {
    pub(super) fn note_shown(&self, name: &str) -> Result<()> {
        match self.mark(name)? {
            Some(mark) => self.home.dir().create_dir_synced(FOLDER)?.touch(&mark),
            None => Ok(()),
        }
    }

    /// The names that were not shown yet; the others are requests that wait for an answer.
    pub(super) fn not_shown(&self, names: Vec<String>) -> Result<Vec<String>> {
        let Some(shown) = self.home.dir().sub(FOLDER).if_any()? else { return Ok(names) };
        let marks = shown.names(|_, _| true)?;
        let (mut left, mut used) = (vec![], vec![]);
        for name in names {
            match self.mark(&name)? {
                Some(mark) if marks.contains(&mark) => used.push(mark),
                _ => left.push(name),
            }
        }
        // Answered requests are gone, and their marks are removed.
        for mark in marks.iter().filter(|mark| !used.contains(mark)) {
            let _ = shown.remove(mark);
        }
        Ok(left)
    }

    /// A request and its reply have one name, so the time of the file is part of the mark. `None` if it is gone.
    fn mark(&self, name: &str) -> Result<Option<String>> {
        let Some(stat) = self.folders.folder(Folder::Inbox)?.stat(name).if_any()? else { return Ok(None) };
        Ok(Some(format!("{name}.{}.{}", mtime(&stat).seconds(), stat.st_mtime_nsec)))
    }
}

/// Marks requests that a newer one of the same sender and channel replaced, and replies that only say so.
pub(super) fn mark_superseded(headers: &mut [Header]) {
    let key = |e: &Envelope| (e.channel.clone(), e.from.clone());
    let requests: Vec<_> = headers
        .iter()
        .filter(|h| is_request(&h.envelope) && h.envelope.channel.is_some())
        .map(|h| (key(&h.envelope), h.time, h.name.clone()))
        .collect();
    for header in headers {
        let newer = |(other, time, name): &(_, _, String)| {
            *other == key(&header.envelope) && (*time, name) > (header.time, &header.name)
        };
        if is_request(&header.envelope) && requests.iter().any(newer) || header.envelope.is_superseded() {
            header.remarks.push(SUPERSEDED.to_owned());
        }
    }
}

/// Groups messages of one channel, at the position of the first.
pub(super) fn together(headers: Vec<Header>) -> Vec<Header> {
    let mut groups: Vec<Vec<Header>> = vec![];
    for header in headers {
        let channel = &header.envelope.channel;
        let same = |group: &&mut Vec<Header>| channel.is_some() && group[0].envelope.channel == *channel;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(header),
            None => groups.push(vec![header]),
        }
    }
    groups.into_iter().flatten().collect()
}
