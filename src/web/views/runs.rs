//! Runs: what agents were started for, and the transcript of one.

use std::collections::VecDeque;

use askama::Template;

use crate::clock::Timestamp;
use crate::dispatch::chosen::RunFilter;
use crate::dispatch::runs::{Run, RunState, Runs};
use crate::dispatch::worktree::changes;
use crate::message::visible;
use crate::name::MailboxId;
use crate::post::Post;
use crate::span;
use crate::web::guard::Role;
use crate::web::markup::Time;
use crate::web::page::Page;
use crate::web::routes::{Ask, Wrong};
use crate::web::transcripts::{Part, Transcripts, clip};

/// The number of runs on a page.
const ROWS: usize = 50;

/// How many pages of runs are looked through for those in one state.
const LOOKS: usize = 20;

/// The states by which runs are chosen, as [`Run::state_word`] says them.
const STATES: [&str; 6] = ["running", "interrupted", "done", "failed", "again", "parked"];

/// What is said of a run whose supervisor is dead.
const INTERRUPTED: &str = "its supervisor was killed; the next dispatch ends it";

/// How much of what a program wrote to its errors is read.
const OUTPUT: u64 = 64 * 1024;

#[derive(Template)]
#[template(path = "runs.html")]
struct List<'a> {
    room: &'a str,
    rows: Vec<Row>,
    agents: Vec<String>,
    agent: &'a str,
    /// Each with whether it is chosen.
    states: [(&'static str, bool); STATES.len()],
    state: &'a str,
    older: Option<Older>,
    /// Why not all agents can be chosen.
    fault: Option<String>,
}

/// Where the next page of runs goes on.
struct Older {
    before: String,
    /// Not all runs were looked at, so the older ones may have more that fit.
    is_cut: bool,
}

/// A run in a list.
pub(in crate::web) struct Row {
    pub(in crate::web) id: String,
    pub(in crate::web) agent: String,
    pub(in crate::web) from: String,
    pub(in crate::web) state: &'static str,
    pub(in crate::web) kind: &'static str,
    pub(in crate::web) started: Option<Time>,
    pub(in crate::web) ended: Option<Time>,
    pub(in crate::web) took: String,
    pub(in crate::web) cost: String,
    /// The subject of its message.
    pub(in crate::web) subject: String,
    /// What it does now, or why it ended so.
    pub(in crate::web) why: String,
}

impl Row {
    pub(in crate::web) fn of(run: &Run, subject: String, now: Timestamp) -> Self {
        let what = match run.state {
            _ if run.is_interrupted => INTERRUPTED,
            RunState::Running => &run.activity,
            _ => &run.why,
        };
        let denied = match run.denied.len() {
            0 => String::new(),
            count => format!("{count} denied. "),
        };
        let tokens =
            run.tokens.map(|tokens| format!(" · {} tokens", tokens.input.saturating_add(tokens.output)));
        Self {
            id: run.id.clone(),
            agent: visible::line(&run.agent),
            from: visible::line(&run.from),
            state: run.state_word(),
            kind: kind(run),
            started: Time::read(&run.started, now),
            ended: Time::read(&run.ended, now),
            subject,
            // When an interrupted run ended is not known.
            took: run.took(now).filter(|_| !run.is_interrupted).map(span::measured).unwrap_or_default(),
            cost: match run.cost {
                Some(cost) => format!("${cost:.4}{}", tokens.unwrap_or_default()),
                None => tokens.unwrap_or_default().trim_start_matches(" · ").to_owned(),
            },
            why: format!("{denied}{}", visible::clip(what.lines().next().unwrap_or_default(), 200)),
        }
    }
}

/// How the state of a run is coloured.
fn kind(run: &Run) -> &'static str {
    match run.state {
        _ if run.is_interrupted => "bad",
        RunState::Running => "work busy",
        RunState::Done => "ok",
        RunState::Failed => "bad",
        RunState::Again | RunState::Parked => "warn",
    }
}

pub(in crate::web) fn page(ask: &Ask) -> Result<Page, Wrong> {
    let post = &ask.post;
    let now = post.room().clock().now();
    let (agent, state) = (ask.value("agent").unwrap_or_default(), ask.value("state").unwrap_or_default());
    let (found, older) = match Runs::existing(post.room())? {
        Some(runs) => newest(&runs, ask.value("agent"), state, ask.value("before"))?,
        None => (vec![], None),
    };
    let rows = found.iter().map(|run| Row::of(run, subject(post, run), now)).collect();
    let (agents, fault) = match ask.desk.staff(post) {
        Ok(staff) => (staff.agents, None),
        Err(e) => (vec![], Some(visible::line(&format!("the agents: {e}")))),
    };
    let mut agents: Vec<String> = agents.into_iter().map(|(agent, _)| agent.name).collect();
    if !agent.is_empty() && !agents.iter().any(|known| known == agent) {
        agents.push(agent.to_owned());
    }
    let states = STATES.map(|known| (known, known == state));
    let list = List { room: &ask.room, rows, agents, agent, states, state, older, fault };
    Page::new("runs", "Runs", &list)
}

