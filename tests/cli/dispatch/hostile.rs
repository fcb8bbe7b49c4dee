//! Agents that do not want to end, and files that are not what they should be.

use std::os::unix::fs::symlink;

use crate::support::staffed::{
    AT_ONCE, dispatch, inbox, program, reason, runs, settle, shell, staffed, trust, with_path, write_settings,
};
use crate::support::until::until;

fn lives(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn an_agent_of_a_room_is_not_run_before_its_person_has_looked_at_it() {
    let room = staffed(&["worker"], &shell("worker", "echo fine", ""));
    room.send("alice", "worker", "x");
    // Every agent that may write mail may write here too.
    let file = room.root().join("postroom.toml");
    std::fs::write(&file, shell("worker", "echo stolen", "")).unwrap();
    let told = dispatch(&room, []).exits(3);
    assert!(told.err.contains("is left out until you have looked at it\n  postroom trust "), "{}", told.err);
    let told = dispatch(&room, ["--only", "worker"]).exits(3);
    assert!(told.err.contains("postroom trust "), "{}", told.err);
    let refused = room.run(["trust", room.root().to_str().unwrap()]).env("CLAUDECODE", "1").exits(4);
    assert!(refused.err.contains("only a person"), "{}", refused.err);
    assert!(runs(&room).is_empty());
    trust(&room);
    dispatch(&room, []).succeeds();
}

#[test]
fn an_agent_has_no_terminal_to_ask_or_to_write_to() {
    let script = "if (: < /dev/tty) 2>/dev/null; then echo a terminal; else echo none; fi";
    let room = staffed(&["worker"], &shell("worker", script, ""));
    room.send("alice", "worker", "x");
    let run = format!(
        "script -qec '{} --root {} dispatch' /dev/null",
        env!("CARGO_BIN_EXE_postroom"),
        room.root().display()
    );
    let ran = std::process::Command::new("sh")
        .args(["-c", &run])
        .env("HOME", room.around().join("home"))
        .stdin(std::process::Stdio::null())
        .output();
    match ran {
        Ok(output) if output.status.success() => assert_eq!(inbox(&room, "alice"), ["none\n"]),
        _ => crate::support::until::skip(
            "an_agent_has_no_terminal_to_ask_or_to_write_to",
            "script is not installed",
        ),
    }
}

#[test]
fn a_process_that_threw_its_mark_and_its_parent_away_ends_with_its_run() {
    let script = "env -i setsid sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 1000' >/dev/null 2>&1 </dev/null & \
                  until [ -e pid ]; do :; done; echo done";
    let room = staffed(&["worker"], &shell("worker", script, "cwd = \"..\""));
    room.send("alice", "worker", "x");
    dispatch(&room, []).succeeds();
    let pid = std::fs::read_to_string(room.around().join("pid")).unwrap();
    assert!(!lives(&pid), "{pid}");
}

#[test]
fn a_program_that_left_its_group_is_ended_by_its_time_limit() {
    let perl = "$SIG{TERM} = \"IGNORE\"; setpgrp(0, getppid()) or die; sleep 1 while 1";
    if !std::path::Path::new("/usr/bin/perl").exists() {
        return crate::support::until::skip(
            "a_program_that_left_its_group_is_ended_by_its_time_limit",
            "perl is not installed",
        );
    }
    let script = format!("exec perl -e '{perl}'");
    let room = staffed(&["worker"], &shell("worker", &script, "time_limit = 1\nretries = 0"));
    room.send("alice", "worker", "x");
    dispatch(&room, []).exits(5);
    assert!(reason(&room).contains("time_limit"), "{}", reason(&room));
}

#[test]
fn retries_without_end_are_no_arithmetic_error() {
    let room = staffed(&["worker"], &shell("worker", "exit 1", "retries = 4294967295"));
    room.send("alice", "worker", "x");
    dispatch(&room, []).exits(5);
    assert_eq!((runs(&room)[0]["state"].as_str(), room.files("worker", "inbox").len()), (Some("again"), 1));
}

#[test]
fn an_answer_that_could_not_be_delivered_is_kept_and_its_agent_not_run_again() {
    let script = "echo ran >> ran; echo dear";
    let limits = "[limits]\nmailbox_messages = 1\n";
    let room = staffed(&["worker"], &format!("{}{limits}", shell("worker", script, "cwd = \"..\"")));
    room.send("alice", "worker", "x");
    room.send("worker", "alice", "the mailbox is full now");
    dispatch(&room, []).exits(5);
    assert!(reason(&room).contains("could not be delivered"), "{}", reason(&room));
    room.by("alice", ["read"]).succeeds();
    dispatch(&room, []).succeeds();
    assert_eq!(inbox(&room, "alice"), ["dear\n"]);
    assert_eq!(std::fs::read_to_string(room.around().join("ran")).unwrap(), "ran\n");
}

#[test]
fn a_program_that_never_says_its_version_does_not_keep_the_list_waiting() {
    let room = staffed(&["worker"], "[agents.worker]\npreset = \"claude\"\n");
    program(&room, "claude", "trap '' TERM; (trap '' TERM; sleep 1000) & while :; do sleep 1; done");
    let listed = with_path(&room, room.run(["agents"])).succeeds().out;
    assert!(listed.starts_with("worker claude edit claude there"), "{listed}");
}

#[test]
fn a_program_that_cannot_be_executed_is_missing() {
    let settings =
        format!("[agents.worker]\npreset = \"command\"\ncommand = [\"./tool\"]\ncwd = \"..\"\n{AT_ONCE}");
    let room = staffed(&["worker"], &settings);
    std::fs::write(room.around().join("tool"), "").unwrap();
    assert!(with_path(&room, room.run(["agents"])).exits(5).out.contains(" missing"));
    std::fs::remove_file(room.around().join("tool")).unwrap();
    symlink("/bin/sh", room.around().join("tool")).unwrap();
    assert!(with_path(&room, room.run(["agents"])).succeeds().out.contains(" there"));
}

#[test]
fn a_pipe_called_like_the_settings_is_refused_and_not_waited_for() {
    let room = staffed(&["worker"], "");
    let project = room.around().join("project");
    std::fs::create_dir(&project).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, project.join("postroom.toml"), 0o600.into()).unwrap();
    let told = room.run(["agents"]).within(&project).exits(4);
    assert!(told.err.contains("is not a file"), "{}", told.err);
}

