//! Which parcels were let in: a log of digests, and a filter of fixed size over it.
//!
//! ```text
//! <root>/.courier/received/NUMBER.ids    digests of letters, 16 bytes each; the last log is continued
//!                         /settled.ids   digests of letters that nothing waits for
//! ```
//!
//! A letter is noted here before it is delivered, so what is not here was never delivered, and needs no search in a mailbox
//! that may be large. What is here may have been delivered: then the mailbox is searched, and says. The filter may take a new
//! letter for a known one; that costs a search and nothing else. Letters are noted without their room: one of another room with the
//! same id and recipient is found in the mailbox, and the second is refused. No mailbox can say of a letter that nothing waits for it, so
//! these are known exactly; of too many, the older half is forgotten, and their room is asked again.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use crate::mailbox::{Dir, Error, IfAny};

const FOLDER: &str = "received";
const SETTLED: &str = "settled.ids";
const DIGEST: usize = 16;
/// The size of the filter, a power of two: 16 MiB, good for some ten million letters.
const BITS: u64 = 1 << 27;
const PROBES: u64 = 6;
/// The most bytes of one log. Then the next is begun.
const LOG: u64 = 64 * 1024 * 1024;
/// How much of a log is read at once.
const PIECE: usize = 1024 * 1024;
/// The most settled letters that are known.
const MOST_SETTLED: usize = 100_000;

#[derive(Debug)]
pub(super) struct Received {
    dir: Dir,
    filter: Vec<u64>,
    current: u32,
    settled: HashSet<[u8; DIGEST]>,
}

impl Received {
    /// Opens the logs below the courier's folder of a room.
    pub(super) fn open(courier: &Dir) -> Result<Self, Error> {
        let dir = courier.create_dir_synced(FOLDER)?;
        let filter = vec![0; (BITS / 64) as usize];
        let mut received = Self { dir, filter, current: 0, settled: HashSet::new() };
        for name in &received.dir.names(|name, _| number(name).is_some())? {
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
            received.current = received.current.max(number(name).unwrap_or_default());
        }
        // A process that was killed may have written a note and not synced it.
        if received.dir.stat(&file(received.current)).if_any()?.is_some() {
            received.dir.sync_file(&file(received.current))?;
            received.dir.sync()?;
        }
        received.settled = digests(&received.dir)?.into_iter().collect();
        Ok(received)
    }

    /// Whether a letter with this key may have been let in before.
    pub(super) fn knows(&self, key: &str) -> bool {
        probes(&digest("", key)).all(|bit| self.filter[(bit / 64) as usize] & (1 << (bit % 64)) != 0)
    }

    /// Notes letters, and makes the notes durable. `true` for each that may have been there before.
    pub(super) fn note<'a>(
        &mut self,
        letters: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<bool>, Error> {
        let (mut known, mut fresh) = (vec![], vec![]);
        for key in letters {
            let digest = digest("", key);
            let before = self.knows(key) || fresh.contains(&digest);
            known.push(before);
            fresh.extend((!before).then_some(digest));
        }
        if !fresh.is_empty() {
            // A note that was cut, by a power cut or a full disk, would shift all behind it.
            let is_good = |size: u64| size < LOG && size.is_multiple_of(DIGEST as u64);
            if !size(&self.dir, &file(self.current))?.is_none_or(is_good) {
                self.current += 1;
            }
            append(&self.dir, &file(self.current), &fresh.concat())?;
            fresh.iter().for_each(|digest| self.set(digest));
        }
        Ok(known)
    }

    /// Whether it was noted that nothing waits for a letter.
    pub(super) fn is_settled(&self, room: &str, key: &str) -> bool {
        self.settled.contains(&digest(room, key))
    }

    /// Notes that nothing waits for these letters, and makes the notes durable.
    pub(super) fn note_settled<'a>(
        &mut self,
        letters: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), Error> {
        let mut fresh: Vec<_> = letters.into_iter().map(|(room, key)| digest(room, key)).collect();
        fresh.retain(|digest| !self.settled.contains(digest));
        fresh.sort_unstable();
        fresh.dedup();
        if fresh.is_empty() {
            return Ok(());
        }
        let is_whole = size(&self.dir, SETTLED)?.is_none_or(|size| size.is_multiple_of(DIGEST as u64));
        if is_whole && self.settled.len() + fresh.len() <= MOST_SETTLED {
            append(&self.dir, SETTLED, &fresh.concat())?;
            self.settled.extend(fresh);
            return Ok(());
        }
        let mut all = digests(&self.dir)?;
        all.extend(fresh);
        if all.len() > MOST_SETTLED {
            all.drain(..all.len() - MOST_SETTLED / 2);
        }
        self.dir.replace_synced(SETTLED, &all.concat())?;
        self.settled = all.into_iter().collect();
        Ok(())
    }

    fn set(&mut self, digest: &[u8]) {
        for bit in probes(digest) {
            self.filter[(bit / 64) as usize] |= 1 << (bit % 64);
        }
    }
}