/// The newest runs that fit, newest first, and the place where the next page goes on.
fn newest(
    runs: &Runs,
    agent: Option<&str>,
    state: &str,
    before: Option<&str>,
) -> Result<(Vec<Run>, Option<Older>), Wrong> {
    let (mut found, mut before) = (vec![], before.map(str::to_owned));
    let wanted = STATES.into_iter().find(|known| *known == state);
    for _ in 0..LOOKS {
        let filter = RunFilter {
            agent: agent.map(str::to_owned),
            failed: matches!(wanted, Some("failed" | "again")),
            since: None,
            before,
            // One more tells whether there is another page.
            limit: ROWS + 1,
        };
        let some = runs.chosen(&filter)?;
        let is_all = some.len() <= ROWS;
        before = some.first().map(|run| run.id.clone());
        for run in some.into_iter().rev().filter(|run| wanted.is_none_or(|wanted| run.state_word() == wanted))
        {
            if found.len() == ROWS {
                let last = found.last().map(|run: &Run| Older { before: run.id.clone(), is_cut: false });
                return Ok((found, last));
            }
            found.push(run);
        }
        if is_all {
            return Ok((found, None));
        }
    }
    Ok((found, before.map(|before| Older { before, is_cut: true })))
}

/// The subject of the message of a run. The person's mail has none for others.
fn subject(post: &Post, run: &Run) -> String {
    let id = MailboxId::parse(&run.mailbox).ok().filter(|id| post.is_attended() || !post.is_persons(id));
    let subject = id.and_then(|id| post.subject_by_file(&id, &run.file));
    subject.map(|subject| visible::clip(&subject, 200)).unwrap_or_default()
}

#[derive(Template)]
#[template(path = "run.html")]
struct One<'a> {
    room: &'a str,
    row: Row,
    run: &'a Run,
    why: String,
    model: String,
    parts: VecDeque<Part>,
    /// How many parts are before these, and whether others are behind them.
    earlier: usize,
    is_earlier: bool,
    errors: String,
    skipped: usize,
    is_person: bool,
    is_running: bool,
    can_retry: bool,
}

pub(in crate::web) fn one(ask: &Ask) -> Result<Page, Wrong> {
    let post = &ask.post;
    let now = post.room().clock().now();
    let (runs, run) = meant(ask)?;
    let before = ask.value("before").and_then(|number| number.parse().ok());
    let window = match before {
        Some(number) => Transcripts::before(&runs, &run, number)?,
        None => ask.transcripts.latest(&runs, &run)?,
    };
    let err = runs.errors(&run.id, OUTPUT)?;
    let one = One {
        room: &ask.room,
        row: Row::of(&run, subject(post, &run), now),
        why: if run.is_interrupted { INTERRUPTED.to_owned() } else { visible::text(&run.why) },
        model: window.model,
        parts: window.parts,
        earlier: window.earlier,
        is_earlier: before.is_some(),
        errors: clip(&String::from_utf8_lossy(&err)),
        skipped: window.skipped,
        is_person: ask.visitor.role == Role::Person,
        is_running: run.state == RunState::Running && !run.is_interrupted,
        can_retry: matches!(run.state, RunState::Failed | RunState::Parked),
        run: &run,
    };
    Page::new("runs", format!("{} {}", one.row.agent, one.row.state), &one)
}

#[derive(Template)]
#[template(path = "diff.html")]
struct Diff<'a> {
    room: &'a str,
    run: &'a Run,
    branch: String,
    /// The lines, each with its colour.
    lines: Vec<(&'static str, String)>,
    is_cut: bool,
    wrong: Option<String>,
}

/// What a run changed.
pub(in crate::web) fn diff(ask: &Ask) -> Result<Page, Wrong> {
    let run = meant(ask)?.1;
    let worktree = run.worktree.clone().unwrap_or_default();
    let (changed, wrong) = match changes(&ask.post, &worktree) {
        Ok(changed) => (changed, None),
        Err(why) => (None, Some(visible::line(&why))),
    };
    let (text, is_cut) = changed.unwrap_or_default();
    let lines = text.lines().map(|line| {
        let kind = match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'd', b'i', b'f', b'f', ..] => "file",
            [b'+', ..] => "add",
            [b'-', ..] => "del",
            [b'@', b'@', ..] => "hunk",
            _ => "",
        };
        (kind, visible::text(line))
    });
    let branch = visible::line(&worktree.branch);
    let diff = Diff { room: &ask.room, run: &run, branch, lines: lines.collect(), is_cut, wrong };
    Page::new("runs", "Changes", &diff)
}

/// The run that the address names.
fn meant(ask: &Ask) -> Result<(Runs, Run), Wrong> {
    let wrong = || Wrong::Unknown(format!("there is no run `{}`", visible::clip(ask.part(0), 80)));
    // A part of an address is no path: only the id of a run that is there is used as one.
    let runs = Runs::existing(ask.post.room())?.ok_or_else(wrong)?;
    let id = runs.ids()?.into_iter().find(|id| id == ask.part(0)).ok_or_else(wrong)?;
    let run = runs.seen(&id)?.ok_or_else(wrong)?;
    Ok((runs, run))
}
