//! The carrier: brings runs on. It accepts what came, sends what follows, and keeps the shared state.
//!
//! Any number of carriers may work on one room, for a moment or for days: the one that holds the lock of a run carries it, and
//! what it finds is in the mail. A carrier that was the last to hold the lock goes on from what it remembers; any other
//! computes the run again. Killed at any point, it leaves nothing that the next one does not find or do again under the
//! same id (format.md §14).

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use super::engine::{Engine, Phase, Status};
use super::runs::{Runs, arrival_dirs};
use super::turn::Turn;
use crate::dispatch::background::{Background, Progress};
use crate::mailbox::lock::Lock;
use crate::post::{Error, Post, Result};
use crate::random;

/// Starts the process of a gate: the run, and the id of what it is to answer.
pub type StartGate<'a> = dyn Fn(&str, &str) -> std::io::Result<()> + 'a;

/// What a run came to in one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    pub run: String,
    pub status: Status,
    /// Steps that are settled, and all of them.
    pub settled: usize,
    pub total: usize,
    /// Something was accepted.
    pub moved: bool,
    /// Steps whose state changed: the name and the new state.
    pub changes: Vec<(String, String)>,
    /// What a person should know.
    pub remarks: Vec<String>,
    /// When something is due without any mail.
    pub due: Option<Duration>,
    /// Gates are under way: there will be news without any mail of others.
    pub busy: bool,
}

/// Carries runs on, and remembers those it has carried.
#[derive(Debug)]
pub struct Carrier {
    mark: String,
    turns: HashMap<String, Turn>,
    followed: Option<Followed>,
}

/// A run of which everything is told, whoever brings it on.
#[derive(Debug)]
struct Followed {
    run: String,
    /// How each step stood when it was told of last.
    told: Vec<String>,
    over: bool,
}

impl Default for Carrier {
    fn default() -> Self {
        Self { mark: random::unique_hex(), turns: HashMap::new(), followed: None }
    }
}

impl Carrier {
    /// A carrier that tells how one run gets on also where others bring it on, and ends it.
    pub fn following(run: &str) -> Self {
        let followed = Followed { run: run.to_owned(), told: vec![], over: false };
        Self { followed: Some(followed), ..Self::default() }
    }

    /// Looks at every run in progress. Without any, this is one look into a directory.
    pub fn look(&mut self, post: &Post, start: &StartGate<'_>) -> Result<Progress<Carried>> {
        let mut look = Progress::default();
        let Some(runs) = Runs::existing(post.room())? else { return Ok(look) };
        let open = runs.open_ids()?;
        if self.turns.len() > open.len() {
            self.turns.retain(|run, _| open.contains(run));
        }
        if let Some(ended) = self.ended_by_others(post, &runs, &open)? {
            look.news.push(ended);
        }
        for run in open {
            match self.carry(post, &runs, &run, start) {
                Ok(Some(carried)) => {
                    look.busy |= carried.busy;
                    look.due = [look.due, carried.due].into_iter().flatten().min();
                    let news = carried.moved || !carried.changes.is_empty() || !carried.remarks.is_empty();
                    if news || carried.status != Status::InProgress {
                        look.news.push(carried);
                    }
                }
                Ok(None) => {}
                Err(e) => look.faults.push((run, e.to_string())),
            }
        }
        Ok(look)
    }

    /// The end of the run that is followed, if it is not in progress any more and that was not told yet.
    fn ended_by_others(&mut self, post: &Post, runs: &Runs, open: &[String]) -> Result<Option<Carried>> {
        let Some(followed) = &mut self.followed else { return Ok(None) };
        if followed.over || open.contains(&followed.run) {
            return Ok(None);
        }
        let turn = Turn::load(post, runs, &followed.run)?;
        followed.over = true;
        Ok(Some(turn.told(turn.changed_since(&mut followed.told))))
    }

    /// Carries one run on as far as it goes now; `None`: somebody else is at it.
    pub fn carry(
        &mut self,
        post: &Post,
        runs: &Runs,
        run: &str,
        start: &StartGate<'_>,
    ) -> Result<Option<Carried>> {
        post.room().may_write()?;
        match runs.try_lock(run)? {
            Some(lock) => self.carry_held(post, runs, run, start, lock).map(Some),
            None => Ok(None),
        }
    }

