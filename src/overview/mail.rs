//! Unread mail, and what it waits for: the dispatcher, a time, a person, a decision about trust, or somebody who reads it.

use std::collections::BTreeMap;

use super::Overview;
use crate::clock::Timestamp;
use crate::dispatch::paused::PauseKind;
use crate::dispatch::queue::{self, Crew, Delay, Hold, Kept};
use crate::post::{Listed, Post, Result};
use crate::staff::Staff;

/// What unread mail waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitsFor {
    /// A person decides: it is parked, or its agent is paused.
    Person,
    /// A person has not looked at the settings of its agent.
    Trust,
    /// No dispatcher runs that starts its agent.
    Dispatcher,
    /// A dispatcher runs, and starts its agent soon.
    Start,
    /// Its agent is at work, and has no further place.
    Turn,
    /// It is tried again after a failed attempt.
    Retry,
    /// Its agent had too many runs, or spent too much.
    Limit,
    /// The program of its agent cannot work.
    Outage,
    /// An earlier step comes first.
    Step,
    /// It has an agent without a program.
    Program,
    /// It starts nobody: its mailbox is read by a person, or by an agent in session.
    Reader,
}

impl WaitsFor {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Trust => "trust",
            Self::Dispatcher | Self::Start => "dispatcher",
            Self::Turn => "turn",
            Self::Retry => "retry",
            Self::Limit => "limit",
            Self::Outage => "outage",
            Self::Step => "step",
            Self::Program => "program",
            Self::Reader => "reader",
        }
    }
}

/// Unread messages of one mailbox that wait for the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingMail {
    pub name: String,
    pub messages: usize,
    pub waits_for: WaitsFor,
    /// When the first of them may begin.
    pub until: Option<Timestamp>,
    pub why: String,
    /// The time of the oldest unread message of the mailbox.
    pub oldest: Option<Timestamp>,
    /// Whether somebody is there who can read it.
    pub in_session: bool,
    /// Whether a person paused its agent; the message itself may start.
    pub is_paused: bool,
}

/// What the messages of a group have in common. What a person parked and what a person paused differ: each needs another
/// command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    mailbox: String,
    waits_for: WaitsFor,
    is_paused: bool,
}

/// Groups of messages, by mailbox and by what they wait for.
#[derive(Default)]
struct Groups(BTreeMap<Group, WaitingMail>);

impl Groups {
    fn add(&mut self, name: &str, waits_for: WaitsFor, messages: usize, until: Option<Timestamp>, why: &str) {
        let group = Group { mailbox: name.to_owned(), waits_for, is_paused: false };
        self.add_to(group, messages, until, why);
    }

    fn add_to(&mut self, group: Group, messages: usize, until: Option<Timestamp>, why: &str) {
        let new = WaitingMail {
            name: group.mailbox.clone(),
            messages: 0,
            waits_for: group.waits_for,
            until: None,
            why: why.to_owned(),
            oldest: None,
            in_session: false,
            is_paused: group.is_paused,
        };
        let group = self.0.entry(group).or_insert(new);
        group.messages += messages;
        if until.is_some() && group.until.is_none_or(|known| until < Some(known)) {
            (group.until, group.why) = (until, why.to_owned());
        }
    }
}

