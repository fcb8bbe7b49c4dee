//! The keys of a thing: those that do something with it as it is now, and no others.

use super::{Act, Binding, bind, key};
use crate::overview::{Card, CardKind};
use crate::tui::event::Code;
use crate::tui::layout::reachable;
use crate::tui::rows::{LetterState, Thing};
use crate::tui::seen::Found;
use crate::tui::state::{Panel, State};

/// Pauses an agent, or resumes one that is paused.
fn pause(is_paused: bool) -> Binding {
    match is_paused {
        true => bind('p', "resume", "let this agent be started again", Act::Resume),
        false => bind('p', "pause", "start this agent no more until you resume it", Act::Pause),
    }
}

/// Whether an agent works for this mailbox.
fn has_agent(state: &State, mailbox: &str) -> bool {
    let cards = state.room_seen.iter().flat_map(|room| &room.overview.cards);
    let is_its = |card: &Card| card.id.as_ref().is_some_and(|id| id.as_str() == mailbox);
    let is_agent = |card: &Card| matches!(card.kind, CardKind::Agent { .. } | CardKind::AgentWithoutProgram);
    cards.into_iter().any(|card| is_its(card) && is_agent(card))
}

fn is_paused(state: &State, agent: &str) -> bool {
    let paused = state.room_seen.iter().flat_map(|room| &room.overview.paused);
    paused.into_iter().any(|(_, pause)| pause.agent == agent)
}

pub(super) fn of_thing(state: &State, thing: &Thing) -> Vec<Binding> {
    let open = |about| key(Code::Enter, "open", about, Act::Open);
    match thing {
        Thing::Nothing => vec![],
        Thing::Room { .. } => vec![open("go to this room")],
        Thing::Link(_) => vec![open("go there")],
        Thing::Workflow { .. } => vec![key(Code::Enter, "start", "start this workflow", Act::Start)],
        Thing::Bag { .. } => {
            vec![key(Code::Enter, "bring back", "bring this back from the trash", Act::Undo)]
        }
        Thing::Broken { can_prune: false, .. } => vec![],
        Thing::Broken { .. } => vec![bind('x', "trash", "move it to the trash", Act::Prune)],
        Thing::Mailbox { is_agent, is_paused, is_running, .. } => {
            let mut keys =
                vec![open("show its mail"), bind('c', "write", "write a message to it", Act::Compose)];
            if *is_agent {
                keys.push(pause(*is_paused));
                keys.push(bind('o', "runs", "the runs of this agent", Act::ToRun));
            }
            if *is_running {
                keys.push(bind('s', "stop", "stop what this agent does now", Act::Stop));
            }
            keys.push(bind('x', "trash", "move this mailbox to the trash", Act::Prune));
            keys
        }
        Thing::Letter { id, is_mine, mailbox, gate, state: letter, .. } => {
            let mut keys = if gate.is_some() { decide() } else { vec![] };
            if state.focus != Panel::Letter {
                keys.push(open("show it with its thread and history"));
            } else if reachable(state).len() > 1 {
                keys.push(key(Code::Enter, "thread", "the messages that belong to it", Act::Open));
            }
            if *is_mine {
                keys.push(bind('r', "reply", "answer it", Act::Reply));
            }
            match letter {
                LetterState::Unread if *is_mine => {
                    keys.push(bind('a', "archive", "take it out of the unread mail", Act::Archive));
                }
                LetterState::Unread if has_agent(state, mailbox) => {
                    keys.push(bind('s', "stop", "start no agent for it", Act::Stop));
                }
                LetterState::InWork if *is_mine => {
                    keys.push(bind('L', "release", "give it back, if you hold it", Act::Release));
                }
                LetterState::InWork if has_agent(state, mailbox) => {
                    keys.push(bind('s', "stop", "stop the agent that works on it", Act::Stop));
                }
                LetterState::Unread | LetterState::InWork | LetterState::Quarantined => {}
                LetterState::Archived => {
                    if *is_mine {
                        keys.push(bind('a', "unread", "make it unread again", Act::Unarchive));
                    }
                    keys.push(bind('x', "trash", "move it to the trash", Act::Prune));
                }
                LetterState::Dead => {
                    keys.push(bind(
                        'R',
                        "retry",
                        "make it unread again, so that it is tried again",
                        Act::Retry,
                    ));
                    keys.push(bind('x', "trash", "move it to the trash", Act::Prune));
                }
                LetterState::Parked => {
                    keys.push(bind('R', "release", "let an agent be started for it", Act::Retry));
                }
            }
            // What failed was somebody's work.
            let was_work = matches!(letter, LetterState::Dead | LetterState::Parked);
            keys.extend(ways(state, id, was_work || has_agent(state, mailbox)));
            keys
        }
        Thing::Run { is_running, can_retry, has_worktree, message, agent, .. } => {
            let mut keys = vec![];
            if state.focus != Panel::Transcript {
                keys.push(open("show the transcript"));
            }
            if *is_running {
                keys.push(bind('s', "stop", "stop it; its message is parked", Act::Stop));
            } else if *can_retry {
                keys.push(bind('R', "retry", "try its message again", Act::Retry));
            }
            if !message.is_empty() {
                keys.push(bind('m', "message", "the message that it works on", Act::ToLetter));
                let is_alone =
                    matches!(state.found(Panel::Transcript), Some(Found::Run(seen)) if seen.flow.is_none());
                keys.extend((!is_alone).then(way_to_flow));
                keys.push(pause(is_paused(state, agent)));
            }
            if *has_worktree {
                keys.push(bind('d', "changes", "what it changed on its branch", Act::ToDiff));
            }
            keys
        }
        Thing::Flow { is_open, has_failed, .. } => {
            let mut keys = vec![open("show its steps")];
            keys.extend(of_flow(*is_open, *has_failed));
            keys
        }
        Thing::Gate { .. } => {
            let mut keys = decide();
            keys.push(open("show what it asks"));
            keys
        }
        Thing::Step { gate, is_open, has_failed, .. } => {
            let mut keys = if gate.is_some() { decide() } else { vec![] };
            keys.extend(of_flow(*is_open, *has_failed));
            keys
        }
    }
}

