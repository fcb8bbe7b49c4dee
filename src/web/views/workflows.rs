//! Workflows: the runs of a room, and one run as a graph, a timeline and its steps.

use askama::Template;

use crate::clock::Timestamp;
use crate::message::visible;
use crate::span;
use crate::staff::all_workflows;
use crate::view::workflow::{self as view, Run as RunView};
use crate::web::drawing::{self, Gantt, Graph};
use crate::web::guard::Role;
use crate::web::markdown;
use crate::web::markup::Time;
use crate::web::page::Page;
use crate::web::routes::{Ask, Wrong};
use crate::workflow::carrier::{look_at, shown_at, step_status};
use crate::workflow::decision;
use crate::workflow::engine::{AskKind, Status};
use crate::workflow::request::at_work;
use crate::workflow::runs::Runs;
use crate::workflow::timeline::{timeline, works_since};

/// The most runs in the list.
const RUNS: usize = 40;

#[derive(Template)]
#[template(path = "workflows.html")]
struct List<'a> {
    room: &'a str,
    runs: Vec<Row>,
    /// How many runs the next page leaves out, if there is one.
    older: Option<usize>,
    /// Workflows that can be started: name and purpose, or what is wrong.
    known: Vec<(String, Result<String, String>)>,
}

/// A run in the list.
struct Row {
    id: String,
    workflow: String,
    status: String,
    kind: &'static str,
    settled: usize,
    total: usize,
    started: Option<Time>,
    /// The value of its first input.
    about: String,
    now: String,
    wrong: Option<String>,
}

fn kind(status: Status) -> &'static str {
    match status {
        Status::InProgress => "work",
        Status::Completed => "ok",
        Status::Failed => "bad",
        Status::Cancelled => "",
    }
}

/// A status as people write it.
fn spaced(status: Status) -> String {
    status.as_str().replace('_', " ")
}

pub(in crate::web) fn page(ask: &Ask) -> Result<Page, Wrong> {
    let post = &ask.post;
    let now = post.room().clock().now();
    let (mut rows, mut older) = (vec![], None);
    if let Some(runs) = Runs::existing(post.room())? {
        let ids = runs.ids()?;
        let skip = ask.value("skip").and_then(|skip| skip.parse().ok()).unwrap_or(0);
        older = (ids.len() > RUNS.saturating_add(skip)).then(|| RUNS.saturating_add(skip));
        for id in ids.into_iter().rev().skip(skip).take(RUNS) {
            let record = runs.record(&id);
            let started = record.as_ref().and_then(|record| Time::read(&record.started, now));
            let workflow = record.map(|record| record.workflow).unwrap_or_default();
            let looked = look_at(post, &runs, &id).and_then(|engine| Ok((at_work(post, &engine)?, engine)));
            rows.push(match looked {
                Ok((at_work, engine)) => {
                    let open = engine.definition().steps.iter().enumerate().filter_map(|(at, step)| {
                        let status = step_status(&engine, at, &at_work);
                        let is_open = matches!(status, "asked" | "running");
                        is_open.then(|| format!("{}: {}", step.name, shown_at(&engine, at, &at_work)))
                    });
                    let first = engine.definition().inputs.first();
                    let first = first.and_then(|input| engine.facts().inputs.get(&input.name));
                    Row {
                        about: first.map(|value| visible::clip(&plain(value), 80)).unwrap_or_default(),
                        workflow: visible::line(&workflow),
                        status: spaced(engine.status()),
                        kind: kind(engine.status()),
                        settled: engine.settled(),
                        total: engine.steps().len(),
                        started,
                        now: visible::line(&open.collect::<Vec<_>>().join(", ")),
                        wrong: None,
                        id,
                    }
                }
                Err(e) => Row {
                    workflow: visible::line(&workflow),
                    status: "unreadable".to_owned(),
                    kind: "bad",
                    settled: 0,
                    total: 0,
                    started,
                    about: String::new(),
                    now: String::new(),
                    wrong: Some(visible::line(&e.to_string())),
                    id,
                },
            });
        }
    }
    let around = ask.desk.around(post)?;
    let known = all_workflows(&*around).into_iter().map(|found| {
        let about = found.parsed().map(|definition| visible::line(&definition.about));
        let about =
            about.map_err(|problems| problems.first().map(|problem| found.line(problem)).unwrap_or_default());
        (visible::line(&found.name), about)
    });
    Page::new("workflows", "Workflows", &List { room: &ask.room, runs: rows, older, known: known.collect() })
}

#[derive(Template)]
#[template(path = "workflow.html")]
struct One<'a> {
    room: &'a str,
    run: &'a RunView<'a>,
    by: String,
    status: String,
    kind: &'static str,
    started: Option<Time>,
    graph: Graph,
    gantt: Option<Gantt>,
    inputs: Vec<(String, String)>,
    steps: Vec<Step<'a>>,
    gates: Vec<Gate>,
    is_person: bool,
    is_open: bool,
    can_retry: bool,
}

