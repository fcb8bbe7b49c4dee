//! `postroom runs`: the list of runs, and the transcript of one.

use std::io::Write;
use std::time::Duration;

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::output::{BOLD, CYAN, GREEN, MAGENTA, NAME, Output, PLAIN, RED};
use crate::clock::Timestamp;
use crate::dispatch::chosen::RunFilter;
use crate::dispatch::judgement::denials;
use crate::dispatch::run_reader::{Piece, RunReader};
use crate::dispatch::runs::{Run, RunState, Runs};
use crate::hint::Hint;
use crate::message::visible;
use crate::post::line::counted;
use crate::process::transcript::{CallOutcome, Event, shown_call};
use crate::span;
use crate::view;
use crate::wait::Watch;

/// How many lines of the output of a tool are shown.
const LINES: usize = 10;

/// How much of the output of a run is read.
const LIMIT: u64 = 64 * 1024 * 1024;

/// Show the runs of agents, or what one agent did
///
/// With an id: what the agent said, which tools it called and what came of that, and how it ended, read out of the output
/// of its program.
#[derive(Debug, Args)]
pub(super) struct RunsOf {
    /// A run, by the beginning or the end of its id
    id: Option<String>,
    /// At most this many, the newest
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Only those of this agent
    #[arg(long, value_name = "NAME", conflicts_with = "id")]
    agent: Option<String>,
    /// Only those that failed
    #[arg(long, conflicts_with = "id")]
    failed: bool,
    /// Only those that began in this time (12h, 7d)
    #[arg(long, value_name = "SPAN", value_parser = span::parse, conflicts_with = "id")]
    since: Option<Duration>,
    /// The output of the program, byte for byte
    #[arg(long, requires = "id")]
    raw: bool,
    /// Show what happens until the run ends
    #[arg(long, requires = "id", conflicts_with = "raw")]
    follow: bool,
}

impl Verb for RunsOf {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let post = context.project_post()?;
        let runs = Runs::open(post.room())?;
        let Some(wanted) = &self.id else {
            let now = context.clock().now();
            let filter = self.filter(now);
            let found = runs.chosen(&filter)?;
            let document = view::run::Runs::of(&found, now);
            context.output.list(&document, &found, |output, run| show(output, run, now));
            let sentence = if filter.is_narrowed() { "no run fits" } else { "no agent was started" };
            return if found.is_empty() { Err(context.nothing(sentence)) } else { Ok(()) };
        };
        let fitting = runs.called(wanted)?;
        let [run] = fitting.as_slice() else {
            let wanted = visible::clip(wanted, 60);
            let why = match fitting.len() {
                0 => format!("there is no run `{wanted}`"),
                several => format!("{several} runs begin or end with `{wanted}`"),
            };
            return Err(Fail::unknown(why, Hint::run(&["runs"]).to("lists them")));
        };
        match (self.raw, self.follow) {
            (true, _) => raw(context, &runs, run),
            (_, true) => follow(context, &runs, run),
            _ => whole(context, &runs, run),
        }
    }
}

impl RunsOf {
    fn filter(&self, now: Timestamp) -> RunFilter {
        RunFilter {
            agent: self.agent.clone(),
            failed: self.failed,
            since: self.since.map(|span| now.minus(span)),
            before: None,
            limit: self.limit,
        }
    }
}

fn raw(context: &mut Context, runs: &Runs, run: &Run) -> Result<(), Fail> {
    let (out, err) = (runs.output(&run.id, LIMIT)?, runs.errors(&run.id, LIMIT)?);
    if context.output.json || context.output.terminal {
        let (out, err) = (String::from_utf8_lossy(&out), String::from_utf8_lossy(&err));
        if context.output.json {
            context.output.json(&view::run::RunOutput { run: run.into(), out: &out, err: &err });
            return Ok(());
        }
        context.output.text_of_others(&out);
        errors(&mut context.output, &err);
        return Ok(());
    }
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&out).and_then(|()| stdout.flush()).map_err(Fail::Output)?;
    // A stream of its own, as the program had it; what reads it may be a terminal.
    let err = visible::text(&String::from_utf8_lossy(&err));
    let _ = std::io::stderr().write_all(err.as_bytes());
    Ok(())
}

