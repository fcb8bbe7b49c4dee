//! `postroom tools`: what people need once, and what programs need.

use clap::{Args, Subcommand};

use super::Verb;
use super::completions::Completions;
use super::compose::Compose;
use super::context::Context;
use super::fail::Fail;
use super::man::Man;
use super::shell_init::ShellInit;
use super::verify::Verify;

/// Completions, man pages, shell functions, messages as files
#[derive(Debug, Args)]
pub(super) struct Tools {
    #[command(subcommand)]
    tool: Tool,
}

#[derive(Debug, Subcommand)]
enum Tool {
    Completions(Completions),
    Man(Man),
    ShellInit(ShellInit),
    Compose(Box<Compose>),
    Verify(Verify),
}

impl Verb for Tools {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        match self.tool {
            Tool::Completions(tool) => tool.run(context),
            Tool::Man(tool) => tool.run(context),
            Tool::ShellInit(tool) => tool.run(context),
            Tool::Compose(tool) => tool.run(context),
            Tool::Verify(tool) => tool.run(context),
        }
    }
}
