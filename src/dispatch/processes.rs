//! The processes of a run: found by a mark in their environment, whichever group or session they have gone to, and ended
//! through descriptors, so that a number that was given to another process meanwhile is never hit.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::mailbox::pause;

/// The variable that every process of a run has.
pub const MARK: &str = "POSTROOM_RUN";

/// How long they may take to end by themselves.
const GRACE: Duration = Duration::from_secs(2);

/// How long the kernel may take to end them.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many looks in a row must find nobody. A process that is just being started shows its environment a moment later, so
/// a run that nobody waited for is looked at more often.
pub const WAITED_FOR: u32 = 2;
pub const ORPHANED: u32 = 5;

/// Ends every process of a run; `false`: one is left that cannot be ended.
pub fn end(run: &str, sure: u32) -> bool {
    let (step, mut waited, mut asked, mut empty) = (Duration::from_millis(5), Duration::ZERO, 0, 0);
    while waited < PATIENCE {
        let left = of_run(run);
        empty = if left.is_empty() { empty + 1 } else { 0 };
        if empty >= sure {
            return true;
        }
        // Asked once in a while, because some programs take a second request as one for haste.
        let signal = if waited < GRACE { Signal::TERM } else { Signal::KILL };
        if !left.is_empty() && (signal == Signal::KILL || asked % 100 == 0) {
            for process in &left {
                let _ = pidfd_send_signal(process, signal);
            }
        }
        asked += u32::from(!left.is_empty());
        pause(step);
        waited += step;
    }
    false
}

/// The living processes that carry the mark of a run.
fn of_run(run: &str) -> Vec<OwnedFd> {
    let mark = format!("{MARK}={run}");
    let Ok(all) = std::fs::read_dir("/proc") else { return vec![] };
    let marked = |number: &str| {
        let environment = std::fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
        environment.split(|b| *b == 0).any(|variable| variable == mark.as_bytes())
    };
    let mut found = vec![];
    for entry in all.flatten() {
        let name = entry.file_name();
        let Some(number) = name.to_str().filter(|n| n.bytes().all(|b| b.is_ascii_digit())) else { continue };
        if !marked(number) {
            continue;
        }
        let pid = number.parse().ok().and_then(Pid::from_raw);
        // Looked at once more behind the descriptor: from here on it is this process and no other.
        found
            .extend(pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()).filter(|_| marked(number)));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn who_left_group_and_session_is_found_and_others_are_let_be() {
        let run = crate::random::unique_hex();
        let mut other = Command::new("sleep").arg("1000").env(MARK, "another").spawn().unwrap();
        let script = "setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' & sleep 1000";
        let mut shell = Command::new("sh").args(["-c", script]).env(MARK, &run).spawn().unwrap();
        while of_run(&run).len() < 3 {
            pause(Duration::from_millis(5));
        }
        // The shell is a child of this test, so it must be waited for before it is gone.
        let waiter = std::thread::spawn(move || shell.wait());
        assert!(end(&run, ORPHANED));
        assert!(of_run(&run).is_empty() && other.try_wait().unwrap().is_none());
        waiter.join().unwrap().unwrap();
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn a_run_without_processes_is_over() {
        assert!(end("20261115T000000Z-00000000", WAITED_FOR));
    }
}
