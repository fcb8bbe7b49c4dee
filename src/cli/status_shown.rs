//! An overview in words: one line for each fact without a terminal, and a table that fits the screen on one.

use super::context::Context;
use super::header::age;
use super::output::{BOLD, GREEN, MAGENTA, PLAIN, RED};
use super::table::Cell;
use crate::clock::Timestamp;
use crate::dispatch::paused::{Pause, PauseKind};
use crate::dispatch::runs::Run;
use crate::hint::Hint;
use crate::message::visible;
use crate::overview::{Overview, WaitingMail, WaitsFor};
use crate::post::USER;
use crate::span;

/// Whether commands follow that help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    WithHints,
    Alone,
}

/// One fact: cells for people, a line for programs. Facts of one kind follow each other.
struct Row {
    kind: &'static str,
    cells: Vec<Cell>,
    line: String,
}

impl Row {
    /// `name` and `amount`: the second and third column; `line`: what follows the kind without a terminal.
    fn new(
        kind: &'static str,
        style: anstyle::Style,
        [name, amount, what]: [String; 3],
        line: String,
    ) -> Self {
        let cells = vec![(style, kind.to_owned()), (BOLD, name), (PLAIN, amount), (PLAIN, what)];
        Self { kind, cells, line: visible::line(&format!("{kind} {line}")) }
    }
}

/// Shows rooms. On a terminal each is a table that is cut to the screen.
pub(super) fn show(context: &mut Context, rooms: &[(String, &Overview)], how: Shown) {
    if !context.output.terminal {
        for (room, overview) in rooms {
            if rooms.len() > 1 {
                context.output.line(&visible::line(&format!("room {room}")));
            }
            rows(overview).iter().for_each(|row| context.output.line(&row.line));
        }
        return;
    }
    let hints = if how == Shown::WithHints { hints(rooms) } else { vec![] };
    let (height, width) = (context.output.height().saturating_sub(hints.len()), context.output.width());
    let lines = fitted(context, rooms, height, width);
    context.output.text(&format!("{}\n", lines.join("\n")));
    for hint in hints {
        let hint = context.hint(hint);
        context.output.line(&format!("  {hint}"));
    }
}

/// Painted lines that fit a screen of this size, with one line left for the prompt.
pub(super) fn fitted(
    context: &Context,
    rooms: &[(String, &Overview)],
    height: usize,
    width: usize,
) -> Vec<String> {
    let mut most = height.saturating_sub(1 + rooms.len()).max(rooms.len());
    let mut lines = vec![];
    for (at, (room, overview)) in rooms.iter().enumerate() {
        let left = rooms.len() - at;
        let rows: Vec<Row> =
            rows(overview).into_iter().filter(|row| row.kind != DISPATCHER && row.kind != COST).collect();
        let rows = trimmed(rows, (most / left).max(1));
        most = most.saturating_sub(rows.len());
        lines.push(context.output.paint(BOLD, &head(room, overview, width)));
        lines.extend(context.output.table(rows, width));
    }
    lines
}

const DISPATCHER: &str = "dispatcher";
const COST: &str = "cost";

/// `room NAME: dispatcher since 2 h (pid 123), $1.20 in a day`, cut to this width. The process number goes first.
fn head(room: &str, overview: &Overview, width: usize) -> String {
    let whole = head_with(room, overview, true);
    if visible::columns(&whole) <= width {
        return whole;
    }
    visible::clip(&head_with(room, overview, false), width)
}

fn head_with(room: &str, overview: &Overview, pid: bool) -> String {
    let since = |since: &str| {
        Timestamp::parse(since).map_or("-".into(), |since| span::spoken(overview.at.since(since)))
    };
    let pid = |of: u32| if pid { format!(" (pid {of})") } else { String::new() };
    let dispatcher = match overview.dispatchers.alive.as_slice() {
        [] if overview.dispatchers.dead.is_empty() => "no `dispatch --watch` runs".to_owned(),
        [] => "the dispatcher has died".to_owned(),
        [one] => format!("dispatcher since {}{}", since(&one.since), pid(one.pid)),
        all => format!("{} dispatchers", all.len()),
    };
    let cost = if overview.cost > 0.0 { format!(", ${:.2} in a day", overview.cost) } else { String::new() };
    let quiet = overview.running.is_empty() && overview.waiting.is_empty() && overview.flows.is_empty();
    let quiet = if quiet { ", nothing runs or waits" } else { "" };
    visible::line(&format!("room {room}: {dispatcher}{cost}{quiet}"))
}

