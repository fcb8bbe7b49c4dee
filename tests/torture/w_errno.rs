//! W5: calls fail, in a `.claude` tree and in a workspace. Each call on the files of a deed fails once in each way; in
//! tier 1 only every sixth, the errors taking turns. What was not done can be done again; what was acknowledged is so.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::a_errno::{CANNOT_FAIL, ERRORS};
use crate::lab::{Findings, Lab, Outcome, need, spread};
use crate::strace::{self, Point};
use crate::w_killed::{acknowledged, after};
use crate::w_scene::{Deed, Scene};
use crate::w_tree::project;

pub(crate) fn calls_fail(lab: &Lab) -> Outcome {
    need("strace")?;
    let findings = Findings::default();
    let (runs, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    for deed in Deed::ALL {
        let dir = lab.fast_dir();
        let scenes: Vec<Scene> =
            (0..lab.workers).map(|n| Scene::prepare(lab, &dir.path().join(format!("w{n}")), deed)).collect();
        let (clean, calls) = strace::trace(&scenes[0].run(), &dir.path().join("log"), &[]);
        findings.check(clean.ok(), || format!("{deed:?}: undisturbed: {}", clean.shown()));
        // What is done to a tree as a whole needs no room.
        let place = &scenes[0].place;
        let first =
            if matches!(deed, Deed::Append | Deed::CleanUp) { project(place) } else { place.root.clone() };
        let mut own = strace::own_points(&calls, &first);
        own.retain(|(point, _)| !CANNOT_FAIL.contains(&point.name.as_str()));
        let (every, met) = if lab.tier < 2 { (6, 1) } else { (1, ERRORS.len()) };
        let strikes: Vec<(Point, &str)> = own
            .into_iter()
            .step_by(every)
            .enumerate()
            .flat_map(|(turn, (point, _))| {
                let errors = ERRORS.iter().cycle().skip(turn % ERRORS.len()).take(met);
                errors.map(move |error| (point.clone(), *error))
            })
            .collect();
        spread(lab.workers, &strikes, |worker, (point, error)| {
            let scene = &scenes[worker];
            scene.restore();
            let ended = strace::struck(&scene.run(), point, &format!("error={error}")).end();
            let at = format!("{deed:?} with {error} at {point}");
            runs.fetch_add(1, Ordering::Relaxed);
            done.fetch_add(usize::from(ended.ok()), Ordering::Relaxed);
            findings.extend(&at, ended.crash());
            // What failed is failed also where its sender cannot be told, which the caller is then told.
            let alone = deed == Deed::Fail && ended.stderr().contains("the sender could not be told");
            let mut wrong = if ended.ok() {
                acknowledged(deed, scene)
            } else {
                after(deed, scene, !ended.stdout().is_empty())
            };
            wrong.retain(|what| !alone || !what.contains("answers reached") && !what.ends_with("responses"));
            findings.extend(&format!("{at} ({})", ended.shown()), wrong);
            findings.extend(&at, scene.place.doctor());
        });
    }
    let (runs, done) = (runs.into_inner(), done.into_inner());
    findings.verdict(format!("{runs} runs of {} deeds, {done} succeeded anyway", Deed::ALL.len()))
}
