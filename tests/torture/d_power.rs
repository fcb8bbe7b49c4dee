//! D1: the power is cut at every system call.
//!
//! The room lies on a small ext4 in a file. An operation is killed at a point, the file system is shut down
//! without flushing its journal, unmounted and mounted again: what was not synced is gone, as after a power
//! cut. There are two ways:
//!
//! - killed, cut, judged, run again, judged: the machine died with the command, at any call of its work or
//!   after its end;
//! - killed, run again, cut, judged: the machine died later, after a second run had acknowledged what the
//!   first had done. Only calls that change a file are struck so, because a kill before any other leaves what
//!   a kill before the next leaves.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::disk::{Disk, Kind};
use crate::lab::{Findings, Lab, NotPassed, Outcome, need, spread};
use crate::ops::Op;
use crate::ops_claims::UNSETTLED;
use crate::place::Place;
use crate::process::Ended;
use crate::strace::{self, Point};

pub(crate) fn cut_at_every_call(lab: &Lab) -> Outcome {
    on(lab, Kind::EXT4, &every_op())
}

/// D5: the same on other file systems.
pub(crate) fn on_other_file_systems(lab: &Lab) -> Outcome {
    let (mut figures, mut missing) = (vec![], vec![]);
    for kind in [Kind::XFS, Kind::BTRFS] {
        match on(lab, kind, &every_op()) {
            Ok(told) => figures.push(format!("{}: {told}", kind.word)),
            Err(NotPassed::Skipped(why)) => missing.push(format!("{}: {why}", kind.word)),
            failed => return failed,
        }
    }
    match figures.is_empty() {
        true => Err(NotPassed::Skipped(missing.join("; "))),
        false => Ok(figures.into_iter().chain(missing).collect::<Vec<_>>().join("; ")),
    }
}

pub(crate) fn every_op() -> Vec<Op> {
    Op::CHANGING.into_iter().chain(Op::CLAIMS).collect()
}

/// Cuts these operations off at every call, on a disk of this kind.
pub(crate) fn on(lab: &Lab, kind: Kind, ops: &[Op]) -> Outcome {
    need("strace")?;
    need(kind.mkfs)?;
    if !lab.is_root() {
        return Err(NotPassed::Skipped("needs root and a loop device".to_owned()));
    }
    // The image may well lie in memory: what counts is what the file system on it has written out.
    let dir = lab.fast_dir();
    let mut disks = vec![];
    for worker in 0..lab.workers {
        disks.push(Disk::new(&dir.path().join(format!("d{worker}")), kind)?);
    }
    let findings = Findings::default();
    let (cuts, acked) = (AtomicUsize::new(0), AtomicUsize::new(0));
    for op in ops.iter().copied() {
        let places: Vec<Place> =
            disks.iter().map(|disk| op.prepare(lab, &disk.mount.join(op.word().replace(' ', "-")))).collect();
        op.restore(&places[0]);
        let (clean, calls) = strace::trace(&op.command(&places[0]), &dir.path().join("log"), &[]);
        assert!(clean.ok(), "{}: undisturbed: {}", op.word(), clean.shown());
        let own = strace::own_points(&calls, &places[0].root);
        let changing = own.iter().filter(|(_, call)| call.changes_files());
        let later: Vec<Point> = changing.map(|(point, _)| point.clone()).collect();
        let points: Vec<Option<Point>> =
            own.into_iter().map(|(point, _)| Some(point)).chain([None]).collect();
        spread(lab.workers, &points, |worker, point| {
            let told = cut(op, &disks[worker], &places[worker], point.as_ref(), &findings);
            acked.fetch_add(usize::from(told), Ordering::Relaxed);
        });
        spread(lab.workers, &later, |worker, point| {
            cut_later(op, &disks[worker], &places[worker], point, &findings)
        });
        cuts.fetch_add(points.len() + later.len(), Ordering::Relaxed);
    }
    let (cuts, acked, ops) = (cuts.into_inner(), acked.into_inner(), ops.len());
    findings.verdict(format!(
        "{cuts} cuts of {ops} operations, {acked} first runs were acknowledged before the cut"
    ))
}

/// The machine dies with the command. Tells whether the command had been acknowledged.
fn cut(op: Op, disk: &Disk, place: &Place, point: Option<&Point>, findings: &Findings) -> bool {
    let at = format!("{} cut at {}", op.word(), point.map_or("its end".to_owned(), Point::to_string));
    let first = strike(op, disk, place, point, findings);
    disk.cut();
    findings.extend(&at, op.judge(place, &first, None));
    let again = op.again(place).end();
    findings.extend(&format!("{at}, run again"), op.judge(place, &first, Some(&again)));
    findings.extend(&format!("{at}, run again"), place.doctor());
    op.acknowledged(&first)
}

/// The machine dies after the second run.
fn cut_later(op: Op, disk: &Disk, place: &Place, point: &Point, findings: &Findings) {
    let at = format!("{} killed at {point}, run again, then cut", op.word());
    let first = strike(op, disk, place, Some(point), findings);
    let again = op.again(place).end();
    disk.cut();
    let mut found = op.judge(place, &first, Some(&again));
    if matches!(op, Op::Read | Op::ReadById) {
        // Showing a message again says nothing about where it lies; at worst it is shown once more.
        found.retain(|what| !what.starts_with("not archived"));
    }
    if op.is_claim() && again.code == Some(3) {
        // It acknowledged nothing: what the first run moved unsynced may be held by its claim again.
        found.retain(|what| !what.starts_with(UNSETTLED));
    }
    findings.extend(&at, found);
    if op == Op::Claim {
        // Terms are not synced, because no claim outlives a power cut: the next look gives the message back. Where they
        // were written out nevertheless (btrfs), the claim goes on, because the machine is still up.
        place.run(&["--as", "bob", "check", "--count"]);
    }
    findings.extend(&at, place.doctor());
}

/// Runs an operation in a fresh room on a settled disk, and kills it at the point.
fn strike(op: Op, disk: &Disk, place: &Place, point: Option<&Point>, findings: &Findings) -> Ended {
    op.restore(place);
    disk.settle();
    let command = op.command(place);
    let Some(point) = point else { return command.end() };
    let killed = strace::struck(&command, point, "signal=KILL").end();
    findings
        .check(killed.was_killed(), || format!("{} not killed at {point}: {}", op.word(), killed.shown()));
    killed
}
