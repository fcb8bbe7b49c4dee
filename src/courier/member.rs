//! Membership: what the person decided about a room and its network. It lies with the person's settings, where no sandboxed
//! agent writes, and only this user can read it.
//!
//! ```text
//! <config>/courier/<digest of the room's path>/member.json   the server, the network, the name of the room there
//!                                             /key           the secret key of the room
//!                                             /peers.NETWORK.json   the accepted rooms of a network and their keys
//!                                             /creds, nkey, user, ca.pem, cert.pem, key.pem   credentials, if there are any
//!                                             /tried/        another server and its credentials, until they have worked once
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::keys::{PublicKey, RoomKey};
use super::{Error, Result};
use crate::mailbox::{Dir, IfAny};
use crate::name::RoomName;
use crate::network::{self, NetworkName};
use crate::{hex, random};

const FOLDER: &str = "courier";
const MEMBER: &str = "member.json";
const KEY: &str = "key";
const TRIED: &str = "tried";
const LIMIT: u64 = 1024 * 1024;

/// A file of credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secret {
    Creds,
    Nkey,
    User,
    Ca,
    Certificate,
    PrivateKey,
}

impl Secret {
    const ALL: [Self; 6] =
        [Self::Creds, Self::Nkey, Self::User, Self::Ca, Self::Certificate, Self::PrivateKey];

    fn file(self) -> &'static str {
        match self {
            Self::Creds => "creds",
            Self::Nkey => "nkey",
            Self::User => "user",
            Self::Ca => "ca.pem",
            Self::Certificate => "cert.pem",
            Self::PrivateKey => "key.pem",
        }
    }
}

/// The credentials of a room, as bytes of files that the person named.
pub type Credentials = Vec<(Secret, Vec<u8>)>;

/// Where memberships are kept.
#[derive(Debug, Clone)]
pub struct Members {
    dir: PathBuf,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    v: u32,
    /// The root of the room, for people.
    root: String,
    network: NetworkName,
    room: String,
    url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    monitor: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Accepted {
    key: PublicKey,
    at: String,
}

/// One room's membership.
#[derive(Debug)]
pub struct Member {
    dir: Dir,
    /// Where the server and the credentials are.
    given: Dir,
    pub network: NetworkName,
    /// The name of this room on the network.
    pub room: RoomName,
    pub url: String,
    /// Where the configuration of the server can be read.
    pub monitor: Option<String>,
    pub key: RoomKey,
}

impl Members {
    /// `config` is the directory of the person's settings.
    pub fn new(config: &Path) -> Self {
        Self { dir: config.join(FOLDER) }
    }

    fn path(&self, root: &Path) -> PathBuf {
        self.dir.join(hex::digest(root.as_os_str().as_encoded_bytes(), 8))
    }

    /// The membership of a room, if the person made one.
    pub fn of(&self, root: &Path) -> Result<Option<Member>> {
        let Some(dir) = Dir::open(&self.path(root)).if_any()? else { return Ok(None) };
        let given = Dir::open(&self.path(root))?;
        member(dir, given)
    }

    /// The membership of a room with another server and other credentials, which are not kept yet. A room keeps its key; durable on
    /// return.
    pub fn try_out(
        &self,
        root: &Path,
        (network, room): (&NetworkName, &RoomName),
        (url, monitor): (&str, Option<String>),
        credentials: &Credentials,
    ) -> Result<Member> {
        let dir = Dir::make(&self.path(root))?;
        if key_of(&dir)?.is_none() {
            let seed = hex::of(&[random::bytes(), random::bytes()].concat());
            dir.replace_synced(KEY, seed.as_bytes())?;
        }
        self.drop_tried(root)?;
        let tried = dir.create_dir_synced(TRIED)?;
        for (secret, bytes) in credentials {
            tried.replace_synced(secret.file(), bytes)?;
        }
        let (network, room, url) = (network.clone(), room.to_string(), url.to_owned());
        let kept = Kept { v: 1, root: root.display().to_string(), network, room, url, monitor };
        tried.replace_synced(MEMBER, &serde_json::to_vec(&kept).unwrap_or_default())?;
        dir.sync_parents()?;
        member(dir, tried)?.ok_or(Error::NotJoined)
    }

    /// Keeps what was tried out; durable on return.
    pub fn keep_tried(&self, root: &Path) -> Result<()> {
        let dir = Dir::open(&self.path(root))?;
        let Some(tried) = dir.sub_if_any(TRIED)? else { return Ok(()) };
        for name in Secret::ALL.map(Secret::file).into_iter().chain([MEMBER]) {
            match tried.read(name, LIMIT)? {
                Some(bytes) => dir.replace_synced(name, &bytes)?,
                None => dir.remove(name).if_any().map(drop)?,
            }
        }
        self.drop_tried(root)
    }

    /// Forgets what was tried out.
    pub fn drop_tried(&self, root: &Path) -> Result<()> {
        let Some(dir) = Dir::open(&self.path(root)).if_any()? else { return Ok(()) };
        dir.remove_tree(TRIED).if_any()?;
        Ok(dir.sync()?)
    }

