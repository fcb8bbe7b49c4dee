//! The real agent programs find the tools of `postroom mcp` and call them: what the models were asked shows it.

use serde_json::{Value, json};

use crate::support::models::{MISSING, Program, Stage, claude, codex, copilot, gemini, opencode};
use crate::support::room::TestRoom;
use crate::support::staffed::inbox;
use crate::support::until::skip;

/// A script in which the agent looks at its mail, reads it, and answers.
fn plays(
    test: &str,
    real: Option<Program>,
    spelled: &str,
    register: impl FnOnce(&Stage<'_>, &[String]) -> Vec<String>,
) {
    let Some(real) = real else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice", "worker"]);
    let id = room.send("alice", "worker", "the subject is marker-1\nand the body is marker-2");
    let stage = Stage::set(&room, real);
    let root = room.root().display().to_string();
    let server: Vec<String> = [env!("CARGO_BIN_EXE_postroom"), "--root", &root, "--as", "worker", "mcp"]
        .iter()
        .map(ToString::to_string)
        .collect();
    let words = register(&stage, &server);
    let script = json!([
        {"mcp": "postroom/check", "input": {}},
        {"mcp": "postroom/read", "input": {"id": id}},
        {"mcp": "postroom/reply", "input": {"id": id, "text": "all is well"}},
        {"text": "the last words"},
    ]);
    let out = stage.plays(&script, words.iter().map(String::as_str));
    assert!(out.contains("the last words"), "{out}");
    let turns = stage.turns();
    assert_eq!(turns.len(), 4, "{out}");
    let body = |turn: usize| turns[turn]["body"].to_string();
    assert!(body(0).contains(spelled), "{spelled} is not among what the model is told: {}", body(0));
    assert!(body(1).contains("marker-1") && !body(1).contains("marker-2"), "headers only: {}", body(1));
    assert!(body(2).contains("marker-2") && body(2).contains("(unverified)"), "{}", body(2));
    assert!(body(3).contains("queued"), "{}", body(3));
    assert_eq!(inbox(&room, "alice"), ["all is well"]);
    assert!(room.files("worker", "inbox").is_empty());
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

/// Adds to a file of settings that is JSON.
fn amend(stage: &Stage<'_>, file: &str, key: &str, value: Value) {
    let path = stage.home().join(file);
    let mut settings: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    settings[key] = value;
    std::fs::write(path, settings.to_string()).unwrap();
}

#[test]
fn claude_uses_the_tools() {
    plays("claude_uses_the_tools", claude(), "mcp__postroom__reply", |_, server| {
        let config =
            json!({"mcpServers": {"postroom": {"command": server[0], "args": server[1..]}}}).to_string();
        words(&[
            "claude",
            "-p",
            "go",
            "--mcp-config",
            &config,
            "--strict-mcp-config",
            "--allowedTools",
            "mcp__postroom",
        ])
    });
}

#[test]
fn codex_uses_the_tools_and_asks_nobody() {
    plays("codex_uses_the_tools_and_asks_nobody", codex(), "postroom", |_, server| {
        let command = format!("mcp_servers.postroom.command={:?}", server[0]);
        let arguments = format!("mcp_servers.postroom.args={:?}", &server[1..]);
        let list = [
            "codex",
            "exec",
            "--disable",
            "plugins",
            "--skip-git-repo-check",
            "-c",
            &command,
            "-c",
            &arguments,
            "go",
        ];
        words(&list)
    });
}

#[test]
fn gemini_uses_the_tools() {
    plays("gemini_uses_the_tools", gemini(), "mcp_postroom_reply", |stage, server| {
        let entry = json!({"postroom": {"command": server[0], "args": server[1..], "trust": true}});
        amend(stage, ".gemini/settings.json", "mcpServers", entry);
        words(&["gemini", "--skip-trust", "-m", "gemini-2.5-flash", "-p", "go"])
    });
}

#[test]
fn opencode_uses_the_tools() {
    plays("opencode_uses_the_tools", opencode(), "postroom_reply", |stage, server| {
        let entry = json!({"postroom": {"type": "local", "command": server, "enabled": true}});
        amend(stage, ".config/opencode/opencode.json", "mcp", entry);
        words(&["opencode", "run", "go"])
    });
}

#[test]
fn copilot_uses_the_tools() {
    plays("copilot_uses_the_tools", copilot(), "postroom-reply", |_, server| {
        let entry = json!({"type": "local", "command": server[0], "args": server[1..], "tools": ["*"]});
        let config = json!({"mcpServers": {"postroom": entry}}).to_string();
        words(&["copilot", "-p", "go", "--additional-mcp-config", &config, "--allow-tool", "postroom"])
    });
}
