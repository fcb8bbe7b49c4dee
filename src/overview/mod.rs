//! The overview of a room: what runs, what waits and for what, what a person has to decide, and what it costs.
//!
//! It is read from the records of the dispatcher, the workflows and the mailboxes, and changes none of them. *Running* is
//! said only of a run whose supervisor lives. One part that cannot be read does not hide the others: it is among the
//! faults. `mail` finds what unread mail waits for, `board` makes a card of each agent and mailbox, `room_watch` tells when to look again.

mod board;
mod mail;
mod room_watch;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::dispatch::paused::Pause;
use crate::dispatch::runs::{Run, Runs};
use crate::dispatch::watchers::Watchers;
use crate::mailbox::fault;
use crate::name::{MailboxId, MessageId};
use crate::post::{Listed, Names, NetworkSeen, OnTheWay, Post, Result};
use crate::staff::{self, Staff};
use crate::workflow;
use crate::workflow::carrier::{look_at, shown_at, step_status};
use crate::workflow::engine::AskKind;
use crate::workflow::failures::FailedFlow;
use crate::workflow::request::at_work;
use crate::workflow::unawaited::FailedRuns;

pub use board::{Card, CardKind, CardState, CurrentRun};
pub use mail::{WaitingMail, WaitsFor};
pub use room_watch::RoomWatch;

/// How many of the newest dead letters of a mailbox are looked at.
const LETTERS: usize = 50;

/// How long a workflow run that failed is shown.
pub const DAY: Duration = Duration::from_secs(86_400);

/// A gate at which a workflow run waits for the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    pub run: String,
    pub step: String,
    pub request: MessageId,
    /// What `approve` takes for it.
    pub word: String,
    pub subject: String,
    pub since: Option<Timestamp>,
}

/// A step of a workflow run that has begun and is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenStep {
    pub name: String,
    pub status: &'static str,
    /// Its state, in words.
    pub how: String,
}

/// A workflow run in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFlow {
    pub run: String,
    pub workflow: String,
    pub started: Option<String>,
    pub settled: usize,
    pub total: usize,
    pub steps: Vec<OpenStep>,
}

/// The dead letters of one mailbox, without requests of workflow runs that do not need them any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetters {
    pub name: String,
    pub messages: usize,
    /// The reason of the last one.
    pub why: String,
}

/// The state of a room at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    pub at: Timestamp,
    pub dispatchers: Watchers,
    pub running: Vec<Run>,
    /// Runs whose supervisor was killed. The next dispatch finishes them.
    pub interrupted: Vec<Run>,
    pub waiting: Vec<WaitingMail>,
    pub gates: Vec<Gate>,
    pub flows: Vec<OpenFlow>,
    /// Workflow runs that failed within a day.
    pub failed_flows: Vec<FailedFlow>,
    pub failed: Vec<DeadLetters>,
    /// Paused agents, each with its mailbox.
    pub paused: Vec<(String, Pause)>,
    /// Unread mail of the person.
    pub unread: usize,
    /// The part of it that are the requests of `gates`.
    pub unread_asks: usize,
    /// Dollars that agents spent within a day, as far as their programs say.
    pub cost: f64,
    /// The network that the room has joined.
    pub joined: Option<NetworkSeen>,
    /// Rooms of the network, with the mail on its way there.
    pub network: Vec<OnTheWay>,
    /// What could not be read.
    pub faults: Vec<String>,
    /// One for each agent and other mailbox; empty unless [`Overview::with_board`] made this.
    pub cards: Vec<Card>,
}

/// What a look saw besides, from which cards are made.
struct Seen {
    names: Vec<Listed>,
    staff: Staff,
    /// What each mailbox spent within a day.
    costs: HashMap<MailboxId, f64>,
    runs: Option<Runs>,
}

impl Overview {
    /// Looks at a room, whose agents are these, as far as their settings can be read.
    pub fn look(post: &Post, staff: staff::Result<Staff>) -> Result<Self> {
        Ok(Self::look_with_names(post, staff)?.0)
    }

