//! The carrier moves runs forward. It accepts answers, sends the next requests, and keeps the shared state.
//!
//! Any number of carriers may work in one room, for a moment or for days. The carrier that holds the lock of a run
//! carries it, and finds everything in the mail. If it also held the lock last time, it continues from memory;
//! otherwise it computes the run again. If it is killed at any point, the next carrier finds what it left, or does it
//! again under the same id (format.md §14).

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use super::engine::{Ask, AskKind, Engine, Phase, Status};
use super::request::OpenRequests;
use super::runs::{Runs, arrival_dirs};
use super::turn::Turn;
use crate::dispatch::background::{Background, Progress};
use crate::hint::{Hint, Present};
use crate::post::{Error, Post, Result};
use crate::random;

/// Starts the process of a gate. Arguments: the run, and the id of the ask that the gate answers.
pub type StartGate<'a> = dyn Fn(&str, &str) -> std::io::Result<()> + 'a;

/// The result of one look at a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    pub run: String,
    pub status: Status,
    /// The number of settled steps, and of all steps.
    pub settled: usize,
    pub total: usize,
    /// Something was accepted.
    pub moved: bool,
    /// Steps whose state changed: the name and the new state.
    pub changes: Vec<(String, String)>,
    /// What a person should know.
    pub remarks: Vec<String>,
    /// The questions that wait for a person, each as `approve` takes it.
    pub asks: Vec<String>,
    /// When something is due without any mail.
    pub due: Option<Duration>,
    /// Gates are running, so there will be news even without mail from others.
    pub busy: bool,
}

/// Carries runs on, and remembers those it has carried.
#[derive(Debug)]
pub struct Carrier {
    mark: String,
    turns: HashMap<String, Turn>,
    followed: Option<Followed>,
}

/// A run whose every change is reported, also when another carrier makes it.
#[derive(Debug)]
struct Followed {
    run: String,
    /// The state of each step at the last report.
    told: Vec<String>,
    over: bool,
}

impl Default for Carrier {
    fn default() -> Self {
        Self { mark: random::unique_hex(), turns: HashMap::new(), followed: None }
    }
}

impl Carrier {
    /// A carrier that also reports one run's progress when others carry it, and reports its end.
    pub fn following(run: &str) -> Self {
        let followed = Followed { run: run.to_owned(), told: vec![], over: false };
        Self { followed: Some(followed), ..Self::default() }
    }

    /// Looks at every run in progress. Without any run, this only lists one directory.
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
                Err(e) => match close_lost(post, &runs, &run)? {
                    Some(why) => look.news.push(lost(post, &run, why)),
                    None => {
                        let cancel = pasted(post, &["workflow", "cancel", &run]);
                        let why = format!("{e}; `{cancel}` ends it");
                        look.faults.push((run, why));
                    }
                },
            }
        }
        Ok(look)
    }

    /// The end of the followed run, if it is no longer in progress and the end was not reported yet.
    fn ended_by_others(&mut self, post: &Post, runs: &Runs, open: &[String]) -> Result<Option<Carried>> {
        let Some(followed) = &mut self.followed else { return Ok(None) };
        if followed.over || open.contains(&followed.run) {
            return Ok(None);
        }
        let turn = Turn::load(post, runs, &followed.run)?;
        followed.over = true;
        Ok(Some(turn.told(turn.changed_since(&mut followed.told))))
    }

    /// Carries one run as far as possible now. `None` if another carrier holds its lock.
    pub fn carry(
        &mut self,
        post: &Post,
        runs: &Runs,
        run: &str,
        start: &StartGate<'_>,
    ) -> Result<Option<Carried>> {
        post.room().may_write()?;
        let Some(_lock) = runs.try_lock(run)? else { return Ok(None) };
        self.carry_held(post, runs, run, start).map(Some)
    }

    /// As [`Carrier::carry`], but waits for the lock.
    pub fn carry_in_turn(
        &mut self,
        post: &Post,
        runs: &Runs,
        run: &str,
        start: &StartGate<'_>,
    ) -> Result<Carried> {
        post.room().may_write()?;
        let _lock = runs.lock(run)?;
        self.carry_held(post, runs, run, start)
    }

    /// Carries a run whose lock the caller holds.
    fn carry_held(&mut self, post: &Post, runs: &Runs, run: &str, start: &StartGate<'_>) -> Result<Carried> {
        // If another carrier held the lock since, it accepted answers that are not remembered here. This turn may end
        // halfway, so only a whole turn is remembered; the mail has the rest.
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

/// Takes the mark from a run that can never go on, because a part of it is gone. Returns which; `None` if all is there.
pub fn close_lost(post: &Post, runs: &Runs, run: &str) -> Result<Option<&'static str>> {
    let Some(why) = runs.loss(post.room(), run)? else { return Ok(None) };
    runs.set_open(run, false)?;
    Ok(Some(why))
}

