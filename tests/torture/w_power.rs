//! W4: the power is cut, in a `.claude` tree and in a workspace.
//!
//! The room, the tree and the workspaces lie on a disk that is shut down without its journal (`disk.rs`): at a sample of
//! the calls that change files, after which the deed is done again, and after its end, after which nobody does it again.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::disk::{Disk, Kind};
use crate::lab::{Findings, Lab, NotPassed, Outcome, need, spread};
use crate::strace::{self, Point};
use crate::w_killed::{acknowledged, after};
use crate::w_scene::{Deed, Scene};

pub(crate) fn cut_at_some_calls(lab: &Lab) -> Outcome {
    on(lab, &Deed::ALL, if lab.tier < 2 { 4 } else { 1 })
}

/// Cuts these deeds off at every so many calls.
pub(crate) fn on(lab: &Lab, deeds: &[Deed], every: usize) -> Outcome {
    need("strace")?;
    need(Kind::EXT4.mkfs)?;
    if !lab.is_root() {
        return Err(NotPassed::Skipped("needs root and a loop device".to_owned()));
    }
    let dir = lab.fast_dir();
    let mut disks = vec![];
    for worker in 0..lab.workers {
        disks.push(Disk::new(&dir.path().join(format!("d{worker}")), Kind::EXT4)?);
    }
    let findings = Findings::default();
    let (cuts, acked) = (AtomicUsize::new(0), AtomicUsize::new(0));
    for deed in deeds.iter().copied() {
        let scenes: Vec<Scene> = disks
            .iter()
            .map(|disk| Scene::prepare(lab, &disk.mount.join(format!("{deed:?}")), deed))
            .collect();
        let (clean, calls) = strace::trace(&scenes[0].run(), &dir.path().join("log"), &[]);
        findings.check(clean.ok(), || format!("{deed:?}: undisturbed: {}", clean.shown()));
        let changing = strace::points(&calls).into_iter().filter(|(_, call)| call.changes_files());
        let some = changing.step_by(every).map(|(point, _)| Some(point));
        let points: Vec<Option<Point>> = some.chain([None]).collect();
        spread(lab.workers, &points, |worker, point| {
            let (disk, scene) = (&disks[worker], &scenes[worker]);
            scene.restore();
            disk.settle();
            let ended = match point {
                Some(point) => strace::struck(&scene.run(), point, "signal=KILL").end(),
                None => scene.run().end(),
            };
            disk.cut();
            cuts.fetch_add(1, Ordering::Relaxed);
            acked.fetch_add(usize::from(ended.ok()), Ordering::Relaxed);
            let at =
                format!("{deed:?} cut at {}", point.as_ref().map_or("its end".to_owned(), Point::to_string));
            findings.check(point.is_some() || ended.ok(), || format!("{at}: {}", ended.shown()));
            let wrong = if ended.ok() {
                acknowledged(deed, scene)
            } else {
                after(deed, scene, !ended.stdout().is_empty())
            };
            findings.extend(&at, wrong);
            findings.extend(&at, scene.place.doctor());
        });
    }
    let (cuts, acked) = (cuts.into_inner(), acked.into_inner());
    findings.verdict(format!("{cuts} cuts of {} deeds, {acked} of them after the end", deeds.len()))
}
