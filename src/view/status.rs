//! The overview of a room: what runs, what waits and for what, and what it costs.

use serde::Serialize;

use super::board::Card;
use super::check::{FailedRoom, RoomPlace};
use super::status_network::{JoinedNetwork, NetworkRoom};
use crate::clock::Timestamp;
use crate::dispatch::watchers::Watcher;
use crate::dispatch::{paused, runs};
use crate::overview::{self, Overview};
use crate::post::Looked;
use crate::workflow::failures;

/// A dispatcher that stays.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Dispatcher<'a> {
    /// Its process.
    pub pid: u32,
    /// When it began.
    pub since: &'a str,
    /// The directory in which it was started.
    pub project: &'a str,
    /// The agents that it starts; left out if it starts all.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub only: &'a [String],
}

impl<'a> Dispatcher<'a> {
    fn all(watchers: &'a [Watcher]) -> Vec<Self> {
        let of =
            |Watcher { pid, since, project, only, .. }: &'a Watcher| Self { pid: *pid, since, project, only };
        watchers.iter().map(of).collect()
    }
}

/// A run of an agent that has not ended.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OpenRun<'a> {
    /// The id of the run.
    pub run: &'a str,
    /// The agent.
    pub agent: &'a str,
    /// The id of the message that it works on.
    pub message: &'a str,
    /// The sender of that message.
    pub from: &'a str,
    /// Which attempt this is, counted from 1.
    pub attempt: u32,
    /// When it began.
    pub since: &'a str,
    /// How many seconds ago that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// What it does now, as far as its program says.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub activity: &'a str,
}

impl<'a> OpenRun<'a> {
    pub(super) fn of(run: &'a runs::Run, now: Timestamp) -> Self {
        Self {
            run: &run.id,
            agent: &run.agent,
            message: &run.message,
            from: &run.from,
            attempt: run.attempt,
            since: &run.started,
            seconds: run.took(now).map(|took| took.as_secs()),
            activity: &run.activity,
        }
    }

    fn all(list: &'a [runs::Run], now: Timestamp) -> Vec<Self> {
        list.iter().map(|run| Self::of(run, now)).collect()
    }
}

/// Unread messages of one mailbox that wait for the same.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WaitingMail<'a> {
    /// The name of the mailbox.
    pub name: &'a str,
    /// How many messages.
    pub messages: usize,
    /// What they wait for. `person`: a person decides; `trust`: a person has to look at the settings of the agent;
    /// `dispatcher`; `turn`: the agent is at work; `retry`: another attempt, `limit`: the agent had too many runs or spent
    /// too much, `outage`: its program cannot work (all three until `until`); `step`: an earlier step; `program`: the agent
    /// has none; `reader`: somebody who reads the mailbox.
    #[cfg_attr(test, schemars(extend("enum" = ["person", "trust", "dispatcher", "turn", "retry", "limit", "outage",
                                               "step", "program", "reader"])))]
    pub waits_for: &'static str,
    /// When the first of them may begin; left out if no time is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The reason, in words; for `trust` the directory.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub why: &'a str,
    /// The time of the oldest unread message of the mailbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<String>,
    /// Whether the mailbox is in use by a session, a terminal or a `wait`.
    pub in_session: bool,
}

impl<'a> WaitingMail<'a> {
    fn of(mail: &'a overview::WaitingMail) -> Self {
        let overview::WaitingMail { name, messages, waits_for, until, why, oldest, in_session, .. } = mail;
        Self {
            name,
            messages: *messages,
            waits_for: waits_for.as_str(),
            until: until.map(|until| until.to_string()),
            why,
            oldest: oldest.map(|oldest| oldest.to_string()),
            in_session: *in_session,
        }
    }
}

/// A gate at which a workflow run waits for the person.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Gate<'a> {
    /// The workflow run; `approve` and `reject` take it.
    pub run: &'a str,
    /// The step.
    pub step: &'a str,
    /// The id of the question.
    pub request: &'a str,
    /// The subject of the question.
    pub subject: &'a str,
    /// When it was asked; left out if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

impl<'a> Gate<'a> {
    fn of(gate: &'a overview::Gate) -> Self {
        let overview::Gate { run, step, request, subject, since, .. } = gate;
        Self { run, step, request: request.as_str(), subject, since: since.map(|since| since.to_string()) }
    }
}

/// A step that has begun and is not done.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OpenStep<'a> {
    /// Its name.
    pub step: &'a str,
    /// `asked`, or `running`: an agent or a gate is at work.
    #[cfg_attr(test, schemars(extend("enum" = ["asked", "running"])))]
    pub status: &'a str,
    /// Its state, in words.
    pub how: &'a str,
}

/// A workflow run in progress.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OpenFlow<'a> {
    /// Its id.
    pub run: &'a str,
    /// The workflow.
    pub workflow: &'a str,
    /// When it began; left out if its record cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<&'a str>,
    /// How many steps have ended.
    pub settled: usize,
    /// How many steps there are.
    pub total: usize,
    /// The steps that have begun and are not done.
    pub steps: Vec<OpenStep<'a>>,
}

