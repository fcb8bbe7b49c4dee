//! Send: one letter, with one durable delivery and one receipt per recipient.
//!
//! Everything is checked before the first delivery, so a refused letter reaches nobody. Copies to several
//! recipients share one id and differ only in `to`.

use super::address::InOtherRoom;
use super::claim::{BOUNCE, is_bounce};
use super::{Error, FROM_NETWORK, FROM_ROOM, Me, Post, Result, VIA};
use crate::journal::Event;
use crate::mailbox::attachments::FileToSend;
use crate::mailbox::{
    Delivery, DeliveryOutcome, Durability, Folder, Mailbox, ReplyRoute, ReplyTarget, workspace,
};
use crate::message::envelope::{self, check_value};
use crate::message::{Envelope, Origin, Priority, any, secret};
use crate::name::{MailboxId, MessageId, RoomName};

pub use crate::message::role::{HOPS, THREAD};

/// The variables by which a run passes both to the commands of its agent.
pub const HOPS_VARIABLE: &str = "POSTROOM_HOPS";
pub const THREAD_VARIABLE: &str = "POSTROOM_THREAD";

/// A message to send.
#[derive(Debug, Clone, Default)]
pub struct Letter {
    pub to: Vec<String>,
    /// Defaults to the body's first line.
    pub subject: Option<String>,
    pub body: String,
    pub priority: Priority,
    pub channel: Option<String>,
    pub reply_to: Option<MessageId>,
    /// Given for a retry that must not deliver twice; otherwise a fresh id is drawn.
    pub id: Option<MessageId>,
    pub allow_secrets: bool,
    /// Only the seed's shell interface sends empty messages.
    pub allow_empty: bool,
    pub extra: Vec<(String, String)>,
    /// Files that go with it; `extra` names them ([`Letter::attach`]).
    pub files: Vec<FileToSend>,
    /// For an answer: the reply route from its question.
    pub route: Option<ReplyRoute>,
    /// For an answer: fields copied from its question.
    pub inherited: Vec<(String, String)>,
    /// It replies to an answer, so it is a new question.
    pub asks_again: bool,
    /// For an answer with an id: the file name of its question, if the answer cannot be older than the question, nor
    /// have had another subject or priority. Then a retry need not search every name.
    pub question: Option<String>,
}

/// The sender: an id, and its mailbox if it has one that can be answered.
#[derive(Debug, Clone)]
pub(crate) struct Sender<'a> {
    pub(super) id: &'a MailboxId,
    pub(super) mailbox: Option<&'a Mailbox>,
    /// Its room, if that is not the recipient's.
    pub(super) room: Option<String>,
    /// The network that it was carried by, if its room is on another machine.
    pub(super) network: Option<String>,
}

impl<'a> Sender<'a> {
    pub(crate) fn of(mailbox: &'a Mailbox) -> Self {
        Self { id: mailbox.id(), mailbox: Some(mailbox), room: None, network: None }
    }
}

/// The destination of a letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A mailbox of this room.
    Here(MailboxId),
    /// A mailbox of another room of this machine.
    Elsewhere { id: MailboxId, room: RoomName },
    /// A file in an inbox that this room does not know.
    File,
}

impl Destination {
    /// The id of the mailbox; `None` for a file.
    pub fn id(&self) -> Option<&MailboxId> {
        match self {
            Self::Here(id) | Self::Elsewhere { id, .. } => Some(id),
            Self::File => None,
        }
    }
}

/// The result for one recipient.
#[derive(Debug)]
pub struct Receipt {
    pub id: MessageId,
    pub to: Destination,
    /// The name of the recipient, its address in another room, or a path.
    pub name: String,
    pub subject: String,
    pub file: String,
    /// Its file name was taken, so it has a numbered name.
    pub is_beside: bool,
    pub outcome: Outcome,
}

#[derive(Debug)]
pub enum Outcome {
    /// In the mailbox, and durable.
    Queued,
    /// In the mailbox, but the disk did not confirm it.
    Unproven(String),
    /// A retry: it was already there.
    Already(Folder),
    /// Not in the mailbox.
    Failed(Error),
}

impl Outcome {
    /// Replaces the error of a failure.
    pub(super) fn map_failure(self, change: impl FnOnce(Error) -> Error) -> Self {
        match self {
            Self::Failed(e) => Self::Failed(change(e)),
            other => other,
        }
    }
}