#[test]
fn a_span_that_is_none_is_told_in_words() {
    let room = staffed(&["worker"], "");
    for (value, wanted) in [("-5", "not negative"), ("true", "a number of seconds, or a text")] {
        write_settings(&room, &format!("[agents.worker]\npreset = \"claude\"\ntime_limit = {value}\n"));
        let told = dispatch(&room, []).exits(4);
        assert!(told.err.contains(wanted) && told.err.contains("line 3"), "{}", told.err);
    }
    settle(&room, "");
}

#[test]
fn a_watch_goes_on_when_its_program_file_was_replaced() {
    let room = staffed(&["worker"], &shell("worker", "echo fine", ""));
    let copy = room.around().join("postroom");
    std::fs::copy(env!("CARGO_BIN_EXE_postroom"), &copy).unwrap();
    let mut watch = std::process::Command::new(&copy)
        .args(["--root", room.root().to_str().unwrap(), "dispatch", "--watch"])
        .env_clear()
        .env("HOME", room.around().join("home"))
        .env("PATH", "/usr/bin:/bin")
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let open = room.root().join(".dispatch/open");
    until("the watch stands", || open.is_dir());
    std::fs::remove_file(&copy).unwrap();
    room.send("alice", "worker", "x");
    until("it is answered", || !room.files("alice", "inbox").is_empty());
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert_eq!(inbox(&room, "alice"), ["fine\n"]);
}

#[test]
fn links_among_the_agents_of_a_tree_are_no_agents_and_keep_nobody_else_waiting() {
    let room = staffed(&["worker"], &shell("worker", "echo fine", ""));
    let project = room.around().join("site");
    std::fs::create_dir(&project).unwrap();
    room.run(["setup", "--tree", project.to_str().unwrap(), "explore"]).succeeds();
    let agents = project.join(".claude/agents");
    std::fs::create_dir_all(&agents).unwrap();
    symlink("/etc/passwd", agents.join("explore.md")).unwrap();
    room.send("alice", "worker", "x");
    dispatch(&room, []).succeeds();
    assert!(!with_path(&room, room.run(["agents"])).ends().out.contains("explore"));
    room.send("alice", "explore", "find it");
    let told = dispatch(&room, []).exits(1);
    assert!(told.err.contains("mail waits for explore, for which no program is configured"), "{}", told.err);
    std::fs::remove_dir_all(&agents).unwrap();
    symlink("/etc", &agents).unwrap();
    assert!(!with_path(&room, room.run(["agents"])).ends().out.contains("explore"));
}

#[test]
fn a_sender_whose_mailbox_is_damaged_keeps_nobody_else_waiting() {
    let room = staffed(&["worker"], &shell("worker", "echo fine", "retries = 0"));
    room.run(["setup", "--child", "carol"]).succeeds();
    room.send("carol", "worker", "x");
    room.send("alice", "worker", "y");
    let inbox_of_carol = room.folder("carol", "inbox");
    std::fs::remove_dir(&inbox_of_carol).unwrap();
    std::fs::write(&inbox_of_carol, "").unwrap();
    dispatch(&room, []).ends();
    assert_eq!(inbox(&room, "alice"), ["fine\n"]);
    std::fs::remove_file(&inbox_of_carol).unwrap();
    std::fs::create_dir(&inbox_of_carol).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&inbox_of_carol, mode).unwrap();
    assert_eq!(room.files("worker", "failed").len(), 1);
}

#[test]
fn a_conversation_that_is_an_option_is_none() {
    let settings = format!("[agents.worker]\npreset = \"claude\"\nsession = true\n{AT_ONCE}");
    let room = staffed(&["worker"], &settings);
    let answer = r#"{"type":"result","result":"fine","session_id":"s-1"}"#;
    program(&room, "claude", &format!("echo \"$*\" >> \"$HOME/arguments\"; echo '{answer}'"));
    room.send("alice", "worker", "x");
    dispatch(&room, []).succeeds();
    let sessions = room.root().join(".dispatch/sessions");
    for entry in std::fs::read_dir(sessions).unwrap() {
        std::fs::write(entry.unwrap().path(), "--dangerously-skip-permissions").unwrap();
    }
    room.send("alice", "worker", "y");
    dispatch(&room, []).succeeds();
    let said = std::fs::read_to_string(room.around().join("home/arguments")).unwrap();
    assert!(!said.contains("dangerously") && said.lines().count() == 2, "{said}");
}
