//! `search`: the text of all mail, wherever it lies, with the lines that match.

use serde_json::Value;

use crate::support::hand::{age, by_hand};
use crate::support::mask::mask;
use crate::support::room::TestRoom;
use crate::support::taken::claim;

/// The subjects of what a search finds, in order.
fn found(room: &TestRoom, arguments: &[&str]) -> Vec<String> {
    let told = room.run(["search", "--json"].into_iter().chain(arguments.iter().copied())).json();
    let hits = told["hits"].as_array().unwrap_or_else(|| panic!("{told}")).clone();
    hits.iter().map(|hit| hit["subject"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_match_is_shown_with_its_place_and_its_lines() {
    let room = TestRoom::with(&["alice", "bob"]);
    let text = "The parser is done.\nNothing here.\nReview the Parser now.\n";
    room.by("alice", ["send", "bob", "-s", "review"]).input(text).succeeds();
    let ran = room.run(["search", "parser"]).succeeds();
    insta::assert_snapshot!(mask(&ran.out, &room.root()), @r"
    <id> <age> alice: review (bob/inbox)
      1: The parser is done.
      3: Review the Parser now.
    ");
    assert_eq!(ran.err, "");
    assert_eq!(room.files("bob", "inbox").len(), 1, "looking consumes nothing");
}

#[test]
fn it_looks_into_every_folder_of_every_mailbox() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    room.send("alice", "bob", "needle archived");
    room.by("bob", ["read"]).succeeds();
    room.send("alice", "bob", "needle failed");
    room.by("bob", ["fail", &claim(&room, "bob", &[]), "--reason", "x"]).succeeds();
    room.send("alice", "bob", "needle claimed");
    let token = claim(&room, "bob", &[]);
    room.send("alice", "bob", "needle unread");
    room.send("alice", "carol", "needle of carol");
    room.send("alice", "carol", "something else");
    let told = room.run(["search", "needle", "--json"]).json();
    let mut places: Vec<String> = told["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|h: &Value| {
            format!("{}/{}", h["mailbox"]["name"].as_str().unwrap(), h["folder"].as_str().unwrap())
        })
        .collect();
    places.sort();
    // The bounce quotes the subject, so that alice has it as well.
    assert_eq!(
        places,
        ["alice/inbox", "bob/archive", "bob/claimed", "bob/failed", "bob/inbox", "carol/inbox"]
    );
    room.by("bob", ["done", &token]).succeeds();
}

#[test]
fn subjects_are_searched_and_other_fields_are_not() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.by("alice", ["send", "bob", "-s", "the needle", "-m", "hay"]).succeeds();
    room.by("alice", ["send", "bob", "-s", "plain", "-m", "hay", "--channel", "needle"]).succeeds();
    assert_eq!(found(&room, &["needle"]), ["the needle"]);
    let ran = room.run(["search", "needle"]).succeeds();
    assert_eq!(ran.out.lines().count(), 1, "no line of the body matches: {}", ran.out);
    room.run(["search", "msg_id"]).exits(1);
    room.run(["search", &room.id("alice")]).exits(1);
}

#[test]
fn nothing_found_is_silence_and_exit_1() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "hay");
    let ran = room.run(["search", "needle"]).exits(1);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    let ran = room.run(["search", "needle", "--json"]).exits(1);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&told["hits"], &told["more"]), (&serde_json::json!([]), &false.into()));
}

#[test]
fn case_matters_only_with_a_capital() {
    let room = TestRoom::with(&["alice", "bob"]);
    for text in ["ÄPFEL und Birnen", "äpfel", "Straße", "ПРИВЕТ", "привет", "日本語のメール"]
    {
        room.send("alice", "bob", text);
    }
    assert_eq!(found(&room, &["äpfel"]).len(), 2);
    assert_eq!(found(&room, &["Äpfel"]).len(), 0);
    assert_eq!(found(&room, &["ÄPFEL"]), ["ÄPFEL und Birnen"]);
    assert_eq!(found(&room, &["привет"]).len(), 2);
    assert_eq!(found(&room, &["ПРИВЕТ"]).len(), 1);
    assert_eq!(found(&room, &["本語"]), ["日本語のメール"]);
    assert_eq!(found(&room, &["straße"]), ["Straße"]);
}

