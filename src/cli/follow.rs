//! Following a run: a dispatcher that ends with the run, and the live tree of its steps.
//!
//! On a terminal the tree is redrawn at each change, and every second while something runs. Otherwise there is one line
//! per change, or with `--json` one document.

use std::cell::RefCell;

use anstyle::Style;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::approve;
use super::context::Context;
use super::dispatch::{gate_starter, supervisor_starter};
use super::drawing::Drawing;
use super::fail::Fail;
use super::output::{CYAN, GREEN, PLAIN, RED, can_redraw, note};
use super::staff;
use crate::dispatch::dispatcher::{AtWork, Dispatcher, Event, Wanted};
use crate::dispatch::queue::Crew;
use crate::message::visible;
use crate::name::MailboxId;
use crate::post::Post;
use crate::post::line::counted;
use crate::staff::{Staff, left_out};
use crate::view;
use crate::workflow::carrier::{Carried, Carrier, Carrying, look_at};
use crate::workflow::engine::Status;
use crate::workflow::follow::{LiveRun, LiveStep, News};
use crate::workflow::runs::Runs;
use crate::workflow::start;

/// Whether there is something to report: a step with a new state, or the end.
pub(super) fn is_news(carried: &Carried) -> bool {
    !carried.changes.is_empty() || carried.status != Status::InProgress
}

/// One line about a run that made progress: `workflow RUN STATUS SETTLED/TOTAL STEP: HOW, …`.
pub(super) fn line(carried: &Carried) -> String {
    let changes: Vec<String> =
        carried.changes.iter().map(|(step, how)| format!("{step}: {}", visible::line(how))).collect();
    let changes = if changes.is_empty() { String::new() } else { format!(" {}", changes.join(", ")) };
    format!(
        "workflow {} {} {}/{}{changes}",
        carried.run,
        carried.status.as_str(),
        carried.settled,
        carried.total
    )
}

/// Prints remarks for a person.
pub(super) fn remarks(carried: &Carried) {
    carried
        .remarks
        .iter()
        .for_each(|remark| note(&format!("postroom: {}: {}", carried.run, visible::line(remark))));
}

/// Dispatches until a run is over, shows its progress, and returns its final state.
pub(super) fn follow(context: &mut Context, post: &Post, run: &str) -> Result<Status, Fail> {
    let staff = staff::gather(post)?;
    staff::tell_untrusted(context, &staff);
    left_to_themselves(post, run, &staff)?;
    let told_out = left_out(&staff.untrusted);
    let agents = staff.agents.into_iter().filter_map(|(agent, me)| Some((agent, me?))).collect();
    let dispatcher = Dispatcher::new(post, Crew { agents, vacant: vec![], settings: staff.settings })?;
    let (stop, own) = (dispatcher.stop_handle(), dispatcher.stop_handle());
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])
        .map_err(|e| Fail::not_done(e.to_string(), "try again"))?;
    std::thread::spawn(move || signals.forever().for_each(|_| stop.stop()));
    let is_drawn = context.output.terminal && !context.output.quiet && can_redraw();
    let wanted = Wanted { watch: true, limit: None, parallel: None, progress: is_drawn, followed: true };
    let mut live = LiveRun::look(post, run)?;
    if live.is_over() {
        own.stop();
    }
    let (drawing, mut told) = (RefCell::new(Drawing::default()), Vec::<String>::new());
    let make_way = || drawing.borrow_mut().clear();
    let (start, gate) = (supervisor_starter(&context.root), gate_starter(&context.root));
    let background = Carrying { carrier: Carrier::following(run), start: &gate };
    let sources = staff::Settings::of(context, post, &[], told_out, &make_way)?;
    dispatcher.run(&wanted, start, background, sources, |event| {
        match live.take(&event, &own) {
            Some(News::Carried(carried)) => {
                let asks: Vec<&String> = carried.asks.iter().filter(|ask| !told.contains(ask)).collect();
                if !carried.remarks.is_empty() || !asks.is_empty() {
                    make_way();
                    remarks(carried);
                }
                if !is_drawn && is_news(carried) {
                    match context.output.json {
                        true => context.output.json(&view::run::Dispatch::carried(carried)),
                        false => context.output.line(&line(carried)),
                    }
                    let _ = context.output.flush();
                }
                // Above the drawing, where no width cuts it.
                let is_told = !context.output.json && !context.output.quiet;
                for ask in asks.into_iter().filter(|_| is_told) {
                    let command = context.hint(approve::command(ask));
                    context.output.line(&format!("waits for you: {command}"));
                    let _ = context.output.flush();
                }
                told.clone_from(&carried.asks);
            }
            Some(News::Fault { agent, why }) => {
                make_way();
                note(&format!("postroom: {}: {}", visible::line(agent), visible::line(why)));
            }
            Some(News::AtWork) => {}
            // What was reported of them has taken the drawing away.
            None if matches!(event, Event::Reread { .. }) => {}
            None => return,
        }
        if is_drawn {
            draw(&mut drawing.borrow_mut(), &live, context);
        }
    })?;
    if is_drawn {
        live.at_work.clear();
        draw(&mut drawing.borrow_mut(), &live, context);
    }
    // The run may have ended after this dispatcher was stopped by hand.
    let now = LiveRun::look(post, run)?;
    Ok(if now.steps.is_empty() { live.status } else { now.status })
}