struct Step<'a> {
    name: &'a str,
    about: String,
    kind: &'static str,
    /// Its state in one word, and what more there is to say.
    word: String,
    more: String,
    is_open: bool,
    items: Vec<Item>,
}

struct Item {
    agent: String,
    attempt: u32,
    state: &'static str,
    failure: String,
    html: String,
    /// The message that asked, when, and how long it took.
    request: String,
    asked: Option<Time>,
    waited: String,
    worked: String,
}

struct Gate {
    request: String,
    subject: String,
    html: String,
}

/// A value as people write it.
fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// How a step is coloured.
fn step_kind(status: &str) -> &'static str {
    match status {
        "running" => "work busy",
        "asked" => "work",
        "done" => "ok",
        "failed" => "bad",
        "skipped" | "stopped" => "",
        _ => "",
    }
}

pub(in crate::web) fn one(ask: &Ask) -> Result<Page, Wrong> {
    let post = &ask.post;
    let now = post.room().clock().now();
    let wrong = || Wrong::Unknown(format!("there is no run `{}`", visible::clip(ask.part(0), 80)));
    let runs = Runs::existing(post.room())?.ok_or_else(wrong)?;
    let id = if runs.is_known(ask.part(0))? { ask.part(0).to_owned() } else { return Err(wrong()) };
    let engine = look_at(post, &runs, &id)?;
    let at_work = at_work(post, &engine)?;
    let view = RunView::of(post.room().path(), &engine, &at_work, &id, runs.record(&id));
    let statuses: Vec<&'static str> = view
        .steps
        .iter()
        .map(|step| match step.how.as_str() {
            // A run that is over waits for nobody.
            "not needed" | "not begun" => "skipped",
            _ => step.status,
        })
        .collect();
    let inputs = serde_json::json!({"inputs": engine.facts().inputs});
    let agents: Vec<String> = view
        .steps
        .iter()
        .zip(&engine.definition().steps)
        .map(|(step, definition)| match step.items.as_slice() {
            [one] => one.agent.to_owned(),
            [] => definition.agent.render(&inputs).unwrap_or_default(),
            many => format!("{} agents", many.len()),
        })
        .collect();
    let since = view.started.as_deref().and_then(Timestamp::parse);
    let bars = timeline(post, &runs, &id, &engine, &works_since(post, since)?)?;
    let gates = engine.asks_of_person().into_iter().filter_map(|ask| match &ask.kind {
        AskKind::Approval { subject, body, .. } => Some(Gate {
            request: ask.id.to_string(),
            subject: visible::line(subject),
            html: markdown::render(&decision::bare(body)),
        }),
        AskKind::Work { .. } | AskKind::Command { .. } => None,
    });
    let item = |at: usize, number: usize, item: &view::Item<'_>| {
        let bar = bars.iter().find(|bar| bar.step == at && bar.item == number);
        Item {
            agent: visible::line(item.agent),
            attempt: item.attempt,
            state: match (item.done, item.failure) {
                (true, _) => "done",
                (false, Some(_)) => "failed",
                (false, None) => "open",
            },
            failure: item.failure.map(visible::text).unwrap_or_default(),
            html: item.result.map(markdown::render).unwrap_or_default(),
            request: bar.map(|bar| bar.request.to_string()).unwrap_or_default(),
            asked: bar.map(|bar| Time::new(bar.asked, now)),
            waited: bar.map(|bar| span::measured(bar.waited(now))).unwrap_or_default(),
            worked: bar.and_then(|bar| bar.worked(now)).map(span::measured).unwrap_or_default(),
        }
    };
    let steps = view.steps.iter().enumerate().map(|(at, step)| {
        let (word, more) = match step.how.split_once(" (") {
            Some((word, more)) => (word, more.strip_suffix(')').unwrap_or(more)),
            None => (step.how.as_str(), ""),
        };
        Step {
            name: step.step,
            about: visible::line(step.about),
            kind: step_kind(step.status),
            word: visible::line(word),
            more: visible::line(more),
            is_open: matches!(step.status, "running" | "failed"),
            items: step.items.iter().enumerate().map(|(number, one)| item(at, number, one)).collect(),
        }
    });
    let one = One {
        room: &ask.room,
        by: view.by.as_deref().map(|by| visible::line(post.name_of(by))).unwrap_or_default(),
        status: spaced(engine.status()),
        kind: kind(engine.status()),
        started: view.started.as_deref().and_then(|started| Time::read(started, now)),
        graph: drawing::graph(engine.definition(), &statuses, &agents),
        gantt: drawing::gantt(engine.definition(), &bars, now),
        inputs: view
            .inputs
            .iter()
            .map(|(key, value)| (visible::line(key), visible::clip(&plain(value), 400)))
            .collect(),
        steps: steps.collect(),
        gates: gates.collect(),
        is_person: ask.visitor.role == Role::Person,
        is_open: engine.status() == Status::InProgress,
        can_retry: engine.status() == Status::Failed,
        run: &view,
    };
    Page::new("workflows", one.run.run, &one)
}
