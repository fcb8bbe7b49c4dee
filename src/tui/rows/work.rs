//! Runs, workflows and their steps, what failed, and the trash.

use super::now::{bar, thing_of};
use super::tree::{branch, forest};
use super::{Cell, LetterState, OLDER, Row, Thing};
use crate::dispatch::runs::{Run, RunState};
use crate::post::line::counted;
use crate::span;
use crate::tui::seen::{FailedKind, Found};
use crate::tui::state::{Panel, State};
use crate::tui::theme::Tone;

pub(super) fn runs(state: &State, width: usize) -> Vec<Row> {
    let Some(Found::Runs(runs)) = state.found(Panel::Runs) else { return vec![] };
    runs.iter().map(|run| row(state, run, width)).collect()
}

fn row(state: &State, run: &Run, width: usize) -> Row {
    let (sign, tone) = sign(run);
    let what = match run.state {
        _ if run.is_interrupted => "the next dispatch ends it",
        RunState::Running => &run.activity,
        _ => run.first_reason(),
    };
    let mut cells = vec![
        Cell::Fixed(2, sign.into(), tone),
        Cell::Fixed(if width >= 70 { 12 } else { 8 }, run.state_word().into(), tone),
        Cell::Fixed((width / 6).clamp(10, 18), run.agent.clone(), Tone::Strong),
        Cell::Fixed(7, run.took(state.now).map(span::measured).unwrap_or_default(), Tone::Plain),
    ];
    let from = if width >= 70 { (width / 6).clamp(10, 18) } else { 0 };
    cells.push(Cell::Fixed(from, format!("← {}", run.from), Tone::Accent));
    let cost = run.cost.map(|cost| format!("${cost:.2}")).unwrap_or_default();
    cells.push(Cell::Fixed(if width >= 90 { 8 } else { 0 }, cost, Tone::Dim));
    let worktree = run.worktree.as_ref().filter(|worktree| !worktree.gone && run.state != RunState::Running);
    let what = match worktree {
        Some(worktree) if what.is_empty() => format!("{} · {}", worktree.branch, worktree.size()),
        _ => what.to_owned(),
    };
    cells.push(Cell::Rest(what, Tone::Dim));
    // Beside it is how long it took.
    let age = state.age(crate::clock::Timestamp::parse(&run.started));
    cells.push(Cell::Right(if age.is_empty() { age } else { format!("{age} ago") }, Tone::Dim));
    state.row(run.id.clone(), thing_of(run), width, &cells)
}

pub(in crate::tui) fn sign(run: &Run) -> (&'static str, Tone) {
    match run.state {
        _ if run.is_interrupted => ("✗", Tone::Bad),
        RunState::Running => ("●", Tone::Work),
        RunState::Done => ("✓", Tone::Good),
        RunState::Failed => ("✗", Tone::Bad),
        RunState::Again => ("↻", Tone::Warn),
        RunState::Parked => ("‖", Tone::Warn),
    }
}

/// The run whose transcript or changes are open.
pub(super) fn opened(state: &State) -> Option<Thing> {
    match (state.found(Panel::Transcript), state.place()) {
        (Some(Found::Run(seen)), _) => Some(thing_of(&seen.run)),
        (_, crate::tui::state::Place::Diff { run }) => Some(Thing::Run {
            id: run.clone(),
            mailbox: String::new(),
            message: String::new(),
            agent: String::new(),
            is_running: false,
            can_retry: false,
            has_worktree: false,
        }),
        _ => None,
    }
}

