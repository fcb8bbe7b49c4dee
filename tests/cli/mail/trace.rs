//! `trace`: where a message is and what happened to it, from the files first and the journal second; what neither
//! knows is *no evidence*.

use serde_json::Value;

use crate::support::hand::by_hand;
use crate::support::mask::mask;
use crate::support::room::TestRoom;
use crate::support::taken::{claim, end_lease, taken};

fn forget(room: &TestRoom) {
    std::fs::remove_dir_all(room.root().join(".journal")).unwrap();
}

#[test]
fn a_message_is_followed_from_queued_to_answered() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "job");
    let queued = room.by("alice", ["trace", &id]).succeeds().out;
    assert!(queued.contains("\nat bob: queued, unread\n"), "{queued}");
    let token = claim(&room, "bob", &[]);
    end_lease(&room, "bob", &token);
    let token = claim(&room, "bob", &[]);
    let claimed = room.by("alice", ["trace", &id]).succeeds().out;
    assert!(claimed.contains("\nat bob: claimed by bob until "), "{claimed}");
    room.by("bob", ["done", &token, "-m", "did it"]).succeeds();
    let whole = room.by("alice", ["trace", &id]).succeeds().out;
    insta::assert_snapshot!(mask(&whole, &room.root()), @r"
    message: <uuid>
    from: alice
    subject: job
    at bob: done <time>
      attempt <time> expired
    answered by bob: <uuid>
    <time> alice sent <id> to bob: job
    <time> bob claimed <id>: attempt 1, until <time>
    <time> bob expired <id>
    <time> bob claimed <id>: attempt 2, until <time>
    <time> bob sent <id> to alice: re: job
    <time> bob done <id>
    ");
    assert_eq!(room.run(["trace", &id]).succeeds().out, whole, "anyone may look");
}

#[test]
fn every_copy_is_told() {
    let room = TestRoom::with(&["alice", "bob", "carol", "dave"]);
    let sent = room.by("alice", ["send", "bob", "carol", "dave", "-m", "x"]).succeeds().out;
    let id = sent.split(' ').nth(1).unwrap();
    room.by("carol", ["read"]).succeeds();
    room.by("dave", ["archive", id]).succeeds();
    let shown = room.by("alice", ["trace", id]).succeeds().out;
    for line in ["\nat bob: queued, unread\n", "\nat carol: shown ", "\nat dave: filed away unread "] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
}

#[test]
fn without_the_journal_there_is_no_evidence_and_the_files_are_found() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "why?");
    room.by("bob", ["reply", &id, "-m", "Because."]).succeeds();
    forget(&room);
    let shown = mask(&room.by("alice", ["trace", &id]).succeeds().out, &room.root());
    insta::assert_snapshot!(shown, @r"
    message: <uuid>
    from: alice
    subject: why?
    at bob: answered <time>
    answered by bob: <uuid>
    journal: no evidence
    ");
}

#[test]
fn claims_and_failures_need_no_journal() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (id, token) = taken(&room, "alice", "bob", "job");
    forget(&room);
    let shown = room.by("alice", ["trace", &id]).succeeds().out;
    assert!(shown.contains("\nat bob: claimed by bob until "), "{shown}");
    room.by("bob", ["fail", &token, "--reason", "no such file"]).succeeds();
    forget(&room);
    let shown = room.by("alice", ["trace", &id]).succeeds().out;
    assert!(
        shown.contains("\nat bob: failed: no such file\n") && shown.contains(" failed no such file\n"),
        "{shown}"
    );
}

#[test]
fn an_answer_that_was_written_by_hand_is_seen() {
    // The files come first: the journal knows the question and never hears of an answer by hand.
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "why?");
    let whole = room.by("bob", ["read", &id, "--json"]).json()["messages"][0]["id"].clone();
    let answer = by_hand(&room.id("bob"), "abcd1111-2222", "re: why?", "x");
    let answer = answer.replacen("---\n\n", &format!("reply_to: {}\n---\n\n", whole.as_str().unwrap()), 1);
    room.place("alice", "20260101T000000Z-abcd1111-re-why.md", answer);
    let shown = room.by("alice", ["trace", &id]).succeeds().out;
    assert!(shown.contains("answered by bob: abcd1111-2222\n"), "{shown}");
}

