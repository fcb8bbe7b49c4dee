//! Attachments after they were delivered: pruned and brought back with their message, and checked by the doctor.

use std::path::Path;

use serde_json::Value;

use crate::mail::attach::{ID, attached, file};
use crate::protocols::conformance::{Kind, claim, for_each_kind};
use crate::support::hand::age;
use crate::support::kinds::room_of;
use crate::support::room::TestRoom;

for_each_kind!(pruned_with_its_message, pruned_with_its_mailbox, an_orphan_is_reported_and_removed);

/// A room in which reader has one message with a file.
fn sent(kind: Kind) -> TestRoom {
    let room = room_of(kind);
    let path = file(&room, "a.txt", "one");
    room.by("writer", ["send", "reader", "-m", "x", "--id", ID, "--attach", &path]).succeeds();
    room
}

/// How the only attachment of a message is.
#[track_caller]
fn state(room: &TestRoom) -> String {
    let read: Value = room.by("reader", ["read", ID, "--keep", "--json"]).json();
    read["messages"][0]["attachments"][0]["state"].as_str().unwrap_or_else(|| panic!("{read}")).to_owned()
}

fn pruned_with_its_message(kind: Kind) {
    let room = sent(kind);
    room.by("reader", ["archive", ID]).succeeds();
    assert_eq!(state(&room), "here");
    let prune = ["prune", "--archived", "0s", "--only", "reader", "--yes", "--json"];
    if kind == Kind::Tree {
        // A tree is cleaned up by chains, and nothing of it is removed.
        room.by("bystander", prune).exits(1);
        assert_eq!(state(&room), "here");
        return;
    }
    let undo = room.by("bystander", prune).json()["undo"].as_str().unwrap().to_owned();
    assert_eq!(attached(&room, "reader"), Vec::<String>::new());
    assert_eq!(room.run(["doctor", "--strict"]).succeeds().out, "");
    // A retry finds the message in the trash, and leaves no copy.
    let path = room.around().join("a.txt").display().to_string();
    let again = room.by("writer", ["send", "reader", "-m", "x", "--id", ID, "--attach", &path]).succeeds();
    assert!(again.out.starts_with("sent before"), "{again:?}");
    assert_eq!(attached(&room, "reader"), Vec::<String>::new());
    let told = room.by("bystander", ["undo", &undo]).succeeds();
    assert_eq!(told.out, "brought back 1 message\n");
    assert_eq!(state(&room), "here");
}

fn pruned_with_its_mailbox(kind: Kind) {
    let room = sent(kind);
    room.by("reader", ["archive", ID]).succeeds();
    let pruned = room.by("bystander", ["prune", "reader", "--yes", "--json"]).json();
    room.by("bystander", ["undo", pruned["undo"].as_str().unwrap()]).succeeds();
    assert_eq!(state(&room), "here");
}

fn old(path: &Path) {
    age(path, 40 * 3600);
}

fn an_orphan_is_reported_and_removed(kind: Kind) {
    let room = sent(kind);
    let own = room.folder("reader", "attachments");
    old(&own.join(ID));
    let orphan = own.join("0000dead-0000-4000-8000-000000000000");
    std::fs::create_dir(&orphan).unwrap();
    std::fs::write(orphan.join("b.txt"), "left").unwrap();
    room.bash("chmod -R go= \"$POSTROOM_ROOT\"").succeeds();
    let young = room.run(["doctor", "--strict"]).succeeds().out;
    assert!(young.contains("litter") && young.contains("0000dead"), "{young}");
    room.run(["doctor", "--fix"]).succeeds();
    assert!(orphan.exists(), "its sender may be at work");
    old(&orphan);
    assert!(room.run(["doctor"]).exits(4).out.contains("never published"));
    room.run(["doctor", "--fix"]).succeeds();
    assert!(!orphan.exists());
    assert_eq!(attached(&room, "reader"), [format!("{ID}/a.txt")]);
    // Whatever state its message is in, it stays.
    let token = claim(&room, "reader", &[]);
    room.run(["doctor", "--fix"]).succeeds();
    room.by("reader", ["fail", &token, "--reason", "no"]).succeeds();
    room.run(["doctor", "--fix"]).succeeds();
    assert_eq!(attached(&room, "reader"), [format!("{ID}/a.txt")]);
}

