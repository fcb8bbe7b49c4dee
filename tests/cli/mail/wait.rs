//! `wait`: blocks until mail is there, at most as long as it is told.

use std::process::Child;

use crate::support::hand::by_hand;
use crate::support::mask::mask;
use crate::support::room::TestRoom;
use crate::support::until::until_watching;

/// What a waiter printed, and how it ended.
fn end(child: Child) -> (i32, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_sleeping_waiter_wakes_and_prints_headers() {
    let room = TestRoom::with(&["alice", "bob"]);
    let waiting = room.by("bob", ["wait", "--timeout", "60"]).start();
    until_watching(&waiting);
    let id = room.send("alice", "bob", "wake up");
    let (code, out) = end(waiting);
    assert_eq!((code, mask(&out, &room.root()).as_str()), (0, "<id> <age> alice: wake up\n"));
    assert!(out.starts_with(&id));
    assert_eq!(room.files("bob", "inbox").len(), 1, "waiting consumes nothing");
}

#[test]
fn time_out_is_silent_and_exits_1() {
    let room = TestRoom::with(&["bob"]);
    let ran = room.by("bob", ["wait", "--timeout", "0.05"]).exits(1);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    let told = room.by("bob", ["wait", "--timeout", "0", "--json"]).json();
    assert_eq!((&told["timed_out"], &told["messages"]), (&true.into(), &serde_json::json!([])));
}

#[test]
fn a_waiter_for_an_answer_sleeps_through_other_mail() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    let asked = room.send("bob", "alice", "question");
    let waiting = room.by("bob", ["wait", "--reply-to", &asked, "--timeout", "60"]).start();
    until_watching(&waiting);
    room.send("carol", "bob", "something else");
    room.by("alice", ["reply", &asked, "-m", "the answer"]).succeeds();
    let (code, out) = end(waiting);
    assert_eq!((code, out.lines().count()), (0, 1), "{out}");
    assert!(out.ends_with(": re: question\n"), "{out}");
}

#[test]
fn a_waiter_for_a_sender_or_a_channel_sleeps_through_other_mail() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    let waiting: Vec<_> = [["--from", "alice"], ["--channel", "build"]]
        .into_iter()
        .map(|filter| room.by("bob", ["wait", "--timeout", "60"].into_iter().chain(filter)).start())
        .collect();
    waiting.iter().for_each(until_watching);
    room.send("carol", "bob", "something else");
    room.by("alice", ["send", "bob", "-m", "it", "--channel", "build"]).succeeds();
    for waiter in waiting {
        let (code, out) = end(waiter);
        assert_eq!(code, 0);
        assert!(out.lines().count() == 1 && out.contains(" alice channel=build: it"), "{out}");
    }
}

#[test]
fn mail_placed_by_hand_wakes_too() {
    let room = TestRoom::with(&["alice", "bob"]);
    let waiting = room.by("bob", ["wait", "--timeout", "60"]).start();
    until_watching(&waiting);
    room.place("bob", "note.md", by_hand(&room.id("alice"), "note-1", "by hand", "x"));
    let (code, out) = end(waiting);
    assert!(code == 0 && out.ends_with(" alice: by hand\n"), "{code} {out}");
}

#[test]
fn a_file_that_is_no_message_does_not_wake() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    let waiting = room.by("bob", ["wait", "--timeout", "60"]).start();
    until_watching(&waiting);
    room.place("bob", "broken.md", crate::support::hand::BROKEN);
    room.place("bob", "notes.txt", "not called *.md");
    room.send("alice", "bob", "real mail");
    let (code, out) = end(waiting);
    assert!(code == 0 && out.lines().count() == 1 && out.ends_with(": real mail\n"), "{code} {out}");
}

#[test]
fn a_waiter_whose_mailbox_is_removed_says_so() {
    let room = TestRoom::with(&["alice", "bob"]);
    let waiting = room.by("bob", ["wait", "--timeout", "60"]).start();
    until_watching(&waiting);
    std::fs::remove_dir_all(room.root().join(room.id("bob"))).unwrap();
    let output = waiting.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("is not in the room"), "{err}");
    room.run(["doctor", "--fix"]).succeeds();
}

#[test]
fn many_waiters_of_one_mailbox_all_wake() {
    let room = TestRoom::with(&["alice", "bob"]);
    let waiting: Vec<_> = (0..4).map(|_| room.by("bob", ["wait", "--timeout", "60"]).start()).collect();
    waiting.iter().for_each(until_watching);
    room.send("alice", "bob", "all of you");
    for waiter in waiting {
        assert_eq!(end(waiter).0, 0);
    }
}

#[test]
fn a_time_that_is_none_is_a_mistake_of_usage() {
    let room = TestRoom::with(&["bob"]);
    for time in ["soon", "-1", "nan", "inf", "1e99", ""] {
        let ran = room.by("bob", ["wait", &format!("--timeout={time}")]).exits(2);
        assert!(ran.err.contains("--timeout"), "{time}: {}", ran.err);
    }
}

#[test]
fn a_wait_for_new_mail_sleeps_over_what_is_there() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "old");
    assert_eq!(room.by("bob", ["wait", "--new", "--timeout", "0"]).exits(1).out, "");
    let waiting = room.by("bob", ["wait", "--new", "--timeout", "60"]).start();
    until_watching(&waiting);
    room.send("alice", "bob", "news");
    let (code, out) = end(waiting);
    assert!(code == 0 && out.lines().count() == 1 && out.ends_with(": news\n"), "{out}");
    room.by("bob", ["wait", "--new", "--from", "alice", "--timeout", "0"]).exits(1);
    let old = room.by("bob", ["wait", "--timeout", "0"]).succeeds();
    assert_eq!(old.out.lines().count(), 2, "{old:?}");
}

#[test]
fn a_wait_for_new_mail_in_all_rooms_sleeps_over_what_is_there() {
    let around = TestRoom::empty();
    for (room, name) in [("one", "alice"), ("one", "bob"), ("two", "bob")] {
        around.bare(["--room", room, "setup", name]).succeeds();
    }
    let send = |text: &str| {
        around.bare(["--room", "one", "--as", "alice", "send", "bob", "-m", text]).succeeds();
    };
    send("old");
    let wait = ["--as", "bob", "wait", "--all", "--new", "--timeout"];
    around.bare(wait.into_iter().chain(["0"])).exits(1);
    let waiting = around.bare(wait.into_iter().chain(["60"])).start();
    until_watching(&waiting);
    send("news");
    let (code, out) = end(waiting);
    assert!(code == 0 && out.lines().count() == 1 && out.ends_with(": news\n"), "{out}");
}
