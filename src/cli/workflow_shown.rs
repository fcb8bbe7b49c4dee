//! `postroom workflow list`, `show`, `graph`, `check`: workflows and their state. Changes nothing.

use super::approve;
use super::context::Context;
use super::fail::Fail;
use super::output::{BOLD, CYAN, PLAIN};
use super::workflows::{all, find, make};
use crate::hint::Hint;
use crate::message::visible;
use crate::post::line::counted;
use crate::post::{Failure, Post};
use crate::view::{Versioned, workflow as view};
use crate::workflow::carrier::{look_at, shown_at, step_status};
use crate::workflow::engine::{Engine, Phase, Status, StepState};
use crate::workflow::order::{self, MeantRun};
use crate::workflow::request::{OpenRequests, at_work};
use crate::workflow::runs::Runs;
use crate::workflow::start::Strangers;
use crate::workflow::timeline::last_work;
use crate::workflow::{graph, inputs, start};

pub(super) fn list(context: &mut Context, limit: usize) -> Result<(), Fail> {
    let workflows = all();
    // Workflows exist even without a room.
    let post = context.project_post().ok();
    let runs = match &post {
        Some(post) => Runs::existing(post.room())?,
        None => None,
    };
    let ids = runs.as_ref().map(Runs::ids).transpose()?.unwrap_or_default();
    let newest = &ids[ids.len().saturating_sub(limit)..];
    let mut engines: Vec<(&String, Result<Engine, String>)> = vec![];
    for id in newest.iter().rev() {
        let (Some(post), Some(runs)) = (post, &runs) else { break };
        engines.push((id, look_at(post, runs, id).map_err(|e| e.to_string())));
    }
    if context.output.json {
        let workflows = workflows.iter().map(|found| {
            let (about, problems) = match found.parsed() {
                Ok(definition) => (definition.about, 0),
                Err(problems) => (String::new(), problems.len()),
            };
            view::ListedWorkflow { name: &found.name, about, file: found.path(), problems }
        });
        let runs = engines.iter().map(|(run, engine)| {
            Versioned::of(match (engine, post) {
                (Ok(engine), Some(post)) => view::ListedRun::Run(document(post, engine, run)),
                (Err(why), _) => view::ListedRun::Unreadable(view::UnreadableRun::of(run, why)),
                (_, None) => view::ListedRun::Unreadable(view::UnreadableRun::of(run, "there is no room")),
            })
        });
        context.output.json(&view::WorkflowList { workflows: workflows.collect(), runs: runs.collect() });
        return Ok(());
    }
    for found in &workflows {
        let place = if found.file.is_some() { "project" } else { "shipped" };
        let about = match found.parsed() {
            Ok(definition) => definition.about,
            Err(_) if !found.is_named() => {
                "the file name is wrong, so it cannot be run: a workflow's is of a-z, 0-9, `-` and `_`"
                    .to_owned()
            }
            Err(problems) => {
                let check = context.hint(Hint::run(&["workflow", "check", &found.name]));
                format!("{}: {check}", counted(problems.len(), "fault"))
            }
        };
        let name = match (&found.file, found.is_named()) {
            (Some(file), false) => {
                let file = file.file_name().unwrap_or_default().to_string_lossy();
                format!("`{}`", visible::line(&file))
            }
            _ => visible::line(&found.name),
        };
        let line = format!("{name} {place}: {}", visible::line(&about));
        if context.output.terminal {
            // A description has a line of its own: beside the names there is no room for it.
            let name = context.output.paint(BOLD, &name);
            context.output.line(&format!("{name} ({place})"));
            context.output.line(&format!("  {}", visible::line(&about)));
        } else {
            context.output.line(&line);
        }
    }
    for (id, engine) in &engines {
        let how = engine.as_ref().map_or_else(|why| format!("unreadable: {}", visible::line(why)), summary);
        let line = format!("run {id} {how}");
        context.output.entry(&[(PLAIN, "run".to_owned()), (CYAN, (*id).clone()), (PLAIN, how)], &line);
    }
    Ok(())
}

