//! `send --wait-for`: goes on until the message was shown, done or answered, and says when that cannot be any more.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::mask::mask;
use crate::support::room::{Ran, TestRoom};
use crate::support::taken::{claim, end_lease};
use crate::support::until::{skip, until_watching};

/// Starts a send that waits and gives it once it sleeps.
fn sending(room: &TestRoom, arguments: &[&str]) -> Child {
    let child = room.by("alice", ["send"].into_iter().chain(arguments.iter().copied())).start();
    until_watching(&child);
    child
}

/// The digits of the only unread message.
fn digits(room: &TestRoom, name: &str) -> String {
    let files = room.files(name, "inbox");
    assert_eq!(files.len(), 1, "{files:?}");
    files[0][17..25].to_owned()
}

#[test]
fn the_receipt_comes_first_and_then_what_became_of_it() {
    let room = TestRoom::with(&["alice", "bob"]);
    let waiting = sending(&room, &["bob", "-m", "job", "--wait-for", "shown", "--timeout", "60"]);
    room.by("bob", ["read"]).succeeds();
    let ran = Ran::end(waiting);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    insta::assert_snapshot!(mask(&ran.out, &room.root()), @r"
    queued <id> for bob: job
    <id> for bob: shown <time>
    ");
}

#[test]
fn each_end_is_told_for_what_it_is() {
    let room = TestRoom::with(&["alice", "bob"]);
    for (wanted, deed, code, says) in [
        ("shown", "read", 0, "for bob: shown "),
        ("shown", "claim", 0, "for bob: claimed by bob until "),
        ("shown", "reply", 0, "for bob: answered "),
        ("shown", "archive", 4, "for bob: filed away unread "),
        ("done", "done", 0, "for bob: done "),
        ("done", "reply", 0, "for bob: answered "),
        ("done", "archive", 4, "for bob: filed away unread "),
        ("done", "fail", 4, "for bob: failed: hopeless\n"),
    ] {
        let waiting = sending(&room, &["bob", "-m", "job", "--wait-for", wanted, "--timeout", "60"]);
        let id = digits(&room, "bob");
        match deed {
            "read" | "claim" => room.by("bob", [deed]).succeeds(),
            "archive" => room.by("bob", [deed, &id]).succeeds(),
            "reply" => room.by("bob", [deed, &id, "-m", "x"]).succeeds(),
            "fail" => room.by("bob", [deed, &claim(&room, "bob", &[]), "--reason", "hopeless"]).succeeds(),
            _ => room.by("bob", [deed, &claim(&room, "bob", &[])]).succeeds(),
        };
        let ran = Ran::end(waiting);
        assert!(ran.code == code && ran.out.contains(says), "{wanted} {deed}: {ran:?}");
        for token in room.files("bob", "claimed") {
            room.by("bob", ["done", &token]).succeeds();
        }
    }
}

/// Whether commands can be slowed down here; tells who watches if not.
fn can_be_slowed(test: &str) -> bool {
    let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).status();
    let can = traced.is_ok_and(|status| status.success());
    if !can {
        skip(test, "strace is not there or not allowed");
    }
    can
}

/// Runs a command of bob's in which one system call takes a third of a second.
fn slowly(room: &TestRoom, call: &str, arguments: &str) -> Ran {
    let inject = format!("-e trace={call} -e inject={call}:delay_enter=300000");
    room.bash(&format!("strace -f -o /dev/null {inject} postroom --as bob {arguments}")).succeeds()
}

#[test]
fn a_claim_is_noticed_at_once() {
    // The watch must see the step that decides; a look every five seconds is only the fallback. Between the making
    // of the claim and that step there is time enough to look and to fall asleep again.
    if !can_be_slowed("a_claim_is_noticed_at_once") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob"]);
    let waiting = sending(&room, &["bob", "-m", "job", "--wait-for", "shown", "--timeout", "60"]);
    slowly(&room, "renameat2", "claim");
    let taken = Instant::now();
    assert_eq!(Ran::end(waiting).code, 0);
    assert!(taken.elapsed() < Duration::from_secs(3), "after {:?}", taken.elapsed());
    room.by("bob", ["done", &room.files("bob", "claimed")[0]]).succeeds();
}

#[test]
fn what_is_filed_away_slowly_is_not_taken_for_shown() {
    // The file moves first and the journal is written afterwards; a slow disk lies between the two.
    if !can_be_slowed("what_is_filed_away_slowly_is_not_taken_for_shown") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob"]);
    let waiting = sending(&room, &["bob", "-m", "job", "--wait-for", "shown", "--timeout", "60"]);
    slowly(&room, "fsync", &format!("archive {}", digits(&room, "bob")));
    let ran = Ran::end(waiting);
    assert!(ran.code == 4 && ran.out.contains(" for bob: filed away unread "), "{ran:?}");
}

#[test]
fn a_claim_is_not_the_end_of_a_wait_for_done() {
    let room = TestRoom::with(&["alice", "bob"]);
    let waiting = sending(&room, &["bob", "-m", "job", "--wait-for", "done", "--timeout", "60"]);
    let token = claim(&room, "bob", &[]);
    end_lease(&room, "bob", &token);
    let token = claim(&room, "bob", &[]);
    room.by("bob", ["release", &token]).succeeds();
    room.by("bob", ["read"]).succeeds();
    let ran = Ran::end(waiting);
    assert!(ran.code == 0 && ran.out.contains(" for bob: shown "), "{ran:?}");
}

