//! `postroom keeper`: stays with a program that was started for once, and clears away what that needed in its own
//! directories. It sleeps until the program has ended, prints nothing, and is nobody's child.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::surroundings::{self, ThisProcess};
use crate::agents::starts::Starts;
use crate::os::{self, Handle};
use crate::process::{Process, marked};
use crate::surroundings::state;
use crate::wait::Watch;

/// Starts the keeper of a start, as nobody's child: the program should not find one that it did not start.
pub(super) fn start(process: Process) {
    let Ok(own) = surroundings::myself() else { return };
    os::pass_on_nothing();
    let mut command = Command::new(own);
    command
        .args(["keeper", &process.pid.to_string(), &process.started.to_string(), "--apart"])
        .current_dir("/");
    let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// Clear away what a program needed for one start, when it has ended; started by `postroom claude` and others
#[derive(Debug, Args)]
pub(super) struct Keeper {
    /// The process of the program
    pid: u64,
    /// When it began
    started: u64,
    /// Only start the keeper, and end
    #[arg(long)]
    apart: bool,
}

impl Verb for Keeper {
    fn run(self, _: &mut Context) -> Result<(), Fail> {
        if self.apart {
            let Ok(own) = surroundings::myself() else { return Ok(()) };
            let words = ["keeper".to_owned(), self.pid.to_string(), self.started.to_string()];
            let _ = Command::new(own).args(words).spawn();
            return Ok(());
        }
        marked::stand_alone();
        let process = Process { pid: self.pid, started: self.started, space: os::pid_space() };
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
