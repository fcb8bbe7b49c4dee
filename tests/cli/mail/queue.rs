//! A mailbox as a work queue: many claim from it, each message goes to one of them, and a token is worth nothing
//! in the hands of another.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::room::TestRoom;
use crate::support::taken::{claim, claim_json, ends, taken};

#[test]
fn each_message_goes_to_one_of_many_claimers() {
    let workers: Vec<String> = (0..8).map(|n| format!("w{n}")).collect();
    let mut names = vec!["alice", "jobs"];
    names.extend(workers.iter().map(String::as_str));
    let room = TestRoom::with(&names);
    let sent: BTreeSet<String> = (0..6).map(|n| room.send("alice", "jobs", &format!("job {n}"))).collect();
    let running: Vec<_> =
        workers.iter().map(|w| room.by(w, ["claim", "--queue", "jobs", "--json"]).start()).collect();
    let (mut got, mut empty) = (vec![], 0);
    for (worker, child) in workers.iter().zip(running) {
        let output = child.wait_with_output().unwrap();
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        match output.status.code() {
            Some(0) => got.push((worker, told)),
            Some(1) => empty += 1,
            code => panic!("{code:?}: {told}"),
        }
    }
    let ids: BTreeSet<String> =
        got.iter().map(|(_, t)| t["messages"][0]["id"].as_str().unwrap()[..8].to_owned()).collect();
    assert_eq!((got.len(), empty), (6, 2), "six have one each");
    assert_eq!(ids, sent, "and no two the same");
    for (worker, told) in &got {
        assert_eq!(told["claim"]["queue"], "jobs");
        room.by(worker, ["done", told["claim"]["token"].as_str().unwrap()]).succeeds();
    }
    assert_eq!((room.files("jobs", "archive").len(), room.files("jobs", "claimed").len()), (6, 0));
    assert!(room.files("jobs", "attempts").is_empty());
}

#[test]
fn the_token_of_another_is_refused_and_nothing_changes() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    let (_, token) = taken(&room, "alice", "bob", "job");
    let before = room.tree();
    for arguments in [
        vec!["done", &token],
        vec!["done", &token, "-m", "mine"],
        vec!["release", &token],
        vec!["fail", &token, "--reason", "x"],
        vec!["claim", "--renew", &token, "--lease", "10h"],
    ] {
        let ran = room.by("carol", arguments.clone()).exits(4);
        assert!(
            ran.err.contains(&format!("the claim {token} belongs to `bob`")),
            "{arguments:?}: {}",
            ran.err
        );
        assert!(ran.err.contains("postroom --as bob"), "{}", ran.err);
        room.is_still(&before, &format!("{arguments:?} by another"));
    }
    room.by("bob", ["done", &token]).succeeds();
}

#[test]
fn a_queue_s_owner_has_no_more_rights_to_a_claim_than_others() {
    let room = TestRoom::with(&["alice", "jobs", "bob"]);
    room.send("alice", "jobs", "job");
    let token = claim(&room, "bob", &["--queue", "jobs"]);
    room.by("jobs", ["done", &token]).exits(4);
    room.by("bob", ["done", &token]).succeeds();
}

#[test]
fn a_token_that_is_none_is_no_claim_and_no_path() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (_, token) = taken(&room, "alice", "bob", "job");
    let before = room.tree();
    let upper = token.to_uppercase();
    let hostile = "\u{1b}[2J".repeat(10);
    for bad in ["0123456789abcdef", "x", "../inbox", "../../../../etc/x", "", &token[..15], &hostile, "@all"]
    {
        let ran = room.by("bob", ["done", "--", bad]).exits(3);
        assert!(ran.err.contains("there is no claim") && !ran.err.contains('\u{1b}'), "{bad}: {}", ran.err);
        assert!(ran.err.contains(" --as bob claim "), "{bad} gets a hint: {}", ran.err);
    }
    if upper != token {
        room.by("bob", ["done", &upper]).exits(3);
    }
    room.is_still(&before, "tokens that are none");
    room.by("bob", ["done", &token]).succeeds();
}

