//! Workflows: the runs of a room, those that can be started, and one run with its steps.

use crate::clock::Timestamp;
use crate::desk::Desk;
use crate::post::{Error, Post, Result};
use crate::staff::all_workflows;
use crate::tui::seen::{FlowRow, FlowSeen, FlowsSeen, GateSeen, ItemSeen, StepSeen};
use crate::view::workflow::Run as RunView;
use crate::workflow::carrier::{look_at, step_status};
use crate::workflow::decision::PendingGate;
use crate::workflow::request::at_work;
use crate::workflow::runs::{Record, Runs};
use crate::workflow::timeline::{timeline, works_since};

/// The most runs in the list.
const RUNS: usize = 60;

pub(super) fn list(desk: &Desk, post: &Post) -> Result<FlowsSeen> {
    let (mut rows, mut older) = (vec![], 0);
    if let Some(runs) = Runs::existing(post.room())? {
        let mut ids: Vec<(Option<Record>, String)> =
            runs.ids()?.into_iter().map(|id| (runs.record(&id), id)).collect();
        let started = |record: &Option<Record>| record.as_ref().map(|record| record.started.clone());
        ids.sort_by_key(|(record, _)| std::cmp::Reverse(started(record)));
        older = ids.len().saturating_sub(RUNS);
        rows = ids.into_iter().take(RUNS).map(|(record, id)| row(post, &runs, record, id)).collect();
    }
    let known = all_workflows(&*desk.around(post)?).into_iter().map(|found| {
        let about = found.parsed().map(|definition| definition.about);
        let about =
            about.map_err(|problems| problems.first().map(|problem| found.line(problem)).unwrap_or_default());
        (found.name, about)
    });
    Ok(FlowsSeen { rows, older, known: known.collect() })
}

fn row(post: &Post, runs: &Runs, record: Option<Record>, run: String) -> FlowRow {
    let started = record.as_ref().and_then(|record| Timestamp::parse(&record.started));
    let looked = look_at(post, runs, &run).and_then(|engine| Ok((at_work(post, &engine)?, engine)));
    match looked {
        Ok((at_work, engine)) => {
            let open = engine.definition().steps.iter().enumerate().filter_map(|(at, step)| {
                let status = step_status(&engine, at, &at_work);
                matches!(status, "asked" | "running").then(|| format!("{} {status}", step.name))
            });
            let (settled, total) = (engine.settled(), engine.steps().len());
            let status = engine.status().as_str().replace('_', " ");
            FlowRow { now: open.collect::<Vec<_>>().join(", "), run, status, settled, total, started }
        }
        Err(e) => {
            let (status, now) = ("unreadable".to_owned(), e.to_string());
            FlowRow { run, status, settled: 0, total: 0, started, now }
        }
    }
}

pub(super) fn one(post: &Post, wanted: &str) -> Result<FlowSeen> {
    let unknown =
        || Error::Failing { why: format!("there is no run {}", crate::message::visible::clip(wanted, 80)) };
    let runs = Runs::existing(post.room())?.ok_or_else(unknown)?;
    let id = runs.ids()?.into_iter().find(|id| id == wanted).ok_or_else(unknown)?;
    let engine = look_at(post, &runs, &id)?;
    let at_work = at_work(post, &engine)?;
    let view = RunView::of(post.room().path(), &engine, &at_work, &id, runs.record(&id));
    let since = view.started.as_deref().and_then(Timestamp::parse);
    let works = works_since(post, since)?;
    let bars = timeline(post, &runs, &id, &engine, &works)?;
    let gates: Vec<(usize, PendingGate)> = engine
        .asks_of_person()
        .into_iter()
        .filter_map(|ask| Some((ask.step, PendingGate::of(&id, &engine, ask)?)))
        .collect();
    let definition = engine.definition();
    let steps = view.steps.iter().enumerate().map(|(at, step)| {
        let items = step.items.iter().enumerate().map(|(index, item)| {
            // Of several attempts the last one counts.
            let bar = bars.iter().rev().find(|bar| (bar.step, bar.item) == (at, index));
            ItemSeen {
                agent: item.agent.to_owned(),
                attempt: item.attempt,
                is_done: item.done,
                failure: item.failure.map(str::to_owned),
                result: item.result.map(str::to_owned),
                asked: bar.map(|bar| bar.asked),
                ended: bar.and_then(|bar| bar.ended),
            }
        });
        StepSeen {
            name: step.step.to_owned(),
            about: step.about.to_owned(),
            status: step.status,
            how: step.how.clone(),
            needs: definition.steps[at]
                .needs
                .iter()
                .map(|need| definition.steps[*need].name.clone())
                .collect(),
            items: items.collect(),
            gate: gates.iter().find(|(of, _)| *of == at).map(|(_, gate)| GateSeen::of(gate)),
        }
    });
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Ok(FlowSeen {
        status: view.status.replace('_', " "),
        settled: view.settled,
        total: view.total,
        inputs: view.inputs.iter().map(|(key, value)| (key.clone(), text(value))).collect(),
        steps: steps.collect(),
        gates: gates.into_iter().map(|(_, gate)| gate).collect(),
        run: id.clone(),
    })
}
