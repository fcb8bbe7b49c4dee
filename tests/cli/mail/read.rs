//! `read`: a message is shown between fences, and archived once it went out.

use std::io::Read;

use crate::command_line::terminal::{PLAIN, harmless, lent, on_terminal};
use crate::support::hand::by_hand;
use crate::support::mask::mask;
use crate::support::room::TestRoom;

#[test]
fn a_message_is_shown_as_facts_and_a_fenced_body() {
    let room = TestRoom::with(&["alice", "bob"]);
    let marks = ["--priority", "high", "--channel", "build", "--reply-to", "cafe0001"];
    room.by("alice", ["send", "bob", "-s", "hello", "-m", "text\n"].into_iter().chain(marks)).succeeds();
    let out = room.by("bob", ["read"]).succeeds().out;
    insta::assert_snapshot!(mask(&out, &room.root()), @"
    <id> <age> alice (unverified): hello
    answers: <id>
    priority: high
    channel: build
    [<id>: 5 bytes]
    text
    [<id> end]
    ");
}

#[test]
fn a_body_without_a_last_line_break_is_told_apart() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "text");
    let out = room.by("bob", ["read"]).succeeds().out;
    assert!(mask(&out, &room.root()).ends_with("[<id>: 4 bytes]\ntext\n[<id> end]\n"), "{out}");
}

#[test]
fn peeking_keeps_it_unread() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "peek");
    let before = room.tree();
    for arguments in [vec!["read", "--keep"], vec!["read", "--keep", &id], vec!["read", "--keep", "--json"]] {
        assert!(room.by("bob", arguments).succeeds().out.contains("peek"));
    }
    room.is_still(&before, "looking or a refusal");
}

#[test]
fn nothing_to_read_is_silent_and_exits_1() {
    let room = TestRoom::with(&["bob"]);
    let ran = room.by("bob", ["read"]).exits(1);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
}

#[test]
fn several_ids_are_shown_in_the_order_given() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (a, b) = (room.send("alice", "bob", "first"), room.send("alice", "bob", "second"));
    let out = room.by("bob", ["read", &b, &a]).succeeds().out;
    assert!(out.find("second").unwrap() < out.find("first").unwrap(), "{out}");
    assert_eq!(room.files("bob", "archive").len(), 2);
}

#[test]
fn one_mistyped_id_shows_nothing_and_archives_nothing() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "text");
    let before = room.tree();
    let ran = room.by("bob", ["read", &id, "0000dead"]).exits(3);
    assert_eq!(ran.out, "");
    room.is_still(&before, "a refusal");
    insta::assert_snapshot!(mask(&ran.err, &room.root()), @"
    postroom: no message begins with `<id>`
      postroom --root <room> --as bob check  # what is unread
      postroom --root <room> log  # what happened
    ");
}

#[test]
fn any_unambiguous_beginning_of_the_id_will_do() {
    let room = TestRoom::with(&["alice", "bob"]);
    let alice = room.id("alice");
    let (one, two) = ("abcd1111-0000-4000-8000-000000000001", "abcd2222-0000-4000-8000-000000000002");
    for id in [one, two] {
        room.place("bob", &format!("20260101T000000Z-{}-x.md", &id[..8]), by_hand(&alice, id, id, "x"));
    }
    let shown = |reference: &str| {
        room.by("bob", ["read", "--keep", "--json", reference]).json()["messages"][0]["id"].clone()
    };
    for reference in
        ["abcd1", "ABCD1", "abcd1111", "abcd1111-", "abcd1111-0000", one, "20260101T000000Z-abcd1111-x.md"]
    {
        assert_eq!(shown(reference), one, "{reference}");
    }
    let ran = room.by("bob", ["read", "abcd"]).exits(4);
    assert!(ran.err.contains(one) && ran.err.contains(two) && ran.err.contains("more digits"), "{}", ran.err);
    let ran = room.by("bob", ["read", "abc"]).exits(2);
    assert!(ran.err.contains("four hex digits"), "{}", ran.err);
    assert_eq!(room.files("bob", "inbox").len(), 2);
}

#[test]
fn unread_mail_is_meant_before_an_old_message_with_the_same_beginning() {
    let room = TestRoom::with(&["alice", "bob"]);
    let alice = room.id("alice");
    room.place("bob", "20260101T000000Z-abcd1111-x.md", by_hand(&alice, "abcd1111", "old", "x"));
    room.by("bob", ["archive", "abcd"]).succeeds();
    room.place("bob", "20260102T000000Z-abcd2222-x.md", by_hand(&alice, "abcd2222", "new", "x"));
    assert!(room.by("bob", ["read", "abcd"]).succeeds().out.contains("(unverified): new\n"));
}

