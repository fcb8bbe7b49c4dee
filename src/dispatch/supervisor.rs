//! One run: a message is claimed, an agent is started for it, and what the agent said becomes the answer.
//!
//! A supervisor is a process of its own. It holds the locks of its run, renews its lease while the agent lives, and
//! finishes the message, whatever becomes of the dispatcher that started it. Killed itself, it leaves a free lock, and
//! whoever sees that first finishes the run for it (recovery.rs).

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::guards;
use super::recovery::recover;
use super::runs::{Open, Run, Runs, State};
use super::work::Work;
use crate::clock::Timestamp;
use crate::os::Supervisor as Supervising;
use crate::post::{Answered, Error, Me, Post, Result};
use crate::process::marked;
use crate::process::presets::Preset;
use crate::settings::agents::{AgentSettings, DispatchSettings};

/// How long a lease lasts, and how often it is renewed while the agent lives.
pub(super) const LEASE: Duration = Duration::from_secs(60);
const RENEWAL: Duration = Duration::from_secs(20);

/// An agent that can be started.
#[derive(Debug, Clone)]
pub struct Agent {
    pub name: String,
    pub settings: Arc<AgentSettings>,
    pub preset: Arc<Preset>,
    pub cwd: Arc<Path>,
    /// The project whose settings it is from; `None`: the room's own, or those of a tree.
    pub project: Option<Arc<Path>>,
    /// The whole environment of the process.
    pub environment: Vec<(OsString, OsString)>,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Somebody else has it, or all places are taken.
    NotNow,
    Ran(Box<Run>),
}

impl Agent {
    /// The program that is started, and what it is started with before the preset's arguments.
    pub fn program(&self) -> Option<(&str, &[String])> {
        match self.settings.command.split_first() {
            Some((program, rest)) => Some((program, rest)),
            None if self.preset.program.is_empty() => None,
            None => Some((&self.preset.program, &[])),
        }
    }
}

/// Gives one message to an agent, to its end. `tell` hears of the run when it begins and whenever it gets on.
pub fn supervise(
    post: &Post,
    me: &Me,
    agent: &Agent,
    settings: &DispatchSettings,
    file: &str,
    tell: &dyn Fn(&Run),
) -> Result<Outcome> {
    marked::stand_alone();
    let runs = Runs::open(post.room())?;
    let id = me.id.as_str();
    let Some(slot) = runs.slot(id, agent.settings.places())? else { return Ok(Outcome::NotNow) };
    // A place may be free because its supervisor was killed; then what it left is ended before anything is begun here.
    let recovered = recover(post, &runs, Some(id))?;
    if recovered.stuck || !recovered.faults.is_empty() {
        return Ok(Outcome::NotNow);
    }
    let Some(right) = runs.message(id, file)? else { return Ok(Outcome::NotNow) };
    let open = runs.begin(post.room().clock().now())?;
    let mut run = Run {
        v: 1,
        id: open.id.clone(),
        mailbox: id.to_owned(),
        agent: agent.name.clone(),
        message: String::new(),
        file: file.to_owned(),
        from: String::new(),
        also: vec![],
        thread: String::new(),
        attempt: 0,
        retries: agent.settings.retries,
        started: post.room().clock().now().precise(),
        started_ms: u64::try_from(post.room().clock().boot().as_millis()).unwrap_or(0),
        // Unknown, it may have begun at any time.
        boot: post.room().clock().boot_id().unwrap_or_default(),
        ended: String::new(),
        state: State::Running,
        why: String::new(),
        activity: String::new(),
        session: String::new(),
        cost: None,
    };
    // Before the claim, which names the run: from then on anyone can finish what is begun here.
    runs.record(&open.dir, &run)?;
    let first = match post.claim_for_run(me, file, LEASE, &open.id) {
        Ok(Some(claimed)) => Work::new(post, me, claimed, right)?,
        Ok(None) | Err(Error::NoMessage { .. } | Error::NotUnread { .. }) => {
            runs.discard(open);
            return Ok(Outcome::NotNow);
        }
        Err(e) => {
            runs.discard(open);
            return Err(e);
        }
    };
    let envelope = first.envelope();
    run.message = envelope.id.to_string();
    run.from = post.sender_shown(envelope);
    run.thread = guards::thread(envelope);
    run.attempt = first.claimed.terms.attempt;
    let mut supervisor =
        Supervisor { post, me, agent, settings, runs: &runs, open: &open, work: vec![first], tell };
    supervisor.take_more()?;
    run.also = supervisor.work[1..].iter().map(|work| work.file().to_owned()).collect();
    (run.state, run.why) = match supervisor.run(&mut run) {
        Ok(end) => end,
        Err(e) => {
            // Whoever finishes this run is to know why it has to.
            run.why = format!("its supervisor stopped: {e}");
            let _ = runs.record(&open.dir, &run);
            return Err(e);
        }
    };
    run.ended = post.room().clock().now().precise();
    runs.record(&open.dir, &run)?;
    drop(supervisor);
    runs.close(open);
    drop(slot);
    runs.tidy_up(&run.id, post.room().clock().now());
    Ok(Outcome::Ran(Box::new(run)))
}

