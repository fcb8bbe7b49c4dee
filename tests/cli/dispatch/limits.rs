//! Attempts, back-off and guards: when a message is tried again, and when enough is enough.

use crate::support::staffed::{AT_ONCE, dispatch, inbox, program, reason, runs, settle, shell, staffed};
use crate::support::until::until;

fn states(room: &crate::support::room::TestRoom) -> Vec<String> {
    runs(room).iter().map(|run| run["state"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_message_is_tried_again_and_then_given_up_with_a_bounce() {
    let room = staffed(&["worker"], &shell("worker", "exit 1", "retries = 2"));
    room.send("alice", "worker", "x");
    for _ in 0..3 {
        dispatch(&room, []).exits(5);
    }
    assert_eq!(states(&room), ["again", "again", "failed"]);
    let bounce = inbox(&room, "alice");
    assert_eq!(bounce.len(), 1);
    assert!(bounce[0].contains("was given up after 3 attempts"), "{bounce:?}");
    dispatch(&room, []).exits(1);
    // By hand it gets another chance, counted anew.
    let file = room.files("worker", "failed").pop().unwrap();
    room.by("worker", ["failed", "retry", &file]).succeeds();
    settle(&room, &shell("worker", "echo fine", "retries = 2"));
    dispatch(&room, []).succeeds();
    assert!(inbox(&room, "alice").contains(&"fine\n".to_owned()));
}

#[test]
fn what_failed_waits_before_it_is_tried_again() {
    let settings = shell("worker", "exit 1", "").replace("0s", "1h");
    let room = staffed(&["worker"], &settings);
    room.send("alice", "worker", "x");
    dispatch(&room, []).exits(5);
    dispatch(&room, []).exits(1);
    assert!(dispatch(&room, ["--dry-run"]).exits(1).out.is_empty());
    assert_eq!((states(&room).len(), room.files("worker", "inbox").len()), (1, 1));
    // Other mail is not held up by it.
    room.send("alice", "worker", "y");
    dispatch(&room, []).exits(5);
    assert_eq!(states(&room).len(), 2);
}

#[test]
fn a_watch_tries_again_when_the_time_has_come() {
    let script = "if [ -e tried ]; then echo fine; else touch tried; exit 1; fi";
    let settings = shell("worker", script, "cwd = \"..\"").replace("0s", "1s");
    let room = staffed(&["worker"], &settings);
    let mut watch = dispatch(&room, ["--watch", "--limit", "2"]).start();
    let asked = room.by("alice", ["ask", "worker", "-m", "x", "--timeout", "20"]).succeeds();
    assert!(asked.out.contains("fine"), "{}", asked.out);
    assert_eq!(watch.wait().unwrap().code(), Some(5), "one attempt failed");
}

#[test]
fn automatic_steps_in_a_row_are_limited() {
    let settings = format!("{}hops = 2\n", shell("worker", "echo x", ""));
    let room = staffed(&["worker"], &settings);
    for (hops, code) in [("0", 0), ("1", 5)] {
        let sent = room.by("alice", ["send", "worker", "-m", "x"]).env("POSTROOM_HOPS", hops);
        sent.succeeds();
        dispatch(&room, []).exits(code);
    }
    assert_eq!(reason(&room), "2 automatic steps led to it; the limit `hops` is 2");
    assert_eq!(room.files("worker", "failed").len(), 1);
}

#[test]
fn a_person_in_between_is_no_automatic_step() {
    let settings = format!("{}hops = 2\n", shell("worker", "echo x", "answers = \"start\""));
    let room = staffed(&["worker"], &settings);
    room.send("alice", "worker", "x");
    dispatch(&room, []).succeeds();
    for _ in 0..3 {
        let answer = room.files("alice", "inbox").pop().unwrap();
        room.by("alice", ["reply", &answer, "-m", "go on"]).succeeds();
        dispatch(&room, []).succeeds();
        room.by("worker", ["send", "alice", "-m", "next"]).succeeds();
    }
}

#[test]
fn two_agents_that_write_to_each_other_come_to_an_end() {
    let write = |to: &str| format!("cat >/dev/null; postroom send {to} -m more -q; echo done");
    let both = format!(
        "{}{}hops = 4\n",
        shell("one", &write("two"), "").replace(AT_ONCE, ""),
        shell("two", &write("one"), "")
    );
    let room = staffed(&["one", "two"], &both);
    room.send("alice", "one", "start");
    for _ in 0..20 {
        if dispatch(&room, []).ends().code == 1 {
            break;
        }
    }
    assert_eq!(dispatch(&room, []).ends().code, 1, "it came to an end");
    assert!(runs(&room).iter().any(|run| run["why"].as_str().unwrap().contains("the limit `hops` is 4")));
    assert_eq!(inbox(&room, "alice"), ["done\n"]);
}

#[test]
fn a_thread_with_too_many_runs_waits_for_a_person_who_gives_it_as_many_again() {
    let settings = format!("{}thread_runs = 2\n", shell("worker", "exit 1", "retries = 9"));
    let room = staffed(&["worker"], &settings);
    room.send("alice", "worker", "x");
    for _ in 0..3 {
        dispatch(&room, []).exits(5);
    }
    assert_eq!(reason(&room), "its thread had 2 runs; the limit `thread_runs` is 2");
    assert_eq!(states(&room), ["again", "again", "parked"]);
    assert!(inbox(&room, "alice").is_empty(), "nothing failed");
    dispatch(&room, []).exits(1);
    assert_eq!(states(&room).len(), 3, "nobody starts it again");
    let check = room.by("worker", ["check"]).succeeds().out;
    assert!(check.contains("parked for a person: its thread had 2"), "{check}");
    let refused = room.run(["failed", "retry", "--all"]).exits(4).err;
    assert!(refused.contains("1 parked message needs a person"), "{refused}");
    room.run(["failed", "retry", "--all"]).by_person().with(0);
    for _ in 0..3 {
        dispatch(&room, []).exits(5);
    }
    assert_eq!(states(&room)[3..], ["again", "again", "parked"]);
    assert_eq!(runs(&room)[4]["attempt"], 4, "its attempts are counted on");
}

/// 200 messages to one agent gave 140 dead letters in 3 s.
#[test]
fn messages_beyond_the_runs_of_an_hour_wait_and_none_is_lost() {
    let settings = format!("{}hour_runs = 5\n", shell("worker", "echo fine", "concurrency = 4"));
    let room = staffed(&["worker"], &settings);
    for n in 0..40 {
        room.send("alice", "worker", &format!("message {n}"));
    }
    let ran = dispatch(&room, []).succeeds();
    let wanted = "its agent had 5 runs within an hour; the limit `hour_runs` is 5";
    assert!(ran.err.contains(" messages wait until 20"), "{}", ran.err);
    assert!(ran.err.contains(wanted), "{}", ran.err);
    assert_eq!(inbox(&room, "alice"), ["fine\n"; 5]);
    assert_eq!((room.files("worker", "inbox").len(), room.files("worker", "failed").len()), (35, 0));
    assert_eq!(states(&room), ["done"; 5], "the others cost no process");
    // Everybody who looks is told until when.
    let again = dispatch(&room, ["--dry-run", "--json"]).exits(1);
    let event: serde_json::Value = serde_json::from_str(again.out.lines().next().unwrap()).unwrap();
    assert_eq!((&event["event"], &event["messages"]), (&"waits".into(), &35.into()), "{event}");
    assert!(event["until"].as_str().unwrap().starts_with("20"), "{event}");
    assert!(room.by("worker", ["check"]).succeeds().out.contains("waits until 20"));
    assert!(room.run(["agents"]).ends().out.contains(wanted));
    let paused = &room.run(["agents", "--json"]).json()["agents"][0]["paused"][0];
    assert_eq!((&paused["kind"], &paused["why"]), (&"limit".into(), &wanted.into()));
    // A higher limit lets them go on.
    settle(&room, &settings.replace("hour_runs = 5", "hour_runs = 1000"));
    dispatch(&room, []).succeeds();
    assert_eq!(inbox(&room, "alice").len(), 40);
    assert!(!room.run(["agents"]).ends().out.contains("waits until"));
}

#[test]
fn what_an_agent_may_spend_in_a_day_delays_the_rest() {
    let settings = "[agents.worker]\npreset = \"claude\"\n[dispatch]\nday_cost = 0.7\n";
    let room = staffed(&["worker"], settings);
    program(&room, "claude", r#"echo '{"type":"result","result":"x","total_cost_usd":0.4}'"#);
    for code in [0, 0, 1] {
        room.send("alice", "worker", "x");
        dispatch(&room, []).exits(code);
    }
    let waits = dispatch(&room, []).exits(1).err;
    let wanted = "its agent spent 0.80 dollars within a day; the limit `day_cost` is 0.70";
    assert!(waits.contains("worker: 1 message waits until 20") && waits.contains(wanted), "{waits}");
    assert_eq!((states(&room).len(), room.files("worker", "inbox").len()), (2, 1));
}

#[test]
fn dead_letters_are_retried_by_agent_and_by_reason() {
    let both = format!(
        "{}{}",
        shell("one", "exit 7", "retries = 0").replace(AT_ONCE, ""),
        shell("two", "exit 8", "retries = 0")
    );
    let room = staffed(&["one", "two"], &both);
    room.send("alice", "one", "x");
    room.send("alice", "two", "y");
    dispatch(&room, []).exits(5);
    let left = || (room.files("one", "failed").len(), room.files("two", "failed").len());
    assert_eq!(left(), (1, 1));
    room.run(["failed", "retry", "--reason", "exited with 9"]).exits(1);
    room.run(["failed", "retry", "--reason", "exited with 7"]).succeeds();
    assert_eq!(left(), (0, 1));
    room.run(["failed", "retry", "--agent", "two"]).succeeds();
    assert_eq!(left(), (0, 0));
    dispatch(&room, []).exits(5);
    let again = room.run(["failed", "retry", "--all", "--json"]).json();
    assert_eq!((again["retried"].as_array().unwrap().len(), left()), (2, (0, 0)));
    room.run(["failed", "retry"]).exits(2);
}

#[test]
fn old_runs_go() {
    // After a run that printed much, its supervisor looks at once.
    let room = staffed(&["worker"], &shell("worker", "head -c 1100000 /dev/zero >&2; echo x", ""));
    let kept = room.root().join(".dispatch/runs");
    room.send("alice", "worker", "x");
    dispatch(&room, []).succeeds();
    let record = std::fs::read(kept.join(runs(&room)[0]["id"].as_str().unwrap()).join("run.json")).unwrap();
    for n in 0..1060 {
        let run = kept.join(format!("20200101T000000Z-{n:08x}"));
        std::fs::create_dir(&run).unwrap();
        std::fs::write(run.join("run.json"), &record).unwrap();
    }
    room.send("alice", "worker", "y");
    dispatch(&room, []).succeeds();
    let left = std::fs::read_dir(&kept).unwrap().count();
    assert_eq!(left, 1000, "the newest are kept");
    std::fs::remove_dir_all(room.root().join(".dispatch")).unwrap();
}

/// The hour passes: what waited until a time starts then, beside a watch that was there all along.
#[test]
fn a_watch_starts_what_waited_when_its_hour_is_over() {
    let room = staffed(&["worker"], &format!("{}hour_runs = 1\n", shell("worker", "echo fine", "")));
    let mut watch = dispatch(&room, ["--watch"]).start();
    room.send("alice", "worker", "x");
    room.send("alice", "worker", "y");
    let waits = || room.run(["status"]).succeeds().out;
    until("the first answer", || inbox(&room, "alice").len() == 1);
    until("the limit", || waits().contains("\nwaits worker 1 limit until 20"));
    // Almost an hour ago.
    let tallies = room.root().join(".dispatch/tally");
    let tally = std::fs::read_dir(&tallies).unwrap().map(|entry| entry.unwrap().path());
    let tally = tally.into_iter().find(|path| !path.ends_with(".lock")).unwrap();
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let then = now() + 3;
    std::fs::write(&tally, format!("{} -\n", then - 3600)).unwrap();
    until("the second answer", || inbox(&room, "alice").len() == 2);
    assert!(now() >= then, "it began before its time");
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert_eq!(states(&room), ["done", "done"]);
}

/// One parked message kept all dead letters from being tried again.
#[test]
fn dead_letters_are_retried_without_a_person_and_parked_messages_are_not() {
    let room = staffed(&["worker"], &shell("worker", "exit 1", "retries = 0"));
    room.send("alice", "worker", "dead");
    dispatch(&room, []).exits(5);
    let parked = room.send("alice", "worker", "parked");
    room.run(["stop", &parked]).succeeds();
    let retried = room.run(["failed", "retry", "--all"]).succeeds();
    assert!(retried.err.contains("1 parked message needs a person"), "{}", retried.err);
    assert!(retried.out.contains("unread again") && !retried.out.contains("released"), "{}", retried.out);
    assert_eq!((room.files("worker", "failed").len(), room.files("worker", "inbox").len()), (0, 2));
    let refused = room.run(["failed", "retry", "--agent", "worker"]).exits(4).err;
    assert!(refused.contains("1 parked message needs a person"), "{refused}");
}
