//! The dispatcher starts the real programs: a message reaches the model, its words come back as the answer, and the next
//! message goes on with the same conversation.

use serde_json::json;

use crate::support::models::{MISSING, Program, Stage, claude, codex, copilot, gemini, opencode};
use crate::support::room::TestRoom;
use crate::support::staffed::{AT_ONCE, inbox, runs, staffed};
use crate::support::until::skip;

fn plays(test: &str, real: Option<Program>, settings: &str) {
    let Some(real) = real else { return skip(test, MISSING) };
    let settings =
        format!("[agents.worker]\npreset = \"{}\"\nsession = true\n{settings}\n{AT_ONCE}", real.name);
    let room = staffed(&["worker"], &settings);
    let stage = Stage::set(&room, real);
    room.send("alice", "worker", "This is marker-1.");
    dispatched(&room, &stage);
    assert_eq!(inbox(&room, "alice"), ["heard marker-1\n"], "{:?}", runs(&room));
    let session = runs(&room)[0]["session"].as_str().unwrap().to_owned();
    assert!(!session.is_empty(), "{:?}", runs(&room));
    room.send("alice", "worker", "And this is marker-2.");
    dispatched(&room, &stage);
    assert!(inbox(&room, "alice").contains(&"heard marker-1 marker-2\n".to_owned()), "{:?}", runs(&room));
    assert_eq!(runs(&room)[1]["session"].as_str(), Some(session.as_str()), "the conversation went on");
}

fn dispatched(room: &TestRoom, stage: &Stage<'_>) {
    let root = room.root().display().to_string();
    stage.plays(&json!([]), [env!("CARGO_BIN_EXE_postroom"), "--root", &root, "dispatch"]);
}

#[test]
fn claude_answers() {
    plays("claude_answers", claude(), "");
}

#[test]
fn codex_answers() {
    plays("codex_answers", codex(), "env = [\"MOCK_API_KEY\"]");
}

#[test]
fn gemini_answers() {
    plays("gemini_answers", gemini(), "model = \"gemini-2.5-flash\"");
}

#[test]
fn opencode_answers() {
    plays("opencode_answers", opencode(), "model = \"mock/m\"");
}

#[test]
fn copilot_answers() {
    plays("copilot_answers", copilot(), "");
}
