//! `postroom group`.

use clap::{Args, Subcommand};

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use crate::message::visible;
use crate::view;

/// Make groups of mailboxes: `send @reviewers`
///
/// A group may contain others. `@all` is everyone, and always there.
#[derive(Debug, Args)]
pub(super) struct Group {
    /// Without one: list
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Put names, or other groups (@name), into a group
    Add {
        group: String,
        #[arg(required = true, value_name = "MEMBER")]
        members: Vec<String>,
    },
    /// Remove members; without members, remove the group
    Remove {
        group: String,
        #[arg(value_name = "MEMBER")]
        members: Vec<String>,
    },
    /// All groups, one line each
    List,
}

impl Verb for Group {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let post = context.post()?;
        let groups = match &self.what {
            Some(What::Add { group, members }) => post.group_add(group, members)?,
            Some(What::Remove { group, members }) => post.group_remove(group, members)?,
            Some(What::List) | None => post.groups()?,
        };
        let changed = !matches!(self.what, Some(What::List) | None);
        context.done = changed;
        let lines = groups
            .iter()
            .map(|(name, members)| format!("@{} {}", visible::line(name), visible::line(&members.join(" "))));
        context.output.receipt(&view::names::Groups::of(&groups), lines);
        let nothing = groups.is_empty() && !changed;
        if nothing { Err(context.nothing("there are no groups")) } else { Ok(()) }
    }
}
