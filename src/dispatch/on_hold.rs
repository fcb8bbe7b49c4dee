//! What is on hold: messages that wait for a time or for a person, and agents that are paused. Read once for each look.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::later::Later;
use super::paused::PauseKind;
use super::runs::{Runs, key};
use crate::clock::Timestamp;
use crate::post::Result;

/// What mail waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// The message itself is parked for a person.
    Parked,
    /// The agent is paused.
    Paused(PauseKind),
}

/// Mail that waits for a time or for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delay {
    pub agent: String,
    pub hold: Hold,
    pub why: String,
    /// Absent: a person decides.
    pub until: Option<Timestamp>,
    pub messages: usize,
}

impl Delay {
    /// Whether both say the same; how many messages wait changes all the time.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (&self.agent, &self.why, self.until) == (&other.agent, &other.why, other.until)
    }
}

/// What the records say about waiting: read once for all agents.
#[derive(Default)]
pub(super) struct OnHold {
    /// Until when single messages wait, and why, by key.
    pub(super) later: HashMap<String, Later>,
    /// Why messages wait for a person, by key.
    pub(super) parked: HashMap<String, String>,
    /// Mailboxes whose agents met an outage.
    pub(super) outages: HashSet<String>,
    pub(super) any_pause: bool,
    /// When messages met the outage of their agent, by key.
    suspects: HashMap<String, Timestamp>,
}

impl OnHold {
    pub(super) fn look(runs: &Runs, now: Timestamp) -> Result<Self> {
        let later = runs.postponed()?.into_iter().filter(|(_, later)| later.until > now);
        let parked =
            runs.parked()?.into_iter().map(|parked| (key(&parked.mailbox, &parked.file), parked.why));
        let (any_pause, outages) = runs.paused_mailboxes(PauseKind::Outage)?;
        let suspects = if outages.is_empty() { vec![] } else { runs.suspects()? };
        let suspects =
            suspects.into_iter().map(|suspect| (key(&suspect.mailbox, &suspect.file), suspect.met()));
        Ok(Self {
            suspects: suspects.collect(),
            later: later.collect(),
            parked: parked.collect(),
            outages: outages.into_iter().collect(),
            any_pause,
        })
    }

    /// The place of a message in a probe: after all messages that have not met the outage, the one that met it longest ago
    /// first. So one message for which its provider always fails does not keep the others.
    pub(super) fn probed_at(&self, mailbox: &str, file: &str) -> Option<(u8, Timestamp)> {
        Some((u8::MAX, *self.suspects.get(&key(mailbox, file))?))
    }

    /// The time until the next postponed message may be started.
    pub(super) fn due(&self, now: Timestamp) -> Option<Duration> {
        self.later.values().map(|later| later.until).min().map(|until| until.since(now))
    }
}
