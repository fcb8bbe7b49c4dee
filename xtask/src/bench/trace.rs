//! A trace: the system calls of one run of a command, by strace, and the questions that the bench asks of it.
//!
//! The loader's calls count too: they are part of what a cold process costs.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::programs::Programs;
use super::table::Without;
use crate::run;

/// Calls further apart than this belong to two bursts.
const PAUSE: f64 = 0.2;

#[derive(Debug)]
pub(crate) struct Trace {
    calls: Vec<Call>,
}

#[derive(Debug, PartialEq)]
struct Call {
    at: f64,
    name: String,
    /// Arguments and result, as strace prints them.
    rest: String,
}

impl Trace {
    pub(crate) fn of(programs: &Programs, command: &Command, expected: &[i32]) -> Result<Self, Without> {
        Self::taken(programs, command, |strace| programs.time(strace, expected))
    }

    /// The same for a command that consumes mail only if somebody can see it.
    pub(crate) fn of_heard(
        programs: &Programs,
        command: &Command,
        expected: &[i32],
    ) -> Result<Self, Without> {
        Self::taken(programs, command, |strace| programs.time_heard(strace, expected))
    }

    fn taken(
        programs: &Programs,
        command: &Command,
        run: impl FnOnce(Command) -> Result<Duration, String>,
    ) -> Result<Self, Without> {
        let dir = tempfile::tempdir().map_err(|e| format!("no directory for a trace: {e}"))?;
        let path = dir.path().join("trace");
        let options =
            ["-f".as_ref(), "-ttt".as_ref(), "-s".as_ref(), "300".as_ref(), "-o".as_ref(), path.as_os_str()];
        run(under_strace(programs, &options, command)?)?;
        let text = fs::read(&path).map_err(|e| format!("cannot read the trace: {e}"))?;
        let trace = Self::parse(&String::from_utf8_lossy(&text));
        // Every process begins with an execve: a trace that cannot be read must not pass for a frugal program.
        if trace.calls.first().is_none_or(|call| call.name != "execve") {
            return Err(Without::Failed("the trace has no calls that can be read".to_owned()));
        }
        Ok(trace)
    }

    /// The calls of all threads of a running process while something is done.
    pub(crate) fn of_process(
        programs: &Programs,
        process: u32,
        work: impl FnOnce() -> Result<(), String>,
    ) -> Result<Self, Without> {
        let dir = tempfile::tempdir().map_err(|e| format!("no directory for a trace: {e}"))?;
        let path = dir.path().join("trace");
        let process = process.to_string();
        let options = ["-f", "-ttt", "-s", "300", "-p", &process, "-o"].map(AsRef::<OsStr>::as_ref);
        let mut strace = programs.command(&strace()?, &[&options[..], &[path.as_os_str()]].concat());
        programs.silence(&mut strace)?;
        let mut strace = strace.spawn().map_err(|e| format!("cannot run strace: {e}"))?;
        let worked = until_traced(&process).and_then(|()| work());
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_child(&strace),
            rustix::process::Signal::TERM,
        );
        let _ = strace.wait();
        worked?;
        let text = fs::read(&path).map_err(|e| format!("cannot read the trace: {e}"))?;
        Ok(Self::parse(&String::from_utf8_lossy(&text)))
    }

    fn parse(text: &str) -> Self {
        Self { calls: text.lines().filter_map(Call::parse).collect() }
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.len()
    }

    /// How often something was made durable.
    pub(crate) fn syncs(&self) -> usize {
        let sync = ["fsync", "fdatasync", "syncfs", "sync", "sync_file_range"];
        self.calls.iter().filter(|call| sync.contains(&call.name.as_str())).count()
    }

    /// How many message files were opened, whatever for.
    pub(crate) fn messages_opened(&self) -> usize {
        self.messages().count()
    }

    /// How many of them do not carry these digits in their names.
    pub(crate) fn messages_opened_without(&self, digits: &str) -> usize {
        let carried = format!("-{digits}-");
        self.messages().filter(|call| !call.rest.contains(&carried)).count()
    }

    /// How many of them were opened to be read: what is staged beside them is not.
    pub(crate) fn messages_read(&self) -> usize {
        self.messages().filter(|call| call.rest.contains("O_RDONLY")).count()
    }

    fn messages(&self) -> impl Iterator<Item = &Call> {
        let open = ["open", "openat", "openat2"];
        self.calls
            .iter()
            .filter(move |call| open.contains(&call.name.as_str()) && call.rest.contains(".md\""))
    }

    /// How often files of this name were opened.
    pub(crate) fn opened(&self, name: &str) -> usize {
        let end = format!("{name}\"");
        self.calls.iter().filter(|call| call.name.starts_with("open") && call.rest.contains(&end)).count()
    }

    /// How often a directory was read to its end.
    pub(crate) fn scans(&self) -> usize {
        self.calls.iter().filter(|call| call.name == "getdents64" && call.rest.ends_with("= 0")).count()
    }

    /// The times at which a burst of calls began, from the first call.
    pub(crate) fn bursts(&self) -> Vec<f64> {
        let start = self.calls.first().map_or(0.0, |call| call.at);
        let mut bursts = Vec::new();
        let mut last = f64::NEG_INFINITY;
        for call in &self.calls {
            if call.at - last > PAUSE {
                bursts.push(call.at - start);
            }
            last = call.at;
        }
        bursts
    }
}

