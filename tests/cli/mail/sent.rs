//! `sent`: what I sent, newest first, and where each copy is now.

use crate::support::mask::mask;
use crate::support::room::TestRoom;
use crate::support::taken::claim;

#[test]
fn every_state_is_told() {
    let room = TestRoom::with(&["alice", "bob"]);
    let ran = room.by("alice", ["sent"]).exits(1);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""), "nothing is silence");
    let send = |text: &str| room.send("alice", "bob", text);
    let filed = send("filed");
    room.by("bob", ["archive", &filed]).succeeds();
    send("shown");
    room.by("bob", ["read"]).succeeds();
    let answered = send("answered");
    room.by("bob", ["reply", &answered, "-m", "x"]).succeeds();
    send("done");
    room.by("bob", ["done", &claim(&room, "bob", &[])]).succeeds();
    send("failed");
    room.by("bob", ["fail", &claim(&room, "bob", &[]), "--reason", "no file"]).succeeds();
    send("claimed");
    let token = claim(&room, "bob", &[]);
    send("unread");
    let shown = mask(&room.by("alice", ["sent"]).succeeds().out, &room.root());
    insta::assert_snapshot!(shown, @r"
    <id> bob queued, unread: unread
    <id> bob claimed by bob until <time>, attempt 1: claimed
    <id> bob failed: no file: failed
    <id> bob done <time>: done
    <id> bob answered <time>: answered
    <id> bob shown <time>: shown
    <id> bob filed away unread <time>: filed
    ");
    room.by("bob", ["done", &token]).succeeds();
}

#[test]
fn every_copy_has_a_line_and_only_mine() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    room.by("alice", ["send", "bob", "carol", "-m", "both"]).succeeds();
    room.send("bob", "carol", "not mine");
    room.by("carol", ["read"]).succeeds();
    let shown = mask(&room.by("alice", ["sent"]).succeeds().out, &room.root());
    assert_eq!(shown, "<id> bob queued, unread: both\n<id> carol shown <time>: both\n");
}

#[test]
fn the_newest_come_first_and_no_more_than_asked() {
    let room = TestRoom::with(&["alice", "bob"]);
    let ids: Vec<String> = (0..25).map(|n| room.send("alice", "bob", &format!("m{n}"))).collect();
    let shown = room.by("alice", ["sent"]).succeeds().out;
    assert_eq!(shown.lines().count(), 20, "short without being asked");
    for (line, id) in shown.lines().zip(ids.iter().rev()) {
        assert!(line.starts_with(id.as_str()), "{line}");
    }
    assert_eq!(room.by("alice", ["sent", "--limit", "3"]).succeeds().out.lines().count(), 3);
    assert_eq!(room.by("alice", ["sent", "--limit", "100"]).succeeds().out.lines().count(), 25);
    room.by("alice", ["sent", "--limit", "x"]).exits(2);
}

#[test]
fn without_the_journal_the_files_tell_and_nothing_is_guessed() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "read one");
    room.by("bob", ["read"]).succeeds();
    room.send("alice", "bob", "unread one");
    std::fs::remove_dir_all(room.root().join(".journal")).unwrap();
    let shown = mask(&room.by("alice", ["sent"]).succeeds().out, &room.root());
    let mut lines: Vec<&str> = shown.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        ["<id> bob archived; no evidence how: read one", "<id> bob queued, unread: unread one"]
    );
}

#[test]
fn mail_that_is_older_than_the_journal_is_not_forgotten() {
    let room = TestRoom::with(&["alice", "bob"]);
    let old = room.send("alice", "bob", "old");
    std::fs::remove_dir_all(room.root().join(".journal")).unwrap();
    let new = room.send("alice", "bob", "new");
    let shown = room.by("alice", ["sent"]).succeeds().out;
    for id in [&old, &new] {
        assert!(shown.contains(id.as_str()), "{id}: {shown}");
    }
}

#[test]
fn what_was_removed_is_said_to_be_gone() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    room.send("alice", "bob", "pruned");
    room.by("bob", ["read"]).succeeds();
    room.run(["prune", "--archived", "0s", "--yes"]).succeeds();
    room.send("alice", "carol", "with its mailbox");
    room.run(["prune", "carol", "--unread", "--yes"]).succeeds();
    let shown = mask(&room.by("alice", ["sent"]).succeeds().out, &room.root());
    assert_eq!(
        shown,
        "<id> carol-<id> gone from that mailbox; no evidence: with its mailbox\n<id> bob gone from that mailbox; no evidence: pruned\n"
    );
}

#[test]
fn it_needs_to_know_who_i_am() {
    let room = TestRoom::with(&["alice"]);
    let ran = room.run(["sent"]).exits(3);
    assert!(ran.err.contains("postroom --as alice "), "{}", ran.err);
}

/// `sent`, `trace` and `ask` say the same of one message, whatever the order of reading and answering.
#[test]
fn what_was_read_before_it_was_answered_is_answered() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "question");
    room.by("bob", ["read", &id]).succeeds();
    room.by("bob", ["reply", &id, "-m", "answer"]).succeeds();
    let state = || {
        let sent = room.by("alice", ["sent", "--json"]).json()["sent"][0]["detail"].clone();
        let traced = room.by("alice", ["trace", &id, "--json"]).json()["copies"][0]["detail"].clone();
        assert_eq!(sent, traced);
        sent.as_str().unwrap().to_owned()
    };
    assert!(state().starts_with("answered "), "{}", state());
    // The answer itself is evidence without the journal.
    std::fs::remove_dir_all(room.root().join(".journal")).unwrap();
    assert!(state().starts_with("answered "), "{}", state());
}

#[test]
fn a_bounce_is_no_answer() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "job");
    room.by("bob", ["fail", &claim(&room, "bob", &[]), "--reason", "no file"]).succeeds();
    room.by("bob", ["archive", &id]).succeeds();
    for journal in [true, false] {
        if !journal {
            std::fs::remove_dir_all(room.root().join(".journal")).unwrap();
        }
        let sent = room.by("alice", ["sent"]).succeeds().out;
        assert!(!sent.contains("answered"), "{sent}");
    }
}
