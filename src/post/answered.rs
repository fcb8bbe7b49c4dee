//! Whether a message was answered already: by its agent itself, or by an attempt that did not live to say so. Bounded:
//! only what came since the message was taken, or since it was sent, is opened.

use super::claim::is_bounce;
use super::{Error, Held, Me, Post, Result};
use crate::clock::Timestamp;
use crate::mailbox::reading::mtime;
use crate::mailbox::{Folder, Mailbox};
use crate::message::workflow::Status;
use crate::message::{Envelope, Native};

/// What is known of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    No,
    Yes,
    /// The answer says that it could not be done, and why.
    Failed(String),
}

/// Names and times of files have whole seconds, and clocks differ a little.
const SLACK: i64 = 2;

impl Post {
    /// The envelope of a claimed message.
    pub fn envelope_of(&self, held: &Held) -> Result<Envelope> {
        match self.header(&held.mailbox, Folder::Claimed(held.token), &held.terms.file) {
            Ok(Some(header)) => Ok(header.envelope),
            Ok(None) => Err(Error::NoClaim { token: held.token.to_string(), why: None }),
            Err(broken) => Err(Error::Failing { why: broken.why }),
        }
    }

    /// Whether `me` has answered a message since a time.
    pub fn is_answered(&self, me: &Me, asked: &Envelope, since: Timestamp) -> Result<Answered> {
        if let (Some(agent), Native::Workflow { id, .. }) = (me.mailbox.agent(), &asked.native) {
            let response = agent.response(id).map_err(|e| Error::Disk(e.into()))?;
            return Ok(match response {
                None => Answered::No,
                Some((response, _)) if response.status == Status::Failed => {
                    let why = response.error.unwrap_or_else(|| response.body.trim().to_owned());
                    Answered::Failed(crate::message::visible::clip(&why, 1000))
                }
                Some(_) => Answered::Yes,
            });
        }
        let Some(sender) = self.existing_id(&asked.from) else { return Ok(Answered::No) };
        let since = Timestamp::from_parts(since.seconds() - SLACK, 0);
        // A sender whose mailbox cannot be looked into must not keep an agent from its other work; an answer that lies there
        // unseen has the same id as the next, and is not delivered twice.
        let Ok(mailbox) = self.mailbox(&sender) else { return Ok(Answered::No) };
        let mut folders = mailbox.folders().unwrap_or_default();
        folders.retain(|folder| *folder != Folder::Quarantine);
        for folder in folders {
            for name in mailbox.list(folder, usize::MAX).map(|list| list.names).unwrap_or_default() {
                if self.is_by(me, asked, &mailbox, folder, &name, since) {
                    return Ok(Answered::Yes);
                }
            }
        }
        Ok(Answered::No)
    }

    fn is_by(
        &self,
        me: &Me,
        asked: &Envelope,
        mailbox: &Mailbox,
        folder: Folder,
        name: &str,
        since: Timestamp,
    ) -> bool {
        let (stamp, dated) = (since.compact(), is_dated(name));
        if dated && name < stamp.as_str() {
            return false;
        }
        if !dated && mailbox.stat(folder, name).is_ok_and(|stat| mtime(&stat) < since) {
            return false;
        }
        let Ok(Some(header)) = self.header(mailbox, folder, name) else { return false };
        let envelope = &header.envelope;
        envelope.reply_to.as_ref() == Some(&asked.id)
            && envelope.from == me.id.as_str()
            && !is_bounce(envelope)
    }

    /// The folder that a file of a mailbox lies in, if it is there.
    pub fn lies_in(&self, me: &Me, file: &str) -> Option<Folder> {
        self.find(me, file).ok().map(|found| found.folder)
    }
}

/// Whether a name begins with a time: `20261115T023011Z-`.
fn is_dated(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.len() > 17
        && bytes[..8].iter().all(u8::is_ascii_digit)
        && bytes[8] == b'T'
        && bytes[9..15].iter().all(u8::is_ascii_digit)
        && bytes[15] == b'Z'
}