#[test]
fn a_queue_is_named_and_never_guessed() {
    let room = TestRoom::with(&["alice", "jobs", "bob"]);
    room.send("alice", "jobs", "job");
    let before = room.tree();
    let ran = room.by("bob", ["claim", "--queue", "job"]).exits(3);
    assert!(ran.err.contains("nearest: bob, jobs"), "{}", ran.err);
    room.by("bob", ["claim", "--queue", "@all"]).exits(4);
    room.by("bob", ["claim"]).exits(1);
    room.is_still(&before, "queues that are not there, and one's own empty one");
}

#[test]
fn a_queue_is_named_by_its_id_when_the_registry_is_lost() {
    let room = TestRoom::with(&["alice", "jobs", "bob"]);
    room.send("alice", "jobs", "job");
    let (jobs, bob) = (room.id("jobs"), room.id("bob"));
    std::fs::remove_file(room.root().join("registry.json")).unwrap();
    let token = claim(&room, &bob, &["--queue", &jobs]);
    room.by(&bob, ["done", &token]).succeeds();
    room.run(["doctor", "--fix"]).succeeds();
    assert_eq!(room.files("jobs", "archive").len(), 1);
}

#[test]
fn a_message_of_a_queue_can_be_named() {
    let room = TestRoom::with(&["alice", "jobs", "bob"]);
    room.send("alice", "jobs", "first");
    let second = room.send("alice", "jobs", "second");
    let told = claim_json(&room, "bob", &[&second, "--queue", "jobs"]);
    assert_eq!(told["messages"][0]["body"], "second");
    let token = told["claim"]["token"].as_str().unwrap();
    room.by("bob", ["release", token]).succeeds();
    assert_eq!(room.files("jobs", "inbox").len(), 2);
    assert_eq!(ends(&room, "jobs"), ["released"]);
}

#[test]
fn the_answer_of_a_worker_comes_from_the_worker() {
    let room = TestRoom::with(&["alice", "jobs", "bob"]);
    let id = room.send("alice", "jobs", "job");
    let token = claim(&room, "bob", &["--queue", "jobs"]);
    room.by("bob", ["done", &token, "-m", "did it"]).succeeds();
    let answer = room.by("alice", ["check", "--json"]).json()["messages"][0].clone();
    assert_eq!(answer["from"]["name"], "bob");
    assert!(answer["reply_to"].as_str().unwrap().starts_with(&id));
    assert!(room.files("bob", "inbox").is_empty() && room.files("bob", "archive").is_empty());
}

#[test]
fn the_journal_tells_who_took_and_who_finished() {
    let room = TestRoom::with(&["alice", "jobs", "bob"]);
    room.send("alice", "jobs", "job");
    let token = claim(&room, "bob", &["--queue", "jobs"]);
    room.by("bob", ["done", &token]).succeeds();
    let lines: Vec<Value> = room
        .run(["log", "--json"])
        .succeeds()
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|e: &Value| e["event"] == "claimed" || e["event"] == "done")
        .collect();
    let events: Vec<_> = lines.iter().map(|e| e["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["claimed", "done"]);
    for event in &lines {
        assert_eq!((&event["by"], &event["mailbox"]), (&room.id("bob").into(), &room.id("jobs").into()));
    }
}

#[test]
fn a_room_of_a_newer_format_is_only_looked_at() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    let (_, token) = taken(&room, "alice", "bob", "job");
    crate::support::taken::end_lease(&room, "bob", &token);
    std::fs::write(room.root().join(".postroom"), "postroom 2\n").unwrap();
    let before = room.tree();
    for arguments in [
        vec!["claim"],
        vec!["done", &token],
        vec!["release", &token],
        vec!["fail", &token, "--reason", "x"],
        vec!["claim", "--renew", &token],
        vec!["takeover", "alice", "--force"],
        vec!["group", "add", "team", "bob"],
        vec!["prune", "alice", "--yes"],
        vec!["ask", "alice", "-m", "x", "--timeout", "0"],
    ] {
        let ran = room.by("bob", arguments.clone()).exits(4);
        assert!(ran.err.contains("newer"), "{arguments:?}: {}", ran.err);
        room.is_still(&before, &format!("{arguments:?} in a newer room"));
    }
    for arguments in
        [vec!["check"], vec!["wait", "--timeout", "0"], vec!["names"], vec!["sent"], vec!["stats"]]
    {
        let ran = room.by("bob", arguments.clone()).ends();
        assert!([0, 1].contains(&ran.code), "{arguments:?}: {ran:?}");
        room.is_still(&before, &format!("{arguments:?} in a newer room"));
    }
}
