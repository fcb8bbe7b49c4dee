//! Names travel: what a room tells about itself, signed, and what is kept of the news of others.
//!
//! News of a room become the registry of the mail on its way there, so that its names can be written to and suggested. They
//! are bounded: a room with ten thousand names is known by the first of them.
//!
//! ```text
//! <root>/.courier/rooms/NETWORK/NAME/.other-key.json   the key of news that were not taken, because another one is accepted
//! ```

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::keys::PublicKey;
use super::member::Member;
use super::{Error, Result};
use crate::clock::Timestamp;
use crate::mailbox::{Dir, IfAny};
use crate::message::visible;
use crate::name::{MailboxId, Name, RoomName, fold};
use crate::network::{self, NetworkName, News, Resident};
use crate::post::{Names, Post};
use crate::registry::{self, Entry};
use crate::room::Room;

/// The most names of one room, and the most rooms.
const MOST: usize = 1000;
const MOST_ROOMS: usize = 200;
/// A file beside the news of a room.
const OTHER_KEY: &str = ".other-key.json";
const KEY_LIMIT: u64 = 4096;
/// The longest news that is read.
pub(super) const LONGEST: usize = 512 * 1024;

/// News with the signature of its room.
#[derive(Debug, Serialize, Deserialize)]
struct SignedNews {
    signature: String,
    news: String,
}

/// The key of news that were not taken.
#[derive(Debug, Serialize, Deserialize)]
struct OtherKey {
    key: PublicKey,
}

/// The news of this room, as the value of its key.
pub(super) fn compose(post: &Post, member: &Member) -> Result<(Vec<Resident>, Vec<u8>)> {
    let listed = post.names(&Names::default())?;
    let names: Vec<Resident> = listed
        .into_iter()
        .take(MOST)
        .map(|listed| Resident {
            name: listed.name,
            id: listed.id.to_string(),
            aliases: listed.aliases,
            about: listed.about.map(|about| visible::clip(&about, 200)),
            harness: listed.harness,
            in_session: listed.in_session,
        })
        .collect();
    let news = News {
        v: 1,
        network: member.network.to_string(),
        room: member.room.to_string(),
        key: member.key.public().as_str().to_owned(),
        at: post.room().clock().now().precise(),
        names: names.clone(),
        heard: String::new(),
    };
    let news = serde_json::to_string(&news).unwrap_or_default();
    let signed = SignedNews { signature: member.key.sign_news(news.as_bytes()), news };
    Ok((names, serde_json::to_vec(&signed).unwrap_or_default()))
}

/// Reads the news under the key of a room. An error says why it is not taken.
pub(super) fn read(
    member: &Member,
    room: &str,
    value: &[u8],
) -> std::result::Result<(News, PublicKey), String> {
    if value.len() > LONGEST {
        return Err("its news is too long".to_owned());
    }
    let signed: SignedNews = serde_json::from_slice(value).map_err(|e| e.to_string())?;
    let news: News = serde_json::from_str(&signed.news).map_err(|e| e.to_string())?;
    if news.room != room || news.network != member.network.as_str() {
        return Err("its news is of another room".to_owned());
    }
    let key = PublicKey::parse(&news.key).ok_or("its key is not valid")?;
    if !key.has_signed_news(signed.news.as_bytes(), &signed.signature) {
        return Err("the signature of its news is wrong".to_owned());
    }
    Ok((news, key))
}

/// Keeps the news of another room. `accepted`: its key, if the person accepted it.
pub(super) fn keep(
    post: &Post,
    (network, room): (&NetworkName, &RoomName),
    (news, key): (News, PublicKey),
    accepted: Option<&PublicKey>,
) -> Result<()> {
    let root = post.room().path();
    let place = network::peer_root(root, network, room);
    if let Some(accepted) = accepted.filter(|accepted| **accepted != key) {
        let (old, new) = (accepted.fingerprint(), key.fingerprint());
        // Only a room that was known can have been accepted.
        if let Some(there) = Dir::look(&place).if_any()? {
            there.replace(OTHER_KEY, &serde_json::to_vec(&OtherKey { key }).unwrap_or_default())?;
        }
        return Err(Error::Server {
            what: format!("nothing, but the room {room} shows another key"),
            why: format!("accepted was {old}, and this is {new}"),
        });
    }
    let known = network::peers(root, network)?;
    if !known.contains(room) && known.len() >= MOST_ROOMS {
        return Err(Error::Server { what: format!("the room {room}"), why: "too many rooms".to_owned() });
    }
    let now = post.room().clock().now();
    let before = News::of(root, network, room).ok().flatten();
    let there = Room::open_or_make(&place, post.room().shared_clock()).map_err(crate::post::Error::from)?;
    let news = News { heard: now.to_string(), names: plain(&news.names), ..news };
    if before.is_none_or(|before| before.names != news.names) {
        register(there.root(), &place, &news, now)?;
    }
    news.keep(there.root())?;
    there.root().remove(OTHER_KEY).if_any()?;
    Ok(())
}

/// Whether a room shows another key than the accepted one. Reads none of its news.
pub(super) fn shows_other_key(
    root: &Path,
    network: &NetworkName,
    room: &RoomName,
    accepted: &PublicKey,
) -> Result<bool> {
    let Some(there) = Dir::look(&network::peer_root(root, network, room)).if_any()? else { return Ok(false) };
    Ok(other_key(&there)?.is_some_and(|other| other != *accepted))
}

