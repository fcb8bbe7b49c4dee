//! Stopping, pausing and resuming: what ends, what becomes of the mail, and who may let it go on.

use crate::support::at_work::{lives, parent_of, pid_of_agent};
use crate::support::pasted::commands;
use crate::support::room::TestRoom;
use crate::support::staffed::{dispatch, inbox, runs, settle, shell, staffed, with_path};

/// An agent that goes on for ever, with a process in a session of its own that does not listen.
const ENDLESS: &str = "setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' & echo $! > other; echo $$ > pid.new; \
                       mv pid.new pid; while :; do sleep 1; done";

/// Starts an endless agent for a message, and gives its dispatcher and its two processes.
fn at_work(room: &TestRoom) -> (std::process::Child, [String; 2]) {
    let dispatcher = dispatch(room, []).start();
    let pid = pid_of_agent(room);
    let other = std::fs::read_to_string(room.around().join("other")).unwrap().trim().to_owned();
    (dispatcher, [pid, other])
}

#[test]
fn a_stopped_run_ends_with_all_its_processes_and_its_message_waits_for_a_person() {
    for how in ["run", "message", "agent"] {
        let room = staffed(&["worker"], &shell("worker", ENDLESS, "cwd = \"..\""));
        let message = room.send("alice", "worker", "x");
        let (mut dispatcher, pids) = at_work(&room);
        let run = runs(&room)[0]["id"].as_str().unwrap().to_owned();
        let what = match how {
            "run" => &run,
            "message" => &message,
            _ => "worker",
        };
        let stopped = room.run(["stop", what, "-m", "wrong branch"]).succeeds().out;
        assert!(stopped.contains(&run) && stopped.contains("is parked\n"), "{stopped}");
        let release = commands(&stopped).next().unwrap();
        assert!(release.ends_with(&format!(" failed retry {message}")), "{stopped}");
        // Only a person releases it, so the command is right, but not for a test without a terminal.
        room.paste(&release).exits(4);
        assert!(!pids.iter().any(|pid| lives(pid)), "{how}: something of it lives on");
        assert_eq!(dispatcher.wait().unwrap().code(), Some(5));
        assert_eq!(runs(&room)[0]["state"], "parked");
        assert_eq!(runs(&room)[0]["why"], "stopped: wrong branch");
        // It is unread, and nobody starts it; its sender is not told that it failed.
        assert_eq!((room.files("worker", "inbox").len(), inbox(&room, "alice").len()), (1, 0));
        let waits = dispatch(&room, []).exits(1);
        assert!(
            waits.err.contains("waits for a person: ") && waits.err.contains(": stopped: wrong branch"),
            "{}",
            waits.err
        );
        let listed = room.by("worker", ["failed", "list"]).succeeds().out;
        assert!(listed.contains("parked stopped: wrong branch"), "{listed}");
        // Its sender finds it by its id.
        let shown = room.by("alice", ["failed", "show", &message]).succeeds().out;
        assert!(shown.contains("note: it is parked: stopped: wrong branch\n"), "{shown}");
        room.by("alice", ["failed", "retry", &message]).exits(4);
        // An agent does not lift it, a person does.
        settle(&room, &shell("worker", "echo fine", ""));
        room.run(["failed", "retry", "--agent", "worker"]).exits(4);
        room.run(["failed", "retry", "--agent", "worker"]).by_person().with(0);
        dispatch(&room, []).succeeds();
        assert_eq!(inbox(&room, "alice"), ["fine\n"]);
        assert_eq!(runs(&room)[1]["attempt"], 1, "a stopped attempt does not count");
    }
}

#[test]
fn a_message_that_was_not_started_yet_is_parked() {
    let room = staffed(&["worker"], &shell("worker", "echo fine", ""));
    let message = room.send("alice", "worker", "x");
    let stopped = room.run(["stop", &message]).succeeds().out;
    let release = commands(&stopped).next().unwrap();
    assert!(release.ends_with(&format!(" failed retry {message}")), "{stopped}");
    let sent = room.by("alice", ["sent"]).succeeds().out;
    assert!(sent.contains("queued, unread, parked for a person: stopped: by hand: x\n"), "{sent}");
    dispatch(&room, []).exits(1);
    assert!(runs(&room).is_empty());
    assert!(
        room.by("worker", ["failed", "list", "--json"]).json()["parked"][0]["reason"] == "stopped: by hand"
    );
    room.by("worker", ["failed", "retry", &message]).by_person().with(0);
    dispatch(&room, []).succeeds();
    room.run(["stop", "worker"]).exits(1);
    room.run(["stop", "nobody"]).exits(3);
}

#[test]
fn the_supervisor_may_be_dead_when_its_run_is_stopped() {
    let room = staffed(&["worker"], &shell("worker", ENDLESS, "cwd = \"..\""));
    room.send("alice", "worker", "x");
    let (mut dispatcher, pids) = at_work(&room);
    let parent = parent_of(&pids[0]);
    dispatcher.kill().unwrap();
    dispatcher.wait().unwrap();
    let parent = rustix::process::Pid::from_raw(parent).unwrap();
    rustix::process::kill_process(parent, rustix::process::Signal::KILL).unwrap();
    let stopped = room.run(["stop", "worker"]).succeeds().out;
    assert!(stopped.contains("is parked"), "{stopped}");
    assert!(!pids.iter().any(|pid| lives(pid)));
    assert_eq!(runs(&room)[0]["state"], "parked");
}