impl Call {
    /// `1234 1763170000.123456 openat(AT_FDCWD, …) = 3`; signals, exits and resumed calls are none.
    fn parse(line: &str) -> Option<Self> {
        // The process id is padded with spaces.
        let (process, line) = line.split_once(' ')?;
        process.parse::<u32>().ok()?;
        let (at, line) = line.trim_start().split_once(' ')?;
        let at = at.parse().ok()?;
        let (name, rest) = line.split_once('(')?;
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_name.then(|| Self { at, name: name.to_owned(), rest: rest.to_owned() })
    }
}

/// The most memory that a command ever had resident, in bytes.
///
/// The kernel tells it of a living process only, so strace holds the process at its exit while it is asked.
pub(crate) fn peak_memory(programs: &Programs, command: &Command) -> Result<u64, Without> {
    let hold = ["-o", "/dev/null", "-e", "trace=exit_group", "-e", "inject=exit_group:delay_enter=300000"];
    let mut command = under_strace(programs, &hold.map(AsRef::<OsStr>::as_ref), command)?;
    programs.silence(&mut command)?;
    let mut strace = command.spawn().map_err(|e| format!("cannot run strace: {e}"))?;
    let mut peak = None;
    while strace.try_wait().map_err(|e| e.to_string())?.is_none() {
        // The last answer counts: a process only grows, and begins anew when it becomes the command.
        peak = child_of(strace.id()).and_then(|child| high_water(&child)).or(peak);
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(peak.ok_or_else(|| "the process was gone before it could be asked for its memory".to_owned())?)
}

fn under_strace(programs: &Programs, options: &[&OsStr], command: &Command) -> Result<Command, Without> {
    let strace = strace()?;
    let mut args = options.to_vec();
    args.push(command.get_program());
    args.extend(command.get_args());
    let mut traced = programs.command(&strace, &args);
    traced.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ok(traced)
}

fn strace() -> Result<PathBuf, Without> {
    run::find_program("strace").ok_or_else(|| Without::Wanting("there is no strace".to_owned()))
}

/// Returns when somebody traces the process.
fn until_traced(process: &str) -> Result<(), String> {
    for _ in 0..500 {
        let status = fs::read_to_string(format!("/proc/{process}/status")).map_err(|e| e.to_string())?;
        if status.lines().any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0")) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err("strace did not begin".to_owned())
}

fn child_of(process: u32) -> Option<PathBuf> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).ok()?;
    Some(Path::new("/proc").join(children.split_whitespace().next()?))
}

pub(crate) fn high_water(process: &Path) -> Option<u64> {
    let status = fs::read_to_string(process.join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"71    100.000000 execve("/bin/postroom", ["postroom"], 0x7ffd /* 3 vars */) = 0
71 100.000200 openat(AT_FDCWD, "/lib/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
71 100.000300 openat(5, "20260101T000000Z-9e3779b1-filled.md", O_RDONLY|O_NOFOLLOW) = 6
71 100.000400 ppoll([{fd=4, events=POLLIN}], 1, {tv_sec=5}, NULL, 8 <unfinished ...>
72 104.900000 fsync(3) = 0
71 105.000500 <... ppoll resumed>) = 0 (Timeout)
71 105.000600 getdents64(5, 0x55 /* 2 entries */, 32768) = 48
71    105.000700 fdatasync(3)                  = 0
71 105.000800 --- SIGALRM {si_signo=SIGALRM} ---
71 105.000900 +++ exited with 0 +++
"#;

    #[test]
    fn only_calls_are_counted_and_each_once() {
        let trace = Trace::parse(TEXT);
        assert_eq!(trace.calls(), 7);
        assert_eq!(trace.syncs(), 2);
        assert_eq!(trace.messages_opened(), 1);
    }

    #[test]
    fn a_scan_ends_where_there_is_nothing_more() {
        let text = "71 1.0 getdents64(5, 0x55 /* 2 entries */, 32768) = 48\n\
                    71 1.1 getdents64(5, 0x55 /* 0 entries */, 32768) = 0\n";
        assert_eq!(Trace::parse(text).scans(), 1);
    }

    #[test]
    fn a_message_carries_its_digits_in_its_name() {
        let trace = Trace::parse(TEXT);
        assert_eq!(trace.messages_opened_without("9e3779b1"), 0);
        assert_eq!(trace.messages_opened_without("20260101"), 1);
    }

    #[test]
    fn a_pause_parts_two_bursts() {
        let bursts = Trace::parse(TEXT).bursts();
        assert_eq!(bursts.len(), 2);
        assert!((bursts[1] - 4.9).abs() < 0.001);
    }
}
