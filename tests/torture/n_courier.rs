//! N: the courier. Rooms on three machines write to each other while links are cut or swallow packets, couriers and the server
//! are killed, streams are wiped or replaced by old ones, and the disk of the server is full. In the end every letter is in its
//! mailbox once, in the order of its sender, and every sender knows it.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::l_fence::Draws;
use crate::lab::{Findings, Lab, Outcome};
use crate::n_scene::{Scene, quietly};

const NAMES: [&str; 3] = ["anna", "build", "cloud"];
/// How long everything may take to settle after the last fault.
const SETTLED: Duration = Duration::from_secs(240);

/// Which faults a trial has.
#[derive(Clone, Copy)]
struct Faults {
    kills: bool,
    links: bool,
    losses: bool,
    full: bool,
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
    trial(lab, &size, Faults { kills: false, links: false, losses: false, full: false }, 1)
}

/// N3: couriers and the server are killed at random points.
pub(crate) fn killed(lab: &Lab) -> Outcome {
    let size =
        if lab.tier == 0 { Size { letters: 12, faults: 8 } } else { Size { letters: 1000, faults: 500 } };
    trial(lab, &size, Faults { kills: true, links: false, losses: false, full: false }, 3)
}

/// N4: the stream is wiped, or replaced by an old one.
pub(crate) fn forgetful(lab: &Lab) -> Outcome {
    let size = if lab.tier == 0 { Size { letters: 8, faults: 3 } } else { Size { letters: 600, faults: 40 } };
    trial(lab, &size, Faults { kills: false, links: false, losses: true, full: false }, 4)
}

/// N6: links are cut and swallow packets, and everything else happens too.
pub(crate) fn partitions(lab: &Lab) -> Outcome {
    let size = match lab.tier {
        1 => Size { letters: 1000, faults: 200 },
        _ => Size { letters: 10_000, faults: 500 },
    };
    trial(lab, &size, Faults { kills: true, links: true, losses: true, full: true }, 6)
}

fn trial(lab: &Lab, size: &Size, faults: Faults, seed: u64) -> Outcome {
    let dir = lab.fast_dir();
    let seed = lab.seeds.as_ref().map_or(seed, |seeds| seeds.start);
    let mut draws = Draws::new(seed);
    let mut scene = Scene::new(lab, dir.path(), &NAMES, faults.links)?;
    if faults.full {
        // The store of the server is a disk of its own that can be filled.
        scene.kill_server();
        let store = scene.store();
        quietly(Command::new("mount").args(["-t", "tmpfs", "-o", "size=48m", "tmpfs"]).arg(&store));
        scene.start_server();
    }
    (0..NAMES.len()).for_each(|number| scene.start_courier(number));
    let start = Instant::now();
    let mut sent: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let pairs: Vec<(usize, usize)> =
        (0..3).flat_map(|from| (0..3).filter(move |to| *to != from).map(move |to| (from, to))).collect();
    let total = size.letters * pairs.len();
    let every = total.checked_div(size.faults).unwrap_or(usize::MAX).max(1);
    let (mut done, mut struck) = (0, BTreeMap::<&str, usize>::new());
    let snapshot = dir.path().join("snapshot");
    let findings = Findings::default();
    while done < total {
        let open: Vec<&(usize, usize)> =
            pairs.iter().filter(|pair| sent.get(pair).copied().unwrap_or(0) < size.letters).collect();
        let (from, to) = *open[draws.below(open.len())];
        let number = sent.entry((from, to)).or_default();
        let (address, subject) = (format!("{0}@{0}", NAMES[to]), format!("{number:06}"));
        let words = ["--as", NAMES[from], "send", &address, "-s", &subject, "-m", "text"];
        let (is_sent, said) = scene.say(from, &words);
        findings.check(is_sent, || format!("{words:?}: {said}"));
        if !is_sent {
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
        "{done} letters between three machines{links}; {}; settled in {:.1} s",
        if struck.is_empty() { "no faults".to_owned() } else { struck.join(", ") },
        ended.elapsed().as_secs_f64()
    ))
}

/// One fault, and sometimes the end of an earlier one.
fn strike(scene: &mut Scene, faults: Faults, draws: &mut Draws, snapshot: &std::path::Path) -> &'static str {
    let number = draws.below(NAMES.len());
    let mut kinds = vec![];
    if faults.kills {
        kinds.extend(["couriers killed", "couriers killed", "servers killed"]);
    }
    if faults.links && scene.has_links() {
        kinds.extend(["links cut", "links half open", "links mended"]);
    }
    if faults.losses {
        kinds.extend(["streams wiped", "snapshots restored", "snapshots taken"]);
    }
    if faults.full {
        kinds.push("disks full");
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
        "links cut" => scene.link(number, false),
        "links half open" => scene.half_open(number, true),
        "links mended" => (0..NAMES.len()).for_each(|number| {
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
    for (number, name) in NAMES.iter().enumerate() {
        let (_, text) = scene.say(number, &["--as", name, "sent", "--json", "--limit", "1000"]);
        let Ok(all) = serde_json::from_str::<serde_json::Value>(&text) else {
            findings.add(format!("{name} sent: {text}"));
            continue;
        };
        for letter in all["sent"].as_array().into_iter().flatten() {
            findings.check(letter["state"] == "delivered", || format!("{name} believes {letter}"));
        }
    }
}
