//! `log`: the journal, for people.

use std::io::{BufRead, BufReader};

use crate::support::mask::mask;
use crate::support::room::TestRoom;

#[test]
fn the_life_of_a_message_can_be_read() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "hello");
    room.by("bob", ["read"]).succeeds();
    room.by("bob", ["reply", &id, "-m", "hi"]).succeeds();
    insta::assert_snapshot!(mask(&room.run(["log"]).succeeds().out, &room.root()), @"
    <time> alice setup
    <time> bob setup
    <time> alice sent <id> to bob: hello
    <time> bob shown <id>
    <time> bob sent <id> to alice: re: hello
    ");
}

#[test]
fn a_limit_keeps_the_newest() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "hello");
    let out = room.run(["log", "--limit", "1"]).succeeds().out;
    assert!(out.lines().count() == 1 && out.contains(&id), "{out}");
}

#[test]
fn an_empty_journal_is_nothing_there() {
    let room = TestRoom::with(&["bob"]);
    std::fs::remove_dir_all(room.root().join(".journal")).unwrap();
    let ran = room.run(["log"]).exits(1);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
}

#[test]
fn older_days_come_first_and_odd_lines_are_passed_over() {
    let room = TestRoom::with(&["bob"]);
    let line = r#"{"v":1,"time":"2020-01-02T03:04:05.678Z","event":"sent","by":"bob-1","new_key":7}"#;
    let old = room.root().join(".journal/2020-01-02.jsonl");
    std::fs::write(&old, format!("not json\n{line}\n{{\"cut")).unwrap();
    crate::support::hand::tighten(&old);
    let out = room.run(["log"]).succeeds().out;
    assert!(out.starts_with("2020-01-02T03:04:05.678Z bob-1 sent\n"), "{out}");
    assert_eq!(out.lines().count(), 2, "{out}");
}

#[test]
fn following_shows_what_happens_next() {
    let room = TestRoom::with(&["alice", "bob"]);
    let mut following = room.run(["log", "--follow", "--json"]).start();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let mut next = || -> serde_json::Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    // What was there comes first, and only then does following begin.
    assert_eq!((next()["event"].as_str(), next()["event"].as_str()), (Some("setup"), Some("setup")));
    let id = room.send("alice", "bob", "news");
    let event = next();
    assert_eq!(event["event"], "sent");
    assert!(event["id"].as_str().unwrap().starts_with(&id), "{event}");
    following.kill().unwrap();
    following.wait().unwrap();
}

#[test]
fn the_log_names_what_was_put_into_quarantine() {
    let room = TestRoom::with(&["bob"]).leaves_faults();
    room.place("bob", "broken.md", crate::support::hand::BROKEN);
    room.by("bob", ["read"]).exits(1);
    let out = room.run(["log"]).succeeds().out;
    let line = out.lines().last().unwrap();
    assert!(line.contains("quarantined") && line.contains("broken.md"), "{line}");
}
