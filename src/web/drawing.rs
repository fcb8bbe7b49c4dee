//! Drawings of a workflow: its definition as a graph with the state of a run on it, and a run as a timeline.

use std::fmt::Write;

use super::lanes::escaped;
use crate::clock::Timestamp;
use crate::message::visible;
use crate::span;
use crate::workflow::definition::{Definition, OnFailure};
use crate::workflow::timeline::Bar;

const BOX: (usize, usize) = (150, 46);
const GAP: (usize, usize) = (56, 22);
const PAD: usize = 16;

/// A graph as SVG.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) svg: String,
}

/// A timeline as SVG.
#[derive(Debug)]
pub(super) struct Gantt {
    pub(super) svg: String,
}

/// Draws a definition: a column for each level, a box for each step. `statuses`: that of each step; `agents`: who works on
/// each, where that is known.
pub(super) fn graph(definition: &Definition, statuses: &[&str], agents: &[String]) -> Graph {
    let mut columns: Vec<Vec<usize>> = vec![];
    let mut places = vec![(0, 0); definition.steps.len()];
    let mut levels: Vec<u64> = definition.steps.iter().map(|step| step.level).collect();
    levels.sort_unstable();
    levels.dedup();
    columns.resize(levels.len(), vec![]);
    for (index, step) in definition.steps.iter().enumerate() {
        let column = levels.iter().position(|level| *level == step.level).unwrap_or(0);
        columns[column].push(index);
    }
    let rows = columns.iter().map(Vec::len).max().unwrap_or(1);
    let height = PAD * 2 + rows * BOX.1 + rows.saturating_sub(1) * GAP.1 + 18;
    for (column, steps) in columns.iter().enumerate() {
        let used = steps.len() * BOX.1 + steps.len().saturating_sub(1) * GAP.1;
        let top = (height - used) / 2;
        for (row, index) in steps.iter().enumerate() {
            places[*index] = (PAD + column * (BOX.0 + GAP.0), top + row * (BOX.1 + GAP.1));
        }
    }
    let width = PAD * 2 + columns.len() * BOX.0 + columns.len().saturating_sub(1) * GAP.0;
    let mut svg = String::new();
    let mut out = |text: std::fmt::Arguments<'_>| {
        // Writing into a String does not fail.
        let _ = svg.write_fmt(text);
    };
    out(format_args!(
        "<svg class=\"graph\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"The steps of {}; the list below says the same\">",
        escaped(&definition.name)
    ));
    for (index, step) in definition.steps.iter().enumerate() {
        let (x, y) = places[index];
        for need in &step.needs {
            let (from_x, from_y) = (places[*need].0 + BOX.0, places[*need].1 + BOX.1 / 2);
            let (to_x, to_y) = (x, y + BOX.1 / 2);
            let middle = (from_x + to_x) / 2;
            out(format_args!(
                "<path class=\"need\" d=\"M{from_x} {from_y}C{middle} {from_y} {middle} {to_y} {to_x} {to_y}\
                 M{tip} {}L{to_x} {to_y}L{tip} {}\"/>",
                to_y - 5,
                to_y + 5,
                tip = to_x - 8,
            ));
        }
        if let OnFailure::Step { step: handler, .. } = step.on_failure {
            let (from, to) = (places[index], places[handler]);
            let (from_x, from_y) = (from.0 + BOX.0 / 2, from.1 + BOX.1);
            let (to_x, to_y) = (to.0 + BOX.0 / 2, to.1 + BOX.1);
            let low = from_y.max(to_y) + 20;
            out(format_args!(
                "<path class=\"handles\" d=\"M{from_x} {from_y}C{from_x} {low} {to_x} {low} {to_x} {to_y}\">\
                 <title>if it fails</title></path>"
            ));
        }
    }
    for (index, step) in definition.steps.iter().enumerate() {
        let ((x, y), status) = (places[index], statuses.get(index).copied().unwrap_or("waiting"));
        let (name, agent) = (
            visible::clip(&step.name, 18),
            match agents.get(index).filter(|agent| !agent.is_empty()) {
                Some(agent) => visible::clip(agent, 20),
                None => visible::clip(&plain(step.agent.source.trim()), 20),
            },
        );
        let many = if step.foreach.is_some() { " many" } else { "" };
        out(format_args!(
            "<g class=\"step {status}{many}\"><title>{}: {status}</title><rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"9\"/>\
             <text x=\"{tx}\" y=\"{}\">{}</text><text x=\"{tx}\" y=\"{}\" class=\"dim\">{}</text></g>",
            escaped(&step.name),
            BOX.0,
            BOX.1,
            y + 20,
            escaped(&name),
            y + 37,
            escaped(&agent),
            tx = x + 12,
        ));
    }
    svg.push_str("</svg>");
    Graph { svg }
}

/// An agent that an input names, without the signs of a template.
fn plain(source: &str) -> String {
    let inside = source.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")).map(str::trim);
    inside.map_or(source, |inside| inside.strip_prefix("inputs.").unwrap_or(inside)).to_owned()
}

const LABEL: usize = 200;
const ROW: usize = 26;
const SPAN: usize = 720;