#[test]
fn a_mailbox_of_another_room_has_its_files_there() {
    let room = TestRoom::empty();
    for (place, name) in [("one", "alice"), ("two", "bob")] {
        room.bare(["--room", place, "setup", "-q", name]).succeeds();
    }
    let two = room.around().join("home/.local/state/postroom/rooms/two");
    room.bare(["--room", "one", "adopt"]).arg(&two).succeeds();
    let path = file(&room, "a.txt", "one");
    room.bare(["--room", "one", "--as", "alice", "send", "bob", "-m", "x", "--id", ID, "--attach", &path])
        .succeeds();
    for place in ["one", "two"] {
        let read = room.bare(["--room", place, "--as", "bob", "read", ID, "--keep", "--json"]).json();
        let one = &read["messages"][0]["attachments"][0];
        assert!(one["path"].as_str().is_some_and(|path| path.contains("/rooms/two/")), "{read}");
        room.bare(["--room", place, "doctor", "--strict"]).succeeds();
    }
}

#[test]
fn a_response_keeps_its_files() {
    let room = room_of(Kind::Tree);
    room.send("writer", "reader", "q");
    let path = file(&room, "a.txt", "one");
    let token = claim(&room, "reader", &[]);
    room.by("reader", ["done", &token, "-m", "a", "--attach", &path]).succeeds();
    for name in ["reader", "writer"] {
        for key in room.files(name, "attachments") {
            old(&room.folder(name, "attachments").join(key));
        }
    }
    assert_eq!(room.run(["doctor", "--fix", "--strict"]).succeeds().out, "");
    assert_eq!((attached(&room, "reader").len(), attached(&room, "writer").len()), (1, 1));
}

#[test]
fn nothing_is_removed_while_an_unreadable_message_may_own_it() {
    let room = sent(Kind::Maildir).leaves_faults();
    let own = room.folder("reader", "attachments").join(ID);
    old(&own);
    let inbox = room.folder("reader", "inbox");
    let message = inbox.join(&room.files("reader", "inbox")[0]);
    std::fs::write(&message, "---\nbroken").unwrap();
    age(&message, 60);
    room.run(["doctor", "--fix"]).ends();
    room.run(["doctor", "--fix"]).ends();
    assert!(own.join("a.txt").exists() && !message.exists());
}

#[test]
fn nothing_is_removed_while_the_place_of_the_messages_is_unknown() {
    let room = sent(Kind::Workspace).leaves_faults();
    let own = room.folder("reader", "attachments");
    old(&own.join(ID));
    std::fs::write(own.parent().unwrap().join("card.json"), "broken").unwrap();
    std::fs::write(room.root().join("registry.json"), "{}").unwrap();
    room.run(["doctor", "--fix"]).ends();
    assert!(own.join(ID).join("a.txt").exists(), "its message is in the workspace");
}

#[test]
fn the_doctor_compares_files_with_their_messages() {
    let room = sent(Kind::Maildir).leaves_faults();
    let own = room.folder("reader", "attachments").join(ID);
    std::fs::write(own.join("a.txt"), "two").unwrap();
    let told = room.run(["doctor"]).exits(4).out;
    assert!(told.contains("§3.5") && told.contains("not what was sent"), "{told}");
    std::fs::write(own.join("a.txt"), "one").unwrap();
    room.bash(&format!("chmod 755 {}", own.join("a.txt").display())).succeeds();
    room.run(["doctor", "--fix"]).succeeds();
    assert_eq!(room.run(["doctor", "--strict"]).succeeds().out, "");
    std::fs::remove_file(own.join("a.txt")).unwrap();
    let told = room.run(["doctor"]).succeeds().out;
    assert!(told.contains("a.txt, which is not there"), "{told}");
    room.run(["doctor", "--strict"]).exits(4);
    std::fs::write(own.join("other.txt"), "left").unwrap();
    old(&own.join("other.txt"));
    room.run(["doctor", "--fix"]).succeeds();
    assert!(!own.join("other.txt").exists());
}
