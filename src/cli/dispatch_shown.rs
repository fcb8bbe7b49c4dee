//! What a dispatcher says: at its start and its end to a person, of each event, and what it would start.

use super::context::Context;
use super::fail::Fail;
use super::output::note;
use super::{follow, runs};
use crate::dispatch::dispatcher::{Dispatcher, Event};
use crate::dispatch::queue::{Delay, Waiting};
use crate::hint::Hint;
use crate::message::visible;
use crate::post::Post;
use crate::post::line::counted;
use crate::span;
use crate::view::run as view;
use crate::workflow;
use crate::workflow::carrier::Carried;

/// The most agents whose names are shown at the start.
const NAMED: usize = 8;

/// Tells a person what is watched, what waits, and how it ends. A watch without mail would look as if it hung.
pub(super) fn watch_begun(
    context: &mut Context,
    dispatcher: &Dispatcher<'_>,
    agents: &[String],
) -> Result<(), Fail> {
    if !context.output.terminal || context.output.quiet {
        return Ok(());
    }
    let Waiting { messages, delays, .. } = dispatcher.waiting()?;
    let waiting = messages.len() + delays.iter().map(|delay| delay.messages).sum::<usize>();
    let mut names: Vec<String> = agents.iter().take(NAMED).map(|name| visible::line(name)).collect();
    if agents.len() > NAMED {
        names.push(format!("{} more", agents.len() - NAMED));
    }
    let line = format!(
        "watching for {} in the room {}: {}. Ctrl-C stops the watch, not the agents at work.",
        names.join(", "),
        context.room_shown(),
        waits(waiting)
    );
    context.output.line(&line);
    context.output.flush().map_err(Fail::Output)
}

/// Tells a person what goes on only with another dispatch: messages that are tried again, else a run that waits.
pub(super) fn tell_left(context: &mut Context, post: &Post, dispatcher: &Dispatcher<'_>) -> Result<(), Fail> {
    if !context.output.terminal || context.output.quiet {
        return Ok(());
    }
    let (what, hint) = match dispatcher.waiting()?.retries() {
        Some((messages, first)) => {
            let (are, left) = (if messages == 1 { "is" } else { "are" }, first.since(context.clock().now()));
            let what =
                format!("{} {are} tried again in {}", counted(messages, "message"), span::spoken(left));
            (what, Hint::run(&["dispatch", "--watch"]))
        }
        None => {
            let open =
                workflow::runs::Runs::existing(post.room())?.map(|runs| runs.open_ids()).transpose()?;
            match open.unwrap_or_default().as_slice() {
                [] => return Ok(()),
                [run] => (format!("the run {run} still waits"), Hint::run(&["workflow", "show", run])),
                runs => (format!("{} still wait", counted(runs.len(), "run")), Hint::run(&["status"])),
            }
        }
    };
    let hint = context.hint(hint);
    context.output.remark(&format!("{what}: {hint}"));
    Ok(())
}

fn waits(messages: usize) -> String {
    match messages {
        0 => "no message waits".to_owned(),
        1 => "1 message waits".to_owned(),
        more => format!("{more} messages wait"),
    }
}

pub(super) fn dry_run(context: &mut Context, dispatcher: &Dispatcher<'_>) -> Result<(), Fail> {
    let Waiting { messages: waiting, remarks, delays, .. } = dispatcher.waiting()?;
    for (agent, why) in &remarks {
        tell(context, &Event::Waits { agent, why });
    }
    for delay in &delays {
        tell(context, &Event::Delayed { delay });
    }
    for (agent, file) in &waiting {
        if context.output.json {
            context.output.json(&view::Dispatch::would_start(agent, file));
        } else {
            context.output.line(&format!("would start {} for {}", visible::line(agent), visible::line(file)));
        }
    }
    if waiting.is_empty() { Err(context.nothing("no mail waits for an agent")) } else { Ok(()) }
}

pub(super) fn tell(context: &mut Context, event: &Event<'_, Carried>) {
    if context.output.json {
        view::Dispatch::of(event).iter().for_each(|document| context.output.json(document));
        return;
    }
    match event {
        Event::Started { agent, file, .. } => {
            context.output.line(&format!("started {} for {}", visible::line(agent), visible::line(file)))
        }
        Event::Ended { run } => runs::show_now(context, run),
        Event::Background { news } if follow::is_news(news) => context.output.line(&follow::line(news)),
        Event::Nothing { agent, why: Some(why) } | Event::Waits { agent, why } => {
            note(&format!("postroom: {}: {}", visible::line(agent), visible::line(why)))
        }
        Event::Delayed { delay } => note(&format!("postroom: {}", said(delay))),
        Event::Reread { agents, changed: true } => {
            context.output.line(&format!("settings read again: {}", counted(*agents, "agent")))
        }
        Event::Background { .. } | Event::Nothing { .. } | Event::Going { .. } | Event::Reread { .. } => {}
    }
}

/// Mail that waits, in words: `worker: 140 messages wait until 2026-11-18T01:00:00Z: …`.
fn said(delay: &Delay) -> String {
    let (agent, why) = (visible::line(&delay.agent), visible::line(&delay.why));
    let count = waits(delay.messages);
    match delay.until {
        Some(until) => format!("{agent}: {count} until {until}: {why}"),
        None => format!("{agent}: {count} for a person: {why}"),
    }
}