    /// Looks at a room as [`Overview::look`] does, and makes the cards from the same look.
    pub fn with_board(post: &Post, staff: staff::Result<Staff>) -> Result<Self> {
        let (mut overview, seen) = Self::look_with_names(post, staff)?;
        overview.cards = board::look(&overview, post, &seen)?;
        Ok(overview)
    }

    fn look_with_names(post: &Post, staff: staff::Result<Staff>) -> Result<(Self, Seen)> {
        let now = post.room().clock().now();
        let runs = Runs::existing(post.room())?;
        let names = post.names(&Names::default())?;
        let mut overview = Self {
            at: now,
            dispatchers: Watchers::default(),
            running: vec![],
            interrupted: vec![],
            waiting: vec![],
            gates: vec![],
            flows: vec![],
            failed_flows: vec![],
            failed: vec![],
            paused: vec![],
            unread: 0,
            unread_asks: 0,
            cost: 0.0,
            joined: None,
            network: vec![],
            faults: vec![],
            cards: vec![],
        };
        let mut costs = HashMap::new();
        if let Some(runs) = &runs {
            overview.dispatchers = runs.watchers()?;
            overview.look_at_runs(runs)?;
            costs = overview.look_at_agents(runs, &names)?;
        }
        overview.look_at_flows(post)?;
        overview.look_at_letters(post, &names);
        let staff = staff.unwrap_or_else(|e| {
            overview.faults.push(format!("the agents: {e}"));
            Staff::default()
        });
        mail::look(&mut overview, post, &staff, &names)?;
        overview.count_asks(post, &names);
        match post.on_the_way().and_then(|ways| Ok((post.network_seen(&ways)?, ways))) {
            Ok((joined, network)) => (overview.joined, overview.network) = (joined, network),
            Err(e) => overview.faults.push(format!("the mail for other machines: {e}")),
        }
        Ok((overview, Seen { names, staff, costs, runs }))
    }

    /// The person's unread mail without the requests of the gates, for a view that shows those beside it.
    pub fn unread_mail(&self) -> usize {
        self.unread.saturating_sub(self.unread_asks)
    }

    /// Whether nothing differs but the time.
    pub fn is_like(&self, other: &Self) -> bool {
        *self == Self { at: self.at, ..other.clone() }
    }

    fn look_at_runs(&mut self, runs: &Runs) -> fault::Result<()> {
        for id in runs.open_ids()? {
            let is_alive = runs.is_alive(&id)?;
            // One that begins or ends just now has no record, or no mark any more.
            let Some(run) = runs.get(&id)? else { continue };
            if is_alive { self.running.push(run) } else { self.interrupted.push(run) }
        }
        for list in [&mut self.running, &mut self.interrupted] {
            list.sort_by(|one, other| one.id.cmp(&other.id));
        }
        Ok(())
    }

    /// Returns what each mailbox spent.
    fn look_at_agents(&mut self, runs: &Runs, names: &[Listed]) -> fault::Result<HashMap<MailboxId, f64>> {
        self.paused = runs.all_pauses()?;
        self.paused.retain(|(_, pause)| pause.holds(self.at));
        self.paused.sort_by(|(_, one), (_, other)| (&one.agent, one.kind).cmp(&(&other.agent, other.kind)));
        let mut costs = HashMap::new();
        for listed in names {
            let spent = runs.counts(listed.id.as_str(), self.at)?.spent();
            self.cost += spent;
            costs.insert(listed.id.clone(), spent);
        }
        Ok(costs)
    }

