//! `doctor`: sees what is wrong, repairs what can be repaired, and loses nothing on the way.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::hand::{age, by_hand};
use crate::support::mask::mask;
use crate::support::room::TestRoom;

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn a_sound_room_gives_silence() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "hi");
    let ran = room.run(["doctor", "--strict"]).succeeds();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    let told = room.run(["doctor", "--json"]).json();
    assert_eq!((&told["faults"], &told["findings"]), (&0.into(), &serde_json::json!([])));
}

#[test]
fn a_fault_names_its_rule_and_path_and_what_to_type() {
    let room = TestRoom::with(&["alice", "bob"]);
    std::fs::remove_dir(room.folder("bob", "archive")).unwrap();
    let ran = room.run(["doctor"]).exits(4);
    insta::assert_snapshot!(mask(&ran.out, &room.root()), @"
    fault §2.2 <room>/bob-<id>/archive: is missing
    postroom --root <room> doctor --fix  # repairs what can be repaired
    ");
    insta::assert_snapshot!(mask(&room.run(["doctor", "--fix"]).succeeds().out, &room.root()), @"
    fixed §2.2 <room>/bob-<id>/archive: is missing
    ");
    assert!(room.folder("bob", "archive").is_dir());
}

#[test]
fn looking_changes_nothing() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    room.send("alice", "bob", "hi");
    room.place("bob", "broken.md", crate::support::hand::BROKEN);
    std::fs::remove_dir(room.folder("alice", "archive")).unwrap();
    set_mode(&room.folder("bob", "inbox"), 0o755);
    set_mode(&room.root().join(room.id("alice")), 0o750);
    let before = room.tree();
    let first = room.run(["doctor"]).exits(4).out;
    room.is_still(&before, "a look of the doctor");
    assert_eq!(room.run(["doctor"]).exits(4).out, first, "and so it sees the same again");
}

#[test]
fn loose_modes_are_tightened() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "hi");
    let message = room.folder("bob", "inbox").join(room.files("bob", "inbox").pop().unwrap());
    for (path, mode) in [(room.folder("bob", "inbox"), 0o777), (message, 0o644), (room.root(), 0o755)] {
        set_mode(&path, mode);
    }
    room.run(["doctor", "--fix"]).succeeds();
    let loose =
        |(_, what): &(&String, &String)| !what.starts_with("directory 700") && !what.starts_with("file 600");
    assert_eq!(room.tree().iter().filter(loose).count(), 0);
    assert_eq!(room.root().metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn staging_files_go_when_they_are_old_and_not_before() {
    let room = TestRoom::with(&["bob"]);
    let tmp = room.folder("bob", "tmp");
    for (file, hours) in [("young.md.1", 35), ("old.md.2", 37)] {
        let path = tmp.join(file);
        std::fs::write(&path, "staged").unwrap();
        crate::support::hand::tighten(&path);
        age(&path, hours * 3600);
    }
    room.run(["doctor"]).exits(4);
    assert_eq!(room.files("bob", "tmp").len(), 2);
    room.run(["doctor", "--fix"]).succeeds();
    assert_eq!(room.files("bob", "tmp"), ["young.md.1"]);
}

#[test]
fn a_lost_registry_is_rebuilt_from_the_cards() {
    let room = TestRoom::empty();
    room.run(["setup", "alice", "--about", "writes", "--alias", "al"]).succeeds();
    room.run(["setup", "bob"]).succeeds();
    room.send("alice", "bob", "hi");
    let path = room.root().join("registry.json");
    let before: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    std::fs::remove_file(&path).unwrap();
    room.by("alice", ["send", "bob", "-m", "x"]).exits(3);
    room.run(["doctor", "--fix"]).succeeds();
    let after: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(after, before);
    room.send("al", "bob", "again");
}

#[test]
fn a_corrupt_registry_is_kept_aside_and_rebuilt() {
    for broken in ["{\n  \"alice\": {\"id\":", "", "[]", "null", "\0"] {
        let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
        let path = room.root().join("registry.json");
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, broken).unwrap();
        let ran = room.run(["doctor"]).exits(4);
        assert!(ran.out.contains("§6.3"), "{broken:?}: {}", ran.out);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), broken, "looking writes nothing");
        room.run(["doctor", "--fix"]).succeeds();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), whole, "{broken:?}");
        assert_eq!(kept_aside(&room), [broken]);
    }
}