pub(super) fn flows(state: &State, width: usize) -> Vec<Row> {
    let Some(Found::Flows(flows)) = state.found(Panel::Flows) else { return vec![] };
    let mut rows = vec![];
    if !flows.rows.is_empty() {
        rows.push(state.heading("Runs", flows.rows.len(), width));
    }
    // On a narrow screen, the room is for the ids: two runs must not look alike.
    let is_wide = width >= 70;
    for flow in &flows.rows {
        let (sign, tone) = of_status(&flow.status);
        let progress = match is_wide {
            true => bar(flow.settled, flow.total),
            false => format!("{}/{}", flow.settled, flow.total),
        };
        let cells = [
            Cell::Fixed(2, sign.into(), tone),
            Cell::Fixed(if is_wide { 13 } else { 0 }, flow.status.clone(), tone),
            Cell::Rest(flow.run.clone(), Tone::Strong),
            Cell::Rest(flow.now.clone(), Tone::Dim),
            Cell::Right(progress, Tone::Work),
            Cell::Right(state.age(flow.started), Tone::Dim),
        ];
        let (is_open, has_failed) = ends(&flow.status);
        let thing = Thing::Flow { run: flow.run.clone(), is_open, has_failed };
        rows.push(state.row(format!("flow {}", flow.run), thing, width, &cells));
    }
    if flows.older > 0 {
        let all = flows.rows.len() + flows.older;
        let text = format!("… {} older: `postroom workflow list --limit {all}`", flows.older);
        rows.push(Row { key: OLDER.to_owned(), ..state.remark(&text, width) });
    }
    rows.push(state.heading("Workflows that can be started", flows.known.len(), width));
    rows.extend(flows.known.iter().map(|(name, about)| {
        let (about, tone) = match about {
            Ok(about) => (about.clone(), Tone::Dim),
            Err(why) => (why.clone(), Tone::Bad),
        };
        let cells = [
            Cell::Fixed(2, "+".into(), Tone::Good),
            Cell::Fixed(24, name.clone(), Tone::Strong),
            Cell::Rest(about, tone),
        ];
        state.row(format!("start {name}"), Thing::Workflow { name: name.clone() }, width, &cells)
    }));
    rows
}

/// Whether a run of this status goes on, and whether it failed.
fn ends(status: &str) -> (bool, bool) {
    (status == "in progress", status == "failed")
}

fn of_status(status: &str) -> (&'static str, Tone) {
    match status {
        "in progress" => ("●", Tone::Work),
        "completed" => ("✓", Tone::Good),
        "failed" | "unreadable" => ("✗", Tone::Bad),
        _ => ("■", Tone::Dim),
    }
}

/// The steps of a workflow run as a tree.
pub(super) fn steps(state: &State, width: usize) -> Vec<Row> {
    let Some(Found::Flow(flow)) = state.found(Panel::Steps) else { return vec![] };
    let place = |name: &String| flow.steps.iter().position(|step| step.name == *name);
    let needs: Vec<Vec<usize>> =
        flow.steps.iter().map(|step| step.needs.iter().filter_map(place).collect()).collect();
    let ordered = forest(&needs);
    let depths: Vec<usize> = ordered.iter().map(|(_, depth)| *depth).collect();
    let mut rows = vec![];
    for (at, (step, _)) in ordered.iter().enumerate() {
        let step = &flow.steps[*step];
        let (sign, tone) = match step.status {
            "running" => ("●", Tone::Work),
            "asked" => ("◐", Tone::Work),
            "done" => ("✓", Tone::Good),
            "failed" => ("✗", Tone::Bad),
            "skipped" | "stopped" => ("■", Tone::Dim),
            _ => ("○", Tone::Dim),
        };
        let (sign, tone) = if step.gate.is_some() { ("◆", Tone::Warn) } else { (sign, tone) };
        let time = match step.items.as_slice() {
            [] => String::new(),
            items => {
                let begin = items.iter().filter_map(|item| item.asked).min();
                let end = items.iter().map(|item| item.ended).collect::<Option<Vec<_>>>();
                let end = end.and_then(|ends| ends.into_iter().max()).unwrap_or(state.now);
                begin.map(|begin| span::short(end.since(begin))).unwrap_or_default()
            }
        };
        let agents: Vec<&str> = step.items.iter().map(|item| item.agent.as_str()).collect();
        let agents = match agents.as_slice() {
            [] => String::new(),
            [one] => (*one).to_owned(),
            many => format!("{} agents", many.len()),
        };
        let how = if step.gate.is_some() { "waits for your approval" } else { &step.how };
        let name = format!("{}{sign} {}", branch(&depths, at), step.name);
        let cells = [
            Cell::Fixed((width / 3).clamp(18, 40), name, tone),
            Cell::Rest(how.to_owned(), if step.gate.is_some() { Tone::Warn } else { Tone::Dim }),
            Cell::Right(agents, Tone::Accent),
            Cell::Right(time, Tone::Dim),
        ];
        let (is_open, has_failed) = ends(&flow.status);
        let thing = Thing::Step { run: flow.run.clone(), gate: step.gate.clone(), is_open, has_failed };
        rows.push(state.row(step.name.clone(), thing, width, &cells));
    }
    rows
}

