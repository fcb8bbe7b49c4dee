//! Keys: each room signs what it sends with an Ed25519 key of its own, and knows others by theirs. Pure.
//!
//! A signature covers the network, both rooms, the key of the parcel and its exact bytes, so a signed parcel says nothing in
//! another network, to another room or under another id.

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use super::parcel::Address;
use crate::hex;

/// What is signed begins with this, so that no other protocol's bytes are a parcel.
const DOMAIN: &str = "postroom courier 1";

/// The key of this room.
pub struct RoomKey {
    pair: Ed25519KeyPair,
}

impl std::fmt::Debug for RoomKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RoomKey").field("public", &self.public().fingerprint()).finish()
    }
}

impl RoomKey {
    /// A key from 32 secret bytes.
    pub fn from_seed(seed: &[u8]) -> Option<Self> {
        Some(Self { pair: Ed25519KeyPair::from_seed_unchecked(seed).ok()? })
    }

    pub fn public(&self) -> PublicKey {
        PublicKey(hex::of(self.pair.public_key().as_ref()))
    }

    /// Signs a parcel.
    pub fn sign(&self, address: &Address<'_>, payload: &[u8]) -> String {
        hex::of(self.pair.sign(&covered(address, payload)).as_ref())
    }

    /// Signs the news of this room.
    pub fn sign_news(&self, payload: &[u8]) -> String {
        hex::of(self.pair.sign(&covered_news(payload)).as_ref())
    }
}

/// The key of a room, as 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicKey(String);

impl PublicKey {
    pub fn parse(text: &str) -> Option<Self> {
        let plain =
            text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        plain.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What people compare: the digest of the key in groups of four digits.
    pub fn fingerprint(&self) -> String {
        let digits = hex::digest(&self.0, 16);
        let groups: Vec<&str> = (0..8).map(|at| &digits[4 * at..4 * at + 4]).collect();
        groups.join(" ")
    }

    /// Whether this key signed the parcel.
    pub fn has_signed(&self, address: &Address<'_>, payload: &[u8], signature: &str) -> bool {
        self.verifies(&covered(address, payload), signature)
    }

    pub fn has_signed_news(&self, payload: &[u8], signature: &str) -> bool {
        self.verifies(&covered_news(payload), signature)
    }

    fn verifies(&self, covered: &[u8], signature: &str) -> bool {
        let (Some(key), Some(signature)) = (hex::bytes(&self.0), hex::bytes(signature)) else { return false };
        UnparsedPublicKey::new(&ED25519, key).verify(covered, &signature).is_ok()
    }
}

/// The exact bytes under a signature. No part but the last can contain a zero byte.
fn covered(address: &Address<'_>, payload: &[u8]) -> Vec<u8> {
    let Address { network, from, to, key } = address;
    [DOMAIN, network.as_str(), from, to, key]
        .iter()
        .flat_map(|part| part.bytes().chain([0]))
        .chain(payload.iter().copied())
        .collect()
}

fn covered_news(payload: &[u8]) -> Vec<u8> {
    [DOMAIN.as_bytes(), b" news\0", payload].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::NetworkName;

    #[test]
    fn a_signature_is_good_for_one_address_and_one_text() {
        let key = RoomKey::from_seed(&[7; 32]).unwrap();
        let (team, other) = (NetworkName::parse("team").unwrap(), NetworkName::parse("other").unwrap());
        let address = Address { network: &team, from: "laptop", to: "build", key: "id/bob" };
        let signature = key.sign(&address, b"text");
        let public = PublicKey::parse(key.public().as_str()).unwrap();
        assert!(public.has_signed(&address, b"text", &signature));
        for (address, payload) in [
            (address, b"texT".as_slice()),
            (Address { network: &other, ..address }, b"text"),
            (Address { from: "laptoq", ..address }, b"text"),
            (Address { to: "main", ..address }, b"text"),
            (Address { key: "id/eve", ..address }, b"text"),
        ] {
            assert!(!public.has_signed(&address, payload, &signature), "{address:?}");
        }
        let stranger = RoomKey::from_seed(&[8; 32]).unwrap().public();
        assert!(!stranger.has_signed(&address, b"text", &signature));
        for wrong in ["", "zz", "é", &signature[2..], &signature.repeat(9)] {
            assert!(!public.has_signed(&address, b"text", wrong), "{wrong}");
        }
        assert!(!public.has_signed_news(b"text", &signature));
        assert!(public.has_signed_news(b"text", &key.sign_news(b"text")));
    }

    #[test]
    fn a_fingerprint_can_be_read_aloud() {
        let public = RoomKey::from_seed(&[7; 32]).unwrap().public();
        let groups: Vec<_> = public.fingerprint().split(' ').map(str::len).collect();
        assert_eq!(groups, [4; 8]);
        assert_eq!(PublicKey::parse("../x"), None);
    }
}
