//! `postroom completions`.

use clap::Parser;
use clap_complete::Shell;

use super::context::Context;
use super::fail::Fail;
use super::{Globals, Verb, verbs};

/// Print the completions of a shell
#[derive(Debug, Parser)]
pub(super) struct Completions {
    /// bash, zsh, fish, elvish or powershell
    shell: Shell,
    #[command(flatten)]
    globals: Globals,
}

impl Verb for Completions {
    fn globals(&self) -> &Globals {
        &self.globals
    }

    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let mut script = vec![];
        clap_complete::generate(self.shell, &mut verbs::tree(), "postroom", &mut script);
        context.output.result(&String::from_utf8_lossy(&script));
        Ok(())
    }
}
