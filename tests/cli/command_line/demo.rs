//! `demo`: the whole job, played for real in a room that is then removed.

use crate::support::room::TestRoom;

fn left_in(dir: &std::path::Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).filter(|name| name.contains("demo")).collect()
}

#[test]
fn the_demo_plays_every_act_and_removes_its_room() {
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
        "wait --timeout",
        "bytes were read, then kill -9",
        "attempt 2",
        "project/carol/.mailbox/inbox/",
        "project/.claude/inboxes/explore/",
        "alice → coder done",
        "review: asked (round 2)",
        "completed 3/3",
    ] {
        assert!(played.out.contains(part), "{part}: {}", played.out);
    }
    assert_eq!(played.out.matches('✓').count(), 7, "{}", played.out);
    assert!(played.out.lines().last().unwrap().starts_with("Proven in "), "{}", played.out);
    assert!(!played.out.contains('\u{1b}'), "no colour without a terminal");
    assert!(left_in(room.around()).is_empty(), "{:?}", left_in(room.around()));
}

#[test]
fn a_kept_room_is_sound_and_can_be_looked_into() {
    let room = TestRoom::empty();
    let played = room.bare(["demo", "--keep"]).env("TMPDIR", room.around()).succeeds();
    let hint = played.out.lines().last().unwrap().strip_prefix("The room is kept: postroom ").unwrap();
    let words: Vec<&str> = hint.split(' ').collect();
    assert!(room.bare(words.clone()).succeeds().out.contains("carol workspace"));
    let looked = room.bare(["doctor", "--strict", "--root", words[1]]).succeeds();
    assert_eq!(looked.out, "");
    assert_eq!(room.bare(["--root", words[1], "--as", "bob", "check", "--count"]).succeeds().out, "1\n");
}

#[test]
fn the_commands_that_the_demo_shows_are_commands() {
    let room = TestRoom::empty();
    let played = room.bare(["demo"]).env("TMPDIR", room.around()).succeeds().out;
    let shown: Vec<&str> =
        played.lines().filter_map(|line| line.trim().strip_prefix("$ postroom ")).collect();
    assert!(shown.len() >= 20, "{shown:?}");
    let help = room.bare(["--help"]).succeeds().out;
    for command in shown {
        let people = ["alice", "bob", "carol", "explore"];
        let verb = command.split_whitespace().find(|word| !word.starts_with("--") && !people.contains(word));
        assert!(crate::command_line::help::named(&help).contains(&verb.unwrap()), "{command}");
    }
}

#[test]
fn a_demo_whose_audience_leaves_ends_without_a_panic() {
    let room = TestRoom::empty();
    let output = room.bare(["demo"]).env("TMPDIR", room.around()).closed_pipe().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
    assert!(left_in(room.around()).is_empty(), "{:?}", left_in(room.around()));
}