fn way_to_flow() -> Binding {
    bind('w', "workflow", "the workflow that it belongs to", Act::ToFlow)
}

/// Where a message leads, as far as that is known: the whole message knows its runs, one at a glance only its workflow.
fn ways(state: &State, id: &str, can_have_run: bool) -> Vec<Binding> {
    let read = |panel: Panel| match state.found(panel) {
        Some(Found::Letter(letter)) if letter.id == id => Some(&**letter),
        _ => None,
    };
    let whole = read(Panel::Letter);
    let has_run = whole.map_or(can_have_run, |letter| !letter.runs.is_empty());
    let has_flow = whole.or_else(|| read(Panel::Glance)).is_none_or(|letter| letter.flow.is_some());
    let has_changes = whole.map_or(can_have_run, |letter| letter.changed_by.is_some());
    let all = [
        has_run.then(|| bind('o', "run", "the last run for this message", Act::ToRun)),
        has_flow.then(way_to_flow),
        has_changes.then(|| bind('d', "changes", "what its run changed", Act::ToDiff)),
    ];
    all.into_iter().flatten().collect()
}

fn decide() -> Vec<Binding> {
    vec![
        bind('y', "approve", "let the run go on, with a comment if you like", Act::Approve),
        bind('n', "reject", "refuse the result, and say why", Act::Reject),
    ]
}

fn of_flow(is_open: bool, has_failed: bool) -> Vec<Binding> {
    let cancel = is_open.then(|| bind('K', "cancel", "end this run and its agents", Act::Cancel));
    let retry = has_failed.then(|| bind('R', "retry", "repeat what failed", Act::Retry));
    cancel.into_iter().chain(retry).collect()
}
