//! `check`: headers of unread mail, and nothing else happens.

use crate::support::hand::by_hand;
use crate::support::mask::mask;
use crate::support::room::TestRoom;

#[test]
fn a_header_is_one_line() {
    let room = TestRoom::with(&["alice", "bob"]);
    let first = room.send("alice", "bob", "plain");
    let marks = ["--priority", "urgent", "--channel", "build", "--reply-to", "cafe0001-ffff"];
    room.by("alice", ["send", "bob", "-s", "with: marks", "-m", "x"].into_iter().chain(marks)).succeeds();
    let ran = room.by("bob", ["check"]).succeeds();
    insta::assert_snapshot!(mask(&ran.out, &room.root()), @"
    <id> <age> alice urgent re=<id> channel=build: with: marks
    <id> <age> alice: plain
    ");
    assert!(ran.out.lines().nth(1).unwrap().starts_with(&first) && ran.err.is_empty());
}

#[test]
fn an_empty_check_prints_nothing_and_exits_1() {
    let room = TestRoom::with(&["bob"]);
    let ran = room.by("bob", ["check"]).exits(1);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    assert_eq!(room.by("bob", ["check", "--count"]).exits(1).out, "0\n");
}

#[test]
fn urgent_comes_first_and_then_what_came_first() {
    let room = TestRoom::with(&["alice", "bob"]);
    let alice = room.id("alice");
    // By hand, because the names tell the order and a test cannot wait for seconds to pass.
    for (file, id) in [
        ("20260103T000000Z-aaaa0003-x--urgent.md", "aaaa0003"),
        ("20260101T000000Z-aaaa0001-x.md", "aaaa0001"),
        ("20260102T000000Z-aaaa0002-x.md", "aaaa0002"),
        ("20260104T000000Z-aaaa0004-x--high.md", "aaaa0004"),
        ("20260100T000000Z-aaaa0000-x--low.md", "aaaa0000"),
    ] {
        let priority = file.split_once("--").map_or("normal", |(_, end)| end.trim_end_matches(".md"));
        let text =
            by_hand(&alice, id, "x", "y").replacen("---\n\n", &format!("priority: {priority}\n---\n\n"), 1);
        room.place("bob", file, text);
    }
    let out = room.by("bob", ["check"]).succeeds().out;
    let order: Vec<&str> = out.lines().map(|line| &line[..8]).collect();
    assert_eq!(order, ["aaaa0003", "aaaa0004", "aaaa0001", "aaaa0002", "aaaa0000"]);
    // `read` takes them in the same order.
    assert!(room.by("bob", ["read"]).succeeds().out.starts_with("aaaa0003 "));
}

#[test]
fn mail_of_one_second_is_shown_in_the_order_it_came() {
    let room = TestRoom::with(&["alice", "bob"]);
    let sent: Vec<String> = (1..=6).map(|n| room.send("alice", "bob", &format!("part {n}"))).collect();
    let shown = |limit: &str| {
        let out = room.by("bob", ["check", "-q", "--limit", limit]).succeeds().out;
        out.lines().map(|line| line[..8].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(shown("50"), sent);
    assert_eq!(shown("2"), sent[..2], "the limit keeps the first");
    for id in &sent {
        let read = room.by("bob", ["read"]).succeeds().out;
        assert!(read.starts_with(&format!("{id} ")), "{read}");
    }
}

#[test]
fn looking_consumes_nothing_and_changes_nothing() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "one");
    let before = room.tree();
    for arguments in
        [vec!["check"], vec!["check", "--json"], vec!["check", "--count"], vec!["check", "--from", "alice"]]
    {
        let first = room.by("bob", arguments.clone()).succeeds().out;
        assert_eq!(room.by("bob", arguments).succeeds().out, first);
    }
    room.is_still(&before, "looking or a refusal");
}

#[test]
fn a_limit_says_how_much_more_there_is() {
    let room = TestRoom::with(&["alice", "bob"]);
    for text in ["a", "b", "c"] {
        room.send("alice", "bob", text);
    }
    let out = room.by("bob", ["check", "--limit", "1"]).succeeds().out;
    assert_eq!(out.lines().count(), 2, "{out}");
    assert!(out.contains("\n… 2 more: postroom ") && out.ends_with(" --as bob check --limit 3\n"), "{out}");
    assert_eq!(room.by("bob", ["check", "--limit", "3"]).succeeds().out.lines().count(), 3);
    assert_eq!(room.by("bob", ["-q", "check", "--limit", "1"]).succeeds().out.lines().count(), 1);
    assert_eq!(room.by("bob", ["check", "--limit", "1", "--json"]).json()["unread"], 3);
}

#[test]
fn strange_files_do_not_hide_that_there_is_more() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    for text in ["a", "b", "c"] {
        room.send("alice", "bob", text);
    }
    for link in ["l1.md", "l2.md"] {
        std::os::unix::fs::symlink("/nowhere", room.folder("bob", "inbox").join(link)).unwrap();
    }
    let ran = room.by("bob", ["check", "--limit", "1"]).succeeds();
    assert!(ran.out.contains("… 2 more"), "{ran:?}");
}

