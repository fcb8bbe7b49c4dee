//! A new agent with its task, and its result back.

use crate::support::room::TestRoom;
use crate::support::staffed::{inbox, program, with_path};

#[test]
fn a_task_is_given_and_handed_back() {
    let room = TestRoom::with(&["alice"]);
    let ran = room
        .by("alice", ["spawn", "worker", "--preset", "gemini", "-s", "parser tests"])
        .input("Write them.\n")
        .succeeds();
    let id = room.id("worker");
    assert!(ran.out.contains("for worker: spawn: parser tests"), "{}", ran.out);
    let line = ran.out.lines().last().unwrap();
    assert!(line.starts_with("postroom --root "), "{line}");
    assert!(line.contains(" gemini --as worker -i 'You are the agent worker."), "{line}");
    assert!(!line.contains("Write them"), "{line}");
    assert!(ran.err.contains("no tmux or zellij around, and no display"), "it says why: {}", ran.err);
    let worker =
        |arguments: &[&'static str]| room.run(arguments.iter().copied()).env("AGENT_MAILBOX_ID", &id);
    assert!(worker(&["read"]).succeeds().out.contains("Write them."));
    worker(&["handback", "-m", "All green."]).succeeds();
    assert_eq!(inbox(&room, "alice"), ["All green."]);
    worker(&["handback", "-m", "Checkpoint two."]).succeeds();
    worker(&["handback", "-m", "Checkpoint three."]).succeeds();
    let mut back = inbox(&room, "alice");
    back.sort();
    assert_eq!(back, ["All green.", "Checkpoint three.", "Checkpoint two."], "a result may come in parts");
}

#[test]
fn a_task_that_is_open_comes_before_those_that_were_answered() {
    let room = TestRoom::with(&["alice", "worker"]);
    let task = |subject: &str| {
        let sent = room.by("alice", ["send", "worker", "-s", subject, "-m", "x"]).succeeds().out;
        sent.split(' ').nth(1).unwrap().to_owned()
    };
    let subjects = || {
        room.by("alice", ["check", "--json"]).json()["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["subject"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    room.by("worker", ["handback", "-m", "nothing began me"]).exits(1);
    let first = task("spawn: one");
    room.by("worker", ["handback", "-m", "a"]).succeeds();
    task("spawn: two");
    room.by("worker", ["handback", "-m", "b"]).succeeds();
    room.by("worker", ["handback", "-m", "c"]).succeeds();
    assert_eq!(
        subjects(),
        ["re: spawn: one", "re: spawn: two", "re: spawn: two"],
        "the most recent of the answered"
    );
    room.by("worker", ["handback", &first, "-m", "d"]).succeeds();
    assert_eq!(subjects().last().unwrap(), "re: spawn: one", "or the one that is named");
    room.by("worker", ["handback", "ffffffff", "-m", "e"]).exits(1);
}

#[test]
fn the_printed_command_starts_the_agent_with_its_mailbox() {
    let room = TestRoom::with(&["alice"]);
    let ran =
        room.by("alice", ["spawn", "worker", "--preset", "codex", "-m", "Do it.", "--print"]).succeeds();
    assert_eq!(ran.err, "", "nothing was to be opened");
    program(
        &room,
        "codex",
        "test \"$1\" = app-server && exit 1; echo \"$AGENT_MAILBOX_ID\"; printf '%s\\n' \"$@\"",
    );
    let path = format!("PATH='{}':$PATH; ", room.around().join("bin").display());
    let told = room.bash(&format!("{path}{}", ran.out.lines().last().unwrap())).succeeds().out;
    // Its sessions run in this process and not in a daemon, whose environment would be another's.
    assert!(told.starts_with(&room.id("worker")) && told.contains("\n--no-daemon\n"), "{told}");
    assert!(told.contains("You are the agent worker.") && told.contains("--as worker"), "{told}");
    assert!(!told.contains("Do it."), "{told}");
}

#[test]
fn which_of_several_tasks_is_asked_for() {
    let room = TestRoom::with(&["alice", "worker"]);
    room.by("alice", ["send", "worker", "-s", "spawn: one", "-m", "x"]).succeeds();
    let second = room.by("alice", ["send", "worker", "-s", "spawn: two", "-m", "y"]).succeeds().out;
    room.by("alice", ["send", "worker", "-s", "about spawn: three", "-m", "z"]).succeeds();
    let ran = room.by("worker", ["handback", "-m", "done"]).exits(4);
    assert!(ran.err.contains("2 tasks") && ran.err.contains("one") && ran.err.contains("two"), "{}", ran.err);
    let id = second.split(' ').nth(1).unwrap();
    room.by("worker", ["handback", id, "-m", "done two"]).succeeds();
    assert_eq!(inbox(&room, "alice"), ["done two"]);
    room.by("worker", ["handback", "-m", "done one"]).succeeds();
}

#[test]
fn in_tmux_a_window_opens() {
    let room = TestRoom::with(&["alice"]);
    let log = room.around().join("tmux.log");
    program(&room, "tmux", &format!("printf '%s\\n' \"$@\" > '{}'", log.display()));
    program(&room, "claude", "exit 1");
    let run = room.by("alice", ["spawn", "worker", "--preset", "claude", "-m", "do; rm -rf /"]);
    let ran = with_path(&room, run).env("TMUX", "/x,1,0").succeeds();
    assert!(ran.out.contains("opened the window worker"), "{}", ran.out);
    let words = std::fs::read_to_string(log).unwrap();
    assert!(words.starts_with("new-window\n") && words.contains("\n-n\nworker\n"));
    assert!(words.contains("\nclaude\n--as\nworker\nYou are the agent worker."), "{words}");
    assert!(!words.contains("rm -rf"), "no byte of a message: {words}");
    // An agent that spawns leaves no mark of its session in the window.
    let run = room.by("alice", ["spawn", "other", "--preset", "claude", "-m", "x"]);
    with_path(&room, run).env("TMUX", "/x,1,0").env("CLAUDECODE", "1").succeeds();
    let words = std::fs::read_to_string(room.around().join("tmux.log")).unwrap();
    assert!(words.contains("\n-e\nCLAUDECODE=\n"), "{words}");
}

#[test]
fn a_taken_name_or_an_unknown_program_opens_nothing() {
    let room = TestRoom::with(&["alice", "bob"]);
    let ran = room.by("alice", ["spawn", "bob", "--preset", "claude", "-m", "x"]).exits(4);
    assert!(ran.err.contains(" spawn bob-2 --preset claude -m x\n"), "{}", ran.err);
    room.by("alice", ["spawn", "carol", "--preset", "vim", "-m", "x"]).exits(2);
    assert!(room.files("bob", "inbox").is_empty());
    room.run(["names", "carol"]).exits(1);
}

#[test]
fn a_task_that_is_refused_makes_nobody() {
    let room = TestRoom::with(&["alice"]);
    let before = room.tree();
    let spawn = |more: &[&str]| {
        let words = ["spawn", "worker", "--preset", "claude"];
        room.by("alice", words.into_iter().chain(more.iter().copied()).collect::<Vec<_>>())
    };
    spawn(&[]).input(format!("key {}{}\n", "AKIA", "IOSFODNN7EXAMPLE")).exits(4);
    spawn(&[]).input("").exits(4);
    spawn(&["-s", "two\nlines", "-m", "x"]).exits(4);
    program(&room, "tmux", "exit 0");
    let ran = with_path(&room, spawn(&["-m", "x"])).env("TMUX", "/x,1,0").exits(3);
    assert!(ran.err.contains("Claude Code is not installed") && ran.err.contains("--print"), "{}", ran.err);
    room.is_still(&before, "tasks that were refused");
    assert!(
        spawn(&["-m", "x", "-s", "$(id) `x` 'q'"])
            .succeeds()
            .out
            .contains("claude --as worker 'You are the agent worker.")
    );
}

#[test]
fn no_name_or_path_ends_a_command_early() {
    let room = TestRoom::with(&["alice"]);
    for name in ["a;b", "a$(id)", "a`id`", "a#(id)", "a'b", "a\"b", "-x", "a b", "a|b", "a&"] {
        let ran = room.by("alice", ["spawn", "--preset", "claude", "-m", "x", "--", name]).ends();
        assert!([2, 4].contains(&ran.code), "{name}: {ran:?}");
    }
    let log = room.around().join("tmux.log");
    program(&room, "tmux", &format!("printf '%s\\n' \"$@\" > '{}'", log.display()));
    program(&room, "claude", "exit 1");
    let odd = room.around().join("it's; odd;");
    let at =
        |run: crate::support::room::Run| with_path(&room, run.arg("--root").arg(&odd)).env("TMUX", "/x,1,0");
    at(room.bare(["setup", "alice"])).succeeds();
    at(room.bare(["--as", "alice", "spawn", "worker", "--preset", "claude", "-m", "x"])).succeeds();
    let words = std::fs::read_to_string(&log).unwrap();
    assert!(words.contains(&format!("\n--root\n{}/it's; odd\\;\n", room.around().display())), "{words}");
    let ran = at(room.bare(["--as", "alice", "spawn", "other", "--preset", "claude", "-m", "x", "--print"]))
        .succeeds();
    program(&room, "claude", "echo \"$POSTROOM_ROOT\"");
    let path = format!("PATH='{}':$PATH; ", room.around().join("bin").display());
    let told = room.bash(&format!("{path}{}", ran.out.lines().last().unwrap())).succeeds().out;
    assert_eq!(told.trim_end(), odd.to_str().unwrap());
}
