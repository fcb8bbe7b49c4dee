//! What goes on now: what waits for the person, runs, workflows as trees, waiting mail, dead letters; and the feed.

use super::{Cell, Row, Thing};
use crate::clock::Timestamp;
use crate::dispatch::runs::{Run, RunState};
use crate::overview::{Card, CardKind, CardState, Gate, OpenFlow, Overview, WaitingMail, WaitsFor};
use crate::post::USER;
use crate::post::line::counted;
use crate::span;
use crate::tui::seen::GateSeen;
use crate::tui::state::{Place, State};
use crate::tui::theme::Tone;

pub(super) fn rows(state: &State, width: usize) -> Vec<Row> {
    let Some(room) = &state.room_seen else { return vec![] };
    let overview = &room.overview;
    let mut rows = vec![];
    section(&mut rows, state, "Waits for you", width, waits_for_you(state, overview, width));
    section(&mut rows, state, "At work", width, at_work(state, overview, width));
    section(&mut rows, state, "Workflows", width, flows(state, overview, width));
    section(&mut rows, state, "Waiting mail", width, waiting(state, overview, width));
    section(&mut rows, state, "Failed", width, failed(state, overview, width));
    section(&mut rows, state, "Could not be read", width, faults(state, overview, width));
    if rows.is_empty() {
        rows.push(state.remark("Nothing runs, nothing waits. `c` writes a message.", width));
    }
    rows
}

fn section(rows: &mut Vec<Row>, state: &State, title: &str, width: usize, section: Vec<Row>) {
    if section.is_empty() {
        return;
    }
    if !rows.is_empty() {
        let blank = Row { key: format!("# before {title}"), ..state.remark("", width) };
        rows.push(blank);
    }
    rows.push(state.heading(title, section.iter().filter(|row| !row.key.contains("/step ")).count(), width));
    rows.extend(section);
}

fn waits_for_you(state: &State, overview: &Overview, width: usize) -> Vec<Row> {
    let mut rows = vec![];
    for gate in &overview.gates {
        let thing = of_gate(gate);
        let cells = [
            Cell::Fixed(2, "◆".into(), Tone::Warn),
            Cell::Fixed(10, "approve?".into(), Tone::Warn),
            Cell::Rest(gate.subject.trim_start_matches("approve? ").to_owned(), Tone::Strong),
            Cell::Right(state.age(gate.since), Tone::Dim),
        ];
        rows.push(state.row(format!("gate {}", gate.request), thing, width, &cells));
    }
    let mine = overview.cards.iter().find(|card| card.kind == CardKind::Person);
    if overview.unread_mail() > 0 {
        let cells = [
            Cell::Fixed(2, "✉".into(), Tone::Accent),
            Cell::Fixed(10, "mail".into(), Tone::Accent),
            Cell::Rest(counted(overview.unread_mail(), "unread message"), Tone::Strong),
            Cell::Right(state.age(mine.and_then(|card| card.oldest)), Tone::Dim),
        ];
        let thing = match mine.and_then(|card| card.id.as_ref()) {
            Some(id) => mailbox(id.as_str(), USER, false, false, false),
            None => Thing::Link(Place::Mail),
        };
        rows.push(state.row("unread", thing, width, &cells));
    }
    for mail in &overview.waiting {
        let (word, thing) = match mail.waits_for {
            // What was stopped is released in another place than what waits for its agent.
            WaitsFor::Person if mail.is_paused => ("paused", of_name(overview, &mail.name)),
            WaitsFor::Person => ("parked", Thing::Link(Place::Failed)),
            WaitsFor::Trust => ("trust?", of_name(overview, &mail.name)),
            _ => continue,
        };
        let why = mail.why.strip_prefix("paused: ").unwrap_or(&mail.why);
        let cells = [
            Cell::Fixed(2, "◆".into(), Tone::Warn),
            Cell::Fixed(10, word.into(), Tone::Warn),
            Cell::Fixed(16, mail.name.clone(), Tone::Strong),
            Cell::Rest(format!("{}: {why}", counted(mail.messages, "message")), Tone::Plain),
            Cell::Right(state.age(mail.oldest), Tone::Dim),
        ];
        rows.push(state.row(format!("{word} {}", mail.name), thing, width, &cells));
    }
    rows
}

