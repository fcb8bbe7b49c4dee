//! `postroom thread` and `postroom sent`.

use clap::Args;
use serde_json::json;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::output::{BOLD, CYAN, DIM, PLAIN};
use super::trace::state_shown;
use crate::message::visible;
use crate::name::MessageId;
use crate::post::Failure;

/// Show a whole conversation, over all mailboxes, as a tree
#[derive(Debug, Args)]
pub(super) struct Thread {
    /// The first digits of the id of any message of it
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
        if context.output.json {
            let list: Vec<_> = branches
                .iter()
                .map(|b| {
                    let n = &b.node;
                    json!({"depth": b.depth, "id": n.id, "reply_to": n.reply_to, "from": n.from, "to": n.to, "subject": n.subject, "time": n.time})
                })
                .collect();
            context.output.json(&json!({"v": 1, "messages": list}));
            return Ok(());
        }
        for branch in &branches {
            let node = &branch.node;
            let to: Vec<&str> = node.to.iter().map(|id| post.name_of(id)).collect();
            let who = format!("{} → {}", post.name_of(&node.from), to.join(", "));
            let indent = "  ".repeat(branch.depth);
            let id = format!("{indent}{}", short(&node.id));
            let time = node.time.get(..19).map_or(node.time.clone(), |t| format!("{t}Z"));
            if context.output.terminal {
                context.output.row(&[(CYAN, id), (DIM, time), (BOLD, who), (PLAIN, node.subject.clone())]);
            } else {
                context.output.line(&format!(
                    "{id} {} {}: {}",
                    visible::line(&time),
                    visible::line(&who),
                    visible::line(&node.subject)
                ));
            }
        }
        Ok(())
    }
}

impl Verb for Sent {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_me()?;
        let sent = post.sent(&me, self.limit)?;
        let state = |s: &crate::post::Sent| {
            s.state
                .as_ref()
                .map_or_else(|| "gone from that mailbox; no evidence".to_owned(), |s| state_shown(&post, s))
        };
        if context.output.json {
            let list: Vec<_> = sent
                .iter()
                .map(|s| {
                    let to = json!({"id": s.to, "name": post.name_of(&s.to)});
                    json!({"id": s.id, "to": to, "subject": s.subject, "time": s.time, "state": s.state.as_ref().map(|s| s.word()), "detail": state(s)})
                })
                .collect();
            context.output.json(&json!({"v": 1, "sent": list}));
            return if sent.is_empty() { Err(Fail::Code(Failure::Nothing)) } else { Ok(()) };
        }
        if sent.is_empty() {
            return Err(context.nothing(&format!("{} sent nothing", me.shown())));
        }
        for s in &sent {
            let (id, to, state) = (short(&s.id), post.name_of(&s.to), state(s));
            if context.output.terminal {
                context.output.row(&[
                    (CYAN, id),
                    (BOLD, visible::pad(to, 12)),
                    (DIM, state),
                    (PLAIN, s.subject.clone()),
                ]);
            } else {
                context.output.line(&format!(
                    "{id} {} {state}: {}",
                    visible::line(to),
                    visible::line(&s.subject)
                ));
            }
        }
        Ok(())
    }
}

/// An id as it is shown: its eight digits, else all of it.
fn short(id: &str) -> String {
    MessageId::found(id).ok().and_then(|id| id.brief()).unwrap_or_else(|| visible::line(id))
}
