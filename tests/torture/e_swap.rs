//! E3: a directory that becomes a link and back while mail is sent and read. Everybody who may write into the room can do that;
//! nothing is ever written or read through the link.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::lab::{Findings, Lab, Outcome};
use crate::ledger::{body, whole};
use crate::place::{Place, ago, names_in, set_time, snapshot};

const FLIPS: usize = 100_000;

pub(crate) fn swapped_directories(lab: &Lab) -> Outcome {
    let (rounds, flips) = if lab.tier == 0 { (8, FLIPS / 50) } else { (60, FLIPS) };
    let findings = Findings::default();
    let mut figures = vec![];
    for folder in ["inbox", "tmp", "archive"] {
        figures.push(flip(lab, folder, rounds, flips / 3, &findings));
    }
    findings.verdict(format!("{}, 0 reads and 0 writes outside", figures.join("; ")))
}

/// Flips one folder of bob's mailbox while commands run.
fn flip(lab: &Lab, folder: &str, rounds: usize, flips: usize, findings: &Findings) -> String {
    let dir = lab.fast_dir();
    let place = Place::with(lab, dir.path(), &["alice", "bob"]);
    let trap = place.outside().join("trap");
    fs::create_dir(&trap).expect("a directory outside");
    let canary = trap.join("20200101T000000Z-0badcafe-canary.md");
    fs::write(
        &canary,
        format!("---\nfrom: x\nto: bob\nmsg_id: 0badcafe\nsubject: canary\n---\n\n{}", body("canary")),
    )
    .expect("a canary");
    set_time(&canary, ago(3600));
    let before = snapshot(&place.outside());
    let (real, link) = (place.folder("bob", folder), place.folder("bob", ".flip"));
    symlink(&trap, &link).expect("a link");
    let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (mut acked, mut refused) = (vec![], 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // An even number of exchanges, so that the directory is in its place at the end.
            while !stop.load(Ordering::Relaxed)
                || done.load(Ordering::Relaxed) < flips
                || !done.load(Ordering::Relaxed).is_multiple_of(2)
            {
                renameat_with(CWD, &real, CWD, &link, RenameFlags::EXCHANGE).expect("an exchange");
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
        for number in 0..rounds {
            let key = format!("{folder}-{number}");
            let text = body(&key);
            for words in [
                &["--as", "alice", "send", "bob", "-m", &text][..],
                &["--as", "bob", "check"],
                &["--as", "bob", "read"],
            ] {
                let ended = place.run(words);
                findings.extend(folder, ended.crash());
                refused += usize::from(matches!(ended.code, Some(4 | 5)));
                findings.check(!ended.stdout().contains("canary"), || {
                    format!("{words:?} read outside: {}", ended.shown())
                });
                if words.contains(&"send") && ended.ok() {
                    acked.push(key.clone());
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    fs::remove_file(&link).expect("the link is where it was");
    findings.check(snapshot(&place.outside()) == before, || format!("{folder}: something outside changed"));
    let here: Vec<String> = ["inbox", "archive", "tmp"]
        .iter()
        .flat_map(|folder| {
            names_in(&place.folder("bob", folder))
                .into_iter()
                .map(|name| place.folder("bob", folder).join(name))
        })
        .filter_map(|path| {
            whole(&path.file_name()?.to_string_lossy(), &fs::read(&path).ok()?).ok().map(|seen| seen.key)
        })
        .collect();
    for key in &acked {
        findings.check(here.contains(key), || format!("{key} was acknowledged and is gone"));
    }
    findings.extend(folder, place.doctor());
    format!(
        "{folder}: {} flips, {} commands, {} acknowledged, {refused} refused",
        done.into_inner(),
        rounds * 3,
        acked.len()
    )
}
