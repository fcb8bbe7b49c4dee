//! `postroom prune`.

use std::io::{self, BufRead, IsTerminal};
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::output::note;
use crate::message::visible;
use crate::post::{Doomed, Failure, Post, Wanted};
use crate::span;

/// Remove mailboxes that you name, or old finished mail
///
/// Says what it would do, and does it with --yes (on a terminal it asks). Never unread mail, unless --unread. It
/// may be interrupted: what is left goes with the next run.
#[derive(Debug, Args)]
pub(super) struct Prune {
    /// Mailboxes to remove, with all their mail and their names
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Remove archived mail, and runs of workflows that ended, older than this (30d, 12w)
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    archived: Option<Duration>,
    /// Remove dead letters older than this
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    failed: Option<Duration>,
    /// Old mail of this mailbox only
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Mailboxes go even with unread mail in them
    #[arg(long)]
    unread: bool,
    /// Do it
    #[arg(long)]
    yes: bool,
}

impl Verb for Prune {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_maybe_me()?;
        if self.names.is_empty() && self.archived.is_none() && self.failed.is_none() {
            let hints = vec![
                "postroom names shows who exists".into(),
                "postroom prune NAME, or postroom prune --archived 30d".into(),
            ];
            return Err(Fail::Usage("nothing is named that should go".into(), hints));
        }
        let wanted = Wanted {
            mailboxes: self.names.clone(),
            archived: self.archived,
            failed: self.failed,
            only: self.only.clone(),
            unread: self.unread,
        };
        let plan = post.prune_plan(me.as_ref(), &wanted)?;
        let go = self.yes || self.agreed(context, post, &plan)?;
        if !go {
            return self.tell(context, post, &plan, false);
        }
        let clock = context.clock();
        let mut told = clock.boot();
        for (index, doomed) in plan.iter().enumerate() {
            post.prune_one(me.as_ref().map_or("", |me| me.id.as_str()), doomed)?;
            // Progress for people, once a second.
            if context.output.terminal && clock.boot().saturating_sub(told).as_secs() >= 1 {
                told = clock.boot();
                note(&format!("removed {} of {}", index + 1, plan.len()));
            }
        }
        context.done = true;
        self.tell(context, post, &plan, true)
    }
}

impl Prune {
    /// Asks a person; without a terminal nothing is agreed.
    fn agreed(&self, context: &mut Context, post: &Post, plan: &[Doomed]) -> Result<bool, Fail> {
        if plan.is_empty() || context.output.json || !context.output.terminal || !io::stdin().is_terminal() {
            return Ok(false);
        }
        summary(post, plan).iter().for_each(|line| note(&format!("would remove {line}")));
        note("Do it? [y/N]");
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer);
        Ok(read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes"))
    }

    fn tell(&self, context: &mut Context, post: &Post, plan: &[Doomed], done: bool) -> Result<(), Fail> {
        if context.output.json {
            let list: Vec<Value> = plan.iter().map(document).collect();
            context.output.json(&json!({"v": 1, "removed": done, "items": list}));
        } else if !context.output.quiet {
            let word = if done { "removed" } else { "would remove" };
            summary(post, plan).iter().for_each(|line| context.output.line(&format!("{word} {line}")));
        }
        match (plan.is_empty(), done) {
            (true, _) if context.output.json => Err(Fail::Code(Failure::Nothing)),
            (true, _) => Err(context.nothing("nothing is old enough")),
            (false, true) => Ok(()),
            (false, false) if context.output.json => Err(Fail::Code(Failure::Refused)),
            (false, false) => Err(Fail::told(Failure::Refused, "nothing was removed", "--yes does it")),
        }
    }
}

/// Mailboxes one by one, messages as numbers.
fn summary(post: &Post, plan: &[Doomed]) -> Vec<String> {
    let messages_of =
        |count: usize| if count == 1 { "1 message".to_owned() } else { format!("{count} messages") };
    let mut lines = vec![];
    let mut counts = std::collections::BTreeMap::new();
    for doomed in plan {
        match doomed {
            Doomed::Mailbox { id, name, unread, messages } => {
                lines.push(format!(
                    "the mailbox {} ({id}) with {}, {unread} of them unread or claimed",
                    visible::line(name),
                    messages_of(*messages)
                ));
            }
            Doomed::Run { id, messages } => {
                lines.push(format!("the run {id} of a workflow with {}", messages_of(*messages)));
            }
            Doomed::Message { id, folder, .. } => {
                *counts.entry((id.to_string(), folder.word())).or_insert(0usize) += 1
            }
        }
    }
    lines.extend(counts.into_iter().map(|((id, folder), count)| {
        format!("{} from {}/{folder}", messages_of(count), visible::line(post.name_of(&id)))
    }));
    lines
}

fn document(doomed: &Doomed) -> Value {
    match doomed {
        Doomed::Mailbox { id, name, unread, messages } => {
            json!({"mailbox": id.as_str(), "name": name, "unread": unread, "messages": messages})
        }
        Doomed::Run { id, messages } => json!({"run": id.as_str(), "messages": messages}),
        Doomed::Message { id, folder, name } => {
            json!({"mailbox": id.as_str(), "folder": folder.word(), "file": name})
        }
    }
}
