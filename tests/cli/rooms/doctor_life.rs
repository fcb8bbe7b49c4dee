//! The doctor on claims, attempts, dead letters, groups and holders: it knows them, sees what is wrong with them,
//! and repairs without losing a message. And rooms that were made before there were any.

use std::os::unix::fs::PermissionsExt;

use crate::support::hand::{age, by_hand, tighten};
use crate::support::room::TestRoom;
use crate::support::taken::{claim, end_lease, ends, taken, terms_path};

fn doctor(room: &TestRoom) -> String {
    room.run(["doctor", "--strict"]).ends().out
}

#[test]
fn everything_that_a_mailbox_comes_to_is_known() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "fails");
    room.by("bob", ["fail", &claim(&room, "bob", &[]), "--reason", "x"]).succeeds();
    room.send("alice", "bob", "released");
    room.by("bob", ["release", &claim(&room, "bob", &[])]).succeeds();
    room.by("bob", ["done", &claim(&room, "bob", &[])]).succeeds();
    room.run(["group", "add", "team", "bob"]).succeeds();
    room.run(["takeover", "bob", "--force"]).env("CODEX_THREAD_ID", "t").succeeds();
    for folder in ["claimed", "failed", "attempts", "holder"] {
        assert!(room.folder("bob", folder).exists(), "{folder}");
    }
    assert_eq!(doctor(&room), "");
    taken(&room, "alice", "bob", "claimed");
    assert_eq!(doctor(&room), "", "and with a claim in it");
}

#[test]
fn a_claim_that_is_over_is_given_back_by_a_fix() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (_, token) = taken(&room, "alice", "bob", "job");
    end_lease(&room, "bob", &token);
    let looked = room.run(["doctor"]).succeeds().out;
    assert!(looked.contains("litter §5.5") && looked.contains("is a claim that ended"), "{looked}");
    assert_eq!(room.files("bob", "claimed").len(), 1, "looking changes nothing");
    room.run(["doctor", "--fix"]).succeeds();
    assert_eq!((room.files("bob", "claimed").len(), room.files("bob", "inbox").len()), (0, 1));
    assert_eq!(ends(&room, "bob"), ["expired"]);
}

#[test]
fn a_claim_without_terms_is_a_fault_and_repaired() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (_, token) = taken(&room, "alice", "bob", "job");
    std::fs::write(terms_path(&room, "bob", &token), "torn").unwrap();
    let looked = room.run(["doctor"]).exits(4).out;
    assert!(looked.contains("§5.5") && looked.contains("without terms"), "{looked}");
    room.run(["doctor", "--fix"]).succeeds();
    assert_eq!(room.files("bob", "inbox").len(), 1);
    assert_eq!(doctor(&room), "");
}

#[test]
fn a_claim_without_a_message_goes_when_it_is_old() {
    let room = TestRoom::with(&["bob"]);
    let half = room.folder("bob", "claimed").join("0123456789abcdef");
    room.bash(&format!("umask 077; mkdir -p '{0}'; echo '{{}}' > '{0}/claim.json'", half.display()))
        .succeeds();
    let looked = room.run(["doctor"]).succeeds().out;
    assert!(looked.contains("litter"), "its claimer may be between two steps: {looked}");
    room.run(["doctor", "--fix"]).succeeds();
    assert!(half.exists());
    age(&half, 37 * 3600);
    room.run(["doctor", "--fix"]).succeeds();
    assert!(!half.exists());
}

#[test]
fn a_directory_that_is_not_a_claim_is_seen_and_left() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    let (_, token) = taken(&room, "alice", "bob", "job");
    room.by("bob", ["done", &token]).succeeds();
    let claimed = room.folder("bob", "claimed");
    room.bash(&format!("umask 077; mkdir '{0}/notatoken' && echo x > '{0}/file'", claimed.display()))
        .succeeds();
    let looked = doctor(&room);
    assert_eq!(looked.matches("is not a claim").count(), 2, "{looked}");
    room.run(["doctor", "--fix"]).ends();
    assert_eq!(room.files("bob", "claimed"), ["file", "notatoken"]);
    room.by("bob", ["check"]).exits(1);
}

#[test]
fn an_id_that_stands_twice_is_seen_over_all_folders() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    taken(&room, "alice", "bob", "job");
    let token = room.files("bob", "claimed").pop().unwrap();
    let path = room.folder("bob", "claimed").join(&token);
    let file =
        room.files("bob", &format!("claimed/{token}")).into_iter().find(|f| f.ends_with(".md")).unwrap();
    std::fs::copy(path.join(&file), room.folder("bob", "archive").join(&file)).unwrap();
    let looked = doctor(&room);
    assert!(looked.contains("§3.3") && looked.contains("has the id of"), "{looked}");
}

#[test]
fn loose_modes_are_tightened_there_too() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "fails");
    room.by("bob", ["fail", &claim(&room, "bob", &[]), "--reason", "x"]).succeeds();
    let (_, token) = taken(&room, "alice", "bob", "job");
    room.run(["group", "add", "team", "bob"]).succeeds();
    let failed = room.folder("bob", "failed");
    let attempts = room.folder("bob", "attempts");
    let loosened = [
        room.root().join("groups.json"),
        failed.join(&room.files("bob", "failed")[0]),
        failed,
        attempts.join(&room.files("bob", "attempts")[0]),
        attempts,
        terms_path(&room, "bob", &token),
        room.folder("bob", "claimed").join(&token),
        room.folder("bob", "claimed"),
    ];
    for path in &loosened {
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
    room.run(["doctor", "--fix"]).succeeds();
    for path in &loosened {
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{}", path.display());
    }
    room.by("bob", ["done", &token]).succeeds();
}

