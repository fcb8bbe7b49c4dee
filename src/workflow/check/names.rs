//! Names in templates and expressions: every name must be known where it is used. Also checks that a condition is a
//! condition and a list is a list, as far as that is known before the run. Pure.

use super::knows;
use crate::message::visible::clip;
use crate::workflow::definition::{Definition, Gate, Kind};
use crate::workflow::problem::{Position, Problem, offer};
use crate::workflow::template::{Expression, Uses};

/// Variables that every template of a step has.
const EVERYWHERE: [&str; 6] = ["run", "workflow", "round", "attempt", "failure", "step"];

/// The fields of a step.
const OF_A_STEP: [&str; 8] = ["result", "results", "json", "jsons", "status", "failure", "agent", "agents"];

/// Checks all names that the steps of a definition use.
pub(super) fn check(definition: &Definition, problems: &mut Vec<Problem>) {
    for (index, step) in definition.steps.iter().enumerate() {
        let own = step.when.iter().chain(&step.foreach).map(|e| (&e.uses, e.place, false));
        let templates = [&step.agent, &step.prompt].map(|t| (&t.uses, t.place, step.foreach.is_some()));
        let asks = step.gates.iter().filter_map(|gate| match gate {
            Gate::Approval { ask: Some(ask), .. } => Some((&ask.uses, ask.place, step.foreach.is_some())),
            _ => None,
        });
        for (uses, place, in_loop) in own.chain(templates).chain(asks) {
            variables(definition, uses, place, in_loop, problems);
            steps(definition, index, uses, place, problems);
        }
        if let Some(when) = &step.when {
            kinds(definition, when, "when", problems);
        }
        if let Some(foreach) = &step.foreach {
            kinds(definition, foreach, "foreach", problems);
        }
    }
}

fn variables(
    definition: &Definition,
    uses: &Uses,
    place: Position,
    in_loop: bool,
    problems: &mut Vec<Problem>,
) {
    let inputs = || definition.inputs.iter().map(|input| input.name.as_str());
    for name in uses.inputs.iter().filter(|name| !inputs().any(|known| known == **name)) {
        let at = uses.place_of(&["inputs", name]).unwrap_or(place);
        let there =
            if definition.inputs.is_empty() { "; it has none".to_owned() } else { offer(name, inputs()) };
        problems.push(Problem::at(at, format!("there is no input `{}`{there}", clip(name, 40))));
    }
    for name in &uses.others {
        let loops = in_loop && matches!(name.as_str(), "item" | "index");
        if loops || EVERYWHERE.contains(&name.as_str()) {
            continue;
        }
        let hint = match name.as_str() {
            "item" | "index" => "; it is known in a step with `foreach`",
            _ => "; there are inputs, steps, item, index, round, attempt, failure, run, workflow, step",
        };
        let at = uses.place_of(&[name]).unwrap_or(place);
        problems.push(Problem::at(at, format!("`{}` is not defined here{hint}", clip(name, 40))));
    }
}

/// Results that a step refers to must exist when it begins.
fn steps(definition: &Definition, index: usize, uses: &Uses, place: Position, problems: &mut Vec<Problem>) {
    let step = &definition.steps[index];
    let known = std::cell::OnceCell::new();
    for name in &uses.steps {
        let at = uses.place_of(&["steps", name]).unwrap_or(place);
        let mut wrong = |why: String| problems.push(Problem::at(at, why));
        match definition.step(name) {
            None => {
                let names = definition.steps.iter().map(|step| step.name.as_str());
                wrong(format!("there is no step `{}`{}", clip(name, 40), offer(name, names)));
            }
            // Most steps refer only to steps they need; the graph is walked only for the others.
            Some(other) if step.needs.contains(&other) => {}
            Some(other) if known.get_or_init(|| knows(definition, index)).contains(&other) => {}
            Some(_) => wrong(format!(
                "`{}` speaks of the step `{name}`, which is not among its `needs`, nor needed by one of them",
                step.name
            )),
        }
    }
    if uses.steps.is_empty() && !uses.any_step {
        return;
    }
    for (path, at) in &uses.spoken {
        if let [root, name, wanted, ..] = path.as_slice()
            && root == "steps"
            && definition.step(name).is_some()
            && !OF_A_STEP.contains(&wanted.as_str())
        {
            let hint = offer(wanted, OF_A_STEP);
            problems.push(Problem::at(*at, format!("a step has no `{}`{hint}", clip(wanted, 40))));
        }
    }
}

/// A condition must be true or false, and `foreach` must get a list, where the kind is known.
fn kinds(definition: &Definition, expression: &Expression, what: &str, problems: &mut Vec<Problem>) {
    let wanted = if what == "when" { Kind::Boolean } else { Kind::List };
    let Some(kind) = kind(definition, expression).filter(|kind| ![wanted, Kind::Json].contains(kind)) else {
        return;
    };
    let words = |kind: Kind| match kind {
        Kind::Boolean => "true or false",
        Kind::Text => "a text",
        Kind::Number => "a number",
        Kind::List => "a list",
        Kind::Json => "JSON",
    };
    let (words, is) = (words(wanted), words(kind));
    let at = expression.uses.spoken.first().map_or(expression.place, |(_, place)| *place);
    let why = format!("`{what}` is {words}, but `{}` is {is}", clip(&expression.source, 60));
    problems.push(Problem::at(at, why));
}

/// The kind of an expression that is a single input or value. Computes nothing, because the file may be unreviewed.
fn kind(definition: &Definition, expression: &Expression) -> Option<Kind> {
    let source = expression.source.trim();
    let within = |quote: char| {
        let inside = source.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        inside.is_some_and(|text| !text.contains(quote))
    };
    if within('\'') || within('"') {
        return Some(Kind::Text);
    }
    if let Ok(value) = serde_json::from_str::<serde_json::Value>(source) {
        return (!value.is_null()).then(|| Kind::of(&value));
    }
    let name = source.strip_prefix("inputs.")?;
    definition.inputs.iter().find(|input| input.name == name).map(|input| input.kind)
}