fn whole(context: &mut Context, runs: &Runs, run: &Run) -> Result<(), Fail> {
    let err = runs.errors(&run.id, LIMIT)?;
    let err = String::from_utf8_lossy(&err);
    let mut reader = RunReader::of(run);
    let mut events = reader.next(runs)?.events;
    events.extend(reader.end());
    let now = context.clock().now();
    if context.output.json {
        let shown = view::run::Run::at(run, now);
        context.output.json(&view::transcript::RunTranscript::of(shown, &events, reader.skipped(), &err));
        return Ok(());
    }
    head(&mut context.output, run, now);
    let mut last = String::new();
    events.iter().for_each(|event| show_event(&mut context.output, event, &mut last));
    foot(&mut context.output, reader.skipped());
    errors(&mut context.output, &err);
    Ok(())
}

/// Shows events as they come, until the run has ended.
fn follow(context: &mut Context, runs: &Runs, run: &Run) -> Result<(), Fail> {
    let (mut reader, mut last) = (RunReader::of(run), String::new());
    let mut watch = Watch::polling(Duration::from_millis(300));
    let began = context.clock().now();
    if !context.output.json {
        head(&mut context.output, run, began);
    }
    loop {
        let Piece { run: now, events, has_ended } = reader.next(runs)?;
        for event in &events {
            match context.output.json {
                true => {
                    let event = view::transcript::Event::of(event);
                    context.output.json(&view::transcript::Followed { run: &run.id, event });
                }
                false => show_event(&mut context.output, event, &mut last),
            }
        }
        if has_ended && !context.output.json {
            foot(&mut context.output, reader.skipped());
            errors(&mut context.output, &String::from_utf8_lossy(&runs.errors(&run.id, LIMIT)?));
            // It has ended, so how long it took does not depend on this time.
            show(&mut context.output, &now, began);
        }
        context.output.flush().map_err(Fail::Output)?;
        if has_ended {
            return Ok(());
        }
        watch.sleep(Duration::from_secs(60));
    }
}

fn head(output: &mut Output, run: &Run, now: Timestamp) {
    show(output, run, now);
    if run.why.contains('\n') {
        output.line(&visible::text(&run.why));
    }
    if let Some(worktree) = &run.worktree {
        let gone =
            if worktree.gone && worktree.fault.is_empty() { " (removed: nothing was changed)" } else { "" };
        output.line(&format!("worktree: {}{gone}", visible::line(&worktree.path)));
        if !worktree.fault.is_empty() {
            output.line(&format!("not committed: {}", visible::line(&worktree.fault)));
        }
    }
}

/// One event, in the lines of a transcript. `last`: the last text, which the end repeats.
fn show_event(output: &mut Output, event: &Event, last: &mut String) {
    match event {
        Event::Began { model, .. } => {
            if let Some(model) = model {
                output.line(&format!("model: {}", visible::line(model)));
            }
        }
        Event::Said { text } => {
            text.clone_into(last);
            output.text(&format!("{}\n", visible::text(text.trim_end())));
        }
        Event::Thought { text } => indented(output, "(thinks) ", text, LINES),
        Event::Called { tool, input, .. } => {
            let call = visible::clip(&shown_call(tool, input), 400);
            let arrow = output.paint(BOLD, "→");
            output.line(&format!("{arrow} {call}"));
        }
        Event::Returned { outcome, output: said, .. } => {
            let (style, word) = match outcome {
                CallOutcome::Done => (PLAIN, ""),
                CallOutcome::Failed => (RED, "failed: "),
                CallOutcome::Denied => (MAGENTA, "denied: "),
            };
            let word = output.paint(style, word);
            indented(output, &word, said, LINES);
        }
        Event::Remarked { text } => indented(output, "warning: ", text, LINES),
        Event::Ended { is_ok, text } => {
            let text = text.as_deref().filter(|text| !is_ok || text.trim() != last.trim());
            match (is_ok, text) {
                (true, Some(text)) => {
                    show_event(output, &Event::Said { text: text.to_owned() }, &mut String::new())
                }
                (false, text) => {
                    let word = output.paint(RED, "ended with an error: ");
                    indented(output, &word, text.unwrap_or("no reason is given"), LINES);
                }
                (true, None) => {}
            }
        }
    }
}

