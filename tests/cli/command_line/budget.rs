//! Budgets: what an agent pays for, in bytes. Names have five letters and subjects twenty, so that a figure says
//! something about the form alone. The skill has its own test, beside its text.

use std::process::Command;

use super::help::verbs;
use crate::support::room::{Ran, TestRoom};

const SUBJECT: &str = "twenty bytes of text";

/// A room with two agents that need no `--as`.
fn agents() -> TestRoom {
    let room = TestRoom::empty();
    for name in ["alice", "carol"] {
        by(&room, name, &["setup", name]);
    }
    room
}

/// A command in the session of an agent, in the room of its repository.
fn by(room: &TestRoom, name: &str, arguments: &[&str]) -> Ran {
    let run = room.bare(arguments.iter().copied()).env("CLAUDE_CODE_SESSION_ID", format!("session-{name}"));
    run.env("POSTROOM_ROOT", room.root()).succeeds()
}

fn bytes(ran: &Ran) -> usize {
    ran.out.len() + ran.err.len()
}

#[test]
fn a_look_at_ten_messages() {
    let room = agents();
    for _ in 0..10 {
        by(&room, "alice", &["send", "carol", "-s", SUBJECT, "-m", "text"]);
    }
    let ran = by(&room, "carol", &["check"]);
    assert_eq!(ran.out.lines().count(), 10);
    assert!(bytes(&ran) <= 420, "{} bytes:\n{}", bytes(&ran), ran.out);
}

#[test]
fn what_read_adds_to_a_body() {
    let room = agents();
    for body in ["a short text", "a text with a last line\n"] {
        by(&room, "alice", &["send", "carol", "-s", SUBJECT, "-m", body]);
        let ran = by(&room, "carol", &["read"]);
        let added = bytes(&ran) - body.len();
        assert!(added <= 110, "{added} bytes:\n{}", ran.out);
        assert!(ran.out.contains("(unverified)") && ran.out.contains(body), "the fence and the truth stay");
    }
}

#[test]
fn a_whole_exchange() {
    let room = agents();
    let mut all = vec![by(&room, "alice", &["send", "carol", "-s", SUBJECT, "-m", "Please review it."])];
    all.push(by(&room, "carol", &["check"]));
    let id = all[1].out[..8].to_owned();
    all.push(by(&room, "carol", &["read", &id]));
    all.push(by(&room, "carol", &["reply", &id, "-m", "It is fine."]));
    all.push(by(&room, "alice", &["wait"]));
    all.push(by(&room, "alice", &["read"]));
    let sum: usize = all.iter().map(bytes).sum();
    assert!(all[5].out.contains("It is fine."), "{all:?}");
    assert!(sum <= 900, "{sum} bytes: {all:?}");
}

/// Every command with verbs of its own, and those.
fn inner(help: &str) -> Vec<String> {
    let Some((_, list)) = help.split_once("\nCommands:\n") else { return vec![] };
    let lines = list.lines().take_while(|line| line.starts_with("  "));
    lines
        .filter_map(|line| line.split_whitespace().next())
        .filter(|w| *w != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_help_of_each_verb() {
    let room = TestRoom::empty();
    let help = |words: &[&str]| room.bare(["help"].into_iter().chain(words.iter().copied())).succeeds().out;
    let mut count = 0;
    for verb in verbs() {
        let own = help(&[&verb]);
        let inside = inner(&own).into_iter().map(|word| (format!("{verb} {word}"), help(&[&verb, &word])));
        for (name, text) in [(verb.clone(), own.clone())].into_iter().chain(inside) {
            assert!(text.len() <= 1200, "help {name}: {} bytes\n{text}", text.len());
            assert!(text.ends_with("(`postroom help all`)\n"), "{name}: {text}");
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
    // What is asked for behind the verb is the same, and a terminal gets columns.
    let asked = room.bare(["workflow", "run", "--help"]).succeeds().out;
    assert_eq!(asked, help(&["workflow", "run"]));
    if Command::new("script").arg("--version").output().is_ok() {
        let shown = super::terminal::on_terminal(&room, 100, "help send", &super::terminal::PLAIN);
        assert!(shown.contains("      --channel <CHANNEL>            The"), "{shown}");
    }
}
