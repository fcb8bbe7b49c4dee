//! Stopping runs: ends an agent with everything that it started, and says what becomes of its messages.
//!
//! ```text
//! .dispatch/runs/<run>/stop   {"v":1,"why":…,"then":"park"}: somebody wants this run to end
//! ```
//!
//! The supervisor of the run sees the file, ends its agent, and ends each message as the request says. If the supervisor is
//! dead, recovery does both. If it does not answer, the agent's processes are ended from here, and the supervisor
//! finishes its messages when it goes on. An answer that was sent before counts.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::recovery::recover;
use super::runs::{Run, RunState, Runs};
use crate::mailbox::fault::Result as DiskResult;
use crate::mailbox::{Dir, pause};
use crate::os::Supervisor;
use crate::post::{Post, Result};
use crate::process::marked;

const FILE: &str = "stop";
const LIMIT: u64 = 64 * 1024;

/// How long a supervisor may take to end its agent before the agent is ended from here, and afterwards.
const PATIENCE: Duration = Duration::from_secs(12);
const AFTERWARDS: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(20);

/// What becomes of the messages of a stopped run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// They are parked for a person.
    Park,
    /// They are failed without a notice to the sender, who wanted the stop.
    GiveUp,
}

/// The wish that a run ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopRequest {
    v: u32,
    pub why: String,
    pub then: Then,
}

impl StopRequest {
    pub fn new(why: &str, then: Then) -> Self {
        Self { v: 1, why: crate::message::visible::clip(why, 400), then }
    }

    /// The request in the directory of a run, if there is one.
    pub(super) fn of(dir: &Dir) -> DiskResult<Option<Self>> {
        Ok(dir.read(FILE, LIMIT)?.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }
}

/// A run that was asked to end.
#[derive(Debug)]
pub struct Stopped {
    /// As it is recorded now: how it ended, and why.
    pub run: Run,
    /// Its agent is ended, but its supervisor does not answer, so its message has no final state yet.
    pub is_unanswered: bool,
}

/// Stops every run that is wanted, and waits until each has ended.
pub fn stop(post: &Post, wanted: impl Fn(&Run) -> bool, request: &StopRequest) -> Result<Vec<Stopped>> {
    let asked = ask(post, wanted, request)?;
    let Some(runs) = Runs::existing(post.room())? else { return Ok(vec![]) };
    asked.into_iter().map(|run| see_end(post, &runs, run)).collect()
}

/// Asks every run that is wanted to end, and does not wait: for a caller that has other work to do. Returns those runs.
pub fn ask(post: &Post, wanted: impl Fn(&Run) -> bool, request: &StopRequest) -> Result<Vec<Run>> {
    post.room().may_write()?;
    let Some(runs) = Runs::existing(post.room())? else { return Ok(vec![]) };
    let mut asked = vec![];
    for run in runs.running()? {
        if wanted(&run) {
            let text = serde_json::to_vec(request).unwrap_or_default();
            runs.dir_of(&run.id)?.replace(FILE, &text)?;
            asked.push(run);
        }
    }
    Ok(asked)
}

fn see_end(post: &Post, runs: &Runs, mut run: Run) -> Result<Stopped> {
    let clock = post.room().clock();
    let (start, mut looked, mut ended_here) = (clock.boot(), Duration::ZERO, false);
    loop {
        match runs.get(&run.id)? {
            Some(now) => run = now,
            // Its record was removed as one of too many.
            None => return Ok(Stopped { run, is_unanswered: false }),
        }
        if run.state != RunState::Running {
            return Ok(Stopped { run, is_unanswered: false });
        }
        let waited = clock.boot().saturating_sub(start);
        if waited >= looked {
            // Its supervisor may be dead.
            recover(post, runs, Some(&run.mailbox))?;
            looked = waited + Duration::from_secs(1);
        }
        if waited >= PATIENCE && !ended_here {
            marked::end(&run.id, Supervisor::Dead, || runs.dir_of(&run.id));
            ended_here = true;
        }
        if waited >= PATIENCE + AFTERWARDS {
            return Ok(Stopped { run, is_unanswered: true });
        }
        pause(STEP);
    }
}

impl Runs {
    /// The runs that have not ended, as far as their records say.
    pub fn running(&self) -> DiskResult<Vec<Run>> {
        let mut running = vec![];
        for id in self.open_ids()? {
            running.extend(self.get(&id)?.filter(|run| run.state == RunState::Running));
        }
        running.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(running)
    }
}