/// A text below an event, of which the first lines are shown.
fn indented(output: &mut Output, word: &str, text: &str, lines: usize) {
    let text = visible::text(text.trim_end());
    if text.is_empty() && word.is_empty() {
        return;
    }
    for (at, line) in text.split('\n').take(lines).enumerate() {
        let word = if at == 0 { word } else { "" };
        output.line(&format!("  {word}{}", visible::clip(line, 400)));
    }
    let more = text.split('\n').count().saturating_sub(lines);
    if more > 0 {
        output.line(&format!("  … {}", counted(more, "more line")));
    }
}

fn foot(output: &mut Output, skipped: usize) {
    if skipped > 0 {
        let were = if skipped == 1 { "was" } else { "were" };
        let lines = counted(skipped, "line");
        output.line(&format!("{lines} of its output {were} not understood; --raw shows them"));
    }
}

fn errors(output: &mut Output, err: &str) {
    if !err.trim().is_empty() {
        output.line("--- errors");
        output.text_of_others(err);
    }
}

/// One run, as it is now.
pub(super) fn show_now(context: &mut Context, run: &Run) {
    let now = context.clock().now();
    show(&mut context.output, run, now);
}

/// One run: `FROM → AGENT STATE DURATION RUN[ (FACT, ...)][: WHY]`, or a row for people.
fn show(output: &mut Output, run: &Run, now: Timestamp) {
    let took = run.took(now).map_or_else(|| "-".to_owned(), |took| format!("{}s", took.as_secs()));
    let why = run.first_reason();
    let also = match facts(run).join(", ") {
        facts if facts.is_empty() => facts,
        facts => format!("({facts})"),
    };
    let way = format!("{} → {}", run.from, run.agent);
    let state = match run.denied.is_empty() {
        true => run.state_word().to_owned(),
        false => visible::line(&format!("{}, {}", run.state_word(), denials(&run.denied))),
    };
    let mut line = format!("{} {state} {took} {}", visible::line(&way), run.id);
    if !also.is_empty() {
        line.push_str(&format!(" {}", visible::line(&also)));
    }
    if !why.is_empty() {
        line.push_str(&format!(": {}", visible::line(why)));
    }
    let style = match run.state {
        _ if run.is_interrupted => RED,
        RunState::Done => GREEN,
        RunState::Failed => RED,
        RunState::Running | RunState::Again | RunState::Parked => PLAIN,
    };
    let rest = format!("{why} {also}").trim().to_owned();
    let (id, agent, sender) = (run.id.clone(), run.agent.clone(), format!("for {}", run.from));
    let cells = [(CYAN, id), (style, state), (PLAIN, took), (NAME, agent), (PLAIN, sender), (PLAIN, rest)];
    output.entry(&cells, &line);
}

/// What else is known of a run: other messages, its cost, its changes.
fn facts(run: &Run) -> Vec<String> {
    let also = Some(run.also.len()).filter(|more| *more > 0).map(|more| format!("with {more} more"));
    let cost = run.cost.map(|cost| format!("${cost:.4}"));
    let tokens = run.tokens.map(|tokens| format!("{} tokens", tokens.input.saturating_add(tokens.output)));
    let worktree = run.worktree.as_ref().filter(|worktree| !worktree.gone && !worktree.head.is_empty());
    let changes = worktree.map(|worktree| format!("branch {}: {}", worktree.branch, worktree.size()));
    [also, cost, tokens, changes].into_iter().flatten().collect()
}