impl Post {
    /// Sends a letter to its recipients.
    pub fn send(&self, me: &Me, letter: &Letter) -> Result<Vec<Receipt>> {
        let (mut to, mut elsewhere) = (vec![], vec![]);
        for name in &letter.to {
            if let Some(other) = self.elsewhere(name)? {
                elsewhere.push(other);
                continue;
            }
            for id in self.recipients(me, name)? {
                if !to.contains(&id) {
                    to.push(id);
                }
            }
        }
        let (id, retry) = letter.id.clone().map_or_else(|| (MessageId::fresh(), false), |id| (id, true));
        for other in &elsewhere {
            other.post.check_sending(letter, std::slice::from_ref(&other.id), &id, retry)?;
        }
        self.check_sending(letter, &to, &id, retry)?;
        let from = Sender::of(&me.mailbox);
        let mut receipts: Vec<Receipt> =
            to.iter().map(|to| self.send_checked(&from, letter, to, (&id, retry))).collect();
        for other in &elsewhere {
            receipts.push(self.send_there(me, letter, other, (&id, retry))?);
        }
        Ok(receipts)
    }

    /// Sends a letter to a mailbox of another room.
    fn send_there(
        &self,
        me: &Me,
        letter: &Letter,
        other: &InOtherRoom,
        (id, retry): (&MessageId, bool),
    ) -> Result<Receipt> {
        let mut letter = letter.clone();
        letter.extra.retain(|(key, _)| key != VIA);
        letter
            .extra
            .extend(self.is_persons(&me.id).then(|| self.via()).flatten().map(|name| (VIA.to_owned(), name)));
        let sender = self.sender(&me.mailbox, Some(&other.post));
        let receipt = other.post.send_one(&sender, &letter, &other.id, id, retry)?;
        let name = format!("{}@{}", receipt.name, other.room);
        if matches!(receipt.outcome, Outcome::Queued | Outcome::Unproven(_)) {
            self.record(Event {
                id: id.to_string(),
                to: name.clone(),
                subject: receipt.subject.clone(),
                ..Event::new("sent", me.id.as_str())
            });
        }
        let to = Destination::Elsewhere { id: other.id.clone(), room: other.room.clone() };
        Ok(Receipt { to, name, ..receipt })
    }

    /// Sends a letter under an id to a mailbox that exists. With `retry` the id may have been delivered before, so the
    /// mailbox is searched for it first.
    pub(crate) fn send_one(
        &self,
        from: &Sender<'_>,
        letter: &Letter,
        to: &MailboxId,
        id: &MessageId,
        retry: bool,
    ) -> Result<Receipt> {
        self.check_sending(letter, std::slice::from_ref(to), id, retry)?;
        Ok(self.send_checked(from, letter, to, (id, retry)))
    }

    /// Refuses a letter before any delivery.
    fn check_sending(&self, letter: &Letter, to: &[MailboxId], id: &MessageId, retry: bool) -> Result<()> {
        self.room.may_write()?;
        self.check_letter(letter)?;
        to.iter().try_for_each(|recipient| self.check_room_for(recipient, id, retry))
    }

    fn send_checked(
        &self,
        from: &Sender<'_>,
        letter: &Letter,
        to: &MailboxId,
        id: (&MessageId, bool),
    ) -> Receipt {
        let put =
            |delivery: &Delivery<'_>| self.deliver_with_files(&self.mailbox(to)?, &letter.files, delivery);
        self.deliver(from, letter, Destination::Here(to.clone()), id, put)
    }

    /// Refuses a message to a full mailbox.
    fn check_room_for(&self, recipient: &MailboxId, id: &MessageId, retry: bool) -> Result<()> {
        match self.check_quota(recipient) {
            // A message that was delivered before takes no more space.
            Err(Error::Full { .. }) if retry && self.copy_of(id, recipient)?.is_some() => Ok(()),
            // A recipient without a mailbox is reported by name at delivery.
            Err(Error::NoMailbox { .. }) => Ok(()),
            other => other,
        }
    }

    /// Sends an answer on the reply route of its letter: to a mailbox, or to a file in an inbox that the room does not know.
    pub(super) fn send_back(
        &self,
        from: &Sender<'_>,
        letter: &Letter,
        id: &MessageId,
        retry: bool,
    ) -> Result<Receipt> {
        let path = match letter.route.as_ref().map(|route| &route.to) {
            Some(ReplyTarget::Mailbox(to)) => {
                return self.send_one(from, letter, to, id, retry);
            }
            Some(ReplyTarget::Path(path)) => path,
            None => return Err(Error::NoReplyWanted),
        };
        self.room.may_write()?;
        self.check_letter(letter)?;
        if !letter.files.is_empty() {
            return Err(Error::NoHome { path: path.clone() });
        }
        let put = |delivery: &Delivery<'_>| Ok(workspace::deliver_to_path(path, delivery, self)?);
        let receipt = self.deliver(from, letter, Destination::File, (id, retry), put);
        Ok(Receipt { name: path.clone(), ..receipt })
    }

