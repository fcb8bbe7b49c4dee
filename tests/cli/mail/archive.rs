//! `archive` and `unarchive`: filing away unread, and back.

use crate::support::hand::by_hand;
use crate::support::room::TestRoom;

#[test]
fn several_are_filed_with_one_line_each() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (a, b) = (room.send("alice", "bob", "a"), room.send("alice", "bob", "b"));
    let ran = room.by("bob", ["archive", &a, &b]).succeeds();
    assert_eq!(ran.out, format!("archived {a}\narchived {b}\n"));
    assert!(room.files("bob", "inbox").is_empty());
    let ran = room.by("bob", ["unarchive", &a]).succeeds();
    assert_eq!(ran.out, format!("unread again {a}\n"));
    assert_eq!(room.by("bob", ["unarchive", &b, "-q"]).succeeds().out, "");
    assert_eq!(room.files("bob", "inbox").len(), 2);
}

#[test]
fn the_bytes_and_the_name_do_not_change_on_the_way() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "text");
    let before = room.tree();
    room.by("bob", ["archive", &id]).succeeds();
    room.by("bob", ["unarchive", &id]).succeeds();
    let mail = |tree: &crate::support::picture::Tree| {
        let messages = tree.iter().filter(|(path, _)| path.ends_with(".md"));
        messages.map(|(path, what)| (path.clone(), what.clone())).collect::<Vec<_>>()
    };
    assert_eq!(mail(&before), mail(&room.tree()));
}

#[test]
fn unarchiving_twice_is_no_error() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "text");
    room.by("bob", ["archive", &id]).succeeds();
    room.by("bob", ["unarchive", &id]).succeeds();
    let ran = room.by("bob", ["unarchive", &id]).ends();
    assert_eq!((ran.code, ran.out.as_str()), (0, format!("already unread {id}\n").as_str()), "{ran:?}");
}

#[test]
fn a_mistyped_id_among_several_moves_nothing() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "text");
    let before = room.tree();
    room.by("bob", ["archive", &id, "0000dead"]).exits(3);
    room.is_still(&before, "archive with a mistyped id");
    room.by("bob", ["archive", &id]).succeeds();
    let before = room.tree();
    room.by("bob", ["unarchive", &id, "0000dead"]).exits(3);
    room.is_still(&before, "unarchive with a mistyped id");
}

#[test]
fn what_was_never_read_is_told_apart_from_what_was() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (filed, shown) = (room.send("alice", "bob", "a"), room.send("alice", "bob", "b"));
    room.by("bob", ["archive", &filed]).succeeds();
    room.by("bob", ["read", &shown]).succeeds();
    let log = room.run(["log"]).succeeds().out;
    assert!(log.contains(&format!("bob archived {filed}\n")), "{log}");
    assert!(log.contains(&format!("bob shown {shown}\n")), "{log}");
}

#[test]
fn mail_that_never_was_shown_does_not_say_that_it_was() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "filed away unread");
    room.by("bob", ["archive", &id]).succeeds();
    let out = room.by("bob", ["read", &id]).succeeds().out;
    assert!(out.contains("filed away unread"), "{out}");
    assert!(!out.contains("shown before"), "nobody has seen it: {out}");
}

#[test]
fn a_name_that_is_taken_in_the_archive_is_not_replaced() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    let file = "20260101T000000Z-abcd1111-x.md";
    let alice = room.id("alice");
    room.place("bob", file, by_hand(&alice, "abcd1111", "first", "first"));
    room.by("bob", ["archive", "abcd1111"]).succeeds();
    room.place("bob", file, by_hand(&alice, "abcd1111", "second", "second"));
    room.by("bob", ["archive", "abcd1111"]).succeeds();
    let archive = room.folder("bob", "archive");
    let texts: Vec<String> = room
        .files("bob", "archive")
        .iter()
        .map(|file| std::fs::read_to_string(archive.join(file)).unwrap())
        .collect();
    assert!(texts.len() == 2 && room.files("bob", "inbox").is_empty(), "{texts:?}");
    for text in ["first", "second"] {
        assert!(texts.iter().any(|t| t.ends_with(text)), "two messages of one name, none lost: {texts:?}");
    }
}