fn of_gate(gate: &Gate) -> Thing {
    let seen = GateSeen { request: gate.request.to_string(), word: gate.word.clone() };
    Thing::Gate { gate: seen, run: gate.run.clone() }
}

fn at_work(state: &State, overview: &Overview, width: usize) -> Vec<Row> {
    let current = overview.cards.iter().flat_map(|card| card.running.iter().map(move |run| (card, run)));
    let mut rows: Vec<Row> = current
        .map(|(_, current)| {
            let subject = current.subject.as_deref().unwrap_or("its message");
            run(state, &current.run, subject, width)
        })
        .collect();
    let known: Vec<String> = rows.iter().map(|row| row.key.clone()).collect();
    let others = overview.running.iter().filter(|run| !known.contains(&format!("run {}", run.id)));
    rows.extend(others.map(|one| run(state, one, "", width)).collect::<Vec<_>>());
    rows.extend(overview.interrupted.iter().map(|run| {
        let cells = [
            Cell::Fixed(2, "✗".into(), Tone::Bad),
            Cell::Fixed(14, run.agent.clone(), Tone::Strong),
            Cell::Rest("interrupted; the next dispatch ends it".into(), Tone::Bad),
        ];
        state.row(format!("run {}", run.id), thing_of(run), width, &cells)
    }));
    rows
}

fn run(state: &State, run: &Run, subject: &str, width: usize) -> Row {
    let took = run.took(state.now).map(span::short).unwrap_or_default();
    let activity = if run.activity.is_empty() { "thinking" } else { &run.activity };
    let cells = [
        Cell::Fixed(2, "●".into(), Tone::Work),
        Cell::Fixed(14, run.agent.clone(), Tone::Strong),
        Cell::Fixed(5, took, Tone::Work),
        Cell::Rest(activity.to_owned(), Tone::Plain),
        Cell::Rest(subject.to_owned(), Tone::Dim),
    ];
    state.row(format!("run {}", run.id), thing_of(run), width, &cells)
}

pub(super) fn thing_of(run: &Run) -> Thing {
    Thing::Run {
        id: run.id.clone(),
        mailbox: run.mailbox.clone(),
        message: run.message.clone(),
        agent: run.agent.clone(),
        is_running: run.state == RunState::Running,
        can_retry: matches!(run.state, RunState::Failed | RunState::Parked),
        has_worktree: run.worktree.as_ref().is_some_and(|worktree| !worktree.gone),
    }
}

fn flows(state: &State, overview: &Overview, width: usize) -> Vec<Row> {
    let mut rows = vec![];
    for flow in &overview.flows {
        let thing = Thing::Flow { run: flow.run.clone(), is_open: true, has_failed: false };
        let cells = [
            Cell::Fixed(2, "▸".into(), Tone::Work),
            Cell::Rest(flow.run.clone(), Tone::Strong),
            Cell::Right(progress(flow), Tone::Work),
            Cell::Right(state.age(flow.started.as_deref().and_then(Timestamp::parse)), Tone::Dim),
        ];
        rows.push(state.row(format!("flow {}", flow.run), thing.clone(), width, &cells));
        for (at, step) in flow.steps.iter().enumerate() {
            let branch = if at + 1 == flow.steps.len() { "  └─" } else { "  ├─" };
            let tone = if step.status == "running" { Tone::Work } else { Tone::Plain };
            let gate = overview.gates.iter().find(|gate| gate.run == flow.run && gate.step == step.name);
            let how = if gate.is_some() { "waits for your approval" } else { &step.how };
            let tone = if gate.is_some() { Tone::Warn } else { tone };
            let cells = [
                Cell::Fixed(6, branch.into(), Tone::Dim),
                Cell::Fixed(16, step.name.clone(), tone),
                Cell::Rest(how.to_owned(), Tone::Dim),
            ];
            let thing = match gate {
                Some(gate) => of_gate(gate),
                None => thing.clone(),
            };
            rows.push(state.row(format!("flow {}/step {}", flow.run, step.name), thing, width, &cells));
        }
    }
    rows
}

/// `━━━━──── 3/7`
fn progress(flow: &OpenFlow) -> String {
    bar(flow.settled, flow.total)
}

