//! Strikes: a command is run under strace, and one of its system calls fails or is the last it makes.

use std::process::Command;

use crate::support::room::{Ran, TestRoom};
use crate::support::until::{skip, until};

/// The N-th call of a name, which is how strace counts.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    name: String,
    nth: usize,
}

/// Whether commands can be struck here; tells who watches if not.
pub(crate) fn can_be_struck(test: &str) -> bool {
    let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).status();
    let can = traced.is_ok_and(|status| status.success());
    if !can {
        skip(test, "strace is not there or not allowed");
    }
    can
}

/// Runs a command undisturbed and gives the calls of these names that it made after it first looked into the room.
#[track_caller]
pub(crate) fn points(room: &TestRoom, names: &str, arguments: &str) -> Vec<Point> {
    let log = room.around().join("strace.log");
    let traced = format!("strace -o '{}' -e trace={names} postroom {arguments}", log.display());
    room.bash(&traced).ends();
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    let mut points = vec![];
    let mut begun = false;
    for line in text.lines() {
        let Some((name, rest)) = line.split_once('(') else { continue };
        let nth = counts.entry(name.to_owned()).or_default();
        *nth += 1;
        begun |= rest.contains(room.around().to_str().unwrap());
        if begun {
            points.push(Point { name: name.to_owned(), nth: *nth });
        }
    }
    assert!(!points.is_empty(), "nothing to strike in {arguments}: {text}");
    points
}

/// Runs a command that is struck by `what` (`signal=KILL`, `error=EMFILE`) at a point.
pub(crate) fn struck(room: &TestRoom, point: &Point, what: &str, arguments: &str) -> Ran {
    let Point { name, nth } = point;
    // Not the last command of the shell, so that a kill is an exit code.
    let script = format!(
        "strace -o /dev/null -e trace={name} -e inject={name}:{what}:when={nth} postroom {arguments}; exit $?"
    );
    let ran = room.bash(&script).ends();
    assert!(ran.code != 101 && !ran.err.contains("panicked"), "{point:?}: {ran:?}");
    ran
}

/// Runs a command that stops after the call at a point, does something else meanwhile, and lets it go on. `None`: it made no such
/// call.
pub(crate) fn stopped<T>(
    room: &TestRoom,
    point: &Point,
    arguments: &str,
    meanwhile: impl FnOnce() -> T,
) -> (std::process::Output, Option<T>) {
    let Point { name, nth } = point;
    let log = room.around().join("stopped.log");
    let script = format!(
        "exec strace -o '{}' -e trace={name} -e inject={name}:signal=STOP:when={nth} postroom {arguments}",
        log.display()
    );
    let _ = std::fs::remove_file(&log);
    let tracer = room.bash(&script).start();
    let proc = format!("/proc/{}", tracer.id());
    let mut stopped = false;
    until("the stop of a command, or its end", || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        stopped = text.contains("--- stopped by SIGSTOP ---");
        let status = std::fs::read_to_string(format!("{proc}/status")).unwrap_or_default();
        stopped || status.is_empty() || status.contains("State:\tZ")
    });
    let children = std::fs::read_to_string(format!("{proc}/task/{}/children", tracer.id()));
    let traced = children.ok().filter(|_| stopped).and_then(|child| child.trim().parse::<i32>().ok());
    let done = traced.map(|pid| {
        let done = meanwhile();
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(pid).unwrap(),
            rustix::process::Signal::CONT,
        )
        .unwrap();
        done
    });
    (tracer.wait_with_output().unwrap(), done)
}

/// At most `count` of the points, evenly spread.
pub(crate) fn sample(points: Vec<Point>, count: usize) -> Vec<Point> {
    let step = points.len().div_ceil(count).max(1);
    points.into_iter().step_by(step).collect()
}