/// Adds to an overview what waits, and how much waits for the person.
pub(super) fn look(overview: &mut Overview, post: &Post, staff: &Staff, names: &[Listed]) -> Result<()> {
    let mut groups = Groups::default();
    let Staff { agents, settings, vacant, .. } = staff;
    let places: BTreeMap<String, usize> =
        agents.iter().map(|(agent, _)| (agent.name.clone(), agent.settings.concurrency.max(1))).collect();
    let parallel = settings.parallel.max(1);
    let with_mailbox = agents.iter().filter_map(|(agent, id)| Some((agent.clone(), id.clone()?)));
    let agents: Vec<_> = with_mailbox.collect();
    // Their names in the room may differ from those in the settings, after a rename.
    let called = |agent: &str| {
        let id = agents.iter().find(|(known, _)| known.name == agent).map(|(_, id)| id);
        let listed = names.iter().find(|listed| Some(&listed.id) == id);
        listed.map_or_else(|| agent.to_owned(), |listed| listed.name.clone())
    };
    let crew = Crew { agents: agents.clone(), vacant: vec![], settings: settings.clone() };
    let waiting = queue::look(post, crew)?;
    overview.faults.extend(waiting.faults.iter().map(|(agent, why)| format!("{agent}: {why}")));
    for (agent, _) in &waiting.messages {
        let own = overview.running.iter().filter(|run| run.agent == *agent).count();
        let is_busy = own >= places.get(agent).copied().unwrap_or(1);
        let is_full = is_busy || overview.running.len() >= parallel;
        let is_served = overview.dispatchers.alive.iter().any(|watcher| watcher.serves(agent));
        let (waits_for, why) = match (is_full, is_served) {
            (true, _) if is_busy => (WaitsFor::Turn, "its agent is at work"),
            (true, _) => (WaitsFor::Turn, "as many agents as may run at once are at work"),
            (false, true) => (WaitsFor::Start, "it starts soon"),
            (false, false) => (WaitsFor::Dispatcher, "none runs"),
        };
        groups.add(&called(agent), waits_for, 1, None, why);
    }
    for (agent, later) in &waiting.postponed {
        groups.add(&called(agent), WaitsFor::Retry, 1, Some(later.until), &later.why);
    }
    for delay in &waiting.delays {
        // A message that waits for two reasons is counted once, for the one that lasts longest.
        let is_stronger = |other: &Delay| match (other.hold, delay.hold) {
            (Hold::Paused(other_kind), Hold::Paused(kind)) => other.agent == delay.agent && other_kind < kind,
            _ => false,
        };
        if waiting.delays.iter().any(is_stronger) {
            continue;
        }
        let waits_for = match delay.hold {
            Hold::Parked | Hold::Paused(PauseKind::Person) => WaitsFor::Person,
            Hold::Paused(PauseKind::Limit) => WaitsFor::Limit,
            Hold::Paused(PauseKind::Outage) => WaitsFor::Outage,
        };
        let is_paused = delay.hold == Hold::Paused(PauseKind::Person);
        let why = if is_paused { format!("paused: {}", delay.why) } else { delay.why.clone() };
        let group = Group { mailbox: called(&delay.agent), waits_for, is_paused };
        groups.add_to(group, delay.messages, delay.until, &why);
    }
    for (agent, kept) in &waiting.kept {
        let (waits_for, why) = match kept {
            Kept::Unasked => (WaitsFor::Reader, "an answer or a notice, which starts nobody"),
            Kept::Doubtful => (WaitsFor::Reader, "its sender is doubtful"),
            Kept::Step => (WaitsFor::Step, "an earlier step comes first"),
        };
        groups.add(&called(agent), waits_for, 1, None, why);
    }
    for listed in names {
        let Some((unread, _)) = listed.unread else {
            overview.faults.push(format!("the mailbox of {} cannot be read", listed.name));
            continue;
        };
        if post.is_persons(&listed.id) {
            overview.unread += unread;
            continue;
        }
        if unread == 0 || agents.iter().any(|(_, id)| *id == listed.id) {
            continue;
        }
        let (waits_for, why) = match staff.untrusted_for(&listed.id) {
            Some(left) => (WaitsFor::Trust, left.dir.display().to_string()),
            None if vacant.iter().any(|(_, id)| *id == listed.id) => {
                (WaitsFor::Program, format!("[agents.{}] is missing in postroom.toml", listed.name))
            }
            None => (WaitsFor::Reader, String::new()),
        };
        groups.add(&listed.name, waits_for, unread, None, &why);
    }
    let mut waiting: Vec<WaitingMail> = groups.0.into_values().collect();
    for group in &mut waiting {
        let listed = names.iter().find(|listed| listed.name == group.name);
        group.oldest = listed.and_then(|listed| listed.unread?.1);
        group.in_session = listed.is_some_and(|listed| listed.in_session);
    }
    overview.waiting = waiting;
    Ok(())
}
