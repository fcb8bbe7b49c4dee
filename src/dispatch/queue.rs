//! The queue: which messages wait for which agents, in the order of protocols §3.4: by priority, then by each mailbox's
//! own order (step, time, id). In a room, waiting raises the priority, so that no message starves; in a `.claude` tree
//! it does not.
//!
//! Mail of an agent that is paused, or over a limit, is not started and not touched: the queue says until when it waits.
//! Notices of failure start no agent, and answers only one that keeps its conversation.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use super::guards;
use super::later::Later;
use super::on_hold::OnHold;
pub use super::on_hold::{Delay, Hold};
use super::paused::{Pause, PauseKind};
use super::runs::{Runs, key};
use super::supervisor::Agent;
use crate::clock::Timestamp;
use crate::mailbox::Directory;
use crate::mailbox::collect::is_dir;
use crate::mailbox::place::Listing;
use crate::message::Priority;
use crate::message::role::Role;
use crate::name::MailboxId;
use crate::post::{Me, Post, Result};
use crate::settings::agents::{AgentSettings, DispatchSettings};

/// A waiting message: its agent and its file.
pub type Key = (String, String);

/// A remark about an agent.
pub type Remark = (String, String);

/// In a room, the waiting time that raises a message to the next priority.
const AGEING: Duration = Duration::from_secs(15 * 60);

/// Why a message starts no agent at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// An answer, or a notice of failure: it is there when its agent looks.
    Unasked,
    /// Its sender is not certain.
    Doubtful,
    /// An earlier step comes first.
    Step,
}

/// All waiting messages.
#[derive(Debug, Default)]
pub struct Waiting {
    /// The messages that may be started now, in order.
    pub messages: Vec<Key>,
    /// Messages that are tried again later, by agent.
    pub postponed: Vec<(String, Later)>,
    /// Messages that start no agent, by agent.
    pub kept: Vec<(String, Kept)>,
    /// The time until the next postponed message may be started.
    pub(super) due: Option<Duration>,
    /// Agents whose mailbox cannot be read, and why.
    pub faults: Vec<Remark>,
    /// Messages that start no agent, and why, in words.
    pub remarks: Vec<Remark>,
    /// Messages that wait for a time or for a person.
    pub delays: Vec<Delay>,
    /// Agents that are tried with one message after an outage.
    pub(super) probed: HashSet<String>,
    /// How the notes about limits have to change.
    limits: Vec<(MailboxId, LimitNote)>,
}

impl Waiting {
    /// The messages that are tried again at a time: how many, and the first of these times.
    pub fn retries(&self) -> Option<(usize, Timestamp)> {
        let outage = Hold::Paused(PauseKind::Outage);
        let paused = self.delays.iter().filter(|delay| delay.hold == outage);
        let paused = paused.filter_map(|delay| Some((delay.messages, delay.until?)));
        let postponed = self.postponed.iter().map(|(_, later)| (1, later.until));
        postponed.chain(paused).reduce(|(messages, first), (more, until)| (messages + more, first.min(until)))
    }
}

/// A change of the note that an agent has reached a limit.
#[derive(Debug)]
enum LimitNote {
    Write(Pause),
    /// The limit is not reached any more.
    Remove,
}

/// A look at the waiting messages of these agents, which changes no record.
pub fn look(post: &Post, crew: Crew) -> Result<Waiting> {
    Queue::new(PostOf::Given(post), crew).look(Runs::existing(post.room())?.as_ref())
}

/// The agents that can be started, and the limits for them.
#[derive(Debug)]
pub struct Crew {
    pub agents: Vec<(Agent, MailboxId)>,
    /// Agents whose name no mailbox has.
    pub vacant: Vec<Agent>,
    pub settings: DispatchSettings,
}

