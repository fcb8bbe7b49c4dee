//! Requests that were shown and not answered. A request stays in the inbox until its reply is delivered, so what was shown is
//! remembered at home: `read` goes on to the next one, and an answer ends it.
//!
//! `<root>/<mailbox>/shown/<file>.<time>`: an empty file for each. It may be deleted; then a request is shown again.

use super::{Workspace, is_request};
use crate::mailbox::fault::{IfAny, Result};
use crate::mailbox::folder::Folder;
use crate::mailbox::reading::{Header, mtime};
use crate::message::envelope::Envelope;

const FOLDER: &str = "shown";

/// What is said of a request that a newer one made superfluous.
pub(crate) const SUPERSEDED: &str = "superseded";

impl Workspace {
    pub(super) fn note_shown(&self, name: &str) -> Result<()> {
        match self.mark(name)? {
            Some(mark) => self.home.dir().made_sub(FOLDER)?.touch(&mark),
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
        // What was answered is gone, and its mark goes with it.
        for mark in marks.iter().filter(|mark| !used.contains(mark)) {
            let _ = shown.remove(mark);
        }
        Ok(left)
    }

    /// A request and its reply have one name, so the time of the file is part of the mark. `None`: it is gone.
    fn mark(&self, name: &str) -> Result<Option<String>> {
        let Some(stat) = self.folders.folder(Folder::Inbox)?.stat(name).if_any()? else { return Ok(None) };
        Ok(Some(format!("{name}.{}.{}", mtime(&stat).seconds(), stat.st_mtime_nsec)))
    }
}

/// Marks requests to which a newer one of the same sender and channel has come, and replies that say no more than that.
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

/// Messages of one channel stand together, where the first of them stood.
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