fn other_key(there: &Dir) -> Result<Option<PublicKey>> {
    let bytes = there.read(OTHER_KEY, KEY_LIMIT)?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice::<OtherKey>(&bytes).ok()).map(|other| other.key))
}

/// The key that a room showed last, also if its news were not taken because of it.
pub fn shown_key(root: &Path, network: &NetworkName, room: &RoomName) -> Result<Option<PublicKey>> {
    let Some(there) = Dir::look(&network::peer_root(root, network, room)).if_any()? else { return Ok(None) };
    if let Some(other) = other_key(&there)? {
        return Ok(Some(other));
    }
    // News that cannot be read show none.
    let news = News::of(root, network, room).ok().flatten();
    Ok(news.and_then(|news| PublicKey::parse(&news.key)))
}

/// The names that can be names here, each once.
fn plain(names: &[Resident]) -> Vec<Resident> {
    let mut taken = std::collections::HashSet::new();
    let is_good =
        |resident: &Resident| Name::parse(&resident.name).is_ok() && MailboxId::parse(&resident.id).is_ok();
    let mut kept = vec![];
    for resident in names.iter().filter(|resident| is_good(resident)).take(MOST) {
        if taken.contains(&resident.id) || !taken.insert(fold(&resident.name)) {
            continue;
        }
        taken.insert(resident.id.clone());
        let mut aliases: Vec<String> =
            resident.aliases.iter().take(16).filter(|alias| Name::parse(alias).is_ok()).cloned().collect();
        aliases.retain(|alias| taken.insert(fold(alias)));
        kept.push(Resident {
            about: resident.about.as_ref().map(|about| visible::clip(about, 200)),
            harness: visible::clip(&resident.harness, 40),
            aliases,
            ..resident.clone()
        });
    }
    kept
}

/// Writes the registry of the mail on its way. Mailboxes with mail stay, also if their names are gone.
fn register(there: &Dir, place: &Path, news: &News, now: Timestamp) -> Result<()> {
    let wrong =
        |e: registry::Error| Error::Settings { path: there.path().display().to_string(), why: e.to_string() };
    let mut editing = registry::Editing::begin(there).map_err(wrong)?;
    let mut entries = vec![];
    for resident in &news.names {
        let Some(entry) = resident.entry() else { continue };
        let inbox = place.join(entry.id.as_str()).join("inbox");
        let entry = Entry { inbox: inbox.display().to_string(), created: now.to_string(), ..entry };
        entries.push(entry);
    }
    editing.registry.entries = entries;
    editing.commit().map_err(wrong)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_names_and_wrong_ones_are_cut() {
        let resident = |name: &str, id: &str| Resident {
            name: name.to_owned(),
            id: id.to_owned(),
            aliases: vec![],
            about: None,
            harness: String::new(),
            in_session: false,
        };
        let mut names = vec![
            resident("../x", "a-1"),
            resident("ok", "../../etc"),
            resident("bob", "bob-1"),
            resident("BOB", "bob-2"),
            resident("eve", "bob-1"),
        ];
        assert_eq!(plain(&names).iter().map(|r| r.name.as_str()).collect::<Vec<_>>(), ["bob"]);
        names.extend((0..10_000).map(|n| resident(&format!("n{n}"), &format!("n{n}-1"))));
        assert!(plain(&names).len() <= MOST);
    }

    #[test]
    fn a_key_that_is_not_accepted_is_shown_until_news_with_the_accepted_one_come() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("room");
        let clock = std::sync::Arc::new(crate::clock::SystemClock);
        let post = Post::open_or_make(&root, crate::post::Caller::default(), clock).unwrap();
        let (team, laptop) = (NetworkName::parse("team").unwrap(), network::network_room("laptop").unwrap());
        let key = |byte: u8| super::super::keys::RoomKey::from_seed(&[byte; 32]).unwrap().public();
        let hear = |key: &PublicKey, accepted: Option<&PublicKey>| {
            let news = News {
                v: 1,
                network: "team".into(),
                room: "laptop".into(),
                key: key.as_str().to_owned(),
                at: String::new(),
                names: vec![],
                heard: String::new(),
            };
            keep(&post, (&team, &laptop), (news, key.clone()), accepted)
        };
        let (old, new) = (key(1), key(2));
        assert_eq!(shown_key(&root, &team, &laptop).unwrap(), None);
        hear(&old, None).unwrap();
        assert_eq!(shown_key(&root, &team, &laptop).unwrap(), Some(old.clone()));
        hear(&new, Some(&old)).unwrap_err();
        assert_eq!(shown_key(&root, &team, &laptop).unwrap(), Some(new.clone()));
        assert_eq!(News::of(&root, &team, &laptop).unwrap().unwrap().key, old.as_str());
        hear(&old, Some(&old)).unwrap();
        assert_eq!(shown_key(&root, &team, &laptop).unwrap(), Some(old.clone()));
        hear(&new, Some(&old)).unwrap_err();
        hear(&new, Some(&new)).unwrap();
        hear(&new, None).unwrap();
        assert_eq!(shown_key(&root, &team, &laptop).unwrap(), Some(new));
    }
}