#[test]
fn an_archived_message_with_a_hand_made_id_is_shown_again() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.place("bob", "note.md", by_hand(&room.id("alice"), "hello-1", "by hand", "x"));
    room.by("bob", ["read", "hello-1"]).succeeds();
    let ran = room.by("bob", ["read", "hello-1"]).ends();
    assert!(ran.code == 0 && ran.out.contains("\nnote: "), "{ran:?}");
    room.by("bob", ["reply", "hello-1", "-m", "late answer"]).succeeds();
}

#[test]
fn a_hand_made_id_of_two_characters_can_be_read() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.place("bob", "note.md", by_hand(&room.id("alice"), "m1", "by hand", "x"));
    let shown = room.by("bob", ["check"]).succeeds().out;
    let id = shown.split(' ').next().unwrap();
    let ran = room.by("bob", ["read", id]).ends();
    assert_eq!(ran.code, 0, "`check` shows {id} as what to type: {ran:?}");
}

#[test]
fn a_message_for_another_is_read_and_the_reader_is_told() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    let text =
        by_hand(&room.id("alice"), "abcd1111", "stray", "x").replacen("---\n\n", "to: carol-1\n---\n\n", 1);
    room.place("bob", "stray.md", text);
    let out = room.by("bob", ["read"]).succeeds().out;
    assert!(out.contains("note: it is addressed to carol-1, not to this mailbox\n"), "{out}");
}

#[test]
fn fields_of_others_are_shown_and_kept() {
    let room = TestRoom::with(&["alice", "bob"]);
    let text = by_hand(&room.id("alice"), "abcd1111", "s", "x").replacen(
        "---\n\n",
        "step: 2\nx-note: a: b #c\n---\n\n",
        1,
    );
    let path = room.place("bob", "20260101T000000Z-abcd1111-s.md", &text);
    let out = room.by("bob", ["read"]).succeeds().out;
    assert!(out.contains("field step: 2\n") && out.contains("field x-note: a: b #c\n"), "{out}");
    let kept = room.folder("bob", "archive").join(path.file_name().unwrap());
    assert_eq!(std::fs::read_to_string(kept).unwrap(), text);
}

#[test]
fn a_long_body_is_cut_without_a_terminal_and_its_path_leads_to_all_of_it() {
    let room = TestRoom::with(&["alice", "bob"]);
    let text = "é".repeat(20_000);
    room.by("alice", ["send", "bob", "-s", "long"]).input(&text).succeeds();
    let out = room.by("bob", ["read"]).succeeds().out;
    assert!(out.len() < 18_000, "{}", out.len());
    let head = out.lines().find(|line| line.contains(" bytes, the first of ")).unwrap();
    let path = head.split("; all: ").nth(1).unwrap().trim_end_matches(']');
    assert!(std::fs::read_to_string(path).unwrap().ends_with(&text));
    // Asked for all, it gives all.
    let full = room.by("bob", ["read", "--full", &out[..8]]).succeeds().out;
    assert!(full.contains(&text));
    let kept = room.by("bob", ["read", "--json", &out[..8]]).json();
    assert_eq!(kept["messages"][0]["body"], text.as_str());
}

#[test]
fn the_path_of_a_long_body_that_is_kept_is_where_it_lies() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.by("alice", ["send", "bob", "-s", "long"]).input("x".repeat(40_000)).succeeds();
    let out = room.by("bob", ["read", "--keep"]).succeeds().out;
    let path = out.split("; all: ").nth(1).unwrap().split(']').next().unwrap();
    assert!(std::path::Path::new(path).is_file(), "{path}");
}

#[test]
fn readers_at_once_lose_nothing() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "for the one who comes first");
    let racing: Vec<_> = (0..6).map(|_| room.by("bob", ["read"]).start()).collect();
    let mut shown = 0;
    for child in racing {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        match output.status.code().unwrap() {
            0 => shown += usize::from(text.contains("for the one who comes first")),
            1 => assert_eq!(text, ""),
            code => panic!("{code}: {}", String::from_utf8_lossy(&output.stderr)),
        }
    }
    assert!(shown >= 1, "none of the readers got it");
    assert_eq!((room.files("bob", "inbox").len(), room.files("bob", "archive").len()), (0, 1));
}

