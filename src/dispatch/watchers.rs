//! Watchers: the dispatchers that stay, so that others see that one has died.
//!
//! ```text
//! .dispatch/watchers/<id>   {"v":1,"pid":…,"since":…,"project":…,"only":[…]}, flocked by the dispatcher while it lives
//! ```
//!
//! A dispatcher that is stopped removes its file. A file without a lock holder is left by one that was killed, or went
//! down with the machine. The process that gets its lock removes it, so a death is seen once.

use serde::{Deserialize, Serialize};

use super::runs::Runs;
use crate::clock::Timestamp;
use crate::mailbox::IfAny;
use crate::mailbox::fault::Result;
use crate::mailbox::lock::{Hold, Lock};
use crate::random;

const FOLDER: &str = "watchers";
const LIMIT: u64 = 64 * 1024;

/// What a dispatcher says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watcher {
    pub v: u32,
    pub pid: u32,
    pub since: String,
    /// Where it works.
    pub project: String,
    /// The agents it works for; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
}

impl Watcher {
    /// Whether it starts this agent.
    pub fn serves(&self, agent: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == agent)
    }
}

/// The dispatchers of a room that stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watchers {
    pub alive: Vec<Watcher>,
    /// Dispatchers that were killed. No command has reported them yet.
    pub dead: Vec<Watcher>,
}

/// A dispatcher that stays, as long as this is held.
#[derive(Debug)]
pub struct Watching {
    id: String,
    _lock: Lock,
}

impl Runs {
    /// Says that this process is a dispatcher that stays.
    pub fn begin_watching(&self, project: &str, only: &[String], now: Timestamp) -> Result<Watching> {
        let dir = self.dir.create_dir_synced(FOLDER)?;
        loop {
            let id = random::hex();
            // Another process may look at the new file before it is locked; then it is made again.
            let Some(lock) = dir.try_lock(&id, Hold::Alone)? else {
                let _ = dir.remove(&id);
                continue;
            };
            let (pid, since) = (std::process::id(), now.precise());
            let watcher = Watcher { v: 1, pid, since, project: project.to_owned(), only: only.to_vec() };
            dir.append(&id, &serde_json::to_vec(&watcher).unwrap_or_default())?;
            return Ok(Watching { id, _lock: lock });
        }
    }

    /// This dispatcher was stopped.
    pub fn end_watching(&self, watching: Watching) {
        let _ = self.dir.sub(FOLDER).and_then(|dir| dir.remove(&watching.id));
    }

    /// The dispatchers that stay. Changes nothing.
    pub fn watchers(&self) -> Result<Watchers> {
        let mut found = Watchers::default();
        for id in self.names(FOLDER)? {
            let dir = self.dir.sub(FOLDER)?;
            let left = dir.try_left_lock(&id)?;
            let bytes = dir.read(&id, LIMIT).if_any()?.flatten().unwrap_or_default();
            // One that is just beginning or ending is in neither list.
            let Ok(watcher) = serde_json::from_slice(&bytes) else { continue };
            if left.is_some() { found.dead.push(watcher) } else { found.alive.push(watcher) }
        }
        found.alive.sort_by(|one, other| one.since.cmp(&other.since));
        Ok(found)
    }

    /// Dispatchers that died since somebody last looked. Each is returned once, whichever process looks.
    pub fn take_dead_watchers(&self) -> Result<Vec<Watcher>> {
        let mut dead = vec![];
        for id in self.names(FOLDER)? {
            let dir = self.dir.sub(FOLDER)?;
            let Some(_lock) = dir.try_left_lock(&id)? else { continue };
            let bytes = dir.read(&id, LIMIT).if_any()?.flatten().unwrap_or_default();
            if dir.remove(&id).if_any()?.is_some() {
                // One that was killed before it wrote anything is a dead dispatcher, too.
                dead.push(serde_json::from_slice(&bytes).unwrap_or_default());
            }
        }
        Ok(dead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, SystemClock};
    use crate::room::Room;

    #[test]
    fn a_death_is_seen_once_and_a_stop_is_none() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("room");
        let room = Room::open_or_make(&path, std::sync::Arc::new(SystemClock)).unwrap();
        let (runs, others) = (Runs::open(&room).unwrap(), Runs::open(&room).unwrap());
        let (now, only) = (SystemClock.now(), ["bob".to_owned()]);
        assert!(others.take_dead_watchers().unwrap().is_empty());
        let (one, other) = (
            runs.begin_watching("/srv", &[], now).unwrap(),
            runs.begin_watching("/srv", &only, now).unwrap(),
        );
        assert!(others.take_dead_watchers().unwrap().is_empty(), "both live");
        let alive = others.watchers().unwrap().alive;
        assert_eq!(alive.iter().filter(|one| one.serves("alice")).count(), 1, "the other has only bob");
        runs.end_watching(one);
        drop(other);
        let found = others.watchers().unwrap();
        assert_eq!((found.alive.len(), found.dead.len()), (0, 1), "a look takes nothing");
        let dead = others.take_dead_watchers().unwrap();
        assert_eq!((dead.len(), dead[0].project.as_str()), (1, "/srv"));
        assert!(runs.take_dead_watchers().unwrap().is_empty());
    }
}
