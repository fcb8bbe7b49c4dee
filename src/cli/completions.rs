//! `postroom completions`.

use clap::Args;
use clap_complete::Shell;

use super::context::Context;
use super::fail::Fail;
use super::{Verb, verbs};

/// Print the completions of a shell
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// bash, zsh, fish, elvish or powershell
    shell: Shell,
}

impl Verb for Completions {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let mut script = vec![];
        clap_complete::generate(self.shell, &mut verbs::tree(), "postroom", &mut script);
        context.output.result(&String::from_utf8_lossy(&script));
        Ok(())
    }
}
