//! N: the courier. Rooms on three machines write to each other while links are cut or swallow packets, couriers and the server
//! are killed, streams are wiped or replaced by old ones, and the disk of the server is full. In the end every letter is in its
//! mailbox once, in the order of its sender, and every sender knows it.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::l_fence::Draws;
use crate::lab::{Findings, Lab, NotPassed, Outcome, need};
use crate::n_scene::{Scene, Site, quietly};

const NAMES: [&str; 3] = ["anna", "build", "cloud"];
/// A mailbox that every machine had, and the letters of each machine to each other one that find it gone.
const GONE: &str = "gone";
const LOST: usize = 5;
/// How many of its letters a sender is asked about.
const KNOWN: usize = 3000;
/// How long everything may take to settle after the last fault.
const SETTLED: Duration = Duration::from_secs(240);

/// Which faults a trial has.
#[derive(Clone, Copy, Default)]
struct Faults {
    kills: bool,
    links: bool,
    losses: bool,
    full: bool,
    cuts: bool,
}

/// How much of it.
struct Size {
    /// Letters of each machine to each other one.
    letters: usize,
    faults: usize,
}

/// N1: an exchange without faults.
pub(crate) fn exchange(lab: &Lab) -> Outcome {
    let size = Size { letters: if lab.tier == 0 { 8 } else { 300 }, faults: 0 };
    trial(lab, &size, Faults::default(), Site::PLAIN, 1)
}

/// N3: couriers and the server are killed at random points.
pub(crate) fn killed(lab: &Lab) -> Outcome {
    let size =
        if lab.tier == 0 { Size { letters: 12, faults: 8 } } else { Size { letters: 1000, faults: 500 } };
    trial(lab, &size, Faults { kills: true, ..Faults::default() }, Site::PLAIN, 3)
}

/// N4: the stream is wiped, or replaced by an old one.
pub(crate) fn forgetful(lab: &Lab) -> Outcome {
    let size = if lab.tier == 0 { Size { letters: 8, faults: 3 } } else { Size { letters: 600, faults: 40 } };
    trial(lab, &size, Faults { losses: true, ..Faults::default() }, Site::PLAIN, 4)
}

/// N5: the power of the server is cut, with a server that syncs each write and with one that syncs later.
pub(crate) fn power_cut(lab: &Lab) -> Outcome {
    need("mkfs.ext4")?;
    if !lab.is_root() {
        return Err(NotPassed::Skipped("needs root and a loop device".to_owned()));
    }
    let size =
        if lab.tier == 1 { Size { letters: 200, faults: 20 } } else { Size { letters: 1000, faults: 100 } };
    let faults = Faults { cuts: true, ..Faults::default() };
    let run = |syncs| trial(lab, &size, faults, Site { disk: true, syncs, ..Site::PLAIN }, 5);
    Ok(format!("a server that syncs each write: {}; one that syncs later: {}", run(true)?, run(false)?))
}

/// N6: links are cut and swallow packets, and everything else happens too.
pub(crate) fn partitions(lab: &Lab) -> Outcome {
    need("ip")?;
    if !lab.is_root() {
        return Err(NotPassed::Skipped(
            "needs root, for namespaces and a disk that can be filled".to_owned(),
        ));
    }
    let size = match lab.tier {
        1 => Size { letters: 1000, faults: 200 },
        _ => Size { letters: 10_000, faults: 850 },
    };
    let faults = Faults { kills: true, links: true, losses: true, full: true, cuts: false };
    trial(lab, &size, faults, Site { spaces: true, ..Site::PLAIN }, 6)
}

/// Who writes to whom.
fn pairs() -> Vec<(usize, usize)> {
    let all = 0..NAMES.len();
    all.clone().flat_map(|from| all.clone().filter(move |to| *to != from).map(move |to| (from, to))).collect()
}

