//! The processes of a run: found by a mark in their environment, whichever group or session they have gone to, and ended
//! through handles, so that a number that was given to another process meanwhile is never hit. A supervisor also inherits what
//! its children leave behind, and so finds those that have thrown the mark away; without a child it has nobody to look for.
//!
//! Where the system shows no environment of others, the group that the supervisor noted must do (docs/why/porting.md).

use std::time::Duration;

use rustix::process::Signal;

use crate::mailbox::fault::Result;
use crate::mailbox::{Dir, pause};
use crate::os::{self, Supervisor};

pub use crate::os::stand_alone;

/// The variable that every process of a run has.
pub const MARK: &str = "POSTROOM_RUN";

/// The variable that git has, which the supervisor runs for itself: it is ended with the supervisor, not with the agent.
pub const GIT_MARK: &str = "POSTROOM_RUN_GIT";

/// How long they may take to end by themselves.
const GRACE: Duration = Duration::from_secs(2);

/// How long the kernel may take to end them.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many looks in a row must find nobody. A process that is just being started shows its environment a moment later, so
/// a run that nobody waited for is looked at more often.
const WAITED_FOR: u32 = 2;
const ORPHANED: u32 = 5;

/// Notes in a directory of a run which group its agent has, if its processes are known by that. Called again, it does nothing.
pub fn note(run: &str, group: u32, dir: impl FnOnce() -> Result<Dir>) {
    let noted = |dir: Dir| match noted(run, &dir) == Some(group) {
        true => Ok(()),
        false => dir.replace(&file_of(run), group.to_string().as_bytes()),
    };
    // Without it only a supervisor that is killed leaves somebody behind.
    let _ = if os::NOTES_GROUPS { dir().and_then(noted) } else { Ok(()) };
}

fn noted(run: &str, dir: &Dir) -> Option<u32> {
    str::from_utf8(&dir.read(&file_of(run), 64).ok()??).ok()?.parse().ok()
}

fn file_of(run: &str) -> String {
    format!("{run}.group")
}

/// Ends every process of a run but its supervisor, by its mark or by what was noted; `false`: one is left that cannot be ended.
/// If the supervisor is this process, its other children have all been waited for. If it lives, the git that it runs is left
/// alone.
pub fn end(run: &str, supervisor: Supervisor, dir: impl FnOnce() -> Result<Dir>) -> bool {
    // Every descendant of an heir descends from a child of it. Nearly every agent leaves nobody behind, and then there
    // is no need to look at all processes of the machine.
    if supervisor == Supervisor::Me && os::is_childless() {
        return true;
    }
    let group = if os::NOTES_GROUPS { dir().ok().and_then(|dir| noted(run, &dir)) } else { None };
    let sure = if supervisor == Supervisor::Me { WAITED_FOR } else { ORPHANED };
    end_those(sure, || match supervisor {
        Supervisor::Me | Supervisor::Lives => os::of_run((MARK, run), group, supervisor),
        Supervisor::Dead => left_of(run, group),
    })
}

/// Whether a process of a run is known to live, by its mark.
pub fn lives(run: &str) -> bool {
    left_of(run, None).is_ok_and(|found| !found.is_empty())
}

/// What lives of a run whose supervisor is dead.
fn left_of(run: &str, group: Option<u32>) -> std::io::Result<Vec<os::Handle>> {
    let mut found = os::of_run((MARK, run), group, Supervisor::Dead)?;
    found.extend(os::of_run((GIT_MARK, run), None, Supervisor::Dead)?);
    Ok(found)
}

fn end_those(sure: u32, those: impl Fn() -> std::io::Result<Vec<os::Handle>>) -> bool {
    let (step, mut waited, mut asked, mut empty) = (Duration::from_millis(5), Duration::ZERO, 0, 0);
    while waited < PATIENCE {
        let Ok(left) = those() else { return false };
        empty = if left.is_empty() { empty + 1 } else { 0 };
        if empty >= sure {
            return true;
        }
        // Asked once in a while, because some programs take a second request as one for haste.
        let signal = if waited < GRACE { Signal::TERM } else { Signal::KILL };
        if !left.is_empty() && (signal == Signal::KILL || asked % 100 == 0) {
            left.iter().for_each(|process| process.signal(signal));
        }
        asked += u32::from(!left.is_empty());
        pause(step);
        waited += step;
    }
    false
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
        let supervisor = Supervisor::Dead;
        let of_run = || os::of_run((MARK, &run), None, supervisor).unwrap();
        while of_run().len() < 3 {
            pause(Duration::from_millis(5));
        }
        // The shell is a child of this test, so it must be waited for before it is gone.
        let waiter = std::thread::spawn(move || shell.wait());
        assert!(end(&run, supervisor, || panic!("nothing was noted")));
        assert!(of_run().is_empty() && other.try_wait().unwrap().is_none());
        waiter.join().unwrap().unwrap();
        other.kill().unwrap();
        other.wait().unwrap();
    }

    /// A stop that had to end an agent from outside also killed the git that committed its changes.
    #[test]
    fn the_git_of_a_living_supervisor_is_left_alone() {
        let run = crate::random::unique_hex();
        let sleep = |mark| Command::new("sleep").arg("1000").env(mark, &run).spawn().unwrap();
        let (mut git, mut agent) = (sleep(GIT_MARK), sleep(MARK));
        while left_of(&run, None).unwrap().len() < 2 {
            pause(Duration::from_millis(5));
        }
        let waiter = std::thread::spawn(move || agent.wait());
        assert!(end(&run, Supervisor::Lives, || panic!("nothing was noted")));
        waiter.join().unwrap().unwrap();
        assert!(git.try_wait().unwrap().is_none() && lives(&run));
        let waiter = std::thread::spawn(move || git.wait());
        assert!(end(&run, Supervisor::Dead, || panic!("nothing was noted")) && !lives(&run));
        waiter.join().unwrap().unwrap();
    }

    #[test]
    fn a_run_without_processes_is_over() {
        let temp = tempfile::tempdir().unwrap();
        assert!(end("20261115T000000Z-00000000", Supervisor::Dead, || Dir::make(&temp.path().join("d"))));
    }
}
