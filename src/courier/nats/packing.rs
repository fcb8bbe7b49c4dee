//! Packing: letters on the disk become signed parcels and objects, in the order in which they go to the server.

use std::collections::{HashMap, HashSet};

use super::super::Result;
use super::super::outgoing::{LetterFile, Ready};
use super::super::parcel::{Content, LetterContent, ObjectRef};
use super::desk::{Desk, Pair, Sealed};
use super::send::with_room;
use crate::hex;
use crate::mailbox::Folder;
use crate::name::MailboxId;

/// The longest body inside of a parcel.
const BODY: usize = 256 * 1024;
/// The bytes of a message beside its payload.
const HEADERS: usize = 2048;
/// How many bytes of letters are held in memory at once, but for the last of them.
const LOAD: usize = 8 * 1024 * 1024;
/// Bytes beside a parcel.
pub(super) type Objects = Vec<(ObjectRef, Vec<u8>)>;

/// A letter with its parcel.
pub(super) struct Packed {
    pub(super) ready: Ready,
    pub(super) key: String,
    pub(super) pair: Pair,
    pub(super) sealed: Sealed,
    pub(super) objects: Objects,
}

/// Reads and signs letters of a window, up to some megabytes, and says of each which one it comes after. Returns how many were looked
/// at.
pub(super) fn pack(desk: &Desk, room: &str, window: &[LetterFile]) -> Result<(Vec<Packed>, usize)> {
    let packed = with_room(desk, room, |outgoing| {
        let (mut packed, mut taken, mut bytes): (Vec<Packed>, usize, usize) = (vec![], 0, 0);
        // Within this window; what is already with the server is in the tails.
        let mut last: HashMap<(String, String), String> = HashMap::new();
        let mut stuck: HashSet<&MailboxId> = HashSet::new();
        for file in window {
            if bytes >= LOAD {
                break;
            }
            taken += 1;
            // Nothing overtakes a letter that cannot be read now.
            if stuck.contains(&file.mailbox) {
                continue;
            }
            let mut ready = match outgoing.read(file) {
                Ok(Some(ready)) => ready,
                Ok(None) => continue,
                Err(e) => {
                    desk.note(|contact| contact.remark(format!("a letter cannot be read now: {e}")));
                    stuck.insert(&file.mailbox);
                    continue;
                }
            };
            let (key, (from, to)) = (ready.key(), ready.pair());
            let pair = (room.to_owned(), from.clone(), to.clone());
            let before = last.get(&(from.clone(), to.clone())).cloned();
            let tail = || desk.state().tails.get(&pair).cloned();
            ready.content.after = match file.folder {
                Folder::Inbox => before.or_else(tail).filter(|before| *before != key),
                _ => desk.state().after.get(&key).cloned().flatten(),
            };
            let Some((sealed, objects)) = sealed(desk, room, &key, &mut ready) else {
                outgoing.give_up(file, "its fields are longer than the server takes")?;
                continue;
            };
            last.insert((from, to), key.clone());
            bytes += sealed.payload.len() + objects.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
            packed.push(Packed { ready, key, pair, sealed, objects });
        }
        Ok((packed, taken))
    })?;
    Ok(packed.unwrap_or((vec![], window.len())))
}

/// Signs a letter. What is too long for a message of this server becomes an object. `None`: it is too long without its body.
fn sealed(desk: &Desk, room: &str, key: &str, ready: &mut Ready) -> Option<(Sealed, Objects)> {
    let largest = desk.state().largest.saturating_sub(HEADERS);
    let seal = |content: &LetterContent| desk.seal(room, key, Content::Letter(Box::new(content.clone())));
    let mut objects: Objects = vec![];
    let body = std::mem::take(&mut ready.body);
    let inside = (body.len() <= BODY).then(|| {
        ready.content.body.clone_from(&body);
        seal(&ready.content)
    });
    let sealed = match inside.filter(|sealed| sealed.payload.len() <= largest) {
        Some(sealed) => sealed,
        None => {
            ready.content.body = String::new();
            let bytes = body.into_bytes();
            let object = ObjectRef { sha256: hex::digest(&bytes, 32), size: bytes.len() as u64 };
            ready.content.large = Some(object.clone());
            objects.push((object, bytes));
            seal(&ready.content)
        }
    };
    for file in std::mem::take(&mut ready.files) {
        let object = ObjectRef { sha256: file.attachment.sha256.clone(), size: file.attachment.size };
        objects.push((object, file.bytes.to_vec()));
    }
    (sealed.payload.len() <= largest).then_some((sealed, objects))
}