#[test]
fn a_class_in_an_expression_is_no_capital() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "Review parse.rs");
    assert_eq!(found(&room, &["--regex", r"review \w+"]).len(), 1);
    assert_eq!(found(&room, &["--regex", r"review \S+"]).len(), 1, "\\S is a class, not a letter");
}

#[test]
fn words_stand_as_they_are_and_an_expression_is_asked_for() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "a.b (c) [d] $e ^f \\g *h");
    room.send("alice", "bob", "axb");
    assert_eq!(found(&room, &["a.b"]).len(), 1);
    assert_eq!(found(&room, &["--regex", "a.b"]).len(), 2);
    for words in ["(c)", "[d]", "$e", "^f", "\\g", "*h"] {
        assert_eq!(found(&room, &[words]).len(), 1, "{words}");
    }
    assert_eq!(found(&room, &["--regex", "^a.b$"]), ["axb"]);
    let dashes = room.run(["search", "--", "--from"]).exits(1);
    assert_eq!(dashes.err, "", "words may begin with a dash");
}

#[test]
fn a_pattern_over_several_lines_is_found() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.by("alice", ["send", "bob", "-s", "s"]).input("one\ntwo\nthree\n").succeeds();
    assert_eq!(found(&room, &["--regex", "one\\ntwo"]), ["s"]);
    assert_eq!(found(&room, &["--regex", "^two$"]), ["s"]);
    assert_eq!(found(&room, &["--regex", "(?s)one.*three"]), ["s"]);
}

#[test]
fn an_expression_that_does_not_compile_says_why() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "a(b");
    for bad in ["(", "[", "a{99999999}", "\\q", "(?P<", "(?=x)", "*\u{1b}[2J"] {
        let ran = room.run(["search", "--regex", bad]).exits(2);
        assert!(ran.err.contains("the search expression does not compile"), "{bad}: {}", ran.err);
        assert!(ran.err.contains("leave --regex out") && !ran.err.contains('\u{1b}'), "{bad}: {}", ran.err);
        let ran = room.run(["search", "--regex", "--json", bad]).exits(2);
        let told: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(told["error"]["code"], 2, "{bad}");
    }
    // An expression that would take for ever elsewhere is over at once.
    room.by("alice", ["send", "bob", "-m", &"a".repeat(30_000)]).succeeds();
    assert_eq!(room.run(["search", "--regex", "(a+)+$b"]).exits(1).out, "");
}

#[test]
fn a_filter_says_from_whom_where_and_since_when() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    room.send("alice", "bob", "needle of alice");
    room.send("carol", "bob", "needle of carol");
    room.send("bob", "alice", "needle of bob");
    let old = room.place(
        "bob",
        "20250101T000000Z-abcd1111-x.md",
        by_hand(&room.id("alice"), "abcd1111", "old needle", "x"),
    );
    age(&old, 8 * 86_400);
    assert_eq!(found(&room, &["needle", "--from", "carol"]), ["needle of carol"]);
    assert_eq!(found(&room, &["needle", "--mailbox", "alice"]), ["needle of bob"]);
    assert_eq!(found(&room, &["needle", "--from", "alice", "--since", "7d"]), ["needle of alice"]);
    assert_eq!(found(&room, &["needle", "--from", "alice", "--since", "9d"]).len(), 2);
    for arguments in [["--from", "nobody"], ["--mailbox", "nobody"]] {
        let ran = room.run(["search", "needle"].into_iter().chain(arguments)).exits(3);
        assert!(ran.err.contains("names here: alice, bob, carol"), "{arguments:?}: {}", ran.err);
    }
    room.run(["search", "needle", "--since", "yesterday"]).exits(2);
    room.run(["search"]).exits(2);
}

