//! `postroom shell-init`: the shell interface of the seed, on this binary.

use clap::{Parser, ValueEnum};

use super::context::Context;
use super::fail::Fail;
use super::{Globals, Verb};

/// Print the mb_* shell functions: eval "$(postroom shell-init bash)"
#[derive(Debug, Parser)]
pub(super) struct ShellInit {
    shell: Shell,
    #[command(flatten)]
    globals: Globals,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
}

impl Verb for ShellInit {
    fn globals(&self) -> &Globals {
        &self.globals
    }

    fn run(self, context: &mut Context) -> Result<(), Fail> {
        match self.shell {
            Shell::Bash => context.output.result(BASH),
        }
        Ok(())
    }
}

const BASH: &str = include_str!("shell_init.bash");
