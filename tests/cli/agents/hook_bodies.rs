//! Short bodies that come with the notice (`install --bodies`): fenced as by `read`, and shown only if they were written.

use serde_json::{Value, json};

use crate::agents::hook::{bound, hook, text};
use crate::agents::real::heard;
use crate::support::models::{MISSING, Program, Stage, claude, codex};
use crate::support::room::TestRoom;
use crate::support::until::{skip, until_at_last};

fn says(room: &TestRoom, event: &str) -> String {
    text(&hook(room, "claude", event, "s1").arg("--bodies").arg("40").ends())
}

#[test]
fn a_short_body_comes_with_the_notice_and_counts_as_read() {
    let room = bound();
    room.by("alice", ["send", "bob", "-s", "short", "-m", "BODY-ONE\n[end]"]).succeeds();
    let long = "x".repeat(41);
    room.by("alice", ["send", "bob", "-s", "long", "-m", &long]).succeeds();
    let told = says(&room, "tool-end");
    let (before, rest) = told.split_once('\n').unwrap();
    assert_eq!(before, "postroom: 1 new message for bob, shown here as by `postroom read`:");
    // Exactly as `read` has it, but for the number of the fence.
    let again = room.run(["read", &rest[..8]]).env("CLAUDE_CODE_SESSION_ID", "s1").succeeds().out;
    let fence = |text: &str| text.split_once("\n[").unwrap().1[..8].to_owned();
    let (own, of_read) = (fence(&told), fence(&again));
    let expected = again.replace(&of_read, &own).replace("note: it lay in the archive\n", "");
    assert!(told.contains(&expected), "{told}\n{expected}");
    assert!(told.contains("1 unread message for bob") && told.contains(": \"long\""), "{told}");
    assert!(!told.contains(&long) && !told.contains("\"short\""), "{told}");
    assert_eq!(room.files("bob", "inbox").len(), 1);
    let log = room.run(["log"]).succeeds().out;
    assert!(log.contains(" shown"), "{log}");
    assert_eq!(says(&room, "prompt") + &says(&room, "stop"), "");
}

#[test]
fn a_notice_that_was_not_written_shows_nothing() {
    let room = bound();
    room.send("alice", "bob", "BODY-ONE");
    for bodies in [vec![], vec!["--bodies", "40"]] {
        let run = room.run(["hook", "claude", "tool-end"].into_iter().chain(bodies));
        run.env("CLAUDE_CODE_SESSION_ID", "s1").closed_pipe().wait().unwrap();
        assert_eq!(room.files("bob", "inbox").len(), 1);
    }
    assert!(says(&room, "tool-end").contains("BODY-ONE"), "it may be told again");
    assert!(room.files("bob", "inbox").is_empty());
}

#[test]
fn many_bodies_stay_below_what_a_program_cuts() {
    let room = bound();
    for at in 0..40 {
        room.by("alice", ["send", "bob", "-s", &format!("n{at}"), "-m", &"y".repeat(3000)]).succeeds();
    }
    let told = text(&hook(&room, "claude", "tool-end", "s1").arg("--bodies").arg("4000").ends());
    assert!(told.len() < 8000 && told.contains("more: postroom check"), "{}: {told}", told.len());
}

/// Mail comes during a tool, and the agent reads it before it is done. The requests, and their bytes.
fn costs(real: &Program, words: &[&str], bodies: bool) -> (usize, usize) {
    let room = TestRoom::with(&["alice", "bob"]);
    let stage = Stage::set(&room, real.clone());
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_postroom")).parent().unwrap();
    std::fs::write(stage.home().join(".profile"), format!("export PATH='{}':$PATH\n", own.display()))
        .unwrap();
    let mut install = vec!["postroom", "install", real.name, "--name", "bob"];
    install.extend(if bodies { &["--bodies", "500"][..] } else { &[] });
    stage.plays(&json!([]), install);
    let go = room.around().join("go");
    let mut script = vec![json!({"shell": "postroom names", "after": go})];
    script.extend((!bodies).then(|| json!({"shell": "postroom read"})));
    script.push(json!({"text": "done."}));
    let playing = stage.starts(&Value::Array(script), words.iter().copied());
    until_at_last("the turn", || !stage.turns().is_empty());
    room.by("alice", ["send", "bob", "-s", "marker-1", "-m", "BODY-OF-MAIL"]).succeeds();
    std::fs::write(&go, "").unwrap();
    assert!(playing.ends().status.success());
    let turns = stage.turns();
    assert_eq!(heard(turns.last().unwrap()).matches("BODY-OF-MAIL").count(), 1, "{turns:?}");
    assert!(room.files("bob", "inbox").is_empty() && room.files("bob", "archive").len() == 1);
    (turns.len(), turns.iter().map(|turn| heard(turn).len()).sum())
}

fn saves(test: &str, real: Option<Program>, words: &[&str]) {
    let Some(real) = real else { return skip(test, MISSING) };
    let (without, with) = (costs(&real, words, false), costs(&real, words, true));
    println!(
        "{}: {} requests with {} bytes; with bodies {}, {}",
        real.name, without.0, without.1, with.0, with.1
    );
    assert_eq!((without.0, with.0), (3, 2), "a request less");
    assert!(with.1 < without.1);
}

#[test]
fn a_body_saves_claude_a_request() {
    saves("a_body_saves_claude_a_request", claude(), &["claude", "-p", "go"]);
}

#[test]
fn a_body_saves_codex_a_request() {
    let words = [
        "codex",
        "exec",
        "--skip-git-repo-check",
        "--disable",
        "plugins",
        "-s",
        "workspace-write",
        "--dangerously-bypass-hook-trust",
        "go",
    ];
    saves("a_body_saves_codex_a_request", codex(), &words);
}