/// The distances between two ticks, each with its unit and how many of it they are.
const STEPS: [(f64, &str, u32); 25] = [
    (0.001, "ms", 1),
    (0.005, "ms", 5),
    (0.02, "ms", 20),
    (0.1, "ms", 100),
    (0.5, "ms", 500),
    (1.0, "s", 1),
    (2.0, "s", 2),
    (5.0, "s", 5),
    (10.0, "s", 10),
    (30.0, "s", 30),
    (60.0, "m", 1),
    (120.0, "m", 2),
    (300.0, "m", 5),
    (600.0, "m", 10),
    (1800.0, "m", 30),
    (3600.0, "h", 1),
    (7200.0, "h", 2),
    (14_400.0, "h", 4),
    (28_800.0, "h", 8),
    (86_400.0, "d", 1),
    (172_800.0, "d", 2),
    (432_000.0, "d", 5),
    (1_728_000.0, "d", 20),
    (8_640_000.0, "d", 100),
    (86_400_000.0, "d", 1000),
];

/// At most six round times from zero to an end, in seconds, with their labels.
fn ticks(whole: f64) -> Vec<(f64, String)> {
    let [.., last] = STEPS;
    let (step, unit, many) = STEPS.into_iter().find(|(step, ..)| whole / step <= 5.0).unwrap_or(last);
    (0..=5u32)
        .map(|count| (f64::from(count) * step, format!("{}{unit}", count * many)))
        .filter(|(time, _)| *time <= whole)
        .collect()
}

/// Draws the bars of a run. `None` if there are none.
pub(super) fn gantt(definition: &Definition, bars: &[Bar], now: Timestamp) -> Option<Gantt> {
    let start = bars.iter().map(|bar| bar.asked).min()?;
    let end = bars.iter().map(|bar| bar.ended.unwrap_or(now)).max()?;
    let whole = end.since(start).as_secs_f64().max(0.001);
    let at =
        |time: Timestamp| LABEL as f64 + SPAN as f64 * (time.since(start).as_secs_f64() / whole).min(1.0);
    let (width, height) = (LABEL + SPAN + 70, 34 + ROW * bars.len() + 8);
    let mut svg = String::new();
    let mut out = |text: std::fmt::Arguments<'_>| {
        let _ = svg.write_fmt(text);
    };
    out(format_args!(
        "<svg class=\"gantt\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"When each step was asked, worked on and done\">"
    ));
    for (time, label) in ticks(whole) {
        let x = LABEL as f64 + SPAN as f64 * time / whole;
        out(format_args!(
            "<line class=\"tick\" x1=\"{x:.1}\" y1=\"24\" x2=\"{x:.1}\" y2=\"{height}\"/>\
             <text class=\"dim\" x=\"{x:.1}\" y=\"16\" text-anchor=\"middle\">{label}</text>"
        ));
    }
    for (row, bar) in bars.iter().enumerate() {
        let y = 30 + ROW * row;
        let step = definition.steps.get(bar.step).map_or("", |step| step.name.as_str());
        let name = match definition.steps.get(bar.step).is_some_and(|step| step.foreach.is_some()) {
            true => format!("{step} {}", bar.item + 1),
            false => step.to_owned(),
        };
        let ended = bar.ended.unwrap_or(now);
        let (x1, x2) = (at(bar.asked), at(ended));
        // Where nobody saw work begin, it is not drawn.
        let began = bar.began.map_or(x2, &at).clamp(x1, x2);
        let kind = match (bar.ended, bar.has_failed) {
            (None, _) => "running",
            (Some(_), true) => "failed",
            (Some(_), false) => "done",
        };
        let took = span::measured(ended.since(bar.asked));
        out(format_args!(
            "<g class=\"bar {kind}\"><title>{}, {}: {}</title><text x=\"8\" y=\"{}\">{}<tspan class=\"dim\" dx=\"6\">{}</tspan></text>\
             <rect class=\"waits\" x=\"{x1:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"16\" rx=\"3\"/>\
             <rect class=\"works\" x=\"{began:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"16\" rx=\"3\"/>\
             <text class=\"dim\" x=\"{:.1}\" y=\"{}\">{}</text></g>",
            escaped(&name),
            escaped(&visible::line(&bar.agent)),
            escaped(&took),
            y + 12,
            escaped(&visible::clip(&name, 16)),
            escaped(&visible::clip(&bar.agent, 12)),
            (x2 - x1).max(2.0),
            (x2 - began).max(2.0),
            x2 + 6.0,
            y + 12,
            escaped(&took),
        ));
    }
    svg.push_str("</svg>");
    Some(Gantt { svg })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_differ() {
        let labels = |whole| ticks(whole).into_iter().map(|(_, label)| label).collect::<Vec<_>>().join(" ");
        assert_eq!(labels(2.1 * 3600.0), "0m 30m 60m 90m 120m");
        assert_eq!(labels(48.0), "0s 10s 20s 30s 40s");
        assert_eq!(labels(0.004), "0ms 1ms 2ms 3ms 4ms");
        assert_eq!(labels(90_000.0), "0h 8h 16h 24h");
    }
}
