//! A prune beside senders: an acknowledged message is in its mailbox, or its sender was told that it is not.

use crate::support::edges_strike::{can_be_struck, points, stopped, struck};
use crate::support::room::TestRoom;

const CALLS: &str = "openat,renameat2,renameat,fsync,unlinkat,flock,getdents64";

/// How often a text is in the inbox of bob, in the room and not in its trash.
fn delivered(room: &TestRoom, text: &str) -> usize {
    let found =
        room.bash(&format!("cat \"$POSTROOM_ROOT\"/bob-*/inbox/*.md 2>/dev/null | grep -cx '{text}'"));
    found.ends().out.trim().parse().unwrap()
}

#[test]
fn a_sender_that_is_overtaken_by_a_prune_is_told() {
    if !can_be_struck("a_sender_that_is_overtaken_by_a_prune_is_told") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob"]);
    let all = points(&room, CALLS, "--as alice send bob -m first");
    for (n, point) in all.iter().enumerate() {
        room.by("bob", ["read"]).ends();
        let text = format!("letter-{n}");
        let (sent, pruned) = stopped(&room, point, &format!("--as alice send bob -m {text}"), || {
            room.by("alice", ["prune", "bob", "--yes"]).ends()
        });
        let pruned = pruned.map(|ran| ran.code);
        let acknowledged = usize::from(sent.status.success());
        assert_eq!(delivered(&room, &text), acknowledged, "{point:?}: {sent:?}, prune: {pruned:?}");
        if pruned == Some(0) {
            room.run(["setup", "bob", "--child"]).succeeds();
        }
    }
}

#[test]
fn a_prune_that_is_overtaken_by_a_sender_counts_again() {
    if !can_be_struck("a_prune_that_is_overtaken_by_a_sender_counts_again") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob"]);
    let prune = "--as alice prune bob --yes";
    let all = points(&room, CALLS, prune);
    for (n, point) in all.iter().enumerate() {
        room.run(["setup", "bob", "--child"]).ends();
        room.by("bob", ["read"]).ends();
        let text = format!("letter-{n}");
        // A sender that finds the mailbox gone waits for the prune, which waits for this test.
        let send = format!("timeout 1 postroom --as alice send bob -m {text}; exit $?");
        let (pruned, sent) = stopped(&room, point, prune, || room.bash(&send).ends());
        let Some(sent) = sent else { continue };
        let count = delivered(&room, &text);
        assert!(sent.code != 0 || count == 1, "{point:?}: lost: {sent:?}, prune: {pruned:?}");
        assert!(count == 0 || !pruned.status.success(), "{point:?}: pruned with unread mail: {pruned:?}");
    }
}

#[test]
fn a_prune_that_is_killed_loses_nothing() {
    if !can_be_struck("a_prune_that_is_killed_loses_nothing") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    room.send("alice", "bob", "read");
    room.by("bob", ["read"]).succeeds();
    let prune = "--as alice prune bob --yes";
    let all = points(&room, CALLS, prune);
    for point in &all {
        let id = room.run(["undo", "--json"]).ends().out;
        let id = serde_json::from_str::<serde_json::Value>(&id).unwrap()["trash"][0]["id"].clone();
        if let Some(id) = id.as_str() {
            room.by("alice", ["undo", id]).ends();
        }
        assert_eq!(room.files("bob", "archive").len(), 1, "before {point:?}");
        let ran = struck(&room, point, "signal=KILL", prune);
        // The prune of another mailbox does not touch it, and bob is there or can be brought back.
        room.by("alice", ["prune", "carol", "--yes"]).succeeds();
        room.run(["setup", "carol", "--child"]).succeeds();
        let is_there = room.run(["names"]).succeeds().out.contains("bob ");
        let comes_back = room.run(["undo"]).ends().out.contains("the mailbox bob");
        assert!(is_there || comes_back, "{point:?}: {ran:?}");
        assert!(!is_there || room.files("bob", "archive").len() == 1, "{point:?}: {ran:?}");
        let trash = room.root().join(".trash");
        for bag in std::fs::read_dir(&trash).unwrap().flatten() {
            let has_carol =
                room.bash(&format!("ls '{}'/mailboxes | grep -q carol", bag.path().display())).ends();
            if has_carol.code == 0 {
                std::fs::remove_dir_all(bag.path()).unwrap();
            }
        }
    }
}

#[test]
fn a_doctor_beside_a_prune_brings_nobody_back() {
    if !can_be_struck("a_doctor_beside_a_prune_brings_nobody_back") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    // Something to write the registry for.
    let lose = || {
        let path = room.root().join("registry.json");
        let text = std::fs::read_to_string(&path).unwrap();
        let without: Vec<&str> = text.lines().filter(|line| !line.contains("\"carol\"")).collect();
        std::fs::write(&path, without.join("\n").replace("},\n}", "}\n}")).unwrap();
    };
    lose();
    let all = points(&room, CALLS, "doctor --fix");
    for point in &all {
        lose();
        let (fixed, pruned) = stopped(&room, point, "doctor --fix", || {
            room.bash("timeout 1 postroom --as alice prune bob --yes; exit $?").ends()
        });
        if pruned.as_ref().is_none_or(|ran| ran.code != 0) {
            continue;
        }
        let names = room.run(["names"]).succeeds().out;
        assert!(!names.contains("bob ") && names.contains("carol "), "{point:?}: {names} {fixed:?}");
        assert!(!room.bash("ls \"$POSTROOM_ROOT\" | grep bob-").ends().out.contains("bob"), "{point:?}");
        room.run(["setup", "bob", "--child"]).succeeds();
    }
}
