//! `postroom keeper`: stays with a program. It clears away what a program that was started for once needed in its own
//! directories, and holds a lock for one in a private PID namespace, whose process others cannot see. It sleeps until the
//! program has ended, prints nothing, and is nobody's child.

use std::path::Path;
use std::time::Duration;

use clap::Args;

use super::Verb;
use super::companion::{self, Beside};
use super::context::Context;
use super::fail::Fail;
use super::surroundings::ThisProcess;
use crate::agents::starts::Starts;
use crate::os::{self, Handle};
use crate::process::Process;
use crate::session::alive::{self, Life};
use crate::surroundings::{sessions, state};
use crate::wait::Watch;

/// Starts the keeper of a start.
pub(super) fn start(process: Process) {
    companion::start(VERB, process);
}

/// A session runs in a process. Where others cannot see that, a keeper tells them. Without it they see only the last
/// command, so an error is no error of the hook.
pub(super) fn stay(process: Process) {
    if is_seen_by_all() {
        return;
    }
    let told = sessions(&ThisProcess).map(|sessions| alive::told(&sessions, process));
    if let Some(Ok(Life::Unknown | Life::Gone)) = told {
        start(process);
    }
}

/// Whether processes are in the first PID namespace, or there is no other.
fn is_seen_by_all() -> bool {
    os::pid_space() == 0 || os::sees_all_ancestors().unwrap_or(true)
}

/// Stay with a program until it has ended; started by hooks, `postroom claude` and others
#[derive(Debug, Args)]
pub(super) struct Keeper {
    #[command(flatten)]
    beside: Beside,
}

const VERB: &str = "keeper";

impl Verb for Keeper {
    fn run(self, _: &mut Context) -> Result<(), Fail> {
        let Some(process) = self.beside.begin(VERB) else { return Ok(()) };
        let sessions = sessions(&ThisProcess).filter(|_| !is_seen_by_all());
        let _lock = sessions.and_then(|sessions| alive::hold(&sessions, process).ok());
        while let Some(handle) = Handle::of(process.pid).filter(|_| process.is_running()) {
            Watch::on_changes(std::iter::empty::<&Path>()).while_running(handle).sleep(Duration::MAX);
        }
        clear_away().map(|_| ())
    }
}

/// Clears away what starts have left that are over; returns how many there were.
pub(super) fn clear_away() -> Result<usize, Fail> {
    let Some(starts) = Starts::look(&state(&ThisProcess)?)? else { return Ok(0) };
    let _lock = starts.lock()?;
    Ok(starts.sweep()?)
}
