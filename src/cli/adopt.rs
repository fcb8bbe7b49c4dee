//! `postroom adopt`.

use std::path::PathBuf;

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::output::note;
use crate::message::visible;
use crate::post::{Adopted, Adoption, Failure, Post};
use crate::surroundings::whole_path;
use crate::view::names as view;

/// Give mailboxes from elsewhere a name in this room
///
/// Changes nothing at PATH. Each mailbox keeps its own protocol; send, reply, check, thread and the rest then work
/// across all of them. A workspace gets the name of its directory, an agent that of its inbox. Adopting again is
/// success; a taken name exits 4.
#[derive(Debug, Args)]
pub(super) struct Adopt {
    /// A workspace (with a .mailbox), a project with a .claude tree, or another room
    path: PathBuf,
    /// Put this before each name: --prefix org.web makes org.web.explore
    #[arg(long, value_name = "NAME")]
    prefix: Option<String>,
}

impl Verb for Adopt {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let path = whole_path(&self.path)?;
        context.must_stay_in_place()?;
        let post = context.post_or_new_unless_waiting()?;
        let adopted = post.adopt(&path, self.prefix.as_deref())?;
        tell(context, post, &adopted)
    }
}

/// Reports the result for each mailbox. The exit code is 4 if one could not be named.
pub(super) fn tell(context: &mut Context, post: &Post, adopted: &[Adopted]) -> Result<(), Fail> {
    context.done = true;
    let mut refused = false;
    let mut list = vec![];
    for one in adopted {
        let name = visible::line(&one.name);
        let view = view::Adopted::of(one);
        match &one.state {
            Adoption::New(_) | Adoption::Already(_) if !context.output.json && !context.output.quiet => {
                let shown = match &one.state {
                    Adoption::Already(id) => post.name_of(id.as_str()),
                    _ => name.as_str(),
                };
                context.output.line(&format!(
                    "{}: {} {} {}",
                    view.state,
                    visible::line(shown),
                    view.protocol,
                    visible::line(&view.inbox)
                ));
            }
            Adoption::Taken(free) => {
                refused = true;
                let what = format!("the name `{name}` is taken; free are {}", free.join(", "));
                context.warn(&what, "`adopt PATH --prefix NAME` puts a name before each");
            }
            Adoption::BadName(why) => {
                refused = true;
                note(&format!("postroom: `{name}` cannot be a name: {}", visible::line(why)));
            }
            _ => {}
        }
        list.push(view);
    }
    if context.output.json {
        context.output.json(&view::Adoptions { adopted: list });
    }
    if refused { Err(Fail::Code(Failure::Refused)) } else { Ok(()) }
}
