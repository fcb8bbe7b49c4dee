//! Send: one letter, one durable delivery to each recipient, one receipt each.
//!
//! Everything is checked before the first delivery, so a refused letter reaches nobody. Copies to several
//! recipients share one id and differ only in `to`.

use std::collections::BTreeSet;

use super::claim::{BOUNCE, is_bounce};
use super::copies::{Back, is_beside};
use super::reply::{REQUEST, Target};
use super::{Error, Me, Post, Result};
use crate::journal::Event;
use crate::mailbox::maildir::{Delivered, Layout};
use crate::mailbox::once::Once;
use crate::mailbox::{Folder, Mailbox};
use crate::message::envelope::{self, check_value};
use crate::message::{Envelope, FileName, Native, Priority, Protocol, any, maildir, secret, workspace};
use crate::name::{MailboxId, MessageId};

/// Whom a receipt names for a file in an inbox that the room does not know.
const OUTSIDE: &str = "outside";

/// The field that counts how many automatic steps led to a message.
pub const HOPS: &str = "hops";

/// The field with the number of the thread that led to a message, beside the number of steps.
pub const THREAD: &str = "thread";

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
    /// For an answer: the way back that its question named.
    pub back: Option<Back>,
    /// For an answer with an id: the file name of its question, if nobody can have sent the answer before that, nor under
    /// another subject or priority. Then it need not be looked for under every name.
    pub asked: Option<String>,
}

/// What happened for one recipient.
#[derive(Debug)]
pub struct Receipt {
    pub id: MessageId,
    pub to: MailboxId,
    pub name: String,
    pub subject: String,
    pub file: String,
    /// Its name was taken, so it lies beside what has that name.
    pub is_beside: bool,
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

impl Outcome {
    /// The same with another error in the place of its own.
    pub(super) fn map_failure(self, change: impl FnOnce(Error) -> Error) -> Self {
        match self {
            Self::Failed(e) => Self::Failed(change(e)),
            other => other,
        }
    }
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

    /// Sends an answer: to a mailbox, or to a file in an inbox that the room does not know.
    pub(super) fn send_back(
        &self,
        from: &MailboxId,
        letter: &Letter,
        to: &Target,
        id: &MessageId,
        retry: bool,
    ) -> Result<Receipt> {
        let path = match to {
            Target::Mailbox(to) => {
                let sent = self.send_as(from, letter, std::slice::from_ref(to), id, retry)?.pop();
                return sent.ok_or(Error::EmptyBody);
            }
            Target::Path(path) => path,
        };
        self.room.may_write()?;
        self.check_letter(letter)?;
        let outside = MailboxId::parse(OUTSIDE).map_err(|_| Error::EmptyBody)?;
        let subject = letter.subject.clone().unwrap_or_else(|| envelope::subject_of(&letter.body));
        Ok(Receipt { name: path.clone(), ..self.deliver(from, letter, &outside, (id, retry), &subject) })
    }

