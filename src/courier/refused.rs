//! Refused parcels: what came to a room and was not let in, with the reason. A person looks at it; nothing else does.
//!
//! ```text
//! <root>/.courier/refused/ROOM.DIGEST.json   one parcel; ROOM as the subject named it
//! ```
//!
//! A stranger can fill it, so each room has a bounded share. What is beyond that is counted and dropped: its sender keeps its
//! copy, because it gets no receipt.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::parcel::Parcel;
use crate::clock::Timestamp;
use crate::hex;
use crate::mailbox::{Dir, Error, IfAny};
use crate::name::RoomName;

const FOLDER: &str = "refused";
/// The most parcels of one room, and of all rooms.
const MOST: usize = 100;
const MOST_OF_ALL: usize = 2000;
/// The longest parcel that is kept whole.
const LONGEST: usize = 1024 * 1024;
const LIMIT: u64 = 8 * 1024 * 1024;

/// A parcel that was not let in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedParcel {
    pub v: u32,
    /// The room that it says it came from.
    pub room: String,
    pub why: String,
    /// When it came.
    pub at: String,
    /// It may be let in once the person accepts its room.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_be_accepted: bool,
    pub subject: String,
    #[serde(default)]
    pub signature: String,
    /// Its bytes, as far as they are text.
    pub payload: String,
}

/// The refused parcels of a room.
#[derive(Debug)]
pub struct Refused {
    dir: Dir,
    counts: HashMap<String, usize>,
    total: usize,
}

impl Refused {
    pub(super) fn open(courier: &Dir) -> Result<Self, Error> {
        let dir = courier.create_dir_synced(FOLDER)?;
        let mut refused = Self { dir, counts: HashMap::new(), total: 0 };
        for name in refused.dir.names(|name, _| name.ends_with(".json") && !name.starts_with('.'))? {
            refused.count(room_of(&name));
        }
        Ok(refused)
    }

    fn count(&mut self, room: &str) {
        *self.counts.entry(room.to_owned()).or_default() += 1;
        self.total += 1;
    }

    /// Keeps a parcel, if its room has not filled its share. Durable on return.
    pub(super) fn keep(&mut self, mut parcel: RefusedParcel) -> Result<bool, Error> {
        let room = plain(&parcel.room);
        let digest = hex::digest(format!("{}\n{}", parcel.signature, parcel.payload), 8);
        let name = format!("{room}.{digest}.json");
        let is_known = self.dir.stat(&name).if_any()?.is_some();
        let had = self.counts.get(&room).copied().unwrap_or_default();
        if !is_known && (had >= MOST || self.total >= MOST_OF_ALL) {
            return Ok(false);
        }
        if parcel.payload.len() > LONGEST {
            let cut = parcel.payload.floor_char_boundary(4096);
            parcel.payload.truncate(cut);
            parcel.may_be_accepted = false;
        }
        self.dir.replace_synced(&name, &serde_json::to_vec(&parcel).unwrap_or_default())?;
        if !is_known {
            self.count(&room);
        }
        Ok(true)
    }

    /// All of them, oldest first. Those that cannot be read are left out.
    pub fn all(courier: &Dir) -> Result<Vec<RefusedParcel>, Error> {
        let Some(dir) = courier.sub_if_any(FOLDER)? else { return Ok(vec![]) };
        let mut all = vec![];
        for name in dir.names(|name, _| name.ends_with(".json") && !name.starts_with('.'))? {
            let bytes = dir.read(&name, LIMIT)?.unwrap_or_default();
            all.extend(serde_json::from_slice::<RefusedParcel>(&bytes));
        }
        all.sort_by(|a, b| a.at.cmp(&b.at));
        Ok(all)
    }

    /// Takes out the parcels of a room that may be let in now.
    pub(super) fn take_accepted(&mut self, room: &RoomName) -> Result<Vec<RefusedParcel>, Error> {
        let mut taken = vec![];
        for name in self.dir.names(|name, _| name.ends_with(".json") && room_of(name) == room.as_str())? {
            let bytes = self.dir.read(&name, LIMIT)?.unwrap_or_default();
            let Ok(parcel) = serde_json::from_slice::<RefusedParcel>(&bytes) else { continue };
            if parcel.may_be_accepted {
                taken.push(parcel);
            }
        }
        taken
            .sort_by_key(|parcel| Parcel::parse(parcel.payload.as_bytes()).map(|p| p.at).unwrap_or_default());
        Ok(taken)
    }

    /// Removes a parcel that was let in.
    pub(super) fn remove(&mut self, parcel: &RefusedParcel) -> Result<(), Error> {
        let room = plain(&parcel.room);
        let digest = hex::digest(format!("{}\n{}", parcel.signature, parcel.payload), 8);
        self.dir.remove(&format!("{room}.{digest}.json")).if_any()?;
        if let Some(count) = self.counts.get_mut(&room) {
            *count = count.saturating_sub(1);
        }
        self.total = self.total.saturating_sub(1);
        Ok(())
    }
}

impl RefusedParcel {
    pub(super) fn new(room: &str, why: &str, at: Timestamp, subject: &str, payload: &[u8]) -> Self {
        Self {
            v: 1,
            room: plain(room),
            why: why.to_owned(),
            at: at.precise(),
            may_be_accepted: false,
            subject: crate::message::visible::clip(subject, 200),
            signature: String::new(),
            payload: String::from_utf8_lossy(payload).into_owned(),
        }
    }
}

/// A room as part of a file name, whatever a subject called it.
fn plain(room: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let name: String = room.chars().filter(is_plain).take(48).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

fn room_of(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_fills_its_own_share_and_no_other() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(&temp.path().canonicalize().unwrap()).unwrap();
        let mut refused = Refused::open(&dir).unwrap();
        let now = Timestamp::from_parts(1, 0);
        let parcel = |room: &str, text: String| RefusedParcel::new(room, "why", now, "s", text.as_bytes());
        for number in 0..MOST + 5 {
            let kept = refused.keep(parcel("../../evil", number.to_string())).unwrap();
            assert_eq!(kept, number < MOST, "{number}");
        }
        assert!(refused.keep(parcel("other", "x".into())).unwrap());
        assert_eq!(Refused::all(&dir).unwrap().len(), MOST + 1);
        let mut again = Refused::open(&dir).unwrap();
        assert!(!again.keep(parcel("evil", "new".into())).unwrap());
        // A parcel that comes again is one.
        assert!(again.keep(parcel("other", "x".into())).unwrap());
        assert_eq!(Refused::all(&dir).unwrap().len(), MOST + 1);
    }
}
