//! Suspects: messages that met an outage, and the evidence that the outage was their own.
//!
//! ```text
//! .dispatch/suspects/<name>   {"v":1,"mailbox":…,"file":…,"met":…,"outlived":…,"strikes":…}
//! ```
//!
//! A provider that fails for one message looks like a provider that is down. Other messages tell the difference: an answer
//! to one of them, by a run that began after the outage, is a strike against every suspect of that agent. So a suspect is
//! probed after all others, and after some strikes its outages are failures of its own: they count as attempts and pause
//! nobody. A message that ends is no longer a suspect.

use serde::{Deserialize, Serialize};

use super::paused::PauseKind;
use super::runs::{Runs, key};
use crate::clock::Timestamp;
use crate::mailbox::fault::Result;

const FOLDER: &str = "suspects";
const LIMIT: u64 = 64 * 1024;

/// The strikes after which a message is to blame. A provider that comes and goes can meet one message twice.
const STRIKES: u32 = 2;

/// How long a message is suspected after its last outage: its mail may have been read by hand since.
const REMEMBERED: i64 = 7 * 86_400;

/// A message that met an outage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspect {
    v: u32,
    pub mailbox: String,
    pub file: String,
    /// When it met its last outage.
    met: String,
    /// Whether another message was answered since.
    outlived: bool,
    /// How often that was so.
    strikes: u32,
}

impl Suspect {
    pub(super) fn met(&self) -> Timestamp {
        Timestamp::parse(&self.met).unwrap_or_else(|| Timestamp::from_parts(0, 0))
    }
}

impl Runs {
    /// All suspects of the room.
    pub fn suspects(&self) -> Result<Vec<Suspect>> {
        let names = self.names(FOLDER)?;
        if names.is_empty() {
            return Ok(vec![]);
        }
        let dir = self.dir.sub(FOLDER)?;
        let mut found = vec![];
        for name in names {
            let bytes = dir.read(&name, LIMIT)?;
            found.extend(bytes.and_then(|bytes| serde_json::from_slice::<Suspect>(&bytes).ok()));
        }
        Ok(found)
    }

    fn suspect_of(&self, mailbox: &str, file: &str) -> Result<Option<Suspect>> {
        let dir = self.dir.create_dir_synced(FOLDER)?;
        let bytes = dir.read(&key(mailbox, file), LIMIT)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Suspects a message: it met an outage now.
    pub(super) fn suspect(&self, mailbox: &str, file: &str, now: Timestamp) -> Result<()> {
        let dir = self.dir.create_dir_synced(FOLDER)?;
        let _turn = dir.lock(".lock")?;
        let strikes = self.suspect_of(mailbox, file)?.map_or(0, |known| known.strikes);
        let (mailbox, file) = (mailbox.to_owned(), file.to_owned());
        self.keep_suspect(&Suspect { v: 1, mailbox, file, met: now.precise(), outlived: false, strikes })
    }

    fn keep_suspect(&self, suspect: &Suspect) -> Result<()> {
        let text = serde_json::to_vec(suspect).unwrap_or_default();
        self.dir.sub(FOLDER)?.replace(&key(&suspect.mailbox, &suspect.file), &text)
    }

    /// Notes that a run of this mailbox, which began at this time, answered its message: a strike for each suspect
    /// that had met its outage before.
    pub(super) fn outlive(&self, mailbox: &str, began: Timestamp) -> Result<()> {
        // Without the lock at first, which nearly every run does without.
        if self.names(FOLDER)?.is_empty() {
            return Ok(());
        }
        let dir = self.dir.sub(FOLDER)?;
        let _turn = dir.lock(".lock")?;
        for mut suspect in self.suspects()?.into_iter().filter(|suspect| suspect.mailbox == mailbox) {
            if began.seconds() - suspect.met().seconds() > REMEMBERED {
                let _ = dir.remove(&key(mailbox, &suspect.file));
            } else if suspect.met() <= began && !suspect.outlived {
                (suspect.outlived, suspect.strikes) = (true, suspect.strikes.saturating_add(1));
                self.keep_suspect(&suspect)?;
            }
        }
        Ok(())
    }

    /// Whether an outage that this message meets is its own: others outlived its last ones, and none has met this one.
    pub(super) fn is_to_blame(&self, mailbox: &str, file: &str) -> Result<bool> {
        if self.names(FOLDER)?.is_empty() {
            return Ok(false);
        }
        let has_strikes = self.suspect_of(mailbox, file)?.is_some_and(|known| known.strikes >= STRIKES);
        Ok(has_strikes && self.pause_of(mailbox, PauseKind::Outage)?.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::dispatch::paused::Pause;
    use crate::room::Room;

    #[test]
    fn a_message_that_others_outlive_is_to_blame() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("room");
        let room = Room::open_or_make(&path, std::sync::Arc::new(SystemClock)).unwrap();
        let runs = Runs::open(&room).unwrap();
        let at = |second| Timestamp::from_parts(second, 0);
        let blamed = || runs.is_to_blame("m", "bad").unwrap();
        assert!(!blamed());
        runs.outlive("m", at(1)).unwrap();
        runs.suspect("m", "bad", at(10)).unwrap();
        runs.suspect("other", "bad", at(10)).unwrap();
        let strikes = || runs.suspect_of("m", "bad").unwrap().map(|known| known.strikes);
        runs.outlive("m", at(9)).unwrap();
        assert_eq!(strikes(), Some(0), "that run began before the outage");
        runs.outlive("m", at(10)).unwrap();
        runs.outlive("m", at(11)).unwrap();
        assert_eq!((strikes(), blamed()), (Some(1), false), "one outage, one strike");
        runs.suspect("m", "bad", at(20)).unwrap();
        runs.outlive("m", at(21)).unwrap();
        assert!(blamed());
        let outage = Pause::new(PauseKind::Outage, "a", "rate", at(22), Some(at(30)));
        runs.pause("m", &outage).unwrap();
        assert!(!blamed(), "another message met this outage");
        runs.unpause("m", PauseKind::Outage).unwrap();
        assert!(blamed() && !runs.is_to_blame("other", "bad").unwrap());
        runs.forget_message("m", "bad");
        assert_eq!((strikes(), blamed()), (None, false));
        runs.suspect("m", "bad", at(30)).unwrap();
        runs.outlive("m", at(31 + REMEMBERED)).unwrap();
        assert_eq!(strikes(), None, "its outage was long ago");
    }
}
