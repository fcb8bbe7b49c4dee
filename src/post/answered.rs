//! Whether a message was answered already: by its agent itself, or by an attempt that did not live to say so. Bounded:
//! only what came since the message was taken, or since it was sent, is opened.

use std::time::Duration;

use super::claim::is_bounce;
use super::{Error, Held, Me, Post, Result};
use crate::clock::Timestamp;
use crate::mailbox::{Folder, Mailbox};
use crate::message::Envelope;

/// What is known of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    No,
    Yes,
    /// The answer says that it could not be done, and why.
    Failed(String),
}

/// How far a clock may have been set back since a time that another process wrote down.
pub const SET_BACK: Duration = Duration::from_secs(2);

impl Post {
    /// The envelope of a claimed message.
    pub fn envelope_of(&self, held: &Held) -> Result<Envelope> {
        match self.header(&held.mailbox, Folder::Claimed(held.token), &held.terms.file) {
            Ok(Some(header)) => Ok(header.envelope),
            Ok(None) => Err(Error::NoClaim { token: held.token.to_string(), why: None }),
            Err(broken) => Err(Error::Failing { why: broken.why }),
        }
    }

    /// Whether `me` has answered a message since a time. A time that was written down is to be given [`SET_BACK`] earlier.
    pub fn is_answered(&self, me: &Me, asked: &Envelope, since: Timestamp) -> Result<Answered> {
        if me.mailbox.keeps_answers() {
            return Ok(match me.mailbox.kept_answer(asked)? {
                None => Answered::No,
                Some(kept) => kept
                    .failed
                    .map_or(Answered::Yes, |why| Answered::Failed(crate::message::visible::clip(&why, 1000))),
            });
        }
        let Some(sender) = self.existing_id(&asked.from)? else { return Ok(Answered::No) };
        // A sender whose mailbox cannot be looked into must not keep an agent from its other work; an answer that lies there
        // unseen has the same id as the next, and is not delivered twice.
        let Ok(mailbox) = self.mailbox(&sender) else { return Ok(Answered::No) };
        let mut folders = mailbox.folders().unwrap_or_default();
        folders.retain(|folder| *folder != Folder::Quarantine);
        for folder in folders {
            let mut names = mailbox.since(folder, since).unwrap_or_default().into_iter();
            if names.any(|name| self.is_by(me, asked, &mailbox, folder, &name)) {
                return Ok(Answered::Yes);
            }
        }
        Ok(Answered::No)
    }

    fn is_by(&self, me: &Me, asked: &Envelope, mailbox: &Mailbox, folder: Folder, name: &str) -> bool {
        let Ok(Some(header)) = self.header(mailbox, folder, name) else { return false };
        let envelope = &header.envelope;
        envelope.reply_to.as_ref() == Some(&asked.id)
            && envelope.from == me.id.as_str()
            && !is_bounce(envelope)
    }

    /// What is wrong with an unread file; `None`: nothing, or it may be growing still.
    pub fn why_unreadable(&self, me: &Me, file: &str) -> Option<String> {
        let broken = self.header(&me.mailbox, Folder::Inbox, file).err()?;
        (broken.passing || broken.is_settled(self.now())).then_some(broken.why)
    }

    /// The folder that a file of a mailbox lies in, if it is there.
    pub fn lies_in(&self, me: &Me, file: &str) -> Option<Folder> {
        self.find(me, file).ok().map(|found| found.folder)
    }
}
