//! P3: look-ups that fail. Every open, stat and listing of every verb meets the errors that say nothing about what is
//! there: no descriptors, no memory, a bad disk, no permission, a stale handle.
//!
//! An error is never read as "not there". The verb ends with 0 only if it did all, and says so truly if it did not; run
//! again without the error, it leaves what it would have left without it. A verb that only looks shows all, or fails. In tier 1 the
//! errors take turns; tier 2 strikes every point with each.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::lab::{Findings, Lab, Outcome, need, spread};
use crate::p_races_scene::{Protocol, Scene, Stage, Verb};
use crate::p_races_state::{difference, masked, without_litter};
use crate::process::{Ended, Run};
use crate::strace::{self, Point};

const ERRORS: [&str; 6] = ["EMFILE", "ENFILE", "ENOMEM", "EIO", "EACCES", "ESTALE"];

const LOOKUPS: [&str; 9] =
    ["fstat", "getdents64", "lstat", "newfstatat", "open", "openat", "openat2", "stat", "statx"];

/// What is struck.
#[derive(Clone, Copy, Debug)]
enum Act {
    Change(Verb),
    /// A verb that changes nothing, by the recipient.
    Look(&'static [&'static str]),
}

#[rustfmt::skip]
const LOOKS: [&[&str]; 15] = [
    &["check"], &["check", "--count"], &["wait", "--timeout", "2"], &["names"], &["whoami"], &["read", "--keep"],
    &["trace", "a5ced000"], &["thread", "a5ced000"], &["search", "acknowledged"], &["log"], &["group", "list"],
    &["doctor"], &["stats"], &["sent"], &["failed", "list"],
];

impl Act {
    fn all() -> Vec<Self> {
        let verbs = Verb::ON_MESSAGES.into_iter().chain(Verb::ON_REGISTRY);
        let mut all: Vec<Self> = vec![];
        for verb in verbs {
            if !all.iter().any(|act| matches!(act, Self::Change(other) if *other == verb)) {
                all.push(Self::Change(verb));
            }
        }
        all.extend(LOOKS.map(Self::Look));
        all
    }

    fn stage(self) -> Stage {
        match self {
            Self::Change(verb) => verb.stages()[0],
            Self::Look(["failed", ..]) => Stage::Failed,
            Self::Look(_) => Stage::Unread,
        }
    }

    fn command(self, scene: &Scene, protocol: Protocol) -> Run {
        let (from, to) = protocol.names();
        match self {
            Self::Change(verb) => scene.command(verb, "first"),
            Self::Look(words) => {
                let who = if words == ["sent"] { from } else { to };
                scene.place.command(&[&["--as", who], words].concat())
            }
        }
    }
}

/// What an act comes to when nothing fails.
struct Clean {
    before: Vec<String>,
    after: Vec<String>,
    shown: String,
}

