//! `postroom archive` and `postroom unarchive`.

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use crate::mailbox::Folder;
use crate::message::{file_name, visible};
use crate::view::send as view;

/// Archive messages without reading them
#[derive(Debug, Args)]
pub(super) struct Archive {
    /// The first digits of a message's id (see `check`)
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

/// Make archived messages unread again
#[derive(Debug, Args)]
pub(super) struct Unarchive {
    /// The first digits of a message's id
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

impl Verb for Archive {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        file(context, &self.ids, Folder::Archive, ("archived", "already archived"))
    }
}

impl Verb for Unarchive {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        file(context, &self.ids, Folder::Inbox, ("unread again", "already unread"))
    }
}

fn file(
    context: &mut Context,
    ids: &[String],
    to: Folder,
    (done, already): (&str, &str),
) -> Result<(), Fail> {
    let (post, me) = context.post_and_me()?;
    // Find all before moving the first: a mistyped id moves nothing. A single one is found when it is moved.
    for id in ids.iter().filter(|_| ids.len() > 1) {
        post.find_to_file(&me, id, to)?;
    }
    let mut filed = vec![];
    for id in ids {
        let (found, moved) = post.move_to(&me, id, to)?;
        if !context.output.json && !context.output.quiet {
            let short = visible::line(file_name::short(&found.name).unwrap_or(&found.name));
            context.output.line(&format!("{} {short}", if moved { done } else { already }));
        }
        filed.push(view::Filed { file: found.name, moved });
    }
    context.done = true;
    if context.output.json {
        context.output.json(&view::Archive { folder: to.as_str(), filed });
    }
    Ok(())
}
