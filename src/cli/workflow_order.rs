//! `postroom workflow cancel` and `retry`: what a person wants of a run.

use super::context::Context;
use super::fail::Fail;
use super::output::note;
use super::stop::line;
use super::workflow::{carry_once, end_of, meant, meant_or_lost, tell};
use crate::hint::Hint;
use crate::message::visible;
use crate::post::{Error, Failure, Post};
use crate::view::workflow::UnreadableRun;
use crate::workflow::cancelling::stop_agents;
use crate::workflow::carrier::{close_lost, look_at};
use crate::workflow::engine::Status;
use crate::workflow::start::{self, Order};

/// Writes a person's command about a run, and carries it.
pub(super) fn give(context: &mut Context, wanted: &str, order: &Order, follows: bool) -> Result<(), Fail> {
    let post = context.project_post_for_long(follows)?;
    if matches!(order, Order::Cancel { .. })
        && let Some((id, why)) = ended_lost(post, wanted)?
    {
        context.done = true;
        match context.output.json {
            true => context.output.json(&UnreadableRun::of(&id, &why)),
            false => context.output.line(&format!("run {id} ended: {}", visible::line(&why))),
        }
        let rest = context.hint(Hint::run(&["prune", &id]).to("removes what is left of it"));
        context.output.remark(&rest);
        return Ok(());
    }
    let (runs, id, _) = meant(post, wanted)?;
    let by = post.me().map_or_else(|_| "user".to_owned(), |me| me.shown().to_owned());
    match start::control(post, &runs, &id, order, &format!("by {by}"))? {
        Ok(()) => {}
        Err(start::Refused::NoStep(steps)) => {
            return Err(Fail::unknown("there is no such step", format!("there are {}", steps.join(", "))));
        }
        Err(start::Refused::NothingFailed) => {
            let hint = Hint::run(&["workflow", "retry", &id, "--from", "STEP"]).to("repeats from a step on");
            return Err(Fail::refused(format!("nothing failed in the run {id}"), hint));
        }
        Err(start::Refused::Stands(status)) => {
            let hint = match order {
                Order::Cancel { .. } => Hint::run(&["workflow", "list"]).to("what is in progress"),
                Order::Retry { .. } => Hint::run(&["workflow", "cancel", &id]).to("ends it first"),
            };
            return Err(Fail::refused(format!("the run {id} is {}", status.as_str()), hint));
        }
    }
    context.done = true;
    let engine = carry_once(context, post, &id)?;
    if follows && engine.status() == Status::InProgress {
        return end_of(context, post, &id);
    }
    let stopped = match order {
        Order::Cancel { let_finish: false } => stop_agents(post, &engine)?,
        _ => vec![],
    };
    tell(context, post, &engine, &id);
    stopped.iter().for_each(|stopped| note(&format!("postroom: {}", line(stopped))));
    match stopped.iter().any(|stopped| stopped.is_unanswered) {
        true => Err(Fail::Code(Failure::NotDone)),
        false => Ok(()),
    }
}

/// Takes the mark from a run that cannot be computed any more. Returns its id, and why; `None` if it can.
fn ended_lost(post: &Post, wanted: &str) -> Result<Option<(String, String)>, Fail> {
    let (runs, id) = meant_or_lost(post, wanted)?;
    if let Some(why) = close_lost(post, &runs, &id)? {
        return Ok(Some((id, why.to_owned())));
    }
    match look_at(post, &runs, &id) {
        Err(e @ Error::Unreadable { .. }) => {
            runs.set_open(&id, false)?;
            Ok(Some((id, e.to_string())))
        }
        other => Ok(other.map(|_| None)?),
    }
}
