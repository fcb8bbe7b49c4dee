//! Every verb that makes sense in a kind of mailbox does the same in each (what they promise is in conformance.rs).

use serde_json::Value;

use crate::protocols::conformance::{Kind, for_each_kind};
use crate::support::kinds_claims::{claimed_and_done, claimed_and_failed, claimed_and_released};
use crate::support::room::TestRoom;
use crate::support::until::until_watching;

/// A reader and somebody who writes to it, both of one kind.
pub(crate) fn room_of(kind: Kind) -> TestRoom {
    let room = TestRoom::empty();
    match kind {
        Kind::Maildir => ["reader", "writer"].iter().for_each(|name| {
            room.run(["setup", "-q", name]).succeeds();
        }),
        Kind::Workspace => ["reader", "writer"].iter().for_each(|name| drop(room.workspace(name))),
        Kind::Tree => drop(room.agents(&["reader", "writer"])),
    }
    // The others are only part of the room, not of the suite.
    room.run(["setup", "-q", "bystander"]).succeeds();
    room
}

for_each_kind!(
    sent_checked_and_read,
    read_again,
    kept_unread,
    waited_for,
    filed_away_and_back,
    claimed_and_done,
    claimed_and_released,
    claimed_and_failed,
    most_urgent_first,
    traced_threaded_and_found,
    in_groups_and_names,
    pruned,
    refused_without_a_trace,
    unreadable_and_reported,
);

/// The only unread message, as `check` tells of it.
#[track_caller]
pub(crate) fn only(room: &TestRoom) -> Value {
    room.header("reader")
}

fn file(header: &Value) -> String {
    header["file"].as_str().unwrap().to_owned()
}

fn sent_checked_and_read(kind: Kind) {
    let room = room_of(kind);
    room.by("reader", ["check"]).exits(1);
    room.by("reader", ["read"]).exits(1);
    room.by("writer", ["send", "reader", "-s", "a subject"]).input("line one\n--- not a fence\n").succeeds();
    let header = only(&room);
    assert_eq!(
        (header["subject"].as_str(), header["protocol"].as_str()),
        (Some("a subject"), Some(kind.word()))
    );
    let checked = room.by("reader", ["check"]).succeeds().out;
    assert!(checked.ends_with(" writer: a subject\n"), "{checked}");
    assert_eq!(room.by("reader", ["check", "--count"]).succeeds().out, "1\n");
    let id = checked.split(' ').next().unwrap();
    let read = room.by("reader", ["read", id]).succeeds().out;
    assert!(
        read.contains(" writer (unverified): ") && read.contains("\nline one\n--- not a fence\n"),
        "{read}"
    );
    room.by("reader", ["read"]).exits(1);
}

fn read_again(kind: Kind) {
    let room = room_of(kind);
    room.send("writer", "reader", "hello");
    let id = only(&room)["id"].as_str().unwrap().to_owned();
    let next = room.by("reader", ["read", "--json"]).json();
    assert_eq!(next["messages"][0]["id"], id.as_str());
    let again = room.by("reader", ["read", &id, "--json"]).json();
    assert_eq!(again["messages"][0]["body"], "hello");
    room.by("reader", ["read", "0000dead"]).exits(3);
}

fn kept_unread(kind: Kind) {
    let room = room_of(kind);
    room.send("writer", "reader", "hello");
    for _ in 0..2 {
        assert!(room.by("reader", ["read", "--keep"]).succeeds().out.contains("\nhello\n"));
    }
    assert_eq!(room.headers("reader").len(), 1);
}

fn waited_for(kind: Kind) {
    let room = room_of(kind);
    room.by("reader", ["wait", "--timeout", "0.05"]).exits(1);
    let waiting = room.by("reader", ["wait", "--from", "writer", "--timeout", "60"]).start();
    until_watching(&waiting);
    room.send("bystander", "reader", "not this");
    room.send("writer", "reader", "this");
    let output = waiting.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(out.ends_with(" writer: this\n") && out.lines().count() == 1, "{out}");
    room.by("reader", ["wait", "--timeout", "0"]).succeeds();
}

fn filed_away_and_back(kind: Kind) {
    let room = room_of(kind);
    room.send("writer", "reader", "later");
    let file = file(&only(&room));
    assert!(room.by("reader", ["archive", &file]).succeeds().out.starts_with("archived "));
    room.by("reader", ["check"]).exits(1);
    assert!(room.by("reader", ["archive", &file]).succeeds().out.starts_with("already archived "));
    room.by("reader", ["unarchive", &file]).succeeds();
    assert_eq!(only(&room)["subject"], "later");
}

fn most_urgent_first(kind: Kind) {
    let room = room_of(kind);
    for (text, priority) in [("one", "normal"), ("two", "low"), ("three", "urgent"), ("four", "high")] {
        room.by("writer", ["send", "reader", "-m", text, "--priority", priority]).succeeds();
    }
    let order: Vec<_> =
        room.headers("reader").iter().map(|h| h["subject"].as_str().unwrap().to_owned()).collect();
    assert_eq!(order, ["three", "four", "one", "two"]);
    assert!(
        room.by("reader", ["read"]).succeeds().out.contains("\nthree\n"),
        "read goes in the order of check"
    );
    let claimed = room.by("reader", ["claim", "--json"]).json();
    assert_eq!(claimed["messages"][0]["subject"], if kind == Kind::Workspace { "three" } else { "four" });
}

