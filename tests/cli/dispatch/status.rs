//! `status`: what runs, what waits and for what, and what needs a person.

use serde_json::Value;

use crate::command_line::terminal::{PLAIN, lent, on_terminal};
use crate::support::at_work::{parent_of, pid_of_agent};
use crate::support::crew;
use crate::support::room::{Ran, TestRoom};
use crate::support::staffed::{AT_ONCE, dispatch, settle, shell, staffed, write_settings};
use crate::support::until::until;

const ENDLESS: &str = "echo $$ > pid.new; mv pid.new pid; while :; do sleep 1; done";

fn status(room: &TestRoom) -> Value {
    room.run(["status", "--json"]).json()
}

/// What waits in a mailbox: how many messages, for what, and why.
#[track_caller]
fn waits(room: &TestRoom, name: &str) -> Vec<(u64, String, String)> {
    let of = |mail: &Value| {
        let text = |key: &str| mail[key].as_str().unwrap_or_default().to_owned();
        (mail["messages"].as_u64().unwrap(), text("waits_for"), text("why"))
    };
    let status = status(room);
    status["waiting"].as_array().unwrap().iter().filter(|mail| mail["name"] == name).map(of).collect()
}

#[test]
fn a_quiet_room_says_so_and_a_look_changes_nothing() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "x");
    let before = room.tree();
    let shown = room.run(["status"]).succeeds();
    assert_eq!(shown.out, "dispatcher none\nwaits bob 1 reader\n");
    assert_eq!(status(&room)["waiting"][0]["in_session"], false);
    room.is_still(&before, "status");
}

#[test]
fn waiting_mail_says_what_it_waits_for() {
    let limited = shell("limited", "echo x", "").replace(AT_ONCE, "");
    let poor = shell("poor", "exit 1", "retries = 3").replace(AT_ONCE, "");
    let settings = format!("{limited}{poor}[dispatch]\nback_off = \"1h\"\nhour_runs = 1\n");
    let room = staffed(&["limited", "poor", "stranger"], &settings);
    for name in ["limited", "limited", "poor"] {
        room.send("alice", name, "x");
    }
    let dispatcher = |messages| (messages, "dispatcher".to_owned(), "none runs".to_owned());
    assert_eq!((waits(&room, "limited"), waits(&room, "poor")), (vec![dispatcher(2)], vec![dispatcher(1)]));
    dispatch(&room, []).exits(5);
    let (limited, poor) = (waits(&room, "limited"), waits(&room, "poor"));
    assert!(limited.len() == 1 && limited[0].0 == 1 && limited[0].1 == "limit", "{limited:?}");
    assert!(limited[0].2.contains("hour_runs"), "{limited:?}");
    assert!(poor.len() == 1 && poor[0].1 == "retry" && poor[0].2.contains("exit"), "{poor:?}");
    let seen = status(&room);
    let has_time = |mail: &&Value| mail["until"].is_string();
    assert_eq!(seen["waiting"].as_array().unwrap().iter().filter(has_time).count(), 2, "{seen}");
    // Stopped by a person, and paused.
    let stopped = room.send("alice", "poor", "y");
    room.run(["stop", &stopped]).succeeds();
    assert!(waits(&room, "poor").iter().any(|(count, what, _)| *count == 1 && what == "person"));
    room.run(["pause", "limited", "-m", "wait for me"]).succeeds();
    let paused = waits(&room, "limited");
    assert_eq!(paused, [(1, "person".to_owned(), "paused: wait for me".to_owned())], "counted once");
    // Settings that nobody has looked at.
    room.send("alice", "stranger", "x");
    write_settings(&room, &format!("{settings}{}", shell("stranger", "echo", "").replace(AT_ONCE, "")));
    assert_eq!(waits(&room, "stranger")[0].1, "trust");
}