#[test]
fn a_reply_is_waited_for_and_left_unread() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    let waiting = sending(&room, &["bob", "-m", "why?", "--wait-for", "reply", "--timeout", "60"]);
    room.send("carol", "alice", "something else");
    let id = digits(&room, "bob");
    room.by("bob", ["reply", &id, "-m", "Because."]).succeeds();
    let ran = Ran::end(waiting);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.lines().nth(1).unwrap().starts_with(&format!("{id} for bob: ")), "{ran:?}");
    assert_eq!(
        room.by("alice", ["check", "--count"]).succeeds().out,
        "2\n",
        "the answer is still to be read"
    );
}

#[test]
fn a_reply_of_one_is_no_reply_of_the_other() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    let arguments = ["bob", "carol", "-m", "both?", "--wait-for", "reply", "--timeout", "3"];
    let waiting = sending(&room, &arguments);
    room.by("bob", ["reply", &digits(&room, "bob"), "-m", "yes"]).succeeds();
    let ran = Ran::end(waiting);
    assert_eq!(ran.code, 1, "carol never answered: {ran:?}");
    assert!(ran.out.contains(" for carol: queued, unread\n"), "{ran:?}");
}

#[test]
fn all_copies_are_waited_for() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    room.run(["group", "add", "team", "bob", "carol"]).succeeds();
    let waiting = sending(&room, &["@team", "-m", "both", "--wait-for", "shown", "--timeout", "60"]);
    room.by("carol", ["read"]).succeeds();
    room.by("bob", ["read"]).succeeds();
    let ran = Ran::end(waiting);
    assert_eq!(ran.code, 0, "{ran:?}");
    for name in ["bob", "carol"] {
        assert!(ran.out.contains(&format!(" for {name}: shown ")), "{ran:?}");
    }
    assert_eq!(ran.out.lines().count(), 4);
}

#[test]
fn a_time_out_says_where_each_copy_is() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    let arguments = ["bob", "carol", "-m", "x", "--wait-for", "done", "--timeout", "0.05"];
    let ran = room.by("alice", ["send"].into_iter().chain(arguments)).exits(1);
    insta::assert_snapshot!(mask(&ran.out, &room.root()), @r"
    queued <id> for bob: x
    queued <id> for carol: x
    <id> for bob: queued, unread
    <id> for carol: queued, unread
    ");
    assert_eq!(ran.err, "");
    assert_eq!(room.files("bob", "inbox").len(), 1, "it stays sent");
}

#[test]
fn a_reply_that_is_a_bounce_is_a_failure() {
    let room = TestRoom::with(&["alice", "bob"]);
    let waiting = sending(&room, &["bob", "-m", "job", "--wait-for", "reply", "--timeout", "60"]);
    let token = claim(&room, "bob", &[]);
    room.by("bob", ["fail", &token, "--reason", "hopeless"]).succeeds();
    let ran = Ran::end(waiting);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.out.contains("failed: hopeless"), "{ran:?}");
}

#[test]
fn it_is_told_as_documents_too() {
    let room = TestRoom::with(&["alice", "bob"]);
    let waiting = sending(&room, &["bob", "-m", "job", "--wait-for", "shown", "--timeout", "60", "--json"]);
    room.by("bob", ["read"]).succeeds();
    let ran = Ran::end(waiting);
    let documents: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(documents.len(), 2, "{ran:?}");
    let (receipt, fate) = (&documents[0]["receipts"][0], &documents[1]);
    assert_eq!(receipt["state"], "queued");
    assert_eq!((&fate["v"], &fate["id"], &fate["reached"]), (&1.into(), &receipt["id"], &true.into()));
    assert!(fate["state"].as_str().unwrap().starts_with("shown "), "{fate}");
}

#[test]
fn a_copy_that_was_not_delivered_ends_it() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    room.block("bob");
    let arguments = ["bob", "carol", "-m", "x", "--wait-for", "shown", "--timeout", "60"];
    let ran = room.by("alice", ["send"].into_iter().chain(arguments)).exits(4);
    assert!(ran.err.contains("not delivered to bob"), "{ran:?}");
    assert_eq!(room.files("carol", "inbox").len(), 1);
    room.unblock("bob");
}

#[test]
fn what_can_be_waited_for_is_told() {
    let room = TestRoom::with(&["alice", "bob"]);
    let before = room.tree();
    let ran = room.by("alice", ["send", "bob", "-m", "x", "--wait-for", "read"]).exits(2);
    assert!(ran.err.contains("shown, done, reply"), "{}", ran.err);
    room.is_still(&before, "a mistake on the command line");
}

#[test]
fn mail_that_was_moved_by_hand_is_consumed_and_nobody_knows_how() {
    // Rule §9 lets a shell read by `cat` and `mv`; the journal never hears of it.
    let room = TestRoom::with(&["alice", "bob"]);
    let waiting = sending(&room, &["bob", "-m", "job", "--wait-for", "done", "--timeout", "60"]);
    let file = room.files("bob", "inbox").pop().unwrap();
    std::fs::rename(room.folder("bob", "inbox").join(&file), room.folder("bob", "archive").join(&file))
        .unwrap();
    let ran = Ran::end(waiting);
    assert!(ran.code == 0 && ran.out.contains(" for bob: archived; no evidence how\n"), "{ran:?}");
}
