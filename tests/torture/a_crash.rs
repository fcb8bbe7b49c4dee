//! A1: killed at every system call.
//!
//! A clean trace of each operation gives its points; each is struck in a fresh copy of the room. Then the
//! room is judged, the same command is run again as a user would, and the room is judged once more, the
//! doctor included.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::lab::{Findings, Lab, Outcome, need, spread};
use crate::ops::Op;
use crate::place::Place;
use crate::strace::{self, Point};

pub(crate) fn kill_at_every_call(lab: &Lab) -> Outcome {
    need("strace")?;
    let findings = Findings::default();
    let counts = Counts::default();
    for op in Op::CHANGING {
        let dir = lab.fast_dir();
        let places: Vec<Place> =
            (0..lab.workers).map(|worker| op.prepare(lab, &dir.path().join(format!("w{worker}")))).collect();
        op.restore(&places[0]);
        let (clean, calls) = strace::trace(&op.command(&places[0]), &dir.path().join("log"), &[]);
        findings.check(clean.ok(), || format!("{}: undisturbed: {}", op.word(), clean.shown()));
        findings.extend(op.word(), op.judge(&places[0], &clean, None));
        let all: Vec<Point> = strace::points(&calls).into_iter().map(|(point, _)| point).collect();
        spread(lab.workers, &all, |worker, point| strike(op, &places[worker], point, &findings, &counts));
    }
    let [points, acked, missed] = [counts.points, counts.acked, counts.missed].map(AtomicUsize::into_inner);
    // The runtime may make one call more or less, as when it reads its own memory map; not many.
    findings.check(missed * 100 <= points, || format!("{missed} points were not reached"));
    let ops = Op::CHANGING.len();
    findings.verdict(format!(
        "{points} points of {ops} operations, {acked} of them after the acknowledgement, {missed} not reached"
    ))
}

#[derive(Default)]
struct Counts {
    points: AtomicUsize,
    acked: AtomicUsize,
    missed: AtomicUsize,
}

/// Kills one run at a point, judges, runs again, judges.
fn strike(op: Op, place: &Place, point: &Point, findings: &Findings, counts: &Counts) {
    op.restore(place);
    let at = format!("{} killed at {point}", op.word());
    let killed = strace::struck(&op.command(place), point, "signal=KILL").end();
    counts.points.fetch_add(1, Ordering::Relaxed);
    if killed.ok() {
        // A run that was not struck proves nothing about the point.
        counts.missed.fetch_add(1, Ordering::Relaxed);
        return;
    }
    findings.check(killed.was_killed(), || format!("{at}: it was not killed there: {}", killed.shown()));
    counts.acked.fetch_add(usize::from(op.acknowledged(&killed)), Ordering::Relaxed);
    findings.extend(&at, op.judge(place, &killed, None));
    let again = op.again(place).end();
    findings.extend(&at, op.judge(place, &killed, Some(&again)));
    findings.extend(&at, place.doctor());
}