#[test]
fn running_is_said_only_of_what_runs() {
    let room = staffed(&["worker"], &shell("worker", ENDLESS, "cwd = \"..\""));
    room.send("alice", "worker", "x");
    room.send("alice", "worker", "y");
    let mut watch = dispatch(&room, ["--watch"]).start();
    let pid = pid_of_agent(&room);
    let seen = status(&room);
    assert_eq!(seen["dispatchers"][0]["pid"], watch.id());
    assert_eq!(
        (&seen["running"][0]["agent"], &seen["running"][0]["from"]),
        (&"worker".into(), &"alice".into())
    );
    assert_eq!(waits(&room, "worker"), [(1, "turn".to_owned(), "its agent is at work".to_owned())]);
    let line = room.run(["status"]).succeeds().out;
    assert!(line.contains("\nrunning worker ") && line.contains(" for alice"), "{line}");
    watch.kill().unwrap();
    watch.wait().unwrap();
    let supervisor = rustix::process::Pid::from_raw(parent_of(&pid)).unwrap();
    rustix::process::kill_process(supervisor, rustix::process::Signal::KILL).unwrap();
    until("its end", || status(&room)["running"].as_array().unwrap().is_empty());
    let seen = status(&room);
    assert_eq!(seen["interrupted"][0]["agent"], "worker", "{seen}");
    assert!(seen["dispatchers"].as_array().unwrap().is_empty(), "{seen}");
    assert_eq!(seen["died"][0]["pid"], watch.id(), "{seen}");
    let listed = room.run(["runs"]).succeeds().out;
    assert!(listed.contains(" interrupted ") && !listed.contains("running"), "{listed}");
    let listed = room.run(["runs", "--json"]).json();
    assert_eq!(listed["runs"][0]["state"], "interrupted", "{listed}");
    let one = room.run(["runs", listed["runs"][0]["id"].as_str().unwrap()]).succeeds().out;
    assert!(one.contains(" interrupted "), "{one}");
    settle(&room, &shell("worker", "echo fine", ""));
    dispatch(&room, []).ends();
    assert!(status(&room).get("interrupted").is_none());
}

