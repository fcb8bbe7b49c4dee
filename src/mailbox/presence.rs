//! Presence: whether the agent of a mailbox seems to be there. It is never called *dead*, because process ids mean
//! nothing inside agents' sandboxes: a held lock or a recent sign is life, everything else is silence.

use std::time::Duration;

use super::fault::{IfAny, Result};
use super::lock::{Hold, Lock};
use super::maildir::Maildir;
use super::reading::mtime;
use crate::clock::Timestamp;

/// How long after its last command a mailbox counts as alive.
const ALIVE: Duration = Duration::from_secs(600);

/// Whether anyone seems to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// A process waits for its mail.
    Waiting,
    /// Its last command was a short time ago.
    Recent(Timestamp),
    SilentSince(Timestamp),
    NeverSeen,
}

impl Presence {
    pub fn is_alive(self) -> bool {
        matches!(self, Self::Waiting | Self::Recent(_))
    }
}

impl Maildir {
    /// Records that this mailbox's agent was here. Nothing depends on it, so errors are ignored.
    pub fn mark_seen(&self) {
        let _ = self.dir().touch("seen");
    }

    /// The lock that a resident process holds while it lives.
    pub fn stay_alive(&self) -> Option<Lock> {
        self.dir().try_lock(".alive", Hold::Together).ok().flatten()
    }

    /// Whether a process is waiting for its mail now.
    pub fn is_waited_on(&self) -> Result<bool> {
        let has_file = self.dir().stat(".alive").if_any()?.is_some();
        Ok(has_file && self.dir().try_lock(".alive", Hold::Alone)?.is_none())
    }

    pub fn presence(&self, now: Timestamp) -> Result<Presence> {
        if self.is_waited_on()? {
            return Ok(Presence::Waiting);
        }
        Ok(match self.dir().stat("seen").if_any()?.map(|stat| mtime(&stat)) {
            Some(seen) if now.since(seen) < ALIVE => Presence::Recent(seen),
            Some(seen) => Presence::SilentSince(seen),
            None => Presence::NeverSeen,
        })
    }
}