#[test]
fn two_that_name_the_same_message_both_get_its_text() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "the text");
    let racing: Vec<_> = (0..6).map(|_| room.by("bob", ["read", &id]).start()).collect();
    let mut unread = 0;
    for child in racing {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains("\nthe text\n"), "{text}");
        unread += usize::from(!text.contains("\nnote: "));
    }
    assert!(unread >= 1, "one of them was the first");
    assert_eq!(room.files("bob", "archive").len(), 1);
}

#[test]
fn a_reader_killed_half_way_leaves_the_message_unread() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.by("alice", ["send", "bob", "-s", "long"]).input("line\n".repeat(100_000)).succeeds();
    let mut reader = room.by("bob", ["read", "--full"]).start();
    // The pipe holds less than the message, so after some bytes the reader is still at it.
    let mut some = [0; 100];
    reader.stdout.as_mut().unwrap().read_exact(&mut some).unwrap();
    reader.kill().unwrap();
    reader.wait().unwrap();
    assert_eq!((room.files("bob", "inbox").len(), room.files("bob", "archive").len()), (1, 0));
}

#[test]
fn what_nobody_can_see_is_not_archived() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "text");
    for to in [">&-", ">/dev/null", ">/dev/full"] {
        let ran = room.bash(&format!("postroom --as bob read {to}")).exits(5);
        assert!(ran.err.starts_with("postroom: "), "{to}: {}", ran.err);
        assert!(!ran.err.contains("archive ID"), "{to}: {}", ran.err);
        assert_eq!(room.files("bob", "inbox").len(), 1, "{to}");
    }
    // A pipe whose reader has gone before the first byte.
    let mut gone = room.by("bob", ["read"]).closed_pipe();
    assert_eq!(gone.wait().unwrap().code(), Some(5));
    assert_eq!(room.files("bob", "inbox").len(), 1);
}

/// Every control and every character that draws nothing, in a body that ends without a line break.
const CONTROLS: &str =
    "a\u{1b}[2Jb\u{9b}31m\u{85}c\u{202e}d\u{2066}\u{200f}\u{61c}e\u{7}\u{8}\r\tf\u{7f}\0\u{200b}g\r\nh";

#[test]
fn a_pipe_gets_the_body_but_for_esc_c1_and_bidi() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.by("alice", ["send", "bob", "-s", "x"]).input(CONTROLS).succeeds();
    let shown = "a\\u{1b}[2Jb\\u{9b}31m\\u{85}c\\u{202e}d\\u{2066}\\u{200f}\\u{61c}e\u{7}\u{8}\r\tf\u{7f}\0\u{200b}g\r\nh";
    let out = room.by("bob", ["read"]).succeeds().out;
    let fence = format!(": {} bytes, with controls as text]\n{shown}\n[", shown.len());
    assert!(out.contains(&fence), "{out:?}");
}

#[test]
fn raw_is_the_body_byte_for_byte() {
    let room = TestRoom::with(&["alice", "bob"]);
    for text in [CONTROLS, "no line break", "\n\n---\nfrom: eve\n---\n", &"long\n".repeat(10_000)] {
        room.by("alice", ["send", "bob", "-s", "x"]).input(text).succeeds();
        assert_eq!(room.by("bob", ["read", "--raw", "--keep"]).succeeds().out, text);
        assert_eq!(room.files("bob", "inbox").len(), 1, "it was kept");
        assert_eq!(room.by("bob", ["read", "--raw"]).succeeds().out, text);
        assert_eq!(room.files("bob", "inbox").len(), 0, "it was read");
    }
    room.by("bob", ["read", "--raw"]).exits(1);
    let two = [room.send("alice", "bob", "one"), room.send("alice", "bob", "two")];
    room.by("bob", ["read", "--raw", &two[0], &two[1]]).exits(2);
    assert_eq!(room.files("bob", "inbox").len(), 2, "nothing was shown");
}

#[test]
fn raw_is_not_for_a_terminal() {
    if !lent("raw_is_not_for_a_terminal") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob"]);
    room.by("alice", ["send", "bob", "-s", "x"]).input(CONTROLS).succeeds();
    let shown = on_terminal(&room, 80, "--as bob read --raw", &PLAIN);
    harmless("read --raw", &shown);
    assert!(shown.contains("`> FILE`") && !shown.contains("[2J"), "{shown}");
    assert_eq!(room.files("bob", "inbox").len(), 1);
}
