//! Finds out whether a message was already answered: by its agent itself, or by an attempt that was interrupted.
//! Bounded: only mail since the message was claimed, or since it was sent, is opened.

use std::time::Duration;

use super::claim::is_bounce;
use super::{Error, Held, Me, Post, Result};
use crate::clock::Timestamp;
use crate::mailbox::{Folder, Mailbox};
use crate::message::Envelope;
use crate::name::MailboxId;

/// The evidence of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    No,
    Yes,
    /// The answer says that the request failed, and why.
    Failed(String),
}

/// How far the clock may have been set back since another process recorded a time.
pub const SET_BACK: Duration = Duration::from_secs(2);

impl Post {
    /// The envelope of a claimed message.
    pub fn envelope_of(&self, held: &Held) -> Result<Envelope> {
        match self.header(&held.mailbox, Folder::Claimed(held.token), &held.terms.file) {
            Ok(Some(header)) => Ok(header.envelope),
            Ok(None) => Err(Error::NoClaim { token: held.token.to_string(), why: None }),
            Err(broken) if broken.transient => Err(Error::Failing { why: broken.why }),
            Err(broken) => {
                let path = held.mailbox.path(Folder::Claimed(held.token), &held.terms.file);
                Err(Error::Unreadable { path: path.display().to_string(), why: broken.why })
            }
        }
    }

    /// Whether `me` has answered a message since a time. Subtract [`SET_BACK`] from a recorded time.
    pub fn is_answered(&self, me: &Me, asked: &Envelope, since: Timestamp) -> Result<Answered> {
        if me.mailbox.keeps_answers() {
            return Ok(match me.mailbox.kept_answer(asked)? {
                None => Answered::No,
                Some(kept) => kept
                    .failed
                    .map_or(Answered::Yes, |why| Answered::Failed(crate::message::visible::clip(&why, 1000))),
            });
        }
        let Some(sender) = self.existing_id(asked.from.as_str())? else { return Ok(Answered::No) };
        match self.is_answered_in(&sender, me, asked, since) {
            Ok(true) => Ok(Answered::Yes),
            Ok(false) => Ok(Answered::No),
            Err(Error::Disk(e)) if e.is_transient() => Err(e.into()),
            Err(e @ Error::Failing { .. }) => Err(e),
            // A sender's unusable mailbox must not keep an agent from its other work.
            Err(_) => Ok(Answered::No),
        }
    }

    fn is_answered_in(
        &self,
        sender: &MailboxId,
        me: &Me,
        asked: &Envelope,
        since: Timestamp,
    ) -> Result<bool> {
        let mailbox = self.mailbox(sender)?;
        let mut folders = mailbox.folders()?;
        folders.retain(|folder| *folder != Folder::Quarantine);
        for folder in folders {
            for name in mailbox.since(folder, since)? {
                if self.is_by(me, asked, &mailbox, folder, &name)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn is_by(
        &self,
        me: &Me,
        asked: &Envelope,
        mailbox: &Mailbox,
        folder: Folder,
        name: &str,
    ) -> Result<bool> {
        let is_it = |envelope: Envelope| {
            envelope.reply_to.as_ref() == Some(&asked.id) && envelope.from.is(&me.id) && !is_bounce(&envelope)
        };
        Ok(self.header_if_message(mailbox, folder, name)?.is_some_and(|header| is_it(header.envelope)))
    }

    /// The fault of an unread file; `None` if there is none, or the file may still be growing.
    pub fn why_unreadable(&self, me: &Me, file: &str) -> Option<String> {
        let broken = self.header(&me.mailbox, Folder::Inbox, file).err()?;
        (broken.transient || broken.is_quiescent(self.now())).then_some(broken.why)
    }

    /// The folder of a mailbox that contains a file, if any does.
    pub fn folder_of(&self, me: &Me, file: &str) -> Result<Option<Folder>> {
        match self.find(me, file) {
            Ok(found) => Ok(Some(found.folder)),
            Err(e @ (Error::Disk(_) | Error::Failing { .. } | Error::Room(_))) => Err(e),
            Err(_) => Ok(None),
        }
    }
}
