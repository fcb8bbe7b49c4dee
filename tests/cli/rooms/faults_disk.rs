//! Faults of the disk that passed for something else: a delivery that is visible, a mailbox that is there, mail that waits.

use crate::protocols::conformance::{Kind, for_each_kind};
use crate::support::edges_strike::{can_be_struck, points, struck};
use crate::support::kinds::room_of;
use crate::support::room::{Ran, TestRoom};

/// Runs a command where a rename cannot refuse to replace, and where removing a file fails as `unlink` says.
fn without_no_replace(room: &TestRoom, unlink: &str, arguments: &str) -> Ran {
    let script = format!(
        "strace -o /dev/null -e trace=renameat2,unlinkat -e inject=renameat2:error=EINVAL \
         -e inject=unlinkat:{unlink} postroom {arguments}; exit $?"
    );
    room.bash(&script).ends()
}

for_each_kind!(a_staged_file_that_stays_is_no_failed_delivery);

fn a_staged_file_that_stays_is_no_failed_delivery(kind: Kind) {
    if !can_be_struck("a_staged_file_that_stays_is_no_failed_delivery") {
        return;
    }
    let room = room_of(kind).leaves_faults();
    let words = "--as writer send reader -m hello --id abcdef01-0000-4000-8000-000000000001";
    let ran = without_no_replace(&room, "error=EIO", words);
    assert_eq!((ran.code, room.headers("reader").len()), (6, 1), "{ran:?}");
    assert!(ran.out.contains("durability not proven"), "{ran:?}");
    let again = room.bash(&format!("postroom {words}")).ends();
    assert_eq!((again.code, room.headers("reader").len()), (0, 1), "{again:?}");
    let read = room.by("reader", ["read"]).succeeds().out;
    assert!(read.contains("\nhello\n"), "{read}");
}

#[test]
fn a_message_that_cannot_leave_a_folder_is_not_in_two() {
    if !can_be_struck("a_message_that_cannot_leave_a_folder_is_not_in_two") {
        return;
    }
    for (verb, more) in [("archive", ""), ("read", ""), ("claim", ""), ("reply", "-m x")] {
        let room = TestRoom::with(&["alice", "bob"]);
        let id = room.send("alice", "bob", "hello");
        let words = format!("--as bob {verb} {id} {more}");
        // The first removal is that of the answer's staging file, which is none of this test's.
        let nth = if verb == "reply" { 2 } else { 1 };
        let ran = without_no_replace(&room, &format!("error=EIO:when={nth}"), &words);
        assert_eq!(ran.code, 5, "{verb}: {ran:?}");
        assert_eq!(room.headers("bob").len(), 1, "{verb}: {ran:?}");
        assert_eq!(room.files("bob", "archive").len() + room.files("bob", "claimed").len(), 0, "{verb}");
        let again = room.bash(&format!("postroom {words}")).ends();
        assert_eq!((again.code, room.headers("bob").len()), (0, 0), "{verb}: {again:?}");
        if verb == "claim" {
            let token = room.files("bob", "claimed").pop().unwrap();
            room.by("bob", ["done", &token]).succeeds();
        }
    }
}

#[test]
fn a_message_that_somebody_else_was_quicker_with_is_not_kept_too() {
    if !can_be_struck("a_message_that_somebody_else_was_quicker_with_is_not_kept_too") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "hello");
    // Two that link a message both have it; who removes it from the inbox has won.
    let ran = without_no_replace(&room, "error=ENOENT:when=1", "--as bob claim");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(room.files("bob", "claimed").is_empty(), "{ran:?}");
    assert_eq!(room.headers("bob").len(), 1);
}

#[test]
fn a_doctor_that_cannot_read_a_card_rebuilds_no_registry_without_it() {
    if !can_be_struck("a_doctor_that_cannot_read_a_card_rebuilds_no_registry_without_it") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob"]);
    let registry = room.root().join("registry.json");
    let breaks = || std::fs::write(&registry, "{").unwrap();
    breaks();
    for point in points(&room, "openat,read,getdents64", "doctor --fix") {
        breaks();
        let ran = struck(&room, &point, "error=EIO", "doctor --fix");
        let text = std::fs::read_to_string(&registry).unwrap_or_default();
        let whole = text.contains("\"alice\"") && text.contains("\"bob\"");
        assert!(whole || ran.code != 0 && text.len() < 2, "{point:?}: {ran:?}, {text}");
    }
    breaks();
    room.run(["doctor", "--fix"]).ends();
    for kept in std::fs::read_dir(room.root()).unwrap() {
        let kept = kept.unwrap().path();
        if kept.file_name().unwrap().to_string_lossy().starts_with("registry.json.") {
            std::fs::remove_file(kept).unwrap();
        }
    }
}

