//! `postroom thread` and `postroom sent`.

use clap::Args;

use super::context::Context;
use super::fail::Fail;
use super::output::{BOLD, CYAN, PLAIN};
use super::{Verb, log};
use crate::dispatch::waits;
use crate::message::visible;
use crate::post::{self, MessageState, Post, line};
use crate::view::trace as view;

/// Show a whole conversation, across all mailboxes, as a tree
#[derive(Debug, Args)]
pub(super) struct Thread {
    /// The first digits of the id of any of its messages
    #[arg(value_name = "ID")]
    id: String,
}

/// Show what you sent, and where each message is now
#[derive(Debug, Args)]
pub(super) struct Sent {
    /// At most this many, the newest
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

impl Verb for Thread {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_maybe_me()?;
        let branches = post.thread(me.as_ref(), &self.id)?;
        context.output.list(&view::Thread::of(&branches), &branches, |output, branch| {
            let node = &branch.node;
            let id = format!("{}{}", "  ".repeat(branch.depth), line::brief(&node.id));
            let (time, who) = (log::moment(post, &node.time), line::who(post, branch));
            let cells = [(CYAN, id), (PLAIN, time), (BOLD, who), (PLAIN, node.subject.clone())];
            output.entry(&cells, &line::of_branch(post, branch));
        });
        Ok(())
    }
}

/// The fate of a sent message in a few words, for a table: `trace` has all of them.
fn in_short(post: &Post, sent: &post::Sent) -> String {
    let at = |word: &str, time: &str| format!("{word} {}", log::moment(post, time));
    match &sent.state {
        Some(MessageState::Claimed(terms)) => format!("claimed by {}", post.name_of(&terms.owner)),
        Some(MessageState::Shown(time)) => at("shown", time),
        Some(MessageState::Done(time)) => at("done", time),
        Some(MessageState::Answered(time)) => at("answered", time),
        Some(MessageState::Filed(time)) => at("filed", time),
        _ => line::of_sent(post, sent),
    }
}

impl Verb for Sent {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_me()?;
        let mut sent = post.sent(&me, self.limit)?;
        waits::remark_sent(post, &mut sent)?;
        context.output.list(&view::Sent::of(post, &sent), &sent, |output, s| {
            let (id, to, state) = (line::brief(&s.id), post.name_of(&s.to), line::of_sent(post, s));
            let line = format!("{id} {} {state}: {}", visible::line(to), visible::line(&s.subject));
            let short = in_short(post, s);
            let cells = [(CYAN, id), (BOLD, to.to_owned()), (PLAIN, short), (PLAIN, s.subject.clone())];
            output.entry(&cells, &line);
        });
        match sent.is_empty() {
            true => Err(context.nothing(&format!("{} sent nothing", me.shown()))),
            false => Ok(()),
        }
    }
}
