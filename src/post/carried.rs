//! Carried mail: letters that the courier brings from rooms of other machines, and letters that it cannot bring there.
//!
//! The caller has checked the signature of the room. The sender within that room is as unverified as every sender. A letter
//! from there cannot set the fields that this room sets itself.

use super::{Error, FROM_NETWORK, FROM_ROOM, Letter, Outcome, Post, Receipt, Result, Sender, VIA};
use crate::journal::Event;
use crate::mailbox::delivery::{DOUBT, REPLY_PATH, REQUEST, TREE_INBOX};
use crate::mailbox::{ReplyRoute, ReplyTarget};
use crate::message::envelope::subject_with;
use crate::message::{Envelope, ProtocolFields};
use crate::name::{MailboxId, MessageId, RoomName};
use crate::network::NetworkName;

/// Fields that only the room of the recipient may set.
const OWN: [&str; 7] = [FROM_NETWORK, FROM_ROOM, VIA, REPLY_PATH, REQUEST, TREE_INBOX, DOUBT];

/// A letter from a room of another machine.
#[derive(Debug)]
pub struct CarriedLetter {
    pub network: NetworkName,
    pub room: RoomName,
    /// The id of its sender there.
    pub from: MailboxId,
    /// A name or an id here.
    pub to: String,
    pub id: MessageId,
    pub letter: Letter,
    /// It may have been delivered before, so the mailbox is searched for it.
    pub maybe_before: bool,
}

impl Post {
    /// Delivers a letter from a room of another machine; durable if the receipt says so.
    pub fn deliver_carried(&self, carried: &CarriedLetter) -> Result<Receipt> {
        let to = self.addressee(&carried.to)?;
        let mut letter = carried.letter.clone();
        letter.extra.retain(|(key, _)| !OWN.contains(&key.as_str()));
        (letter.allow_secrets, letter.allow_empty) = (true, true);
        let back = self.on_network(&carried.room)?;
        if let Some(asked) = &letter.reply_to {
            letter.route = Some(route_to(&to));
            // A reply to an answer is a new question. What it replies to is mail that went there.
            let sent = back.as_ref().map(|back| back.copy_of(asked, &carried.from)).transpose();
            let sent = sent.ok().flatten().flatten();
            letter.asks_again = sent.is_some_and(|copy| copy.header.envelope.reply_to.is_some());
        }
        let mailbox = back.as_ref().and_then(|back| back.mailbox(&carried.from).ok());
        let sender = Sender {
            id: &carried.from,
            mailbox: mailbox.as_ref(),
            room: Some(carried.room.to_string()),
            network: Some(carried.network.to_string()),
        };
        let receipt = self.send_one(&sender, &letter, &to, &carried.id, carried.maybe_before)?;
        let is_notice = letter.extra.iter().any(|(key, _)| key == super::BOUNCE);
        if let (Some(back), Some(asked), Outcome::Queued) = (&back, &letter.reply_to, &receipt.outcome)
            && !is_notice
        {
            back.note_answered(asked, &carried.from)?;
        }
        Ok(receipt)
    }

    /// Whether the letter with this key of a courier, `ID/MAILBOX`, is in its mailbox, in any state. Another room can know the id and
    /// send under it too, so the letter must be from this mailbox of this room.
    pub fn has_carried(&self, key: &str, from: &str, room: &RoomName, network: &NetworkName) -> Result<bool> {
        let Some((id, to)) = key.split_once('/') else { return Ok(false) };
        let Ok(id) = MessageId::parse_lenient(id) else { return Ok(false) };
        let Ok(to) = self.addressee(to) else { return Ok(false) };
        let is_it = |envelope: &Envelope| {
            // Other protocols name a sender of another room in their own way.
            let is_from = envelope.from.as_str() == from || envelope.native != ProtocolFields::Maildir;
            is_from
                && envelope.extra(FROM_ROOM) == Some(room.as_str())
                && envelope.extra(FROM_NETWORK) == Some(network.as_str())
        };
        Ok(self.copy_that(&id, &to, is_it)?.is_some())
    }

    /// Notes in the mail that went there that a letter was answered: the answer is the evidence.
    fn note_answered(&self, asked: &MessageId, by: &MailboxId) -> Result<()> {
        if let Some(copy) = self.copy_of(asked, by)? {
            let (id, file) = (asked.to_string(), copy.header.name);
            self.record(Event { id, file, ..Event::new("answered", by.as_str()) });
        }
        Ok(())
    }

    /// Tells the sender of a letter to another machine that it came to nothing, as a room tells of a message that was given
    /// up. `name`: the recipient, as people call it.
    pub fn tell_uncarried(
        &self,
        network: &NetworkName,
        room: &RoomName,
        (to, name): (&MailboxId, &str),
        envelope: &Envelope,
        why: &str,
    ) -> Result<Receipt> {
        let sender = self.existing_id(envelope.from.as_str())?;
        let unknown = || Error::NoSender { from: crate::message::visible::clip(envelope.from.as_str(), 80) };
        let asker = sender.ok_or_else(unknown)?;
        let letter = Letter {
            subject: Some(subject_with("failed: ", &envelope.subject)),
            body: format!("Your message {} to {name}@{room} was given up.\nReason: {why}\n", envelope.id),
            reply_to: Some(envelope.id.clone()),
            allow_secrets: true,
            extra: vec![(super::BOUNCE.to_owned(), "1".to_owned())],
            route: Some(route_to(&asker)),
            ..Letter::default()
        };
        let from = Sender {
            id: to,
            mailbox: None,
            room: Some(room.to_string()),
            network: Some(network.to_string()),
        };
        let id = MessageId::derived(format!("uncarried {} {room} {to}", envelope.id).as_bytes());
        self.send_one(&from, &letter, &asker, &id, true)
    }
}

fn route_to(mailbox: &MailboxId) -> ReplyRoute {
    ReplyRoute { to: ReplyTarget::Mailbox(mailbox.clone()), request: None, path: None, inbox: None }
}
