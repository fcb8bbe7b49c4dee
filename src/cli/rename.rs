//! `postroom rename`.

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::output::note;
use super::surroundings::ThisProcess;
use crate::hint::Hint;
use crate::message::visible;
use crate::post::Error;
use crate::settings::Project;
use crate::surroundings::project_file;
use crate::view;

/// Give a mailbox another name; its mail, claims and groups stay
///
/// Nothing keeps the old name: mail to it is refused, and another mailbox may take it. In a tree or a workspace only the name in
/// this room changes, not the directory. Tables [agents.OLD] of postroom.toml and workflows need the new name; a
/// dispatcher that is running goes on. A taken name exits 4.
#[derive(Debug, Args)]
pub(super) struct Rename {
    /// Its name now
    #[arg(value_name = "OLD")]
    old: String,
    /// Its new name
    #[arg(value_name = "NEW")]
    new: String,
}

impl Verb for Rename {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let post = context.post()?;
        let renamed = post.rename(&self.old, &self.new).map_err(|e| match &e {
            Error::Taken { suggestions, .. } => {
                let hints = suggestions.iter().map(|free| Hint::run(&["rename", &self.old, free]).into());
                Fail::Told(e.code(), e.to_string(), hints.collect())
            }
            _ => e.into(),
        })?;
        context.done = true;
        let (old, name, id) = (&renamed.old, &renamed.name, renamed.id.as_str());
        let line = format!("{} is now {}", visible::line(old), visible::line(name));
        context.output.receipt(&view::names::Rename { old, name, id }, [line]);
        let project = project_file(&ThisProcess).ok().flatten();
        let project =
            project.and_then(|(path, text)| Project::parse(&text, &path.display().to_string()).ok());
        let room = &post.room().settings().agents;
        if room.contains_key(old) || project.is_some_and(|project| project.agents.contains_key(old)) {
            let (old, name) = (visible::line(old), visible::line(name));
            note(&format!("postroom: postroom.toml still says [agents.{old}]: make it [agents.{name}]"));
        }
        Ok(())
    }
}
