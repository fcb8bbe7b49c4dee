//! `postroom ask`.

use std::time::Duration;

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::send::{Writing, tell};
use super::shown::Shown;
use crate::message::visible;
use crate::post::{Failure, Letter, Outcome, line};
use crate::span;
use crate::view::check as view;
use crate::view::message::Message;

/// Send a question, wait for its answer, and show it
///
/// Exits 1 when the time is over, and says where the question is; it stays sent, and the answer will come as mail.
#[derive(Debug, Args)]
pub(super) struct Ask {
    /// The recipient
    #[arg(value_name = "TO")]
    to: String,
    #[command(flatten)]
    writing: Writing,
    /// Give up after this time (seconds, or 30m, 2h)
    #[arg(long, value_name = "SPAN", default_value = "540", value_parser = span::parse)]
    timeout: Duration,
    /// Show all of a long answer
    #[arg(long)]
    full: bool,
}

impl Verb for Ask {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_me()?;
        context.output.must_be_seen("postroom send asks without waiting")?;
        if !self.to.starts_with('@') {
            post.check_address(&self.to)?;
        }
        let letter = Letter { to: vec![self.to], ..self.writing.letter(post)? };
        let asked = post.ask(&me, &letter, self.timeout)?;
        if matches!(asked.receipt.outcome, Outcome::Failed(_)) {
            return tell(context, &[asked.receipt]);
        }
        let id = asked.receipt.id.clone();
        let Some(answer) = asked.answer else {
            let state = asked
                .state
                .as_ref()
                .map_or_else(|| "in no mailbox: no evidence".to_owned(), |s| line::of_state(post, s));
            if context.output.json {
                let (id, state) = (id.as_str(), Some(state.as_str()));
                context.output.json(&view::Ask {
                    id,
                    timed_out: true,
                    bounced: false,
                    state,
                    messages: vec![],
                });
            } else {
                let short = id.short().unwrap_or_default();
                let to = visible::line(&asked.receipt.name);
                context.output.line(&format!(
                    "no answer within {}; the question {short} to {to} is {state}",
                    span::measured(self.timeout)
                ));
                context.output.line(&format!("postroom wait --reply-to {id}"));
            }
            return Err(Fail::Code(Failure::Nothing));
        };
        if context.output.json {
            let (id, bounced, messages) = (id.as_str(), asked.bounced, vec![Message::of(post, &answer)]);
            context.output.json(&view::Ask { id, timed_out: false, bounced, state: None, messages });
        } else {
            let shown = Shown { full: self.full, path: answer.path.clone(), ..Shown::default() };
            let text = shown.text(context, post, &me.id, &answer);
            context.output.text(&text);
        }
        context.output.flush().map_err(Fail::Output)?;
        post.shown(&me, &answer)?;
        if asked.bounced { Err(Fail::Code(Failure::Refused)) } else { Ok(()) }
    }
}
