//! Addresses: `NAME` is a mailbox of this room, `NAME@ROOM` one of another room of this user.
//!
//! Mail to another room is one delivery there, by that room's rules. `from` stays an id, and [`FROM_ROOM`] names the
//! sender's room; answers are delivered in that room. This needs a room with a name: a room that is only a directory
//! cannot be addressed from elsewhere.

use super::send::Sender;
use super::{Caller, Error, Post, Result};
use crate::mailbox::{Directory, Mailbox};
use crate::message::Envelope;
use crate::name::{BadName, MailboxId, RoomName};

/// The field that names the sender's room, if that is not the recipient's.
pub const FROM_ROOM: &str = crate::mailbox::delivery::FROM_ROOM;

/// A mailbox of another room.
pub(super) struct InOtherRoom {
    pub(super) post: Post,
    pub(super) room: RoomName,
    pub(super) id: MailboxId,
}

impl Post {
    /// The name of this room, if it has one.
    pub fn room_name(&self) -> Option<String> {
        self.caller.rooms.as_ref()?.at(self.room.path().to_owned()).name
    }

    /// Another room of this user.
    pub(super) fn there(&self, name: &RoomName) -> Result<Self> {
        let unknown = || Error::UnknownRoom { name: name.to_string() };
        let root = self.caller.rooms.as_ref().ok_or_else(unknown)?.named(name).root;
        let caller = Caller { flag: None, environment: None, session: None, ..self.caller.clone() };
        match Self::open(&root, caller, self.room.shared_clock()) {
            Err(Error::Room(crate::room::Error::NoRoom { .. })) => Err(unknown()),
            other => other,
        }
    }

    /// Refuses an address that leads to no mailbox.
    pub fn check_address(&self, address: &str) -> Result<()> {
        match self.elsewhere(address)? {
            Some(_) => Ok(()),
            None => self.addressee(address).map(drop),
        }
    }

    /// Splits `NAME@ROOM`. `None` for a mailbox of this room, or a group.
    pub(super) fn elsewhere(&self, address: &str) -> Result<Option<InOtherRoom>> {
        let Some((name, room)) = address.rsplit_once('@').filter(|(name, _)| !name.is_empty()) else {
            return Ok(None);
        };
        if name.starts_with('@') {
            let why = BadName::Character { found: '@' };
            return Err(Error::BadName { what: "the group", text: address.to_owned(), why });
        }
        let room = RoomName::parse(room).map_err(|why| Error::BadName {
            what: "the room",
            text: room.to_owned(),
            why,
        })?;
        let post = self.there(&room)?;
        if self.room_name().is_none() {
            return Err(Error::NoWayBack { room: room.to_string() });
        }
        let id = post.addressee(name)?;
        Ok(Some(InOtherRoom { post, room, id }))
    }

    /// The room that a message came from, if it is another one.
    pub(super) fn origin(&self, asked: &Envelope) -> Result<Option<Self>> {
        let Some(room) = asked.extra(FROM_ROOM) else { return Ok(None) };
        if self.room_name().as_deref() == Some(room) {
            return Ok(None);
        }
        let named = RoomName::parse(room);
        let name = named.map_err(|why| Error::BadName { what: FROM_ROOM, text: room.to_owned(), why })?;
        self.there(&name).map(Some)
    }

    /// A mailbox of this room as sender, in the form for the room that the message goes to.
    pub(super) fn sender<'a>(&self, mailbox: &'a Mailbox, there: Option<&Self>) -> Sender<'a> {
        let room = there.and_then(|_| self.room_name());
        Sender { id: mailbox.id(), mailbox: Some(mailbox), room }
    }

    /// In a workspace a sender is identified by the path for its answers.
    fn called_by_path(&self, from: &str) -> Option<String> {
        let inbox = from.starts_with('/').then(|| format!("{from}/.mailbox/inbox/x"))?;
        self.owner_of(&inbox).ok()?.map(|id| self.name_of(id.as_str()).to_owned())
    }

    /// The display name of a message's sender, with its room if that is another one.
    pub fn sender_shown(&self, envelope: &Envelope) -> String {
        match envelope.extra(FROM_ROOM) {
            None => self.name_of(envelope.from.as_str()).to_owned(),
            Some(room) => {
                let from = envelope.from.as_str();
                let origin = self.origin(envelope).ok().flatten();
                let name = origin
                    .map(|post| post.called_by_path(from).unwrap_or_else(|| post.name_of(from).to_owned()));
                format!("{}@{room}", name.as_deref().unwrap_or(from))
            }
        }
    }
}
