//! `postroom trace`.

use clap::Args;
use serde_json::{Value, json};

use super::context::Context;
use super::fail::Fail;
use super::output::{BOLD, DIM};
use super::{Verb, log};
use crate::message::visible;
use crate::post::{GivenAnswer, Located, Post, State, Trace as Traced};

/// Show where a message is and what happened to it
///
/// The files say where it is, the journal what happened. What neither knows is called *no evidence*.
#[derive(Debug, Args)]
pub(super) struct Trace {
    /// The first digits of a message's id; one's own mailbox is searched first
    #[arg(value_name = "ID")]
    id: String,
}

impl Verb for Trace {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_maybe_me()?;
        let trace = post.trace(me.as_ref(), &self.id)?;
        if context.output.json {
            context.output.json(&document(post, &trace));
            return Ok(());
        }
        let (from, subject) = (visible::line(post.name_of(&trace.from)), visible::line(&trace.subject));
        context.output.line(&format!("message: {}", trace.id));
        context.output.line(&format!("from: {from}"));
        context.output.line(&format!("subject: {subject}"));
        for located in &trace.copies {
            let name =
                context.output.paint(BOLD, &visible::line(post.name_of(located.copy.mailbox.as_str())));
            let state = state_shown(post, &located.state);
            context.output.line(&format!("at {name}: {state}"));
            for attempt in &located.attempts {
                let line = format!(
                    "  attempt {} {} {}",
                    visible::line(&attempt.time),
                    visible::line(&attempt.how),
                    visible::line(&attempt.why)
                );
                let line = context.output.paint(DIM, line.trim_end());
                context.output.line(&line);
            }
        }
        if trace.copies.is_empty() {
            context.output.line("in no mailbox; the journal remembers it");
        }
        for GivenAnswer { id, from, .. } in &trace.answers {
            context.output.line(&format!(
                "answered by {}: {}",
                visible::line(post.name_of(from)),
                visible::line(id)
            ));
        }
        if trace.events.is_empty() {
            context.output.line("journal: no evidence");
        }
        trace.events.iter().for_each(|event| log::show(context, post, event));
        Ok(())
    }
}

/// A state in words.
pub(super) fn state_shown(post: &Post, state: &State) -> String {
    match state {
        State::Queued => "queued, unread".to_owned(),
        State::Claimed(terms) => {
            let owner = visible::line(post.name_of(&terms.owner));
            format!("claimed by {owner} until {}, attempt {}", visible::line(&terms.ends), terms.attempt)
        }
        State::Working => "in progress".to_owned(),
        State::Shown(time) => format!("shown {}", visible::line(time)),
        State::Done(time) => format!("done {}", visible::line(time)),
        State::Answered(time) => format!("answered {}", visible::line(time)),
        State::Filed(time) => format!("filed away unread {}", visible::line(time)),
        State::Failed(why) => format!("failed: {}", visible::line(why)),
        State::NoEvidence => "archived; no evidence how".to_owned(),
    }
}

fn document(post: &Post, trace: &Traced) -> Value {
    let copy = |located: &Located| {
        json!({
            "mailbox": {"id": located.copy.mailbox.as_str(), "name": post.name_of(located.copy.mailbox.as_str())},
            "folder": located.copy.folder.word(), "file": located.copy.header.name, "state": located.state.word(),
            "detail": state_shown(post, &located.state), "attempts": located.attempts,
        })
    };
    json!({
        "v": 1, "id": trace.id.as_str(), "subject": trace.subject, "from": {"id": trace.from, "name": post.name_of(&trace.from)},
        "copies": trace.copies.iter().map(copy).collect::<Vec<_>>(),
        "answers": trace.answers.iter().map(|answer| json!({"id": answer.id, "from": answer.from})).collect::<Vec<_>>(),
        "events": trace.events,
    })
}
