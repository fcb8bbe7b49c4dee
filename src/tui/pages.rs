//! Texts: a message, a transcript, a difference and the result of a step, as lines for a width.

use std::rc::Rc;

use ratatui::text::{Line, Span};

use super::markdown;
use super::seen::{DiffSeen, FileSeen, FlowSeen, Found, LetterSeen, Part, RunSeen};
use super::state::{Panel, Rendered, State};
use super::theme::Tone;
use super::wrap::fold;
use crate::message::visible;
use crate::span;
use crate::workflow::decision;

/// The lines of a text. They are kept until something new is read.
pub(super) fn lines(state: &State, panel: Panel, width: u16) -> Rc<Vec<Line<'static>>> {
    let chosen = state.cursor(Panel::Steps).key;
    // The result that is shown changes with the step that is chosen, and nothing is read for that.
    let is_kept = panel != Panel::Result || chosen.is_none();
    if let Some(kept) = state.rendered.borrow().get(&panel)
        && is_kept
        && (kept.width, kept.version) == (width, state.version)
    {
        return Rc::clone(&kept.lines);
    }
    let lines = Rc::new(match state.found(panel) {
        Some(Found::Letter(letter)) => of_letter(state, letter, width),
        Some(Found::Run(run)) => of_run(state, run, width),
        Some(Found::Diff(diff)) => of_diff(state, diff, width),
        Some(Found::Flow(flow)) => of_step(state, flow, chosen.as_deref(), width),
        _ => vec![],
    });
    let rendered = Rendered { width, version: state.version, lines: Rc::clone(&lines) };
    state.rendered.borrow_mut().insert(panel, rendered);
    lines
}

/// A field of a head: `from   ann`.
fn field(state: &State, name: &str, value: &str, tone: Tone, width: u16) -> Vec<Line<'static>> {
    let first = Span::styled(format!("{name:<9}"), state.style(Tone::Dim));
    let value = Span::styled(visible::line(value), state.style(tone));
    fold(&[value], width.into(), &first, &Span::raw(" ".repeat(9)))
}

/// A screen of fewer lines shows the head of a message in as few as it can.
const TALL: u16 = 30;

fn of_letter(state: &State, letter: &LetterSeen, width: u16) -> Vec<Line<'static>> {
    let mut lines = vec![];
    let subject = Span::styled(visible::line(&letter.subject), state.style(Tone::Strong));
    lines.extend(fold(&[subject], width.into(), &Span::raw(""), &Span::raw("")));
    match state.size.1 < TALL {
        true => lines.extend(low_head(state, letter, width)),
        false => lines.extend(head(state, letter, width)),
    }
    for FileSeen { name, size, wrong } in &letter.files {
        let wrong = wrong.as_ref().map(|wrong| format!(" · {wrong}")).unwrap_or_default();
        lines.extend(field(state, "file", &format!("{name} · {size} bytes{wrong}"), Tone::Plain, width));
    }
    for doubt in &letter.doubts {
        lines.extend(field(state, "doubt", doubt, Tone::Warn, width));
    }
    lines.push(Line::default());
    match letter.gate {
        Some(_) => lines.extend(question(state, &letter.body, width)),
        None => lines.extend(markdown::render(&letter.body, width, state.theme)),
    }
    lines
}

/// What a run asks, without the ways to answer it elsewhere.
fn question(state: &State, body: &str, width: u16) -> Vec<Line<'static>> {
    let mut lines = vec![plain(state, "It asks you: y approves, n rejects", Tone::Warn)];
    lines.extend(markdown::render(&decision::bare(body), width, state.theme));
    lines
}

/// `ann → user (queued, unread) · 3 min ago · high`, and where it belongs.
fn low_head(state: &State, letter: &LetterSeen, width: u16) -> Vec<Line<'static>> {
    let part = |text: &str, tone| Span::styled(visible::line(text), state.style(tone));
    let copy = |(name, how): &(String, String)| match how.as_str() {
        "" => name.clone(),
        how => format!("{name} ({how})"),
    };
    let names: Vec<String> = letter.to.iter().map(copy).collect();
    let mut parts = vec![
        part(&letter.from, Tone::Accent),
        part(&format!(" → {}", names.join(", ")), Tone::Plain),
        part(&format!(" · {} ago", span::spoken(state.now.since(letter.time))), Tone::Dim),
    ];
    if letter.priority != "normal" {
        parts.push(part(&format!(" · {}", letter.priority), Tone::Warn));
    }
    if let Some(flow) = &letter.flow {
        parts.push(part(&format!(" · {flow}"), Tone::Work));
    }
    fold(&parts, width.into(), &Span::raw(""), &Span::raw("  "))
}