    /// As [`Carrier::carry`], after everyone who is at it now.
    pub fn carry_in_turn(
        &mut self,
        post: &Post,
        runs: &Runs,
        run: &str,
        start: &StartGate<'_>,
    ) -> Result<Carried> {
        post.room().may_write()?;
        let lock = runs.lock(run)?;
        self.carry_held(post, runs, run, start, lock)
    }

    fn carry_held(
        &mut self,
        post: &Post,
        runs: &Runs,
        run: &str,
        start: &StartGate<'_>,
        _lock: Lock,
    ) -> Result<Carried> {
        // If another carried it since, that one has accepted what is not remembered here. What is done now may end halfway: only a
        // whole turn is remembered, the mail has the rest.
        let known = self.turns.remove(run).filter(|_| runs.was_my_turn(run, &self.mark).unwrap_or(false));
        let mut turn = match known {
            Some(turn) => turn,
            None => {
                runs.was_my_turn(run, &self.mark)?;
                Turn::load(post, runs, run)?
            }
        };
        let mut carried = turn.carry(post, runs, start)?;
        let over = carried.status != Status::InProgress;
        if let Some(followed) = self.followed.as_mut().filter(|followed| followed.run == run) {
            carried.changes = turn.changed_since(&mut followed.told);
            followed.over |= over;
        }
        if !over {
            self.turns.insert(run.to_owned(), turn);
        }
        Ok(carried)
    }
}

/// A carrier as the background work of a dispatcher.
pub struct Carrying<'a> {
    pub carrier: Carrier,
    pub start: &'a StartGate<'a>,
}

impl std::fmt::Debug for Carrying<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Carrying").field("carrier", &self.carrier).finish_non_exhaustive()
    }
}

impl Background for Carrying<'_> {
    type News = Carried;

    fn look(&mut self, post: &Post) -> Result<Progress<Carried>> {
        self.carrier.look(post, self.start)
    }

    fn arrivals(&self, post: &Post) -> Result<Box<dyn Fn() -> Vec<PathBuf> + Send>> {
        Runs::open(post.room())?.made_open()?;
        let root = post.room().path().to_owned();
        Ok(Box::new(move || arrival_dirs(&root)))
    }
}

/// Where a run stands, computed from its mail; nothing is changed.
pub fn look_at(post: &Post, runs: &Runs, run: &str) -> Result<Engine> {
    Ok(Turn::load(post, runs, run)?.into_engine())
}

/// How a step stands, in words for people.
pub fn shown(engine: &Engine, index: usize) -> String {
    let (state, step) = (&engine.steps()[index], &engine.definition().steps[index]);
    let done = state.items.iter().filter(|item| item.outcome == Some(Ok(()))).count();
    let fan = if step.foreach.is_some() && !state.values.is_empty() {
        format!(" {done}/{}", state.items.len())
    } else {
        String::new()
    };
    let mut more = vec![];
    if state.round > 0 {
        more.push(format!("round {}", state.round + 1));
    }
    let attempt = state.items.iter().map(|item| item.attempt).max().unwrap_or(0);
    if attempt > 0 {
        more.push(format!("attempt {}", attempt + 1));
    }
    match &state.phase {
        Phase::Failed(why, _) | Phase::Skipped(why) => more.push(crate::message::visible::clip(why, 200)),
        Phase::Running if engine.status() == Status::InProgress => more.extend(waits_for(engine, index)),
        Phase::Running => {}
        Phase::Waiting | Phase::Done => {}
    }
    let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join(", ")) };
    let word = match (&state.phase, engine.status()) {
        // A run that is over waits for nobody.
        (Phase::Waiting, Status::Completed) => "not needed",
        (Phase::Waiting, Status::Failed | Status::Cancelled) => "not begun",
        (Phase::Running, Status::Failed | Status::Cancelled) => "stopped",
        (phase, _) => phase.word(),
    };
    format!("{word}{fan}{more}")
}

/// What a step that runs waits for, if it is not an agent.
fn waits_for(engine: &Engine, index: usize) -> Option<String> {
    use super::engine::AskKind;
    engine.open().values().filter(|ask| ask.step == index).find_map(|ask| match &ask.kind {
        AskKind::Approval { by, .. } => Some(format!("waits for approval by {by}")),
        AskKind::Command { .. } => Some("its gate runs".to_owned()),
        AskKind::Work { .. } => None,
    })
}

/// The error for a run that is not there.
pub(super) fn no_run(run: &str) -> Error {
    let path = format!(".workflows/runs/{run}");
    Error::Unreadable { path, why: "what is kept of this run cannot be read".to_owned() }
}