#[test]
fn newest_come_first_and_no_more_than_asked() {
    let room = TestRoom::with(&["alice", "bob"]);
    for n in 1..=5 {
        let file = format!("2026010{n}T000000Z-abcd000{n}-x.md");
        room.place(
            "bob",
            &file,
            by_hand(&room.id("alice"), &format!("abcd000{n}"), &format!("needle {n}"), "x"),
        );
    }
    assert_eq!(found(&room, &["needle", "--limit", "2"]), ["needle 5", "needle 4"]);
    let ran = room.run(["search", "needle", "--limit", "2"]).succeeds();
    assert_eq!(ran.out.lines().count(), 3);
    // What is told next works when it is pasted.
    let next = ran.out.lines().last().unwrap().split_once(": ").unwrap().1.to_owned();
    let all = room.bash(&next).ends();
    assert!(all.code == 0 && all.out.lines().count() == 5, "`{next}`: {all:?}");
    assert_eq!(room.run(["search", "needle", "--limit", "2", "--json"]).json()["more"], true);
    assert_eq!(room.run(["search", "needle", "--limit", "5", "--json"]).json()["more"], false);
}

#[test]
fn newest_come_first_whatever_folder_they_lie_in() {
    // The help says: newest mail of each mailbox first.
    let room = TestRoom::with(&["alice", "bob"]);
    for n in 1..=3 {
        let file = format!("2026010{n}T000000Z-abcd000{n}-x.md");
        room.place(
            "bob",
            &file,
            by_hand(&room.id("alice"), &format!("abcd000{n}"), &format!("needle {n}"), "x"),
        );
    }
    room.by("bob", ["archive", "abcd0003"]).succeeds();
    assert_eq!(found(&room, &["needle"]), ["needle 3", "needle 2", "needle 1"]);
}

#[test]
fn a_match_in_a_long_line_is_seen() {
    let room = TestRoom::with(&["alice", "bob"]);
    let line = format!("{} needle {}", "left ".repeat(2000), "right ".repeat(2000));
    room.by("alice", ["send", "bob", "-s", "long", "-m", &line]).succeeds();
    let ran = room.run(["search", "needle"]).succeeds();
    let shown = ran.out.lines().nth(1).unwrap();
    assert!(shown.chars().count() < 300, "{} characters", shown.chars().count());
    assert!(shown.contains("left  needle right"), "the match in its context: {shown}");
}

#[test]
fn a_message_that_matches_often_is_cut_short() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.by("alice", ["send", "bob", "-s", "many", "-m", &"needle\n".repeat(500)]).succeeds();
    let ran = room.run(["search", "needle"]).succeeds();
    assert!((3..=10).contains(&ran.out.lines().count()), "{} lines", ran.out.lines().count());
}

#[test]
fn what_cannot_be_read_does_not_stop_it() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    room.place("bob", "broken.md", "---\nneedle without an end");
    room.place("bob", "binary.md", b"---\nfrom: x\nmsg_id: y\n---\n\nneedle \xff\xfe");
    std::os::unix::fs::symlink("/etc/passwd", room.folder("bob", "inbox").join("link.md")).unwrap();
    room.bash(&format!("mkfifo -m 600 '{}/fifo.md'", room.folder("bob", "inbox").display())).succeeds();
    room.send("alice", "bob", "needle");
    assert_eq!(found(&room, &["needle"]), ["needle"]);
    room.run(["search", "root:"]).exits(1);
}

#[test]
fn many_messages_are_searched_in_their_order() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (inbox, alice) = (room.folder("bob", "inbox"), room.id("alice"));
    for n in 0..500 {
        let path =
            inbox.join(format!("20260101T{:02}{:02}{:02}Z-{n:08x}-x.md", n / 3600, n / 60 % 60, n % 60));
        std::fs::write(&path, by_hand(&alice, &format!("{n:08x}"), &format!("needle {n}"), "x")).unwrap();
        crate::support::hand::tighten(&path);
    }
    let all = found(&room, &["needle", "--limit", "1000"]);
    let wanted: Vec<String> = (0..500).rev().map(|n| format!("needle {n}")).collect();
    assert_eq!(all, wanted, "workers end in any order, hits are shown in theirs");
}
