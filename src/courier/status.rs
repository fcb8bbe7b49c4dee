//! The state of a room's courier, for those who look on. Read from the disk; changes nothing.

use super::contact::Contact;
use super::keys::PublicKey;
use super::member::Member;
use super::refused::{Refused, RefusedParcel};
use super::{Result, names, run_lock};
use crate::mailbox::Dir;
use crate::network;
use crate::post::{OnTheWay, Post};

/// Another room.
#[derive(Debug)]
pub struct PeerStatus {
    pub on_the_way: OnTheWay,
    /// Whether the person accepted it, with the key that it shows now.
    pub is_accepted: bool,
    /// The key that it shows, as people compare it.
    pub fingerprint: Option<String>,
    /// It shows another key than the one that was accepted.
    pub has_other_key: bool,
    /// The key that was accepted, as people compare it.
    pub accepted_fingerprint: Option<String>,
    pub trouble: Option<String>,
}

/// The state of a courier.
#[derive(Debug)]
pub struct CourierStatus {
    pub contact: Contact,
    /// A courier runs now.
    pub runs: bool,
    pub peers: Vec<PeerStatus>,
    pub refused: Vec<RefusedParcel>,
}

impl CourierStatus {
    pub fn of(post: &Post, member: &Member) -> Result<Self> {
        let courier = Dir::open(&post.room().path().join(network::FOLDER))?;
        let contact = Contact::of(&courier)?;
        let accepted = member.peers()?;
        let mut peers = vec![];
        for on_the_way in post.on_the_way()? {
            let room = on_the_way.room.as_str();
            let known = accepted.get(room);
            // A room that was accepted and shows none has not changed its key.
            let shown = names::shown_key(post.room().path(), &member.network, &on_the_way.room)?
                .or_else(|| known.cloned());
            let has_other_key = known.is_some() && known != shown.as_ref();
            let seen = contact.peers.iter().find(|peer| peer.room == room);
            peers.push(PeerStatus {
                is_accepted: known.is_some() && !has_other_key,
                has_other_key,
                accepted_fingerprint: known.map(PublicKey::fingerprint),
                fingerprint: shown.map(|key| key.fingerprint()),
                trouble: seen.and_then(|peer| peer.trouble.clone()),
                on_the_way,
            });
        }
        let runs = run_lock::is_held(&courier)?;
        Ok(Self { contact, runs, peers, refused: Refused::all(&courier)? })
    }
}