pub(super) fn bar(settled: usize, total: usize) -> String {
    const WIDTH: usize = 8;
    let full = (settled.min(total) * WIDTH).checked_div(total).unwrap_or(0);
    format!("{}{} {settled}/{total}", "━".repeat(full), "─".repeat(WIDTH - full))
}

fn waiting(state: &State, overview: &Overview, width: usize) -> Vec<Row> {
    let mut rows = vec![];
    for (_, pause) in &overview.paused {
        let until = pause.until().map(|until| format!(" for {}", span::short(until.since(state.now))));
        let cells = [
            Cell::Fixed(2, "‖".into(), Tone::Warn),
            Cell::Fixed(14, pause.agent.clone(), Tone::Strong),
            Cell::Rest(
                format!("paused by {}{}: {}", pause.kind.as_str(), until.unwrap_or_default(), pause.why),
                Tone::Warn,
            ),
        ];
        let thing = of_name(overview, &pause.agent);
        rows.push(state.row(format!("pause {} {}", pause.agent, pause.kind.as_str()), thing, width, &cells));
    }
    for mail in &overview.waiting {
        let is_stuck = match mail.waits_for {
            WaitsFor::Person | WaitsFor::Trust => continue,
            WaitsFor::Reader if mail.name.eq_ignore_ascii_case(USER) => continue,
            WaitsFor::Turn | WaitsFor::Reader => false,
            _ => true,
        };
        let why = why_waiting(state, mail);
        let cells = [
            Cell::Fixed(2, "○".into(), if is_stuck { Tone::Warn } else { Tone::Dim }),
            Cell::Fixed(14, mail.name.clone(), Tone::Strong),
            Cell::Fixed(5, mail.messages.to_string(), Tone::Accent),
            Cell::Rest(why, if is_stuck { Tone::Warn } else { Tone::Dim }),
            Cell::Right(state.age(mail.oldest), Tone::Dim),
        ];
        let thing = of_name(overview, &mail.name);
        rows.push(state.row(format!("mail {} {}", mail.name, mail.waits_for.as_str()), thing, width, &cells));
    }
    rows.extend(on_the_way(state, overview, width));
    rows
}

/// Why mail waits, and for how long, as far as that is known.
fn why_waiting(state: &State, mail: &WaitingMail) -> String {
    let known = Some(mail.why.clone()).filter(|why| !why.is_empty());
    match mail.waits_for {
        WaitsFor::Reader if mail.in_session => match known {
            Some(why) => format!("{why}; it is in session"),
            None => "is in session, and will read it".to_owned(),
        },
        WaitsFor::Reader => known.unwrap_or_else(|| "nobody is there who reads it".to_owned()),
        WaitsFor::Turn => known.unwrap_or_else(|| "its agent is at work".to_owned()),
        WaitsFor::Dispatcher => "no dispatcher runs that starts it".to_owned(),
        other => {
            let until = mail.until.filter(|until| *until > state.now);
            let left = until.map(|until| format!(", {} left", span::short(until.since(state.now))));
            format!("waits for {}{}: {}", other.as_str(), left.unwrap_or_default(), mail.why)
        }
    }
}

/// Mail for rooms of other machines.
fn on_the_way(state: &State, overview: &Overview, width: usize) -> Vec<Row> {
    let open = overview.network.iter().filter(|way| way.waiting + way.carried + way.failed > 0);
    let rows = open.map(|way| {
        let mut words = vec![];
        words.extend((way.waiting > 0).then(|| format!("{} for another machine", way.waiting)));
        words.extend((way.carried > 0).then(|| format!("{} without a receipt", way.carried)));
        words.extend((way.failed > 0).then(|| format!("{} failed", way.failed)));
        let tone = if way.failed > 0 { Tone::Bad } else { Tone::Dim };
        let cells = [
            Cell::Fixed(2, "⇄".into(), tone),
            Cell::Fixed(19, way.room.to_string(), Tone::Strong),
            Cell::Rest(words.join(", "), tone),
            Cell::Right(state.age(way.oldest), Tone::Dim),
        ];
        state.row(format!("network {}", way.room), Thing::Nothing, width, &cells)
    });
    let joined = overview.joined.as_ref().map(|joined| {
        let tone = if joined.trouble.is_some() { Tone::Bad } else { Tone::Dim };
        let cells = [
            Cell::Fixed(2, "⇄".into(), tone),
            Cell::Fixed(19, format!("{} as {}", joined.network, joined.room), Tone::Strong),
            Cell::Rest(joined.said(state.now), tone),
        ];
        state.row(format!("joined {}", joined.network), Thing::Nothing, width, &cells)
    });
    joined.into_iter().chain(rows).collect()
}

