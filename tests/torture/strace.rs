//! strace: a clean trace of a command, the points at which it can be struck, and striking it there.
//!
//! A point is (name, N): the N-th call of that name, which is how `--inject` counts. The mail path has one
//! thread, so the points of a clean run are those of every run in the same room. A signal that is injected
//! arrives before the call is made; an injected error replaces the call.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use crate::process::{Ended, Run};

/// One system call of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// What stands between the brackets, descriptors followed by their paths in `<>`.
    pub(crate) arguments: String,
    pub(crate) result: String,
}

/// Where a command can be struck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) name: String,
    pub(crate) nth: usize,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.name, self.nth)
    }
}

impl Call {
    pub(crate) fn succeeded(&self) -> bool {
        !self.result.starts_with('-')
    }

    /// Whether a kill before this call and a kill after it leave different files behind.
    pub(crate) fn changes_files(&self) -> bool {
        let changing = [
            "write",
            "pwrite64",
            "writev",
            "fsync",
            "fdatasync",
            "rename",
            "renameat",
            "renameat2",
            "link",
            "linkat",
            "unlink",
            "unlinkat",
            "mkdir",
            "mkdirat",
            "rmdir",
            "chmod",
            "fchmod",
            "fchmodat",
            "ftruncate",
            "utimensat",
            "symlinkat",
        ];
        changing.contains(&self.name.as_str())
            || self.name.starts_with("open") && self.arguments.contains("O_CREAT")
    }
}

/// Runs a command under strace, with `options`, and returns how it ended and what it called.
pub(crate) fn trace(run: &Run, log: &Path, options: &[&str]) -> (Ended, Vec<Call>) {
    let mut words: Vec<OsString> = ["strace", "-q", "-y", "-o"].map(OsString::from).into();
    words.push(log.into());
    words.extend(options.iter().map(OsString::from));
    let ended = run.clone().behind(words).end();
    let text = fs::read(log).expect("the log of strace");
    (ended, parse(&String::from_utf8_lossy(&text)))
}

/// The same command, struck by `what` (`signal=KILL`, `error=EIO`) at a point.
pub(crate) fn struck(run: &Run, point: &Point, what: &str) -> Run {
    let rule = format!("--inject={}:{what}:when={}", point.name, point.nth);
    run.clone().behind(["strace", "-q", "-o", "/dev/null", "-e", &format!("trace={}", point.name), &rule])
}

/// Runs a command that is stopped by a rule (`NAME:signal=STOP:when=N`) after calls of this name, does something each time
/// it has stopped, and lets it go on. Its errors come between the lines of strace.
pub(crate) fn stopped(run: &Run, name: &str, rule: &str, mut meanwhile: impl FnMut()) -> Ended {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let words = ["strace", "-q", "-e", &format!("trace={name}"), &format!("--inject={rule}")];
    let running = run.clone().behind(words).start_with_errors(writer);
    let tracer = running.id();
    let mut said = vec![];
    for line in BufReader::new(reader).lines() {
        let line = line.expect("a line of strace");
        if line.contains("--- stopped by SIGSTOP ---") {
            meanwhile();
            let children = fs::read_to_string(format!("/proc/{tracer}/task/{tracer}/children"));
            let child = children.ok().and_then(|list| list.trim().parse().ok()).and_then(Pid::from_raw);
            kill_process(child.expect("the command under strace"), Signal::CONT).expect("it can go on");
        } else if call(&line).is_none() && !line.starts_with("---") {
            said.push(line);
        }
    }
    Ended { err: said.join("\n").into_bytes(), ..running.end() }
}

/// The calls of a log, the exec that began it left out.
pub(crate) fn parse(log: &str) -> Vec<Call> {
    log.lines().filter_map(call).filter(|call| call.name != "execve").collect()
}

fn call(line: &str) -> Option<Call> {
    let (name, rest) = line.split_once('(')?;
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_') {
        return None;
    }
    let (arguments, result) = rest.rsplit_once(" = ").unwrap_or((rest, "?"));
    let arguments = arguments.trim_end();
    Some(Call {
        name: name.to_owned(),
        arguments: arguments.strip_suffix(')').unwrap_or(arguments).to_owned(),
        result: result.to_owned(),
    })
}

/// Each call with its point.
pub(crate) fn points(calls: &[Call]) -> Vec<(Point, &Call)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut points = vec![];
    for call in calls {
        let nth = counts.entry(call.name.as_str()).or_default();
        *nth += 1;
        points.push((Point { name: call.name.clone(), nth: *nth }, call));
    }
    points
}

/// Calls that start and end any program, not this one: the loader, memory, threads and signals.
const RUNTIME: [&str; 20] = [
    "access",
    "arch_prctl",
    "brk",
    "exit",
    "exit_group",
    "futex",
    "gettid",
    "madvise",
    "mmap",
    "mprotect",
    "mremap",
    "munmap",
    "prctl",
    "prlimit64",
    "rseq",
    "rt_sigaction",
    "rt_sigprocmask",
    "set_robust_list",
    "set_tid_address",
    "sigaltstack",
];

/// The points that belong to the program's own work: after the last call of the runtime before the first that
/// names `root`, and none of the runtime's.
pub(crate) fn own_points<'a>(calls: &'a [Call], root: &Path) -> Vec<(Point, &'a Call)> {
    let root = root.display().to_string();
    // The last is the seed of the standard library's hash tables, which no kernel refuses.
    let is_runtime =
        |call: &Call| RUNTIME.contains(&call.name.as_str()) || call.arguments.contains("GRND_INSECURE");
    let first = calls.iter().position(|call| call.arguments.contains(&root)).unwrap_or(0);
    let main = calls[..first].iter().rposition(is_runtime).map_or(0, |at| at + 1);
    points(calls).split_off(main).into_iter().filter(|(_, call)| !is_runtime(call)).collect()
}
