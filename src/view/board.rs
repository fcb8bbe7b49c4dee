//! The board: one card for each agent and each other mailbox of a room.

use serde::Serialize;

use super::status::OpenRun;
use crate::clock::Timestamp;
use crate::dispatch::runs;
use crate::name::MailboxId;
use crate::overview::{self, CardKind, CardState};

/// A run that goes on.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CurrentRun<'a> {
    #[serde(flatten)]
    pub run: OpenRun<'a>,
    /// The subject of its message; left out if that cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<&'a str>,
}

/// How the last run of an agent ended.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LastResult<'a> {
    /// The id of the run.
    pub run: &'a str,
    /// `done`; `again`: the message will be tried again; `parked`: it waits for a person; or `failed`.
    #[cfg_attr(test, schemars(extend("enum" = ["done", "again", "parked", "failed"])))]
    pub state: &'static str,
    /// When it ended.
    pub ended: &'a str,
    /// How many seconds it took; left out if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// The first line of the reason.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub why: &'a str,
}

impl<'a> LastResult<'a> {
    fn of(run: &'a runs::Run, now: Timestamp) -> Self {
        Self {
            run: &run.id,
            state: run.state.as_str(),
            ended: &run.ended,
            seconds: run.took(now).map(|took| took.as_secs()),
            why: run.first_reason(),
        }
    }
}

/// One agent or mailbox.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Card<'a> {
    /// Its name.
    pub name: &'a str,
    /// The id of its mailbox; left out if no mailbox has this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a str>,
    /// `agent`: a program works for it, or would; `person`; `session`: an agent program or a terminal uses it now; `plain`:
    /// somebody reads it now and then.
    #[cfg_attr(test, schemars(extend("enum" = ["agent", "person", "session", "plain"])))]
    pub kind: &'static str,
    /// The preset that starts its agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<&'a str>,
    /// The program that works for it, or that uses it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<&'a str>,
    /// `running`: its agent is at work; `paused`: its agent is not started; `waiting`: mail waits, for what `waits_for`
    /// says; `idle`; `in_session`: somebody is there who reads its mail; `no_program`: none is configured for its agent;
    /// `untrusted`: a person has to look at the settings of its agent; `no_mailbox`: no mailbox has this name.
    #[cfg_attr(test, schemars(extend("enum" = ["running", "paused", "waiting", "idle", "in_session", "no_program",
                                               "untrusted", "no_mailbox"])))]
    pub state: &'static str,
    /// What most of its mail waits for, as in `waiting` of `status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<&'static str>,
    /// The reason for its state; for `untrusted` the directory.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub why: &'a str,
    /// When that ends; left out if no time is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// What pauses it: `person`: until `resume`; `outage`: its program cannot work; `limit`: it had too many runs or spent
    /// too much.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("enum" = ["person", "outage", "limit"])))]
    pub pause: Option<&'static str>,
    /// Its runs that go on, the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub running: Vec<CurrentRun<'a>>,
    /// How many messages wait until an agent is started for them.
    pub queue: usize,
    /// How many messages are unread; left out if its directory cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<usize>,
    /// The time of the oldest unread message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<String>,
    /// Dollars that it spent within a day, as far as its program says.
    pub cost: f64,
    /// How its last run ended; left out if it had none lately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<LastResult<'a>>,
    /// What it can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<&'a str>,
}

impl<'a> Card<'a> {
    pub(super) fn all(cards: &'a [overview::Card], now: Timestamp) -> Vec<Self> {
        cards.iter().map(|card| Self::of(card, now)).collect()
    }

    fn of(card: &'a overview::Card, now: Timestamp) -> Self {
        let (kind, preset, program) = match &card.kind {
            CardKind::Agent { preset, program } => ("agent", Some(preset.as_str()), Some(program.as_str())),
            CardKind::AgentWithoutProgram => ("agent", None, None),
            CardKind::Person => ("person", None, None),
            CardKind::Session { harness } => ("session", None, Some(harness.as_str())),
            CardKind::Plain => ("plain", None, None),
        };
        let none = ("", None, None);
        let (state, (why, until, waits_for)) = match &card.state {
            CardState::Running => ("running", none),
            CardState::Paused { pause } => ("paused", (pause.why.as_str(), pause.until(), None)),
            CardState::Waiting { waits_for, until, why } => {
                ("waiting", (why.as_str(), *until, Some(waits_for.as_str())))
            }
            CardState::Idle => ("idle", none),
            CardState::InSession => ("in_session", none),
            CardState::NoProgram => ("no_program", none),
            CardState::Untrusted { dir } => ("untrusted", (dir.as_str(), None, None)),
            CardState::NoMailbox => ("no_mailbox", none),
        };
        let current = |run: &'a overview::CurrentRun| CurrentRun {
            run: OpenRun::of(&run.run, now),
            subject: run.subject.as_deref(),
        };
        Self {
            name: &card.name,
            id: card.id.as_ref().map(MailboxId::as_str),
            kind,
            preset,
            program: program.filter(|program| !program.is_empty()),
            state,
            waits_for,
            why,
            until: until.map(|until| until.to_string()),
            pause: match &card.state {
                CardState::Paused { pause } => Some(pause.kind.as_str()),
                _ => None,
            },
            running: card.running.iter().map(current).collect(),
            queue: card.queue,
            unread: card.unread,
            oldest: card.oldest.map(|oldest| oldest.to_string()),
            cost: card.cost,
            last: card.last.as_ref().map(|run| LastResult::of(run, now)),
            about: card.about.as_deref(),
        }
    }
}
