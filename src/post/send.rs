//! Send: one letter, one durable delivery to each recipient, one receipt each.
//!
//! Everything is checked before the first delivery, so a refused letter reaches nobody. Copies to several
//! recipients share one id and differ only in `to`.

use std::collections::BTreeSet;

use super::claim::{BOUNCE, is_bounce};
use super::{Error, Me, Post, Result};
use crate::journal::Event;
use crate::mailbox::Folder;
use crate::mailbox::maildir::Delivered;
use crate::mailbox::once::Once;
use crate::message::envelope::{self, check_value};
use crate::message::{Envelope, FileName, Native, Priority, maildir, secret};
use crate::name::{MailboxId, MessageId};

/// What is to be sent.
#[derive(Debug, Clone, Default)]
pub struct Letter {
    pub to: Vec<String>,
    /// Left out, it is the body's first line.
    pub subject: Option<String>,
    pub body: String,
    pub priority: Priority,
    pub channel: Option<String>,
    pub reply_to: Option<MessageId>,
    /// Given for a retry that must not deliver twice; otherwise a fresh one is drawn.
    pub id: Option<MessageId>,
    pub allow_secrets: bool,
    /// Only the seed's shell interface sends empty messages.
    pub allow_empty: bool,
    pub extra: Vec<(String, String)>,
}

/// What happened for one recipient.
#[derive(Debug)]
pub struct Receipt {
    pub id: MessageId,
    pub to: MailboxId,
    pub name: String,
    pub subject: String,
    pub file: String,
    pub outcome: Outcome,
}

#[derive(Debug)]
pub enum Outcome {
    /// In the mailbox, and it survives a power cut.
    Queued,
    /// In the mailbox, but the disk did not confirm it.
    Unproven(String),
    /// A retry: it was there already.
    Already(Folder),
    /// Not in the mailbox.
    Failed(Error),
}

impl Post {
    /// Sends a letter to the names it gives.
    pub fn send(&self, me: &Me, letter: &Letter) -> Result<Vec<Receipt>> {
        let mut to: Vec<MailboxId> = vec![];
        for name in &letter.to {
            for id in self.recipients(me, name)? {
                if !to.contains(&id) {
                    to.push(id);
                }
            }
        }
        match &letter.id {
            Some(id) => self.send_as(&me.id, letter, &to, id, true),
            None => self.send_as(&me.id, letter, &to, &MessageId::fresh(), false),
        }
    }

    /// Sends a letter under an id to mailboxes that are known to exist. `retry`: the id may have been
    /// delivered before, so each mailbox is searched for it first.
    pub(super) fn send_as(
        &self,
        from: &MailboxId,
        letter: &Letter,
        to: &[MailboxId],
        id: &MessageId,
        retry: bool,
    ) -> Result<Vec<Receipt>> {
        self.room.may_write()?;
        self.check_letter(letter)?;
        let subject = letter.subject.clone().unwrap_or_else(|| envelope::subject_of(&letter.body));
        for recipient in to {
            // What was delivered before takes no more place than it has.
            match self.check_quota(recipient) {
                Err(Error::Full { .. }) if retry && self.is_there(recipient, id)? => {}
                // Who has no mailbox is told of by name when it comes to delivering.
                Ok(()) | Err(Error::NoMailbox { .. }) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(to.iter().map(|recipient| self.deliver(from, letter, recipient, (id, retry), &subject)).collect())
    }

    pub(super) fn check_letter(&self, letter: &Letter) -> Result<()> {
        if letter.body.trim().is_empty() && !letter.allow_empty {
            return Err(Error::EmptyBody);
        }
        let limit = self.room.limits().body_bytes;
        if letter.body.len() as u64 > limit {
            return Err(Error::BodyTooLarge { limit });
        }
        if let Some(subject) = &letter.subject {
            check_value(subject).map_err(|why| Error::BadValue { field: "the subject", why })?;
        }
        if let Some(channel) = &letter.channel {
            check_value(channel).map_err(|why| Error::BadValue { field: "the channel", why })?;
        }
        if !letter.allow_secrets {
            let in_subject =
                letter.subject.as_deref().and_then(secret::find).map(|s| (s, "the subject".to_owned()));
            let in_body = || secret::find(&letter.body).map(|s| (s, format!("line {} of the text", s.line)));
            if let Some((found, place)) = in_subject.or_else(in_body) {
                return Err(Error::Secret { what: found.what, place });
            }
        }
        Ok(())
    }

    fn is_there(&self, recipient: &MailboxId, id: &MessageId) -> Result<bool> {
        let mailbox = self.mailbox(recipient)?;
        for folder in mailbox.folders()? {
            if !mailbox.twins(folder, id)?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn check_quota(&self, recipient: &MailboxId) -> Result<()> {
        let Some(limit) = self.room.limits().mailbox_messages else {
            return Ok(());
        };
        let count = self.mailbox(recipient)?.list(Folder::Inbox, 0)?.total;
        if count < limit {
            return Ok(());
        }
        Err(Error::Full { name: self.name_of(recipient.as_str()).to_owned(), count, limit })
    }

    fn deliver(
        &self,
        from: &MailboxId,
        letter: &Letter,
        to: &MailboxId,
        (id, retry): (&MessageId, bool),
        subject: &str,
    ) -> Receipt {
        let envelope = Envelope {
            id: id.clone(),
            from: from.to_string(),
            to: to.to_string(),
            subject: subject.to_owned(),
            reply_to: letter.reply_to.clone(),
            priority: letter.priority,
            channel: letter.channel.clone(),
            extra: letter.extra.clone(),
            native: Native::Maildir,
        };
        let bytes = maildir::render(&envelope, &letter.body);
        // A checked id has eight hex digits; the fallback only keeps this line free of a panic.
        let short = id.short().unwrap_or_else(|| "00000000".to_owned());
        let wanted = FileName::new(self.now(), &short, subject, letter.priority);
        let mut file = wanted.as_str().to_owned();
        let outcome = match self.put(to, retry.then_some(id), &wanted, bytes.as_bytes()) {
            Ok(Once::Delivered { how, name }) => {
                file = name;
                match how {
                    Delivered::Durable => Outcome::Queued,
                    Delivered::Unproven(e) => Outcome::Unproven(e.to_string()),
                }
            }
            Ok(Once::Already { folder, name }) => {
                file = name;
                Outcome::Already(folder)
            }
            Ok(Once::Taken { path }) => {
                Outcome::Failed(Error::IdTaken { id: id.to_string(), path: path.display().to_string() })
            }
            Err(e) => Outcome::Failed(e),
        };
        if matches!(outcome, Outcome::Queued | Outcome::Unproven(_)) {
            self.record(Event {
                id: id.to_string(),
                to: to.to_string(),
                subject: subject.to_owned(),
                reply_to: letter.reply_to.as_ref().map(ToString::to_string).unwrap_or_default(),
                file: file.clone(),
                note: if is_bounce(&envelope) { BOUNCE.to_owned() } else { String::new() },
                ..Event::new("sent", from.as_str())
            });
        }
        let name = self.name_of(to.as_str()).to_owned();
        Receipt { id: id.clone(), to: to.clone(), name, subject: subject.to_owned(), file, outcome }
    }

    fn put(
        &self,
        to: &MailboxId,
        retried: Option<&MessageId>,
        name: &FileName,
        bytes: &[u8],
    ) -> Result<Once> {
        let mailbox = self.mailbox(to)?;
        Ok(match retried {
            Some(id) => mailbox.deliver_once(id, name, bytes)?,
            None => mailbox.deliver_beside(name, bytes, &BTreeSet::new())?,
        })
    }
}