#[test]
fn a_dispatcher_for_some_agents_serves_no_other() {
    let one = shell("one", "echo x", "").replace(AT_ONCE, "");
    let room = staffed(&["one", "two"], &format!("{one}{}", shell("two", "echo x", "")));
    let mut watch = dispatch(&room, ["--watch", "--only", "one"]).start();
    until("a dispatcher", || !status(&room)["dispatchers"].as_array().unwrap().is_empty());
    room.send("alice", "two", "x");
    assert_eq!(waits(&room, "two"), [(1, "dispatcher".to_owned(), "none runs".to_owned())]);
    assert_eq!(status(&room)["dispatchers"][0]["only"][0], "one");
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn gates_workflows_and_what_failed_are_there() {
    let text = "steps:\n  a: {agent: one, prompt: x, gate: {approval: user}}\n";
    let room = crew::crew(&[("one", "echo x")], &[("asks", text)]);
    room.run(["setup", "--child", "user"]).by_person().with(0);
    let run = crew::begin(&room, "asks", &[]);
    dispatch(&room, []).within(&crew::project(&room)).succeeds();
    let shown = || -> Ran { room.run(["status"]).within(&crew::project(&room)).succeeds() };
    let seen = room.run(["status", "--json"]).within(&crew::project(&room)).json();
    assert_eq!((&seen["gates"][0]["run"], &seen["gates"][0]["step"]), (&run.as_str().into(), &"a".into()));
    assert_eq!((&seen["workflows"][0]["settled"], &seen["workflows"][0]["total"]), (&0.into(), &1.into()));
    assert_eq!(seen["workflows"][0]["steps"][0]["status"], "asked", "nobody is at work: {seen}");
    assert_eq!(seen["unread"], 1, "{seen}");
    let out = shown().out;
    // The request of the gate is no second thing to do.
    assert!(out.contains(&format!("\ngate {run}/a ")) && !out.contains("\nmail user"), "{out}");
    assert!(out.contains(&format!("\nworkflow {run} 0/1 a: asked")), "{out}");
    room.send("one", "user", "a real message");
    assert!(shown().out.contains("\nmail user 1\n"), "{:?}", shown());
    room.run(["approve", &format!("{run}/a"), "--yes"]).by_person().with(0);
    crew::workflow(&room, ["resume", &run]).ends();
    let out = shown().out;
    assert!(!out.contains("gate ") && !out.contains("workflow "), "{out}");
}

#[test]
fn dead_letters_are_counted_by_mailbox() {
    let room = staffed(&["worker"], &shell("worker", "echo no >&2; exit 3", "retries = 0"));
    room.send("alice", "worker", "x");
    room.send("alice", "worker", "y");
    dispatch(&room, []).exits(5);
    let seen = status(&room);
    assert_eq!((&seen["failed"][0]["name"], &seen["failed"][0]["messages"]), (&"worker".into(), &2.into()));
    assert!(room.run(["status"]).succeeds().out.contains("\nfailed worker 2: "));
}

#[test]
fn what_cannot_be_read_is_told_and_hides_nothing() {
    let room = staffed(&["worker"], "");
    room.send("alice", "worker", "x");
    settle(&room, "[agents.worker]\npreset = \"nope\"\n");
    let once = room.run(["status"]).exits(5);
    assert!(once.out.contains("\nwaits worker 1 reader"), "{once:?}");
    assert!(once.err.contains("the agents: [agents.worker]"), "{once:?}");
    let watch = room.bash("timeout 2 postroom status --watch").ends();
    assert!(watch.out.contains("\nwaits worker 1 reader"), "{watch:?}");
    assert_eq!(watch.err.matches("the agents: [agents.worker]").count(), 1, "{watch:?}");
}

#[test]
fn a_watch_shows_each_change_once() {
    use std::io::{BufRead, BufReader};
    let room = TestRoom::with(&["alice", "bob"]);
    let mut watch = room.run(["status", "--watch", "--json"]).start();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert!(next()["waiting"].as_array().unwrap().is_empty());
    room.send("alice", "bob", "x");
    assert_eq!(next()["waiting"][0]["messages"], 1);
    room.send("alice", "bob", "y");
    assert_eq!(next()["waiting"][0]["messages"], 2);
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn all_rooms_have_the_settings_of_their_own_repositories() {
    let room = TestRoom::empty();
    room.bash("git init -q web && git init -q api").succeeds();
    for (repository, name) in [("web", "carol"), ("api", "dave")] {
        let here = room.around().join(repository);
        room.bare(["setup", name]).within(&here).succeeds();
        room.bare(["--as", name, "send", name, "-m", "x"]).within(&here).succeeds();
    }
    let table = "[agents.dave]\npreset = \"command\"\ncommand = [\"cat\"]\n";
    std::fs::write(room.around().join("api/postroom.toml"), table).unwrap();
    let seen = room.bare(["status", "--all", "--json"]).within(&room.around().join("web")).json();
    let [api, web] = seen["rooms"].as_array().unwrap().as_slice() else { panic!("{seen}") };
    assert_eq!((&api["room"], &web["room"]), (&"api".into(), &"web".into()));
    assert_eq!(
        (&api["waiting"][0]["name"], &api["waiting"][0]["waits_for"]),
        (&"dave".into(), &"trust".into())
    );
    assert_eq!(web["waiting"][0]["waits_for"], "reader");
    let lines = room.bare(["status", "--all"]).within(&room.around().join("web")).succeeds().out;
    assert!(lines.starts_with("room api\ndispatcher none\nwaits dave 1 trust: "), "{lines}");
}

#[test]
fn a_screen_is_never_too_small() {
    if !lent("a_screen_is_never_too_small") {
        return;
    }
    let room = staffed(&["worker"], &shell("worker", "exit 3", "retries = 0"));
    for n in 0..40 {
        let name = format!("reader{n}");
        room.run(["setup", &name, "-q"]).succeeds();
        room.send("alice", &name, "x");
    }
    room.send("alice", "worker", "x");
    for width in [60, 80, 120] {
        let shown = on_terminal(&room, width, "status", &PLAIN);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines.len() <= 23, "{} lines: {shown}", lines.len());
        let is_wide = |line: &&&str| unicode_width::UnicodeWidthStr::width(**line) > width as usize;
        assert_eq!(lines.iter().find(is_wide), None, "{shown}");
        assert!(shown.contains("no `dispatch --watch` runs") && shown.contains(" more"), "{shown}");
        assert!(shown.contains("postroom dispatch --watch"), "{shown}");
    }
}

/// Parked mail hid the pause of its agent, and the hint led to an empty list.
#[test]
fn a_pause_is_shown_beside_what_is_parked() {
    let room = staffed(&["bob"], &shell("bob", "echo x", ""));
    let first = room.send("alice", "bob", "a");
    room.send("alice", "bob", "b");
    room.run(["pause", "bob", "-m", "lunch"]).succeeds();
    // A second pause keeps the reason.
    room.run(["pause", "bob"]).succeeds();
    if !lent("a_pause_is_shown_beside_what_is_parked") {
        return;
    }
    let hints = || {
        let shown = on_terminal(&room, 100, "status", &PLAIN);
        (shown.contains("resume bob"), shown.contains("failed list --all"))
    };
    let shown = room.run(["status"]).succeeds().out;
    assert!(shown.contains("\nwaits bob 2 person: paused: lunch\n"), "{shown}");
    assert!(shown.contains("\npaused bob person: lunch\n"), "{shown}");
    assert_eq!(hints(), (true, false));
    room.run(["stop", &first, "-m", "wrong"]).succeeds();
    let shown = room.run(["status"]).succeeds().out;
    assert!(
        shown.contains("stopped: wrong") && shown.contains("waits bob 1 person: paused: lunch"),
        "{shown}"
    );
    assert!(shown.contains("\npaused bob person: lunch\n"), "{shown}");
    assert_eq!(hints(), (true, true));
    room.run(["resume", "bob"]).by_person().with(0);
    assert_eq!(hints(), (false, true));
}

/// A workflow run that failed was nowhere to be seen.
#[test]
fn a_workflow_run_that_failed_is_shown_until_it_is_retried() {
    let text = "steps:\n  a: {agent: one, prompt: x}\n";
    let room = crew::crew(&[("one", "if [ -e right ]; then echo x; else exit 1; fi")], &[("short", text)]);
    let run = crew::begin(&room, "short", &[]);
    dispatch(&room, []).exits(5);
    let seen = status(&room);
    assert_eq!(
        (&seen["failed_workflows"][0]["run"], &seen["workflows"]),
        (&run.as_str().into(), &serde_json::json!([]))
    );
    let shown = room.run(["status"]).succeeds().out;
    assert!(shown.contains(&format!("\nfailed {run}: a: ")), "{shown}");
    if lent("a_workflow_run_that_failed_is_shown_until_it_is_retried") {
        let shown = on_terminal(&room, 100, "status", &PLAIN);
        assert!(shown.contains(&format!("workflow retry {run}")), "{shown}");
    }
    std::fs::write(room.around().join("right"), "").unwrap();
    crew::workflow(&room, ["retry", &run]).succeeds();
    assert!(status(&room).get("failed_workflows").is_none(), "it is in progress again");
    dispatch(&room, []).succeeds();
    assert!(status(&room).get("failed_workflows").is_none());
    // One that failed long ago is not shown, and one that is pruned neither.
    let old = crew::begin(&room, "short", &[]);
    std::fs::remove_file(room.around().join("right")).unwrap();
    dispatch(&room, []).exits(5);
    let mark = room.root().join(".workflows/failed").join(&old);
    let text = std::fs::read_to_string(&mark).unwrap();
    let mut told: Value = serde_json::from_str(&text).unwrap();
    told["at"] = "2026-01-01T00:00:00.000Z".into();
    std::fs::write(&mark, told.to_string()).unwrap();
    assert!(status(&room).get("failed_workflows").is_none());
    std::fs::write(&mark, text).unwrap();
    assert_eq!(status(&room)["failed_workflows"][0]["run"], old);
    room.run(["prune", &old, "--yes"]).by_person().with(0);
    assert!(!mark.exists() && status(&room).get("failed_workflows").is_none());
}
