//! `postroom prune` and `postroom undo`.

use std::io::{self, BufRead, IsTerminal};
use std::time::Duration;

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::output::note;
use crate::hint::Hint;
use crate::message::visible;
use crate::name::Name;
use crate::post::line::counted;
use crate::post::{Doomed, Error, Failure, Post, Wanted};
use crate::span;
use crate::view::prune as view;
use crate::workflow::pruning::Workflows;

/// Remove mailboxes that you name, or old finished mail
///
/// Shows what it would do, and does it with --yes (on a terminal it asks). Never removes unread mail, unless --unread.
/// Everything goes to the trash of the room: `postroom undo` brings it back for 30 days. If interrupted, the next run
/// removes the rest.
#[derive(Debug, Args)]
pub(super) struct Prune {
    /// Mailboxes to remove, with all their mail and their names
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Remove archived mail, and workflow runs that ended, older than this (30d, 12w)
    #[arg(long, value_name = "SPAN", value_parser = span::parse_with_unit)]
    archived: Option<Duration>,
    /// Remove dead letters older than this
    #[arg(long, value_name = "SPAN", value_parser = span::parse_with_unit)]
    failed: Option<Duration>,
    /// Old mail of this mailbox only
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Also remove mailboxes with unread mail
    #[arg(long)]
    unread: bool,
    /// Free the disk at once, without undo; alone, it empties the trash
    #[arg(long)]
    forever: bool,
    /// Do it
    #[arg(long)]
    yes: bool,
}

/// Bring back what a prune removed; without an ID, list it
#[derive(Debug, Args)]
pub(super) struct Undo {
    /// The id that `prune` printed
    id: Option<String>,
    /// A new name for the mailbox, if its own was taken meanwhile
    #[arg(long, value_name = "NAME", requires = "id")]
    name: Option<String>,
}

impl Verb for Prune {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_maybe_me()?;
        let nothing_named = self.names.is_empty() && self.archived.is_none() && self.failed.is_none();
        if nothing_named && self.forever {
            return self.empty_trash(context);
        }
        if nothing_named {
            let hints = vec![
                Hint::run(&["names"]).to("who exists").into(),
                Hint::run(&["prune", "--archived", "30d"]).to("old mail that was read").into(),
            ];
            return Err(Fail::Told(Failure::Usage, "name a mailbox, or use --archived".into(), hints));
        }
        let wanted = Wanted {
            mailboxes: self.names.clone(),
            archived: self.archived,
            failed: self.failed,
            only: self.only.clone(),
            unread: self.unread,
        };
        let plan = post.prune_plan(me.as_ref(), &wanted, &Workflows)?;
        let go = self.yes || self.agreed(context, post, &plan)?;
        if !go {
            return tell(context, post, &plan, &Gone::Planned);
        }
        let (clock, terminal) = (context.clock(), context.output.terminal);
        let mut told = clock.boot();
        let by = me.as_ref().map_or("", |me| me.id.as_str());
        let undo = match plan.is_empty() {
            true => None,
            false => post.prune(by, &plan, &Workflows, self.forever, |done| {
                // Progress for people, once a second.
                if terminal && clock.boot().saturating_sub(told).as_secs() >= 1 {
                    told = clock.boot();
                    note(&format!("removed {done} of {}", plan.len()));
                }
            })?,
        };
        context.done = true;
        tell(context, post, &plan, &undo.map_or(Gone::Forever, |undo| Gone::ToTrash { undo }))
    }
}

impl Verb for Undo {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_maybe_me()?;
        let Some(id) = &self.id else {
            let all = post.trashed()?;
            let now = context.clock().now();
            context.output.list(&view::Trash::of(&all, None), &all, |output, bag| {
                let age = span::short(now.since(bag.at));
                output.line(&format!("{} pruned {age} ago: {}", bag.id, bag.contents()));
            });
            return if all.is_empty() { Err(context.nothing("the trash is empty")) } else { Ok(()) };
        };
        let name = self.name.as_deref().map(|name| {
            Name::parse(name).map_err(|why| Error::BadName { what: "the name", text: name.to_owned(), why })
        });
        let by = me.as_ref().map_or("", |me| me.id.as_str());
        let back = post.undo(by, id, name.transpose()?.as_ref(), &Workflows)?;
        context.done = true;
        context.output.receipt(&view::Undo::of(&back), [format!("brought back {}", back.contents())]);
        Ok(())
    }
}

impl Prune {
    /// Asks a person. `false` without a terminal.
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

    /// Empties the trash of earlier prunes.
    fn empty_trash(&self, context: &mut Context) -> Result<(), Fail> {
        let (post, _) = context.post_and_maybe_me()?;
        let all = post.trashed()?;
        if self.yes {
            post.empty_trash()?;
            context.done = true;
        }
        let word = if self.yes { "removed" } else { "would remove" };
        let lines = all.iter().map(|bag| format!("{word} {} from the trash", bag.contents()));
        context.output.receipt(&view::Trash::of(&all, Some(self.yes)), lines);
        if all.is_empty() { Err(context.nothing("the trash is empty")) } else { end(context, self.yes) }
    }
}

/// What has become of what is pruned.
enum Gone {
    /// It is still there.
    Planned,
    Forever,
    ToTrash {
        /// The id for `undo`.
        undo: String,
    },
}

/// Reports what goes, or went.
fn tell(context: &mut Context, post: &Post, plan: &[Doomed], gone: &Gone) -> Result<(), Fail> {
    let is_done = !matches!(gone, Gone::Planned);
    let undo = match gone {
        Gone::ToTrash { undo } => Some(undo.as_str()),
        Gone::Planned | Gone::Forever => None,
    };
    let word = if is_done { "removed" } else { "would remove" };
    let lines = summary(post, plan).into_iter().map(|line| format!("{word} {line}"));
    let back = |id: &str| Hint::run(&["undo", id]).to("brings it back, for 30 days");
    let hint = undo.map(|id| context.hint(back(id)));
    context.output.receipt(&view::Prune::of(plan, is_done, undo), lines.chain(hint));
    if plan.is_empty() { Err(context.nothing("nothing is old enough")) } else { end(context, is_done) }
}

/// Ends a prune. One that only showed what it would do says how to do it.
pub(super) fn end(context: &Context, is_done: bool) -> Result<(), Fail> {
    match (is_done, context.output.json) {
        (true, _) => Ok(()),
        (false, true) => Err(Fail::Code(Failure::Refused)),
        (false, false) => Err(Fail::refused("nothing was removed", Hint::again_with("--yes").to("does it"))),
    }
}

/// Lists mailboxes one by one, messages as counts.
fn summary(post: &Post, plan: &[Doomed]) -> Vec<String> {
    let mut lines = vec![];
    let mut counts = std::collections::BTreeMap::new();
    for doomed in plan {
        match doomed {
            Doomed::Mailbox { id, name, unread, messages } => {
                lines.push(format!(
                    "the mailbox {} ({id}) with {}, {unread} of them unread or claimed",
                    visible::line(name),
                    counted(*messages, "message")
                ));
            }
            Doomed::Run { id, messages } => {
                lines.push(format!("the run {id} of a workflow with {}", counted(*messages, "message")));
            }
            Doomed::Message { id, folder, .. } => {
                *counts.entry((id.to_string(), folder.as_str())).or_insert(0usize) += 1
            }
        }
    }
    lines.extend(counts.into_iter().map(|((id, folder), count)| {
        format!("{} from {}/{folder}", counted(count, "message"), visible::line(post.name_of(&id)))
    }));
    lines
}
