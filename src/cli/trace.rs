//! `postroom trace`.

use clap::Args;

use super::context::Context;
use super::fail::Fail;
use super::output::BOLD;
use super::{Verb, log};
use crate::hint::Hint;
use crate::message::visible;
use crate::post::{GivenAnswer, Located, Me, MessageState, line};
use crate::view;

/// Show where a message is and what happened to it
///
/// The files say where it is, the journal what happened. Anything unknown to both is shown as *no evidence*.
#[derive(Debug, Args)]
pub(super) struct Trace {
    /// The first digits of a message's id; your own mailbox is searched first
    #[arg(value_name = "ID")]
    id: String,
}

impl Verb for Trace {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_maybe_me()?;
        let trace = post.trace(me.as_ref(), &self.id)?;
        if context.output.json {
            context.output.json(&view::trace::Trace::of(post, &trace));
            return Ok(());
        }
        let output = &mut context.output;
        let (from, subject) = (visible::line(post.name_of(&trace.from)), visible::line(&trace.subject));
        output.line(&format!("message: {}", trace.id));
        output.line(&format!("from: {from}"));
        output.line(&format!("subject: {subject}"));
        for located in &trace.copies {
            let finish = to_finish(context, me.as_ref(), located);
            let output = &mut context.output;
            let name = located.address.as_deref().unwrap_or(post.name_of(located.copy.mailbox.as_str()));
            let name = output.paint(BOLD, &visible::line(name));
            let state = line::of_state(post, &located.state);
            output.line(&format!("at {name}: {state}"));
            finish.iter().for_each(|line| output.line(line));
            for attempt in &located.attempts {
                let line = format!(
                    "  attempt {} {} {}",
                    visible::line(&attempt.time),
                    visible::line(&attempt.how),
                    visible::line(&attempt.why)
                );
                output.line(line.trim_end());
            }
        }
        let output = &mut context.output;
        if trace.copies.is_empty() {
            output.line("in no mailbox; the journal remembers it");
        }
        for GivenAnswer { id, from, .. } in &trace.answers {
            output.line(&format!("answered by {}: {}", visible::line(post.name_of(from)), visible::line(id)));
        }
        if trace.events.is_empty() {
            output.line("journal: no evidence");
        }
        trace.events.iter().for_each(|event| log::show(output, post, event));
        Ok(())
    }
}

/// The command that finishes the message, if the caller has claimed it.
fn to_finish(context: &Context, me: Option<&Me>, located: &Located) -> Option<String> {
    let MessageState::Claimed(terms) = &located.state else { return None };
    let is_own = terms.run.is_empty() && me.is_some_and(|me| terms.owner == me.id.as_str());
    let header = &located.copy.header;
    let done = Hint::run(&["done", &header.envelope.called(&header.name)]).to("-m TEXT answers it");
    is_own.then(|| format!("to finish: {}", context.hint(done)))
}
