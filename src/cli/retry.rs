//! `postroom failed retry`: dead letters are unread again, and parked messages are released by a person.

use clap::Args;

use super::context::Context;
use super::fail::Fail;
use super::failed::{called, mailboxes, next_of_run, not_found};
use super::output::note;
use crate::dispatch::retriable::{Retriable, Retried, leave_parked, retry};
use crate::hint::Hint;
use crate::post::line::counted;
use crate::post::{Failure, Post};
use crate::view::claim as view;
use crate::workflow::unawaited::{LeftAlone, leave_out};

#[derive(Debug, Args)]
pub(super) struct Retry {
    #[arg(required_unless_present_any = ["all", "agent", "reason"], conflicts_with_all = ["all", "reason"], value_name = "ID")]
    ids: Vec<String>,
    /// Those of every mailbox of the room
    #[arg(long, conflicts_with = "agent")]
    all: bool,
    /// Those of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Those whose reason contains this text; in every mailbox, unless an agent is named
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Retry {
    /// What is meant.
    fn chosen(&self, context: &mut Context) -> Result<(&'static Post, Vec<Retriable>), Fail> {
        if !self.ids.is_empty() {
            let (post, mailboxes) = mailboxes(context, self.agent.as_deref())?;
            let chosen = mailboxes.named(post, &self.ids).map_err(|e| not_found(e, "retry"))?;
            return Ok((post, chosen));
        }
        let post = context.post()?;
        let mut chosen = match &self.agent {
            Some(name) => vec![Retriable::of(post, post.other(&post.addressee(name)?)?)?],
            None => Retriable::of_agents(post)?,
        };
        if let Some(text) = &self.reason {
            chosen.iter_mut().for_each(|one| one.keep_reason(text));
        }
        Ok((post, chosen))
    }

    pub(super) fn run(&self, context: &mut Context) -> Result<(), Fail> {
        let (post, mut chosen) = self.chosen(context)?;
        let unawaited = leave_out(post, &mut chosen)?;
        let parked = if self.ids.is_empty() { leave_parked(post, &mut chosen)? } else { 0 };
        let left: Vec<(String, Vec<Hint>)> =
            unawaited.iter().map(of_run).chain((parked > 0).then(|| of_parked(parked))).collect();
        if chosen.iter().all(Retriable::is_empty) {
            let sentences: Vec<String> = left.iter().map(|(sentence, _)| sentence.clone()).collect();
            let hints = left.into_iter().flat_map(|(_, hints)| hints).collect();
            return Err(match sentences.is_empty() {
                true => context.nothing("nothing to retry"),
                false => Fail::Told(Failure::Refused, sentences.join("; "), hints),
            });
        }
        let again = retry(post, &chosen)?;
        for (sentence, hints) in left {
            note(&format!("postroom: {sentence}"));
            hints.into_iter().for_each(|hint| note(&format!("  {}", context.hint(hint))));
        }
        context.done = true;
        let line = |Retried { file, was_parked, .. }: &Retried| {
            format!("{} {}", if *was_parked { "released" } else { "unread again" }, called(file))
        };
        let lines: Vec<String> = again.iter().map(line).collect();
        let retried = again.into_iter().map(|one| one.id).collect();
        context.output.receipt(&view::FailedRetry { retried }, lines);
        Ok(())
    }
}

/// Why requests of a run are not retried, and what to do instead.
fn of_run(left: &LeftAlone) -> (String, Vec<Hint>) {
    (left.to_string(), next_of_run(left))
}

fn of_parked(parked: usize) -> (String, Vec<Hint>) {
    let (messages, verb) = (counted(parked, "parked message"), if parked == 1 { "needs" } else { "need" });
    let hint = Hint::run(&["failed", "retry", "--all"]).to("at a terminal releases parked messages");
    (format!("{messages} {verb} a person"), vec![hint.into()])
}
