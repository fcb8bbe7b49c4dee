//! P5: files of other programs, in which `install`, `uninstall`, `trust`, shared files and `.gitignore` work.
//!
//! A command is killed at each of its system calls; each call fails once; and at each call it is stopped while another
//! program saves the file, in place or by a rename, and then goes on. What the other program saved is there afterwards, to
//! the byte. Without it, the files are what they were once everything is taken out again, and nothing is left beside them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::a_errno::CANNOT_FAIL;
use crate::lab::{Findings, Lab, Outcome, need, spread};
use crate::p_scene::{Deed, Scene, Writer};
use crate::process::Ended;
use crate::strace::{self, Call, Point};

/// Whether nothing above the battery keeps a command from being a person's.
fn may_be_person() -> bool {
    use postroom::person::{NoPerson, look};
    matches!(look(false), Ok(()) | Err(NoPerson::NoTerminal | NoPerson::Background))
}

/// One run that is disturbed.
enum Strike {
    Kill(Point),
    Fail(Point),
    /// Another program saves the file while the command is stopped after this call.
    Race(Point, Writer),
    /// The same after every call of this name.
    Again(String, Writer),
}

pub(crate) fn settings_of_others(lab: &Lab) -> Outcome {
    need("strace")?;
    let findings = Findings::default();
    let mut figures: BTreeMap<&str, AtomicUsize> = BTreeMap::new();
    for word in ["kills", "errors", "saves", "put back"] {
        figures.insert(word, AtomicUsize::new(0));
    }
    for deed in Deed::ALL.into_iter().filter(|deed| !deed.is_persons() || may_be_person()) {
        let dir = lab.fast_dir();
        let scenes: Vec<Scene> =
            (0..lab.workers).map(|n| Scene::prepare(lab, &dir.path().join(format!("w{n}")), deed)).collect();
        let first = &scenes[0];
        let (clean, calls) = strace::trace(&first.run(), &dir.path().join("log"), &[]);
        findings.check(clean.ok(), || format!("{deed:?}: undisturbed: {}", clean.shown()));
        findings.extend(&format!("{deed:?}: undisturbed"), first.finish(None));
        let all = strikes(&calls, first, lab.tier);
        spread(lab.workers, &all, |n, strike| disturb(deed, &scenes[n], strike, &findings, &figures));
    }
    let count = |word: &str| figures[word].load(Ordering::Relaxed);
    findings.verdict(format!(
        "{} kills, {} errors and {} saves by others in {} deeds; {} times a command met a save and said so",
        count("kills"),
        count("errors"),
        count("saves"),
        Deed::ALL.len(),
        count("put back"),
    ))
}

/// Tier 1 disturbs every call; each is raced by one of the writers, those that name the file by both. Errors meet the
/// calls that name the file's directory, and some of the rest; so does everything in a deed that differs from another one
/// by this file alone.
fn strikes(calls: &[Call], scene: &Scene, tier: u8) -> Vec<Strike> {
    // With the slash, because every call is made in this directory.
    let mut own = strace::own_points(calls, &scene.place.base.join(""));
    own.retain(|(point, _)| !CANNOT_FAIL.contains(&point.name.as_str()));
    let name = scene.target().file_name().expect("a name").to_string_lossy().into_owned();
    let above = format!("{}/", scene.target().parent().expect("a directory").display());
    let mut all = vec![];
    let (mut changing, mut naming) = (0, 0);
    for (turn, (point, call)) in own.into_iter().enumerate() {
        let names = call.arguments.contains(&name);
        changing += usize::from(call.changes_files());
        naming += usize::from(names);
        let is_near = names || call.arguments.contains(above.trim_end_matches('/'));
        let wanted = match tier {
            0 => [
                call.changes_files() && changing % 12 == 1,
                is_near && turn % 16 == 0,
                names && (scene.removes() || naming % 3 == 0),
            ],
            _ if scene.is_variant() => [is_near || turn % 8 == 0; 3],
            _ => [true, is_near || turn % 8 == 0, true],
        };
        let mut writers = if turn % 2 == 0 { vec![Writer::InPlace] } else { vec![Writer::ByRename] };
        if names && tier > 0 {
            writers = vec![Writer::InPlace, Writer::ByRename];
        }
        if wanted[0] {
            all.push(Strike::Kill(point.clone()));
        }
        if wanted[1] {
            all.push(Strike::Fail(point.clone()));
        }
        if wanted[2] {
            all.extend(writers.into_iter().map(|writer| Strike::Race(point.clone(), writer)));
        }
    }
    // Those between which a file is looked at, changed, looked at again and put back.
    let names: &[&str] = match tier {
        0 => &["fsync"],
        _ => &["fsync", "renameat2", "openat", "fstat", "newfstatat", "read", "unlinkat"],
    };
    for name in names.iter().filter(|name| calls.iter().any(|call| call.name == **name)) {
        let both = [Writer::InPlace, Writer::ByRename];
        all.extend(both.map(|writer| Strike::Again((*name).to_owned(), writer)));
    }
    all
}

