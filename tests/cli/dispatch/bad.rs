//! What can be wrong with an agent: each ends as a failed attempt or a refusal, with a reason that a person can act on.

use std::time::{Duration, Instant};

use crate::support::room::TestRoom;
use crate::support::staffed::{
    AT_ONCE, dispatch, inbox, reason, runs, settle, shell, staffed, with_path, write_settings,
};

/// The reason for which a message to an agent that is this line of shell is given up.
fn given_up(script: &str, more: &str) -> (TestRoom, String) {
    let room = staffed(&["worker"], &shell("worker", script, &format!("retries = 0\n{more}")));
    room.send("alice", "worker", "x");
    dispatch(&room, []).exits(5);
    let why = reason(&room);
    assert_eq!(runs(&room)[0]["state"], "failed");
    assert_eq!((room.files("worker", "failed").len(), room.files("alice", "inbox").len()), (1, 1));
    (room, why)
}

#[test]
fn a_program_that_is_missing() {
    let room = staffed(&["worker"], "[agents.worker]\npreset = \"codex\"\nretries = 0\n");
    room.send("alice", "worker", "x");
    dispatch(&room, []).exits(5);
    let wanted = "the program `codex` is not there; install it, or set `command` in [agents.worker]";
    assert_eq!(reason(&room), wanted);
    assert!(inbox(&room, "alice")[0].contains(wanted));
}

#[test]
fn a_directory_that_is_missing() {
    let (_room, why) = given_up("echo x", "cwd = \"nowhere\"");
    assert!(why.contains("nowhere is not there; set `cwd` in [agents.worker]"), "{why}");
}

#[test]
fn no_agent_and_no_mailbox() {
    let room = staffed(&["worker"], "");
    let told = dispatch(&room, []).exits(3);
    assert!(
        told.err.contains("no agent can be started") && told.err.contains("postroom help dispatch  # how"),
        "{}",
        told.err
    );
    settle(&room, "[agents.ghost]\npreset = \"claude\"\n");
    let told = dispatch(&room, []).exits(3);
    assert!(told.err.contains("the agent `ghost` has no mailbox\n  postroom "), "{}", told.err);
    // It is configured, but a second error said how to configure one.
    assert!(!told.err.contains("help dispatch"), "{}", told.err);
}

#[test]
fn settings_that_are_wrong_are_told_with_line_and_column() {
    let room = staffed(&["worker"], "");
    for (settings, wanted) in [
        ("[agents.worker]\npreset = \"claude\"\ncolour = 1\n", "line 3, column 1"),
        ("[agents.worker]\npreset = \"claude\"\naccess = \"root\"\n", "line 3, column 10"),
        ("[agents.worker]\npreset = \"claude\"\ntime_limit = \"long\"\n", "line 3, column 14"),
    ] {
        write_settings(&room, settings);
        let refused = room.run(["trust"]).arg(room.root()).by_person().with(4);
        assert!(refused.err.contains(wanted), "{settings}: {refused:?}");
        let told = dispatch(&room, []).exits(4);
        assert!(told.err.contains(wanted), "{settings}: {}", told.err);
    }
    for (settings, wanted) in [
        ("[agents.worker]\npreset = \"clod\"\n", "`preset` is `clod`, not one of claude, codex, gemini"),
        ("[agents.worker]\npreset = \"command\"\n", "`command` is needed"),
    ] {
        settle(&room, settings);
        let told = dispatch(&room, []).exits(4);
        assert!(told.err.contains(wanted), "{settings}: {}", told.err);
    }
    settle(&room, "");
}

#[test]
fn a_program_that_fails_is_told_with_its_last_lines() {
    let (room, why) = given_up("seq 1 50 >&2; exit 7", "");
    assert!(why.starts_with("it exited with 7; it ended with:\n39\n") && why.ends_with("\n50"), "{why}");
    assert!(inbox(&room, "alice")[0].contains("Reason: it exited with 7"));
}

#[test]
fn a_program_that_says_nothing() {
    assert_eq!(given_up("exit 0", "").1, "it ended without an answer");
    assert_eq!(given_up("exec >&- 2>&-; exit 0", "").1, "it ended without an answer");
    assert_eq!(given_up("kill -9 $$", "").1, "it was ended by signal 9");
}

#[test]
fn a_program_that_floods_its_output() {
    let room = staffed(&["worker"], &shell("worker", "head -c 100000000 /dev/zero | tr '\\0' x", ""));
    room.send("alice", "worker", "x");
    dispatch(&room, []).succeeds();
    let answer = inbox(&room, "alice").pop().unwrap();
    assert!(answer.len() <= 1024 * 1024 && answer.contains("[cut: postroom runs "), "{}", answer.len());
}