pub(super) fn failed(state: &State, width: usize) -> Vec<Row> {
    let Some(Found::Failed(failed)) = state.found(Panel::Failed) else { return vec![] };
    let mut rows: Vec<Row> = failed
        .rows
        .iter()
        .map(|row| {
            let (sign, tone, word) = match row.kind {
                FailedKind::Dead(tries) => {
                    ("✗", Tone::Bad, counted(tries as usize, "try").replace("trys", "tries"))
                }
                FailedKind::Parked => ("‖", Tone::Warn, "parked".to_owned()),
                FailedKind::Quarantined => ("?", Tone::Bad, "broken".to_owned()),
            };
            let letter = match row.kind {
                FailedKind::Parked => LetterState::Parked,
                FailedKind::Dead(_) => LetterState::Dead,
                FailedKind::Quarantined => LetterState::Quarantined,
            };
            let thing = match (&row.id, row.kind) {
                (Some(id), _) => Thing::Letter {
                    id: id.clone(),
                    mailbox: row.mailbox.clone(),
                    file: row.file.clone(),
                    is_mine: false,
                    gate: None,
                    state: letter,
                },
                (None, kind) => Thing::Broken {
                    mailbox: row.mailbox.clone(),
                    file: row.file.clone(),
                    can_prune: matches!(kind, FailedKind::Dead(_)),
                },
            };
            let cells = [
                Cell::Fixed(2, sign.into(), tone),
                Cell::Fixed(9, word, tone),
                Cell::Fixed((width / 6).clamp(10, 18), row.name.clone(), Tone::Strong),
                Cell::Rest(row.subject.clone(), Tone::Plain),
                Cell::Rest(row.why.lines().next().unwrap_or_default().to_owned(), Tone::Dim),
                Cell::Right(state.age(row.time), Tone::Dim),
            ];
            state.row(format!("{} {}", row.mailbox, row.file), thing, width, &cells)
        })
        .collect();
    if failed.older > 0 {
        let text = format!("… {} older", failed.older);
        rows.push(Row { key: OLDER.to_owned(), ..state.remark(&text, width) });
    }
    rows.extend(failed.faults.iter().map(|fault| state.remark(&format!("! {fault}"), width)));
    if rows.is_empty() {
        rows.push(state.remark("Nothing failed, and nothing is parked.", width));
    }
    rows
}

pub(super) fn trash(state: &State, width: usize) -> Vec<Row> {
    let Some(Found::Trash(bags)) = state.found(Panel::Trash) else { return vec![] };
    let mut rows: Vec<Row> = bags
        .iter()
        .map(|bag| {
            let cells = [
                Cell::Fixed(2, "↩".into(), Tone::Dim),
                Cell::Rest(bag.contents(), Tone::Plain),
                Cell::Right(state.age(Some(bag.at)), Tone::Dim),
            ];
            state.row(bag.id.clone(), Thing::Bag { id: bag.id.clone() }, width, &cells)
        })
        .collect();
    if rows.is_empty() {
        rows.push(state.remark("The trash is empty.", width));
    }
    rows
}