fn traced_threaded_and_found(kind: Kind) {
    let room = room_of(kind);
    room.by("writer", ["send", "reader", "-m", "where is the teapot?"]).succeeds();
    let id = only(&room)["id"].as_str().unwrap().to_owned();
    assert!(room.run(["trace", &id]).succeeds().out.contains("queued"));
    assert!(room.by("writer", ["sent"]).succeeds().out.contains("reader queued"));
    let found = room.run(["search", "teapot"]).succeeds().out;
    assert!(found.contains("(reader/inbox)") && found.contains("1: where is the teapot?"), "{found}");
    room.by("reader", ["reply", &file(&only(&room)), "-m", "in the cupboard"]).succeeds();
    let thread = room.by("writer", ["thread", &id]).succeeds().out;
    assert_eq!(thread.lines().count(), 2, "{thread}");
    let log = room.run(["log"]).succeeds().out;
    assert!(log.contains("reader answered") && log.contains("writer sent"), "{log}");
    room.run(["search", "kettle"]).exits(1);
}

fn in_groups_and_names(kind: Kind) {
    let room = room_of(kind);
    let names = room.run(["names", "reader"]).succeeds().out;
    assert!(
        names.starts_with(&format!("reader {} ", kind.word())) && names.contains(" unread=0 "),
        "{names}"
    );
    room.run(["group", "add", "team", "reader", "bystander"]).succeeds();
    let told = room.by("writer", ["send", "@team", "-m", "to all"]).succeeds().out;
    assert_eq!(told.lines().count(), 2, "{told}");
    assert_eq!(only(&room)["subject"], "to all");
    assert!(room.run(["names", "reader"]).succeeds().out.contains(" unread=1 "));
    assert!(room.by("reader", ["whoami"]).succeeds().out.contains("reader"));
}

fn pruned(kind: Kind) {
    let room = room_of(kind);
    room.send("writer", "reader", "hello");
    let file = file(&only(&room));
    room.by("reader", ["archive", &file]).succeeds();
    // A tree is cleaned up by chains, not by age.
    let (code, left) = if kind == Kind::Tree { (1, 0) } else { (0, 3) };
    room.by("bystander", ["prune", "--archived", "0s", "--only", "reader", "--yes"]).exits(code);
    room.by("reader", ["read", &file]).exits(left);
    room.by("bystander", ["prune", "reader", "--yes"]).succeeds();
    room.run(["names", "reader"]).exits(1);
    // In a tree every folder is an inbox, and has its name again when somebody asks for it.
    room.by("writer", ["send", "reader", "-m", "x"]).exits(if kind == Kind::Tree { 0 } else { 3 });
}

fn refused_without_a_trace(kind: Kind) {
    let room = room_of(kind);
    room.send("writer", "reader", "question");
    let file = file(&only(&room));
    let before = crate::support::picture::tree(room.around());
    for arguments in [
        vec!["reply", file.as_str(), "-m", " \n"],
        vec!["reply", file.as_str(), "-m", "x", "-s", "two\nlines"],
        vec!["send", "writer", "-m", "x", "--channel", "two\nlines"],
        vec!["send", "writer", "-m", ""],
    ] {
        room.by("reader", arguments.clone()).exits(4);
        assert_eq!(crate::support::picture::tree(room.around()), before, "{arguments:?}");
    }
}

fn unreadable_and_reported(kind: Kind) {
    let room = room_of(kind).leaves_faults();
    let inbox = kind.inbox(&room, "reader");
    let task = crate::support::kinds_room::task("2026-01-01-001", "writer", "reader", "x\n");
    inbox.put("00broken1.md", crate::support::hand::BROKEN);
    inbox.put("00broken2.md", task.replace("status: pending", "status: waiting"));
    inbox.put("00broken3.md", task.replace("to: reader", "to: reader\nFrom: x"));
    room.send("writer", "reader", "good");
    let checked = room.by("reader", ["check"]).succeeds();
    assert!(checked.out.ends_with(" writer: good\n"), "{}", checked.out);
    for why in [
        "00broken1.md: the frontmatter is not closed by a line `---`",
        "00broken2.md: line 5: `status`: not one of pending, in_progress, completed, failed",
        "00broken3.md: line 5: the field `from` is there twice",
    ] {
        assert!(checked.err.contains(why), "{why}: {}", checked.err);
    }
    assert_eq!(inbox.files().len(), 4, "check moves nothing");
    let read = room.by("reader", ["read"]).succeeds();
    assert!(read.out.contains("\ngood\n"), "{read:?}");
    let fate = if kind == Kind::Maildir { "now in quarantine" } else { "left alone" };
    assert!(read.err.contains(&format!("unreadable, {fate}: 00broken1.md: ")), "{read:?}");
    assert_eq!(inbox.0.join("00broken2.md").exists(), kind != Kind::Maildir);
}
