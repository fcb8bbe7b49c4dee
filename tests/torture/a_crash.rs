//! A1: killed at every system call.
//!
//! A clean trace of each operation gives its points; each is struck in a fresh copy of the room. Then the room is judged,
//! the same command is run again as a user would, and the room is judged once more, the doctor included.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::lab::{Findings, Lab, Outcome, need, spread};
use crate::ops::Op;
use crate::place::Place;
use crate::strace::{self, Point};

pub(crate) fn kill_at_every_call(lab: &Lab) -> Outcome {
    need("strace")?;
    let findings = Findings::default();
    let (points, acked) = (AtomicUsize::new(0), AtomicUsize::new(0));
    for op in Op::CHANGING {
        let dir = lab.fast_dir();
        let places: Vec<Place> =
            (0..lab.workers).map(|worker| op.prepare(lab, &dir.path().join(format!("w{worker}")))).collect();
        op.restore(&places[0]);
        let (clean, calls) = strace::trace(&op.command(&places[0]), &dir.path().join("log"), &[]);
        findings.check(clean.ok(), || format!("{}: undisturbed: {}", op.word(), clean.shown()));
        findings.extend(op.word(), op.judge(&places[0], &clean, None));
        let all: Vec<Point> = strace::points(&calls).into_iter().map(|(point, _)| point).collect();
        spread(lab.workers, &all, |worker, point| {
            points.fetch_add(1, Ordering::Relaxed);
            acked.fetch_add(usize::from(strike(op, &places[worker], point, &findings)), Ordering::Relaxed);
        });
    }
    let (points, acked, ops) = (points.into_inner(), acked.into_inner(), Op::CHANGING.len());
    findings
        .verdict(format!("{points} points of {ops} operations, {acked} of them after the acknowledgement"))
}

/// Kills one run at a point, judges, runs again, judges. Tells whether the killed run had been acknowledged.
fn strike(op: Op, place: &Place, point: &Point, findings: &Findings) -> bool {
    op.restore(place);
    let at = format!("{} killed at {point}", op.word());
    let killed = strace::struck(&op.command(place), point, "signal=KILL").end();
    // A run that was not struck proves nothing about the point.
    findings.check(killed.was_killed(), || format!("{at}: it was not killed there: {}", killed.shown()));
    findings.extend(&at, op.judge(place, &killed, None));
    let again = op.command(place).end();
    findings.extend(&at, op.judge(place, &killed, Some(&again)));
    findings.extend(&at, place.doctor());
    op.acknowledged(&killed)
}
