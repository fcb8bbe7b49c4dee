//! Being told: the command of `[notify]` runs once for each event, with the facts on standard input, and holds nothing up.

use serde_json::Value;

use crate::support::crew::{begin, crew, settings};
use crate::support::room::{Run, TestRoom};
use crate::support::staffed::{dispatch, program, settle, shell, staffed, with_path};
use crate::support::until::{until, until_watching};

/// Writes the person's own settings.
fn notify(room: &TestRoom, text: &str) {
    let place = room.around().join("home/.config/postroom");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("postroom.toml"), format!("[notify]\n{text}\n")).unwrap();
}

/// Keeps every notice in a file.
fn keep(room: &TestRoom, events: &str) {
    notify(room, &format!("command = [\"sh\", \"-c\", \"cat >> '{}'\"]\n{events}", notes(room).display()));
}

fn notes(room: &TestRoom) -> std::path::PathBuf {
    room.around().join("notes")
}

/// Waits until so many notices have come, and gives them.
fn told(room: &TestRoom, count: usize) -> Vec<Value> {
    let lines = || std::fs::read_to_string(notes(room)).unwrap_or_default();
    until("a notice", || lines().lines().count() >= count && lines().ends_with('\n'));
    let all: Vec<Value> = lines().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(all.len(), count, "{all:?}");
    all
}

/// A room with a person and an agent that fails when it is told to.
fn attended() -> TestRoom {
    let script = "if grep -q break; then exit 3; else echo fine; fi";
    staffed(&["one", "user"], &shell("one", script, "retries = 0"))
}

fn of_room(room: &TestRoom, arguments: &[&str]) -> Run {
    with_path(room, room.run(arguments.iter().copied()))
}

#[test]
fn mail_for_the_person_is_told_once_by_the_dispatcher_that_sees_it() {
    let room = attended();
    keep(&room, "events = [\"mail\"]");
    let first = room.send("alice", "user", "one $(touch pwned)");
    let both: Vec<_> = (0..2).map(|_| dispatch(&room, []).start()).collect();
    both.into_iter().for_each(|child| drop(child.wait_with_output().unwrap()));
    let notice = &told(&room, 1)[0];
    assert_eq!((&notice["event"], &notice["count"]), (&"mail".into(), &1.into()));
    let fact = &notice["facts"][0];
    assert!(fact["message"].as_str().unwrap().starts_with(&first), "{notice}");
    assert_eq!((&fact["from"], &fact["subject"]), (&"alice".into(), &"one $(touch pwned)".into()));
    // A watch tells what comes.
    let mut watch = dispatch(&room, ["--watch"]).start();
    until_watching(&watch);
    room.send("alice", "user", "two");
    let notices = told(&room, 2);
    assert_eq!(notices[1]["facts"][0]["subject"], "two");
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert!(!room.around().join("pwned").exists());
}

