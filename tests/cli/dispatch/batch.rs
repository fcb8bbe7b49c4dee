//! `batch`: messages that wait together are worked on together, and each is finished by itself.

use crate::support::staffed::{dispatch, inbox, runs, shell, staffed};

/// Says how many messages it was given.
const COUNTS: &str = "grep -c ' (unverified): '";

#[test]
fn messages_of_one_sender_are_given_to_one_run() {
    let room = staffed(&["worker"], &shell("worker", COUNTS, "batch = 3"));
    for text in ["one", "two", "three", "four"] {
        room.send("alice", "worker", text);
    }
    let table = dispatch(&room, []).succeeds().out;
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 2, "{table}");
    assert!(lines[0].contains("done") && lines[0].ends_with(" (with 2 more)"), "{table}");
    let mut answers = inbox(&room, "alice");
    answers.sort();
    assert_eq!((answers.len(), answers[0].as_str(), answers[1].as_str()), (4, "1\n", "3\n"), "{answers:?}");
    assert!(
        answers[2..].iter().all(|text| text.starts_with("This was worked on together with the message "))
    );
    assert!(answers[2..].iter().all(|text| text.contains("(one)")), "{answers:?}");
    assert_eq!(room.files("worker", "archive").len(), 4);
    assert_eq!(runs(&room)[0]["also"].as_array().unwrap().len(), 2);
}

/// Each message of a batch was counted as a run, so that `hour_runs` delayed most of it.
#[test]
fn a_batch_is_one_run_for_its_limits() {
    let table = shell("worker", COUNTS, "batch = 3") + "hour_runs = 2\nthread_runs = 2\n";
    let room = staffed(&["worker"], &table);
    for text in ["one", "two", "three", "four", "five", "six", "seven"] {
        let sent = room.by("alice", ["send", "worker", "-m", text]);
        sent.env("POSTROOM_THREAD", "0123456789abcdef0123456789abcdef").succeeds();
    }
    let ran = dispatch(&room, []).succeeds();
    assert!(ran.err.contains("its agent had 2 runs within an hour; the limit `hour_runs` is 2"), "{ran:?}");
    assert_eq!((runs(&room).len(), room.files("worker", "inbox").len()), (2, 1));
    assert_eq!(inbox(&room, "alice").len(), 6);
}

#[test]
fn another_sender_or_channel_is_another_run() {
    let room = staffed(&["worker"], &shell("worker", COUNTS, "batch = 10"));
    room.run(["setup", "--child", "carol"]).succeeds();
    room.send("alice", "worker", "one");
    room.send("carol", "worker", "two");
    room.by("alice", ["send", "worker", "-m", "three", "--channel", "build"]).succeeds();
    room.send("alice", "worker", "four");
    assert_eq!(dispatch(&room, []).succeeds().out.lines().count(), 3);
    assert_eq!(inbox(&room, "carol"), ["1\n"]);
    assert_eq!(room.files("alice", "inbox").len(), 3);
}

#[test]
fn what_the_agent_answers_itself_is_not_answered_again() {
    let script =
        "id=$(sed -n 's/ .*(unverified): .*//p' | sed -n 2p); postroom reply \"$id\" -m mine -q; echo rest";
    let room = staffed(&["worker"], &shell("worker", script, "batch = 3\ncwd = \"..\""));
    for text in ["one", "two", "three"] {
        room.send("alice", "worker", text);
    }
    crate::support::staffed::dispatch(&room, []).succeeds();
    let mut answers = inbox(&room, "alice");
    answers.sort();
    assert_eq!(answers.len(), 3, "{answers:?}");
    assert!(answers[0].contains("together") && answers[1] == "mine" && answers[2] == "rest\n", "{answers:?}");
}

#[test]
fn a_failed_batch_is_tried_again_as_a_whole_and_each_sender_is_told() {
    let room = staffed(&["worker"], &shell("worker", "echo broken >&2; exit 3", "batch = 2\nretries = 1"));
    room.send("alice", "worker", "one");
    room.send("alice", "worker", "two");
    dispatch(&room, []).exits(5);
    assert_eq!((room.files("worker", "inbox").len(), runs(&room).len()), (2, 1));
    dispatch(&room, []).exits(5);
    assert_eq!((room.files("worker", "failed").len(), room.files("alice", "inbox").len()), (2, 2));
    assert!(inbox(&room, "alice").iter().all(|text| text.contains("broken")));
}