fn failed(state: &State, overview: &Overview, width: usize) -> Vec<Row> {
    let flows = overview.failed_flows.iter().map(|flow| {
        let cells = [
            Cell::Fixed(2, "✗".into(), Tone::Bad),
            Cell::Fixed(24, flow.run.clone(), Tone::Strong),
            Cell::Rest(flow.why.clone(), Tone::Plain),
            Cell::Right(state.age(Timestamp::parse(&flow.at)), Tone::Dim),
        ];
        let thing = Thing::Flow { run: flow.run.clone(), is_open: false, has_failed: true };
        state.row(format!("failed flow {}", flow.run), thing, width, &cells)
    });
    let letters = overview.failed.iter().map(|dead| {
        let cells = [
            Cell::Fixed(2, "✗".into(), Tone::Bad),
            Cell::Fixed(14, dead.name.clone(), Tone::Strong),
            Cell::Fixed(5, dead.messages.to_string(), Tone::Bad),
            Cell::Rest(dead.why.lines().next().unwrap_or_default().to_owned(), Tone::Plain),
        ];
        state.row(format!("dead {}", dead.name), Thing::Link(Place::Failed), width, &cells)
    });
    flows.chain(letters).collect()
}

fn faults(state: &State, overview: &Overview, width: usize) -> Vec<Row> {
    let rows = overview.faults.iter().enumerate().map(|(at, fault)| {
        let cells = [Cell::Fixed(2, "!".into(), Tone::Bad), Cell::Rest(fault.clone(), Tone::Bad)];
        state.row(format!("fault {at}"), Thing::Nothing, width, &cells)
    });
    rows.collect()
}

pub(super) fn mailbox(id: &str, name: &str, is_agent: bool, is_paused: bool, is_running: bool) -> Thing {
    Thing::Mailbox { id: id.to_owned(), name: name.to_owned(), is_agent, is_paused, is_running }
}

/// The mailbox of a card.
pub(super) fn of_card(card: &Card) -> Thing {
    let Some(id) = &card.id else { return Thing::Nothing };
    let is_agent = matches!(card.kind, CardKind::Agent { .. } | CardKind::AgentWithoutProgram);
    let is_paused = matches!(card.state, CardState::Paused { .. });
    mailbox(id.as_str(), &card.name, is_agent, is_paused, !card.running.is_empty())
}

fn of_name(overview: &Overview, name: &str) -> Thing {
    overview.cards.iter().find(|card| card.name == name).map_or(Thing::Nothing, of_card)
}

/// What happened, the newest first.
pub(super) fn feed(state: &State, width: usize) -> Vec<Row> {
    let Some(room) = &state.room_seen else { return vec![] };
    let rows = room.feed.iter().enumerate().map(|(at, line)| {
        let tone = match line.event.as_str() {
            "sent" | "answered" => Tone::Accent,
            "shown" | "archived" | "done" => Tone::Good,
            "failed" | "quarantined" | "bounced" => Tone::Bad,
            "claimed" | "released" => Tone::Work,
            _ => Tone::Dim,
        };
        let who = match line.to.is_empty() {
            true => line.by.clone(),
            false => format!("{} → {}", line.by, line.to),
        };
        let cells = [
            Cell::Fixed(5, state.age(line.time), Tone::Dim),
            Cell::Fixed(10, line.event.clone(), tone),
            Cell::Fixed((width / 3).clamp(12, 28), who, Tone::Plain),
            Cell::Rest(line.what.clone(), Tone::Dim),
        ];
        let thing = match &line.id {
            Some(id) => Thing::Link(Place::Letter { id: id.clone() }),
            None => Thing::Nothing,
        };
        // An arrival moves all lines down, and the choice with them. Equal lines are counted from the oldest.
        let same = room.feed[at + 1..].iter().filter(|other| *other == line).count();
        let key = format!("{:?} {} {} {} {} {same}", line.time, line.event, line.by, line.to, line.what);
        state.row(key, thing, width, &cells)
    });
    rows.collect()
}
