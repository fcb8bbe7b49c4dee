//! P1: random histories against an oracle.
//!
//! A history is four to ten commands and files by hand over two mailboxes of each protocol. It is played undisturbed, then
//! again from the beginning with one fault at one system call of one command: killed, an error, the power cut, stopped for
//! a moment, or a clock that was set. The command is run again, as its user would, and the rest goes on. After
//! every step each message is in one mailbox in the state the oracle says (`p_model/oracle.rs`), once and whole;
//! exit codes are the ones that the oracle knows; at the end `check` counts the same, answers are in outboxes once, and the doctor
//! finds nothing. A history is a function of its seed. What fails is shortened and printed as a shell script.

pub(crate) mod by_hand;
pub(crate) mod fault;
pub(crate) mod held;
pub(crate) mod history;
pub(crate) mod judge;
pub(crate) mod look;
pub(crate) mod oracle;
pub(crate) mod play;
pub(crate) mod scene;
pub(crate) mod script;
pub(crate) mod step;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::disk::{Disk, Kind};
use crate::lab::{Findings, Lab, NotPassed, Outcome, need, spread};
use fault::{Fault, Strike};
use history::{Draw, history};
use play::{Played, Special, Stage};
use scene::Scene;
use script::script;
use step::Step;

/// How many findings are shortened; that takes longer than finding them.
const SHORTENED: usize = 6;

pub(crate) fn histories(lab: &Lab) -> Outcome {
    need("strace")?;
    let seeds = lab.seeds.clone().unwrap_or(if lab.tier == 0 { 0..40 } else { 0..300 });
    let dir = lab.fast_dir();
    let disks = disks(lab, dir.path());
    let scenes = |n: usize| -> Actors<'_> {
        let disk = disks.as_ref().ok().map(|disks| &disks[n]);
        let scene = Scene::prepare(lab, &dir.path().join(format!("w{n}")));
        let on_disk = disk.map(|disk| (disk, Scene::prepare(lab, &disk.mount.join("p"))));
        Actors { scene, on_disk }
    };
    let actors: Vec<Mutex<Actors>> = (0..lab.workers).map(|n| Mutex::new(scenes(n))).collect();
    let findings = Findings::default();
    let (counts, steps, found) = (Counts::default(), AtomicUsize::new(0), AtomicUsize::new(0));
    let seeds: Vec<u64> = seeds.collect();
    spread(lab.workers, &seeds, |worker, seed| {
        let mut actors = actors[worker].lock().expect("no thread panicked here");
        let shorten = || found.fetch_add(1, Ordering::Relaxed) < SHORTENED;
        let log = dir.path().join(format!("log{worker}"));
        if let Some(finding) = one(*seed, &mut actors, &log, &counts, &steps, shorten) {
            findings.add(finding);
        }
    });
    drop(actors);
    let (runs, steps) = (seeds.len(), steps.into_inner());
    let cuts = match disks {
        Ok(_) => String::new(),
        Err(NotPassed::Skipped(why)) => format!("; no power cuts: {why}"),
        Err(failed) => return Err(failed),
    };
    findings.verdict(format!("{runs} histories of {steps} steps, {counts}{cuts}"))
}

/// The scenes of one worker: in memory, and on a disk whose power can be cut.
struct Actors<'a> {
    scene: Scene,
    on_disk: Option<(&'a Disk, Scene)>,
}

fn disks(lab: &Lab, dir: &Path) -> Result<Vec<Disk>, NotPassed> {
    need(Kind::EXT4.mkfs)?;
    if !lab.is_root() {
        return Err(NotPassed::Skipped("needs root and a loop device".to_owned()));
    }
    (0..lab.workers).map(|n| Disk::new(&dir.join(format!("d{n}")), Kind::EXT4)).collect()
}

/// How many histories had each fault.
#[derive(Default)]
struct Counts([AtomicUsize; 5]);

impl Counts {
    fn add(&self, strike: Strike) {
        let which = match strike {
            Strike::Kill => 0,
            Strike::Error(_) => 1,
            Strike::Cut => 2,
            Strike::Stop => 3,
            Strike::Clock(_) => 4,
        };
        self.0[which].fetch_add(1, Ordering::Relaxed);
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [kills, errors, cuts, stops, clocks] = self.0.each_ref().map(|n| n.load(Ordering::Relaxed));
        write!(
            f,
            "each undisturbed and with one fault: {kills} kills, {errors} errors, {cuts} power cuts, {stops} stops, {clocks} clocks set"
        )
    }
}

/// Plays the history of a seed; its finding, if there is one.
fn one(
    seed: u64,
    actors: &mut Actors,
    log: &Path,
    counts: &Counts,
    played_steps: &AtomicUsize,
    shorten: impl FnOnce() -> bool,
) -> Option<String> {
    let mut draw = Draw::new(seed);
    let steps = history(&mut draw);
    played_steps.fetch_add(steps.len(), Ordering::Relaxed);
    let strike = Strike::draw(&mut draw, actors.on_disk.is_some());
    let at = Fault::step(&mut draw, &steps).unwrap_or(0);
    let mut stage = match (&mut actors.on_disk, strike) {
        (Some((disk, scene)), Strike::Cut) => Stage { scene, disk: Some(*disk) },
        _ => Stage { scene: &mut actors.scene, disk: None },
    };
    let clean = stage.play(&steps, &Special::Trace(at, log));
    if !clean.problems.is_empty() {
        let (steps, played) = match shorten() {
            true => shortened(&mut stage, steps, None, clean),
            false => (steps, clean),
        };
        return Some(told(seed, &steps, None, &played));
    }
    counts.add(strike);
    let place = &stage.scene.place;
    // What is done to a tree as a whole needs no room.
    let first = if steps[at] == Step::CleanUp { place.base.join("site") } else { place.root.clone() };
    let fault = Fault::draw(&mut draw, at, strike, &clean.calls, &first);
    let played = stage.play(&steps, &Special::Fault(&fault));
    if played.problems.is_empty() {
        return None;
    }
    if !shorten() {
        return Some(told(seed, &steps, Some(&fault), &played));
    }
    let mut fault = fault;
    let (steps, played) = shortened(&mut stage, steps, Some(&mut fault), played);
    Some(told(seed, &steps, Some(&fault), &played))
}

/// Leaves steps out while it still fails.
fn shortened(
    stage: &mut Stage,
    mut steps: Vec<Step>,
    mut fault: Option<&mut Fault>,
    mut played: Played,
) -> (Vec<Step>, Played) {
    let mut n = steps.len();
    while n > 0 {
        n -= 1;
        let at = fault.as_ref().map(|fault| fault.at);
        if at == Some(n) {
            continue;
        }
        let mut fewer = steps.clone();
        fewer.remove(n);
        let shifted = fault.as_deref().cloned().map(|mut fault| {
            fault.at -= usize::from(n < fault.at);
            fault
        });
        let tried = stage.play(&fewer, &shifted.as_ref().map_or(Special::Nothing, Special::Fault));
        if !tried.problems.is_empty() {
            (steps, played) = (fewer, tried);
            if let (Some(fault), Some(shifted)) = (fault.as_deref_mut(), shifted) {
                *fault = shifted;
            }
        }
    }
    (steps, played)
}

fn told(seed: u64, steps: &[Step], fault: Option<&Fault>, played: &Played) -> String {
    let how = fault.map_or("undisturbed".to_owned(), Fault::to_string);
    let problems = played.problems.join("\n  ");
    let script = script(steps, fault, played.again);
    format!("seed {seed}, {how}:\n  {problems}\n{script}").replace('\n', "\n    ")
}