/// What it takes to see one run through.
pub(super) struct Supervisor<'a> {
    pub(super) post: &'a Post,
    pub(super) me: &'a Me,
    pub(super) agent: &'a Agent,
    pub(super) settings: &'a DispatchSettings,
    pub(super) runs: &'a Runs,
    pub(super) open: &'a Open,
    /// The message of the run, and those that are worked on with it.
    pub(super) work: Vec<Work>,
    tell: &'a dyn Fn(&Run),
}

impl Supervisor<'_> {
    fn run(&self, run: &mut Run) -> Result<(State, String)> {
        let (mut ends, mut left) = (vec![], vec![]);
        for work in &self.work {
            match self.before(work)? {
                Some(end) => ends.push(end),
                None => left.push(work),
            }
        }
        if left.is_empty() {
            return Ok(together(ends));
        }
        self.runs.record(&self.open.dir, run)?;
        (self.tell)(run);
        let told = self.start(run, &left);
        // Whatever the agent left behind, wherever it went, is no part of the next run.
        marked::end(&self.open.id, Supervising::Me, || self.runs.dir_of(&self.open.id));
        if let Some(cost) = run.cost {
            let _ = self.runs.count_cost(self.me.id.as_str(), self.now(), cost);
        }
        let told = told.and_then(|ended| self.judge(&ended));
        let since = run.began(self.post.room().clock());
        let mut answered: Option<&Work> = None;
        for work in left {
            let end = match self.post.is_answered(self.me, work.envelope(), since)? {
                Answered::No => self.after(work, &told, answered),
                known => self.answered(work, known),
            };
            let end = self.unless_overtaken(work, end)?;
            answered = answered.or((end.0 == State::Done && told.is_ok()).then_some(work));
            ends.push(end);
        }
        Ok(together(ends))
    }

    pub(super) fn now(&self) -> Timestamp {
        self.post.room().clock().now()
    }

    /// Called while the agent lives: keeps the record and the lease up to date; `false`: the message is not its own any more.
    pub(super) fn keep_up(&self, run: &mut Run, activity: Option<&str>, renewed: &mut Duration) -> bool {
        if let Some(activity) = activity {
            let activity = crate::message::visible::clip(activity, 200);
            if activity != run.activity {
                run.activity = activity;
                let _ = self.runs.record(&self.open.dir, run);
                (self.tell)(run);
            }
        }
        if self.work.iter().all(|work| self.is_given_up(work)) {
            return false;
        }
        let now = self.post.room().clock().boot();
        if now.saturating_sub(*renewed) < RENEWAL {
            return true;
        }
        *renewed = now;
        let is_lost = |work: &Work| matches!(self.post.renew(&work.held, LEASE), Err(Error::NoClaim { .. }));
        // Each of them is renewed, whatever became of the one before.
        self.work.iter().filter(|work| is_lost(work)).count() < self.work.len()
    }
}

/// How a run ended, of how its messages did: as the worst of them.
pub(super) fn together(ends: Vec<(State, String)>) -> (State, String) {
    let badness = |state: State| match state {
        State::Done => 0,
        State::Running | State::Again => 1,
        State::Failed => 2,
    };
    // Of equals the first one counts.
    ends.into_iter().rev().max_by_key(|(state, _)| badness(*state)).unwrap_or((State::Done, String::new()))
}
