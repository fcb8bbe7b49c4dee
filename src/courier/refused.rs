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
use crate::network::REFUSED as FOLDER;

/// The most of one room, and of all rooms.
const MOST: Share = Share { parcels: 100, bytes: 16 * 1024 * 1024 };
const MOST_OF_ALL: Share = Share { parcels: 2000, bytes: 64 * 1024 * 1024 };
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
    shares: HashMap<String, Share>,
    total: Share,
}

/// A number of files, and their bytes on the disk.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Share {
    parcels: usize,
    bytes: u64,
}

impl Share {
    fn with(self, bytes: u64) -> Self {
        Self { parcels: self.parcels + 1, bytes: self.bytes + bytes }
    }

    fn without(self, bytes: u64) -> Self {
        Self { parcels: self.parcels.saturating_sub(1), bytes: self.bytes.saturating_sub(bytes) }
    }

    fn fits(self, most: Self) -> bool {
        self.parcels <= most.parcels && self.bytes <= most.bytes
    }
}

impl Refused {
    pub(super) fn open(courier: &Dir) -> Result<Self, Error> {
        let dir = courier.create_dir_synced(FOLDER)?;
        let mut refused = Self { dir, shares: HashMap::new(), total: Share::default() };
        for name in refused.dir.names(|name, _| name.ends_with(".json") && !name.starts_with('.'))? {
            let bytes = refused.size(&name)?.unwrap_or_default();
            refused.count(room_of(&name), bytes);
        }
        Ok(refused)
    }

    fn size(&self, name: &str) -> Result<Option<u64>, Error> {
        Ok(self.dir.stat(name).if_any()?.map(|stat| u64::try_from(stat.st_size).unwrap_or(0)))
    }

    fn count(&mut self, room: &str, bytes: u64) {
        let share = self.shares.entry(room.to_owned()).or_default();
        *share = share.with(bytes);
        self.total = self.total.with(bytes);
    }

    /// Keeps a parcel, if its room has not filled its share. Durable on return.
    pub(super) fn keep(&mut self, mut parcel: RefusedParcel) -> Result<bool, Error> {
        let room = plain(&parcel.room);
        let digest = hex::digest(format!("{}\n{}", parcel.signature, parcel.payload), 8);
        let name = format!("{room}.{digest}.json");
        if parcel.payload.len() > LONGEST {
            let cut = parcel.payload.floor_char_boundary(4096);
            parcel.payload.truncate(cut);
            parcel.may_be_accepted = false;
        }
        let bytes = serde_json::to_vec(&parcel).unwrap_or_default();
        let (size, before) = (bytes.len() as u64, self.size(&name)?);
        let had = self.shares.get(&room).copied().unwrap_or_default();
        if before.is_none() && !(had.with(size).fits(MOST) && self.total.with(size).fits(MOST_OF_ALL)) {
            return Ok(false);
        }
        self.dir.replace_synced(&name, &bytes)?;
        before.into_iter().for_each(|bytes| self.discount(&room, bytes));
        self.count(&room, size);
        Ok(true)
    }

    fn discount(&mut self, room: &str, bytes: u64) {
        if let Some(share) = self.shares.get_mut(room) {
            *share = share.without(bytes);
        }
        self.total = self.total.without(bytes);
    }

    /// All of them without their payloads, oldest first. Those that cannot be read are left out.
    pub fn all(courier: &Dir) -> Result<Vec<RefusedParcel>, Error> {
        let Some(dir) = courier.sub_if_any(FOLDER)? else { return Ok(vec![]) };
        let mut all = vec![];
        for name in dir.names(|name, _| name.ends_with(".json") && !name.starts_with('.'))? {
            let bytes = dir.read(&name, LIMIT)?.unwrap_or_default();
            let parcel = serde_json::from_slice::<RefusedParcel>(&bytes);
            all.extend(parcel.map(|parcel| RefusedParcel { payload: String::new(), ..parcel }));
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
        let name = format!("{room}.{digest}.json");
        let bytes = self.size(&name)?;
        self.dir.remove(&name).if_any()?;
        bytes.into_iter().for_each(|bytes| self.discount(&room, bytes));
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
        for number in 0..MOST.parcels + 5 {
            let kept = refused.keep(parcel("../../evil", number.to_string())).unwrap();
            assert_eq!(kept, number < MOST.parcels, "{number}");
        }
        assert!(refused.keep(parcel("other", "x".into())).unwrap());
        assert_eq!(Refused::all(&dir).unwrap().len(), MOST.parcels + 1);
        let mut again = Refused::open(&dir).unwrap();
        assert!(!again.keep(parcel("evil", "new".into())).unwrap());
        // A parcel that comes again is one.
        assert!(again.keep(parcel("other", "x".into())).unwrap());
        assert_eq!(Refused::all(&dir).unwrap().len(), MOST.parcels + 1);
    }

    #[test]
    fn long_parcels_fill_a_share_by_their_bytes() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(&temp.path().canonicalize().unwrap()).unwrap();
        let mut refused = Refused::open(&dir).unwrap();
        let now = Timestamp::from_parts(1, 0);
        let parcel = |room: &str, number: usize| {
            let text = format!("{number}{}", "x".repeat(LONGEST - 10));
            RefusedParcel::new(room, "why", now, "s", text.as_bytes())
        };
        let room = usize::try_from(MOST.bytes).unwrap() / LONGEST;
        let kept = (0..room + 5).filter(|number| refused.keep(parcel("evil", *number)).unwrap()).count();
        assert_eq!(kept, room - 1);
        let mut again = Refused::open(&dir).unwrap();
        assert_eq!((again.total, again.shares["evil"]), (refused.total, refused.shares["evil"]));
        assert!(!again.keep(parcel("evil", room + 5)).unwrap());
        assert!(again.keep(parcel("evil", 0)).unwrap() && again.keep(parcel("other", 0)).unwrap());
        again.remove(&parcel("evil", 0)).unwrap();
        assert!(again.keep(parcel("evil", room + 5)).unwrap());
        assert!(Refused::all(&dir).unwrap().iter().all(|parcel| parcel.payload.is_empty()));
    }
}
