//! `postroom uninstall`: takes out what `install` put in.

use clap::Args;

use super::context::Context;
use super::fail::Fail;
use super::install::{InstallScope, program};
use super::surroundings::ThisProcess;
use super::{Verb, install_plan, scene};
use crate::agents::ledger::Ledger;
use crate::post::Failure;
use crate::surroundings::state;
use crate::view::install as view;

/// Remove what `install` put in
#[derive(Debug, Args)]
pub(super) struct Uninstall {
    /// claude, codex, gemini, opencode or copilot
    program: String,
    #[command(flatten)]
    place: InstallScope,
    /// Show the difference in every file
    #[arg(long)]
    dry_run: bool,
}

impl Verb for Uninstall {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let spec = program(&self.program)?;
        if !self.dry_run {
            context.must_not_be_in_session("uninstall")?;
        }
        let project = self.place.project()?;
        let scope = if project.is_some() { "project" } else { "user" };
        let mut done = vec![];
        if let Some(ledger) = Ledger::look(&state(&ThisProcess)?)? {
            if self.dry_run {
                let plans = ledger.plan_removal(spec.word, project.as_deref(), &[])?;
                return install_plan::tell(context, spec.word, scope, &plans);
            }
            let _lock = ledger.lock()?;
            if spec.login_shell {
                let settings = scene::config(spec)?.0.join("config.toml");
                ledger.forget_trust(spec.word, project.as_deref(), &settings)?;
            }
            done = ledger.take_out(spec.word, project.as_deref())?;
        }
        if done.is_empty() {
            context.output.remark(&format!("nothing of postroom is installed for {}", spec.title));
            return Err(Fail::Code(Failure::Nothing));
        }
        context.done = true;
        let lines = done.iter().map(|(path, done)| format!("{} {}", done.as_str(), path.display()));
        context.output.receipt(&view::Uninstall::of(spec.word, &done), lines);
        Ok(())
    }
}