    /// Refuses a letter that no recipient may get: empty, too long, invalid, or with a secret.
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
        self.check_files(letter)
    }

    pub(super) fn check_quota(&self, recipient: &MailboxId) -> Result<()> {
        let Some(limit) = self.room.limits().mailbox_messages else { return Ok(()) };
        let count = self.mailbox(recipient)?.list(Folder::Inbox, 0)?.total;
        if count < limit {
            return Ok(());
        }
        Err(Error::Full { name: self.name_of(recipient.as_str()).to_owned(), count, limit })
    }

    fn deliver(
        &self,
        from: &Sender<'_>,
        letter: &Letter,
        to: Destination,
        (id, retry): (&MessageId, bool),
        put: impl FnOnce(&Delivery<'_>) -> Result<DeliveryOutcome>,
    ) -> Receipt {
        let subject = letter.subject.clone().unwrap_or_else(|| envelope::subject_of(&letter.body));
        let recipient = to.id().map(ToString::to_string).unwrap_or_default();
        let envelope = self.envelope(from, letter, &recipient, id, &subject);
        let delivery = Delivery {
            envelope: &envelope,
            body: &letter.body,
            sender: from.mailbox,
            route: letter.route.as_ref(),
            is_answer: letter.reply_to.is_some() && !letter.asks_again,
            inherited: &letter.inherited,
            retry,
            question: letter.question.as_deref(),
            now: self.now(),
        };
        let (mut file, mut is_beside) = (String::new(), false);
        let outcome = match put(&delivery) {
            Ok(DeliveryOutcome::Delivered { how, name, beside }) => {
                (file, is_beside) = (name, beside);
                match how {
                    Durability::Proven => Outcome::Queued,
                    Durability::Unproven(e) => Outcome::Unproven(e.to_string()),
                }
            }
            Ok(DeliveryOutcome::Already { folder, name }) => {
                file = name;
                Outcome::Already(folder)
            }
            Ok(DeliveryOutcome::Taken { path }) => {
                Outcome::Failed(Error::IdTaken { id: id.to_string(), path: path.display().to_string() })
            }
            Err(e) => Outcome::Failed(e),
        };
        if matches!(outcome, Outcome::Queued | Outcome::Unproven(_)) {
            self.note_next_step(from.id, &envelope);
            self.record(Event {
                id: id.to_string(),
                to: recipient.clone(),
                subject: subject.clone(),
                reply_to: letter.reply_to.as_ref().map(ToString::to_string).unwrap_or_default(),
                file: file.clone(),
                note: if is_bounce(&envelope) { BOUNCE.to_owned() } else { String::new() },
                ..Event::new("sent", from.id.as_str())
            });
        }
        let name = self.name_of(&recipient).to_owned();
        Receipt { id: id.clone(), to, name, subject, file, is_beside, outcome }
    }

    fn envelope(
        &self,
        from: &Sender<'_>,
        letter: &Letter,
        to: &str,
        id: &MessageId,
        subject: &str,
    ) -> Envelope {
        let mut envelope = any::to_maildir(&Envelope {
            id: id.clone(),
            from: Origin::mailbox(from.id.to_string()),
            to: to.to_string(),
            subject: subject.to_owned(),
            reply_to: letter.reply_to.clone(),
            priority: letter.priority,
            channel: letter.channel.clone(),
            extra: letter.extra.clone(),
            native: Default::default(),
            doubts: vec![],
        });
        // Set only here: no sender can claim another room, or hide that it sends for the person.
        envelope.extra.retain(|(key, _)| key != FROM_ROOM && key != FROM_NETWORK);
        envelope.extra.extend(from.room.clone().map(|room| (FROM_ROOM.to_owned(), room)));
        envelope.extra.extend(from.network.clone().map(|network| (FROM_NETWORK.to_owned(), network)));
        if from.room.is_none() {
            let via = self.is_persons(from.id).then(|| self.via()).flatten();
            envelope.extra.retain(|(key, _)| key != VIA);
            envelope.extra.extend(via.map(|name| (VIA.to_owned(), name)));
        }
        if let Some(hops) = self.caller.hops {
            // A message that an agent sends in a run of the dispatcher is one hop further, whatever it answers.
            envelope.extra.retain(|(key, _)| key != HOPS);
            envelope.extra.push((HOPS.to_owned(), hops.saturating_add(1).to_string()));
            if let Some(thread) = &self.caller.thread {
                envelope.extra.retain(|(key, _)| key != THREAD);
                envelope.extra.push((THREAD.to_owned(), thread.clone()));
            }
        }
        envelope
    }
}
