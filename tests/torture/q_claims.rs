//! Claims under kill and stop: Q2 kills every step of a claim's life, A2 kills every process that is running, A6 stops a
//! claimer at every system call while another one works.
//!
//! However it ends, a message is in one place, is finished once, and comes back when a lease ends, with its
//! attempt counted.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::lab::{Findings, Lab, Outcome, need, spread};
use crate::ledger::{body, whole};
use crate::place::{Place, names_in};
use crate::process::Ended;
use crate::strace::{self, Point};

const JOB: &str = "a5ced000-0000-4000-8000-000000000001";

/// What is struck.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deed {
    Claim,
    Done,
    DoneWithAnswer,
    Fail,
    Release,
}

impl Deed {
    const ALL: [Self; 5] = [Self::Claim, Self::Done, Self::DoneWithAnswer, Self::Fail, Self::Release];

    fn word(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Done => "done",
            Self::DoneWithAnswer => "done -m",
            Self::Fail => "fail",
            Self::Release => "release",
        }
    }

    fn words(self, token: &str) -> Vec<String> {
        let answer = body("answer");
        let words: &[&str] = match self {
            // Short, so that the end of the lease can be seen; longer than the command takes.
            Self::Claim => &["claim", "--lease", "0.4", "--json"],
            Self::Done => &["done", token],
            Self::DoneWithAnswer => &["done", token, "-m", &answer],
            Self::Fail => &["fail", token, "--reason", "struck"],
            Self::Release => &["release", token],
        };
        ["--as", "bob"].iter().chain(words).map(|word| (*word).to_owned()).collect()
    }
}

/// A room with one job for bob, claimed already unless the claim itself is struck.
fn prepare(lab: &Lab, base: &Path, deed: Deed) -> (Place, String) {
    let place = Place::with(lab, base, &["alice", "bob"]);
    place.ok(&["--as", "alice", "send", "bob", "-s", "job", "--id", JOB, "-m", &body("job")]);
    let token = match deed {
        Deed::Claim => String::new(),
        _ => token_of(&place.ok(&["--as", "bob", "claim", "--lease", "1h", "--json"])).expect("a token"),
    };
    place.save();
    (place, token)
}

fn token_of(ended: &Ended) -> Option<String> {
    let told: Value = serde_json::from_slice(&ended.out).ok()?;
    told["claim"]["token"].as_str().map(str::to_owned)
}

/// Where the job is: folder by folder, claims under their tokens.
fn places_of_job(place: &Place) -> Vec<String> {
    let mut found = vec![];
    let mut look = |folder: String| {
        for (name, bytes) in place.messages("bob", &folder) {
            match whole(&name, &bytes) {
                Ok(seen) if seen.id == JOB => found.push(folder.clone()),
                Ok(_) => {}
                Err(why) => found.push(format!("{folder}, not whole: {why}")),
            }
        }
    };
    for folder in ["inbox", "archive", "failed", "quarantine"] {
        look(folder.to_owned());
    }
    for token in names_in(&place.folder("bob", "claimed")) {
        look(format!("claimed/{token}"));
    }
    found
}