impl Crew {
    /// Lets vacant agents go on with the mailbox that they worked for before, if that still exists: it was renamed, and the
    /// table of its agent was not yet.
    pub(super) fn goes_on(&mut self, before: &[(Agent, MailboxId)], post: &Post) {
        for agent in std::mem::take(&mut self.vacant) {
            let former = before.iter().find(|(former, _)| former.name == agent.name);
            // A registry that cannot be read says nothing about the mailbox.
            let is_gone = |id: &MailboxId| post.registry().is_ok_and(|registry| registry.by_id(id).is_none());
            match former.filter(|(_, id)| !is_gone(id)) {
                Some((_, id)) if !self.agents.iter().any(|(_, taken)| taken == id) => {
                    self.agents.push((agent, id.clone()));
                }
                _ => self.vacant.push(agent),
            }
        }
    }
}

/// The room of a dispatcher: the one it was given, or a newer look at it.
#[derive(Debug)]
pub(super) enum PostOf<'a> {
    Given(&'a Post),
    Newer(Box<Post>),
}

impl std::ops::Deref for PostOf<'_> {
    type Target = Post;

    fn deref(&self) -> &Post {
        match self {
            Self::Given(post) => post,
            Self::Newer(post) => post,
        }
    }
}

/// All agents that can be started, and their waiting messages.
#[derive(Debug)]
pub struct Queue<'a> {
    pub(super) post: PostOf<'a>,
    /// By their names.
    pub(super) agents: Vec<(Agent, MailboxId)>,
    pub(super) settings: DispatchSettings,
    /// Mailboxes that keep their messages elsewhere: only opening them tells whether something waits.
    elsewhere: HashSet<MailboxId>,
    /// Trees in which an agent may write by hand to a mailbox outside.
    trees: Vec<PathBuf>,
}

impl<'a> Queue<'a> {
    pub(super) fn new(post: PostOf<'a>, crew: Crew) -> Self {
        let Crew { mut agents, settings, .. } = crew;
        agents.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
        let entries = post.registry().map(|registry| registry.entries.as_slice()).unwrap_or_default();
        let elsewhere = entries.iter().filter(|entry| entry.text("protocol").is_some());
        let elsewhere = elsewhere.map(|entry| entry.id.clone()).collect();
        let trees = post.trees();
        Self { post, agents, settings, elsewhere, trees }
    }

    pub(super) fn agent(&self, name: &str) -> Option<&(Agent, MailboxId)> {
        let at = self.agents.binary_search_by(|(agent, _)| agent.name.as_str().cmp(name)).ok()?;
        self.agents.get(at)
    }

    /// The messages that wait now. A reached limit is noted, so that others can say until when mail waits.
    pub(super) fn waiting(&self, runs: &Runs) -> Result<Waiting> {
        let mut waiting = self.look(Some(runs))?;
        for (id, note) in waiting.limits.drain(..) {
            match note {
                LimitNote::Write(pause) => runs.pause(id.as_str(), &pause)?,
                LimitNote::Remove => drop(runs.unpause(id.as_str(), PauseKind::Limit)?),
            }
        }
        Ok(waiting)
    }

