//! Processes, by numbers, groups and what `ps` shows. A number may be given to another process meanwhile, so one is signalled only
//! right after it was seen in the group that it belongs to.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, kill_process, setsid, test_kill_process};
use rustix::termios::tcgetpgrp;

use crate::os::{Ancestor, Supervisor, Terminal};

/// A process that was just seen.
#[derive(Debug)]
pub struct Handle(Pid);

impl Handle {
    /// A child that was not waited for yet: its number is its own until then.
    pub fn of_child(child: &Child) -> Option<Self> {
        Some(Self(Pid::from_child(child)))
    }

    /// The process with this number, if there is one.
    pub fn of(pid: u64) -> Option<Self> {
        started(pid).and_then(|_| pid_of(pid)).map(Self)
    }

    /// Readable once it has ended; `None` where that cannot be waited for.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    pub fn signal(&self, signal: Signal) {
        let _ = kill_process(self.0, signal);
    }
}

/// Sleeps until it is time to ask whether a process has ended.
pub fn await_end(_: Option<&Handle>, limit: Duration) {
    let limit = limit.min(Duration::from_millis(20));
    let _ = poll(&mut [], Some(&Timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() }));
}

/// Makes this process a supervisor: without a terminal, which its agent could ask or write to.
pub fn stand_alone() {
    let _ = setsid();
}

/// Lets the next program that is started inherit nothing; here nothing is known of what it would.
pub fn pass_on_nothing() {}

/// Whether the processes of a run are known by a group that was noted: nobody shows the marks of others.
pub const NOTES_GROUPS: bool = true;

/// Whether this process is known to have left nobody behind, which it never is.
pub fn is_childless() -> bool {
    false
}

/// The living processes of a run that are still in its group. An error: they cannot be looked for.
pub fn of_run(_: (&str, &str), noted: Option<u32>, supervisor: Supervisor) -> io::Result<Vec<Handle>> {
    let Some(group) = noted else { return Ok(vec![]) };
    let lines = listed("args")?;
    // Once nobody is in a group, its number may be given to another. What has lost its supervisor is a child of init.
    let is_other = |line: &Line| line.pid == group && line.parent != 1;
    if supervisor == Supervisor::Dead && lines.iter().any(is_other) {
        return Ok(vec![]);
    }
    let members = lines.iter().filter(|line| line.group == group && !line.rest.ends_with("<defunct>"));
    Ok(members.filter_map(|line| pid_of(line.pid.into()).map(Handle)).collect())
}

/// When a process began, which nobody tells; `None`: there is no such process.
pub fn started(pid: u64) -> Option<u64> {
    match test_kill_process(pid_of(pid)?) {
        // It is another user's.
        Ok(()) | Err(Errno::PERM) => Some(0),
        Err(_) => None,
    }
}

/// Every process above this one, the nearest first. What cannot be seen is an error. Nobody shows the environment of a process, so
/// none is marked.
pub fn ancestors(_: &str) -> io::Result<Vec<Ancestor>> {
    let (lines, names) = (listed("args")?, listed("comm")?);
    let (mut above, mut next) = (vec![], getppid().map_or(0, number));
    while next != 0 {
        let (line, name) = (only(&lines, next)?, only(&names, next)?);
        // Words that hold a space come apart, which finds an agent where none is rather than none where one is.
        let words = line.rest.split_whitespace().map(str::to_owned).collect();
        let name = name.rest.rsplit('/').next().unwrap_or_default().to_owned();
        above.push(Ancestor { pid: next.into(), name, words, is_marked: false });
        if above.len() > lines.len() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        next = line.parent;
    }
    Ok(above)
}

/// The namespace in which processes have their numbers here. There is one.
pub fn pid_space() -> u64 {
    0
}

/// The command line of a process, which is not looked for here.
pub fn words_of(_: u64) -> io::Result<Vec<String>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The terminal of a process, which is not looked for here.
pub fn terminal_of(_: u64) -> Option<String> {
    None
}

/// The processes with a name, which are not looked for here.
pub fn called(_: &str) -> Vec<u64> {
    vec![]
}

