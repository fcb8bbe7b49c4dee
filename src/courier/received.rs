//! Which parcels were let in: a log of digests, and a filter of fixed size over it.
//!
//! A letter is noted here before it is delivered, so what is not here was never delivered, and needs no search in a mailbox
//! that may be large. What is here may have been delivered: then the mailbox is searched, and says. The filter may take a new
//! letter for a known one; that costs a search and nothing else.

use sha2::{Digest, Sha256};

use crate::mailbox::{Dir, Error, IfAny};

const FOLDER: &str = "received";
const DIGEST: usize = 16;
/// The size of the filter, a power of two: 16 MiB, good for some ten million letters.
const BITS: u64 = 1 << 27;
const PROBES: u64 = 6;
/// The most bytes of one log. Then the next is begun.
const LOG: u64 = 64 * 1024 * 1024;
/// How much of a log is read at once.
const PIECE: usize = 1024 * 1024;

#[derive(Debug)]
pub(super) struct Received {
    dir: Dir,
    filter: Vec<u64>,
    current: u32,
    size: u64,
}

impl Received {
    /// Opens the logs below the courier's folder of a room.
    pub(super) fn open(courier: &Dir) -> Result<Self, Error> {
        let dir = courier.create_dir_synced(FOLDER)?;
        let mut received = Self { dir, filter: vec![0; (BITS / 64) as usize], current: 0, size: 0 };
        let names = received.dir.names(|name, _| number(name).is_some())?;
        for name in &names {
            let mut file = received.dir.open_file(name)?;
            let mut at = 0;
            loop {
                let piece = file.piece(at, PIECE)?;
                piece.chunks_exact(DIGEST).for_each(|digest| received.set(digest));
                at += (piece.len() - piece.len() % DIGEST) as u64;
                if piece.len() < PIECE {
                    break;
                }
            }
            let latest = number(name).unwrap_or_default();
            if latest >= received.current {
                (received.current, received.size) = (latest, at);
            }
        }
        // A note that was cut by a power cut would shift all behind it.
        if !received.size.is_multiple_of(DIGEST as u64) || !names.is_empty() {
            received.current += 1;
            received.size = 0;
        }
        Ok(received)
    }

    /// Whether a letter of a room may have been let in before.
    pub(super) fn knows(&self, room: &str, key: &str) -> bool {
        probes(&digest(room, key)).all(|bit| self.filter[(bit / 64) as usize] & (1 << (bit % 64)) != 0)
    }

    /// Notes letters, and makes the notes durable. `true` for each that may have been there before.
    pub(super) fn note<'a>(
        &mut self,
        letters: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Vec<bool>, Error> {
        let (mut known, mut fresh) = (vec![], vec![]);
        for (room, key) in letters {
            let digest = digest(room, key);
            let before = self.knows(room, key) || fresh.contains(&digest);
            known.push(before);
            fresh.extend((!before).then_some(digest));
        }
        let lines = fresh.concat();
        if !lines.is_empty() {
            if self.size > LOG {
                (self.current, self.size) = (self.current + 1, 0);
            }
            let name = file(self.current);
            let is_new = self.dir.stat(&name).if_any()?.is_none();
            self.dir.append(&name, &lines)?;
            self.dir.sync_file(&name)?;
            if is_new {
                self.dir.sync()?;
            }
            self.size += lines.len() as u64;
            fresh.iter().for_each(|digest| self.set(digest));
        }
        Ok(known)
    }

    fn set(&mut self, digest: &[u8]) {
        for bit in probes(digest) {
            self.filter[(bit / 64) as usize] |= 1 << (bit % 64);
        }
    }
}

fn probes(digest: &[u8]) -> impl Iterator<Item = u64> {
    let half =
        |from: usize| digest[from..from + 8].iter().fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
    let (one, other) = (half(0), half(8) | 1);
    (0..PROBES).map(move |n| one.wrapping_add(n.wrapping_mul(other)) % BITS)
}

fn digest(room: &str, key: &str) -> [u8; DIGEST] {
    let all = Sha256::new().chain_update(room).chain_update([0]).chain_update(key).finalize();
    let mut digest = [0; DIGEST];
    digest.copy_from_slice(&all[..DIGEST]);
    digest
}

fn file(number: u32) -> String {
    format!("{number:06}.ids")
}

fn number(name: &str) -> Option<u32> {
    name.strip_suffix(".ids")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_known_after_a_restart() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(&temp.path().canonicalize().unwrap()).unwrap();
        let mut received = Received::open(&dir).unwrap();
        assert_eq!(received.note([("a", "1"), ("a", "2"), ("a", "1")]).unwrap(), [false, false, true]);
        assert!(!received.knows("b", "1"));
        for _ in 0..3 {
            received = Received::open(&dir).unwrap();
            assert!(received.knows("a", "1") && received.knows("a", "2") && !received.knows("a", "3"));
        }
        received.note([("a", "3")]).unwrap();
        assert!(Received::open(&dir).unwrap().knows("a", "3"));
    }

    #[test]
    fn a_torn_note_hides_none_behind_it() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(&temp.path().canonicalize().unwrap()).unwrap();
        Received::open(&dir).unwrap().note([("a", "1")]).unwrap();
        dir.sub(FOLDER).unwrap().append(&file(0), b"torn").unwrap();
        Received::open(&dir).unwrap().note([("a", "2")]).unwrap();
        let received = Received::open(&dir).unwrap();
        assert!(received.knows("a", "1") && received.knows("a", "2"));
    }
}
