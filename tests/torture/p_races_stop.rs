//! One race: a verb is stopped after a call, another runs to its end, the first goes on.
//!
//! A signal that `strace` injects stops a process when the call has returned, which is before the next one.

use std::io::{BufRead, BufReader, Lines, PipeReader};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::p_races_scene::{Scene, Verb};
use crate::process::{Ended, Run, Running};
use crate::strace::{self, Call, Point};

/// How both ended, and whether the second had to wait for the first.
pub(crate) struct Race {
    pub(crate) ends: [Ended; 2],
    pub(crate) waited: bool,
}

/// Calls between which another process may come.
const BETWEEN: [&str; 24] = [
    "access",
    "faccessat2",
    "fdatasync",
    "flock",
    "fstat",
    "fsync",
    "getdents64",
    "link",
    "linkat",
    "lstat",
    "mkdir",
    "mkdirat",
    "newfstatat",
    "open",
    "openat",
    "openat2",
    "rename",
    "renameat",
    "renameat2",
    "rmdir",
    "stat",
    "statx",
    "unlink",
    "unlinkat",
];

/// The points of a verb's own work between which another may come.
pub(crate) fn points(calls: &[Call], root: &Path) -> Vec<Point> {
    let own = strace::own_points(calls, root).into_iter();
    own.filter(|(point, _)| BETWEEN.contains(&point.name.as_str())).map(|(point, _)| point).collect()
}

/// Stops the first verb after a call, lets the second run, and lets the first go on. `None`: it was not stopped there.
pub(crate) fn race(scene: &Scene, verbs: [Verb; 2], point: &Point) -> Option<Race> {
    scene.restore();
    let first = Held::at(scene.command(verbs[0], "first"), point)?;
    let second = scene.command(verbs[1], "second").start();
    let waited = !ends_or_waits(&second);
    let one = first.goes_on();
    Some(Race { ends: [one, second.end()], waited })
}

/// Both are stopped, each at its point; the first goes on to its end, and then the second.
pub(crate) fn race_of_two_stopped(scene: &Scene, verbs: [Verb; 2], points: [&Point; 2]) -> Option<Race> {
    scene.restore();
    let first = Held::at(scene.command(verbs[0], "first"), points[0])?;
    let second = Held::at(scene.command(verbs[1], "second"), points[1])?;
    let one = first.goes_on();
    Some(Race { ends: [one, second.goes_on()], waited: false })
}

/// A command that is stopped after a call.
struct Held {
    running: Running,
    /// What strace prints of signals, and the errors of the command.
    lines: Lines<BufReader<PipeReader>>,
}

impl Held {
    /// Only signals are printed.
    fn at(run: Run, point: &Point) -> Option<Self> {
        let trace = format!("trace={}", point.name);
        let rule = format!("--inject={}:signal=STOP:when={}", point.name, point.nth);
        let run = run.behind(["strace", "-q", "-e", &trace, "-e", "status=detached", &rule]);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let running = run.start_with_errors(writer);
        let mut lines = BufReader::new(reader).lines();
        let stopped = |line: &std::io::Result<String>| {
            line.as_ref().is_ok_and(|line| line.contains("stopped by SIGSTOP"))
        };
        let Some(_) = lines.find(stopped) else {
            running.end();
            return None;
        };
        Some(Self { running, lines })
    }

    fn goes_on(self) -> Ended {
        let group = Pid::from_raw(self.running.id() as i32).expect("a process");
        kill_process_group(group, Signal::CONT).expect("a stopped process can go on");
        let mut ended = self.running.end();
        let said = self.lines.map_while(Result::ok).filter(|line| !line.starts_with("---"));
        ended.err = said.collect::<Vec<_>>().join("\n").into_bytes();
        ended
    }
}

/// Whether it ends by itself. A command that waits for a lock sleeps and tries again.
fn ends_or_waits(running: &Running) -> bool {
    const SLEEPS: [&str; 2] = ["35", "230"];
    let (mut asleep, limit) = (0, Instant::now() + Duration::from_secs(30));
    while asleep < 3 && Instant::now() < limit {
        if running.ends_within(Duration::from_millis(4)) {
            return true;
        }
        let call = std::fs::read_to_string(format!("/proc/{}/syscall", running.id())).unwrap_or_default();
        let sleeps = call.split(' ').next().is_some_and(|number| SLEEPS.contains(&number));
        asleep = if sleeps { asleep + 1 } else { 0 };
    }
    false
}
