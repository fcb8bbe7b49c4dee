//! `postroom tools shell-init`: the shell interface of the seed, on this binary.

use clap::{Args, ValueEnum};

use super::Verb;
use super::context::Context;
use super::fail::Fail;

/// Print the mb_* shell functions: eval "$(postroom tools shell-init bash)"
#[derive(Debug, Args)]
pub(super) struct ShellInit {
    shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
}

impl Verb for ShellInit {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        match self.shell {
            Shell::Bash => context.output.result(BASH),
        }
        Ok(())
    }
}

const BASH: &str = include_str!("shell_init.bash");
