//! `postroom reply`.

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::send::{Writing, tell};

/// Answer a message, then archive it
///
/// Goes to the sender, in the same thread and channel. Interrupted and run again, it is not
/// delivered twice.
#[derive(Debug, Args)]
pub(super) struct Reply {
    /// The first digits of the message's id (see `check`)
    #[arg(value_name = "ID")]
    id_of_message: String,
    #[command(flatten)]
    writing: Writing,
}

impl Verb for Reply {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_me()?;
        post.find(&me, &self.id_of_message)?;
        let answer = post.reply(&me, &self.id_of_message, self.writing.letter(&post)?)?;
        let told = tell(context, std::slice::from_ref(&answer.receipt));
        // Whoever did not see the receipt may run this again; the note of it stays until it is out.
        context.output.flush().map_err(Fail::Output)?;
        post.answered(&me, &answer);
        told
    }
}
