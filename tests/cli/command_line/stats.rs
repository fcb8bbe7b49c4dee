//! `stats`: how much mail, how long it waited and how long it was worked on, read off the journal.

use serde_json::Value;

use crate::support::hand::tighten;
use crate::support::room::TestRoom;
use crate::support::taken::claim;

/// The figures of one mailbox.
fn of<'a>(told: &'a Value, name: &str) -> &'a Value {
    let list = told["mailboxes"].as_array().unwrap();
    list.iter().find(|f| f["mailbox"]["name"] == name).unwrap_or_else(|| panic!("no {name} in {told}"))
}

#[test]
fn mail_is_counted_where_it_came_from_and_where_it_went() {
    let room = TestRoom::with(&["alice", "bob"]);
    for _ in 0..3 {
        room.send("alice", "bob", "job");
    }
    room.by("bob", ["read"]).succeeds();
    room.by("bob", ["done", &claim(&room, "bob", &[])]).succeeds();
    room.by("bob", ["fail", &claim(&room, "bob", &[]), "--reason", "x"]).succeeds();
    let told = room.run(["stats", "--json"]).json();
    let count = |name: &str| {
        let f = of(&told, name);
        ["received", "sent", "finished", "failed"].map(|key| f[key].as_u64().unwrap())
    };
    assert_eq!(count("alice"), [1, 3, 0, 0], "the bounce came to her");
    assert_eq!(count("bob"), [3, 1, 2, 1]);
    assert_eq!(told["seconds"], 86_400);
    let bob = of(&told, "bob");
    assert!(bob["waiting_ms"]["p50"].is_u64() && bob["processing_ms"]["p90"].is_u64(), "{bob}");
    assert_eq!(of(&told, "alice")["processing_ms"]["p50"], Value::Null, "nothing was worked on there");
    let arrivals = bob["arrivals"].as_array().unwrap();
    assert_eq!((arrivals.len(), &arrivals[23]), (24, &3.into()), "the newest step is the last");
}

#[test]
fn without_a_terminal_it_is_one_short_line_each() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "job");
    room.by("bob", ["read"]).succeeds();
    let out = room.run(["stats"]).succeeds().out;
    let mut lines: Vec<&str> = out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines[0], "alice in=0 out=1 read=0 failed=0 waited=-/- worked=-/-");
    assert!(lines[1].starts_with("bob in=1 out=0 read=1 failed=0 waited="), "{out}");
    assert!(lines[1].ends_with(" worked=-/-") && lines[1].contains("ms/"), "{out}");
}

#[test]
fn without_a_journal_there_is_nothing_to_tell() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "job");
    std::fs::remove_dir_all(room.root().join(".journal")).unwrap();
    let ran = room.run(["stats"]).exits(1);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    let ran = room.run(["stats", "--json"]).exits(1);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(told["mailboxes"], serde_json::json!([]));
    // What happens from now on is counted again.
    room.by("bob", ["read"]).succeeds();
    assert_eq!(of(&room.run(["stats", "--json"]).json(), "bob")["finished"], 1);
}

/// Writes a journal in which a message waits ten seconds and is worked on for a minute, so many hours ago.
fn journal(room: &TestRoom, hours: u64) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let (alice, bob) = (room.id("alice"), room.id("bob"));
    for (after, event, by, to, mailbox) in [
        (0, "sent", &alice, bob.as_str(), ""),
        (10, "claimed", &bob, "", bob.as_str()),
        (70, "done", &bob, "", bob.as_str()),
    ] {
        let time = postroom_time(now - hours * 3600 + after);
        let mut line = serde_json::json!({"v": 1, "time": time, "event": event, "by": by, "id": format!("m-{hours}"), "to": to, "mailbox": mailbox});
        line.as_object_mut().unwrap().retain(|_, value| value != "");
        let day = room.root().join(".journal").join(format!("{}.jsonl", &time[..10]));
        let text = std::fs::read_to_string(&day).unwrap_or_default();
        std::fs::write(&day, format!("{text}{line}\n")).unwrap();
        tighten(&day);
    }
}

/// A time as the journal writes it.
fn postroom_time(seconds: u64) -> String {
    let time = postroom::clock::Timestamp::from_parts(i64::try_from(seconds).unwrap(), 0);
    time.precise()
}

#[test]
fn waiting_and_work_are_measured_apart() {
    let room = TestRoom::with(&["alice", "bob"]);
    journal(&room, 1);
    let told = room.run(["stats", "--json"]).json();
    let bob = of(&told, "bob");
    assert_eq!((&bob["waiting_ms"]["p50"], &bob["processing_ms"]["p50"]), (&10_000.into(), &60_000.into()));
    let line = room.run(["stats"]).succeeds().out;
    assert!(line.contains("bob in=1 out=0 read=1 failed=0 waited=10.0s/10.0s worked=1m/1m\n"), "{line}");
}

#[test]
fn a_span_leaves_out_what_is_older() {
    let room = TestRoom::with(&["alice", "bob"]);
    journal(&room, 30);
    journal(&room, 1);
    let received = |since: &str| {
        let told = room.run(["stats", "--since", since, "--json"]).json();
        of(&told, "bob")["received"].as_u64().unwrap()
    };
    assert_eq!((received("24h"), received("2d"), received("90m")), (1, 2, 1));
    assert_eq!(room.run(["stats", "--since", "10m"]).exits(1).out, "");
    for bad in ["yesterday", "-1h", ""] {
        let ran = room.run(["stats", &format!("--since={bad}")]).exits(2);
        assert!(ran.err.contains("--since"), "{bad}: {}", ran.err);
    }
}

#[test]
fn a_broken_journal_and_a_clock_that_was_set_back_do_not_stop_it() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.id("bob");
    let day = room.root().join(".journal/2020-01-01.jsonl");
    let lines = [
        "garbage".to_owned(),
        "{\"event\":\"sent\",\"time\":\"not a time\",\"by\":\"x\",\"to\":\"y\"}".to_owned(),
        format!("{{\"event\":\"claimed\",\"time\":\"2999-01-01T00:00:00Z\",\"by\":\"{id}\",\"id\":\"m\"}}"),
        format!("{{\"event\":\"done\",\"time\":\"2020-01-01T00:00:00Z\",\"by\":\"{id}\",\"id\":\"m\"}}"),
        "{\"event\":\"done\"".to_owned(),
    ];
    std::fs::write(&day, lines.join("\n")).unwrap();
    tighten(&day);
    room.send("alice", "bob", "job");
    let told = room.run(["stats", "--json"]).json();
    assert_eq!(of(&told, "bob")["received"], 1);
}

#[test]
fn anyone_may_look() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "job");
    let before = room.tree();
    room.run(["stats"]).succeeds();
    room.is_still(&before, "a look at the figures");
}