/// Runs a setup under every strike that one EIO can be, in a room that is brought back before each, and shows what it said.
fn setups(room: &TestRoom, session: &str, words: &str, see: impl Fn(&str, &serde_json::Value)) {
    let (root, kept) = (room.root(), room.around().join("kept"));
    let copies = |from: &std::path::Path, to: &std::path::Path| {
        let script = format!("rm -rf '{1}' && cp -a '{0}' '{1}'", from.display(), to.display());
        room.bash(&script).succeeds();
    };
    copies(&root, &kept);
    let env = format!("export CLAUDE_CODE_SESSION_ID={session} CLAUDECODE=1;");
    let names = "openat,read,newfstatat";
    let log = room.around().join("log");
    let traced = format!("{env} strace -o '{}' -e trace={names} postroom --json {words}", log.display());
    room.bash(&traced).succeeds();
    let calls = std::fs::read_to_string(&log).unwrap();
    for name in names.split(',') {
        for nth in 1..=calls.lines().filter(|line| line.starts_with(&format!("{name}("))).count() {
            copies(&kept, &root);
            let strike = format!("-e trace={name} -e inject={name}:error=EIO:when={nth}");
            let script = format!("{env} strace -o /dev/null {strike} postroom --json {words}; exit $?");
            let ran = room.bash(&script).ends();
            let again = || room.bash(&format!("{env} postroom --json {words}")).succeeds().out;
            let out = if ran.code == 0 { ran.out.clone() } else { again() };
            let told: serde_json::Value = serde_json::from_str(&out).unwrap();
            if ran.code == 0 {
                see(&format!("{name}#{nth}: {ran:?}"), &told);
            }
            // Whose mailbox it is was noted, if not by the first run then by the second.
            if told["bound"] == true {
                let holder = root.join(told["id"].as_str().unwrap()).join("holder");
                let text = std::fs::read_to_string(&holder).unwrap_or_default();
                assert!(text.contains(session), "{name}#{nth}: {ran:?} {text}");
            }
        }
    }
    copies(&kept, &root);
}

#[test]
fn a_setup_on_a_bad_disk_is_whole_or_says_so() {
    if !can_be_struck("a_setup_on_a_bad_disk_is_whole_or_says_so") {
        return;
    }
    let room = TestRoom::with(&["alice"]);
    setups(&room, "s1", "setup bob", |what, told| assert_eq!(told["bound"], true, "{what}"));
    // The session of somebody who is there keeps its mailbox.
    let taken = ["setup", "bob", "--json"];
    room.run(taken).env("CLAUDE_CODE_SESSION_ID", "s1").env("CLAUDECODE", "1").succeeds();
    setups(&room, "s2", "--as bob setup", |what, told| assert_eq!(told["bound"], false, "{what}"));
    // A mailbox that the registry lost gets its name back, and nobody makes a second one for it.
    let id = room.id("alice");
    let registry = room.root().join("registry.json");
    let text = std::fs::read_to_string(&registry).unwrap();
    let lines = text.lines().filter(|line| !line.contains("\"alice\"")).collect::<Vec<_>>().join("\n");
    std::fs::write(&registry, lines).unwrap();
    setups(&room, "s3", "setup alice", |what, told| assert_eq!(told["id"], id.as_str(), "{what}"));
    room.run(["setup", "alice"]).succeeds();
    assert_eq!(room.id("alice"), id);
}

#[test]
fn mail_that_waits_is_never_silence_for_want_of_descriptors() {
    for kind in [Kind::Maildir, Kind::Workspace, Kind::Tree] {
        let room = room_of(kind);
        room.send("writer", "reader", "waits");
        for words in ["check", "check --json", "check --count", "read --keep", "wait --timeout 0", "claim"] {
            for count in 3..24 {
                let ran = room.bash(&format!("ulimit -n {count}; exec postroom --as reader {words}")).ends();
                assert_ne!(ran.code, 1, "{kind:?}, {words} with {count}: {ran:?}");
                let told = !ran.err.is_empty() || words.contains("--json");
                assert!(ran.code == 0 || told, "{kind:?}, {words} with {count}: {ran:?}");
                if ran.code == 0 && words == "claim" {
                    break;
                }
            }
        }
    }
}
