//! `postroom reply`.

use clap::Args;

use super::Verb;
use super::approve::carry_on;
use super::context::Context;
use super::fail::Fail;
use super::output::note;
use super::send::{Writing, tell};
use crate::message::visible;
use crate::post::{Me, Outcome, Post};
use crate::workflow::decision;

/// Answer a message, then archive it
///
/// Goes to the sender, in its protocol, thread and channel. A reply that was interrupted can be run again. In a workspace,
/// --channel without an ID answers a whole channel: the newest request gets the text, each older one a reply that says
/// it was superseded.
#[derive(Debug, Args)]
pub(super) struct Reply {
    /// The message, as `check` shows it, or the first digits of its id
    #[arg(value_name = "ID", required_unless_present = "channel")]
    id_of_message: Option<String>,
    /// With --channel and no ID: answer only this sender
    #[arg(long, value_name = "NAME", conflicts_with = "id_of_message")]
    from: Option<String>,
    #[command(flatten)]
    writing: Writing,
}

impl Verb for Reply {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_me()?;
        let Some(id) = &self.id_of_message else { return self.channel(context, post, &me) };
        post.find(&me, id)?;
        let letter = self.writing.letter(post)?;
        let mut waiting = None;
        if post.is_persons(&me.id) {
            let asked = post.open_message(&me, id, true)?.message;
            let run = asked.envelope.extra("workflow").unwrap_or_default();
            if decision::note_answer(post, run, &asked.envelope.id, &asked.body, &letter.body)? {
                waiting = Some(run.to_owned());
            }
        }
        let answer = post.reply(&me, id, letter)?;
        let told = tell(context, [&answer.receipt]);
        // If the receipt was lost, the command may be run again, so the note stays until the receipt is written.
        context.output.flush().map_err(Fail::Output)?;
        post.answered(&me, &answer);
        if let Some(run) = waiting {
            carry_on(context, post, &run);
        }
        if let Outcome::Unproven(_) = answer.receipt.outcome {
            note(&format!(
                "postroom: {} is still open; the same command again finishes it",
                visible::clip(id, 80)
            ));
        }
        told
    }
}

impl Reply {
    fn channel(self, context: &mut Context, post: &Post, me: &Me) -> Result<(), Fail> {
        let from = self.from.as_deref().map(|name| post.addressee(name)).transpose()?;
        let letter = self.writing.letter(post)?;
        let channel = letter.channel.clone().unwrap_or_default();
        let (answers, failed) = post.reply_channel(me, &channel, from, &letter)?;
        let told = tell(context, answers.iter().map(|answer| &answer.receipt));
        context.output.flush().map_err(Fail::Output)?;
        answers.iter().for_each(|answer| post.answered(me, answer));
        failed.map_or(told, |e| Err(e.into()))
    }
}
