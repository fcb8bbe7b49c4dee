//! Jumps: to a place and back, and from one thing to another that belongs to it.

use super::keys::Act;
use super::layout::panels;
use super::rows::Thing;
use super::seen::Found;
use super::state::{PAGE, Panel, Place, State};

/// Goes to a place from which one comes back.
pub(super) fn jump(state: &mut State, place: Place) {
    state.left.insert(state.place().clone(), state.focus);
    state.places.retain(|known| *known != place);
    state.focus = panels(&place)[0];
    if matches!(place, Place::Run { .. }) {
        state.cursors.remove(&Panel::Transcript);
    }
    state.places.push(place);
    // A way of any length leads back far enough.
    if state.places.len() > 50 {
        let forgotten = state.places.remove(1);
        state.left.remove(&forgotten);
    }
}

pub(super) fn back(state: &mut State) {
    if state.filters.remove(&state.focus).is_some() {
        return;
    }
    match state.focus {
        Panel::Glance => state.focus = Panel::Letters,
        Panel::Letters => state.focus = Panel::Boxes,
        _ if state.places.len() > 1 => {
            state.places.pop();
            let place = state.place().clone();
            let usual = if place == Place::Mail { Panel::Letters } else { panels(&place)[0] };
            state.focus = state.left.remove(&place).unwrap_or(usual);
            state.returning = Some(state.focus);
        }
        _ => state.say("q ends, ? shows the keys"),
    }
}

/// From one thing to another that belongs to it.
pub(super) fn jump_from(state: &mut State, act: &Act, from: &Thing) {
    match (act, from) {
        (Act::ToLetter, Thing::Run { message, .. }) if !message.is_empty() => {
            jump(state, Place::Letter { id: message.clone() });
        }
        (Act::ToDiff, Thing::Run { id, .. }) => jump(state, Place::Diff { run: id.clone() }),
        (Act::ToFlow, Thing::Run { id, .. }) => by_way_of(state, Place::Run { id: id.clone() }, act),
        (Act::ToRun, Thing::Mailbox { name, .. }) => {
            (state.runs_of, state.runs_limit) = (Some(name.clone()), PAGE);
            jump(state, Place::Runs);
        }
        (Act::ToRun | Act::ToFlow | Act::ToDiff, Thing::Letter { id, .. }) => {
            by_way_of(state, Place::Letter { id: id.clone() }, act);
        }
        (Act::ToRun | Act::ToFlow | Act::ToDiff | Act::ToLetter, _) => state.say("there is none for this"),
        _ => {}
    }
}

/// Only the whole message, or the whole run, knows where it leads: goes there, and on once it is read.
fn by_way_of(state: &mut State, place: Place, act: &Act) {
    if *state.place() != place {
        jump(state, place);
    }
    state.onward = Some(act.clone());
    go_on(state);
}

/// Goes on with a jump if what it needs was read.
pub(super) fn go_on(state: &mut State) {
    let Some(act) = state.onward.clone() else { return };
    let (place, none) = match (state.found(panels(state.place())[0]), act) {
        (Some(Found::Letter(letter)), Act::ToRun) => {
            (letter.runs.first().map(|run| Place::Run { id: run.clone() }), "no agent was started for it")
        }
        (Some(Found::Letter(letter)), Act::ToDiff) => {
            (letter.changed_by.clone().map(|run| Place::Diff { run }), "no run for it left changes")
        }
        (Some(Found::Letter(letter)), _) => {
            (letter.flow.clone().map(|run| Place::Flow { run }), "it belongs to no workflow")
        }
        (Some(Found::Run(seen)), _) => {
            (seen.flow.clone().map(|run| Place::Flow { run }), "it belongs to no workflow")
        }
        _ => return,
    };
    state.onward = None;
    match place {
        Some(place) => jump(state, place),
        None => state.say(none),
    }
}
