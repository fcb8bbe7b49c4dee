//! `postroom tools man`.

use clap::Args;

use super::context::Context;
use super::fail::Fail;
use super::{Verb, verbs};

/// Print the man page of postroom or of one command
#[derive(Debug, Args)]
pub(super) struct Man {
    /// A command, such as `send` or `workflow run`; default: postroom itself
    command: Vec<String>,
}

impl Verb for Man {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let command = match self.command.first() {
            None => verbs::tree(),
            Some(first) => {
                let unknown = |hints| Fail::no_such_verb(first, hints);
                let (command, name) = verbs::named(&self.command).map_err(unknown)?;
                // Only the program itself knows its version.
                command.version(env!("CARGO_PKG_VERSION")).display_name(name.replace(' ', "-")).bin_name(name)
            }
        };
        let mut page = vec![];
        clap_mangen::Man::new(command).render(&mut page).map_err(Fail::Output)?;
        context.output.result(&String::from_utf8_lossy(&page));
        Ok(())
    }
}
