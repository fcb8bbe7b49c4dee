//! Companions: processes of ours that stay with a program, sleep until something happens, and end with it. They print
//! nothing, have no terminal, and are nobody's child: the program should not find one that it did not start.

use std::process::{Command, Stdio};

use clap::Args;

use super::surroundings;
use crate::os;
use crate::process::{Process, marked};

/// The program that a companion stays with.
#[derive(Debug, Args)]
pub(super) struct Beside {
    /// The process of the program
    pid: u64,
    /// When it began
    started: u64,
    /// Only start the companion, and end
    #[arg(long)]
    apart: bool,
}

/// Starts a companion. It is not waited for.
pub(super) fn start(verb: &str, process: Process) {
    os::pass_on_nothing();
    if let Some(mut command) = command(verb, process) {
        let _ = command.arg("--apart").current_dir("/").status();
    }
}

fn command(verb: &str, Process { pid, started, .. }: Process) -> Option<Command> {
    let mut command = Command::new(surroundings::myself().ok()?);
    command.args([verb, &pid.to_string(), &started.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Some(command)
}

impl Beside {
    /// The process to stay with; `None` if this one was only to start the companion.
    pub(super) fn begin(&self, verb: &str) -> Option<Process> {
        let process = Process { pid: self.pid, started: self.started, space: os::pid_space() };
        if self.apart {
            let _ = command(verb, process)?.spawn();
            return None;
        }
        marked::stand_alone();
        Some(process)
    }
}