/// All facts, the most urgent first.
fn rows(overview: &Overview) -> Vec<Row> {
    let now = overview.at;
    let mut rows = vec![];
    for one in &overview.dispatchers.alive {
        let only = if one.only.is_empty() { String::new() } else { format!(" only {}", one.only.join(",")) };
        let line = format!("{} since {}{only} in {}", one.pid, one.since, one.project);
        rows.push(Row::new(DISPATCHER, PLAIN, Default::default(), line));
    }
    if overview.dispatchers.alive.is_empty() {
        let died = if overview.dispatchers.dead.is_empty() { "" } else { " (it died)" };
        rows.push(Row::new(DISPATCHER, PLAIN, Default::default(), format!("none{died}")));
    }
    for gate in &overview.gates {
        let (place, since) = (gate.word.clone(), gate.since);
        let asked = since.map_or(String::new(), |since| age(now, since));
        let line = format!("{place} {asked}: {}", gate.subject);
        rows.push(Row::new("gate", MAGENTA, [place, asked, gate.subject.clone()], line));
    }
    if overview.unread_mail() > 0 {
        let count = overview.unread_mail().to_string();
        let line = format!("{USER} {count}");
        rows.push(Row::new("mail", MAGENTA, [USER.to_owned(), count, "unread, for you".into()], line));
    }
    rows.extend(overview.running.iter().map(|run| row_of(run, "running", now)));
    rows.extend(overview.interrupted.iter().map(|run| row_of(run, "interrupted", now)));
    let mut waiting: Vec<&WaitingMail> = overview.waiting.iter().collect();
    waiting.sort_by_key(|mail| (mail.waits_for, &mail.name));
    rows.extend(waiting.into_iter().map(|mail| waits(mail, now)));
    for flow in &overview.flows {
        let steps: Vec<String> =
            flow.steps.iter().map(|step| format!("{}: {}", step.name, step.how)).collect();
        let (steps, done) = (steps.join(", "), format!("{}/{}", flow.settled, flow.total));
        let line = format!("{} {done} {steps}", flow.run);
        rows.push(Row::new("workflow", PLAIN, [flow.run.clone(), done, steps], line));
    }
    for flow in &overview.failed_flows {
        let ago = Timestamp::parse(&flow.at).map_or(String::new(), |at| age(now, at));
        let line = format!("{}: {}", flow.run, flow.why);
        rows.push(Row::new("failed", RED, [flow.run.clone(), ago, flow.why.clone()], line));
    }
    if let Some(joined) = &overview.joined {
        let (network, own, what) =
            (joined.network.clone(), format!("as {}", joined.room), joined.said(overview.at));
        let line = format!("{network} {own}: {what}");
        let style = if joined.trouble.is_some() { RED } else { PLAIN };
        rows.push(Row::new("network", style, [network, own, what], line));
    }
    for way in overview.network.iter().filter(|way| way.waiting + way.carried > 0) {
        let since =
            way.oldest.map(|oldest| format!(" since {}", age(overview.at, oldest))).unwrap_or_default();
        let count = format!("{} waiting", way.waiting);
        let what = format!("for another machine{since}, {} without a receipt", way.carried);
        let line = format!("{} {count} {what}", way.room);
        rows.push(Row::new("network", PLAIN, [way.room.to_string(), count, what], line));
    }
    for letters in &overview.failed {
        let (count, why) = (letters.messages.to_string(), letters.why.clone());
        let line = format!("{} {count}: {why}", letters.name);
        rows.push(Row::new("failed", RED, [letters.name.clone(), count, why], line));
    }
    // What waits for a time says so already. A person's pause is shown in any case, until somebody resumes.
    let is_said = |pause: &Pause| {
        let is_it =
            |mail: &WaitingMail| mail.name == pause.agent && mail.waits_for.as_str() == pause.kind.as_str();
        pause.kind != PauseKind::Person && overview.waiting.iter().any(is_it)
    };
    for (_, pause) in overview.paused.iter().filter(|(_, pause)| !is_said(pause)) {
        let since = Timestamp::parse(&pause.since).map_or(String::new(), |since| age(now, since));
        let until = pause.until().map_or(String::new(), |until| format!(" until {until}"));
        let line = format!("{} {}{until}: {}", pause.agent, pause.kind.as_str(), pause.why);
        let what =
            format!("{}{}", pause.until().map_or(String::new(), |until| within(now, until)), pause.why);
        rows.push(Row::new("paused", MAGENTA, [pause.agent.clone(), since, what], line));
    }
    if overview.cost > 0.0 {
        rows.push(Row::new(COST, PLAIN, Default::default(), format!("${:.4}", overview.cost)));
    }
    rows
}

