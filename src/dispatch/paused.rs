//! Pauses: why an agent is not started although mail waits for it, and until when.
//!
//! ```text
//! .dispatch/paused/<mailbox>.person   a person's `pause`, until `resume`
//!                 /<mailbox>.outage   its program cannot work: until the next probe
//!                 /<mailbox>.limit    `hour_runs` or `day_cost` is reached: until runs or costs are old enough
//! ```
//!
//! Each is one JSON object. The first two decide, and are durable. The third only tells: the tally decides, and a
//! dispatcher writes it so that others can say until when mail waits.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::runs::Runs;
use crate::clock::Timestamp;
use crate::mailbox::IfAny;
use crate::mailbox::fault::Result;

const FOLDER: &str = "paused";
const LIMIT: u64 = 64 * 1024;

/// The shortest and the longest time between two probes.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// What pauses an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseKind {
    Person,
    Outage,
    Limit,
}

impl PauseKind {
    pub const ALL: [Self; 3] = [Self::Person, Self::Outage, Self::Limit];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Outage => "outage",
            Self::Limit => "limit",
        }
    }
}

/// One reason why an agent is not started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    pub v: u32,
    pub kind: PauseKind,
    pub agent: String,
    pub why: String,
    pub since: String,
    /// When it is tried again; absent: when a person says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// How many runs met the outage.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: u32,
    /// When the last of them was noted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub noted: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Pause {
    pub fn new(kind: PauseKind, agent: &str, why: &str, now: Timestamp, until: Option<Timestamp>) -> Self {
        Self {
            v: 1,
            kind,
            agent: agent.to_owned(),
            why: why.to_owned(),
            since: now.precise(),
            until: until.map(Timestamp::precise),
            failures: 0,
            noted: String::new(),
        }
    }

    pub fn until(&self) -> Option<Timestamp> {
        self.until.as_deref().and_then(Timestamp::parse)
    }

    /// Whether it keeps the agent from being started now.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.until().is_none_or(|until| until > now)
    }

    /// Whether a run that began at this time can tell nothing new about the outage.
    fn was_noted_after(&self, began: Timestamp) -> bool {
        Timestamp::parse(&self.noted).is_some_and(|noted| began < noted)
    }

    /// For people: the reason, and until when.
    pub fn line(&self) -> String {
        match self.until() {
            Some(until) => format!("waits until {until}: {}", self.why),
            None => format!("paused: {}", self.why),
        }
    }
}

impl Runs {
    /// Pauses an agent. Durable on return, except for a limit.
    pub fn pause(&self, mailbox: &str, pause: &Pause) -> Result<()> {
        let dir = self.dir.create_dir_synced(FOLDER)?;
        let text = serde_json::to_vec(pause).unwrap_or_default();
        match pause.kind {
            PauseKind::Limit => dir.replace(&file(mailbox, pause.kind), &text),
            _ => dir.replace_synced(&file(mailbox, pause.kind), &text),
        }
    }

    /// Ends one pause of an agent; `false` if there was none.
    pub fn unpause(&self, mailbox: &str, kind: PauseKind) -> Result<bool> {
        let removed = self.dir.sub(FOLDER).and_then(|dir| {
            dir.remove(&file(mailbox, kind))?;
            dir.sync()
        });
        Ok(removed.if_any()?.is_some())
    }

