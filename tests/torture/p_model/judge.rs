//! What is there against what the oracle says.

use crate::p_model::held::{Held, State};
use crate::p_model::look::Look;
use crate::p_model::oracle::Oracle;
use crate::p_model::step::{Key, Protocol, Who, protocol};

/// What differs from the oracle.
pub(crate) fn agrees(look: &Look, oracle: &Oracle) -> Vec<String> {
    let mut problems = look.problems.clone();
    for ((key, who), held) in &oracle.copies {
        let states = look.states(key, who);
        let right = match held {
            Held { late: Some(_), loose, .. } => states.len() <= 1 + usize::from(*loose),
            Held { loose: true, state, .. } => states.contains(state) && states.len() <= 2,
            Held { state, .. } => states == [*state],
        };
        if !right {
            problems.push(format!("{key} of {who} should be {:?} and is {states:?}", held.state));
        }
    }
    problems.extend(strangers(look, |at| oracle.copies.contains_key(at)));
    problems
}

/// What is neither as before nor as after.
pub(crate) fn between(look: &Look, before: &Oracle, after: &Oracle) -> Vec<String> {
    let mut problems = look.problems.clone();
    for (at @ (key, who), held) in &after.copies {
        let states = look.states(key, who);
        let old = before.copies.get(at);
        // What an agent of a tree answers is in progress before it is completed.
        let on_the_way = |state: &State| {
            protocol(who) == Protocol::Tree && *state == State::Held && held.state == State::Done
        };
        let allowed = |state: &State| {
            *state == held.state || old.is_some_and(|old| old.state == *state) || on_the_way(state)
        };
        let most = if held.loose { 2 } else { 1 };
        let late = held.late.is_some() || old.is_some_and(|old| old.late.is_some());
        let least = usize::from(old.is_some() && !late);
        let right = (least..=most).contains(&states.len());
        if !right || !(late || held.loose || states.iter().all(allowed)) {
            let was = old.map(|old| old.state);
            problems.push(format!("{key} of {who} was {was:?}, goes to {:?} and is {states:?}", held.state));
        }
    }
    problems.extend(strangers(look, |at| after.copies.contains_key(at)));
    problems
}

/// Messages that nobody sent there.
fn strangers(look: &Look, known: impl Fn(&(Key, Who)) -> bool) -> Vec<String> {
    let unknown = look.copies.iter().filter(|copy| !known(&(copy.key.clone(), copy.who)));
    unknown.map(|copy| format!("nobody sent {} to {}: {}", copy.key, copy.who, copy.path.display())).collect()
}