#[test]
fn a_broken_file_among_the_first_does_not_hide_that_there_is_more() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    room.place("bob", "0-broken.md", crate::support::hand::BROKEN);
    for text in ["a", "b", "c"] {
        room.send("alice", "bob", text);
    }
    let ran = room.by("bob", ["check", "--limit", "1"]).succeeds();
    assert!(ran.out.lines().count() == 2 && ran.out.contains("… 2 more"), "{ran:?}");
}

#[test]
fn filters_fit_sender_channel_and_thread() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    let question = room.by("bob", ["send", "alice", "-m", "q", "--json"]).json();
    let question = question["receipts"][0]["id"].as_str().unwrap().to_owned();
    room.send("alice", "bob", "from alice");
    room.by("carol", ["send", "bob", "-m", "from carol", "--channel", "build"]).succeeds();
    room.by("alice", ["reply", &question, "-m", "the answer"]).succeeds();
    let subjects = |arguments: &[&str]| {
        let found = room.by("bob", ["check", "--json"].into_iter().chain(arguments.iter().copied())).json();
        let list = found["messages"].as_array().unwrap();
        let mut subjects: Vec<_> = list.iter().map(|m| m["subject"].as_str().unwrap().to_owned()).collect();
        subjects.sort();
        subjects
    };
    assert_eq!(subjects(&["--from", "alice"]), ["from alice", "re: q"]);
    assert_eq!(subjects(&["--from", "CAROL"]), ["from carol"]);
    assert_eq!(subjects(&["--channel", "build"]), ["from carol"]);
    assert_eq!(subjects(&["--reply-to", &question]), ["re: q"]);
    assert_eq!(subjects(&["--reply-to", &question[..8]]), ["re: q"]);
    assert_eq!(subjects(&["--from", "alice", "--channel", "build"]), [""; 0]);
    assert_eq!(room.by("bob", ["check", "--count", "--from", "alice"]).succeeds().out, "2\n");
    room.by("bob", ["check", "--channel", "nothing"]).exits(1);
    room.by("bob", ["check", "--from", "nobody"]).exits(3);
}

#[test]
fn mail_by_hand_is_shown_with_its_whole_id() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.place("bob", "note.md", by_hand(&room.id("alice"), "note-1", "by hand", "x"));
    let out = room.by("bob", ["check"]).succeeds().out;
    assert!(out.starts_with("note-1 ") && out.ends_with("alice: by hand\n"), "{out}");
    // What check shows is what read takes.
    assert!(room.by("bob", ["read", "note-1"]).succeeds().out.starts_with("note-1 "));
}

#[test]
fn a_check_in_a_mailbox_of_its_own_says_nothing_of_others() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    room.send("alice", "bob", "for bob alone");
    room.by("carol", ["check"]).exits(1);
    let archived = room.files("bob", "inbox").pop().unwrap();
    room.by("carol", ["read", &archived]).exits(3);
}