    fn look_at_flows(&mut self, post: &Post) -> Result<()> {
        let Some(runs) = workflow::runs::Runs::existing(post.room())? else { return Ok(()) };
        self.failed_flows = runs.failed_since(self.at.minus(DAY))?;
        for run in runs.open_ids()? {
            let looked = look_at(post, &runs, &run).and_then(|engine| {
                let at_work = at_work(post, &engine)?;
                Ok((engine, at_work, runs.sent(&run)?))
            });
            let (engine, at_work, sent) = match looked {
                Ok(looked) => looked,
                Err(e) => {
                    self.faults.push(format!("the workflow run {run}: {e}"));
                    continue;
                }
            };
            let steps = engine.definition().steps.iter().enumerate().filter_map(|(index, step)| {
                let status = step_status(&engine, index, &at_work);
                let how = shown_at(&engine, index, &at_work);
                matches!(status, "asked" | "running").then(|| OpenStep {
                    name: step.name.clone(),
                    status,
                    how,
                })
            });
            self.flows.push(OpenFlow {
                workflow: engine.definition().name.clone(),
                started: runs.record(&run).map(|record| record.started),
                settled: engine.settled(),
                total: engine.steps().len(),
                steps: steps.collect(),
                run: run.clone(),
            });
            self.gates.extend(engine.asks_of_person().into_iter().map(|ask| {
                let subject = match &ask.kind {
                    AskKind::Approval { subject, .. } => subject.clone(),
                    AskKind::Work { .. } | AskKind::Command { .. } => String::new(),
                };
                let step = engine.definition().steps[ask.step].name.clone();
                let (request, since) = (ask.id.clone(), sent.get(&ask.id).copied());
                let word = engine.name_of_ask(ask.step, &ask.id);
                Gate { run: run.clone(), step, request, word, subject, since }
            }));
        }
        Ok(())
    }

    fn count_asks(&mut self, post: &Post, names: &[Listed]) {
        let persons = names.iter().filter(|listed| !self.gates.is_empty() && post.is_persons(&listed.id));
        for listed in persons {
            let unread = |gate: &Gate| post.is_unread(&listed.id, &gate.request);
            match self.gates.iter().map(unread).collect::<Result<Vec<_>>>() {
                Ok(unread) => self.unread_asks += unread.into_iter().filter(|is_unread| *is_unread).count(),
                Err(e) => self.faults.push(format!("the requests in the mailbox of {}: {e}", listed.name)),
            }
        }
    }

    fn look_at_letters(&mut self, post: &Post, names: &[Listed]) {
        let failed = FailedRuns::look(post);
        if let Err(e) = &failed {
            self.faults.push(format!("the workflow runs that failed: {e}"));
        }
        for listed in names {
            let looked = post.other(&listed.id).and_then(|me| post.newest_dead_letters(&me, LETTERS));
            let (mut letters, total) = match looked {
                Ok(looked) => looked,
                Err(e) => {
                    self.faults.push(format!("the dead letters of {}: {e}", listed.name));
                    continue;
                }
            };
            let older = total - letters.len();
            // Nobody has to do anything about a request that its run does not need any more.
            letters.retain(|letter| failed.as_ref().map_or(true, |failed| failed.may_want(letter)));
            let why = letters.last().map(|last| last.reason().to_owned());
            if why.is_some() || older > 0 {
                let (name, messages) = (listed.name.clone(), letters.len() + older);
                self.failed.push(DeadLetters { name, messages, why: why.unwrap_or_default() });
            }
        }
    }
}

/// The directories in which a room changes: where mail arrives, and the records.
pub fn directories(post: &Post) -> Vec<PathBuf> {
    let root = post.room().path();
    let dispatch = root.join(crate::dispatch::runs::FOLDER);
    let records = ["open", "later", "parked", "paused", "watchers"].map(|folder| dispatch.join(folder));
    let entries = post.registry().map(|registry| registry.entries.as_slice()).unwrap_or_default();
    let watched = |id| post.other(id).and_then(|me| post.watched(&me)).unwrap_or_default();
    let mail = entries.iter().flat_map(|entry| watched(&entry.id));
    records
        .into_iter()
        .chain(workflow::runs::arrival_dirs(root))
        .chain(mail)
        .filter(|dir| dir.is_dir())
        .collect()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
