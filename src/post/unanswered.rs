//! Requests that were shown and not answered. In a workspace a request stays in the inbox until its reply is
//! delivered, so what was shown is remembered beside it: `read` goes on to the next one, and an answer ends it.
//!
//! `<root>/<id>/shown/<file>.<time>`: an empty file for each. It may be deleted; then a request is shown again.

use super::{Me, Post, Result};
use crate::mailbox::reading::mtime;
use crate::mailbox::{Folder, Mailbox};
use crate::message::workspace::Kind;
use crate::message::{Envelope, Native, Protocol};

const FOLDER: &str = "shown";

impl Post {
    /// Whether a message stays unread until it is answered.
    pub fn awaits_answer(&self, mailbox: &Mailbox, envelope: &Envelope) -> bool {
        mailbox.protocol() == Protocol::Workspace
            && matches!(&envelope.native, Native::Workspace { kind: Kind::New, reply: Some(_), .. })
    }

    /// Notes that a request was shown.
    pub(super) fn note_shown(&self, me: &Me, name: &str) -> Result<()> {
        if let Some(mark) = mark(&me.mailbox, name) {
            me.mailbox.dir().made_sub(FOLDER)?.touch(&mark)?;
        }
        Ok(())
    }

    /// The names that were not shown yet; the others are requests that wait for an answer.
    pub(super) fn not_shown(&self, mailbox: &Mailbox, mut names: Vec<String>) -> Result<Vec<String>> {
        if mailbox.protocol() != Protocol::Workspace {
            return Ok(names);
        }
        let shown = match mailbox.dir().sub(FOLDER) {
            Err(e) if e.is_missing() => return Ok(names),
            other => other?,
        };
        let mut marks = vec![];
        shown.scan(|name, _| marks.extend(str::from_utf8(name).ok().map(str::to_owned)))?;
        let mut used = vec![];
        names.retain(|name| match mark(mailbox, name) {
            Some(mark) if marks.contains(&mark) => {
                used.push(mark);
                false
            }
            _ => true,
        });
        // What was answered is gone, and its mark goes with it.
        for mark in marks.iter().filter(|mark| !used.contains(mark)) {
            let _ = shown.remove(mark);
        }
        Ok(names)
    }
}

/// A request and its reply have one name, so the time of the file is part of the mark.
fn mark(mailbox: &Mailbox, name: &str) -> Option<String> {
    let stat = mailbox.stat(Folder::Inbox, name).ok()?;
    let time = mtime(&stat);
    Some(format!("{name}.{}.{}", time.seconds(), stat.st_mtime_nsec))
}
