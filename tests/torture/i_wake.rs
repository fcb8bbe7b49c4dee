//! I3: more waiters than the kernel gives watches, and kernels that give none. All of them wake; the late
//! ones by looking again within five seconds.

use std::fs;
use std::time::{Duration, Instant};

use crate::lab::{Findings, Lab, Outcome, need};
use crate::ledger::body;
use crate::place::Place;
use crate::process::{Run, Running};

const WAITERS: usize = 140;
/// A wake-up by looking again comes within this, the time to start and end a process included.
const LATEST: Duration = Duration::from_millis(6500);

pub(crate) fn no_watches(lab: &Lab) -> Outcome {
    need("strace")?;
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let place = Place::with(lab, dir.path(), &["alice", "bob", "carol"]);
    let waiter = |name: &str| place.command(&["--as", name, "wait", "--timeout", "30"]);
    let (woken, latest) = wake(&place, "bob", vec![waiter("bob"); WAITERS], false, &findings);
    let mut refused = vec![];
    for call in ["inotify_init1", "inotify_add_watch"] {
        for error in ["EMFILE", "ENOSPC", "ENOMEM", "ENOSYS"] {
            let rule = format!("--inject={call}:error={error}");
            let trace = format!("trace={call}");
            refused.push(waiter("carol").behind([
                "strace",
                "-f",
                "-q",
                "-o",
                "/dev/null",
                "-e",
                &trace,
                &rule,
            ]));
        }
    }
    let without = refused.len();
    let (unwatched, later) = wake(&place, "carol", refused, true, &findings);
    findings.check(woken == WAITERS, || format!("{woken} of {WAITERS} waiters woke"));
    findings.check(unwatched == without, || format!("{unwatched} of {without} waiters without a watch woke"));
    let slowest = latest.max(later);
    findings.check(slowest < LATEST, || format!("the last woke after {slowest:?}"));
    findings.verdict(format!(
        "{woken} of {WAITERS} waiters woke, {unwatched} of {without} without a watch, the last after {} ms",
        slowest.as_millis()
    ))
}

/// Starts waiters, sends one message once all of them sleep, and counts who wakes; with the time of the last.
fn wake(place: &Place, name: &str, runs: Vec<Run>, traced: bool, findings: &Findings) -> (usize, Duration) {
    let waiters: Vec<Running> = runs.iter().map(Run::start).collect();
    let deadline = Instant::now() + Duration::from_secs(20);
    for waiter in &waiters {
        while !sleeps(waiter.id(), traced) && Instant::now() < deadline {
            std::thread::yield_now();
        }
    }
    findings.check(Instant::now() < deadline, || format!("the waiters of {name} never slept"));
    let sent = Instant::now();
    place.ok(&["--as", "alice", "send", name, "-m", &body("wake")]);
    let ends: Vec<_> = waiters.into_iter().map(Running::end).collect();
    let odd = ends.iter().find(|ended| !ended.ok());
    findings.extend("a waiter", odd.map(|ended| ended.shown()));
    (ends.iter().filter(|ended| ended.ok()).count(), sent.elapsed())
}

/// Whether a process, or the one that it traces, sleeps: a waiter does so only when it waits.
fn sleeps(id: u32, traced: bool) -> bool {
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    let id = if traced { children.trim().to_owned() } else { id.to_string() };
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('S'))
}