/// A watch told only what the person wanted when it began.
#[test]
fn a_watch_tells_what_the_person_wants_now() {
    let room = attended();
    let mut watch = dispatch(&room, ["--watch"]).start();
    until_watching(&watch);
    keep(&room, "events = [\"mail\"]");
    room.send("alice", "user", "hello");
    assert_eq!(told(&room, 1)[0]["facts"][0]["subject"], "hello");
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn the_notices_fit_their_schema() {
    let room = attended();
    keep(&room, "");
    room.send("alice", "user", "hello");
    room.send("alice", "one", "break it");
    dispatch(&room, []).exits(5);
    let mut notices = told(&room, 2);
    notices.sort_by_key(|notice| notice["event"].to_string());
    assert_eq!((&notices[0]["event"], &notices[1]["event"]), (&"failed".into(), &"mail".into()));
    assert!(notices[0]["facts"][0]["why"].as_str().unwrap().contains("exited with 3"), "{notices:?}");
    assert_eq!(notices[0]["facts"][0]["about"], "one");
    let text = std::fs::read_to_string(notes(&room)).unwrap();
    for line in text.lines() {
        crate::support::schemas::insist_on("notify", line);
    }
}

#[test]
fn a_gate_that_waits_is_told() {
    let text = "steps:\n  a: {agent: one, prompt: x, gate: {approval: user}}\n";
    let agents = [("one", "echo plan"), ("user", "echo never")];
    let room = crew(&agents, &[("asks", text)]);
    settle(&room, &settings(&agents[..1]));
    keep(&room, "events = [\"gate\"]");
    let run = begin(&room, "asks", &[]);
    dispatch(&room, []).succeeds();
    let notice = &told(&room, 1)[0];
    assert_eq!((&notice["event"], &notice["facts"][0]["run"]), (&"gate".into(), &Value::from(run)));
}

/// What an agent had stopped waited for a person, and no person heard of it.
#[test]
fn a_message_that_is_parked_is_told_unless_a_person_stopped_it() {
    let room = attended();
    keep(&room, "");
    let (mine, other) = (room.send("alice", "one", "mine"), room.send("alice", "one", "other"));
    room.run(["stop", &mine]).succeeds();
    room.run(["stop", &other, "-m", "wrong"]).env("POSTROOM_RUN", "20261116T000000000Z-00000000").succeeds();
    dispatch(&room, []).ends();
    let notice = &told(&room, 1)[0];
    assert_eq!((&notice["event"], &notice["count"]), (&"parked".into(), &1.into()));
    assert_eq!(notice["facts"][0]["why"], "stopped by an agent: wrong");
    assert!(notice["facts"][0]["message"].as_str().unwrap().starts_with(&other), "{notice}");
}

#[test]
fn an_agent_that_is_paused_is_told_unless_a_person_paused_it() {
    let room = attended();
    keep(&room, "");
    let paused = room.root().join(".dispatch/paused");
    std::fs::create_dir_all(&paused).unwrap();
    let pause = |file: &str, kind: &str| {
        let text = serde_json::json!({"v": 1, "kind": kind, "agent": "one", "why": "rate limit",
            "since": "2026-01-01T00:00:00.000Z", "until": "2026-01-01T01:00:00.000Z"});
        std::fs::write(paused.join(file), text.to_string()).unwrap();
    };
    pause("one-1.person", "person");
    pause("one-1.outage", "outage");
    dispatch(&room, []).ends();
    let notice = &told(&room, 1)[0];
    assert_eq!((&notice["event"], &notice["count"]), (&"paused".into(), &1.into()));
    assert_eq!(notice["facts"][0]["until"], "2026-01-01T01:00:00.000Z");
    std::fs::remove_dir_all(paused).unwrap();
}

#[test]
fn a_dispatcher_that_was_killed_is_told_by_the_next_command_and_one_that_was_stopped_is_not() {
    let room = attended();
    keep(&room, "");
    let mut stopped = dispatch(&room, ["--watch"]).start();
    until_watching(&stopped);
    let pid = rustix::process::Pid::from_child(&stopped);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    stopped.wait().unwrap();
    let mut killed = dispatch(&room, ["--watch"]).start();
    until_watching(&killed);
    killed.kill().unwrap();
    killed.wait().unwrap();
    of_room(&room, &["runs"]).ends();
    let notice = &told(&room, 1)[0];
    assert_eq!((&notice["event"], &notice["count"]), (&"dispatcher".into(), &1.into()));
    of_room(&room, &["runs"]).ends();
    room.send("alice", "user", "last");
    dispatch(&room, []).ends();
    assert_eq!(told(&room, 2)[1]["event"], "mail", "a death is told once");
}

#[test]
fn a_command_that_hangs_or_fails_is_in_the_log_and_nothing_waits_for_it() {
    let room = attended();
    for (command, why) in [
        ("[\"sleep\", \"1000\"]\ntime_limit = \"1s\"", "`sleep` took longer than 1"),
        ("[\"sh\", \"-c\", \"echo no >&2; exit 3\"]", "`sh` ended with 3: no"),
        ("[\"no-such-program\"]", "`no-such-program` cannot be started"),
    ] {
        notify(&room, &format!("command = {command}"));
        room.send("alice", "user", why);
        room.send("alice", "one", "work");
        dispatch(&room, []).succeeds();
        until("the log", || room.run(["log"]).ends().out.contains(why));
    }
}

#[test]
fn the_presets_say_a_kind_and_a_number() {
    let room = attended();
    program(&room, "notify-send", "printf '%s\\n' \"$@\" > $HOME/said");
    notify(&room, "preset = \"notify-send\"");
    room.send("alice", "user", "hostile --icon=/etc/passwd");
    dispatch(&room, []).ends();
    let said = room.around().join("home/said");
    until("the notification", || std::fs::read_to_string(&said).is_ok_and(|text| text.ends_with("you\n")));
    assert_eq!(
        std::fs::read_to_string(&said).unwrap(),
        "--app-name=postroom\n--\nPostroom\n1 new message for you\n"
    );
    notify(&room, "preset = \"bell\"");
    let ring = || room.run(["tell-person"]).input("{}");
    ring().by_person().with(0);
    let silent = "there is no terminal whose bell could ring";
    assert!(!room.run(["log"]).ends().out.contains(silent));
    ring().succeeds();
    assert!(room.run(["log"]).ends().out.contains(silent));
}

#[test]
fn wrong_settings_of_the_person_stop_no_mail_and_a_project_has_none() {
    let room = attended();
    notify(&room, "preset = \"gong\"");
    room.send("alice", "one", "work");
    let told = dispatch(&room, []).succeeds().err;
    assert!(told.contains("you are not told what happens") && told.contains("line 2"), "{told}");
    let project = room.around().join("project");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("postroom.toml"), "[notify]\npreset = \"bell\"\n").unwrap();
    let refused = dispatch(&room, []).within(&project).exits(4).err;
    assert!(refused.contains("unknown field `notify`"), "{refused}");
}