pub(super) fn summary(engine: &Engine) -> String {
    let settled = engine.settled();
    format!("{} {settled}/{}", engine.status().as_str(), engine.steps().len())
}

/// A run as a document.
pub(super) fn document<'a>(post: &Post, engine: &'a Engine, run: &'a str) -> view::Run<'a> {
    let record = Runs::existing(post.room()).ok().flatten().and_then(|runs| runs.record(run));
    // If an agent cannot be looked at, nobody says that it works.
    let at_work = at_work(post, engine).unwrap_or_default();
    view::Run::of(post.room().path(), engine, &at_work, run, record)
}

pub(super) fn show(context: &mut Context, wanted: &str, step: Option<&str>) -> Result<(), Fail> {
    let post = context.project_post()?;
    let MeantRun { runs, id, record } = order::meant(post, wanted)?;
    let engine = look_at(post, &runs, &id)?;
    if let Some(step) = step {
        return result(context, post, (&runs, &id, &engine), step);
    }
    if context.output.json {
        context.output.json(&document(post, &engine, &id));
        return Ok(());
    }
    context.output.line(&format!("{id} {} started {}", summary(&engine), record.started));
    let at_work = at_work(post, &engine)?;
    for (index, (step, state)) in engine.definition().steps.iter().zip(engine.steps()).enumerate() {
        let agent = state.items.first().map_or(step.agent.source.trim(), |item| item.agent.as_str());
        let (number, how) = (format!("{}.", index + 1), shown_at(&engine, index, &at_work));
        let line = visible::line(&format!("{number} {} {agent} {how}", step.name));
        let cells = [(PLAIN, number), (BOLD, step.name.clone()), (PLAIN, agent.to_owned()), (PLAIN, how)];
        context.output.entry(&cells, &line);
        if step.foreach.is_some() {
            open_items(state).for_each(|line| context.output.line(&format!("   {}", visible::line(&line))));
        }
    }
    for ask in engine.asks_of_person() {
        let command = context.hint(approve::command(&engine.name_of_ask(ask.step, &ask.id)));
        context.output.line(&format!("waits for you: {command}"));
    }
    Ok(())
}

/// The open and failed items of a `foreach` step.
fn open_items(state: &StepState) -> impl Iterator<Item = String> {
    let open = state.items.iter().enumerate().filter(|(_, item)| item.outcome != Some(Ok(())));
    open.map(|(index, item)| {
        let how = match (&item.outcome, &item.failure) {
            (Some(Err(why)), _) => format!("failed ({})", visible::clip(why, 200)),
            (_, Some(why)) => format!("no answer yet (before: {})", visible::clip(why, 200)),
            (_, None) => "no answer yet".to_owned(),
        };
        format!("item {} {} attempt {} {how}", index + 1, item.agent, item.attempt + 1)
    })
}

/// A run that was found: the records of all runs, its id and its state.
type RunAt<'r> = (&'r Runs, &'r str, &'r Engine);

/// The result of one step.
fn result(context: &mut Context, post: &Post, run: RunAt<'_>, step: &str) -> Result<(), Fail> {
    let (.., engine) = run;
    let Some(index) = engine.definition().step(step) else {
        let names: Vec<&str> = engine.definition().steps.iter().map(|step| step.name.as_str()).collect();
        let why = format!("there is no step `{}`", visible::clip(step, 60));
        return Err(Fail::unknown(why, format!("there are {}", names.join(", "))));
    };
    let texts: Vec<&str> =
        engine.steps()[index].items.iter().filter_map(|item| item.text.as_deref()).collect();
    let requests = at_work(post, engine)?;
    if texts.is_empty() && !context.output.json {
        return Err(no_result(post, run, index, &requests)?);
    }
    let status = step_status(engine, index, &requests);
    let document = view::StepResult { step, status, results: texts.clone() };
    context.output.list(&document, &texts, |output, text| output.text_of_others(text));
    if texts.is_empty() { Err(Fail::Code(Failure::Nothing)) } else { Ok(()) }
}