    /// The messages that wait now; `runs`: the records, if there are any.
    fn look(&self, runs: Option<&Runs>) -> Result<Waiting> {
        let now = self.post.room().clock().now();
        // Looked at when the first message is found: without mail nothing is on hold.
        let mut held = None;
        let mut waiting = Waiting::default();
        let mut all = vec![];
        for (Agent { name, settings, .. }, id) in &self.agents {
            // If this cannot be checked, assume yes; opening the mailbox reports the error.
            let written_to = |tree: &PathBuf| !matches!(is_dir(&tree.join("inboxes").join(name)), Ok(false));
            if !self.elsewhere.contains(id) && self.post.is_still(id) && !self.trees.iter().any(written_to) {
                continue;
            }
            // Opened at each look, because there may be more mailboxes than a process may have open files.
            let (me, listing) = match self.look_into(id) {
                Ok(found) => found,
                // One unreadable mailbox must not block the others.
                Err(e) => {
                    waiting.faults.push((name.clone(), e.to_string()));
                    continue;
                }
            };
            let said = |(file, why): (String, String)| (name.clone(), format!("{file} {why}"));
            let keep = |why: Kept| (name.clone(), why);
            waiting.kept.extend(listing.held_back.iter().map(|_| keep(Kept::Step)));
            waiting
                .remarks
                .extend(self.unreadable(&me, listing.broken).into_iter().chain(listing.held_back).map(said));
            let starts = |file: &String| settings.starts_for_answers() || !listing.answers.contains(file);
            let mut latest: HashMap<u8, Timestamp> = HashMap::new();
            let first = all.len();
            if listing.names.is_empty() {
                continue;
            }
            let held = match &mut held {
                Some(held) => held,
                none => {
                    none.insert(runs.map(|runs| OnHold::look(runs, now)).transpose()?.unwrap_or_default())
                }
            };
            for (index, file) in listing.names.into_iter().enumerate() {
                if !starts(&file) {
                    waiting.kept.push(keep(Kept::Unasked));
                    continue;
                }
                let key = key(me.id.as_str(), &file);
                if let Some(why) = held.parked.get(&key) {
                    let why = format!("{file}: {why}");
                    let hold = Hold::Parked;
                    waiting.delays.push(Delay { agent: name.clone(), hold, why, until: None, messages: 1 });
                    continue;
                }
                if let Some(later) = held.later.get(&key) {
                    waiting.postponed.push((name.clone(), later.clone()));
                    continue;
                }
                // Mailboxes are merged by time; within one its own order holds.
                let (rank, time) = match rank_of(&me, &file, now, settings) {
                    Ok(Rank::At(rank, time)) => (rank, time),
                    Ok(Rank::Unasked) => {
                        waiting.kept.push(keep(Kept::Unasked));
                        continue;
                    }
                    Ok(Rank::Doubtful) => {
                        waiting.kept.push(keep(Kept::Doubtful));
                        waiting
                            .remarks
                            .push((name.clone(), format!("{file} is doubtful and starts no agent; read it")));
                        continue;
                    }
                    // The other messages do not wait for it.
                    Err(e) => {
                        waiting.faults.push((name.clone(), e.to_string()));
                        continue;
                    }
                };
                let latest = latest.entry(rank).or_insert(time);
                *latest = time.max(*latest);
                all.push((rank, *latest, index, (name.clone(), file)));
            }
            if all.len() > first {
                let messages = all.len() - first;
                let (delays, note) = match runs {
                    Some(runs) => self.delays(runs, name, id, held, now)?,
                    None => (vec![], None),
                };
                waiting.limits.extend(note.map(|note| (id.clone(), note)));
                if delays.is_empty() {
                    if held.outages.contains(id.as_str()) {
                        waiting.probed.insert(name.clone());
                        for (rank, time, _, (_, file)) in &mut all[first..] {
                            (*rank, *time) = held.probed_at(id.as_str(), file).unwrap_or((*rank, *time));
                        }
                    }
                } else {
                    all.truncate(first);
                    waiting.delay(delays.into_iter().map(|delay| Delay { messages, ..delay }), now);
                }
            }
        }
        let later = held.and_then(|held| held.due(now));
        waiting.due = waiting.due.into_iter().chain(later).min();
        all.sort();
        waiting.messages = all.into_iter().map(|(.., key)| key).collect();
        Ok(waiting)
    }

