//! The board: one card for each agent and for each other mailbox of a room. It says what each does now, what it waits for,
//! and how its last run ended.
//!
//! Cards are made from one look at the room. Records of ended runs are read from the newest back, only until each agent was
//! seen, and no more than some hundreds (`dispatch/chosen.rs`); an agent that has not run for that long has no last
//! result.

use std::collections::HashMap;

use super::{Overview, Seen, WaitingMail, WaitsFor};
use crate::clock::Timestamp;
use crate::dispatch::paused::Pause;
use crate::dispatch::runs::Run;
use crate::mailbox::fault;
use crate::name::MailboxId;
use crate::post::{Listed, Post};

/// What a mailbox is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CardKind {
    /// A program works for it.
    Agent { preset: String, program: String },
    /// A program would work for it, but none is configured or trusted.
    AgentWithoutProgram,
    /// The person's.
    Person,
    /// An agent program or a terminal uses it now.
    Session { harness: String },
    /// Somebody reads it now and then.
    Plain,
}

/// What happens with a mailbox now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CardState {
    /// Its agent is at work.
    Running,
    /// Its agent is not started.
    Paused {
        pause: Pause,
    },
    /// Mail waits, and most of what starts an agent for this.
    Waiting {
        waits_for: WaitsFor,
        until: Option<Timestamp>,
        why: String,
    },
    Idle,
    /// Somebody is there who reads its mail.
    InSession,
    /// No program is configured for its agent.
    NoProgram,
    /// The person has not looked at the settings of its agent.
    Untrusted {
        dir: String,
    },
    /// A program is configured for a name that no mailbox has.
    NoMailbox,
}

/// A run that goes on, and the subject of its message, if that can be read.
#[derive(Debug, Clone, PartialEq)]
pub struct CurrentRun {
    pub run: Run,
    pub subject: Option<String>,
}

/// One agent or mailbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    pub name: String,
    /// `None` if no mailbox has this name.
    pub id: Option<MailboxId>,
    pub kind: CardKind,
    pub state: CardState,
    /// Runs that go on, the oldest first.
    pub running: Vec<CurrentRun>,
    /// Messages that wait until an agent is started for them.
    pub queue: usize,
    /// Unread messages; `None` if its directory cannot be read.
    pub unread: Option<usize>,
    /// The time of the oldest unread message.
    pub oldest: Option<Timestamp>,
    /// Dollars spent within a day, as far as its program says.
    pub cost: f64,
    /// Its last run that ended.
    pub last: Option<Run>,
    pub about: Option<String>,
}

/// The cards of a room: agents in the order of their settings, then the other mailboxes in the order of the registry.
pub(super) fn look(overview: &Overview, post: &Post, seen: &Seen) -> fault::Result<Vec<Card>> {
    let Seen { names, staff, costs, runs } = seen;
    let programs: Vec<&str> = staff.agents.iter().filter_map(|(_, id)| Some(id.as_ref()?.as_str())).collect();
    let mut last = runs.as_ref().map(|runs| runs.last_ended(&programs)).transpose()?.unwrap_or_default();
    let mut cards = vec![];
    for (agent, id) in &staff.agents {
        let listed = names.iter().find(|listed| Some(&listed.id) == id.as_ref());
        let program = agent.program().map(|(program, _)| program.to_owned()).unwrap_or_default();
        let kind = CardKind::Agent { preset: agent.settings.preset.clone(), program };
        let mut card = match listed {
            Some(listed) => card(overview, post, listed, kind, costs),
            None => Card { state: CardState::NoMailbox, ..empty(&agent.name, kind) },
        };
        card.about = agent.settings.about.clone().or(card.about);
        card.last = card.id.as_ref().and_then(|id| last.remove(id.as_str()));
        cards.push(card);
    }
    let others = names.iter().filter(|listed| !programs.contains(&listed.id.as_str()));
    for listed in others {
        let untrusted = staff.untrusted_for(&listed.id);
        let is_vacant = staff.vacant.iter().any(|(_, id)| *id == listed.id);
        let kind = match (untrusted, listed.in_session) {
            _ if post.is_persons(&listed.id) => CardKind::Person,
            (Some(_), _) => CardKind::AgentWithoutProgram,
            _ if is_vacant => CardKind::AgentWithoutProgram,
            (None, true) => CardKind::Session { harness: listed.harness.clone() },
            (None, false) => CardKind::Plain,
        };
        let mut card = card(overview, post, listed, kind, costs);
        match untrusted {
            _ if card.state == CardState::Running => {}
            Some(left) => card.state = CardState::Untrusted { dir: left.dir.display().to_string() },
            None if is_vacant => card.state = CardState::NoProgram,
            None => {}
        }
        cards.push(card);
    }
    Ok(cards)
}

fn empty(name: &str, kind: CardKind) -> Card {
    Card {
        name: name.to_owned(),
        id: None,
        kind,
        state: CardState::Idle,
        running: vec![],
        queue: 0,
        unread: None,
        oldest: None,
        cost: 0.0,
        last: None,
        about: None,
    }
}

/// The card of one mailbox, as far as its mail and its runs say.
fn card(
    overview: &Overview,
    post: &Post,
    listed: &Listed,
    kind: CardKind,
    costs: &HashMap<MailboxId, f64>,
) -> Card {
    let own = overview.running.iter().filter(|run| run.mailbox == listed.id.as_str());
    let running: Vec<CurrentRun> = own
        .map(|run| CurrentRun { run: run.clone(), subject: post.claimed_subject(&listed.id, &run.file) })
        .collect();
    let waiting: Vec<&WaitingMail> =
        overview.waiting.iter().filter(|mail| mail.name == listed.name).collect();
    let starts = |mail: &&&WaitingMail| mail.waits_for != WaitsFor::Reader;
    let pause = overview.paused.iter().find(|(mailbox, _)| mailbox == listed.id.as_str());
    // What starts an agent says more than answers that nobody has to read. Of as many the first: the list begins with what a
    // person decides.
    let most = waiting.iter().rev().max_by_key(|mail| (mail.waits_for != WaitsFor::Reader, mail.messages));
    let state = match (pause, most) {
        _ if !running.is_empty() => CardState::Running,
        (Some((_, pause)), _) => CardState::Paused { pause: pause.clone() },
        (None, Some(mail)) if mail.waits_for != WaitsFor::Reader || !listed.in_session => {
            CardState::Waiting { waits_for: mail.waits_for, until: mail.until, why: mail.why.clone() }
        }
        _ if listed.in_session => CardState::InSession,
        _ => CardState::Idle,
    };
    Card {
        id: Some(listed.id.clone()),
        state,
        running,
        queue: waiting.iter().filter(starts).map(|mail| mail.messages).sum(),
        unread: listed.unread.map(|(unread, _)| unread),
        oldest: listed.unread.and_then(|(_, oldest)| oldest),
        cost: costs.get(&listed.id).copied().unwrap_or_default(),
        about: listed.about.clone(),
        ..empty(&listed.name, kind)
    }
}
