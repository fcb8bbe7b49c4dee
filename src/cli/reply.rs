//! `postroom reply`.

use clap::Parser;

use super::context::Context;
use super::fail::Fail;
use super::send::{Marks, tell};
use super::text::Text;
use super::{Globals, Verb};

/// Answer a message, then archive it
///
/// Goes to the sender, in the same thread and channel. Interrupted and run again, it is not
/// delivered twice.
#[derive(Debug, Parser)]
pub(super) struct Reply {
    /// The first digits of the message's id (see `check`)
    #[arg(value_name = "ID")]
    id_of_message: String,
    /// Left out: `re: ` and the subject that is answered
    #[arg(short, long, allow_hyphen_values = true)]
    subject: Option<String>,
    #[command(flatten)]
    text: Text,
    #[command(flatten)]
    marks: Marks,
    #[command(flatten)]
    globals: Globals,
}

impl Verb for Reply {
    fn globals(&self) -> &Globals {
        &self.globals
    }

    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_me()?;
        post.find(&me, &self.id_of_message)?;
        let body = self.text.read(post.room().limits().body_bytes)?;
        let answer = post.reply(&me, &self.id_of_message, self.marks.letter(self.subject, body)?)?;
        let told = tell(context, std::slice::from_ref(&answer.receipt));
        // Whoever did not see the receipt may run this again; the note of it stays until it is out.
        context.output.flush().map_err(Fail::Output)?;
        post.answered(&me, &answer);
        told
    }
}
