//! A3 and A4: every call fails once, in every way that a disk and a kernel know.
//!
//! A command that meets an error ends with a documented exit code and never with a panic; what it says of the
//! message is so; and an error that passes costs nothing: the same command afterwards does what it was asked
//! to do.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::lab::{Findings, Lab, Outcome, need, spread};
use crate::ledger::body;
use crate::ops::Op;
use crate::place::{Place, names_in};
use crate::process::Ended;
use crate::strace::{self, Point};

pub(crate) const ERRORS: [&str; 10] =
    ["ENOSPC", "EIO", "EMFILE", "ENFILE", "EINTR", "EDQUOT", "EACCES", "EROFS", "ESTALE", "ENOMEM"];

/// Calls that no kernel refuses; `getrandom` not with any of these errors.
pub(crate) const CANNOT_FAIL: [&str; 7] =
    ["geteuid", "getuid", "getpid", "getppid", "getrandom", "gettid", "uname"];

/// The operations whose every point meets every error.
const WHOLE: [Op; 4] = [Op::Send, Op::Read, Op::Reply, Op::Setup];
/// Operations that share most of their path with those, as those on claims do with each other; below tier 2
/// their points take turns with the errors.
const SAMPLED: [Op; 6] =
    [Op::SendWithId, Op::SendToNew, Op::ReadById, Op::Archive, Op::FirstSetup, Op::Check];
/// How many errors such a point meets.
const TURNS: usize = 2;

pub(crate) fn every_call_fails(lab: &Lab) -> Outcome {
    need("strace")?;
    let findings = Findings::default();
    let clean = AtomicUsize::new(0);
    let (mut points, mut sampled, mut runs) = (0, 0, 0);
    for op in WHOLE.into_iter().chain(SAMPLED).chain(Op::CLAIMS) {
        let dir = lab.fast_dir();
        let places: Vec<Place> =
            (0..lab.workers).map(|worker| op.prepare(lab, &dir.path().join(format!("w{worker}")))).collect();
        op.restore(&places[0]);
        let (undisturbed, calls) = strace::trace(&op.command(&places[0]), &dir.path().join("log"), &[]);
        assert!(undisturbed.ok(), "{}: undisturbed: {}", op.word(), undisturbed.shown());
        let mut own = strace::own_points(&calls, &places[0].root);
        own.retain(|(point, _)| !CANNOT_FAIL.contains(&point.name.as_str()));
        let whole = WHOLE.contains(&op) || lab.tier >= 2;
        *if whole { &mut points } else { &mut sampled } += own.len();
        let errors = |turn: usize| -> Vec<&str> {
            let met = if whole { ERRORS.len() } else { TURNS };
            ERRORS.iter().copied().cycle().skip(turn * met % ERRORS.len()).take(met).collect()
        };
        let numbered = own.into_iter().enumerate();
        let strikes: Vec<(Point, &str)> = numbered
            .flat_map(|(turn, (point, _))| errors(turn).into_iter().map(move |error| (point.clone(), error)))
            .collect();
        runs += strikes.len();
        spread(lab.workers, &strikes, |worker, (point, error)| {
            let survived = strike(op, &places[worker], point, error, &findings);
            clean.fetch_add(usize::from(survived), Ordering::Relaxed);
        });
    }
    let (clean, all, claims) = (clean.into_inner(), ERRORS.len(), Op::CLAIMS.len());
    findings.verdict(format!(
        "{points} points × {all} errors and {sampled} points, {claims} operations on claims among them, × {TURNS} in turn: {runs} runs, {clean} succeeded anyway"
    ))
}

fn strike(op: Op, place: &Place, point: &Point, error: &str, findings: &Findings) -> bool {
    op.restore(place);
    let at = format!("{} with {error} at {point}", op.word());
    let first = strace::struck(&op.command(place), point, &format!("error={error}")).end();
    if let Some(crash) = first.crash() {
        findings.add(format!("{at}: {crash}"));
        return false;
    }
    findings.extend(&at, op.judge(place, &first, None));
    findings.extend(&at, honest(op, place, &first));
    if !first.ok() {
        let again = op.again(place).end();
        findings.extend(&at, op.judge(place, &first, Some(&again)));
    }
    findings.extend(&at, place.doctor());
    first.ok()
}

