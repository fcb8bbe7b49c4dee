//! `demo`: the main job, played for real in a room that stays.

use crate::support::room::TestRoom;

#[test]
fn the_demo_plays_and_leaves_a_sound_room() {
    let room = TestRoom::empty();
    // Somebody's own identity and room must not leak into it.
    let played = room
        .bare(["demo"])
        .env("TMPDIR", room.around())
        .env("AGENT_MAILBOX_ID", "somebody")
        .env("CLAUDE_CODE_SESSION_ID", "s1")
        .env("POSTROOM_ROOT", "/nowhere")
        .succeeds();
    assert_eq!(played.err, "");
    for part in [
        "postroom setup alice",
        "wait --timeout",
        "queued ",
        "postroom --as bob read",
        "kill -9",
        "postroom names",
        "postroom log",
    ] {
        assert!(played.out.contains(part), "{part}: {}", played.out);
    }
    assert_eq!(played.out.matches('✓').count(), 2, "{}", played.out);
    assert!(!played.out.contains('\u{1b}'), "no colour without a terminal");

    let left = played.out.lines().find_map(|line| line.trim().strip_prefix("export POSTROOM_ROOT=")).unwrap();
    let left = left.split_whitespace().next().unwrap();
    assert!(std::path::Path::new(left).starts_with(room.around()), "{left}");
    let looked = room.bare(["doctor", "--strict", "--root", left]).succeeds();
    assert_eq!(looked.out, "");
    assert_eq!(room.bare(["--root", left, "--as", "bob", "check", "--count"]).succeeds().out, "1\n");
}

#[test]
fn the_commands_that_the_demo_shows_are_commands() {
    let room = TestRoom::empty();
    let played = room.bare(["demo"]).env("TMPDIR", room.around()).succeeds().out;
    let shown: Vec<&str> =
        played.lines().filter_map(|line| line.trim().strip_prefix("$ postroom ")).collect();
    assert!(shown.len() >= 9, "{shown:?}");
    let help = room.bare(["--help"]).succeeds().out;
    for command in shown {
        let verb = command
            .split_whitespace()
            .find(|word| !word.starts_with("--") && !["alice", "bob"].contains(word));
        assert!(crate::command_line::help::named(&help).contains(&verb.unwrap()), "{command}");
    }
}

#[test]
fn a_demo_whose_audience_leaves_ends_without_a_panic() {
    let room = TestRoom::empty();
    let output = room.bare(["demo"]).env("TMPDIR", room.around()).closed_pipe().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
}
