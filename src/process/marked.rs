//! The processes of a run: found by a mark in their environment, whichever group or session they have gone to, and ended
//! through descriptors, so that a number that was given to another process meanwhile is never hit. A supervisor also
//! inherits whoever loses its parent, and so finds those that have thrown the mark away; without a child it has nobody to
//! look for.

use std::io;
use std::os::fd::OwnedFd;
use std::str::FromStr;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, child_subreaper, getpid, pidfd_open, pidfd_send_signal,
    set_child_subreaper, setsid, wait,
};

use crate::mailbox::pause;

/// The variable that every process of a run has.
pub const MARK: &str = "POSTROOM_RUN";

/// How long they may take to end by themselves.
const GRACE: Duration = Duration::from_secs(2);

/// How long the kernel may take to end them.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many looks in a row must find nobody. A process that is just being started shows its environment a moment later, so
/// a run that nobody waited for is looked at more often.
const WAITED_FOR: u32 = 2;
const ORPHANED: u32 = 5;

/// Makes this process a supervisor: without a terminal, which its agent could ask or write to, and heir of all that its
/// agent leaves behind. What the system does not grant is done without.
pub fn stand_alone() {
    let _ = setsid();
    let _ = set_child_subreaper(Some(getpid()));
}

/// Ends every process of a run, from its supervisor, whose other children have all been waited for.
pub fn end_all(run: &str) -> bool {
    // Whoever descends from an heir descends from a child of it. Nearly every agent leaves nobody behind, and then there
    // is no need to look at all processes of the machine.
    if is_heir() && is_childless() {
        return true;
    }
    end_those(WAITED_FOR, || {
        // What has ended is a child too until somebody takes note of it.
        while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
        let own = getpid().as_raw_nonzero().get();
        found(|number| is_marked(number, run) || parent(number) == Some(own))
    })
}

/// Ends every process of a run that is known by its mark; `false`: one is left that cannot be ended.
pub fn end(run: &str) -> bool {
    end_those(ORPHANED, || found(|number| is_marked(number, run)))
}

/// Whether this process inherits all that its children leave behind.
fn is_heir() -> bool {
    child_subreaper().is_ok_and(|heir| heir.is_some())
}

/// Whether there is no child left, those that have ended but not been waited for included.
fn is_childless() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return false,
            Err(e) => return e == Errno::CHILD,
        }
    }
}

fn end_those(sure: u32, those: impl Fn() -> Vec<OwnedFd>) -> bool {
    let (step, mut waited, mut asked, mut empty) = (Duration::from_millis(5), Duration::ZERO, 0, 0);
    while waited < PATIENCE {
        let left = those();
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

/// Whether a process carries the mark of a run.
fn is_marked(number: &str, run: &str) -> bool {
    variable(number, MARK).as_deref() == Some(run.as_bytes())
}

/// A variable of the environment of a process, as far as it is shown.
fn variable(number: &str, name: &str) -> Option<Vec<u8>> {
    let environment = std::fs::read(format!("/proc/{number}/environ")).ok()?;
    let value = |variable: &[u8]| {
        variable.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"=")).map(<[u8]>::to_vec)
    };
    environment.split(|b| *b == 0).find_map(value)
}

/// The parent of a process.
fn parent(number: &str) -> Option<i32> {
    field(number, 1).ok()
}

/// A field of `/proc/NUMBER/stat`, counted from the state of the process.
fn field<T: FromStr>(number: &str, at: usize) -> io::Result<T> {
    let stat = std::fs::read_to_string(format!("/proc/{number}/stat"))?;
    // Its name may hold anything, a bracket included.
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    rest.split_whitespace()
        .nth(at)
        .and_then(|text| text.parse().ok())
        .ok_or(io::ErrorKind::InvalidData.into())
}

/// A process above this one.
#[derive(Debug)]
pub struct Ancestor {
    /// What the kernel calls it.
    pub name: String,
    /// Its command line.
    pub words: Vec<String>,
    /// It is a part of a run.
    pub is_marked: bool,
}

/// Every process above this one, the nearest first. What cannot be seen is an error.
pub fn ancestors() -> io::Result<Vec<Ancestor>> {
    let (mut above, mut child) = (vec![], "self".to_owned());
    loop {
        let (parent, began): (u32, u64) = (field(&child, 1)?, field(&child, 19)?);
        if parent == 0 {
            return Ok(above);
        }
        let number = parent.to_string();
        // A parent that began later is another process with the number of one that has ended.
        if field::<u64>(&number, 19)? > began {
            return Err(io::ErrorKind::NotFound.into());
        }
        let name = std::fs::read_to_string(format!("/proc/{number}/comm"))?.trim_end().to_owned();
        let line = std::fs::read(format!("/proc/{number}/cmdline"))?;
        let words = line.split(|b| *b == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        // The environment of another user's process is not shown; a run is this user's.
        let is_marked = variable(&number, MARK).is_some();
        above.push(Ancestor { name, words, is_marked });
        child = number;
    }
}

/// The device number of the controlling terminal of this process (0: it has none), and whether this process is in its
/// foreground.
pub fn terminal() -> io::Result<(u32, bool)> {
    let (group, foreground): (i64, i64) = (field("self", 2)?, field("self", 5)?);
    // A group of another PID namespace has no number here.
    Ok((field("self", 4)?, group > 0 && group == foreground))
}

/// The process that leads the session of this one, such as the shell of a terminal.
pub fn session_leader() -> io::Result<u64> {
    field("self", 3)
}

/// The living processes that are meant.
fn found(is_meant: impl Fn(&str) -> bool) -> Vec<OwnedFd> {
    let Ok(all) = std::fs::read_dir("/proc") else { return vec![] };
    let mut found = vec![];
    for entry in all.flatten() {
        let name = entry.file_name();
        let Some(number) = name.to_str().filter(|n| n.bytes().all(|b| b.is_ascii_digit())) else { continue };
        if !is_meant(number) {
            continue;
        }
        let pid = number.parse().ok().and_then(Pid::from_raw);
        // Looked at once more behind the descriptor: from here on it is this process and no other.
        found.extend(
            pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()).filter(|_| is_meant(number)),
        );
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
        let of_run = || found(|number| is_marked(number, &run));
        while of_run().len() < 3 {
            pause(Duration::from_millis(5));
        }
        // The shell is a child of this test, so it must be waited for before it is gone.
        let waiter = std::thread::spawn(move || shell.wait());
        assert!(end(&run));
        assert!(of_run().is_empty() && other.try_wait().unwrap().is_none());
        waiter.join().unwrap().unwrap();
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn a_run_without_processes_is_over() {
        assert!(end("20261115T000000Z-00000000"));
        assert_eq!(parent("1"), Some(0));
    }
}