#[test]
fn a_program_that_takes_too_long_and_does_not_listen() {
    let start = Instant::now();
    let script = "trap '' TERM; echo begun; while :; do sleep 0.1; done";
    let (_room, why) = given_up(script, "time_limit = \"1s\"");
    assert!(why.starts_with("it took longer than its `time_limit` of 1 s; it ended with:\nbegun"), "{why}");
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_program_that_forks_away() {
    let (room, why) =
        given_up("setsid sh -c 'echo $$ > pid; sleep 1000' & sleep 0.3; exit 0", "cwd = \"..\"");
    assert_eq!(why, "it ended without an answer");
    let pid = std::fs::read_to_string(room.around().join("pid")).unwrap();
    let state = std::fs::read_to_string(format!("/proc/{}/environ", pid.trim())).unwrap_or_default();
    assert!(!state.contains("POSTROOM_RUN"), "what forked away lives on");
}

#[test]
fn a_program_that_asks_a_question_gets_no_answer() {
    let script = "cat >/dev/null; echo 'Proceed?' >&2; read answer || exit 5";
    let (_room, why) = given_up(script, "time_limit = \"20s\"");
    assert!(why.starts_with("it exited with 5; it ended with:\nProceed?"), "{why}");
}

#[test]
fn what_a_repository_would_run_needs_a_word_first() {
    let room = staffed(&["worker"], "");
    let project = room.around().join("project");
    std::fs::create_dir(&project).unwrap();
    let file = project.join("postroom.toml");
    std::fs::write(&file, shell("worker", "echo x", "")).unwrap();
    let go = |arguments: &[&str]| with_path(&room, room.run(arguments.iter().copied())).within(&project);
    room.send("alice", "worker", "x");
    let told = go(&["dispatch"]).exits(3);
    assert!(told.err.contains("is left out until you have looked at it\n  postroom trust "), "{}", told.err);
    assert_eq!(told.err.matches("postroom trust").count(), 1, "once: {}", told.err);
    assert!(go(&["agents"]).exits(1).err.contains("postroom trust"));
    go(&["trust"]).by_person().with(0);
    go(&["dispatch"]).succeeds();
    // Changed, it needs the word again.
    std::fs::write(&file, shell("worker", "echo something else", "")).unwrap();
    room.send("alice", "worker", "y");
    assert!(go(&["dispatch"]).exits(3).err.contains("postroom trust"));
    assert_eq!(runs(&room).len(), 1);
    go(&["trust"]).by_person().with(0);
    go(&["dispatch"]).succeeds();
    go(&["trust", "--revoke"]).by_person().with(0);
    go(&["dispatch"]).exits(3);
}

#[test]
fn a_watch_does_not_run_what_was_changed_under_it() {
    let room = staffed(&["worker"], "");
    let project = room.around().join("project");
    std::fs::create_dir(&project).unwrap();
    let file = project.join("postroom.toml");
    std::fs::write(&file, shell("worker", "echo x", "")).unwrap();
    with_path(&room, room.run(["trust"])).within(&project).by_person().with(0);
    let mut watch = dispatch(&room, ["--watch"]).within(&project).start();
    crate::support::until::until_watching(&watch);
    std::fs::write(&file, shell("worker", "touch pwned", "")).unwrap();
    room.send("alice", "worker", "x");
    let mut told = String::new();
    let mut errors = std::io::BufReader::new(watch.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut errors, &mut told).unwrap();
    assert!(told.ends_with("is left out until you have looked at it\n"), "{told}");
    std::io::BufRead::read_line(&mut errors, &mut told).unwrap();
    assert!(told.contains("\n  postroom trust "), "a line that can be pasted: {told}");
    // Settings are read again for a new mailbox too; the same was then told again.
    room.run(["setup", "--child", "other"]).succeeds();
    let more =
        format!("{}{}", shell("worker", "touch pwned", ""), shell("other", "x", "").replace(AT_ONCE, ""));
    std::fs::write(&file, more).unwrap();
    let mut next = String::new();
    std::io::BufRead::read_line(&mut errors, &mut next).unwrap();
    assert!(next.contains("the agents `other`, `worker` of "), "{next}");
    watch.kill().unwrap();
    let said = String::from_utf8(watch.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(said.matches("settings read again").count(), 1, "only the first took an agent away: {said}");
    assert!(runs(&room).is_empty() && !project.join("pwned").exists());
    assert_eq!(room.files("worker", "inbox").len(), 1);
}

#[test]
fn the_agents_of_a_tree_need_a_word_too() {
    let room = staffed(&[], "");
    let project = room.around().join("project");
    std::fs::create_dir_all(project.join(".claude/agents")).unwrap();
    std::fs::write(project.join(".claude/agents/explore.md"), "---\nname: explore\n---\nLook around.\n")
        .unwrap();
    room.run(["setup", "explore", "--tree"]).arg(&project).succeeds();
    crate::support::staffed::program(
        &room,
        "claude",
        r#"pwd > "$HOME/pwd"; echo '{"type":"result","result":"seen"}'"#,
    );
    let go = |arguments: &[&str]| with_path(&room, room.run(arguments.iter().copied())).within(&project);
    room.send("alice", "explore", "x");
    assert!(go(&["dispatch"]).exits(3).err.contains("postroom trust"));
    go(&["trust"]).by_person().with(0);
    assert!(go(&["agents"]).ends().out.starts_with("explore claude edit claude "));
    go(&["dispatch"]).succeeds();
    assert_eq!(inbox(&room, "alice"), ["seen\n"]);
    let pwd = std::fs::read_to_string(room.around().join("home/pwd")).unwrap();
    assert_eq!(pwd.trim(), project.canonicalize().unwrap().display().to_string(), "it works in its project");
}
