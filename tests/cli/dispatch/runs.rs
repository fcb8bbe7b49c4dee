//! `runs`: which runs there were, and what one agent did, out of the recorded output of its program.

use std::io::{BufRead, BufReader};

use crate::command_line::terminal::{PLAIN, columns, lent, on_terminal};
use crate::support::staffed::{AT_ONCE, dispatch, program, runs, settle, shell, staffed};
use crate::support::until::until;

/// The recorded output of a program.
fn recorded(name: &str) -> String {
    format!("{}/tests/golden/transcripts/{name}.jsonl", env!("CARGO_MANIFEST_DIR"))
}

fn table(preset: &str) -> String {
    format!("[agents.worker]\npreset = \"{preset}\"\nretries = 0\n{AT_ONCE}")
}

#[test]
fn what_an_agent_did_is_shown_for_every_program() {
    for preset in ["claude", "codex", "gemini", "opencode", "copilot"] {
        let room = staffed(&["worker"], &table(preset));
        program(&room, preset, &format!("cat > /dev/null; cat '{}'", recorded(preset)));
        room.send("alice", "worker", "Please do two things.");
        dispatch(&room, []).succeeds();
        let id = runs(&room)[0]["id"].as_str().unwrap().to_owned();
        let shown = room.run(["runs", &id]).succeeds().out;
        let call = if preset == "codex" { "/bin/bash -c 'echo hello'" } else { "echo hello" };
        let lines: Vec<&str> = shown.lines().collect();
        let at =
            |line: &str| lines.iter().position(|l| *l == line).unwrap_or_else(|| panic!("{line}: {shown}"));
        let called =
            lines.iter().position(|l| l.starts_with("→ ") && l.ends_with(&format!(": {call}"))).unwrap();
        assert!(at("I look first.") < called && lines[called + 1] == "  hello", "{shown}");
        if preset == "codex" {
            assert!(shown.contains("  failed: curl: (7) Failed to connect\n"), "{shown}");
        } else {
            assert!(shown.contains("  denied: "), "{preset}: {shown}");
        }
        let said = shown.matches("Two things are done.").count();
        assert_eq!(said, usize::from(preset != "opencode"), "the end is not repeated: {shown}");
        assert!(!shown.contains("not understood"), "{shown}");
        let bytes = std::fs::read_to_string(recorded(preset)).unwrap();
        assert_eq!(room.run(["runs", &id, "--raw"]).succeeds().out, bytes, "{preset}");
        let told = room.run(["runs", &id, "--json"]).json();
        assert!(told["events"].as_array().unwrap().iter().any(|event| event["event"] == "called"), "{told}");
        if preset != "copilot" {
            let tokens = &told["tokens"];
            assert_eq!(
                (&tokens["input"], &tokens["output"]),
                (&tokens["output"], &tokens["input"]),
                "{told}"
            );
            assert!(tokens["input"].as_u64().unwrap() >= 20, "{told}");
        }
    }
}

#[test]
fn hostile_text_stays_text_and_unknown_lines_are_counted() {
    let room = staffed(&["worker"], &table("claude"));
    let lines = r#"warning: \033 odd
{"type":"novelty"}
{"type":"assistant","message":{"content":[{"type":"text","text":"a\u001b[2Jb"},{"type":"tool_use","id":"1","name":"Ba\u0007sh","input":{"command":"x\u001b]0;y"}}]}}
{"type":"result","is_error":false,"result":"fine","total_cost_usd":0.5,"usage":{"input_tokens":1200,"output_tokens":34}}"#;
    program(&room, "claude", &format!("cat > /dev/null; cat <<'END'\n{lines}\nEND"));
    room.send("alice", "worker", "x");
    let told = dispatch(&room, []).succeeds().out;
    assert!(told.contains("($0.5000, 1234 tokens)"), "{told}");
    let id = runs(&room)[0]["id"].as_str().unwrap().to_owned();
    let shown = room.run(["runs", &id]).succeeds().out;
    assert!(!shown.contains(['\u{1b}', '\u{7}']), "{shown:?}");
    assert!(shown.contains("a\\u{1b}[2Jb\n→ Ba\\u{7}sh: x\\u{1b}]0;y\n"), "{shown}");
    assert!(shown.contains("\n2 lines of its output were not understood; --raw shows them\n"), "{shown}");
}

