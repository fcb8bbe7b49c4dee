//! D2: the power is cut at random while many work. Senders, readers and workers share a small disk; after a random time
//! it is cut off under them. What was acknowledged is there and whole after the mount, and the doctor finds nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::disk::{Disk, Kind};
use crate::l_fence::Draws;
use crate::lab::{Findings, Lab, NotPassed, Outcome, need};
use crate::ledger::{body, whole};
use crate::place::{Place, names_in};

const SENDERS: usize = 4;
const READERS: usize = 2;

pub(crate) fn cut_under_load(lab: &Lab) -> Outcome {
    need("mkfs.ext4")?;
    if !lab.is_root() {
        return Err(NotPassed::Skipped("needs root and a loop device".to_owned()));
    }
    let each = if lab.tier == 1 { 10 } else { 200 };
    let findings = Findings::default();
    let mut draws = Draws::new(3);
    let mut total = Load::default();
    for kind in [Kind::EXT4, Kind::WRITEBACK] {
        for _ in 0..each {
            let dir = lab.fast_dir();
            let load = cut_once(lab, dir.path(), kind, &mut draws, &findings)?;
            total.acked += load.acked;
            total.done += load.done;
        }
    }
    findings.check(total.acked > 0 && total.done > 0, || "nothing was acknowledged before a cut".to_owned());
    findings.verdict(format!(
        "{each} cuts with data=ordered and {each} with data=writeback, {} sends and {} reads acknowledged before, 0 lost, 0 partial",
        total.acked, total.done
    ))
}

/// What was acknowledged before a cut.
#[derive(Default)]
pub(crate) struct Load {
    pub(crate) acked: usize,
    pub(crate) done: usize,
}

/// Lets everybody work on a new disk for a random time, cuts it off, and judges what is left.
pub(crate) fn cut_once(
    lab: &Lab,
    base: &Path,
    kind: Kind,
    draws: &mut Draws,
    findings: &Findings,
) -> Result<Load, NotPassed> {
    let disk = Disk::new(&base.join("disk"), kind)?;
    let names: Vec<String> =
        (0..READERS).map(|n| format!("r{n}")).chain((0..SENDERS).map(|n| format!("s{n}"))).collect();
    let place =
        Place::with(lab, &disk.mount.join("work"), &names.iter().map(String::as_str).collect::<Vec<_>>());
    disk.settle();
    let time = Duration::from_millis(50 + draws.next() % 1500);
    let at = format!("{:?} cut after {time:?}", kind.word);
    let (off, next) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (acked, done): (Mutex<BTreeMap<String, usize>>, Mutex<BTreeSet<String>>) = Default::default();
    std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let (place, off, next, acked) = (&place, &off, &next, &acked);
            scope.spawn(move || {
                while !off.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let (key, reader) = (format!("k{number}"), number % READERS);
                    let ended = place.run(&[
                        "--as",
                        &format!("s{sender}"),
                        "send",
                        &format!("r{reader}"),
                        "-s",
                        &key,
                        "-m",
                        &body(&key),
                    ]);
                    if ended.ok() && ended.stdout().starts_with("queued ") {
                        acked.lock().unwrap().insert(key, reader);
                    }
                }
            });
        }
        for reader in 0..READERS {
            let (place, off, done) = (&place, &off, &done);
            scope.spawn(move || {
                while !off.load(Ordering::Relaxed) {
                    let ended = place.run(&["--as", &format!("r{reader}"), "read", "-q"]);
                    let shown = ended.stdout();
                    let key = shown.lines().find_map(|line| line.strip_prefix("key "));
                    if let Some(key) = key.filter(|_| ended.ok()) {
                        done.lock().unwrap().insert(key.to_owned());
                    }
                }
            });
        }
        std::thread::sleep(time);
        disk.power_off();
        off.store(true, Ordering::Relaxed);
    });
    disk.power_on();
    let (acked, done) = (acked.into_inner().unwrap(), done.into_inner().unwrap());
    judge(&place, &at, &acked, &done, findings);
    findings.extend(&at, place.doctor());
    Ok(Load { acked: acked.len(), done: done.len() })
}

fn judge(
    place: &Place,
    at: &str,
    acked: &BTreeMap<String, usize>,
    done: &BTreeSet<String>,
    findings: &Findings,
) {
    let mut lies: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for reader in (0..READERS).map(|n| format!("r{n}")) {
        for folder in ["inbox", "archive"] {
            for (file, bytes) in place.messages(&reader, folder) {
                match whole(&file, &bytes) {
                    Ok(seen) => lies.entry(seen.key).or_default().push(format!("{folder} of {reader}")),
                    Err(why) => findings.add(format!("{at}: partial in {folder} of {reader}: {why}")),
                }
            }
        }
        for lost in names_in(&place.folder(&reader, "quarantine")) {
            findings.add(format!("{at}: {lost} is in quarantine"));
        }
    }
    for (key, copies) in &lies {
        findings.check(copies.len() == 1, || format!("{at}: {key} is in {copies:?}"));
    }
    for (key, reader) in acked {
        let right = lies.get(key).is_some_and(|copies| copies[0].ends_with(&format!("r{reader}")));
        findings.check(right, || format!("{at}: {key} was acknowledged and is lost"));
    }
    for key in done {
        let archived = lies.get(key).is_some_and(|copies| copies[0].starts_with("archive"));
        findings.check(archived, || format!("{at}: {key} was read with success and is unread again"));
    }
}
