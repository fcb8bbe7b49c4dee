//! `--follow`: it ends with the run, no matter who ends that, and says how it ended.

use std::io::{BufRead, BufReader};
use std::process::{Child, Output};

use crate::command_line::terminal::{PLAIN, lent, on_terminal};
use crate::support::crew::{begin, crew, received, settings, status, steps, workflow};
use crate::support::pasted::commands;
use crate::support::room::TestRoom;
use crate::support::until::until_watching;

/// A step for which no program is started, and one that only a reject would need.
const WAITS: &str = "
steps:
  a: {agent: idle, prompt: x}
  b: {agent: one, needs: a, prompt: y}
";

/// A room in which nobody is started for the first step.
fn waiting() -> TestRoom {
    let agents = [("one", "echo x"), ("idle", "echo x")];
    let room = crew(&agents, &[("waits", WAITS)]);
    crate::support::staffed::settle(&room, &settings(&agents[..1]));
    room
}

fn ended(follower: Child) -> Output {
    follower.wait_with_output().unwrap()
}

#[test]
fn a_run_that_somebody_else_ends_is_over_for_all_who_follow_it() {
    let room = waiting();
    let run = begin(&room, "waits", &[]);
    let followers: Vec<Child> =
        (0..2).map(|_| workflow(&room, ["resume", &run, "--follow"]).start()).collect();
    followers.iter().for_each(until_watching);
    workflow(&room, ["cancel", &run]).succeeds();
    for follower in followers {
        let ended = ended(follower);
        let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        assert_eq!(ended.status.code(), Some(5), "{out}{err}");
        assert!(err.contains(&format!("the run {run} is cancelled")), "{err}");
        assert!(out.contains(" cancelled 0/2 a: stopped, b: not begun"), "{out}");
    }
    let how: Vec<String> = steps(&room, &run).into_iter().map(|(_, how)| how).collect();
    assert_eq!(how, ["stopped", "not begun"]);
}

#[test]
fn steps_that_others_bring_on_are_reported_too() {
    let room = waiting();
    let run = begin(&room, "waits", &[]);
    let follower = workflow(&room, ["resume", &run, "--follow"]).start();
    until_watching(&follower);
    // Either may be quicker, the follower or the one who resumes; both steps are reported.
    room.by("idle", ["reply", &room.files("idle", "inbox")[0], "-m", "here"]).succeeds();
    workflow(&room, ["resume", &run]).ends();
    let ended = ended(follower);
    let out = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{ended:?}");
    assert!(out.contains("a: done") && out.contains("b: done") && out.contains("completed 2/2"), "{out}");
    assert_eq!(status(&room, &run), "completed");
}

/// An agent that was configured while a run was followed was not started until the command was given again.
#[test]
fn a_follower_takes_an_agent_that_is_configured_meanwhile() {
    let room = waiting();
    let run = begin(&room, "waits", &[]);
    let follower = workflow(&room, ["resume", &run, "--follow"]).start();
    until_watching(&follower);
    crate::support::staffed::settle(&room, &settings(&[("one", "echo x"), ("idle", "echo x")]));
    let ended = ended(follower);
    let out = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success() && out.contains("completed 2/2"), "{ended:?}");
}

#[test]
fn what_a_fan_out_waits_for_is_shown_item_by_item() {
    let text = "steps:\n  each: {agent: '{{ item }}', foreach: '[\"one\", \"idle\", \"broken\"]', prompt: x, on_failure: continue}\n";
    let agents = [("one", "echo x"), ("broken", "exit 3"), ("idle", "echo x")];
    let room = crew(&agents, &[("fan", text)]);
    crate::support::staffed::settle(&room, &settings(&agents[..2]));
    let run = begin(&room, "fan", &[]);
    crate::support::staffed::dispatch(&room, []).exits(5);
    let out = workflow(&room, ["show", &run]).succeeds().out;
    assert!(out.contains("1. each one asked 1/3\n   item 2 idle attempt 1 no answer yet\n"), "{out}");
    assert!(out.contains("   item 3 broken attempt 1 failed (it exited with 3"), "{out}");
}

#[test]
fn a_run_that_fails_at_once_says_why() {
    let text =
        "steps:\n  a: {agent: one, when: '(inputs.list | length) + 1', prompt: x}\ninputs: {list: [1]}\n";
    let room = crew(&[("one", "echo x")], &[("bad", text)]);
    let failed = workflow(&room, ["run", "bad", "--follow"]).exits(5);
    assert!(failed.out.contains(" failed ") && failed.out.contains("a: failed ("), "{failed:?}");
    assert!(failed.err.contains(": a failed (") && failed.err.contains("workflow retry"), "{failed:?}");
}

#[test]
fn following_a_run_of_agents_that_are_not_trusted_is_refused_before_it_begins() {
    let room = crew(&[("one", "echo x")], &[("plain", "steps:\n  a: {agent: one, prompt: x}\n")]);
    let settings = room.root().join("postroom.toml");
    let changed = std::fs::read_to_string(&settings).unwrap().replace("echo x", "echo changed");
    std::fs::write(&settings, changed).unwrap();
    let refused = workflow(&room, ["run", "plain", "--follow"]).exits(4);
    assert!(refused.err.contains("no program is started for `one`"), "{refused:?}");
    assert!(refused.err.contains("postroom trust "), "{refused:?}");
    assert!(room.files("one", "inbox").is_empty(), "nothing was sent");
    let dispatched = crate::support::staffed::dispatch(&room, []).exits(3);
    assert!(!dispatched.err.contains("write [agents.NAME]"), "{dispatched:?}");
}