#[test]
fn what_is_in_no_mailbox_any_more_is_remembered_by_the_journal() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "job");
    room.by("bob", ["read"]).succeeds();
    room.run(["prune", "--archived", "0s", "--yes"]).succeeds();
    let shown = room.by("alice", ["trace", &id]).succeeds().out;
    assert!(shown.contains("\nin no mailbox; the journal remembers it\n"), "{shown}");
    assert!(shown.contains("subject: job\n") && shown.contains(" bob shown "), "{shown}");
    forget(&room);
    room.by("alice", ["trace", &id]).exits(3);
}

#[test]
fn who_worked_on_it_is_told_even_for_others_queues() {
    let room = TestRoom::with(&["alice", "jobs", "bob"]);
    let id = room.send("alice", "jobs", "job");
    let token = claim(&room, "bob", &["--queue", "jobs"]);
    let shown = room.by("alice", ["trace", &id]).succeeds().out;
    assert!(shown.contains("\nat jobs: claimed by bob until "), "{shown}");
    room.by("bob", ["done", &token]).succeeds();
    let shown = room.by("alice", ["trace", &id]).succeeds().out;
    assert!(shown.contains("\nat jobs: done ") && shown.contains(" bob done "), "{shown}");
}

#[test]
fn what_was_put_back_is_queued_whatever_the_journal_says() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "job");
    room.by("bob", ["read"]).succeeds();
    room.by("bob", ["unarchive", &id]).succeeds();
    let shown = room.by("alice", ["trace", &id]).succeeds().out;
    assert!(shown.contains("\nat bob: queued, unread\n"), "{shown}");
    room.by("bob", ["archive", &id]).succeeds();
    let shown = room.by("alice", ["trace", &id]).succeeds().out;
    assert!(shown.contains("\nat bob: filed away unread "), "the last word counts: {shown}");
}

#[test]
fn a_broken_journal_is_passed_over() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "job");
    let day = std::fs::read_dir(room.root().join(".journal")).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&day).unwrap();
    std::fs::write(&day, format!("garbage\n\0\0\n{{\"event\":7}}\n{text}{{\"v\":1,\"ev")).unwrap();
    let shown = room.by("alice", ["trace", &id]).succeeds().out;
    assert!(shown.contains("at bob: queued, unread\n") && shown.contains(" alice sent "), "{shown}");
}

#[test]
fn an_id_must_name_one_message() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (alice, bob) = (room.id("alice"), room.id("bob"));
    room.place("bob", "20260101T000000Z-abcd1111-x.md", by_hand(&alice, "abcd1111-1", "x", "x"));
    room.place("alice", "odd name.md", by_hand(&bob, "abcd2222-2", "y", "x"));
    let ran = room.run(["trace", "abcd"]).exits(4);
    assert!(ran.err.contains("abcd1111-1") && ran.err.contains("abcd2222-2"), "{}", ran.err);
    assert!(room.by("bob", ["trace", "abcd"]).succeeds().out.contains("abcd1111-1"), "one's own first");
    assert!(room.by("bob", ["trace", "abcd2222"]).succeeds().out.contains("subject: y"), "others' as well");
    for (id, code) in [("0000dead", 3), ("abc", 2), ("\u{1b}[2Jabcd", 3)] {
        let ran = room.run(["trace", id]).exits(code);
        assert!(!ran.err.contains('\u{1b}') && !ran.err.is_empty(), "{id:?}: {}", ran.err);
    }
}

#[test]
fn the_document_says_the_same() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (id, token) = taken(&room, "alice", "bob", "job");
    end_lease(&room, "bob", &token);
    let token = claim(&room, "bob", &[]);
    room.by("bob", ["done", &token, "-m", "did it"]).succeeds();
    let told = room.run(["trace", &id, "--json"]).json();
    let copy = &told["copies"][0];
    assert_eq!((&copy["folder"], &copy["state"]), (&"archive".into(), &"done".into()));
    assert_eq!(copy["mailbox"]["name"], "bob");
    assert_eq!(copy["attempts"][0]["how"], "expired");
    assert_eq!(told["answers"][0]["from"], room.id("bob").as_str());
    let events: Vec<&str> =
        told["events"].as_array().unwrap().iter().map(|e: &Value| e["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["sent", "claimed", "expired", "claimed", "sent", "done"]);
}