fn head(state: &State, letter: &LetterSeen, width: u16) -> Vec<Line<'static>> {
    let mut lines = vec![];
    let via = letter.via.as_ref().map(|via| format!(" (sent by {via})")).unwrap_or_default();
    let time = format!("{} · {} ago", letter.time, span::spoken(state.now.since(letter.time)));
    lines.extend(field(state, "from", &format!("{}{via}", letter.from), Tone::Accent, width));
    for (name, how) in &letter.to {
        let to = if how.is_empty() { name.clone() } else { format!("{name} · {how}") };
        lines.extend(field(state, "to", &to, Tone::Plain, width));
    }
    lines.extend(field(state, "at", &time, Tone::Dim, width));
    if letter.priority != "normal" {
        lines.extend(field(state, "priority", letter.priority, Tone::Warn, width));
    }
    if let Some(flow) = &letter.flow {
        lines.extend(field(state, "workflow", flow, Tone::Work, width));
    }
    if let Some(run) = letter.runs.first() {
        let more = if letter.runs.len() > 1 {
            format!(" and {} before", letter.runs.len() - 1)
        } else {
            String::new()
        };
        lines.extend(field(state, "run", &format!("{run}{more}"), Tone::Work, width));
    }
    lines
}

fn of_run(state: &State, seen: &RunSeen, width: u16) -> Vec<Line<'static>> {
    let run = &seen.run;
    let mut lines = vec![];
    let took = run.took(state.now).map(span::measured).unwrap_or_default();
    let cost = run.cost.map(|cost| format!(" · ${cost:.4}")).unwrap_or_default();
    let tokens = run.tokens.map(|tokens| format!(" · {} tokens", tokens.input.saturating_add(tokens.output)));
    let (sign, tone) = super::rows::sign(run);
    let how = format!(
        "{sign} {} · {took} · attempt {}{cost}{}",
        run.state_word(),
        run.attempt,
        tokens.unwrap_or_default()
    );
    lines.extend(field(state, "state", &how, tone, width));
    lines.extend(field(state, "agent", &format!("{} {}", run.agent, seen.model), Tone::Strong, width));
    lines.extend(field(state, "from", &run.from, Tone::Accent, width));
    if let Some(flow) = &seen.flow {
        lines.extend(field(state, "workflow", flow, Tone::Work, width));
    }
    if let Some(worktree) = run.worktree.as_ref().filter(|worktree| !worktree.gone) {
        lines.extend(field(
            state,
            "branch",
            &format!("{} · {}", worktree.branch, worktree.size()),
            Tone::Good,
            width,
        ));
    }
    if !run.denied.is_empty() {
        lines.extend(field(state, "denied", &run.denied.join(", "), Tone::Warn, width));
    }
    if let Some(fault) = &seen.fault {
        lines.extend(field(state, "fault", fault, Tone::Bad, width));
    }
    if !run.why.is_empty() {
        lines.extend(field(state, "why", &run.why, Tone::Warn, width));
    }
    lines.push(Line::default());
    for part in &seen.parts {
        of_part(state, &run.id, part, width, &mut lines);
    }
    if seen.skipped > 0 {
        lines.push(plain(state, &format!("{} lines were not understood", seen.skipped), Tone::Dim));
    }
    if !seen.errors.trim().is_empty() {
        lines.push(plain(state, "What its program wrote to its errors:", Tone::Bad));
        lines.extend(block(state, &seen.errors, width, Tone::Dim));
    }
    lines
}

fn plain(state: &State, text: &str, tone: Tone) -> Line<'static> {
    Line::from(Span::styled(visible::line(text), state.style(tone)))
}

/// A text as it is, line by line, a little indented.
fn block(state: &State, text: &str, width: u16, tone: Tone) -> Vec<Line<'static>> {
    let (style, indent) = (state.style(tone), Span::raw("  "));
    let safe = visible::text(text.trim_end());
    safe.split('\n')
        .flat_map(|line| fold(&[Span::styled(line.to_owned(), style)], width.into(), &indent, &indent))
        .collect()
}

