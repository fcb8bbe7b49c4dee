//! The network of a room: what a room knows about the rooms of other machines. The courier writes it, every verb may read it.
//!
//! ```text
//! <root>/.courier/joined.json       the network, and the name of this room there
//!                /rooms/NETWORK/NAME/            mail on its way to the room NAME of a network: a room with a mailbox for each name there
//!                /rooms/NETWORK/NAME/.news.json  who is there, the key of the room, and how old this news is
//!                /contact.json      what the courier saw last: server, peers, refusals
//!                /refused/          parcels that were not let in
//!                /received/         which parcels were let in
//! ```
//!
//! Mail to another machine is a delivery into a mailbox of `rooms/NETWORK/NAME`, by the rules of every room. So sending needs no
//! network, and its state is where its file is: `inbox` waits for the network, `carried` is with the server, `archive` has
//! arrived, `failed` came to nothing. A room of another network may have the same name, and gets none of it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::mailbox::{Dir, Error, IfAny};
use crate::name::{BadName, MailboxId, RoomName};
use crate::registry::Entry;

pub const FOLDER: &str = ".courier";
const JOINED: &str = "joined.json";
const ROOMS: &str = "rooms";
const NEWS: &str = ".news.json";
pub const REFUSED: &str = "refused";
pub const CONTACT: &str = "contact.json";

/// The field of a message that names the network it came by. Only the courier sets it, after the signature of the room was
/// checked.
pub const FROM_NETWORK: &str = crate::mailbox::delivery::FROM_NETWORK;

/// The longest name of a network, and of a room on one.
const LONGEST: usize = 48;

/// The most that is read of a document here.
const LIMIT: u64 = 4 * 1024 * 1024;

type Result<T> = std::result::Result<T, Error>;

/// The name of a network: ASCII letters and digits, because it is part of the names of streams.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NetworkName(String);

impl NetworkName {
    pub fn parse(text: &str) -> std::result::Result<Self, BadName> {
        match text.chars().find(|c| !c.is_ascii_alphanumeric()) {
            Some(found) => Err(BadName::Character { found }),
            None if text.is_empty() => Err(BadName::Empty),
            None if text.len() > LONGEST => Err(BadName::TooLong { limit: LONGEST }),
            None => Ok(Self(text.to_owned())),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for NetworkName {
    type Error = BadName;

    fn try_from(text: String) -> std::result::Result<Self, BadName> {
        Self::parse(&text)
    }
}

impl From<NetworkName> for String {
    fn from(name: NetworkName) -> Self {
        name.0
    }
}

impl std::fmt::Display for NetworkName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a room on a network: a room name without a dot, because dots divide subjects.
pub fn network_room(text: &str) -> std::result::Result<RoomName, BadName> {
    if text.contains('.') {
        return Err(BadName::Character { found: '.' });
    }
    if text.len() > LONGEST {
        return Err(BadName::TooLong { limit: LONGEST });
    }
    RoomName::parse(text)
}

/// A room's membership of a network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    v: u32,
    pub network: NetworkName,
    /// The name of this room there.
    room: String,
}

impl Joined {
    pub fn new(network: NetworkName, room: &RoomName) -> Self {
        Self { v: 1, network, room: room.to_string() }
    }

    /// The network of the room with this root, if it has joined one.
    pub fn of(root: &Path) -> Result<Option<Self>> {
        let path = root.join(FOLDER).join(JOINED);
        let Some(bytes) = crate::mailbox::disk::glimpse(&path)? else { return Ok(None) };
        let broken = |why: String| Error::Content { path: path.clone(), why };
        let joined: Self = serde_json::from_slice(&bytes).map_err(|e| broken(e.to_string()))?;
        network_room(&joined.room).map_err(|e| broken(e.to_string()))?;
        Ok(Some(joined))
    }

    pub fn room(&self) -> &str {
        &self.room
    }

    /// Records the membership; durable on return.
    pub fn keep(&self, root: &Dir) -> Result<()> {
        let folder = root.create_dir_synced(FOLDER)?;
        folder.create_dir_synced(ROOMS)?.create_dir_synced(self.network.as_str())?;
        folder.replace_synced(JOINED, &serde_json::to_vec(self).unwrap_or_default())
    }

    /// Forgets the membership. Mail that waits stays where it is.
    pub fn forget(root: &Dir) -> Result<()> {
        let Some(folder) = root.sub_if_any(FOLDER)? else { return Ok(()) };
        folder.remove(JOINED).if_any()?;
        folder.sync()
    }
}

/// Where the mail for the rooms of a network is.
fn rooms(root: &Path, network: &NetworkName) -> PathBuf {
    root.join(FOLDER).join(ROOMS).join(network.as_str())
}

/// The root of the mail for a room of a network.
pub fn peer_root(root: &Path, network: &NetworkName, room: &RoomName) -> PathBuf {
    rooms(root, network).join(room.as_str())
}

/// The rooms of a network that are known here, sorted.
pub fn peers(root: &Path, network: &NetworkName) -> Result<Vec<RoomName>> {
    let Some(rooms) = Dir::look(&rooms(root, network)).if_any()? else { return Ok(vec![]) };
    let names = rooms.names(|_, kind| kind == rustix::fs::FileType::Directory)?;
    Ok(names.iter().filter_map(|name| network_room(name).ok()).collect())
}

/// Somebody in another room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resident {
    pub name: String,
    pub id: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub harness: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_session: bool,
}

impl Resident {
    /// Its entry in a registry, without an inbox; `None` if its id is none.
    pub fn entry(&self) -> Option<Entry> {
        let id = MailboxId::parse(&self.id).ok()?;
        let mut entry = Entry::new(&self.name, id, String::new(), String::new());
        entry.harness.clone_from(&self.harness);
        if let Some(about) = &self.about {
            entry.extra.insert("about".to_owned(), about.as_str().into());
        }
        if !self.aliases.is_empty() {
            entry.extra.insert("aliases".to_owned(), self.aliases.join(" ").into());
        }
        Some(entry)
    }
}

/// What a room tells the others about itself; nothing of its mail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct News {
    pub v: u32,
    pub network: String,
    pub room: String,
    /// Its public key, in hexadecimal digits.
    pub key: String,
    /// When it was written, by the clock of that room.
    pub at: String,
    #[serde(default)]
    pub names: Vec<Resident>,
    /// When it came here, by the clock of this room.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub heard: String,
}