/// Refuses to follow a run whose agents are in untrusted settings: it would wait for them without end.
pub(super) fn must_be_staffed(post: &Post, agents: &[(String, MailboxId)]) -> Result<(), Fail> {
    let staff = staff::gather(post)?;
    for (name, id) in staff.without_program(agents) {
        if let Some((what, command)) = left_out(staff.untrusted_for(id)).pop() {
            let why = format!("no program is started for `{}`: {what}", visible::line(name));
            return Err(Fail::refused(why, command));
        }
    }
    Ok(())
}

/// Reports agents for whom no program is started here: their steps wait for another process.
fn left_to_themselves(post: &Post, run: &str, staff: &Staff) -> Result<(), Fail> {
    let Some(runs) = Runs::existing(post.room())? else { return Ok(()) };
    let engine = look_at(post, &runs, run)?;
    let agents = start::agents(post, engine.definition(), &engine.facts().inputs);
    for (name, id) in staff.without_program(&agents) {
        let name = visible::line(name);
        let hint = match staff.untrusted_for(id) {
            Some(_) => String::new(),
            None => format!("; [agents.{name}] in postroom.toml names one"),
        };
        note(&format!(
            "postroom: no program is started for `{name}`, so its steps wait until somebody answers{hint}"
        ));
    }
    Ok(())
}

/// Draws the tree over the last one. A tree that is too long for the terminal shows only what runs and what failed.
fn draw(drawing: &mut Drawing, live: &LiveRun, context: &Context) {
    let output = &context.output;
    let lines = lines(live, output.height().saturating_sub(1), output.width());
    drawing.draw(lines.iter().map(|(style, text)| output.paint(*style, text)).collect());
}

/// At most `most` lines, none wider than a terminal.
fn lines(live: &LiveRun, most: usize, width: usize) -> Vec<(Style, String)> {
    let clipped = |text: &str| visible::clip(&visible::line(text), width.saturating_sub(1));
    let steps = live.steps.iter().map(|LiveStep { name, depth, how }| {
        let (mark, style) = match how.split([' ', '(']).next().unwrap_or_default() {
            "done" => ("✔", GREEN),
            "failed" => ("✘", RED),
            "running" | "asked" => ("▶", CYAN),
            "skipped" => ("–", PLAIN),
            _ => ("·", PLAIN),
        };
        // On a narrow terminal the indentation must not push the step out of sight.
        let indent = "  ".repeat((*depth + 1).min(width / 8));
        (mark, style, clipped(&format!("{indent}{mark} {name} {how}")))
    });
    let going = live.at_work.iter().filter(|run| run.elapsed.as_secs() > 0);
    let going = going.map(|AtWork { agent, elapsed, activity }| {
        (PLAIN, clipped(&format!("    {agent} {}s {activity}", elapsed.as_secs())))
    });
    // Two lines are for the head and the count.
    let place = most.saturating_sub(2);
    let many = live.steps.len() + going.clone().count() > place;
    let matters = |mark: &str| !many || matches!(mark, "▶" | "✘");
    let mut lines: Vec<(Style, String)> =
        steps.filter(|(mark, ..)| matters(mark)).map(|(_, style, text)| (style, text)).chain(going).collect();
    lines.truncate(place);
    lines.insert(0, (CYAN, clipped(&format!("{} {}", live.run, live.status.as_str()))));
    lines.push((
        PLAIN,
        clipped(&format!("  {} of {} settled", live.settled, counted(live.steps.len(), "step"))),
    ));
    lines
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_tree_fits_any_terminal() {
        let step = |n: usize| {
            let how = if n == 70 { "asked (waits for approval by user)" } else { "done" };
            LiveStep { name: format!("step{n}"), depth: n.min(20), how: how.to_owned() }
        };
        let run = format!("{}-12345678", "long".repeat(12));
        let (agent, activity) = ("agent".repeat(20), "thinks\n\x1b[2J".repeat(30));
        let at_work = vec![AtWork { agent, elapsed: Duration::from_secs(9), activity }];
        let steps = (0..100).map(step).collect();
        let mut live = LiveRun { run, status: Status::InProgress, steps, at_work, settled: 99 };
        for (most, width) in [(4, 20), (23, 80), (23, 20), (200, 300)] {
            let lines = lines(&live, most, width);
            assert!(lines.len() <= most, "{most}: {lines:?}");
            assert!(
                lines.iter().all(|(_, text)| visible::columns(text) < width && !text.contains('\x1b')),
                "{lines:?}"
            );
            assert!(lines.iter().any(|(_, text)| text.contains('▶')), "what runs is always shown: {lines:?}");
        }
        live.steps.truncate(3);
        assert_eq!(lines(&live, 23, 80).len(), 6, "a short one is shown whole");
    }
}
