//! Runs: a record of each start of an agent, with its purpose, its end and its whole output.
//!
//! ```text
//! <root>/.dispatch/runs/<run>/run.json    what is known of it
//!                            /out /err    what it printed
//!                 /open/<run>             flocked by the supervisor while it lives; gone when the run has ended. Blanks,
//!                                         or why its supervisor could not go on
//!                 /slots/<mailbox>.<n>    flocked by a supervisor: limits the runs of an agent at once
//!                 /messages/<name>        flocked by a supervisor: one message has one run
//!                 /sessions/<name>        the conversation of an agent in a channel
//!                 /later/, /answers/      messages that wait for a time, answers that wait for delivery (later.rs)
//!                 /parked/, /paused/      messages that wait for a person, agents that do (parked.rs, paused.rs)
//!                 /suspects/              messages whose outages may be their own (suspects.rs)
//!                 /tally/, /threads/      number and cost of runs (tally.rs)
//! ```
//!
//! A file in `open/` without a lock holder is a run whose supervisor was killed (recovery.rs). All of this may be
//! deleted when nothing runs (format.md §7.4).

use std::time::Duration;

use crate::hex;
use serde::{Deserialize, Serialize};

use super::worktree::RunWorktree;
use crate::clock::{Clock, Timestamp};
use crate::mailbox::fault::Result;
use crate::mailbox::lock::{Hold, Lock};
use crate::mailbox::{Dir, IfAny, pause};
use crate::name::MailboxId;
use crate::process::output::is_session;
use crate::process::transcript::Tokens;
use crate::random;
use crate::room::Room;

pub const FOLDER: &str = ".dispatch";
const RECORD: &str = "run.json";
const LIMIT: u64 = 1024 * 1024;

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    Running,
    Done,
    /// Its message will be tried again.
    Again,
    /// Its message waits for a person.
    Parked,
    Failed,
}

impl RunState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Again => "again",
            Self::Parked => "parked",
            Self::Failed => "failed",
        }
    }
}

/// The record of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub v: u32,
    pub id: String,
    /// The mailbox it works for.
    pub mailbox: String,
    pub agent: String,
    /// The message, its file, and its sender.
    pub message: String,
    pub file: String,
    pub from: String,
    /// The files of messages handled together with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The id of its thread.
    pub thread: String,
    pub attempt: u32,
    /// How often its message may be retried, in case another process has to finish the run.
    #[serde(default)]
    pub retries: u32,
    pub started: String,
    /// The start in milliseconds since that boot, which nobody can set back.
    #[serde(default)]
    pub started_ms: u64,
    #[serde(default)]
    pub boot: String,
    #[serde(default)]
    pub ended: String,
    pub state: RunState,
    #[serde(default)]
    pub why: String,
    #[serde(default)]
    pub activity: String,
    #[serde(default)]
    pub session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The tools that its program refused to the agent, one name for each refusal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// How its program was started, and so how its output is read.
    #[serde(default)]
    pub preset: String,
    /// What its program reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<RunWorktree>,
    /// Its record says that it runs, but its supervisor is dead. Only [`Runs::seen`] finds that out.
    #[serde(skip)]
    pub is_interrupted: bool,
}

impl Run {
    /// Its state as one word. *running* is said only of what runs.
    pub fn state_word(&self) -> &'static str {
        if self.is_interrupted { "interrupted" } else { self.state.as_str() }
    }

    /// How long it took, or has taken until now while it goes on. `None` if its record is odd.
    pub fn took(&self, now: Timestamp) -> Option<Duration> {
        let end = if self.ended.is_empty() { Some(now) } else { Timestamp::parse(&self.ended) };
        Some(end?.since(Timestamp::parse(&self.started)?))
    }

    /// The first line of the reason for its end.
    pub fn first_reason(&self) -> &str {
        self.why.lines().next().unwrap_or_default().trim_end_matches("; it ended with:")
    }

    /// When it began, by the current clock: earlier than recorded if the clock was set back meanwhile. A run before the
    /// last boot may have begun at any time.
    pub(super) fn began(&self, clock: &dyn Clock) -> Timestamp {
        let long_ago = Timestamp::from_parts(0, 0);
        let started =
            Timestamp::parse(&self.started).filter(|_| clock.boot_id().is_ok_and(|boot| boot == self.boot));
        let took = clock.boot().saturating_sub(Duration::from_millis(self.started_ms));
        started.map_or(long_ago, |started| started.min(clock.now().minus(took)))
    }
}