    /// Forgets server and credentials. Key and accepted rooms stay, so that a later join is the same room.
    pub fn forget(&self, root: &Path) -> Result<()> {
        let Some(dir) = Dir::open(&self.path(root)).if_any()? else { return Ok(()) };
        for secret in Secret::ALL {
            dir.remove(secret.file()).if_any()?;
        }
        dir.remove(MEMBER).if_any()?;
        Ok(dir.sync()?)
    }
}

/// The membership in a directory, with the server and the credentials of another one.
fn member(dir: Dir, given: Dir) -> Result<Option<Member>> {
    let Some(bytes) = given.read(MEMBER, LIMIT)? else { return Ok(None) };
    let kept: Kept = read(&given, MEMBER, &bytes)?;
    let room = network::network_room(&kept.room).map_err(|e| wrong(&given, MEMBER, &e.to_string()))?;
    let key = key_of(&dir)?.ok_or_else(|| wrong(&dir, KEY, "the key of the room is missing"))?;
    Ok(Some(Member { network: kept.network, room, url: kept.url, monitor: kept.monitor, key, dir, given }))
}

impl Member {
    /// A file of credentials, if the person gave one.
    pub fn secret(&self, secret: Secret) -> Result<Option<Vec<u8>>> {
        Ok(self.given.read(secret.file(), LIMIT)?)
    }

    fn accepted(&self) -> Result<BTreeMap<String, Accepted>> {
        let name = self.peers_file();
        match self.dir.read(&name, LIMIT)? {
            Some(bytes) => read(&self.dir, &name, &bytes),
            None => Ok(BTreeMap::new()),
        }
    }

    /// Of this network alone: another one may have a room with the same name.
    fn peers_file(&self) -> String {
        format!("peers.{}.json", self.network)
    }

    /// The accepted rooms of this network and their keys.
    pub fn peers(&self) -> Result<BTreeMap<String, PublicKey>> {
        Ok(self.accepted()?.into_iter().map(|(room, accepted)| (room, accepted.key)).collect())
    }

    /// Accepts a room by its key; durable on return.
    pub fn accept(&self, room: &RoomName, key: &PublicKey, at: String) -> Result<()> {
        let mut peers = self.accepted()?;
        peers.insert(room.to_string(), Accepted { key: key.clone(), at });
        self.keep_accepted(&peers)
    }

    /// Withdraws the acceptance of a room; durable on return. `false` if it was not accepted.
    pub fn revoke(&self, room: &RoomName) -> Result<bool> {
        let mut peers = self.accepted()?;
        if peers.remove(room.as_str()).is_none() {
            return Ok(false);
        }
        self.keep_accepted(&peers)?;
        Ok(true)
    }

    fn keep_accepted(&self, peers: &BTreeMap<String, Accepted>) -> Result<()> {
        Ok(self.dir.replace_synced(&self.peers_file(), &serde_json::to_vec(peers).unwrap_or_default())?)
    }
}

fn key_of(dir: &Dir) -> Result<Option<RoomKey>> {
    let Some(bytes) = dir.read(KEY, LIMIT)? else { return Ok(None) };
    let seed = str::from_utf8(&bytes).ok().and_then(|text| hex::bytes(text.trim_end()));
    let key = seed.and_then(|seed| RoomKey::from_seed(&seed));
    key.map(Some).ok_or_else(|| wrong(dir, KEY, "it is not a key"))
}

fn read<T: for<'a> Deserialize<'a>>(dir: &Dir, name: &str, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|e| wrong(dir, name, &e.to_string()))
}

fn wrong(dir: &Dir, name: &str, why: &str) -> Error {
    Error::Settings { path: dir.path().join(name).display().to_string(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_room_keeps_its_key_and_loses_its_credentials_when_it_leaves() {
        let temp = tempfile::tempdir().unwrap();
        let config = temp.path().canonicalize().unwrap().join("config");
        let members = Members::new(&config);
        let (network, room) = (NetworkName::parse("team").unwrap(), network::network_room("laptop").unwrap());
        let root = Path::new("/some/room");
        assert!(members.of(root).unwrap().is_none());
        let credentials = vec![(Secret::User, b"me\nsecret\n".to_vec())];
        let member = members.try_out(root, (&network, &room), ("nats://h", None), &credentials).unwrap();
        assert!(members.of(root).unwrap().is_none());
        members.keep_tried(root).unwrap();
        let file = members.path(root).join("user");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let key = member.key.public();
        member.accept(&network::network_room("build").unwrap(), &key, "now".into()).unwrap();
        // Another server that did not work leaves the first one in place.
        let other = vec![(Secret::Nkey, b"x".to_vec())];
        let tried = members.try_out(root, (&network, &room), ("nats://typo", None), &other).unwrap();
        assert_eq!((tried.url.as_str(), tried.secret(Secret::User).unwrap()), ("nats://typo", None));
        members.drop_tried(root).unwrap();
        let kept = members.of(root).unwrap().unwrap();
        assert_eq!((kept.url.as_str(), kept.secret(Secret::Nkey).unwrap()), ("nats://h", None));
        assert!(kept.secret(Secret::User).unwrap().is_some());
        members.forget(root).unwrap();
        assert!(!file.exists() && members.of(root).unwrap().is_none());
        members.try_out(root, (&network, &room), ("nats://h", None), &vec![]).unwrap();
        members.keep_tried(root).unwrap();
        let again = members.of(root).unwrap().unwrap();
        assert_eq!((again.key.public(), again.peers().unwrap().len()), (key, 1));
        let build = network::network_room("build").unwrap();
        assert!(again.revoke(&build).unwrap() && !again.revoke(&build).unwrap());
        assert!(again.peers().unwrap().is_empty());
        // A room of that name in another network is another room.
        again.accept(&build, &again.key.public(), "now".into()).unwrap();
        let prod = NetworkName::parse("prod").unwrap();
        let elsewhere = members.try_out(root, (&prod, &room), ("nats://h", None), &vec![]).unwrap();
        assert!(elsewhere.peers().unwrap().is_empty());
    }
}
