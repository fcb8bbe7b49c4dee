//! Numbers: how much mail there was, how long it took, what it cost, and where it was stuck.

use std::time::Duration;

use askama::Template;

use crate::clock::Timestamp;
use crate::dispatch::chosen::RunFilter;
use crate::dispatch::runs::{Run, Runs};
use crate::dispatch::spending::{AgentSpending, Spent};
use crate::message::visible;
use crate::post::{Bottleneck, Figures, StepFigures, quantile};
use crate::span;
use crate::web::charts::{self, KINDS, Series, Unit};
use crate::web::page::Page;
use crate::web::routes::{Ask, Wrong};
use crate::workflow;
use crate::workflow::carrier::look_at;
use crate::workflow::timeline::timeline;

const WINDOWS: [(&str, &str, u64); 3] =
    [("1h", "1 hour", 3600), ("24h", "24 hours", 86_400), ("7d", "7 days", 604_800)];
const STEPS: usize = 48;

/// The most runs among which the longest are looked for.
const RUNS: usize = 500;

/// The most runs of workflows among which slow steps are looked for, and how many of what is longest are named.
const WORKFLOWS: usize = 12;
const LONGEST: usize = 8;

#[derive(Template)]
#[template(path = "numbers.html")]
struct Numbers {
    windows: Vec<(&'static str, &'static str, bool)>,
    tiles: Vec<(&'static str, String)>,
    charts: Vec<(&'static str, String)>,
    bottleneck: Option<String>,
    rows: Vec<Row>,
    costs: Vec<Cost>,
    slowest: Vec<Slow>,
    /// How many runs these were looked for among, if not among all.
    runs_limit: Option<usize>,
    steps: SlowSteps,
    room: String,
}

/// The figures of a mailbox.
struct Row {
    name: String,
    received: usize,
    sent: usize,
    finished: usize,
    failed: usize,
    waited: [String; 2],
    worked: [String; 2],
    spark: String,
}

/// What an agent cost.
struct Cost {
    agent: String,
    runs: usize,
    failed: usize,
    tokens: String,
    dollars: f64,
}

/// A run, or a step of one, that took long.
struct Slow {
    id: String,
    name: String,
    took: String,
    what: String,
}

/// Steps of workflows that took long.
#[derive(Default)]
struct SlowSteps {
    worked: Vec<Slow>,
    waited: Vec<Slow>,
    /// How many runs of workflows were looked at, if not all.
    limit: Option<usize>,
    faults: Vec<String>,
}

pub(in crate::web) fn page(ask: &Ask) -> Result<Page, Wrong> {
    let post = &ask.post;
    let window = ask.value("window").unwrap_or("24h");
    let (word, _, seconds) = WINDOWS.into_iter().find(|(word, ..)| *word == window).unwrap_or(WINDOWS[1]);
    let (span, now) = (Duration::from_secs(seconds), post.room().clock().now());
    let figures = post.stats_in_steps(span, STEPS)?;
    let all = Figures::of_all(&figures);
    let named = |id: &str| visible::clip(post.name_of(id), 40);
    // The longest are looked for among the newest.
    let filter =
        RunFilter { agent: None, failed: false, since: Some(now.minus(span)), before: None, limit: RUNS };
    let (runs, spending) = match Runs::existing(post.room())? {
        Some(runs) => (runs.chosen(&filter)?, runs.spending(now.minus(span), span, STEPS)?),
        None => (vec![], vec![]),
    };
    let cost: f64 = spending.iter().map(|agent| agent.total.cost).sum();
    let tokens =
        spending.iter().map(|agent| agent.total.tokens.input.saturating_add(agent.total.tokens.output));
    let tokens: u64 = tokens.fold(0, u64::saturating_add);
    let count: usize = spending.iter().map(|agent| agent.total.runs).sum();
    let at = |share| quantile(&all.waiting, share).map_or("–".to_owned(), span::measured);
    let tiles = vec![
        ("messages", all.received.to_string()),
        ("finished", all.finished.to_string()),
        ("failed", all.failed.to_string()),
        ("waits now", all.steps.last().map_or(0, |step| step.depth).to_string()),
        ("wait p50 / p95", format!("{} / {}", at(0.5), at(0.95))),
        ("runs", count.to_string()),
        ("cost", format!("${cost:.2}")),
        ("tokens", large(tokens as f64)),
    ];
    let charts = charts(span, &all, &spending);
    let pair = |sorted: &[Duration]| {
        [0.5, 0.95].map(|share| quantile(sorted, share).map_or(String::new(), span::measured))
    };
    let mut rows: Vec<Row> = figures
        .iter()
        .map(|one| Row {
            name: named(&one.mailbox),
            received: one.received,
            sent: one.sent,
            finished: one.finished,
            failed: one.failed,
            waited: pair(&one.waiting),
            worked: pair(&one.processing),
            spark: charts::spark(&one.arrivals()),
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.received + row.sent));
    // How long an interrupted run took is not known.
    let ended = runs.iter().filter(|run| !run.is_interrupted);
    let mut slow: Vec<(Duration, &Run)> = ended.filter_map(|run| Some((run.took(now)?, run))).collect();
    slow.sort_by_key(|(took, _)| std::cmp::Reverse(*took));
    let slowest = slow.iter().take(LONGEST).map(|(took, run)| Slow {
        id: run.id.clone(),
        name: visible::line(&run.agent),
        took: span::measured(*took),
        what: format!("for {}", visible::line(&run.from)),
    });
    let steps = slow_steps(ask, now.minus(span), &runs)?;
    let numbers = Numbers {
        windows: WINDOWS.map(|(known, name, _)| (known, name, known == word)).to_vec(),
        tiles,
        charts,
        bottleneck: Bottleneck::of(&figures).map(|one| one.sentence(&named(&one.mailbox))),
        rows,
        costs: costs(&spending),
        slowest: slowest.collect(),
        runs_limit: (count > runs.len()).then_some(runs.len()),
        steps,
        room: ask.room.clone(),
    };
    Page::new("numbers", "Numbers", &numbers)
}

/// What changed over time.
fn charts(span: Duration, all: &Figures, spending: &[AgentSpending]) -> Vec<(&'static str, String)> {
    let counted = |value: &dyn Fn(&StepFigures) -> usize| {
        all.steps.iter().map(|step| Some(value(step) as f64)).collect::<Vec<_>>()
    };
    let timed = |durations: &dyn Fn(&StepFigures) -> &[Duration], share| {
        let at = |step| quantile(durations(step), share).map(|d| d.as_secs_f64());
        all.steps.iter().map(at).collect::<Vec<_>>()
    };
    let line = |name: &str, kind, values| Series { name: name.to_owned(), kind, values };
    let plain = |value: f64| format!("{value:.0}");
    let time = |value: f64| span::measured(Duration::from_secs_f64(value));
    let messages = [
        line("received", "a", counted(&|step| step.received)),
        line("finished", "b", counted(&|step| step.finished)),
        line("failed", "c", counted(&|step| step.failed)),
    ];
    let queue = [line("waiting", "a", counted(&|step| step.depth))];
    let waited = [
        line("p50", "b", timed(&|step| &step.waiting, 0.5)),
        line("p95", "a", timed(&|step| &step.waiting, 0.95)),
    ];
    let worked = [
        line("p50", "b", timed(&|step| &step.processing, 0.5)),
        line("p95", "a", timed(&|step| &step.processing, 0.95)),
    ];
    let cost = by_agent(spending, &|spent| spent.cost);
    let tokens = by_agent(spending, &|spent| spent.tokens.input.saturating_add(spent.tokens.output) as f64);
    vec![
        ("Messages", charts::draw(span, &messages, Unit::Count, &plain)),
        ("Queue", charts::draw(span, &queue, Unit::Count, &plain)),
        ("Waiting time", charts::draw(span, &waited, Unit::Seconds, &time)),
        ("Working time", charts::draw(span, &worked, Unit::Seconds, &time)),
        ("Cost by agent", charts::draw(span, &cost, Unit::Amount, &|value| format!("${value:.2}"))),
        ("Tokens by agent", charts::draw(span, &tokens, Unit::Count, &large)),
    ]
}

/// A large number, short: `12k`, `3.5M`.
fn large(value: f64) -> String {
    match value {
        ..1e3 => format!("{value:.0}"),
        ..1e6 => format!("{}k", (value / 100.0).round() / 10.0),
        _ => format!("{}M", (value / 1e5).round() / 10.0),
    }
}

/// One line for each agent that spent most, and one for all others.
fn by_agent(spending: &[AgentSpending], value: &dyn Fn(&Spent) -> f64) -> Vec<Series> {
    let mut sorted: Vec<&AgentSpending> = spending.iter().filter(|one| value(&one.total) > 0.0).collect();
    sorted.sort_by(|one, other| value(&other.total).total_cmp(&value(&one.total)));
    let own = if sorted.len() > KINDS.len() { KINDS.len() - 1 } else { sorted.len() };
    let (first, others) = sorted.split_at(own);
    let sum = |of: &[&AgentSpending]| {
        (0..STEPS)
            .map(|step| Some(of.iter().filter_map(|one| one.steps.get(step)).map(value).sum::<f64>()))
            .collect::<Vec<_>>()
    };
    let mut all: Vec<Series> = first
        .iter()
        .zip(KINDS)
        .map(|(one, kind)| Series { name: visible::line(&one.agent), kind, values: sum(&[*one]) })
        .collect();
    if let ([_, ..], Some(kind)) = (others, KINDS.last()) {
        all.push(Series { name: "others".to_owned(), kind, values: sum(others) });
    }
    all
}

/// The steps of the newest runs of workflows that took longest, and those that waited longest.
fn slow_steps(ask: &Ask, since: Timestamp, works: &[Run]) -> Result<SlowSteps, Wrong> {
    let (post, now) = (&ask.post, ask.post.room().clock().now());
    let Some(runs) = workflow::runs::Runs::existing(post.room())? else { return Ok(SlowSteps::default()) };
    let began = |id: &String| runs.record(id).and_then(|record| Timestamp::parse(&record.started));
    let newest = runs.ids()?.into_iter().rev().map(|id| (began(&id), id));
    let newest = newest.take_while(|(began, _)| began.is_none_or(|began| began >= since));
    let newest = newest.filter(|(began, _)| began.is_some()).take(WORKFLOWS + 1);
    let newest: Vec<String> = newest.map(|(_, id)| id).collect();
    let (mut worked, mut waited, mut faults) = (vec![], vec![], vec![]);
    let limit = (newest.len() > WORKFLOWS).then_some(WORKFLOWS);
    for id in newest.into_iter().take(WORKFLOWS) {
        let looked = look_at(post, &runs, &id)
            .and_then(|engine| Ok((timeline(post, &runs, &id, &engine, works)?, engine)));
        let (bars, engine) = match looked {
            Ok(looked) => looked,
            Err(e) => {
                faults.push(visible::line(&format!("the workflow run {id}: {e}")));
                continue;
            }
        };
        for bar in bars {
            let step = engine.definition().steps.get(bar.step).map_or("", |step| step.name.as_str());
            let slow = |took: Duration| Slow {
                id: id.clone(),
                name: visible::line(step),
                took: span::measured(took),
                what: format!(
                    "{} of {}",
                    visible::line(&bar.agent),
                    visible::line(&engine.definition().name)
                ),
            };
            worked.extend(bar.worked(now).map(|took| (took, slow(took))));
            waited.push((bar.waited(now), slow(bar.waited(now))));
        }
    }
    let longest = |mut all: Vec<(Duration, Slow)>| {
        all.retain(|(took, _)| *took >= Duration::from_secs(1));
        all.sort_by_key(|(took, _)| std::cmp::Reverse(*took));
        all.into_iter().take(LONGEST).map(|(_, slow)| slow).collect()
    };
    Ok(SlowSteps { worked: longest(worked), waited: longest(waited), limit, faults })
}

fn costs(spending: &[AgentSpending]) -> Vec<Cost> {
    let mut all: Vec<Cost> = spending
        .iter()
        .map(|agent| Cost {
            agent: visible::line(&agent.agent),
            runs: agent.total.runs,
            failed: agent.total.failed,
            tokens: large(agent.total.tokens.input.saturating_add(agent.total.tokens.output) as f64),
            dollars: agent.total.cost,
        })
        .collect();
    all.sort_by(|one, other| other.dollars.total_cmp(&one.dollars).then(other.runs.cmp(&one.runs)));
    all
}