#[test]
fn runs_are_selected_by_agent_failure_and_time() {
    let one = shell("one", "echo fine", "").replace(AT_ONCE, "");
    let room = staffed(&["one", "two"], &format!("{one}{}", shell("two", "exit 3", "retries = 0")));
    room.send("alice", "one", "x");
    room.send("alice", "two", "x");
    dispatch(&room, []).exits(5);
    let names = |arguments: &[&str]| -> Vec<String> {
        let told = room.run(["runs", "--json"].into_iter().chain(arguments.iter().copied())).json();
        let runs = told["runs"].as_array().unwrap();
        runs.iter().map(|run| run["agent"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&[]).len(), 2);
    assert_eq!(names(&["--agent", "One"]), ["one"]);
    assert_eq!(names(&["--failed"]), ["two"]);
    assert_eq!(names(&["--since", "1h"]).len(), 2);
    assert_eq!(names(&["--since", "0s"]), [""; 0]);
    room.run(["runs", "--agent", "one", "--failed"]).exits(1);
    let run = &runs(&room)[0];
    assert!(run["seconds"].as_u64().is_some() && run["preset"] == "command", "{run}");
}

#[test]
fn a_run_is_followed_to_its_end_and_its_activity_is_the_call_in_progress() {
    let room = staffed(&["worker"], &table("claude"));
    let call = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"Bash","input":{"command":"make all"}}]}}"#;
    let back = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","content":"built","is_error":false}]}}"#;
    let end = r#"{"type":"result","is_error":false,"result":"It is built."}"#;
    let script = format!(
        "cat > /dev/null; echo '{call}'; while [ ! -e \"$HOME/go\" ]; do sleep 0.05; done; echo '{back}'; echo '{end}'"
    );
    program(&room, "claude", &script);
    room.send("alice", "worker", "build");
    let mut dispatcher = dispatch(&room, []).start();
    let activity = || runs(&room).first().map(|run| run["activity"].as_str().unwrap_or_default().to_owned());
    until("the call", || activity().as_deref() == Some("Bash: make all"));
    let run = runs(&room)[0].clone();
    assert!(run["state"] == "running" && run["seconds"].as_u64().is_some(), "{run}");
    let mut follower = room.run(["runs", run["id"].as_str().unwrap(), "--follow"]).start();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.next().unwrap().starts_with("alice → worker running "));
    assert_eq!(lines.next().unwrap(), "→ Bash: make all");
    std::fs::write(room.around().join("home/go"), "").unwrap();
    assert_eq!(lines.next().unwrap(), "  built");
    assert_eq!(lines.next().unwrap(), "It is built.");
    assert!(lines.next().unwrap().starts_with("alice → worker done "));
    assert!(follower.wait().unwrap().success() && dispatcher.wait().unwrap().success());
}

#[test]
fn names_know_that_an_agent_answered() {
    let room = staffed(&["worker", "other"], &shell("worker", "exit 3", "retries = 0"));
    room.send("alice", "worker", "x");
    let line = |name: &str| room.run(["names", name]).succeeds().out;
    dispatch(&room, []).exits(5);
    assert!(line("worker").contains("never seen"), "a run that failed is no answer: {}", line("worker"));
    settle(&room, &shell("worker", "echo fine", ""));
    room.send("alice", "worker", "y");
    dispatch(&room, []).succeeds();
    assert!(line("worker").contains("seen just now"), "{}", line("worker"));
    assert!(line("other").contains("never seen"), "{}", line("other"));
}

/// `user → revi…`: the half that tells the runs apart was cut.
#[test]
fn the_table_of_runs_never_cuts_the_name_of_the_agent() {
    let names = ["reviewer", "second-backend-reviewer"];
    let fails = "echo the disk is full >&2; exit 3";
    let table = |name| shell(name, fails, "retries = 0").replace(AT_ONCE, "");
    let tables = format!("{}{AT_ONCE}", names.map(table).concat());
    let room = staffed(&names, &tables);
    let sender = "a-sender-with-quite-a-long-name";
    room.run(["setup", sender, "-q"]).succeeds();
    for name in names {
        room.send(sender, name, "x");
    }
    if !lent("the_table_of_runs_never_cuts_the_name_of_the_agent") {
        return;
    }
    for (width, verb) in [(80, "dispatch"), (80, "runs"), (120, "runs")] {
        let shown = on_terminal(&room, width, verb, &PLAIN);
        for name in names {
            let line = shown
                .lines()
                .find(|line| line.contains(&format!(" {name} ")))
                .unwrap_or_else(|| panic!("{shown}"));
            assert!(columns(line) <= width as usize && line.contains("  for a"), "{shown}");
        }
    }
}
