//! The stand-in for the models plays its script with each of the real programs: a command is run by the shell tool that
//! the program has, once a file is there; what it printed reaches the model, which uses it; and the last words come out.

use serde_json::json;

use crate::support::models::{MISSING, Program, Stage, claude, codex, copilot, gemini, opencode};
use crate::support::room::TestRoom;
use crate::support::until::{skip, until_at_last};

fn plays(test: &str, real: Option<Program>, words: &[&str]) {
    let Some(real) = real else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice"]);
    let stage = Stage::set(&room, real);
    let go = room.around().join("go");
    let script = json!([
        {"shell": "expr 40 + 2 | sed 's/^/sum: /'"},
        {"shell": "echo {{sum: }} >ran", "after": go},
        {"text": "these are the last words"},
    ]);
    let playing = stage.starts(&script, words.iter().copied());
    until_at_last("the second turn", || stage.turns().len() == 2);
    assert!(!room.around().join("ran").exists());
    std::fs::write(&go, "").unwrap();
    let ended = playing.ends();
    let out = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success() && out.contains("these are the last words"), "{out}");
    assert_eq!(std::fs::read_to_string(room.around().join("ran")).unwrap(), "42\n");
    let turns = stage.turns();
    assert_eq!(turns.len(), 3, "{turns:?}");
    assert!(turns[1]["body"].to_string().contains("42"), "{}", turns[1]["body"]);
}

#[test]
fn claude_plays() {
    plays("claude_plays", claude(), &["claude", "-p", "go", "--allowedTools", "Bash"]);
}

#[test]
fn codex_plays() {
    let words =
        ["codex", "exec", "--disable", "plugins", "--skip-git-repo-check", "-s", "danger-full-access", "go"];
    plays("codex_plays", codex(), &words);
}

#[test]
fn gemini_plays() {
    let words = ["gemini", "--skip-trust", "-y", "-m", "gemini-2.5-flash", "-p", "go"];
    plays("gemini_plays", gemini(), &words);
}

#[test]
fn opencode_plays() {
    plays("opencode_plays", opencode(), &["opencode", "run", "go"]);
}

#[test]
fn copilot_plays() {
    plays("copilot_plays", copilot(), &["copilot", "-p", "go", "--allow-all-tools"]);
}
