//! Processes, by `/proc` and through descriptors, so that a number that was given to another process meanwhile is never hit.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::str::FromStr;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, child_subreaper, getpid, pidfd_open, pidfd_send_signal,
    set_child_subreaper, setsid, wait,
};

use crate::os::{Ancestor, Supervisor, Terminal};

/// The first namespace of PIDs, by the number that every kernel gives it (`PROC_PID_INIT_INO`).
const INITIAL: &str = "pid:[4026531836]";

/// One process and never another.
#[derive(Debug)]
pub struct Handle(OwnedFd);

impl Handle {
    /// A child that was not waited for yet.
    pub fn of_child(child: &Child) -> Option<Self> {
        pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok().map(Self)
    }

    /// The process with this number, if there is one.
    pub fn of(pid: u64) -> Option<Self> {
        let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
        pidfd_open(pid, PidfdFlags::empty()).ok().map(Self)
    }

    /// Readable once it has ended; `None` where that cannot be waited for.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }

    pub fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.0, signal);
    }
}

/// Sleeps until a process ends, or this long, which is less than a second.
pub fn await_end(process: Option<&Handle>, limit: Duration) {
    let limit = if process.is_some() { limit } else { Duration::from_millis(20) };
    let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(limit.subsec_nanos()) };
    let mut ending: Vec<PollFd<'_>> =
        process.iter().map(|process| PollFd::new(&process.0, PollFlags::IN)).collect();
    let _ = poll(&mut ending, Some(&timeout));
}

/// Makes this process a supervisor: without a terminal, which its agent could ask or write to, and heir of all that its
/// agent leaves behind. What the system does not grant is done without.
pub fn stand_alone() {
    let _ = setsid();
    let _ = set_child_subreaper(Some(getpid()));
}

/// Lets the next program that is started inherit nothing but its standard input and outputs, whatever this one was given.
#[allow(unsafe_code, reason = "the descriptors of others have only numbers")]
pub fn pass_on_nothing() {
    let Ok(list) = std::fs::read_dir("/proc/self/fd") else { return };
    for number in list.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        if number > 2 {
            // SAFETY: the number is only borrowed for one call, which fails if it is not open any more.
            let fd = unsafe { BorrowedFd::borrow_raw(number) };
            let _ = fcntl_setfd(fd, FdFlags::CLOEXEC);
        }
    }
}

/// Whether the processes of a run are known by a group that was noted. Here marks do.
pub const NOTES_GROUPS: bool = false;

/// Whether this process is known to have left nobody behind: it is the heir of all that its children leave, and has no child,
/// those that have ended but not been waited for included.
pub fn is_childless() -> bool {
    if !child_subreaper().is_ok_and(|heir| heir.is_some()) {
        return false;
    }
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return false,
            Err(e) => return e == Errno::CHILD,
        }
    }
}

/// The living processes of a run, but not its supervisor: by a variable of their environment, or by the group that was noted.
/// An error: they cannot be looked for.
pub fn of_run((name, run): (&str, &str), _: Option<u32>, supervisor: Supervisor) -> io::Result<Vec<Handle>> {
    let is_marked = |number: &str| variable(number, name).as_deref() == Some(run.as_bytes());
    if supervisor != Supervisor::Me {
        return Ok(found(is_marked));
    }
    // What has ended is a child too until somebody takes note of it.
    while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
    let own = getpid().as_raw_nonzero().get();
    Ok(found(|number| is_marked(number) || field::<i32>(number, 1).is_ok_and(|parent| parent == own)))
}

fn found(is_meant: impl Fn(&str) -> bool) -> Vec<Handle> {
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
        let handle = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        found.extend(handle.filter(|_| is_meant(number)).map(Handle));
    }
    found
}

/// A variable of the environment of a process, as far as it is shown.
fn variable(number: &str, name: &str) -> Option<Vec<u8>> {
    let environment = std::fs::read(format!("/proc/{number}/environ")).ok()?;
    let value = |variable: &[u8]| {
        variable.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"=")).map(<[u8]>::to_vec)
    };
    environment.split(|b| *b == 0).find_map(value)
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

/// When a process began, which tells it from a later one with the same number; `None`: there is none, or it has ended and
/// nobody has asked for its exit code yet, which in a container may last.
pub fn started(pid: u64) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next().filter(|state| !matches!(*state, "Z" | "X"));
    state.and_then(|_| fields.nth(18)?.parse().ok())
}