    /// Refuses what would not be sent to anybody.
    pub fn check_letter(&self, letter: &Letter) -> Result<()> {
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
        let mut envelope = Envelope {
            id: id.clone(),
            from: from.to_string(),
            to: to.to_string(),
            subject: subject.to_owned(),
            reply_to: letter.reply_to.clone(),
            priority: letter.priority,
            channel: letter.channel.clone(),
            extra: letter.extra.clone(),
            native: Native::Maildir,
            doubts: vec![],
        };
        envelope.extra = any::foreign(&envelope.extra, Protocol::Maildir);
        if let Some(hops) = self.caller.hops {
            // What an agent sends in a run of the dispatcher is one step further, whatever it answers.
            envelope.extra.retain(|(key, _)| key != HOPS);
            envelope.extra.push((HOPS.to_owned(), hops.saturating_add(1).to_string()));
            if let Some(thread) = &self.caller.thread {
                envelope.extra.retain(|(key, _)| key != THREAD);
                envelope.extra.push((THREAD.to_owned(), thread.clone()));
            }
        }
        let mut file = String::new();
        let outcome = match self.put(Some(from), letter, to, &envelope, retry) {
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
            self.note_next_step(from, to, &envelope);
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
        let is_beside = is_beside(letter, id, &file);
        Receipt {
            id: id.clone(),
            to: to.clone(),
            name,
            subject: subject.to_owned(),
            file,
            is_beside,
            outcome,
        }
    }

    /// Puts a message into a mailbox, in the protocol of that mailbox.
    /// Without a sender that has a mailbox, no answer can come.
    pub(super) fn put(
        &self,
        from: Option<&MailboxId>,
        letter: &Letter,
        to: &MailboxId,
        envelope: &Envelope,
        retry: bool,
    ) -> Result<Once> {
        if to.as_str() == OUTSIDE && letter.back.is_some() {
            let sender = from.map(|from| self.mailbox(from)).transpose()?;
            return self.copy(sender.as_ref(), (envelope, &letter.body), letter.back.as_ref(), None, retry);
        }
        let mailbox = self.mailbox(to)?;
        if let Some(agent) = mailbox.agent() {
            if let Some(from) = from.filter(|from| self.protocol_of(from) == Protocol::Workspace) {
                self.keep_own_copy(&self.mailbox(from)?, &mailbox, envelope, letter)?;
            }
            return self.file_task(from, letter, &mailbox, agent, envelope, retry);
        }
        let Some(place) = mailbox.maildir().filter(|place| place.layout() == Layout::Native) else {
            let sender = from.map(|from| self.mailbox(from)).transpose()?;
            let back = letter.back.as_ref();
            return self.copy(sender.as_ref(), (envelope, &letter.body), back, Some(&mailbox), retry);
        };
        if let Some(from) = from.filter(|from| self.protocol_of(from) == Protocol::Workspace) {
            self.keep_own_copy(&self.mailbox(from)?, &mailbox, envelope, letter)?;
        }
        let envelope = &any::to_maildir(&self.with_request(envelope, letter));
        let bytes = maildir::render(envelope, &letter.body)?;
        // A checked id has eight hex digits; the fallback only keeps this line free of a panic.
        let short = envelope.id.short().unwrap_or_else(|| "00000000".to_owned());
        let name = FileName::new(self.now(), &short, &envelope.subject, letter.priority);
        let names = letter.asked.as_deref().and_then(|asked| name.since(asked));
        Ok(match retry {
            true => place.deliver_once(&envelope.id, &name, bytes.as_bytes(), names.as_deref())?,
            false => place.deliver_beside(&name, bytes.as_bytes(), &BTreeSet::new())?,
        })
    }

    /// An answer from a workspace says which exchange it belongs to, where its own id does not.
    fn with_request(&self, envelope: &Envelope, letter: &Letter) -> Envelope {
        let mut envelope = envelope.clone();
        if let Some(back) = letter.back.as_ref().filter(|back| back.path.is_some()) {
            envelope.extra.push((REQUEST.to_owned(), back.request.clone()));
        }
        envelope
    }

    /// A workspace keeps a copy of all it sends, whatever protocol that goes out in.
    fn keep_own_copy(
        &self,
        sender: &Mailbox,
        to: &Mailbox,
        envelope: &Envelope,
        letter: &Letter,
    ) -> Result<()> {
        let asked = envelope.reply_to.as_ref().unwrap_or(&envelope.id);
        let request = letter.back.as_ref().map_or_else(|| asked.request(), |back| back.request.clone());
        let path = |mailbox: &Mailbox| {
            self.reply_inbox(mailbox).join(workspace::file_name_of(&request)).display().to_string()
        };
        let copy = any::to_request(envelope, &letter.body, &request, &path(to), Some(&path(sender)));
        self.keep_in_scratch(sender, &request, workspace::render(&copy)?.as_bytes())
    }
}