fn trial(lab: &Lab, size: &Size, faults: Faults, site: Site, seed: u64) -> Outcome {
    let dir = lab.fast_dir();
    let seed = lab.seeds.as_ref().map_or(seed, |seeds| seeds.start);
    let mut draws = Draws::new(seed);
    let mut scene = Scene::new(lab, dir.path(), &NAMES, site)?;
    if faults.full {
        // The store of the server is a disk of its own that can be filled.
        scene.kill_server();
        let store = scene.store();
        if !quietly(Command::new("mount").args(["-t", "tmpfs", "-o", "size=48m", "tmpfs"]).arg(&store)) {
            return Err(NotPassed::Skipped("a small disk in memory could not be mounted".to_owned()));
        }
        scene.start_server();
    }
    let findings = Findings::default();
    // What cannot be delivered has to be told too.
    for (from, to) in &pairs() {
        for number in 0..LOST {
            let (address, subject) = (format!("{GONE}@{}", NAMES[*to]), format!("{GONE}{number}"));
            if let Err(why) = scene.send(*from, &address, &subject) {
                findings.add(format!("{address} {subject}: {why}"));
            }
        }
    }
    for (number, name) in NAMES.iter().enumerate() {
        let (is_gone, said) = scene.say(number, &["--as", name, "prune", "--yes", GONE]);
        findings.check(is_gone, || format!("prune {GONE}: {said}"));
    }
    (0..NAMES.len()).for_each(|number| scene.start_courier(number));
    let start = Instant::now();
    let mut sent: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let pairs = pairs();
    let total = size.letters * pairs.len();
    let every = total.checked_div(size.faults).unwrap_or(usize::MAX).max(1);
    let (mut done, mut struck) = (0, BTreeMap::<&str, usize>::new());
    let snapshot = dir.path().join("snapshot");
    while done < total {
        let open: Vec<&(usize, usize)> =
            pairs.iter().filter(|pair| sent.get(pair).copied().unwrap_or(0) < size.letters).collect();
        let (from, to) = *open[draws.below(open.len())];
        let number = sent.entry((from, to)).or_default();
        let (address, subject) = (format!("{0}@{0}", NAMES[to]), format!("{number:06}"));
        if let Err(why) = scene.send(from, &address, &subject) {
            findings.add(format!("{address} {subject}: {why}"));
            break;
        }
        *number += 1;
        done += 1;
        if done % every == 0 && done < total {
            let kind = strike(&mut scene, faults, &mut draws, &snapshot);
            *struck.entry(kind).or_default() += 1;
        }
    }
    // Everything works again.
    for number in 0..NAMES.len() {
        scene.link(number, true);
        scene.half_open(number, false);
        scene.start_courier(number);
    }
    let ended = Instant::now();
    let patience = SETTLED.max(start.elapsed());
    while !scene.is_settled() && ended.elapsed() < patience {
        std::thread::sleep(Duration::from_millis(200));
    }
    findings.check(scene.is_settled(), || {
        let (_, status) = scene.say(0, &["courier", "status"]);
        format!("not settled after {:?}: {status} {}", ended.elapsed(), scene.tail_of_log())
    });
    judge(&scene, &sent, &findings);
    let struck: Vec<String> = struck.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let links = if scene.has_links() { ", in namespaces" } else { "" };
    if faults.full {
        scene.kill_server();
        quietly(Command::new("umount").arg("-l").arg(scene.store()));
    }
    findings.verdict(format!(
        "{done} letters between three machines{links}, their clocks an hour apart; {}; settled in {:.1} s",
        if struck.is_empty() { "no faults".to_owned() } else { struck.join(", ") },
        ended.elapsed().as_secs_f64()
    ))
}

