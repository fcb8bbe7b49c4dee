//! A workflow as a graph: for Mermaid, and as text for a terminal. Pure.
//!
//! In the text each step has one line, to the right of all it needs. The lines that lead to it come from the steps
//! above: `├─`, `└─` and `│` as in a tree. Further needs follow its name.

use super::definition::{Definition, Gate, Join, OnFailure, Step, Then};

/// The remarks after the name of a step.
fn remarks(definition: &Definition, step: &Step) -> Vec<String> {
    let mut words = vec![];
    words.extend(step.when.as_ref().map(|when| format!("when {}", when.source)));
    words.extend(step.foreach.as_ref().map(|foreach| format!("for each of {}", foreach.source)));
    if let Join::AtLeast(count) = step.join {
        words.push(format!("joins {count}"));
    }
    words.extend(step.gates.iter().map(|gate| match gate {
        Gate::Contains(text) => format!("gate: contains {text:?}"),
        Gate::Verdict(verdict) => format!("gate: verdict {}", verdict.accept.join(" or ")),
        Gate::Command { command, .. } => format!("gate: {}", command.join(" ")),
        Gate::Schema(_) => "gate: schema".to_owned(),
        Gate::Approval { by, .. } => format!("gate: approval by {by}"),
    }));
    if step.retry > 0 {
        words.push(format!("retry {}", step.retry));
    }
    match step.on_failure {
        OnFailure::Stop => {}
        OnFailure::Continue => words.push("continues on failure".to_owned()),
        OnFailure::Step { step: handler, rounds, then } => {
            let name = &definition.steps[handler].name;
            let then = match then {
                Then::Again => format!("again, {rounds} rounds at most"),
                Then::Continue => "goes on".to_owned(),
                Then::Stop => "stops".to_owned(),
            };
            words.push(format!("on failure {name}, then {then}"));
        }
    }
    words
}

/// The node name of a step: its own name, unless that is reserved in Mermaid.
fn node(name: &str) -> String {
    match name.to_lowercase().as_str() {
        "end" | "graph" | "flowchart" | "subgraph" | "style" | "class" | "classdef" | "click" | "default"
        | "linkstyle" | "direction" => format!("{name}_"),
        _ => name.to_owned(),
    }
}

/// The graph for Mermaid.
pub fn mermaid(definition: &Definition) -> String {
    let mut text = String::from("flowchart TD\n");
    // Mermaid labels are HTML, and `#` begins a character entity.
    let quoted = |text: &str| {
        let mut safe = String::new();
        for c in text.chars() {
            match c {
                '#' => safe.push_str("#35;"),
                '"' => safe.push_str("#quot;"),
                '<' => safe.push_str("#lt;"),
                '>' => safe.push_str("#gt;"),
                '&' => safe.push_str("#amp;"),
                '`' => safe.push_str("#96;"),
                c if c.is_control() => safe.push(' '),
                c => safe.push(c),
            }
        }
        safe
    };
    for step in &definition.steps {
        let mut label = format!("{}<br>{}", step.name, quoted(step.agent.source.trim()));
        for remark in remarks(definition, step) {
            label.push_str(&format!("<br>{}", quoted(&crate::message::visible::clip(&remark, 60))));
        }
        let (open, close) = if step.foreach.is_some() { ("[[", "]]") } else { ("[", "]") };
        text.push_str(&format!("  {}{open}\"{label}\"{close}\n", node(&step.name)));
    }
    for step in &definition.steps {
        for need in &step.needs {
            text.push_str(&format!("  {} --> {}\n", node(&definition.steps[*need].name), node(&step.name)));
        }
        if let OnFailure::Step { step: handler, then, .. } = step.on_failure {
            let (handler, step) = (node(&definition.steps[handler].name), node(&step.name));
            text.push_str(&format!("  {step} -. fails .-> {handler}\n"));
            if then == Then::Again {
                text.push_str(&format!("  {handler} -. again .-> {step}\n"));
            }
        }
    }
    text
}

/// The graph drawn as text.
pub fn drawn(definition: &Definition) -> String {
    let mut text = format!("{}\n", definition.name);
    let roots: Vec<usize> =
        (0..definition.steps.len()).filter(|index| parent(definition, *index).is_none()).collect();
    branches(definition, &roots, "", &mut text);
    text
}

/// A step is drawn below the last of its needs, else below the step whose failure it handles.
fn parent(definition: &Definition, index: usize) -> Option<usize> {
    let step = &definition.steps[index];
    let deepest = step.needs.iter().copied().max_by_key(|need| (definition.steps[*need].level, *need));
    deepest.or(step.handler_of)
}

fn branches(definition: &Definition, steps: &[usize], indent: &str, text: &mut String) {
    for (at, index) in steps.iter().enumerate() {
        let last = at + 1 == steps.len();
        let step = &definition.steps[*index];
        let mark = match (last, step.handler_of.is_some()) {
            (true, false) => "└─ ",
            (false, false) => "├─ ",
            (true, true) => "└╌ ",
            (false, true) => "├╌ ",
        };
        let mut line = format!("{indent}{mark}{} → {}", step.name, step.agent.source.trim());
        let others = step.needs.iter().filter(|need| Some(**need) != parent(definition, *index));
        let others: Vec<&str> = others.map(|need| definition.steps[*need].name.as_str()).collect();
        if !others.is_empty() {
            line.push_str(&format!(" (also needs {})", others.join(", ")));
        }
        let remarks = remarks(definition, step);
        if !remarks.is_empty() {
            line.push_str(&format!(" [{}]", remarks.join("; ")));
        }
        text.push_str(&crate::message::visible::line(&line));
        text.push('\n');
        let children: Vec<usize> =
            (0..definition.steps.len()).filter(|child| parent(definition, *child) == Some(*index)).collect();
        let below = format!("{indent}{}", if last { "   " } else { "│  " });
        branches(definition, &children, &below, text);
    }
}