#[test]
fn attempts_of_nothing_are_litter() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "job");
    room.by("bob", ["release", &claim(&room, "bob", &[])]).succeeds();
    let orphan = room.folder("bob", "attempts").join("20260101T000000Z-abcd1111-x.md");
    std::fs::write(&orphan, "{}\n").unwrap();
    tighten(&orphan);
    assert!(room.run(["doctor"]).succeeds().out.contains("litter"), "young");
    age(&orphan, 37 * 3600);
    room.run(["doctor", "--fix"]).succeeds();
    assert!(!orphan.exists());
    assert_eq!(room.files("bob", "attempts").len(), 1, "those of a message stay");
}

#[test]
fn groups_that_break_their_rule_are_seen() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    let bob = room.id("bob");
    for (text, what) in [
        ("{\"a\": [\"@b\"], \"b\": [\"@a\"]}".to_owned(), "a loop"),
        ("{\"a\": [\"@a\"]}".to_owned(), "itself"),
        (format!("{{\"a\": [\"{bob}\", \"@gone\"]}}"), "a group that is gone"),
        ("{\"a\": [\"nobody-12345678\"]}".to_owned(), "a mailbox that is gone"),
        ("{\"a\": [".to_owned(), "no JSON"),
        ("[]".to_owned(), "no object"),
    ] {
        std::fs::write(room.root().join("groups.json"), &text).unwrap();
        tighten(&room.root().join("groups.json"));
        let looked = doctor(&room);
        assert!(looked.contains("§6.4") && looked.contains("groups.json"), "{what} goes unseen: {looked:?}");
    }
}

#[test]
fn a_hint_that_names_the_doctor_is_one_that_helps() {
    // `send @team` with a broken groups.json says: postroom doctor --fix.
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    std::fs::write(room.root().join("groups.json"), "{\"team\": [").unwrap();
    tighten(&room.root().join("groups.json"));
    let ran = room.by("alice", ["send", "@team", "-m", "x"]).exits(4);
    if ran.err.contains(" doctor --fix") {
        room.run(["doctor", "--fix"]).ends();
        room.run(["group", "add", "team", "bob"]).succeeds();
    }
}

#[test]
fn an_interrupted_change_of_the_groups_is_litter() {
    let room = TestRoom::with(&["bob"]);
    room.run(["group", "add", "team", "bob"]).succeeds();
    let staged = room.root().join(".groups.json.0123456789abcdef");
    std::fs::write(&staged, "{").unwrap();
    tighten(&staged);
    assert!(room.run(["doctor"]).succeeds().out.contains("litter"), "young");
    age(&staged, 37 * 3600);
    room.run(["doctor", "--fix"]).succeeds();
    assert!(!staged.exists());
    assert_eq!(room.run(["group", "list"]).succeeds().out, "@team bob\n");
}

#[test]
fn links_planted_there_are_faults_and_never_followed() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    room.send("alice", "bob", "job");
    let outside = room.around().join("outside");
    std::fs::create_dir(&outside).unwrap();
    for name in ["claimed", "failed", "attempts"] {
        std::os::unix::fs::symlink(&outside, room.folder("bob", name)).unwrap();
    }
    let looked = doctor(&room);
    assert!(looked.matches("is a symbolic link").count() >= 3, "{looked}");
    for arguments in [vec!["claim"], vec!["failed", "list"], vec!["check"]] {
        room.by("bob", arguments).ends();
    }
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0, "nothing was written through a link");
    assert_eq!(room.files("bob", "inbox").len(), 1, "and the message is where it was");
}

#[test]
fn a_room_that_was_made_before_all_this_still_works() {
    // As seed 001 leaves it: three folders and a registry.
    let room = TestRoom::empty();
    room.bash("umask 077; mkdir -p \"$POSTROOM_ROOT\"/{a-1,b-2}/{tmp,inbox,archive}").succeeds();
    let root = room.root();
    let entry = |name: &str, id: &str| {
        format!(
            "  \"{name}\": {{\"id\":\"{id}\",\"harness\":\"claude\",\"inbox\":\"{}/{id}/inbox\",\"pid\":1,\"created\":\"2026-06-11T21:10:03Z\"}}",
            root.display()
        )
    };
    let registry = root.join("registry.json");
    std::fs::write(&registry, format!("{{\n{},\n{}\n}}\n", entry("alice", "a-1"), entry("bob", "b-2")))
        .unwrap();
    tighten(&registry);
    room.place("bob", "20260101T000000Z-abcd1111-x.md", by_hand("a-1", "abcd1111", "by hand", "x"));
    for (arguments, code) in [
        (vec!["failed", "list"], 1),
        (vec!["group", "list"], 1),
        (vec!["sent"], 1),
        (vec!["stats"], 1),
        (vec!["check"], 0),
        (vec!["search", "hand"], 0),
        (vec!["trace", "abcd1111"], 0),
        (vec!["thread", "abcd1111"], 0),
        (vec!["prune", "--archived", "0s", "--failed", "0s"], 1),
    ] {
        let ran = room.by("bob", arguments.clone()).ends();
        assert_eq!(ran.code, code, "{arguments:?}: {ran:?}");
    }
    assert!(room.by("alice", ["sent"]).succeeds().out.contains("bob queued, unread: by hand"));
    let token = claim(&room, "bob", &[]);
    room.by("bob", ["done", &token, "-m", "answer"]).succeeds();
    room.by("alice", ["send", "@all", "-m", "x"]).succeeds();
    room.run(["takeover", "bob", "--force"]).env("CODEX_THREAD_ID", "t").succeeds();
    room.run(["check"]).env("CODEX_THREAD_ID", "t").succeeds();
}
