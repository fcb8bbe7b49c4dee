//! The courier: carries mail between rooms of different machines, over NATS JetStream.
//!
//! It is a face: it talks to a server. What it carries, and where that is kept, is in [`crate::network`] and [`crate::post`].
//! Agents need neither it nor a network: they write into the mail on its way, and read their own mailboxes.
//!
//! `parcel`, `keys` and `subjects` are the form of what travels, and pure. `member` is what the person decided: the server, the
//! credentials, the accepted rooms. `outgoing` and `arrival` are the two directions on the disk, synchronous like all mail.
//! `nats` is the connection.

mod aging;
mod arrival;
mod contact;
mod keys;
mod later;
mod member;
mod names;
mod nats;
mod outgoing;
mod parcel;
mod received;
mod refused;
mod resolve;
mod run_lock;
mod status;
mod subjects;

use thiserror::Error as ThisError;

pub use aging::EXPIRY;
pub use contact::{Contact, PeerSeen, Promise};
pub use keys::{PublicKey, RoomKey};
pub use member::{Credentials, Member, Members, Secret};
pub use names::shown_key;
pub use nats::{Courier, Ended, ServerUrl, Stop, order_reconcile, wake};
pub use refused::{Refused, RefusedParcel};
pub use status::{CourierStatus, PeerStatus};

/// Why the courier could not do something.
#[derive(Debug, ThisError)]
pub enum Error {
    #[error(transparent)]
    Post(#[from] crate::post::Error),
    #[error("{path}: {why}")]
    Settings { path: String, why: String },
    #[error("{url}: {why}")]
    Url { url: String, why: String },
    #[error("cannot reach {server}: {why}")]
    Unreachable { server: String, why: String },
    #[error("the server refused {what}: {why}")]
    Server { what: String, why: String },
    #[error("this room has joined no network")]
    NotJoined,
    #[error("another courier runs for this room")]
    Running,
    #[error("the room {room} is not known on the network")]
    UnknownPeer { room: String },
    #[error("the name {room} is taken on this network, by a room with the key {fingerprint}")]
    NameTaken { room: String, fingerprint: String },
}

impl From<crate::mailbox::Error> for Error {
    fn from(e: crate::mailbox::Error) -> Self {
        Self::Post(e.into())
    }
}

pub type Result<T> = std::result::Result<T, Error>;