fn of_part(state: &State, run: &str, part: &Part, width: u16, lines: &mut Vec<Line<'static>>) {
    match part {
        Part::Said(text) => {
            lines.extend(markdown::render(text, width, state.theme));
            lines.push(Line::default());
        }
        Part::Thought(text) => {
            lines.extend(block(state, text, width, Tone::Dim));
            lines.push(Line::default());
        }
        Part::Called { tool, about, end, .. } => {
            let (sign, tone) = match end {
                None => ("●", Tone::Work),
                Some(("ok", _)) => ("✓", Tone::Good),
                Some(_) => ("✗", Tone::Bad),
            };
            let parts = [
                Span::styled(format!("{tool} "), state.style(Tone::Strong)),
                Span::styled(visible::line(about), state.style(Tone::Code)),
            ];
            let first = Span::styled(format!("{sign} "), state.style(tone));
            lines.extend(fold(&parts, width.into(), &first, &Span::raw("  ")));
            if let Some((_, output)) = end
                && !output.trim().is_empty()
            {
                lines.extend(block(state, output, width, Tone::Dim));
            }
            lines.push(Line::default());
        }
        Part::Remarked(text) => lines.extend(block(state, text, width, Tone::Warn)),
        Part::Ended(text) => lines.extend(block(state, text, width, Tone::Bad)),
        Part::LeftOut(count) => {
            let all = format!("… {count} earlier parts: postroom runs {run}");
            lines.push(plain(state, &all, Tone::Dim));
            lines.push(Line::default());
        }
    }
}

fn of_diff(state: &State, diff: &DiffSeen, width: u16) -> Vec<Line<'static>> {
    let mut lines = field(state, "branch", &diff.branch, Tone::Good, width);
    lines.extend(field(state, "worktree", &diff.path, Tone::Dim, width));
    lines.extend(field(state, "changes", &diff.size, Tone::Plain, width));
    lines.push(Line::default());
    if let Some(wrong) = &diff.wrong {
        lines.push(plain(state, wrong, Tone::Bad));
    } else if diff.text.is_empty() {
        lines.push(plain(state, "It changed nothing, or its worktree is gone.", Tone::Dim));
    }
    for line in diff.text.lines() {
        let tone = match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'd', b'i', b'f', b'f', ..] => Tone::Strong,
            [b'+', ..] => Tone::Good,
            [b'-', ..] => Tone::Bad,
            [b'@', b'@', ..] => Tone::Work,
            _ => Tone::Plain,
        };
        let safe = visible::text(line);
        lines.extend(fold(
            &[Span::styled(safe, state.style(tone))],
            width.into(),
            &Span::raw(""),
            &Span::raw("  "),
        ));
    }
    if diff.is_cut {
        lines.push(plain(state, "… the rest is left out; git shows it", Tone::Dim));
    }
    lines
}

fn of_step(state: &State, flow: &FlowSeen, chosen: Option<&str>, width: u16) -> Vec<Line<'static>> {
    let Some(step) = flow.steps.iter().find(|step| Some(step.name.as_str()) == chosen) else { return vec![] };
    let mut lines = vec![plain(state, &step.name, Tone::Strong)];
    let asked = step.gate.as_ref();
    // What is to be decided comes before everything else: a low screen shows no more.
    for gate in
        flow.gates.iter().filter(|gate| asked.is_some_and(|asked| asked.request == gate.request.as_str()))
    {
        lines.extend(question(state, &gate.body, width));
        lines.push(Line::default());
    }
    if !step.about.is_empty() {
        lines.extend(field(state, "about", &step.about, Tone::Plain, width));
    }
    lines.extend(field(state, "state", &step.how, Tone::Work, width));
    lines.push(Line::default());
    for item in &step.items {
        let sign = match (item.is_done, &item.failure) {
            (true, _) => "✓",
            (false, Some(_)) => "✗",
            (false, None) => "●",
        };
        lines.push(plain(state, &format!("{sign} {} · attempt {}", item.agent, item.attempt), Tone::Accent));
        if let Some(failure) = &item.failure {
            lines.extend(block(state, failure, width, Tone::Bad));
        }
        if let Some(result) = &item.result {
            lines.extend(markdown::render(result, width, state.theme));
        }
        lines.push(Line::default());
    }
    for (name, value) in flow.inputs.iter().filter(|_| step.items.is_empty()) {
        lines.extend(field(state, "input", &format!("{name} = {value}"), Tone::Dim, width));
    }
    lines
}