/// The settled letters on the disk, oldest first.
fn digests(dir: &Dir) -> Result<Vec<[u8; DIGEST]>, Error> {
    let bytes = dir.tail(SETTLED, (2 * MOST_SETTLED * DIGEST) as u64)?.unwrap_or_default();
    Ok(bytes.as_chunks().0.to_vec())
}

fn size(dir: &Dir, name: &str) -> Result<Option<u64>, Error> {
    Ok(dir.stat(name).if_any()?.map(|stat| u64::try_from(stat.st_size).unwrap_or(0)))
}

/// Appends to a log; durable on return.
fn append(dir: &Dir, name: &str, bytes: &[u8]) -> Result<(), Error> {
    let is_new = size(dir, name)?.is_none();
    dir.append(name, bytes)?;
    dir.sync_file(name)?;
    if is_new {
        dir.sync()?;
    }
    Ok(())
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
        assert_eq!(received.note(["1", "2", "1"]).unwrap(), [false, false, true]);
        for _ in 0..3 {
            received = Received::open(&dir).unwrap();
            assert!(received.knows("1") && received.knows("2") && !received.knows("3"));
        }
        received.note(["3"]).unwrap();
        assert!(Received::open(&dir).unwrap().knows("3"));
    }

    #[test]
    fn a_torn_note_hides_none_behind_it() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(&temp.path().canonicalize().unwrap()).unwrap();
        Received::open(&dir).unwrap().note(["1"]).unwrap();
        dir.sub(FOLDER).unwrap().append(&file(0), b"torn").unwrap();
        Received::open(&dir).unwrap().note(["2"]).unwrap();
        let received = Received::open(&dir).unwrap();
        assert!(received.knows("1") && received.knows("2"));
    }

    fn logs(dir: &Dir) -> Vec<String> {
        dir.sub(FOLDER).unwrap().names(|name, _| number(name).is_some()).unwrap()
    }

    #[test]
    fn a_new_process_continues_the_log_of_the_last_one() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(&temp.path().canonicalize().unwrap()).unwrap();
        for number in 0..5 {
            Received::open(&dir).unwrap().note([number.to_string().as_str()]).unwrap();
        }
        assert_eq!(logs(&dir), [file(0)]);
        dir.sub(FOLDER).unwrap().append(&file(0), b"torn").unwrap();
        let mut received = Received::open(&dir).unwrap();
        received.note(["5"]).unwrap();
        // A full disk tears a note in the same process.
        dir.sub(FOLDER).unwrap().append(&file(1), b"torn").unwrap();
        received.note(["6"]).unwrap();
        assert_eq!(logs(&dir), [file(0), file(1), file(2)]);
        let received = Received::open(&dir).unwrap();
        assert!((0..7).all(|number: u32| received.knows(&number.to_string())));
    }

    #[test]
    fn a_full_filter_settles_no_letter() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(&temp.path().canonicalize().unwrap()).unwrap();
        let mut received = Received::open(&dir).unwrap();
        received.filter.fill(u64::MAX);
        assert!(received.knows("1") && !received.is_settled("a", "1"));
        received.note_settled([("a", "1"), ("a", "2")]).unwrap();
        dir.sub(FOLDER).unwrap().append(SETTLED, b"torn").unwrap();
        Received::open(&dir).unwrap().note_settled([("a", "3"), ("a", "1")]).unwrap();
        let received = Received::open(&dir).unwrap();
        assert!(["1", "2", "3"].iter().all(|key| received.is_settled("a", key)));
        assert!(!received.is_settled("b", "1") && !received.is_settled("a", "4"));
    }

    #[test]
    fn settled_letters_are_bounded_and_the_newest_stay() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(&temp.path().canonicalize().unwrap()).unwrap();
        let mut received = Received::open(&dir).unwrap();
        let keys: Vec<String> = (0..=MOST_SETTLED).map(|number| number.to_string()).collect();
        received.note_settled([("a", "0")]).unwrap();
        received.note_settled(keys[..MOST_SETTLED].iter().map(|key| ("a", key.as_str()))).unwrap();
        received.note_settled([("a", keys[MOST_SETTLED].as_str())]).unwrap();
        for received in [received, Received::open(&dir).unwrap()] {
            assert_eq!(received.settled.len(), MOST_SETTLED / 2);
            assert!(received.is_settled("a", &keys[MOST_SETTLED]) && !received.is_settled("a", "0"));
        }
    }
}
