//! G4: a holder that died. Its name is free at once, however it died; and what counts is the lock that it held,
//! never the number of a process, because those come back.
//!
//! The last sign of life is made an hour old before every question, so that the lock alone answers it.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, test_kill_process};
use serde_json::Value;

use crate::lab::{Findings, Lab, Outcome};
use crate::place::{Place, ago, set_time};
use crate::process::{Ended, Run, Running};
use crate::waiter::Waiter;

const LATEST: Duration = Duration::from_secs(5);

pub(crate) fn dead_holder(lab: &Lab) -> Outcome {
    let rounds = if lab.tier == 0 { 20 } else { 200 };
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let place = Place::with(lab, dir.path(), &["alice", "bob"]);
    as_session(&place, &["takeover", "bob", "--force"], "0").end();
    let mut slowest = Duration::ZERO;
    for round in 1..=rounds {
        let Some(took) = killed(&place, round, &findings) else {
            // Who holds the name now is not known, so nothing more can be asked.
            return findings.verdict(format!("{round} holders killed"));
        };
        slowest = slowest.max(took);
    }
    let reused = numbers_that_come_back(&place, &findings);
    findings.extend("afterwards", place.doctor());
    findings.verdict(format!(
        "{rounds} holders killed, the name was free after {} ms at most; {reused} numbers of other processes tried in its records",
        slowest.as_millis()
    ))
}

/// Kills a resident holder, and takes its name over. How long that took; `None` if it was not to be had.
fn killed(place: &Place, round: usize, findings: &Findings) -> Option<Duration> {
    let [before, next] = [round - 1, round].map(|session| session.to_string());
    let holder = Waiter::asleep(&as_session(place, &["wait", "--timeout", "60"], &before));
    // One that is stopped holds its name as well.
    if round.is_multiple_of(2) {
        holder.stop();
    }
    let refused = takeover(place, &next);
    findings.check(refused.code == Some(4) && refused.stderr().contains("alive"), || {
        format!("round {round}: taken from a holder that lives: {}", refused.shown())
    });
    let start = Instant::now();
    holder.signal(Signal::KILL);
    let mut taken = takeover(place, &next);
    while taken.code == Some(4) && start.elapsed() < LATEST {
        taken = takeover(place, &next);
    }
    let took = start.elapsed();
    findings.check(taken.ok() && took < LATEST, || {
        format!("round {round}: not free {} ms after its holder died: {}", took.as_millis(), taken.shown())
    });
    let ended = holder.end();
    findings.check(ended.was_killed(), || format!("round {round}: the holder: {}", ended.shown()));
    let late = as_session(place, &["check"], &before).end();
    findings.check(late.code == Some(4) && late.stderr().contains("taken over"), || {
        format!("round {round}: the session that lost its name was not told: {}", late.shown())
    });
    (refused.code == Some(4) && taken.ok()).then_some(took)
}

/// The process that set a mailbox up is dead, and its number belongs to another process, which lives. How many cases.
fn numbers_that_come_back(place: &Place, findings: &Findings) -> usize {
    // The process that is remembered becomes another program under the same number.
    let mut script = place.command(&["setup", "dave"]).env("CLAUDE_CODE_SESSION_ID", "session-of-dave");
    let words = std::mem::take(&mut script.words);
    let shell = ["sh", "-c", "\"$@\" && exec sleep 60", "sh"].map(Into::into);
    script.words = shell.into_iter().chain(words).collect();
    let other = script.start();
    let deadline = Instant::now() + Duration::from_secs(20);
    while fs::read_to_string(format!("/proc/{}/comm", other.id())).unwrap_or_default() != "sleep\n" {
        assert!(Instant::now() < deadline, "dave was never set up");
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut cases = 0;
    let mut free = |name: &str, what: &str| {
        cases += 1;
        set_time(&place.folder(name, "seen"), ago(3600));
        let taken = as_session(place, &["takeover", name], &format!("after-{what}")).end();
        findings.check(taken.ok(), || format!("{what} made {name} alive: {}", taken.shown()));
    };
    let recorded = recorded_number(&place.root, "dave");
    assert_eq!(recorded, u64::from(other.id()), "the number of the process that set dave up");
    free("dave", "a number that came back");
    // The number of a resident holder that was killed, and then that of this process, which lives.
    let holder = Waiter::asleep(&place.command(&["--as", "bob", "wait", "--timeout", "60"]));
    let dead = holder.id();
    write_number(place, "bob", dead);
    holder.signal(Signal::KILL);
    drop(holder.end());
    free("bob", "the number of a dead holder");
    write_number(place, "bob", std::process::id());
    free("bob", "the number of another process");
    // The other way round: no process has the number that is written down, and yet the holder lives.
    let holder = Waiter::asleep(&place.command(&["--as", "bob", "wait", "--timeout", "60"]));
    write_number(place, "bob", unused_number());
    set_time(&place.folder("bob", "seen"), ago(3600));
    let refused = takeover(place, "stranger");
    findings.check(refused.code == Some(4), || format!("a holder that lives lost bob: {}", refused.shown()));
    holder.signal(Signal::KILL);
    drop(holder.end());
    end_of(other);
    cases
}

/// A command of bob's mailbox from an agent's session.
fn as_session(place: &Place, words: &[&str], session: &str) -> Run {
    place.command(words).env("CLAUDE_CODE_SESSION_ID", format!("session-{session}"))
}

/// Asks for bob's name without force, as if bob had been silent for an hour.
fn takeover(place: &Place, session: &str) -> Ended {
    set_time(&place.folder("bob", "seen"), ago(3600));
    as_session(place, &["takeover", "bob"], session).end()
}

fn registry(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("the registry")).expect("a registry")
}

fn recorded_number(root: &Path, name: &str) -> u64 {
    registry(&root.join("registry.json"))[name]["pid"].as_u64().unwrap_or_default()
}

/// Writes the number of a process into the registry and into the card of the mailbox.
fn write_number(place: &Place, name: &str, number: u32) {
    for path in [place.root.join("registry.json"), place.folder(name, "card.json")] {
        let mut entries = registry(&path);
        entries[name]["pid"] = number.into();
        let entries = entries.as_object().expect("entries by name");
        let lines: Vec<String> = entries
            .iter()
            .map(|(name, entry)| format!("  {}: {entry}", Value::from(name.as_str())))
            .collect();
        fs::write(&path, format!("{{\n{}\n}}\n", lines.join(",\n"))).expect("the registry");
    }
}

/// A number that no process has.
fn unused_number() -> u32 {
    let is_free = |number: &i32| Pid::from_raw(*number).is_some_and(|pid| test_kill_process(pid).is_err());
    (2..i32::MAX).rev().find(is_free).and_then(|number| u32::try_from(number).ok()).expect("a free number")
}

fn end_of(running: Running) {
    let pid = i32::try_from(running.id()).ok().and_then(Pid::from_raw).expect("the id of a process");
    rustix::process::kill_process(pid, Signal::KILL).expect("a signal to a child");
    drop(running.end());
}