fn row_of(run: &Run, kind: &'static str, now: Timestamp) -> Row {
    let took = run.took(now).map_or_else(|| "-".to_owned(), span::short);
    // `runs` and `stop` take the end of an id.
    let id = run.id.get(run.id.len().saturating_sub(8)..).unwrap_or(&run.id);
    let activity = if run.activity.is_empty() { String::new() } else { format!(": {}", run.activity) };
    let line = format!("{} {took} {} for {}{activity}", run.agent, run.id, run.from);
    let style = if kind == "running" { GREEN } else { RED };
    Row::new(kind, style, [run.agent.clone(), took, format!("{id} for {}{activity}", run.from)], line)
}

fn waits(mail: &WaitingMail, now: Timestamp) -> Row {
    let count = mail.messages.to_string();
    let until = mail.until.map_or(String::new(), |until| format!(" until {until}"));
    let why = if mail.why.is_empty() { String::new() } else { format!(": {}", mail.why) };
    let line = format!("{} {count} {}{until}{why}", mail.name, mail.waits_for.as_str());
    let then = mail.until.map_or(String::new(), |until| within(now, until));
    let what = match mail.waits_for {
        WaitsFor::Person => format!("for a person: {}", mail.why),
        WaitsFor::Trust => format!("for your trust in {}", mail.why),
        WaitsFor::Dispatcher | WaitsFor::Start => format!("for the dispatcher: {}", mail.why),
        WaitsFor::Turn => "for its turn".to_owned(),
        WaitsFor::Retry => format!("{then}tried again: {}", mail.why),
        WaitsFor::Limit | WaitsFor::Outage => format!("{then}{}", mail.why),
        WaitsFor::Step => "for an earlier step".to_owned(),
        WaitsFor::Program => format!("for a program: {}", mail.why),
        WaitsFor::Reader => {
            let there = if mail.in_session { "in session" } else { "not there" };
            let age = mail.oldest.map_or(String::new(), |oldest| format!(", oldest {}", age(now, oldest)));
            format!("unread, {there}{age}")
        }
    };
    let style = match mail.waits_for {
        WaitsFor::Person | WaitsFor::Trust => MAGENTA,
        _ => PLAIN,
    };
    Row::new("waits", style, [mail.name.clone(), count, what], line)
}

/// `in 5m, `
fn within(now: Timestamp, until: Timestamp) -> String {
    format!("in {}, ", span::short(until.since(now)))
}

