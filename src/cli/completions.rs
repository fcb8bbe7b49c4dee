//! `postroom tools completions`. The scripts of bash, zsh and fish ask this program at each Tab (`complete.rs`), so they know
//! names, messages and runs, and need no update when the program is updated.

use clap::Args;
use clap_complete::Shell;

use super::context::Context;
use super::fail::Fail;
use super::{Verb, verbs};

/// Print the completions of a shell
///
/// bash: eval "$(postroom tools completions bash)" in ~/.bashrc; zsh: the same in ~/.zshrc, after compinit; fish:
/// postroom tools completions fish | source in ~/.config/fish/config.fish.
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// bash, zsh, fish, elvish or powershell
    shell: Shell,
}

impl Verb for Completions {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        match self.shell {
            Shell::Bash => context.output.result(include_str!("completions/postroom.bash")),
            Shell::Zsh => context.output.result(include_str!("completions/postroom.zsh")),
            Shell::Fish => context.output.result(include_str!("completions/postroom.fish")),
            other => {
                let mut script = vec![];
                clap_complete::generate(other, &mut verbs::tree(), "postroom", &mut script);
                context.output.result(&String::from_utf8_lossy(&script));
            }
        }
        Ok(())
    }
}