/// Why a step has no result, and what to type next.
fn no_result(post: &Post, run: RunAt<'_>, index: usize, requests: &OpenRequests) -> Result<Fail, Fail> {
    let (runs, id, engine) = run;
    let (name, phase) = (&engine.definition().steps[index].name, &engine.steps()[index].phase);
    // The state of a step in a list has no room for the whole reason.
    let how = match phase {
        Phase::Failed(why, _) | Phase::Skipped(why) => format!("{}: {why}", phase.as_str()),
        Phase::Waiting | Phase::Running | Phase::Done => shown_at(engine, index, requests),
    };
    let mut hints: Vec<Hint> = vec![];
    if let Some(work) = last_work(post, runs, id, engine, index)? {
        hints.push(Hint::run(&["runs", &work.id]).to("what its agent did").into());
    }
    let asks = engine.asks_of_person().into_iter().filter(|ask| ask.step == index);
    hints.extend(asks.map(|ask| approve::command(&engine.name_of_ask(ask.step, &ask.id))));
    if matches!(phase, Phase::Failed(..)) && engine.status() == Status::Failed {
        hints.push(Hint::run(&["workflow", "retry", id]).to("repeats what failed").into());
    }
    if hints.is_empty() {
        hints.push(Hint::run(&["workflow", "show", id]).to("how its run stands").into());
    }
    Ok(Fail::Told(Failure::Nothing, format!("the step `{name}` has no result: {how}"), hints))
}

pub(super) fn draw(context: &mut Context, name: &str, mermaid: bool, yaml: bool) -> Result<(), Fail> {
    let found = find(name)?;
    if yaml {
        // Unchanged, even if invalid: it is there to be copied, and errors point into it.
        match context.output.json {
            true => {
                let (name, file, yaml) = (&found.name, found.path(), &found.text);
                context.output.json(&view::Definition { name, file, yaml });
            }
            false if context.output.terminal => context.output.text(&visible::text(&found.text)),
            false => context.output.text(&found.text),
        }
        return Ok(());
    }
    let definition = found.definition()?;
    let (for_mermaid, drawn) = (graph::mermaid(&definition), graph::drawn(&definition));
    match context.output.json {
        true => {
            let (name, mermaid, text) = (&definition.name, &for_mermaid, &drawn);
            context.output.json(&view::Graph { name, mermaid, text });
        }
        false if mermaid => context.output.text(&for_mermaid),
        false => {
            let drawn = context.output.folded(drawn);
            context.output.text(&drawn);
        }
    }
    Ok(())
}

pub(super) fn check(context: &mut Context, name: &str) -> Result<(), Fail> {
    let found = find(name)?;
    let (steps, Strangers { problems, missing }) = match found.parsed() {
        Err(problems) => (0, Strangers { problems, ..Strangers::default() }),
        // Recipients can be checked only where there is a room.
        Ok(definition) => {
            let strangers = match context.project_post() {
                Ok(post) => {
                    let defaults = inputs::defaults(&definition);
                    start::strangers(post, &definition, Some(&defaults))
                }
                Err(_) => Strangers::default(),
            };
            (definition.steps.len(), strangers)
        }
    };
    if context.output.json {
        context.output.json(&view::WorkflowCheck::of(&found.name, found.path(), steps, &problems));
    } else {
        for problem in &problems {
            context.output.line(&visible::line(&found.line(problem)));
        }
        for name in &missing {
            let command = context.hint(make(name));
            context.output.line(&format!("  {command}"));
        }
        if problems.is_empty() {
            context.output.line(&format!("{}: right, {}", found.shown(), counted(steps, "step")));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Fail::Code(Failure::Refused)) }
}