pub(crate) fn killed_at_every_call(lab: &Lab) -> Outcome {
    need("strace")?;
    let findings = Findings::default();
    let points = AtomicUsize::new(0);
    for deed in Deed::ALL {
        let dir = lab.fast_dir();
        let rooms: Vec<(Place, String)> =
            (0..lab.workers).map(|n| prepare(lab, &dir.path().join(format!("w{n}")), deed)).collect();
        let run = |n: usize| {
            let (place, token) = &rooms[n];
            let words = deed.words(token);
            place.command(&words.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let (clean, calls) = strace::trace(&run(0), &dir.path().join("log"), &[]);
        findings.check(clean.ok(), || format!("{}: undisturbed: {}", deed.word(), clean.shown()));
        // A kill before a call that changes nothing leaves what a kill before the next leaves: tier 0 leaves those out.
        let struck =
            strace::points(&calls).into_iter().filter(|(_, call)| lab.tier > 0 || call.changes_files());
        let all: Vec<Point> = struck.map(|(point, _)| point).collect();
        spread(lab.workers, &all, |n, point| {
            let place = &rooms[n].0;
            place.restore();
            let killed = strace::struck(&run(n), point, "signal=KILL").end();
            points.fetch_add(1, Ordering::Relaxed);
            let at = format!("{} killed at {point}", deed.word());
            let there = places_of_job(place);
            findings.check(there.len() == 1, || format!("{at}: the job is in {there:?}"));
            match deed {
                Deed::Claim => after_claim(place, &there, &at, &findings),
                _ => after_end(deed, place, &killed, || run(n).end(), &at, &findings),
            }
            findings.extend(&at, place.doctor());
        });
    }
    let points = points.into_inner();
    findings.verdict(format!("{points} points of {} deeds", Deed::ALL.len()))
}

/// A claimer that died: the job comes back when the lease ends, and the attempt counts if it was taken.
fn after_claim(place: &Place, there: &[String], at: &str, findings: &Findings) {
    let taken = there.first().is_some_and(|folder| folder.starts_with("claimed/"));
    let limit = Instant::now() + Duration::from_secs(10);
    while place.run(&["--as", "bob", "check", "--count"]).stdout() != "1\n" {
        if Instant::now() > limit {
            return findings.add(format!("{at}: the job never came back: {:?}", places_of_job(place)));
        }
    }
    let again = place.run(&["--as", "bob", "claim", "--json"]);
    let told: Value = serde_json::from_slice(&again.out).unwrap_or_default();
    let attempt = told["claim"]["attempt"].as_u64();
    let wanted = if taken { 2 } else { 1 };
    findings.check(attempt == Some(wanted), || {
        format!("{at}: attempt {attempt:?}, not {wanted}: {}", again.shown())
    });
    let token = token_of(&again).unwrap_or_default();
    let done = place.run(&["--as", "bob", "done", &token]);
    let end = places_of_job(place);
    findings
        .check(done.ok() && end == ["archive"], || format!("{at}: at the end in {end:?}: {}", done.shown()));
}

/// An end that was interrupted: run again, it is so, once.
fn after_end(
    deed: Deed,
    place: &Place,
    killed: &Ended,
    run: impl Fn() -> Ended,
    at: &str,
    findings: &Findings,
) {
    let again = run();
    // A process that comes back after the deed was done finds no claim any more, and is told so.
    findings
        .check(again.ok() || again.code == Some(3), || format!("{at}: the second run: {}", again.shown()));
    findings.check(!killed.ok() || again.code == Some(3), || format!("{at}: done twice: {}", again.shown()));
    let wanted = match deed {
        Deed::Fail => "failed",
        Deed::Release => "inbox",
        _ => "archive",
    };
    let there = places_of_job(place);
    findings.check(there == [wanted], || format!("{at}: in {there:?}, not in {wanted}"));
    let told = place.messages("alice", "inbox").len();
    let expected = usize::from(matches!(deed, Deed::Fail | Deed::DoneWithAnswer));
    findings.check(told == expected, || format!("{at}: alice has {told} messages, not {expected}"));
}

/// Kills the running processes, again and again, while senders and claimers go on.
pub(crate) fn killed_at_random(lab: &Lab) -> Outcome {
    let seconds = if lab.tier == 0 { 2 } else { 60 };
    let dir = lab.fast_dir();
    let place = Place::with(lab, &dir.path().join("p"), &["alice", "bob"]);
    let findings = Findings::default();
    let (stop, kills) = (AtomicBool::new(false), AtomicUsize::new(0));
    let running: Mutex<Vec<u32>> = Mutex::default();
    let acked: Mutex<Vec<String>> = Mutex::default();
    let finished: Mutex<BTreeMap<String, usize>> = Mutex::default();
    let go = |words: &[&str]| -> Ended {
        let child = place.command(words).start();
        let id = child.id();
        running.lock().unwrap().push(id);
        let ended = child.end();
        running.lock().unwrap().retain(|pid| *pid != id);
        ended
    };
    let work = || {
        let claimed = go(&["--as", "bob", "claim", "--lease", "1", "--json"]);
        let Some(token) = token_of(&claimed) else { return claimed.code };
        let told: Value = serde_json::from_slice(&claimed.out).unwrap_or_default();
        let id = told["messages"][0]["id"].as_str().unwrap_or_default().to_owned();
        if go(&["--as", "bob", "done", &token]).ok() {
            *finished.lock().unwrap().entry(id).or_default() += 1;
        }
        claimed.code
    };
    std::thread::scope(|scope| {
        for sender in 0..4u32 {
            let (go, stop, acked) = (&go, &stop, &acked);
            scope.spawn(move || {
                for n in 0.. {
                    let id = format!("{sender:08x}-{n:08x}");
                    let key = format!("{sender}-{n}");
                    while !go(&["--as", "alice", "send", "bob", "--id", &id, "-s", "job", "-m", &body(&key)])
                        .ok()
                    {
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                    }
                    acked.lock().unwrap().push(id);
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
        }
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    work();
                }
            });
        }
        let end = Instant::now() + Duration::from_secs(seconds);
        let mut turn = 0;
        while Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
            let victims = running.lock().unwrap().clone();
            turn += 7;
            let victim = victims.get(turn % victims.len().max(1)).and_then(|pid| Pid::from_raw(*pid as i32));
            if victim.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok()) {
                kills.fetch_add(1, Ordering::Relaxed);
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    // What the dead left comes back within its lease and five seconds, and is finished.
    let limit = Instant::now() + Duration::from_secs(6);
    // An empty claim, of one who died before it took anything, holds nobody's mail.
    let held = |token: &String| place.messages("bob", &format!("claimed/{token}")).len();
    let left = || {
        let claimed: usize = names_in(&place.folder("bob", "claimed")).iter().map(held).sum();
        place.messages("bob", "inbox").len() + claimed
    };
    loop {
        match work() {
            Some(0) => {}
            Some(1) if left() == 0 || Instant::now() > limit => break,
            Some(1) => {}
            code => {
                let told = place.run(&["--as", "bob", "claim", "--lease", "1", "--json"]);
                findings.add(format!("a claim with nobody in its way ended with {code:?}: {}", told.shown()));
                break;
            }
        }
    }
    let mut archived: BTreeMap<String, usize> = BTreeMap::new();
    for (name, bytes) in place.messages("bob", "archive") {
        match whole(&name, &bytes) {
            Ok(seen) => *archived.entry(seen.id).or_default() += 1,
            Err(why) => findings.add(format!("partial: {why}")),
        }
    }
    let acked = acked.into_inner().unwrap();
    let lost = acked.iter().filter(|id| !archived.contains_key(*id)).count();
    let twice = archived.values().filter(|n| **n > 1).count();
    let double = finished.into_inner().unwrap().values().filter(|n| **n > 1).count();
    let left = left();
    findings.check(lost + twice + double + left == 0, || {
        format!("{lost} lost, {twice} archived twice, {double} finished twice, {left} never came back")
    });
    findings.extend("at the end", place.doctor());
    let kills = kills.into_inner();
    findings.verdict(format!(
        "{kills} kills in {seconds} s, {} acknowledged, {} finished, 0 lost, 0 partial, 0 double claims",
        acked.len(),
        archived.len()
    ))
}

/// Stops a claimer at each of its system calls, lets its lease end, lets another one work, and lets it go on.
pub(crate) fn stopped_and_continued(lab: &Lab) -> Outcome {
    need("strace")?;
    let findings = Findings::default();
    let dir = lab.fast_dir();
    // Most of them are stopped at any time, and take no processor.
    let workers = 3 * lab.workers;
    let rooms: Vec<Place> =
        (0..workers).map(|n| prepare(lab, &dir.path().join(format!("w{n}")), Deed::Claim).0).collect();
    let words = ["--as", "bob", "claim", "--lease", "0.2", "--json"];
    let (_, calls) = strace::trace(&rooms[0].command(&words), &dir.path().join("log"), &[]);
    // From the first look at the room on; before it nothing is shared with anybody.
    let all: Vec<Point> = strace::points(&calls).into_iter().map(|(point, _)| point).collect();
    let every = if lab.tier == 0 { 4 } else { 1 };
    let some: Vec<Point> = all.into_iter().rev().step_by(every).collect();
    spread(workers, &some, |n, point| {
        let place = &rooms[n];
        place.restore();
        let at = format!("stopped at {point}");
        // Delayed before the call runs, longer than its own lease: as a stopped process is.
        let stopped = strace::struck(&place.command(&words), point, "delay_enter=600000").start();
        let end = Instant::now() + Duration::from_millis(450);
        let mut other = None;
        while Instant::now() < end && other.is_none() {
            other = token_of(&place.run(&["--as", "bob", "claim", "--lease", "1h", "--json"]));
        }
        let late = stopped.end();
        let mut winners = 0;
        for token in [other, token_of(&late)].into_iter().flatten() {
            winners += usize::from(place.run(&["--as", "bob", "done", &token]).ok());
        }
        let there = places_of_job(place);
        let fair = winners == 1 && there == ["archive"] || winners == 0 && there.len() == 1;
        findings
            .check(fair, || format!("{at}: {winners} finished it, and it is in {there:?}: {}", late.shown()));
        findings.extend(&at, place.doctor());
    });
    findings.verdict(format!("{} points, never two owners", some.len()))
}
