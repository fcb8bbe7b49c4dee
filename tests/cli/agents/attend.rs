//! The push from outside, with a stand-in for the program that takes it.

use crate::agents::hook::{hook, text};
use crate::support::room::{Run, TestRoom};
use crate::support::staffed::{program, with_path};

/// A room in which bob is a session of Codex, whose program notes what it is asked and ends with this code.
fn attended(code: i32) -> TestRoom {
    let room = TestRoom::with(&["alice"]);
    room.run(["setup", "bob"]).env("CODEX_THREAD_ID", "thread-7").succeeds();
    answering(&room, code);
    room
}

fn answering(room: &TestRoom, code: i32) {
    let log = room.around().join("asked");
    program(room, "codex", &format!("printf '%s|' \"$@\" >> '{}'; exit {code}", log.display()));
}

fn asked(room: &TestRoom) -> String {
    std::fs::read_to_string(room.around().join("asked")).unwrap_or_default()
}

fn attend(room: &TestRoom) -> Run {
    with_path(room, room.run(["attend", "--once", "--patience", "0"]))
}

#[test]
fn a_session_is_woken_once_for_a_message() {
    let room = attended(0);
    attend(&room).exits(1);
    room.by("alice", ["send", "bob", "-s", "SECRET", "-m", "x"]).succeeds();
    let ran = attend(&room).succeeds();
    assert_eq!(ran.out, "woke bob (codex) for 1\n");
    let words = asked(&room);
    assert!(words.starts_with("queue|--thread|thread-7|--message|postroom: mail has arrived"), "{words}");
    assert!(!words.contains("SECRET"), "no content: {words}");
    attend(&room).exits(1);
    assert_eq!(asked(&room), words, "never again for the same mail");
    room.send("alice", "bob", "next");
    attend(&room).succeeds();
}

#[test]
fn who_has_heard_or_is_gone_is_not_woken() {
    let room = attended(0);
    room.send("alice", "bob", "hello");
    assert!(text(&hook(&room, "codex", "tool-end", "thread-7").ends()).contains("hello"));
    attend(&room).exits(1);
    room.send("alice", "bob", "more");
    hook(&room, "codex", "session-end", "thread-7").succeeds();
    attend(&room).exits(1);
    assert_eq!(asked(&room), "");
}

#[test]
fn a_push_that_fails_is_tried_again() {
    let room = attended(1);
    room.send("alice", "bob", "hello");
    let ran = attend(&room).exits(1);
    assert!(ran.err.contains("bob was not woken"), "{}", ran.err);
    answering(&room, 0);
    attend(&room).succeeds();
    std::fs::remove_file(room.around().join("bin/codex")).unwrap();
    room.send("alice", "bob", "more");
    assert!(attend(&room).exits(1).err.contains("not on the search path"));
}

#[test]
fn it_stays_and_wakes_when_mail_comes() {
    let room = attended(0);
    let mut child = with_path(&room, room.run(["attend", "--patience", "0"])).start();
    crate::support::until::until_watching(&child);
    room.send("alice", "bob", "hello");
    crate::support::until::until("the push", || asked(&room).contains("thread-7"));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_did_not_arrive_is_not_counted() {
    let room = attended(1);
    room.send("alice", "bob", "hello");
    for _ in 0..22 {
        attend(&room).exits(1);
    }
    answering(&room, 0);
    attend(&room).succeeds();
    let mut woken = 1;
    for _ in 0..22 {
        room.send("alice", "bob", "more");
        woken += i32::from(attend(&room).ends().code == 0);
    }
    assert_eq!(woken, 20, "and what did is capped");
}

#[test]
fn who_cannot_be_woken_is_left_alone_for_a_while() {
    let room = attended(0);
    room.run(["setup", "carol"]).env("CODEX_THREAD_ID", "thread-8").succeeds();
    let log = room.around().join("asked");
    let script = format!("echo $3 >> '{}'; test $3 = thread-8", log.display());
    program(&room, "codex", &script);
    let mut child = with_path(&room, room.run(["attend", "--patience", "0"])).start();
    for round in 1..=4 {
        room.send("alice", "bob", "for who cannot");
        room.send("alice", "carol", "for who can");
        crate::support::until::until("the push", || asked(&room).matches("thread-8").count() == round);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(asked(&room).matches("thread-7").count(), 1);
}
