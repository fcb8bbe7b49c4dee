//! Presence: whether the agent of a mailbox seems to be there. Never *dead*, because inside agents' sandboxes
//! process ids mean nothing: a held lock or a recent sign is life, everything else is silence.

use std::time::Duration;

use super::lock::{Hold, Lock};
use super::maildir::Maildir;
use super::reading::mtime;
use crate::clock::Timestamp;

/// How long after its last command a mailbox counts as alive.
const ALIVE: Duration = Duration::from_secs(600);

/// Whether anyone seems to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Alive,
    SilentSince(Timestamp),
    NeverSeen,
}

impl Maildir {
    /// Says that this mailbox's agent was here. Nothing depends on it, so failure is no matter.
    pub fn mark_seen(&self) {
        let _ = self.dir().touch("seen");
    }

    /// Held by a resident process as long as it lives.
    pub fn stay_alive(&self) -> Option<Lock> {
        self.dir().try_lock(".alive", Hold::Together).ok().flatten()
    }

    /// Whether a process waits for its mail this moment.
    pub fn is_waited_on(&self) -> bool {
        self.dir().stat(".alive").is_ok() && matches!(self.dir().try_lock(".alive", Hold::Alone), Ok(None))
    }

    pub fn presence(&self, now: Timestamp) -> Presence {
        let resident = self.is_waited_on();
        match self.dir().stat("seen").map(|stat| mtime(&stat)) {
            _ if resident => Presence::Alive,
            Ok(seen) if now.since(seen) < ALIVE => Presence::Alive,
            Ok(seen) => Presence::SilentSince(seen),
            Err(_) => Presence::NeverSeen,
        }
    }
}
