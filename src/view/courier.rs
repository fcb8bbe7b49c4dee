//! What `courier` prints.

use serde::Serialize;

#[cfg(feature = "courier")]
use crate::courier::{CourierStatus, Ended, Member, PeerStatus};

/// The membership of a room, printed by `courier join`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CourierJoined<'a> {
    /// The network.
    pub network: &'a str,
    /// The name of this room there.
    pub room: &'a str,
    /// The key of this room, as people compare it.
    pub fingerprint: String,
    /// The other rooms that are known.
    pub rooms: Vec<String>,
}

/// What was carried, printed by `courier once`, `courier run` and `courier reconcile`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CourierCarried {
    /// Letters that the server has now.
    pub sent: usize,
    /// Letters that are now in a mailbox of this room.
    pub received: usize,
    /// Something could not be sent, and waits.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

#[cfg(feature = "courier")]
impl CourierCarried {
    pub fn of(ended: Ended) -> Self {
        let Ended { sent, received, is_incomplete } = ended;
        Self { sent, received, incomplete: is_incomplete }
    }
}

/// A change of the membership, printed by `courier accept`, `courier leave` and `courier reconcile`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CourierSaid<'a> {
    /// The room that was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<&'a str>,
    /// The room whose acceptance was withdrawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked: Option<&'a str>,
    /// Its key, as people compare it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The network that was left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<&'a str>,
    /// The courier that runs was told to compare its mail with the server.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ordered: bool,
}

/// Another room of the network.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CourierPeer<'a> {
    /// Its name.
    pub room: &'a str,
    /// Whether its mail is let in. Not with a key other than the one that was accepted.
    pub accepted: bool,
    /// It shows another key than the one that was accepted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub other_key: bool,
    /// A room of this machine has the same name, and comes first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// The key that it shows, as people compare it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<&'a str>,
    /// The key that was accepted, if it shows another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_fingerprint: Option<&'a str>,
    /// How many names it has.
    pub names: usize,
    /// When its names came here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard: Option<&'a str>,
    /// Letters that wait for the network.
    pub waiting: usize,
    /// The time of the oldest one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<String>,
    /// Letters with the server, without a receipt.
    pub carried: usize,
    /// Letters that came to nothing.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: usize,
    /// Why nothing can be sent to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<&'a str>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A parcel that was not let in.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CourierRefusal<'a> {
    /// The room that it says it came from.
    pub room: &'a str,
    /// Why it was not let in.
    pub why: &'a str,
    /// When it came.
    pub at: &'a str,
}

/// The state of the courier, printed by `courier status`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CourierState<'a> {
    /// The network.
    pub network: &'a str,
    /// The name of this room there.
    pub room: &'a str,
    /// The key of this room, as people compare it.
    pub fingerprint: String,
    /// The server.
    pub server: &'a str,
    /// Its version.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub version: &'a str,
    /// Whether a courier runs.
    pub runs: bool,
    /// Whether it has a connection.
    pub connected: bool,
    /// When the server was last heard.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub contact: &'a str,
    /// Parcels that waited at the server for this room at that time.
    pub lag: u64,
    /// Why there is no connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<&'a str>,
    /// What the server does not promise.
    pub lacks: Vec<String>,
    /// The other rooms.
    pub peers: Vec<CourierPeer<'a>>,
    /// What was not let in, oldest first.
    pub refused: Vec<CourierRefusal<'a>>,
    /// How many refused parcels were not kept.
    #[serde(skip_serializing_if = "is_zero_of_many")]
    pub dropped: u64,
    /// The last remarks of the courier.
    pub remarks: &'a [String],
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero_of_many(number: &u64) -> bool {
    *number == 0
}

#[cfg(feature = "courier")]
impl<'a> CourierState<'a> {
    pub fn of(member: &'a Member, status: &'a CourierStatus) -> Self {
        let contact = &status.contact;
        let has_contact = !contact.at.is_empty();
        Self {
            network: member.network.as_str(),
            room: member.room.as_str(),
            fingerprint: member.key.public().fingerprint(),
            server: &member.url,
            version: &contact.promise.version,
            runs: status.runs,
            connected: status.runs && contact.connected,
            contact: &contact.at,
            lag: contact.lag,
            trouble: contact.trouble.as_deref(),
            lacks: if has_contact {
                contact.promise.lacks().into_iter().chain(contact.promise.doubts()).collect()
            } else {
                vec![]
            },
            peers: status.peers.iter().map(CourierPeer::of).collect(),
            refused: status
                .refused
                .iter()
                .map(|parcel| CourierRefusal { room: &parcel.room, why: &parcel.why, at: &parcel.at })
                .collect(),
            dropped: contact.dropped,
            remarks: &contact.remarks,
        }
    }
}

#[cfg(feature = "courier")]
impl<'a> CourierPeer<'a> {
    fn of(peer: &'a PeerStatus) -> Self {
        let way = &peer.on_the_way;
        Self {
            room: way.room.as_str(),
            accepted: peer.is_accepted,
            other_key: peer.has_other_key,
            hidden: way.is_hidden,
            fingerprint: peer.fingerprint.as_deref(),
            accepted_fingerprint: peer.accepted_fingerprint.as_deref().filter(|_| peer.has_other_key),
            names: way.news.as_ref().map_or(0, |news| news.names.len()),
            heard: way.news.as_ref().map(|news| news.heard.as_str()),
            waiting: way.waiting,
            oldest: way.oldest.map(|oldest| oldest.to_string()),
            carried: way.carried,
            failed: way.failed,
            trouble: peer.trouble.as_deref(),
        }
    }
}
