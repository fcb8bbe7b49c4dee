//! Addresses: `NAME` is a mailbox of this room, `NAME@ROOM` one of another room of this user.
//!
//! Mail to another room is one delivery there, by that room's rules. `from` stays an id, and [`FROM_ROOM`] names the
//! sender's room; answers are delivered in that room. This needs a room with a name: a room that is only a directory
//! cannot be addressed from elsewhere.
//!
//! A room of another machine is addressed in the same way, if this room has joined its network. Then the delivery is into the
//! mail on its way there ([`crate::network`]), which a `Post` can open like any room. A room of this machine comes first.

use super::send::Sender;
use super::{Caller, Error, Post, Result};
use crate::mailbox::{Directory, Mailbox};
use crate::message::Envelope;
use crate::name::{BadName, MailboxId, RoomName};
use crate::network::{self, Joined};
use crate::registry::Registry;

/// The field that names the sender's room, if that is not the recipient's.
pub const FROM_ROOM: &str = crate::mailbox::delivery::FROM_ROOM;

/// The field that names the network a message came by.
pub const FROM_NETWORK: &str = network::FROM_NETWORK;

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
        // A caller that knows no rooms of this machine still has those of the network.
        let Some(rooms) = &self.caller.rooms else { return self.on_network(name)?.ok_or_else(unknown) };
        let root = rooms.named(name).root;
        let caller = Caller { flag: None, environment: None, session: None, ..self.caller.clone() };
        match Self::open(&root, caller, self.room.shared_clock()) {
            Err(Error::Room(crate::room::Error::NoRoom { .. })) => self.on_network(name)?.ok_or_else(unknown),
            other => other,
        }
    }

    /// The mail on its way to a room of the network; `None` if no such room is known.
    pub fn on_network(&self, name: &RoomName) -> Result<Option<Self>> {
        let root = self.room.path();
        let Some(joined) = Joined::of(root)? else { return Ok(None) };
        let caller = Caller { flag: None, environment: None, session: None, ..self.caller.clone() };
        match Self::open(&network::peer_root(root, &joined.network, name), caller, self.room.shared_clock()) {
            Err(Error::Room(crate::room::Error::NoRoom { .. })) => Ok(None),
            other => Ok(Some(Self { network: Some(joined), ..other? })),
        }
    }

    /// Whether this is mail on its way to a room of another machine.
    pub fn is_on_network(&self) -> bool {
        self.network.is_some()
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
        if self.room_name().is_none() && post.network.is_none() {
            return Err(Error::NoWayBack { room: room.to_string() });
        }
        let id = post.addressee(name)?;
        Ok(Some(InOtherRoom { post, room, id }))
    }

    /// The mailbox of an address on the network whose name is gone there: the mail that went to it has its card.
    pub(super) fn formerly(&self, address: &str) -> Result<Option<(Self, MailboxId)>> {
        let Some((name, room)) = address.rsplit_once('@') else { return Ok(None) };
        let Ok(room) = network::network_room(room) else { return Ok(None) };
        let Some(there) = self.on_network(&room)? else { return Ok(None) };
        for id in there.mailbox_ids()? {
            let home = there.room.root().sub(id.as_str())?;
            let card = home.read("card.json", crate::mailbox::maildir::CARD_LIMIT)?.unwrap_or_default();
            let is_it = Registry::parse(&card).is_ok_and(|card| matches!(card.lookup(name), Ok(Some(_))));
            if is_it || id.as_str() == name {
                return Ok(Some((there, id)));
            }
        }
        Ok(None)
    }

    /// The room that a message came from, if it is another one.
    pub(super) fn origin(&self, asked: &Envelope) -> Result<Option<Self>> {
        let Some(room) = asked.extra(FROM_ROOM) else { return Ok(None) };
        if asked.extra(FROM_NETWORK).is_some() {
            let unknown = || Error::UnknownRoom { name: crate::message::visible::clip(room, 80) };
            let name = network::network_room(room).map_err(|_| unknown())?;
            return self.on_network(&name)?.ok_or_else(unknown).map(Some);
        }
        if self.room_name().as_deref() == Some(room) {
            return Ok(None);
        }
        let named = RoomName::parse(room);
        let name = named.map_err(|why| Error::BadName { what: FROM_ROOM, text: room.to_owned(), why })?;
        self.there(&name).map(Some)
    }

    /// Whether a message came by a network from a room that has the name of a room of this machine: who says that name means the latter.
    pub fn is_from_hidden_room(&self, envelope: &Envelope) -> bool {
        let room = envelope.extra(FROM_ROOM).filter(|_| envelope.extra(FROM_NETWORK).is_some());
        let name = room.and_then(|room| RoomName::parse(room).ok());
        name.is_some_and(|name| self.there(&name).is_ok_and(|there| !there.is_on_network()))
    }

    /// A mailbox of this room as sender, in the form for the room that the message goes to.
    pub(super) fn sender<'a>(&self, mailbox: &'a Mailbox, there: Option<&Self>) -> Sender<'a> {
        let room = there.and_then(|there| match &there.network {
            Some(joined) => Some(joined.room().to_owned()),
            None => self.room_name(),
        });
        Sender { id: mailbox.id(), mailbox: Some(mailbox), room, network: None }
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