impl<'a> OpenFlow<'a> {
    fn of(flow: &'a overview::OpenFlow) -> Self {
        let steps = flow.steps.iter().map(|overview::OpenStep { name, status, how }| OpenStep {
            step: name,
            status,
            how,
        });
        Self {
            run: &flow.run,
            workflow: &flow.workflow,
            started: flow.started.as_deref(),
            settled: flow.settled,
            total: flow.total,
            steps: steps.collect(),
        }
    }
}

/// A workflow run that failed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FailedFlow<'a> {
    /// Its id; `workflow retry` takes it.
    pub run: &'a str,
    /// The workflow.
    pub workflow: &'a str,
    /// When it ended.
    pub at: &'a str,
    /// The step that failed, and why.
    pub why: &'a str,
}

impl<'a> FailedFlow<'a> {
    fn of(flow: &'a failures::FailedFlow) -> Self {
        Self { run: &flow.run, workflow: &flow.workflow, at: &flow.at, why: &flow.why }
    }
}

/// The dead letters of a mailbox.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeadLetters<'a> {
    /// The name of the mailbox.
    pub name: &'a str,
    /// How many there are.
    pub messages: usize,
    /// The reason of the last one.
    pub why: &'a str,
}

/// An agent that is not started.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PausedAgent<'a> {
    /// The agent.
    pub agent: &'a str,
    #[serde(flatten)]
    pub pause: super::stop::Pause,
}

impl<'a> PausedAgent<'a> {
    fn of(pause: &'a paused::Pause) -> Self {
        Self { agent: &pause.agent, pause: super::stop::Pause::of(pause) }
    }
}

/// What happens in a room, printed by `status`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Status<'a> {
    #[serde(flatten)]
    pub place: RoomPlace,
    /// The time of this look.
    pub at: String,
    /// The dispatchers that stay.
    pub dispatchers: Vec<Dispatcher<'a>>,
    /// Dispatchers that ended without being stopped; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub died: Vec<Dispatcher<'a>>,
    /// Agents at work.
    pub running: Vec<OpenRun<'a>>,
    /// Runs whose supervisor was killed, which the next dispatch finishes; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interrupted: Vec<OpenRun<'a>>,
    /// Unread mail that waits, by mailbox and by what it waits for.
    pub waiting: Vec<WaitingMail<'a>>,
    /// Gates at which workflow runs wait for the person.
    pub gates: Vec<Gate<'a>>,
    /// Workflow runs in progress.
    pub workflows: Vec<OpenFlow<'a>>,
    /// Workflow runs that failed within a day; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_workflows: Vec<FailedFlow<'a>>,
    /// Dead letters, by mailbox.
    pub failed: Vec<DeadLetters<'a>>,
    /// Agents that are not started.
    pub paused: Vec<PausedAgent<'a>>,
    /// How many unread messages the person has.
    pub unread: usize,
    /// Dollars that agents spent within a day, as far as their programs say.
    pub cost: f64,
    /// The network that the room has joined, as its courier saw it last; left out if it has joined none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joined: Option<JoinedNetwork<'a>>,
    /// Rooms of other machines, with the mail on its way there; left out if none is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<NetworkRoom<'a>>,
    /// What could not be read; left out if all could.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub faults: &'a [String],
    /// One card for each agent and each other mailbox.
    pub agents: Vec<Card<'a>>,
}

impl<'a> Status<'a> {
    pub fn of(place: RoomPlace, overview: &'a Overview) -> Self {
        let dead = |letters: &'a overview::DeadLetters| {
            let overview::DeadLetters { name, messages, why } = letters;
            DeadLetters { name, messages: *messages, why }
        };
        Self {
            place,
            at: overview.at.to_string(),
            dispatchers: Dispatcher::all(&overview.dispatchers.alive),
            died: Dispatcher::all(&overview.dispatchers.dead),
            running: OpenRun::all(&overview.running, overview.at),
            interrupted: OpenRun::all(&overview.interrupted, overview.at),
            waiting: overview.waiting.iter().map(WaitingMail::of).collect(),
            gates: overview.gates.iter().map(Gate::of).collect(),
            workflows: overview.flows.iter().map(OpenFlow::of).collect(),
            failed_workflows: overview.failed_flows.iter().map(FailedFlow::of).collect(),
            failed: overview.failed.iter().map(dead).collect(),
            paused: overview.paused.iter().map(|(_, pause)| PausedAgent::of(pause)).collect(),
            unread: overview.unread,
            cost: overview.cost,
            joined: overview.joined.as_ref().map(JoinedNetwork::of),
            network: overview.network.iter().map(NetworkRoom::of).collect(),
            faults: &overview.faults,
            agents: Card::all(&overview.cards, overview.at),
        }
    }
}

/// What happens in all rooms, printed by `status --all`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StatusAll<'a> {
    /// The rooms.
    pub rooms: Vec<Status<'a>>,
    /// Rooms that could not be read.
    pub failed: Vec<FailedRoom>,
}

impl<'a> StatusAll<'a> {
    pub fn of(looked: &'a Looked<Overview>) -> Self {
        let rooms = looked.found.iter().map(|there| {
            let root = there.room.root.display().to_string();
            Status::of(RoomPlace { room: there.room.name.clone(), root }, &there.what)
        });
        Self { rooms: rooms.collect(), failed: FailedRoom::all(&looked.failed) }
    }
}