pub(crate) fn lookups_fail(lab: &Lab) -> Outcome {
    need("strace")?;
    let findings = Findings::default();
    let (runs, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let mut points = 0;
    for protocol in Protocol::ALL {
        for act in Act::all() {
            let dir = lab.fast_dir();
            let sick = matches!(act, Act::Change(Verb::DoctorFix));
            let scenes: Vec<Scene> = (0..lab.workers)
                .map(|n| Scene::prepare(lab, &dir.path().join(format!("w{n}")), protocol, act.stage(), sick))
                .collect();
            let before = without_litter(&scenes[0].state());
            let log = dir.path().join("log");
            let (ended, calls) = strace::trace(&act.command(&scenes[0], protocol), &log, &[]);
            assert!(ended.ok(), "{protocol:?} {act:?}: undisturbed: {}", ended.shown());
            let shown = masked(&scenes[0].place.base, &ended.stdout());
            let clean = Clean { before, after: without_litter(&scenes[0].state()), shown };
            let all = lookups(&calls, &scenes[0].place.root);
            points += all.len();
            let each = if lab.tier < 2 { 1 } else { ERRORS.len() };
            let strikes: Vec<(Point, &str)> = all
                .into_iter()
                .enumerate()
                .flat_map(|(turn, point)| {
                    let errors = ERRORS.iter().cycle().skip(turn % ERRORS.len()).take(each);
                    errors.map(move |error| (point.clone(), *error))
                })
                .collect();
            let wrong: Mutex<BTreeMap<String, (String, Vec<String>)>> = Mutex::default();
            spread(lab.workers, &strikes, |worker, (point, error)| {
                let scene = &scenes[worker];
                scene.restore();
                let run = act.command(scene, protocol);
                let ended = strace::struck(&run, point, &format!("error={error}")).end();
                runs.fetch_add(1, Ordering::Relaxed);
                done.fetch_add(usize::from(ended.ok()), Ordering::Relaxed);
                let problems = match act {
                    Act::Change(verb) => after(scene, verb, &run, &clean, &ended),
                    Act::Look(_) => shown_wrong(scene, &run, &clean, &ended),
                };
                let mut wrong = wrong.lock().expect("no thread panicked here");
                for problem in problems {
                    let what = format!("exit {}: {problem}", ended.code.unwrap_or(-1));
                    let seen = wrong.entry(what).or_insert_with(|| (ended.shown(), vec![]));
                    seen.1.push(format!("{error}@{point}"));
                }
            });
            for (what, (example, at)) in wrong.into_inner().expect("no thread panicked here") {
                let (count, at) = (at.len(), at.into_iter().take(4).collect::<Vec<_>>().join(" "));
                findings
                    .add(format!("{protocol:?} {act:?}, {count} times ({at}): {what}; such as {example}"));
            }
        }
    }
    let (runs, done) = (runs.into_inner(), done.into_inner());
    let acts = Act::all().len();
    findings.verdict(format!(
        "{points} look-ups of {acts} verbs in three protocols: {runs} runs, {done} of them did without the look-up"
    ))
}

/// The points of a verb's own look-ups.
fn lookups(calls: &[strace::Call], root: &Path) -> Vec<Point> {
    let own = strace::own_points(calls, root).into_iter();
    own.filter(|(point, _)| LOOKUPS.contains(&point.name.as_str())).map(|(point, _)| point).collect()
}

/// What is wrong after a verb that changes something met an error.
fn after(scene: &Scene, verb: Verb, run: &Run, clean: &Clean, ended: &Ended) -> Vec<String> {
    let mut problems: Vec<String> = ended.crash().into_iter().collect();
    let found = without_litter(&scene.state());
    let whole = found == clean.after;
    let mut expect = |holds: bool, what: String| {
        if !holds {
            problems.push(what);
        }
    };
    match ended.code {
        // An answer that may not survive a power cut finishes nothing yet.
        Some(6) if matches!(verb, Verb::Done | Verb::Reply | Verb::Fail) => {}
        Some(0 | 6) => expect(whole, format!("ended well, but {}", difference(&clean.after, &found))),
        Some(4 | 5) => {
            // A doctor that could not look everywhere says so, whatever it put right.
            let denied = whole && found != clean.before && verb != Verb::DoctorFix;
            expect(!denied, "did it all and denied it".to_owned());
        }
        _ => expect(false, "an error was told as something else".to_owned()),
    }
    // With no id of its own, what was delivered is not sent again.
    if !(ended.ok() || verb == Verb::SendToPruned && whole) {
        let again = run.end();
        let found = without_litter(&scene.state());
        let code = again.code.unwrap_or(-1);
        let left = || format!("run again, exit {code}: {}", difference(&clean.after, &found));
        expect(found == clean.after && (again.ok() || whole), left());
    }
    problems.extend(scene.place.doctor());
    problems
}

/// What is wrong after a verb that only looks met an error.
fn shown_wrong(scene: &Scene, run: &Run, clean: &Clean, ended: &Ended) -> Vec<String> {
    let mut problems: Vec<String> = ended.crash().into_iter().collect();
    let shown = |ended: &Ended| masked(&scene.place.base, &ended.stdout());
    match ended.code {
        // What could not be looked at is named as such.
        Some(0)
            if ["unread=?", "presence=?", "(os error "].iter().any(|doubt| shown(ended).contains(doubt)) => {}
        Some(0) if shown(ended) != clean.shown => {
            problems.push(format!("ended well, but showed `{}`", shown(ended)));
        }
        Some(0 | 4 | 5) => {}
        _ => problems.push("an error was told as something else".to_owned()),
    }
    let again = run.end();
    if !again.ok() || shown(&again) != clean.shown {
        problems.push(format!("run again: {}", again.shown()));
    }
    let found = without_litter(&scene.state());
    if found != clean.after {
        problems.push(format!("changed: {}", difference(&clean.after, &found)));
    }
    problems
}