#[test]
fn a_paused_agent_is_not_started_until_a_person_resumes_it() {
    let room = staffed(&["worker", "other"], &{
        shell("worker", "echo fine", "").replace("[dispatch]\nback_off = \"0s\"\n", "")
            + &shell("other", "echo too", "")
    });
    let paused = room.run(["pause", "worker", "-m", "night"]).succeeds().out;
    let root = room.root().display().to_string();
    assert_eq!(commands(&paused).collect::<Vec<_>>(), [format!("postroom --root {root} resume worker")]);
    room.send("alice", "worker", "x");
    room.send("alice", "other", "y");
    let ran = dispatch(&room, []).succeeds();
    assert!(ran.err.contains("worker: 1 message waits for a person: night"), "{}", ran.err);
    assert_eq!(inbox(&room, "alice"), ["too\n"]);
    let agents = room.run(["agents"]).ends().out;
    assert!(agents.contains("paused: night"), "{agents}");
    let paused = &room.run(["agents", "--json"]).json()["agents"];
    assert!(paused.to_string().contains(r#""paused":[{"kind":"person","why":"night""#), "{paused}");
    let check = room.by("worker", ["check"]).succeeds().out;
    assert!(check.contains("paused: night"), "{check}");
    room.run(["resume", "worker"]).exits(4);
    room.run(["resume", "worker"]).by_person().with(0);
    dispatch(&room, []).succeeds();
    assert_eq!(inbox(&room, "alice").len(), 2);
    assert!(room.run(["resume", "worker"]).succeeds().out.contains("was not paused"));
}

/// A supervisor that was about to claim a message started its agent although the message was parked, or the agent paused, meanwhile.
#[test]
fn a_supervisor_that_claims_too_late_starts_nobody() {
    for how in ["stop", "pause"] {
        let room = staffed(&["worker"], &shell("worker", "echo fine", ""));
        let message = room.send("alice", "worker", "x");
        let (id, file) = (room.id("worker"), room.files("worker", "inbox").pop().unwrap());
        let what = if how == "stop" { message.as_str() } else { "worker" };
        room.run([how, what, "-m", "night"]).succeeds();
        with_path(&room, room.run(["supervise", "--", "worker", &id, &file])).exits(1);
        assert_eq!((runs(&room).len(), room.files("worker", "inbox")), (0, vec![file.clone()]), "{how}");
        match how {
            "stop" => drop(room.by("worker", ["failed", "retry", &message]).by_person().with(0)),
            _ => drop(room.run(["resume", "worker"]).by_person().with(0)),
        }
        with_path(&room, room.run(["supervise", "--", "worker", &id, &file])).succeeds();
        assert_eq!(
            (inbox(&room, "alice"), &runs(&room)[0]["attempt"]),
            (vec!["fine\n".to_owned()], &1.into())
        );
    }
}

/// A message that ran as a later one of a batch was unknown, although it ran.
#[test]
fn a_later_message_of_a_batch_is_found() {
    let room = staffed(&["worker"], &shell("worker", ENDLESS, "cwd = \"..\"\nbatch = 5"));
    for id in ["aaaa0001-x", "bbbb0002-x"] {
        room.run(["--as", "alice", "send", "worker", "--id", id, "-m", "x"]).succeeds();
    }
    let mut dispatcher = dispatch(&room, []).start();
    pid_of_agent(&room);
    assert_eq!(runs(&room)[0]["also"].as_array().unwrap().len(), 1, "{:?}", runs(&room));
    let stopped = room.run(["stop", "bbbb0002"]).succeeds().out;
    assert!(stopped.contains("and 1 more are parked"), "{stopped}");
    dispatcher.wait().unwrap();
    assert_eq!(room.files("worker", "inbox").len(), 2);
}

/// `status` said of a message that was stopped in its back-off that it is tried again.
#[test]
fn a_message_in_its_back_off_is_parked_and_said_to_be() {
    let settings = shell("worker", "exit 1", "retries = 5").replace("\"0s\"", "\"1h\"");
    let room = staffed(&["worker"], &settings);
    let message = room.send("alice", "worker", "x");
    dispatch(&room, []).exits(5);
    let waits = || room.run(["status", "--json"]).json()["waiting"][0]["waits_for"].clone();
    assert_eq!(waits(), "retry");
    let stopped = room.run(["stop", &message]).succeeds().out;
    assert!(stopped.starts_with("parked ") && stopped.contains("nobody works on it now"), "{stopped}");
    assert_eq!(waits(), "person");
    let again = room.run(["stop", &message]).succeeds().out;
    assert!(again.starts_with("already parked "), "{again}");
    let check = room.by("worker", ["check"]).succeeds().out;
    assert!(check.contains("parked for a person") && !check.contains("waits until"), "{check}");
    // Released, it starts at once.
    settle(&room, &shell("worker", "echo fine", ""));
    room.by("worker", ["failed", "retry", &message]).by_person().with(0);
    dispatch(&room, []).succeeds();
    let over = room.run(["stop", &message]).exits(1).err;
    assert!(over.contains("is already answered"), "{over}");
}

#[test]
fn who_stops_an_agent_hears_what_starts_next() {
    let room = staffed(&["worker"], &shell("worker", ENDLESS, "cwd = \"..\""));
    for text in ["a", "b", "c"] {
        room.send("alice", "worker", text);
    }
    let mut watch = dispatch(&room, ["--watch", "--limit", "1"]).start();
    pid_of_agent(&room);
    let stopped = room.run(["stop", "worker"]).succeeds();
    assert!(stopped.err.contains("2 more wait for worker\n"), "{}", stopped.err);
    assert!(stopped.err.contains("pause worker  # keeps them waiting"), "{}", stopped.err);
    watch.wait().unwrap();
}