/// Every process above this one, the nearest first; `mark` is a variable to look for. What cannot be seen is an error.
pub fn ancestors(mark: &str) -> io::Result<Vec<Ancestor>> {
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
        let words = words_of(parent.into())?;
        // The environment of another user's process is not shown; a run is this user's.
        let is_marked = variable(&number, mark).is_some();
        above.push(Ancestor { pid: parent.into(), name, words, is_marked });
        child = number;
    }
}

/// The namespace in which processes have their numbers here; 0 if it is not shown.
pub fn pid_space() -> u64 {
    let shown = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let digits: String = shown.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// The command line of a process.
pub fn words_of(pid: u64) -> io::Result<Vec<String>> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline"))?;
    Ok(line.split(|b| *b == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}

/// The terminal of a process; `None`: it has none, its terminal was closed, or it has ended.
pub fn terminal_of(pid: u64) -> Option<String> {
    terminal_called(field(&pid.to_string(), 4).ok()?)
}

/// The processes of this user that the kernel calls so.
pub fn called(name: &str) -> Vec<u64> {
    let own = rustix::process::geteuid().as_raw();
    let is_meant = |pid: &u64| {
        let called = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let of = Path::new(&format!("/proc/{pid}")).metadata().map(|found| found.uid());
        called.trim_end() == name && of.is_ok_and(|of| of == own)
    };
    let Ok(all) = std::fs::read_dir("/proc") else { return vec![] };
    all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_meant).collect()
}

/// The working directory of a process.
pub fn directory_of(pid: u64) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// The files that a process has open.
pub fn files_of(pid: u64) -> Vec<PathBuf> {
    let Ok(list) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return vec![] };
    list.flatten().filter_map(|fd| std::fs::read_link(fd.path()).ok()).collect()
}

/// The second in which a process last read from its terminal. The kernel notes it only every eight seconds.
pub fn typed_at(pid: u64) -> Option<i64> {
    std::fs::metadata(format!("/proc/{pid}/fd/0")).ok().map(|found| found.atime())
}

/// Whether every process above this one can be seen: not in a nested namespace.
pub fn sees_all_ancestors() -> io::Result<bool> {
    Ok(std::fs::read_link("/proc/self/ns/pid")? == Path::new(INITIAL))
}

/// The controlling terminal of this process, if it has one.
pub fn terminal() -> io::Result<Option<Terminal>> {
    let (group, foreground): (i64, i64) = (field("self", 2)?, field("self", 5)?);
    let device = field("self", 4)?;
    // A group of another PID namespace has no number here.
    let in_foreground = group > 0 && group == foreground;
    Ok(terminal_called(device).map(|name| Terminal { device, name, in_foreground }))
}

/// The process that leads the session of this one, such as the shell of a terminal.
pub fn session_leader() -> io::Result<u64> {
    field("self", 3)
}

/// Whether this process is in the group of its session's leader, as where no shell gives each job a group of its own. The calls of `rustix`
/// cannot say that the leader is in another PID namespace, where it has no number here.
pub fn is_with_session_leader() -> bool {
    let of_self = |at| field::<i64>("self", at);
    matches!((of_self(2), of_self(3)), (Ok(group), Ok(leader)) if group == leader)
}

/// The file of the terminal with a device number as `/proc` shows it; `None`: there is none.
fn terminal_called(number: u32) -> Option<String> {
    let (major, minor) = ((number >> 8) & 0xfff, (number & 0xff) | ((number >> 12) & 0xfff00));
    Some(match major {
        0 => return None,
        136..=143 => format!("/dev/pts/{}", (major - 136) * 256 + minor),
        4 if minor < 64 => format!("/dev/tty{minor}"),
        4 => format!("/dev/ttyS{}", minor - 64),
        _ => format!("terminal {major}:{minor}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_has_its_name() {
        assert_eq!(terminal_called(0), None);
        assert_eq!(terminal_called(34_819).as_deref(), Some("/dev/pts/3"));
        assert_eq!(terminal_called((137 << 8) | 1).as_deref(), Some("/dev/pts/257"));
        assert_eq!(terminal_called(0x401).as_deref(), Some("/dev/tty1"));
        assert_eq!(terminal_called(0x440).as_deref(), Some("/dev/ttyS0"));
    }
}