/// One fault, and sometimes the end of an earlier one.
fn strike(scene: &mut Scene, faults: Faults, draws: &mut Draws, snapshot: &std::path::Path) -> &'static str {
    let number = draws.below(NAMES.len());
    let mut kinds = vec![];
    if faults.kills {
        // Of all faults together, three in five.
        let often = if faults.links { 4 } else { 1 };
        kinds.extend(["couriers killed", "couriers killed", "servers killed"].repeat(often));
    }
    if faults.links && scene.has_links() {
        kinds.extend(["links cut", "links half open", "links restored"]);
    }
    if faults.losses {
        kinds.extend(["streams wiped", "snapshots restored", "snapshots taken"]);
    }
    if faults.full {
        kinds.push("disks full");
    }
    if faults.cuts {
        kinds.push("powers cut");
    }
    let kind = kinds[draws.below(kinds.len())];
    let cp = |from: &std::path::Path, to: &std::path::Path| {
        quietly(Command::new("cp").arg("-aT").arg(from).arg(to))
    };
    let empty = |dir: &std::path::Path| {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let _ = fs::remove_dir_all(entry.path());
            let _ = fs::remove_file(entry.path());
        }
    };
    match kind {
        "couriers killed" => {
            scene.kill_courier(number);
            std::thread::sleep(Duration::from_millis(draws.below(30) as u64));
            scene.start_courier(number);
        }
        "servers killed" => {
            scene.kill_server();
            std::thread::sleep(Duration::from_millis(draws.below(100) as u64));
            scene.start_server();
        }
        "powers cut" => {
            std::thread::sleep(Duration::from_millis(draws.below(200) as u64));
            scene.cut_power();
        }
        "links cut" => scene.link(number, false),
        "links half open" => scene.half_open(number, true),
        "links restored" => (0..NAMES.len()).for_each(|number| {
            scene.link(number, true);
            scene.half_open(number, false);
        }),
        "snapshots taken" => {
            scene.kill_server();
            let _ = fs::remove_dir_all(snapshot);
            cp(&scene.store(), snapshot);
            scene.start_server();
        }
        "streams wiped" | "snapshots restored" => {
            scene.kill_server();
            empty(&scene.store());
            if kind == "snapshots restored" && snapshot.exists() {
                cp(snapshot, &scene.store());
            }
            scene.start_server();
        }
        _ => {
            let ballast = scene.store().join("ballast");
            quietly(
                Command::new("dd").args(["if=/dev/zero", "bs=64k"]).arg(format!("of={}", ballast.display())),
            );
            std::thread::sleep(Duration::from_millis(300));
            let _ = fs::remove_file(ballast);
        }
    }
    kind
}

/// Every mailbox has every letter once, in the order of its sender; and every sender knows.
fn judge(scene: &Scene, sent: &BTreeMap<(usize, usize), usize>, findings: &Findings) {
    for ((from, to), count) in sent {
        let sender = format!("{0}@{0}", NAMES[*from]);
        let got: Vec<String> = scene
            .received(*to)
            .into_iter()
            .filter(|(name, _)| *name == sender)
            .map(|(_, subject)| subject)
            .collect();
        let wanted: Vec<String> = (0..*count).map(|number| format!("{number:06}")).collect();
        if got != wanted {
            let lost = wanted.iter().filter(|subject| !got.contains(subject)).count();
            let mut once = got.clone();
            once.sort();
            once.dedup();
            let doubled = got.len() - once.len();
            let at = got.iter().zip(&wanted).position(|(one, other)| one != other);
            findings.add(format!(
                "{sender} to {}: {} of {count} arrived, {lost} lost, {doubled} doubled, out of order at {at:?}",
                NAMES[*to],
                got.len()
            ));
        }
    }
    let lost = LOST * (NAMES.len() - 1);
    for (number, name) in NAMES.iter().enumerate() {
        // Of many, the newest: each is looked for by itself, among all of them.
        let limit = KNOWN.to_string();
        let (_, text) = scene.say(number, &["--as", name, "sent", "--json", "--limit", &limit]);
        let Ok(all) = serde_json::from_str::<serde_json::Value>(&text) else {
            findings.add(format!("{name} sent: {text}"));
            continue;
        };
        let mut failed = 0;
        for letter in all["sent"].as_array().into_iter().flatten() {
            let is_lost = letter["subject"].as_str().is_some_and(|subject| subject.starts_with(GONE));
            failed += usize::from(is_lost);
            let wanted = if is_lost { "failed" } else { "delivered" };
            findings.check(letter["state"] == wanted, || format!("{name} believes {letter}"));
        }
        let all: usize = sent.iter().filter(|((from, _), _)| *from == number).map(|(_, count)| count).sum();
        if all + lost <= KNOWN {
            findings
                .check(failed == lost, || format!("{name} knows of {failed} letters to {GONE}, not {lost}"));
        }
        let counted: u64 = scene.peers(number).iter().filter_map(|peer| peer["failed"].as_u64()).sum();
        findings.check(counted == lost as u64, || {
            format!("{name} counts {counted} letters that failed, not {lost}")
        });
        let told =
            scene.subjects(number).iter().filter(|subject| subject.starts_with("failed: gone")).count();
        findings
            .check(told == lost, || format!("{name} was told {told} times of {lost} letters that failed"));
    }
}