/// What became of registries that could not be read.
fn kept_aside(room: &TestRoom) -> Vec<String> {
    let list = std::fs::read_dir(room.root()).unwrap().map(|entry| entry.unwrap().path());
    list.filter(|path| path.to_string_lossy().contains("registry.json.broken-"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect()
}

#[test]
fn a_second_broken_registry_of_one_second_is_repaired_too() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    let path = room.root().join("registry.json");
    for broken in ["first", "second", "third"] {
        std::fs::write(&path, broken).unwrap();
        room.run(["doctor", "--fix"]).succeeds();
    }
    let mut kept = kept_aside(&room);
    kept.sort();
    assert_eq!(kept, ["first", "second", "third"]);
}

#[test]
fn what_cannot_be_read_goes_to_quarantine_and_the_rest_stays() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    room.send("alice", "bob", "good");
    room.place("bob", "broken.md", crate::support::hand::BROKEN);
    std::os::unix::fs::symlink("/nowhere", room.folder("bob", "inbox").join("link.md")).unwrap();
    room.run(["doctor", "--fix"]).succeeds();
    assert_eq!(room.files("bob", "quarantine"), ["broken.md", "link.md"]);
    assert_eq!(room.files("bob", "inbox").len(), 1);
    let ran = room.run(["doctor"]).succeeds();
    assert!(ran.out.contains("note §5.3") && ran.out.contains("holds unreadable files: 2"), "{}", ran.out);
    room.run(["doctor", "--strict"]).exits(4);
}

#[test]
fn a_message_of_another_mailbox_and_a_double_id_are_seen() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    let alice = room.id("alice");
    let stray = by_hand(&alice, "abcd1111", "stray", "x").replacen("---\n\n", "to: carol-1\n---\n\n", 1);
    room.place("bob", "20260101T000000Z-abcd1111-a.md", stray);
    room.place("bob", "20260102T000000Z-abcd2222-b.md", by_hand(&alice, "abcd2222", "x", "x"));
    room.place("bob", "20260103T000000Z-abcd2222-c.md", by_hand(&alice, "abcd2222", "x", "y"));
    room.place("bob", "20260104T000000Z-abcd3333-d.md", by_hand(&alice, "eeee0000", "x", "x"));
    let before = room.tree();
    let ran = room.run(["doctor", "--fix"]).exits(4);
    for rule in ["§3.1", "§3.2", "§3.3"] {
        assert!(ran.out.contains(rule), "{rule}: {}", ran.out);
    }
    room.is_still(&before, "what could be a message is never removed");
}

#[test]
fn an_old_journal_goes_with_a_fix() {
    let room = TestRoom::with(&["bob"]);
    room.limit("journal_days = 10");
    let old = room.root().join(".journal/2020-01-02.jsonl");
    std::fs::write(&old, "").unwrap();
    crate::support::hand::tighten(&old);
    room.run(["doctor"]).succeeds();
    assert!(old.exists());
    room.run(["doctor", "--fix"]).succeeds();
    assert!(!old.exists());
    assert_eq!(room.run(["log"]).succeeds().out.lines().count(), 1, "today's is kept");
}

#[test]
fn mail_by_hand_with_the_usual_umask_is_no_fault() {
    // Rule §9 lets a shell take part, and a shell's files are 0644; they are tightened when they are found.
    let room = TestRoom::with(&["alice", "bob"]);
    let path = room.place("bob", "note.md", by_hand(&room.id("alice"), "note-1", "by hand", "x"));
    set_mode(&path, 0o644);
    let ran = room.run(["doctor"]).ends();
    assert_eq!(ran.code, 0, "{}", ran.out);
    room.by("bob", ["read"]).succeeds();
    assert_eq!(
        room.folder("bob", "archive").join("note.md").metadata().unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn a_holder_that_says_nothing_is_told_and_removed() {
    let room = TestRoom::with(&["alice"]);
    let holder = room.root().join(room.id("alice")).join("holder");
    std::fs::write(&holder, "garbage").unwrap();
    let told = room.run(["doctor"]).ends();
    assert!(told.out.contains("§7.1") && told.out.contains("holder"), "{told:?}");
    room.run(["doctor", "--fix"]).ends();
    assert!(!holder.exists());
}
