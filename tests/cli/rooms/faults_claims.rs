//! Claims whose message is gone, and attempts that cannot be read: what they may say, and whom they may stop.

use crate::protocols::conformance::{Kind, claim as take, for_each_kind};
use crate::support::kinds::room_of;
use crate::support::room::TestRoom;
use crate::support::taken::{claim, claim_json};

for_each_kind!(a_renewal_of_a_claim_whose_message_went_back_is_refused);

/// Gives the claimed message back as somebody does who is killed before the claim is cleared.
fn gives_back(room: &TestRoom, kind: Kind, token: &str) {
    let inbox = kind.inbox(room, "reader").0;
    if kind == Kind::Tree {
        let path = inbox.join(kind.inbox(room, "reader").only());
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replacen("status: in_progress", "status: pending", 1)).unwrap();
        return;
    }
    let claimed = inbox.parent().unwrap().join("claimed").join(token);
    for entry in std::fs::read_dir(claimed).unwrap() {
        let path = entry.unwrap().path();
        if !path.ends_with("claim.json") {
            std::fs::rename(&path, inbox.join(path.file_name().unwrap())).unwrap();
        }
    }
}

fn a_renewal_of_a_claim_whose_message_went_back_is_refused(kind: Kind) {
    let room = room_of(kind);
    room.send("writer", "reader", "work");
    let lost = take(&room, "reader", &[]);
    room.by("reader", ["claim", "--renew", &lost]).succeeds();
    gives_back(&room, kind, &lost);
    let ran = room.by("reader", ["claim", "--renew", &lost]).exits(3);
    assert!(ran.err.contains(&format!("there is no claim {lost}")), "{ran:?}");
    // Nothing of it is in the way of the next.
    let again = take(&room, "reader", &[]);
    assert_ne!(lost, again);
    room.by("reader", ["claim", "--renew", &again]).succeeds();
    room.by("reader", ["done", &again]).succeeds();
}

/// The file of the first message of bob, and where its attempts lie.
fn attempts_of(room: &TestRoom, id: &str) -> std::path::PathBuf {
    let file = room.files("bob", "inbox").into_iter().find(|file| file.contains(id)).unwrap();
    let folder = room.folder("bob", "attempts");
    std::fs::create_dir_all(&folder).unwrap();
    room.bash(&format!("chmod 700 '{}'", folder.display())).succeeds();
    folder.join(file)
}

#[test]
fn a_message_that_was_tried_for_very_long_blocks_nobody() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    let id = room.send("alice", "bob", "old");
    room.send("alice", "bob", "young");
    let path = attempts_of(&room, &id);
    let mut text = String::new();
    for number in 0..9000 {
        text.push_str(&format!(
            "{{\"v\":1,\"time\":\"2026-01-01T00:00:00Z\",\"token\":\"{number:016x}\",\"owner\":\"bob\",\"how\":\"expired\",\"why\":\"{}\"}}\n",
            "x".repeat(60)
        ));
    }
    assert!(text.len() > 1024 * 1024);
    text.push_str("{\"v\":1,\"time\":\"2026-01-01T00:00:00Z\",\"token\":\"ffffffffffffffff\",\"owner\":\"bob\",\"how\":\"retried\"}\n");
    std::fs::write(&path, &text).unwrap();
    crate::support::hand::tighten(&path);
    let found = room.run(["doctor"]).ends();
    assert!(found.out.contains("attempts") && found.out.contains("bytes"), "{found:?}");
    let first = claim_json(&room, "bob", &[]);
    assert_eq!((&first["messages"][0]["body"], &first["claim"]["attempt"]), (&"old".into(), &1.into()));
    let token = first["claim"]["token"].as_str().unwrap();
    room.by("bob", ["release", token, "--reason", "later"]).succeeds();
    room.by("alice", ["trace", &id]).succeeds();
    let second = claim(&room, "bob", &[&id]);
    room.by("bob", ["fail", &second, "--reason", "never"]).succeeds();
    assert!(room.by("bob", ["failed", "list"]).succeeds().out.contains("old"));
    room.by("bob", ["done", &claim(&room, "bob", &[])]).succeeds();
    room.by("bob", ["done", token]).exits(3);
}

#[test]
fn attempts_that_cannot_be_read_hold_back_their_message_alone() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    let id = room.send("alice", "bob", "held back");
    room.send("alice", "bob", "free");
    std::fs::create_dir_all(attempts_of(&room, &id)).unwrap();
    let taken = claim_json(&room, "bob", &[]);
    assert_eq!(taken["messages"][0]["body"], "free");
    room.by("bob", ["done", taken["claim"]["token"].as_str().unwrap()]).succeeds();
    let ran = room.by("bob", ["claim"]).exits(5);
    assert!(ran.err.contains("attempts"), "{ran:?}");
    let found = room.run(["doctor"]).exits(4);
    assert!(found.out.contains("is a directory"), "{found:?}");
}

#[test]
fn a_long_reason_is_kept_short() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "job");
    for _ in 0..3 {
        let token = claim(&room, "bob", &[]);
        room.by("bob", ["release", &token, "--reason", &"x".repeat(100_000)]).succeeds();
    }
    let file = room.files("bob", "attempts").pop().unwrap();
    let size = std::fs::metadata(room.folder("bob", "attempts").join(file)).unwrap().len();
    assert!(size < 20_000, "{size}");
}