/// The working directory of a process, which nobody tells.
pub fn directory_of(_: u64) -> Option<PathBuf> {
    None
}

/// The files that a process has open, which nobody tells.
pub fn files_of(_: u64) -> Vec<PathBuf> {
    vec![]
}

/// When a process last read from its terminal, which nobody tells.
pub fn typed_at(_: u64) -> Option<i64> {
    None
}

/// Whether every process above this one can be seen. Their environment cannot, so it is not enough to look.
pub fn sees_all_ancestors() -> io::Result<bool> {
    Ok(false)
}

/// The controlling terminal of this process, if it has one.
pub fn terminal() -> io::Result<Option<Terminal>> {
    let own = match File::open("/dev/tty") {
        Err(e) if Errno::from_io_error(&e).is_some_and(|e| [Errno::NXIO, Errno::NOENT].contains(&e)) => {
            return Ok(None);
        }
        other => other?,
    };
    let lines = listed("tty")?;
    let line = only(&lines, std::process::id())?;
    let in_foreground = number(tcgetpgrp(&own)?) == line.group;
    Ok(Some(Terminal { device: 0, name: format!("/dev/{}", line.rest), in_foreground }))
}

/// The process that leads the session of this one. Without its beginning it could be another one later.
pub fn session_leader() -> io::Result<u64> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Whether this process is in the group of its session's leader, as where no shell gives each job a group of its own: `ps` marks a leader
/// with an `s`.
pub fn is_with_session_leader() -> bool {
    let Ok(lines) = listed("stat") else { return false };
    let leads = |line: &Line| only(&lines, line.group).is_ok_and(|first| first.rest.contains('s'));
    only(&lines, std::process::id()).is_ok_and(leads)
}

/// What is said of a process, which is said once: a command line cannot pass for another process.
fn only(lines: &[Line], pid: u32) -> io::Result<&Line> {
    let mut of = lines.iter().filter(|line| line.pid == pid);
    match (of.next(), of.next()) {
        (Some(line), None) => Ok(line),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

/// One process in what `ps` prints.
#[derive(Debug)]
struct Line {
    pid: u32,
    parent: u32,
    group: u32,
    rest: String,
}

/// All processes that `ps` shows, with what it says of each.
fn listed(what: &str) -> io::Result<Vec<Line>> {
    // Nothing in the environment may make it leave out or cut what it shows. A `ps` that cannot promise that fails.
    let mut ps = Command::new("/bin/ps");
    ps.args(["-A", "-ww", "-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o"]).arg(format!("{what}="));
    let output = ps.env_clear().stdin(Stdio::null()).stderr(Stdio::null()).output()?;
    let lines = String::from_utf8_lossy(&output.stdout).lines().map(parse).collect::<Option<Vec<_>>>();
    lines
        .filter(|lines| output.status.success() && !lines.is_empty())
        .ok_or(io::ErrorKind::InvalidData.into())
}

fn parse(line: &str) -> Option<Line> {
    let mut rest = line;
    let mut next = || {
        let (number, after) = rest.trim_start().split_once(' ').unwrap_or((rest.trim_start(), ""));
        rest = after;
        number.parse().ok()
    };
    let (pid, parent, group) = (next()?, next()?, next()?);
    Some(Line { pid, parent, group, rest: rest.trim().to_owned() })
}

fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().cast_unsigned()
}

fn pid_of(number: u64) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_ps_is_read_whatever_the_command_is() {
        let line = parse("    7     1     3 sh -c  x").unwrap();
        assert_eq!((line.pid, line.parent, line.group, line.rest.as_str()), (7, 1, 3, "sh -c  x"));
        assert_eq!(parse("  7  1 0").unwrap().rest, "");
        assert!(parse("PID PPID").is_none() && parse("").is_none() && parse("7 1").is_none());
    }

    #[test]
    fn the_parents_of_this_test_are_seen() {
        let above = ancestors("X").unwrap();
        assert!(!above.is_empty() && above.iter().all(|process| !process.name.is_empty()));
        assert_eq!(started(std::process::id().into()), Some(0));
    }
}
