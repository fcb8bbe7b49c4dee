//! Checks how steps fit together: cycles, steps that can never run, unknown names. Pure. Also fills in what depends on
//! the whole workflow: which step handles which failure, and the depth of each step.

mod names;

use std::collections::HashSet;

use super::definition::{Definition, Join, OnFailure};
use super::problem::{Position, Problem};

/// Checks a definition that was read without problems, and fills in derived values.
pub fn check(definition: &mut Definition) -> Vec<Problem> {
    let mut problems = vec![];
    handlers(definition, &mut problems);
    if problems.is_empty() {
        levels(definition, &mut problems);
    }
    if problems.is_empty() {
        joins(definition, &mut problems);
        names::check(definition, &mut problems);
    }
    problems.sort();
    problems.dedup();
    problems
}

/// A step that a failure starts belongs to exactly one step, and nothing else may start it.
fn handlers(definition: &mut Definition, problems: &mut Vec<Problem>) {
    for index in 0..definition.steps.len() {
        let OnFailure::Step { step: handler, .. } = definition.steps[index].on_failure else { continue };
        let (name, place) = (definition.steps[index].name.clone(), definition.steps[index].place);
        let mut wrong = |why: String| problems.push(Problem::at(place, why));
        if handler == index {
            wrong(format!("`on_failure` of `{name}` is the step itself; `retry` tries it again"));
            continue;
        }
        let target = &definition.steps[handler];
        if definition.steps[index].foreach.is_some() {
            wrong(format!("`{name}` has a `foreach`; its failure can stop the run or let it continue"));
        }
        if !target.needs.is_empty() || target.foreach.is_some() || target.when.is_some() {
            wrong(format!(
                "`{}` is started when `{name}` fails, so it has no `needs`, `when` and `foreach`",
                target.name
            ));
        }
        if matches!(target.on_failure, OnFailure::Step { .. }) {
            wrong(format!(
                "`{}` is started when `{name}` fails; its own failure can start nothing",
                target.name
            ));
        }
        if let Some(other) = target.handler_of {
            let other = &definition.steps[other].name;
            wrong(format!("`{}` is started when `{other}` fails already; write another step", target.name));
        }
        definition.steps[handler].handler_of = Some(index);
    }
    for step in &definition.steps {
        for needed in step.needs.iter().map(|need| &definition.steps[*need]) {
            if let Some(owner) = needed.handler_of {
                let (name, owner) = (&needed.name, &definition.steps[owner].name);
                let why = format!(
                    "`{name}` runs only when `{owner}` fails, so nothing can need it; need `{owner}`"
                );
                problems.push(Problem::at(step.place, why));
            }
        }
    }
}

/// Puts the steps in order, or reports a cycle.
fn levels(definition: &mut Definition, problems: &mut Vec<Problem>) {
    let count = definition.steps.len();
    let mut left: Vec<usize> = definition.steps.iter().map(|step| step.needs.len()).collect();
    let followers = definition.followers();
    let mut ready: Vec<usize> = (0..count).filter(|index| left[*index] == 0).collect();
    let mut done = 0;
    while let Some(index) = ready.pop() {
        done += 1;
        let level = definition.steps[index].level.max(1);
        definition.steps[index].level = level;
        for follower in &followers[index] {
            let next = &mut definition.steps[*follower];
            next.level = next.level.max(level + 1);
            left[*follower] -= 1;
            if left[*follower] == 0 {
                ready.push(*follower);
            }
        }
    }
    if done < count {
        let circle = circle(definition, &left);
        let names: Vec<&str> = circle.iter().map(|index| definition.steps[*index].name.as_str()).collect();
        let (first, way) = (names.first().copied().unwrap_or_default(), names.join(" → "));
        let place = circle.first().map_or_else(Position::default, |index| definition.steps[*index].place);
        problems.push(Problem::at(place, format!("steps wait for each other in a circle: {way} → {first}")));
        let behind = (0..count).filter(|index| left[*index] > 0 && !circle.contains(index));
        for step in behind.map(|index| &definition.steps[index]) {
            let why = format!("`{}` can never run: it waits for that circle", step.name);
            problems.push(Problem::at(step.place, why));
        }
    }
    for index in 0..count {
        if let Some(owner) = definition.steps[index].handler_of {
            definition.steps[index].level = definition.steps[owner].level + 1;
        }
    }
}

/// One cycle among the steps that still have unmet needs, each before the one that waits for it.
fn circle(definition: &Definition, left: &[usize]) -> Vec<usize> {
    let Some(mut at) = left.iter().position(|left| *left > 0) else { return vec![] };
    let mut way: Vec<usize> = vec![];
    loop {
        if let Some(from) = way.iter().position(|step| *step == at) {
            let mut circle = way.split_off(from);
            circle.reverse();
            // Start with the step that comes first in the file.
            let first = circle.iter().enumerate().min_by_key(|(_, step)| **step).map_or(0, |(at, _)| at);
            circle.rotate_left(first);
            return circle;
        }
        way.push(at);
        match definition.steps[at].needs.iter().find(|need| left[**need] > 0) {
            Some(need) => at = *need,
            None => return vec![],
        }
    }
}

/// Steps that can never run because of their `when` or `join`.
fn joins(definition: &Definition, problems: &mut Vec<Problem>) {
    for step in &definition.steps {
        let name = &step.name;
        let mut wrong = |why: String| problems.push(Problem::at(step.place, why));
        if step.when.as_ref().is_some_and(|when| when.source == "false") {
            wrong(format!("`{name}` can never run: its `when` is false"));
        }
        let Join::AtLeast(wanted) = step.join else { continue };
        let needs = || step.needs.iter().map(|need| &definition.steps[*need]);
        let count = step.needs.len();
        if count == 0 {
            wrong(format!("`{name}` joins nothing: it has no `needs`"));
        } else if wanted > count && !needs().any(|need| need.foreach.is_some()) {
            wrong(format!("`{name}` can never run: `join` wants {wanted} results of {count}"));
        }
        let stops = needs().filter(|need| need.on_failure == OnFailure::Stop);
        let stops: Vec<&str> = stops.map(|need| need.name.as_str()).collect();
        if wanted > 0 && !stops.is_empty() {
            wrong(format!(
                "`join` of `{name}` lets some results be missing, but a failure of `{}` stops the run; give it `on_failure: continue`",
                stops.join("`, `")
            ));
        }
    }
}

/// The steps whose results a step can refer to: all it waits for, itself in an earlier round, and those that its
/// failure or the failure it handles is about.
pub fn knows(definition: &Definition, index: usize) -> HashSet<usize> {
    let mut known: HashSet<usize> = HashSet::from([index]);
    let mut open = vec![index];
    if let Some(owner) = definition.steps[index].handler_of {
        open.push(owner);
    }
    while let Some(at) = open.pop() {
        known.insert(at);
        if let OnFailure::Step { step, .. } = definition.steps[at].on_failure {
            known.insert(step);
        }
        open.extend(definition.steps[at].needs.iter().filter(|need| !known.contains(*need)));
    }
    known
}
