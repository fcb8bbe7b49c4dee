//! `postroom takeover`.

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use crate::message::visible;
use crate::view;

/// Become an existing mailbox: bind this session to it
///
/// For a new session that continues another one's work. Nothing moves. While its holder is alive, --force is needed;
/// the former session is notified at its next command.
#[derive(Debug, Args)]
pub(super) struct Takeover {
    /// The mailbox
    name: String,
    /// Even if its holder is alive
    #[arg(long)]
    force: bool,
}

impl Verb for Takeover {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let post = context.post()?;
        let taken = post.takeover(&self.name, self.force)?;
        context.done = true;
        let name = visible::line(&taken.name);
        if context.output.json {
            let (id, bound) = (taken.id.as_str(), taken.bound.is_some());
            context.output.json(&view::names::Takeover { name: &taken.name, id, bound });
        } else if !context.output.quiet {
            context.output.line(&format!("name: {name}"));
            context.output.line(&format!("id: {}", taken.id));
            super::setup::tell_how(&mut context.output, taken.bound, &name, &taken.id);
        }
        Ok(())
    }
}