    /// One pause of an agent, also if its time is over.
    pub fn pause_of(&self, mailbox: &str, kind: PauseKind) -> Result<Option<Pause>> {
        let bytes = self.dir.sub(FOLDER).and_then(|dir| dir.read(&file(mailbox, kind), LIMIT)).if_any()?;
        Ok(bytes.flatten().and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// What keeps an agent from being started now.
    pub fn pauses(&self, mailbox: &str, now: Timestamp) -> Result<Vec<Pause>> {
        let mut found = vec![];
        for kind in PauseKind::ALL {
            found.extend(self.pause_of(mailbox, kind)?.filter(|pause| pause.holds(now)));
        }
        Ok(found)
    }

    /// All pauses of the room, each with its mailbox, also if their time is over.
    pub fn all_pauses(&self) -> Result<Vec<(String, Pause)>> {
        let mut found = vec![];
        for name in self.names(FOLDER)? {
            let split = name.rsplit_once('.');
            let known = split.and_then(|(mailbox, word)| {
                Some((mailbox, *PauseKind::ALL.iter().find(|kind| kind.as_str() == word)?))
            });
            let Some((mailbox, kind)) = known else { continue };
            found.extend(self.pause_of(mailbox, kind)?.map(|pause| (mailbox.to_owned(), pause)));
        }
        Ok(found)
    }

    /// Whether any agent of the room is paused in any way, and the mailboxes of those paused in this way: one look at a
    /// directory that is usually not there.
    pub fn paused_mailboxes(&self, kind: PauseKind) -> Result<(bool, Vec<String>)> {
        let names = self.names(FOLDER)?;
        let of_kind = |name: &String| {
            let (mailbox, last) = name.rsplit_once('.')?;
            (last == kind.as_str()).then(|| mailbox.to_owned())
        };
        Ok((!names.is_empty(), names.iter().filter_map(of_kind).collect()))
    }

    /// Lets the next look try an agent that met an outage; `false` if it met none.
    pub fn probe_now(&self, mailbox: &str, now: Timestamp) -> Result<bool> {
        let dir = self.dir.create_dir_synced(FOLDER)?;
        let _turn = dir.lock(".lock")?;
        let Some(mut pause) = self.pause_of(mailbox, PauseKind::Outage)? else { return Ok(false) };
        (pause.until, pause.failures) = (Some(now.precise()), 0);
        self.pause(mailbox, &pause)?;
        Ok(true)
    }

    /// Notes that a run met an outage: the next probe is later after each. A run that began before the outage was
    /// noted tells nothing new. Returns the pause of this outage.
    pub fn note_outage(
        &self,
        (mailbox, agent): (&str, &str),
        why: &str,
        began: Timestamp,
        now: Timestamp,
        probe: Duration,
    ) -> Result<Pause> {
        let dir = self.dir.create_dir_synced(FOLDER)?;
        let _turn = dir.lock(".lock")?;
        let before = self.pause_of(mailbox, PauseKind::Outage)?;
        let mut pause = before.unwrap_or_else(|| Pause::new(PauseKind::Outage, agent, why, now, None));
        if pause.was_noted_after(began) {
            return Ok(pause);
        }
        let probe = probe.max(SHORTEST);
        let wait = probe.saturating_mul(2u32.saturating_pow(pause.failures.min(16))).min(LONGEST.max(probe));
        pause.failures = pause.failures.saturating_add(1);
        why.clone_into(&mut pause.why);
        (pause.noted, pause.until) = (now.precise(), Some(now.plus(wait).precise()));
        self.pause(mailbox, &pause)?;
        Ok(pause)
    }

    /// Ends the outage of an agent, because a run met none. A run that began before the outage was noted tells nothing
    /// about it.
    pub fn end_outage(&self, mailbox: &str, began: Timestamp) -> Result<()> {
        // Without the lock at first, which nearly every run does without.
        let Some(_) = self.pause_of(mailbox, PauseKind::Outage)? else { return Ok(()) };
        let dir = self.dir.create_dir_synced(FOLDER)?;
        let _turn = dir.lock(".lock")?;
        match self.pause_of(mailbox, PauseKind::Outage)? {
            Some(pause) if !pause.was_noted_after(began) => {
                self.unpause(mailbox, PauseKind::Outage).map(drop)
            }
            _ => Ok(()),
        }
    }
}

fn file(mailbox: &str, kind: PauseKind) -> String {
    format!("{mailbox}.{}", kind.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::room::Room;

    #[test]
    fn probes_become_rarer_and_runs_from_before_tell_nothing_new() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("room");
        let room = Room::open_or_make(&path, std::sync::Arc::new(SystemClock)).unwrap();
        let runs = Runs::open(&room).unwrap();
        let at = |second| Timestamp::from_parts(second, 0);
        let note = |began, now| {
            runs.note_outage(("m", "a"), "rate", at(began), at(now), Duration::from_secs(60)).unwrap()
        };
        let until = || runs.pause_of("m", PauseKind::Outage).unwrap().unwrap().until().unwrap().seconds();
        assert_eq!((note(1, 10).failures, until()), (1, 70));
        assert_eq!((note(2, 11).failures, until()), (1, 70), "it began before the outage was noted");
        assert_eq!((note(70, 71).failures, until()), (2, 71 + 120));
        for probe in 1..20 {
            note(probe * 10_000, probe * 10_000 + 1);
        }
        assert_eq!(until(), 190_001 + 3600);
        assert!(
            runs.pauses("m", at(190_002)).unwrap().len() == 1
                && runs.pauses("m", at(193_700)).unwrap().is_empty()
        );
        let is_over = |began| {
            runs.end_outage("m", at(began)).unwrap();
            runs.pause_of("m", PauseKind::Outage).unwrap().is_none()
        };
        assert!(!is_over(190_000), "it began before the outage was noted");
        assert!(is_over(190_001) && is_over(1));
        assert!(!runs.unpause("m", PauseKind::Outage).unwrap());
    }
}
