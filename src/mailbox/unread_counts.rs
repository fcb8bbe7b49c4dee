//! Counts of unread mail that a resident process remembers: the page shows two hundred of them, and an arrival changes one.
//!
//! A count is remembered with the state of the directory that it came from, and counted again when that differs. A directory that
//! changed a moment ago may change again without another time of change, so its count is not remembered yet.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::Place;
use super::disk::DirState;
use super::fault::Result;
use crate::clock::Timestamp;

/// The number of unread messages, and the time of the oldest.
pub type Unread = (usize, Option<Timestamp>);

/// No clock of a file system is coarser.
const SETTLED: Duration = Duration::from_secs(3);

/// More mailboxes than this are counted anew from time to time.
const MOST: usize = 10_000;

/// What is remembered of each directory, by device and inode.
#[derive(Debug, Default)]
pub struct UnreadCounts(Mutex<HashMap<(u64, u64), (DirState, Unread)>>);

impl UnreadCounts {
    /// The unread mail of a place, counted only if that is needed.
    pub fn of(&self, place: &dyn Place, now: Timestamp) -> Result<Unread> {
        let Some(before) = place.unread_state()? else { return place.unread() };
        let counts = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, unread)) = counts().get(&before.file).filter(|(state, _)| *state == before) {
            return Ok(*unread);
        }
        // Mail that comes meanwhile changes the directory again.
        let unread = place.unread()?;
        let mut counts = counts();
        if counts.len() >= MOST {
            counts.clear();
        }
        if now.since(before.changed) > SETTLED {
            counts.insert(before.file, (before, unread));
        }
        Ok(unread)
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::mailbox::Maildir;
    use crate::mailbox::disk::Dir;
    use crate::name::MailboxId;

    #[test]
    fn mail_is_counted_when_it_comes_and_a_quiet_inbox_is_remembered() {
        let temp = tempfile::tempdir().unwrap();
        let inbox = temp.path().join("bob/inbox");
        std::fs::create_dir_all(&inbox).unwrap();
        let place =
            Maildir::open(&Dir::open(temp.path()).unwrap(), &MailboxId::parse("bob").unwrap()).unwrap();
        let put = |number: u32| {
            std::fs::write(inbox.join(format!("20260101T000000Z-{number:08x}-a.md")), "").unwrap()
        };
        let set = |time: SystemTime| std::fs::File::open(&inbox).unwrap().set_modified(time).unwrap();
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let counts = UnreadCounts::default();
        let count = |now| counts.of(&place, Timestamp::from_parts(now, 0)).unwrap().0;
        put(1);
        set(at(1000));
        // It changed a moment ago, and is counted every time.
        assert_eq!(count(1001), 1);
        put(2);
        set(at(1000));
        assert_eq!(count(1002), 2);
        // It has been quiet. Something that leaves no trace is not seen.
        assert_eq!(count(1010), 2);
        put(3);
        set(at(1000));
        assert_eq!(count(1011), 2);
        // What leaves one is.
        put(4);
        set(at(1012));
        assert_eq!(count(1012), 4);
    }
}