/// At most so many rows: the kinds with the most rows are cut first, and say how many are left out.
fn trimmed(rows: Vec<Row>, most: usize) -> Vec<Vec<Cell>> {
    let mut kinds: Vec<(&'static str, Vec<Row>)> = vec![];
    for row in rows {
        match kinds.last_mut() {
            Some((kind, rows)) if *kind == row.kind => rows.push(row),
            _ => kinds.push((row.kind, vec![row])),
        }
    }
    let mut shown: Vec<usize> = kinds.iter().map(|(_, rows)| rows.len()).collect();
    while shown.iter().sum::<usize>() > most {
        let Some(longest) = (0..shown.len()).rev().max_by_key(|at| shown[*at]) else { break };
        if shown[longest] <= 1 {
            break;
        }
        shown[longest] -= 1;
    }
    let mut cells = vec![];
    for ((kind, rows), count) in kinds.into_iter().zip(shown) {
        let left_out = rows.len() - count;
        // The last line of a cut kind says how many there are.
        let shown = if left_out > 0 { count - 1 } else { count };
        cells.extend(rows.into_iter().take(shown).map(|row| visible_cells(row.cells)));
        if left_out > 0 {
            let more = format!("… {} more", left_out + 1);
            cells.push(vec![(PLAIN, kind.to_owned()), (PLAIN, more)]);
        }
    }
    cells
}

fn visible_cells(cells: Vec<Cell>) -> Vec<Cell> {
    cells.into_iter().map(|(style, text)| (style, visible::line(&text))).collect()
}

/// The commands that get things going, the most urgent first.
fn hints(rooms: &[(String, &Overview)]) -> Vec<Hint> {
    // In several rooms a command would need the name of one.
    let [(_, overview)] = rooms else { return vec![] };
    let first = |kind: WaitsFor| overview.waiting.iter().find(|mail| mail.waits_for == kind);
    let gate =
        overview.gates.first().map(|gate| Hint::run(&["approve", &gate.word]).to("shows what is asked"));
    let mail = (overview.unread_mail() > 0).then(|| Hint::run(&["check"]).by(USER).to("your mail"));
    let trust = first(WaitsFor::Trust).map(|mail| Hint::run(&["trust", &mail.why]));
    let by_person = |paused: bool| {
        let is_it = move |mail: &&WaitingMail| mail.waits_for == WaitsFor::Person && mail.is_paused == paused;
        overview.waiting.iter().find(is_it)
    };
    let paused = overview.paused.iter().map(|(_, pause)| pause);
    let paused = paused.filter(|pause| pause.kind == PauseKind::Person).map(|pause| pause.agent.as_str());
    // One whose mail waits comes first.
    let paused = by_person(true).map(|mail| mail.name.as_str()).into_iter().chain(paused).next();
    let paused = paused.map(|agent| Hint::run(&["resume", agent]).to("lets it be started again"));
    let flow = overview.failed_flows.last();
    let flow = flow.map(|flow| Hint::run(&["workflow", "retry", &flow.run]).to("asks again for what failed"));
    let parked = by_person(false).is_some() || !overview.failed.is_empty();
    let parked = parked.then(|| Hint::run(&["failed", "list", "--all"]).to("what was given up or parked"));
    let dispatch = first(WaitsFor::Dispatcher).filter(|_| overview.dispatchers.alive.is_empty());
    let dispatch = dispatch.map(|_| Hint::run(&["dispatch", "--watch"]).to("starts the agents"));
    [gate, mail, trust, paused, flow, parked, dispatch].into_iter().flatten().map(Hint::from).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::clock::SystemClock;
    use crate::dispatch::watchers::Watcher;
    use crate::post::{Caller, Post};
    use crate::staff::Staff;

    #[test]
    fn a_head_that_does_not_fit_loses_the_process_number_first() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("room");
        let post = Post::open_or_make(&path, Caller::default(), Arc::new(SystemClock)).unwrap();
        let mut seen = Overview::look(&post, Ok(Staff::default())).unwrap();
        let since = seen.at.minus(Duration::from_secs(7200)).precise();
        seen.dispatchers.alive = vec![Watcher { pid: 1_234_567, since, ..Watcher::default() }];
        let short = "room a-room: dispatcher since 2 h, nothing runs or waits";
        let whole = short.replace("2 h", "2 h (pid 1234567)");
        let long = visible::columns(&whole);
        assert_eq!(head("a-room", &seen, long), whole);
        assert_eq!(head("a-room", &seen, long - 1), short);
        assert_eq!(head("a-room", &seen, 20), "room a-room: dispat…");
    }

    #[test]
    fn the_longest_kind_is_cut_first_and_says_so() {
        let row = |kind: &'static str, name: &str| {
            Row::new(kind, PLAIN, [name.to_owned(), String::new(), String::new()], name.to_owned())
        };
        let rows = || -> Vec<Row> {
            let waits = (0..30).map(|n| row("waits", &format!("w{n}")));
            [row("gate", "g")].into_iter().chain(waits).chain([row("failed", "f")]).collect()
        };
        let shown = trimmed(rows(), 10);
        assert_eq!(shown.len(), 10);
        assert_eq!(shown[0][1].1, "g");
        assert_eq!(shown[8][1].1, "… 23 more");
        assert_eq!(shown[9][1].1, "f");
        assert_eq!(trimmed(rows(), 100).len(), 32);
        assert_eq!(trimmed(rows(), 1).len(), 3, "each kind keeps a line");
    }
}