    /// What keeps an agent from being started now, and how the note about its limit has to change.
    fn delays(
        &self,
        runs: &Runs,
        name: &str,
        id: &MailboxId,
        held: &OnHold,
        now: Timestamp,
    ) -> Result<(Vec<Delay>, Option<LimitNote>)> {
        let limit = guards::delay(&self.settings, &runs.counts(id.as_str(), now)?, now);
        let mut pauses = if held.any_pause { runs.pauses(id.as_str(), now)? } else { vec![] };
        let noted = pauses.iter().position(|pause| pause.kind == PauseKind::Limit);
        let noted = noted.map(|at| pauses.remove(at));
        let note = match (&limit, &noted) {
            (Some((until, why)), noted) if noted.as_ref().is_none_or(|noted| noted.why != *why) => {
                Some(LimitNote::Write(Pause::new(PauseKind::Limit, name, why, now, Some(*until))))
            }
            (None, Some(_)) => Some(LimitNote::Remove),
            _ => None,
        };
        let delay = |kind, until, why: &str| {
            let (agent, why) = (name.to_owned(), why.to_owned());
            Delay { agent, hold: Hold::Paused(kind), why, until, messages: 0 }
        };
        let mut delays: Vec<Delay> =
            pauses.iter().map(|pause| delay(pause.kind, pause.until(), &pause.why)).collect();
        delays.extend(limit.map(|(until, why)| delay(PauseKind::Limit, Some(until), &why)));
        Ok((delays, note))
    }

    /// Updates a mailbox, and lists its waiting messages in its own order.
    fn look_into(&self, id: &MailboxId) -> Result<(Me, Listing)> {
        let me = self.post.other(id)?;
        self.post.look_into(&me)?;
        let listing = me.mailbox.next(usize::MAX)?;
        Ok((me, listing))
    }

    /// Unreadable files, each with the reason.
    fn unreadable(&self, me: &Me, files: Vec<String>) -> Vec<(String, String)> {
        let why = |file: String| {
            let broken = self.post.why_unreadable(me, &file)?;
            Some((file, format!("cannot be read: {broken}")))
        };
        files.into_iter().filter_map(why).collect()
    }

    /// The directories where mail arrives.
    pub(super) fn directories(&self) -> Vec<std::path::PathBuf> {
        let dirs = |(_, id): &(Agent, MailboxId)| {
            self.post.other(id).and_then(|me| self.post.watched(&me)).unwrap_or_default()
        };
        self.agents.iter().flat_map(dirs).collect()
    }
}

impl Waiting {
    /// Adds mail that waits; the earliest time is the next look, unless a person decides too.
    fn delay(&mut self, delays: impl Iterator<Item = Delay>, now: Timestamp) {
        let delays: Vec<Delay> = delays.collect();
        if delays.iter().all(|delay| delay.until.is_some()) {
            let latest = delays.iter().filter_map(|delay| delay.until).max();
            self.due = self.due.into_iter().chain(latest.map(|until| until.since(now))).min();
        }
        self.delays.extend(delays);
    }
}

fn rank_of(me: &Me, file: &str, now: Timestamp, settings: &AgentSettings) -> Result<Rank> {
    let Some(urgency) = me.mailbox.urgency(file)? else { return Ok(Rank::At(2, now)) };
    let steps = (now.since(urgency.since).as_secs() / AGEING.as_secs()).min(3);
    let steps = u8::try_from(steps).ok().filter(|_| urgency.ages).unwrap_or(0);
    Ok(match urgency.role {
        _ if urgency.is_doubtful => Rank::Doubtful,
        Role::Notice => Rank::Unasked,
        Role::Answer if !settings.starts_for_answers() => Rank::Unasked,
        Role::Answer | Role::Request => Rank::At(rank(urgency.priority).saturating_sub(steps), urgency.since),
    })
}

/// The place of a message in the queue.
enum Rank {
    /// Smaller is more urgent; then by time.
    At(u8, Timestamp),
    /// It is kept until its agent looks.
    Unasked,
    Doubtful,
}

fn rank(priority: Priority) -> u8 {
    match priority {
        Priority::Urgent => 0,
        Priority::High => 1,
        Priority::Normal => 2,
        Priority::Low => 3,
    }
}