/// An agent that hangs would keep its place, so that the next attempt could not begin.
#[test]
fn an_agent_that_takes_too_long_is_stopped_and_the_next_attempt_begins() {
    let text = "steps:\n  a: {agent: slow, prompt: x, timeout: 2s, retry: 1}\n";
    let script = "if [ -e once ]; then echo here; else touch once; echo $$ > slow.pid; exec sleep 600; fi";
    let room = crew(&[("slow", script)], &[("hangs", text)]);
    let alone = settings(&[("slow", script)]).replace("concurrency = 4", "concurrency = 1");
    crate::support::staffed::settle(&room, &alone);
    let out = workflow(&room, ["run", "hangs", "--follow"]).succeeds().out;
    assert!(out.contains("completed 1/1 a: done (attempt 2)"), "{out}");
    let pid = std::fs::read_to_string(room.around().join("slow.pid")).unwrap();
    assert!(!std::path::Path::new("/proc").join(pid.trim()).exists(), "{pid} goes on");
    let runs = crate::support::staffed::runs(&room);
    let whys: Vec<&str> = runs.iter().filter_map(|run| run["why"].as_str()).collect();
    assert!(whys.contains(&"no answer came within 2.0s of the start of its work"), "{runs:?}");
    assert_eq!((room.files("slow", "failed").len(), room.files("slow", "archive").len()), (1, 1));
}

/// A person had to find out how a gate is passed.
#[test]
fn a_gate_that_waits_says_by_which_command_it_is_passed() {
    let text = "steps:\n  a: {agent: one, prompt: x, gate: {approval: user}}\n  \
                b: {agent: one, needs: a, foreach: '[1, 2]', prompt: y, gate: {approval: user}}\n";
    let room = crew(&[("one", "echo x"), ("user", "echo never")], &[("asks", text)]);
    crate::support::staffed::settle(&room, &settings(&[("one", "echo x")]));
    let run = begin(&room, "asks", &[]);
    let mut follower = workflow(&room, ["resume", &run, "--follow"]).start();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut next = || {
        let line = lines.find(|line| line.starts_with("waits for you: ")).unwrap();
        commands(&line).next().unwrap_or_else(|| panic!("{line}"))
    };
    let command = next();
    assert!(command.ends_with(&format!("approve {run}/a")), "{command}");
    let shown = workflow(&room, ["show", &run]).succeeds().out;
    assert_eq!(commands(&shown).collect::<Vec<_>>(), [command.as_str()]);
    assert!(shown.contains(&format!("  # or reject {run}/a -m WHY\n")), "{shown}");
    let asked = received(&room, "user").pop().unwrap();
    assert!(asked.contains(&format!("`postroom approve {run}/a`")), "{asked}");
    room.paste(&command).by_person().with(0);
    // Two items of one step: the name of the step is not enough.
    let each = [next(), next()];
    assert!(each[0] != each[1] && !each[0].contains(&run), "{each:?}");
    for command in each {
        room.paste(&command).by_person().with(0);
    }
    assert_eq!(lines.last().as_deref().map(|line| line.contains("completed 2/2")), Some(true));
    assert!(follower.wait().unwrap().success());
}

#[test]
fn a_question_that_is_read_on_a_terminal_names_the_command() {
    if !lent("a_question_that_is_read_on_a_terminal_names_the_command") {
        return;
    }
    let text = "steps:\n  a: {agent: one, prompt: x, gate: {approval: user}}\n";
    let room = crew(&[("one", "echo x"), ("user", "echo never")], &[("asks", text)]);
    crate::support::staffed::settle(&room, &settings(&[("one", "echo x")]));
    begin(&room, "asks", &[]);
    crate::support::staffed::dispatch(&room, []).succeeds();
    let id = room.by("user", ["check"]).succeeds().out[..8].to_owned();
    let shown = on_terminal(&room, 200, "--as user read --keep", &PLAIN);
    assert!(
        shown.contains(&format!("to answer: postroom approve {id}  # or reject {id} -m WHY\n")),
        "{shown}"
    );
}

/// The last line was `2 of 2 steps settled`, and nothing said where the result is.
#[test]
fn a_run_that_is_done_names_the_command_that_shows_its_result() {
    let text = "steps:\n  a: {agent: one, prompt: x}\n  b: {agent: one, needs: a, prompt: y}\n";
    let room = crew(&[("one", "echo x")], &[("two", text)]);
    let run = begin(&room, "two", &[]);
    if !lent("a_run_that_is_done_names_the_command_that_shows_its_result") {
        return;
    }
    let shown = on_terminal(&room, 200, &format!("workflow resume {run} --follow"), &PLAIN);
    let last = shown.lines().last().unwrap();
    assert!(last.contains(&format!("workflow show {run} b  # shows its result")), "{shown}");
    assert_eq!(workflow(&room, ["show", &run, "b"]).succeeds().out, "x\n");
}