fn disturb(
    deed: Deed,
    scene: &Scene,
    strike: &Strike,
    findings: &Findings,
    figures: &BTreeMap<&str, AtomicUsize>,
) {
    scene.restore();
    let count = |word: &str, more| figures[word].fetch_add(more, Ordering::Relaxed);
    let before = fs::read(scene.target()).ok();
    match strike {
        Strike::Kill(point) => {
            let at = format!("{deed:?} killed at {point}");
            let killed = strace::struck(&scene.run(), point, "signal=KILL").end();
            count("kills", usize::from(killed.was_killed()));
            let now = fs::read(scene.target()).ok();
            findings.check(now == before || now == scene.after, || format!("{at}: the file is neither"));
            scene.sweep();
            findings.extend(&at, scene.finish(None));
        }
        Strike::Fail(point) => {
            let at = format!("{deed:?} with EIO at {point}");
            let ended = strace::struck(&scene.run(), point, "error=EIO").end();
            count("errors", 1);
            findings.extend(&at, ended.crash());
            let now = fs::read(scene.target()).ok();
            if ended.ok() {
                findings.check(now == scene.after, || format!("{at}: it says done: {}", ended.shown()));
            }
            // Where the removal is what failed, the next run has to do it, or nobody can.
            if point.name.starts_with("unlink") {
                scene.sweep();
            } else {
                findings.extend(&at, scene.beside().into_iter().map(|name| format!("it left {name}")));
            }
            findings.extend(&at, scene.finish(None));
        }
        Strike::Race(point, writer) => {
            let rule = format!("{}:signal=STOP:when={}", point.name, point.nth);
            let at = format!("{deed:?} raced {writer:?} at {point}");
            raced(scene, &point.name, &rule, *writer, &at, findings, &count);
        }
        Strike::Again(name, writer) => {
            let rule = format!("{name}:signal=STOP:when=1+");
            let at = format!("{deed:?} raced {writer:?} at every {name}");
            raced(scene, name, &rule, *writer, &at, findings, &count);
        }
    }
}

fn raced(
    scene: &Scene,
    call: &str,
    rule: &str,
    writer: Writer,
    at: &str,
    findings: &Findings,
    count: &dyn Fn(&str, usize) -> usize,
) {
    let mut saved = 0;
    let ended = strace::stopped(&scene.run(), call, rule, || {
        saved += 1;
        save(&scene.target(), &scene.saved(saved), writer);
    });
    count("saves", saved);
    count("put back", usize::from(!ended.ok()));
    findings.extend(at, ended.crash());
    if saved == 0 {
        return findings.extend(at, scene.finish(None));
    }
    let now = fs::read_to_string(scene.target()).unwrap_or_default();
    findings.check(now.contains(&scene.mark(saved)), || {
        format!("{at}: what was saved is lost: {}", ended.shown())
    });
    is_reported(scene, &ended, at, findings);
    findings.extend(at, scene.finish(Some(saved)));
}

/// An earlier save may lie beside the file if a later one came while it was put back, and then the command says so.
fn is_reported(scene: &Scene, ended: &Ended, at: &str, findings: &Findings) {
    for name in scene.beside() {
        let path = scene.target().with_file_name(&name);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let is_told = ended.stderr().contains(&name) && text.contains("saved");
        findings.check(is_told, || format!("{at}: it left {name} without a word: {}", ended.shown()));
        fs::remove_file(path).expect("a file that was left can be removed");
    }
}

/// Saves a file as another program does.
fn save(path: &Path, text: &str, writer: Writer) {
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory for the file");
    match writer {
        Writer::InPlace => fs::write(path, text).expect("a file can be saved"),
        Writer::ByRename => {
            let new = path.with_extension("other");
            fs::write(&new, text).and_then(|()| fs::rename(&new, path)).expect("a file can be saved");
        }
    }
}