/// A command about a run. The carrier does not know how it was called, so the command names the room itself.
fn pasted(post: &Post, words: &[&str]) -> String {
    let root = Some(post.room().path().display().to_string());
    Hint::run(words).line(&Present { root, ..Present::default() })
}

fn lost(post: &Post, run: &str, why: &str) -> Carried {
    let prune = pasted(post, &["prune", run]);
    Carried {
        run: run.to_owned(),
        status: Status::Failed,
        settled: 0,
        total: 0,
        moved: true,
        changes: vec![],
        remarks: vec![format!("{why}, so it was ended; `{prune}` removes the rest")],
        asks: vec![],
        due: None,
        busy: false,
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

/// The state of a run, computed from its mail. Changes nothing.
pub fn look_at(post: &Post, runs: &Runs, run: &str) -> Result<Engine> {
    Ok(Turn::load(post, runs, run)?.engine)
}

/// The state of a step, in words for people, without a look at the agents.
pub fn shown(engine: &Engine, index: usize) -> String {
    shown_at(engine, index, &OpenRequests::default())
}

/// The state of a step, in words for people, and what it waits for.
pub fn shown_at(engine: &Engine, index: usize, requests: &OpenRequests) -> String {
    let (state, step) = (&engine.steps()[index], &engine.definition().steps[index]);
    let done = state.items.iter().filter(|item| item.outcome == Some(Ok(()))).count();
    let fans_out = step.foreach.is_some() && !state.values.is_empty();
    let fan = if fans_out { format!(" {done}/{}", state.items.len()) } else { String::new() };
    let mut more = vec![];
    if state.round > 0 {
        more.push(format!("round {}", state.round + 1));
    }
    let attempt = state.items.iter().map(|item| item.attempt).max().unwrap_or(0);
    if attempt > 0 {
        more.push(format!("attempt {}", attempt + 1));
    }
    if let Phase::Failed(why, _) | Phase::Skipped(why) = &state.phase {
        more.push(crate::message::visible::clip(why, 200));
    }
    let word = match (&state.phase, engine.status()) {
        // A finished run waits for nobody.
        (Phase::Waiting, Status::Completed) => "not needed",
        (Phase::Waiting, Status::Failed | Status::Cancelled) => "not begun",
        _ => step_status(engine, index, requests),
    };
    if word == "asked" || word == "running" {
        more.extend(waits_for(engine, index));
        let own = engine.open().values().filter(|ask| ask.step == index);
        let mut reasons: Vec<&String> = own.filter_map(|ask| requests.waits.get(&ask.id)).collect();
        // Items of one step mostly wait for the same.
        reasons.sort();
        more.extend(reasons.first().map(|why| crate::message::visible::clip(why, 200)));
    }
    let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join(", ")) };
    format!("{word}{fan}{more}")
}

/// The state of a step as one word. A step runs only while an agent or a gate is at work for it.
pub fn step_status(engine: &Engine, index: usize, requests: &OpenRequests) -> &'static str {
    let state = &engine.steps()[index];
    let mut open = engine.open().values().filter(|ask| ask.step == index);
    let works = |ask: &Ask| matches!(ask.kind, AskKind::Command { .. }) || requests.at_work.contains(&ask.id);
    match (&state.phase, engine.status()) {
        (Phase::Running, Status::Failed | Status::Cancelled) => "stopped",
        (Phase::Running, _) if open.any(works) => "running",
        (Phase::Running, _) => "asked",
        (phase, _) => phase.as_str(),
    }
}

/// What a step waits for, if that is not an agent.
fn waits_for(engine: &Engine, index: usize) -> Option<String> {
    engine.open().values().filter(|ask| ask.step == index).find_map(|ask| match &ask.kind {
        AskKind::Approval { by, .. } => Some(format!("waits for approval by {by}")),
        AskKind::Command { .. } => Some("its gate runs".to_owned()),
        AskKind::Work { .. } => None,
    })
}

/// The error for a run that does not exist.
pub(super) fn no_run(run: &str) -> Error {
    let path = format!(".workflows/runs/{run}");
    Error::Unreadable { path, why: "the records of this run cannot be read".to_owned() }
}