impl News {
    /// The last news of a room, if there was any.
    pub fn of(root: &Path, network: &NetworkName, room: &RoomName) -> Result<Option<Self>> {
        let Some(dir) = Dir::look(&peer_root(root, network, room)).if_any()? else { return Ok(None) };
        let Some(bytes) = dir.read(NEWS, LIMIT)? else { return Ok(None) };
        let broken =
            |e: serde_json::Error| Error::Content { path: dir.path().join(NEWS), why: e.to_string() };
        serde_json::from_slice(&bytes).map(Some).map_err(broken)
    }

    /// Keeps the news in the outgoing room. Not durable: the courier hears it again.
    pub fn keep(&self, peer: &Dir) -> Result<()> {
        peer.replace(NEWS, &serde_json::to_vec(self).unwrap_or_default())
    }

    /// When it came here.
    pub fn heard(&self) -> Option<Timestamp> {
        Timestamp::parse(&self.heard)
    }
}

/// How many parcels were refused and kept.
pub fn refused(root: &Path) -> Result<usize> {
    let Some(dir) = Dir::look(&root.join(FOLDER).join(REFUSED)).if_any()? else { return Ok(0) };
    Ok(dir.names(|name, _| name.ends_with(".json") && !name.starts_with('.'))?.len())
}

/// What the courier noted of its last contact; its other notes are its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ContactNote {
    /// When the server was last heard.
    #[serde(default)]
    pub at: String,
    /// How many parcels waited at the server for this room then.
    #[serde(default)]
    pub lag: u64,
    /// How many parcels were refused and not kept.
    #[serde(default)]
    pub dropped: u64,
    /// Why there is no connection.
    #[serde(default)]
    pub trouble: Option<String>,
    /// What the server is known not to promise.
    #[serde(default)]
    pub lacks: Vec<String>,
}

impl ContactNote {
    /// The last note, if there is one that can be read.
    pub fn of(root: &Path) -> Result<Option<Self>> {
        let Some(dir) = Dir::look(&root.join(FOLDER)).if_any()? else { return Ok(None) };
        let bytes = dir.read(CONTACT, LIMIT)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_on_a_network_can_be_parts_of_subjects_and_streams() {
        assert!(NetworkName::parse("team1").is_ok());
        for wrong in ["", "a.b", "a_b", "a-b", "a b", "ä", &"x".repeat(49)] {
            assert!(NetworkName::parse(wrong).is_err(), "{wrong}");
        }
        assert!(network_room("build-2_x").is_ok());
        for wrong in ["", "a.b", "a*", ">", "../x", ".x", &"x".repeat(49)] {
            assert!(network_room(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_membership_is_kept_and_forgotten() {
        let temp = tempfile::tempdir().unwrap();
        let root = Dir::open(&temp.path().canonicalize().unwrap()).unwrap();
        assert_eq!(Joined::of(root.path()).unwrap(), None);
        let team = NetworkName::parse("team").unwrap();
        let joined = Joined::new(team.clone(), &network_room("laptop").unwrap());
        joined.keep(&root).unwrap();
        assert_eq!(Joined::of(root.path()).unwrap(), Some(joined));
        Joined::forget(&root).unwrap();
        assert_eq!(Joined::of(root.path()).unwrap(), None);
        assert!(peers(root.path(), &team).unwrap().is_empty());
    }
}