/// Whether what a command said and exited with is what it did.
fn honest(op: Op, place: &Place, ended: &Ended) -> Vec<String> {
    let mut lies = vec![];
    let mut lie = |is: bool, what: &str| {
        if is {
            lies.push(format!("{what}: {}", ended.shown()));
        }
    };
    let code = ended.code.unwrap_or(-1);
    match op {
        Op::Send | Op::SendWithId | Op::SendToTwo | Op::SendWithFile => {
            let there = place
                .messages("bob", "inbox")
                .iter()
                .any(|(_, bytes)| bytes.ends_with(body("new").as_bytes()));
            let said = ended.stdout().contains("queued ");
            lie(said && code != 0, "it said queued and failed");
            lie(
                there != matches!(code, 0 | 6),
                if there { "delivered and denied" } else { "not delivered and claimed" },
            );
            lie(code == 1, "a send ended with `nothing there`");
        }
        Op::SendToNew => {
            let there = !names_in(&place.root.join("new-0/inbox")).is_empty();
            lie(
                there != matches!(code, 0 | 6),
                if there { "delivered and denied" } else { "not delivered and claimed" },
            );
        }
        Op::Read | Op::ReadById => {
            lie(code == 0 && !ended.stdout().contains(&body("asked")), "it ended well and showed nothing");
            lie(matches!(code, 1 | 3), "the mail that is there was denied");
        }
        Op::Check => lie(matches!(code, 1 | 3), "the mail that is there was denied"),
        Op::Reply | Op::Archive => lie(code == 3, "the mail that is there was denied"),
        Op::Setup | Op::FirstSetup => {
            lie(code == 0 && !op.is_set_up(place), "it ended well and set nothing up")
        }
        _ => lies = op.claim_lies(place, ended),
    }
    lies
}

/// A4: a sync that fails is reported for what it is, and never tried again.
pub(crate) fn a_sync_fails(lab: &Lab) -> Outcome {
    need("strace")?;
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let place = Op::Send.prepare(lab, dir.path());
    let log = dir.path().join("log");
    let fails = |op: Op, nth: usize, error: &str| {
        op.restore(&place);
        let rule = format!("--inject=fsync:error={error}:when={nth}");
        let (ended, calls) =
            strace::trace(&op.command(&place), &log, &["-e", "trace=fsync,fdatasync", &rule]);
        (ended, calls.len())
    };
    let delivered =
        || place.messages("bob", "inbox").iter().any(|(_, bytes)| bytes.ends_with(body("new").as_bytes()));
    let mut cases = 0;
    for op in [Op::Send, Op::SendWithId] {
        for error in ["EIO", "ENOSPC", "EDQUOT", "EINTR"] {
            let (ended, syncs) = fails(op, 1, error);
            let at = format!("{}, {error} at the sync of the file", op.word());
            findings.check(ended.code == Some(5), || format!("{at}: {}", ended.shown()));
            findings.check(syncs == 1, || format!("{at}: {syncs} syncs"));
            findings.check(!delivered(), || format!("{at}: it was published"));
            let left = names_in(&place.folder("bob", "tmp"));
            findings.check(left.is_empty(), || format!("{at}: left in tmp: {left:?}"));
            let (ended, syncs) = fails(op, 2, error);
            let at = format!("{}, {error} at the sync of the inbox", op.word());
            findings.check(ended.code == Some(6), || format!("{at}: {}", ended.shown()));
            findings.check(!ended.stdout().contains("queued"), || format!("{at}: {}", ended.shown()));
            findings.check(syncs == 2, || format!("{at}: {syncs} syncs"));
            findings.check(delivered(), || format!("{at}: the message is gone"));
            findings.extend(&at, place.doctor());
            cases += 2;
        }
    }
    // The sync of the archive: the message was shown and moved, so only the exit code can tell.
    let (ended, syncs) = fails(Op::Read, 1, "EIO");
    findings.check(matches!(ended.code, Some(5 | 6)) && syncs == 1, || {
        format!("read, EIO at the sync of the archive: {syncs} syncs, {}", ended.shown())
    });
    findings.extend("read, EIO at the sync of the archive", Op::Read.judge(&place, &ended, None));
    findings.verdict(format!("{} cases, no sync tried twice", cases + 1))
}
