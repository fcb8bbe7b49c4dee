//! C4: two machines. A room is copied, both copies are used, and the trees are merged as a program that synchronises
//! directories does it: what only one has is copied, and of a file that both changed one version stays. Every message is
//! there afterwards, and what the registry lost is reported and repaired.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::lab::{Findings, Lab, Outcome};
use crate::ledger::{body, whole};
use crate::place::{Place, copy_tree, names_in};

const FOLDERS: [&str; 3] = ["inbox", "archive", "failed"];

pub(crate) fn two_machines(lab: &Lab) -> Outcome {
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let place = Place::with(lab, dir.path(), &["alice", "bob"]);
    let mut sent = BTreeSet::new();
    let mut send = |from: &str, to: &str, key: String| {
        place.ok(&["--as", from, "send", to, "-s", "same subject", "-m", &body(&key)]);
        sent.insert(key);
    };
    for number in 0..4 {
        send("alice", "bob", format!("before-{number}"));
    }
    place.save();
    let kept = |name: &str| place.base.join(name);
    // Each machine reads, claims, sends, and registers somebody of its own and somebody whom the other registers too.
    for (machine, own) in [("left", "dave"), ("right", "erin")] {
        place.restore();
        for name in [own, "frank"] {
            place.ok(&["setup", "--child", name]);
        }
        for number in 0..10 {
            send("alice", "bob", format!("{machine}-{number}"));
            send("bob", own, format!("{machine}-own-{number}"));
            send("alice", "frank", format!("{machine}-frank-{number}"));
        }
        place.ok(&["--as", "bob", "read"]);
        let claim = place.ok(&["--as", "bob", "claim", "--json"]);
        let told: serde_json::Value = serde_json::from_slice(&claim.out).unwrap_or_default();
        place.ok(&["--as", "bob", "done", told["claim"]["token"].as_str().expect("a token")]);
        fs::rename(&place.root, kept(machine)).expect("the room of one machine");
    }
    copy_tree(&kept("left"), &place.root);
    let conflicts = merge(&kept("right"), &place.root);
    findings.check(conflicts.iter().any(|path| path.ends_with("registry.json")), || {
        format!("no conflict: {conflicts:?}")
    });
    let here = everything(&place, &findings);
    let lost: Vec<&String> = sent.iter().filter(|key| !here.contains(*key)).collect();
    findings.check(lost.is_empty(), || format!("lost: {lost:?}"));
    let told = place.run(&["doctor"]);
    for name in ["erin", "frank"] {
        let reported = told.code == Some(4)
            && told.stdout().contains(&format!("the name `{name}` on its card and no entry"));
        findings.check(reported, || format!("the loss of {name} is not reported: {}", told.shown()));
    }
    let repaired = place.run(&["doctor", "--fix"]);
    findings.check(repaired.ok(), || format!("not repaired: {}", repaired.stdout()));
    findings.extend("repaired", place.doctor());
    findings.check(everything(&place, &findings) == here, || "repairing moved mail".to_owned());
    let names = place.ok(&["names"]).stdout();
    let franks = names.lines().filter(|line| line.contains("frank")).count();
    findings.check(franks == 2, || format!("the two called frank: {names}"));
    for name in ["dave", "erin", "frank", "bob"] {
        let ended = place.run(&["--as", name, "check", "--count"]);
        findings.check(ended.ok(), || format!("{name} after the merge: {}", ended.shown()));
    }
    findings.verdict(format!(
        "{} messages of two machines, 0 lost; {} files in conflict, 2 lost names reported and repaired",
        sent.len(),
        conflicts.len()
    ))
}

/// Copies what the other tree alone has. Gives the files that both have with different contents.
fn merge(from: &Path, to: &Path) -> Vec<String> {
    let mut conflicts = vec![];
    for name in names_in(from) {
        let (ours, theirs) = (to.join(&name), from.join(&name));
        if !ours.exists() {
            copy_tree(&theirs, &ours);
        } else if theirs.is_dir() {
            conflicts.extend(merge(&theirs, &ours));
        } else if fs::read(&theirs).ok() != fs::read(&ours).ok() {
            conflicts.push(theirs.display().to_string());
        }
    }
    conflicts
}

/// The keys of all messages, each of which has to be whole.
fn everything(place: &Place, findings: &Findings) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for mailbox in names_in(&place.root)
        .into_iter()
        .filter(|name| !name.starts_with('.') && place.root.join(name).is_dir())
    {
        for folder in FOLDERS {
            let folder = place.root.join(&mailbox).join(folder);
            for name in names_in(&folder) {
                match whole(&name, &fs::read(folder.join(&name)).unwrap_or_default()) {
                    Ok(seen) => drop(keys.insert(seen.key)),
                    Err(why) => findings.add(why),
                }
            }
        }
    }
    keys
}
