//! Errands: what a run of a workflow sends, under ids that whoever computes the run again comes to as well.
//!
//! A run has a mailbox of its own, which is in no registry: its id is its name. It asks like everybody else, and answers
//! come back as to everybody else.

use serde::{Deserialize, Serialize};

use super::send::Sender;
use super::{Held, Letter, Me, Outcome, Post, Receipt, Result};
use crate::clock::Timestamp;
use crate::journal::Event;
use crate::mailbox::{Folder, Maildir};
use crate::message::{Envelope, Message};
use crate::name::{MailboxId, MessageId};

/// A next step that an agent sent itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SentStep {
    pub id: String,
    pub from: String,
    pub to: String,
    pub step: String,
    /// When it was sent, or first seen: from then on its time runs.
    #[serde(default)]
    pub at: String,
}

impl Post {
    /// The same room and caller, with what was registered since.
    pub fn again(&self) -> Result<Self> {
        Self::open(self.room.path(), self.caller.clone(), self.room.shared_clock())
    }

    /// Makes a mailbox without a name. Durable on return.
    pub fn make_unnamed(&self, id: &MailboxId) -> Result<Me> {
        self.room.may_write()?;
        Maildir::make(self.room.root(), id, None)?;
        self.other(id)
    }

    /// A mailbox by its id alone.
    pub fn by_id(&self, id: &MailboxId) -> Result<Me> {
        self.other(id)
    }

    /// How many automatic steps led to what this command sends.
    pub fn hops(&self) -> Option<u32> {
        self.caller.hops
    }

    /// Sends a letter to one name under an id. `first`: it is certain that nobody has sent it before, so nobody looks
    /// for it in the mailbox.
    pub fn send_errand(
        &self,
        me: &Me,
        to: &MailboxId,
        letter: &Letter,
        id: &MessageId,
        first: bool,
    ) -> Result<Receipt> {
        self.send_one(&Sender::of(&me.mailbox), letter, to, id, !first)
    }

    /// Writes something into one's own mailbox, once.
    pub fn note_to_self(&self, me: &Me, letter: &Letter, id: &MessageId) -> Result<()> {
        match self.send_errand(me, &me.id, letter, id, false)?.outcome {
            Outcome::Failed(super::Error::IdTaken { .. }) | Outcome::Queued | Outcome::Unproven(_) => Ok(()),
            Outcome::Already(_) => Ok(()),
            Outcome::Failed(e) => Err(e),
        }
    }

    /// Takes a request back that nobody has begun; `false`: it is not unread any more.
    pub fn withdraw(&self, me: &Me, to: &MailboxId, id: &MessageId) -> Result<bool> {
        self.room.may_write()?;
        let mailbox = self.mailbox(to)?;
        for name in mailbox.twins(Folder::Inbox, id)? {
            let Ok(Some(header)) = self.header(&mailbox, Folder::Inbox, &name) else { continue };
            if header.envelope.id != *id || header.envelope.from != me.id.as_str() {
                continue;
            }
            let taken = mailbox.withdraw(&name)?;
            if taken {
                let event = Event::new("withdrawn", me.id.as_str());
                self.record(Event { id: id.to_string(), to: to.to_string(), file: name, ..event });
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes a request back that the dispatcher has begun, so that its agent is stopped; `false`: nobody has, or somebody who
    /// is not the dispatcher.
    pub fn revoke(&self, me: &Me, to: &MailboxId, id: &MessageId, why: &str) -> Result<bool> {
        self.room.may_write()?;
        let mailbox = self.mailbox(to)?;
        for token in mailbox.tokens()? {
            let Some(terms) = mailbox.terms(token)?.filter(|terms| !terms.run.is_empty()) else { continue };
            let header = self.header(&mailbox, Folder::Claimed(token), &terms.file).ok().flatten();
            let is_it = |e: &Envelope| e.id == *id && e.from == me.id.as_str();
            if header.is_some_and(|header| is_it(&header.envelope)) {
                return match self.give_up(me, &Held { token, terms, mailbox }, why) {
                    // It was finished in this moment.
                    Err(super::Error::NoClaim { .. }) => Ok(false),
                    other => other.map(|()| true),
                };
            }
        }
        Ok(false)
    }

    /// In a tree a step that failed holds back all that come after it: once the run goes on without it, it is put away.
    pub fn put_failed_away(&self, to: &MailboxId, id: &MessageId) -> Result<()> {
        let mailbox = self.mailbox(to)?;
        for name in mailbox.twins(Folder::Failed, id)? {
            mailbox.set_aside(&name)?;
        }
        Ok(())
    }

    /// The answer of somebody to a message of somebody else, if it came: only mail since a time is opened.
    pub fn answer_to(
        &self,
        asked: &MessageId,
        asker: &MailboxId,
        by: &MailboxId,
        since: Option<Timestamp>,
    ) -> Result<Option<Message>> {
        let mailbox = self.mailbox(asker)?;
        let since = since.unwrap_or_else(|| Timestamp::from_parts(0, 0));
        let mut folders = mailbox.folders()?;
        folders.retain(|folder| *folder != Folder::Quarantine);
        for folder in folders {
            for name in mailbox.since(folder, since)? {
                let header = match self.header(&mailbox, folder, &name) {
                    Ok(Some(header)) => header,
                    Err(broken) if broken.passing => return Err(super::Error::Failing { why: broken.why }),
                    _ => continue,
                };
                if header.envelope.reply_to.as_ref() == Some(asked) && header.envelope.from == by.as_str() {
                    let read = self.message(&mailbox, folder, &name);
                    return Ok(read.ok().flatten().map(|(message, _)| message));
                }
            }
        }
        Ok(None)
    }

    /// Notes that somebody sent a step of a run that is not the run itself; the run then does not ask for it.
    pub(super) fn note_next_step(&self, from: &MailboxId, envelope: &Envelope) {
        let (Some(run), Some(step)) = (envelope.extra("workflow"), envelope.extra("step")) else { return };
        if run == from.as_str() || envelope.reply_to.is_some() {
            return;
        }
        let Some(note_it) = self.caller.step_sent else { return };
        let note = SentStep {
            id: envelope.id.to_string(),
            from: from.to_string(),
            to: envelope.to.clone(),
            step: step.to_owned(),
            at: self.now().precise(),
        };
        note_it(&self.room, run, &note);
    }
}
