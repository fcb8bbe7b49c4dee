//! `postroom man`.

use clap::Args;

use super::context::Context;
use super::fail::Fail;
use super::{Verb, verbs};
use crate::post::Failure;

/// Print the man page of postroom or of one command
#[derive(Debug, Args)]
pub(super) struct Man {
    /// A command; default: postroom itself
    command: Option<String>,
}

impl Verb for Man {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let command = match &self.command {
            None => verbs::tree(),
            Some(name) => match verbs::find(name) {
                Some(entry) => (entry.command)()
                    .display_name(format!("postroom-{name}"))
                    .bin_name(format!("postroom {name}")),
                None => {
                    let why = format!("there is no command `{name}`");
                    return Err(Fail::Told(Failure::Usage, why, verbs::nearest(name)));
                }
            },
        };
        let mut page = vec![];
        clap_mangen::Man::new(command).render(&mut page).map_err(Fail::Output)?;
        context.output.result(&String::from_utf8_lossy(&page));
        Ok(())
    }
}