/// The records of a room.
#[derive(Debug)]
pub struct Runs {
    pub(super) dir: Dir,
}

/// A run in progress, as long as this is held.
#[derive(Debug)]
pub struct Open {
    pub id: String,
    pub dir: Dir,
    lock: Lock,
}

impl Runs {
    pub fn open(room: &Room) -> Result<Self> {
        Ok(Self { dir: room.root().create_dir_synced(FOLDER)? })
    }

    /// Opens the records for reading. `None` if this room never had a run.
    pub fn existing(room: &Room) -> Result<Option<Self>> {
        Ok(room.root().sub_if_any(FOLDER)?.map(|dir| Self { dir }))
    }

    /// Begins a run: its directory, and the lock that shows that its supervisor is alive.
    pub fn begin(&self, now: Timestamp) -> Result<Open> {
        let open = self.dir.create_dir_synced("open")?;
        loop {
            // With milliseconds, so that names sort by start time.
            let time: String = now.precise().chars().filter(char::is_ascii_alphanumeric).collect();
            let id = format!("{time}-{}", random::hex());
            // A recovery may lock the new file before its owner; then the owner makes another one.
            let Some(lock) = open.try_lock(&id, Hold::Alone)? else { continue };
            // Only a full disk needs it, and there it is too late.
            let _ = lock.reserve();
            let dir = self.dir.create_dir_synced("runs")?.make_new(&id)?;
            return Ok(Open { id, dir, lock });
        }
    }

    /// Ends a run from [`Runs::begin`], after its record says how it ended.
    pub fn close(&self, open: Open) {
        self.forget_open(&open.id);
        drop(open.lock);
    }

    /// Notes why a run could not go on, where no record can be written any more.
    pub(super) fn note_reason(&self, open: &Open, why: &str) {
        let _ = open.lock.note(why);
    }