/// Nobody was told that a message waits for a person, or that a workflow run failed.
#[test]
fn a_parked_message_and_a_failed_workflow_run_are_told_once() {
    let text = "steps:\n  a: {agent: one, prompt: x}\n";
    let room = crew(&[("one", "exit 1"), ("user", "echo never")], &[("short", text)]);
    keep(&room, "events = [\"parked\", \"workflow\"]");
    let run = begin(&room, "short", &[]);
    dispatch(&room, []).exits(5);
    let notice = &told(&room, 1)[0];
    assert_eq!((&notice["event"], &notice["facts"][0]["run"]), (&"workflow".into(), &run.as_str().into()));
    assert_eq!(notice["facts"][0]["about"], "short");
    let limited = format!("{}thread_runs = 1\n", shell("one", "exit 1", "retries = 9"));
    settle(&room, &limited);
    let stopped = room.send("alice", "one", "stopped");
    room.run(["stop", &stopped]).succeeds();
    let message = room.send("alice", "one", "too much");
    for _ in 0..3 {
        dispatch(&room, []).ends();
    }
    let notice = &told(&room, 2)[1];
    assert_eq!((&notice["event"], &notice["count"]), (&"parked".into(), &1.into()), "{notice}");
    let fact = &notice["facts"][0];
    assert!(fact["message"].as_str().unwrap().starts_with(&message), "{notice}");
    assert!(fact["why"].as_str().unwrap().contains("`thread_runs`"), "{notice}");
    assert_eq!((&fact["about"], &fact["from"]), (&"one".into(), &"alice".into()));
    for line in std::fs::read_to_string(notes(&room)).unwrap().lines() {
        crate::support::schemas::insist_on("notify", line);
    }
}