    /// The reason that was noted for a run whose supervisor is gone.
    pub(super) fn noted_reason(&self, id: &str) -> Option<String> {
        let bytes = self.dir.sub("open").and_then(|dir| dir.read(id, 4096)).ok()??;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned()).filter(|why| !why.is_empty())
    }

    pub(super) fn forget_open(&self, id: &str) {
        let _ = self.dir.sub("open").and_then(|dir| dir.remove(id));
    }

    /// Removes a run that did nothing.
    pub fn discard(&self, open: Open) {
        let _ = self.dir.sub("runs").and_then(|runs| runs.remove_tree(&open.id));
        self.close(open);
    }

    /// Writes the record of a run.
    pub fn record(&self, dir: &Dir, run: &Run) -> Result<()> {
        dir.replace(RECORD, &serde_json::to_vec(run).unwrap_or_default())
    }

    /// The directory of a run.
    pub fn dir_of(&self, id: &str) -> Result<Dir> {
        self.dir.sub("runs")?.sub(id)
    }

    /// One run. `None` if it has no readable record.
    pub fn get(&self, id: &str) -> Result<Option<Run>> {
        let bytes = self.dir_of(id).and_then(|dir| dir.read(RECORD, LIMIT)).if_any()?.flatten();
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// The ids of all runs, oldest first.
    pub fn ids(&self) -> Result<Vec<String>> {
        let mut names = self.names("runs")?;
        names.retain(|name| MailboxId::parse(name).is_ok());
        names.sort();
        Ok(names)
    }

    /// Whether the supervisor of a run is alive.
    pub fn is_alive(&self, id: &str) -> Result<bool> {
        let Some(open) = self.dir.sub("open").if_any()? else { return Ok(false) };
        Ok(open.stat(id).if_any()?.is_some() && open.try_left_lock(id)?.is_none())
    }

    /// The ids of the runs that have not ended, or whose supervisor was killed.
    pub fn open_ids(&self) -> Result<Vec<String>> {
        self.names("open")
    }

    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>> {
        let Some(dir) = self.dir.sub(folder).if_any()? else { return Ok(vec![]) };
        let mut names = vec![];
        dir.scan_once(|name, _| {
            names.extend(str::from_utf8(name).ok().filter(|n| !n.starts_with('.')).map(str::to_owned))
        })?;
        Ok(names)
    }

    /// The standard output of a run, including its second start.
    pub fn output(&self, id: &str, limit: u64) -> Result<Vec<u8>> {
        self.printed(id, "out", limit)
    }

    /// The standard error of a run, including its second start.
    pub fn errors(&self, id: &str, limit: u64) -> Result<Vec<u8>> {
        self.printed(id, "err", limit)
    }

    fn printed(&self, id: &str, name: &str, limit: u64) -> Result<Vec<u8>> {
        let dir = self.dir_of(id)?;
        let read = |name: &str| -> Result<Vec<u8>> {
            let Some(mut opened) = dir.open_file(name).if_any()? else { return Ok(vec![]) };
            opened.head(usize::try_from(limit).unwrap_or(usize::MAX))
        };
        Ok([read(name)?, read(&format!("{name}-again"))?].concat())
    }

    /// Takes a place to run for a mailbox. `None` if all its places are taken.
    pub fn slot(&self, mailbox: &str, concurrency: usize) -> Result<Option<Lock>> {
        // `has_slot` holds a place for a moment, so retry.
        for _ in 0..3 {
            let free = self.free_slot(mailbox, concurrency)?;
            if free.is_some() {
                return Ok(free);
            }
            pause(std::time::Duration::from_millis(3));
        }
        Ok(None)
    }

    /// Whether a mailbox has a free place now.
    pub fn has_slot(&self, mailbox: &str, concurrency: usize) -> bool {
        self.free_slot(mailbox, concurrency).is_ok_and(|slot| slot.is_some())
    }

    fn free_slot(&self, mailbox: &str, concurrency: usize) -> Result<Option<Lock>> {
        let slots = self.dir.create_dir_synced("slots")?;
        for number in 0..concurrency.max(1) {
            if let Some(lock) = slots.try_lock(&format!("{mailbox}.{number}"), Hold::Alone)? {
                return Ok(Some(lock));
            }
        }
        Ok(None)
    }

    /// Takes the lock of a message. `None` if a run holds it.
    pub fn message(&self, mailbox: &str, file: &str) -> Result<Option<Lock>> {
        self.dir.create_dir_synced("messages")?.try_lock(&key(mailbox, file), Hold::Alone)
    }

    /// Removes the lock of a message that nobody will work on again. The caller holds it.
    pub fn forget_message(&self, mailbox: &str, file: &str) {
        let _ = self.dir.sub("messages").and_then(|dir| dir.remove(&key(mailbox, file)));
        self.forget_later(mailbox, file);
    }

    /// The conversation id of an agent in a channel.
    pub fn session(&self, mailbox: &str, channel: &str) -> Option<String> {
        let bytes = self.dir.sub("sessions").ok()?.read(&key(mailbox, channel), 256).ok()??;
        // It becomes an argument, and any process that can write mail can write here.
        String::from_utf8(bytes).ok().filter(|text| is_session(text))
    }

    pub fn keep_session(&self, mailbox: &str, channel: &str, session: &str) -> Result<()> {
        self.dir.create_dir_synced("sessions")?.replace(&key(mailbox, channel), session.as_bytes())
    }

    pub fn forget_session(&self, mailbox: &str, channel: &str) {
        let _ = self.dir.sub("sessions").and_then(|dir| dir.remove(&key(mailbox, channel)));
    }
}

/// A safe file name for `what` in a mailbox.
pub(super) fn key(mailbox: &str, what: &str) -> String {
    hex::digest_of_two(mailbox, what, 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct At(i64, u64, &'static str);

    impl Clock for At {
        fn now(&self) -> Timestamp {
            Timestamp::from_parts(self.0, 0)
        }
        fn boot(&self) -> Duration {
            Duration::from_secs(self.1)
        }
        fn boot_id(&self) -> std::io::Result<String> {
            Ok(self.2.to_owned())
        }
        fn host(&self) -> String {
            String::new()
        }
    }

    /// An answer sent after the clock was set back counts as sent after the run began.
    #[test]
    fn a_clock_that_was_set_back_makes_a_run_begin_earlier() {
        let at = |second| Timestamp::from_parts(second, 0);
        let record = r#"{"v":1,"id":"r","mailbox":"m","agent":"a","message":"","file":"","from":"","thread":"","attempt":1,"state":"running"}"#;
        let mut record: serde_json::Value = serde_json::from_str(record).unwrap();
        (record["started"], record["started_ms"], record["boot"]) =
            (at(1000).precise().into(), 5000.into(), "one".into());
        let run: Run = serde_json::from_value(record).unwrap();
        assert_eq!(run.began(&At(1030, 35, "one")), at(1000));
        assert_eq!(run.began(&At(970, 35, "one")), at(940), "set back by a minute");
        assert_eq!(run.began(&At(1090, 35, "one")), at(1000), "set forward");
        assert_eq!(run.began(&At(1030, 35, "two")), at(0), "another boot");
    }
}
