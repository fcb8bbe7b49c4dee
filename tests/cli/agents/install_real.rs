//! What the real programs see of an installation, and what they do not load.

use serde_json::json;

use crate::agents::real::{equipped, opencode_at_home};
use crate::support::models::{MISSING, Program, Stage, claude, codex, copilot, gemini, opencode};
use crate::support::picture::{Tree, tree};
use crate::support::room::TestRoom;
use crate::support::until::skip;

/// Installs, and looks again: all that was installed is seen.
fn is_seen(real: Option<Program>, test: &str, title: &str, is_good: bool) {
    let Some(real) = real else { return skip(test, MISSING) };
    let name = real.name;
    let room = TestRoom::with(&["alice"]);
    let stage = match name {
        "opencode" => match opencode_at_home(&room, real) {
            Some(stage) => stage,
            None => return skip(test, "its package for plugins is not installed"),
        },
        _ => equipped(&room, real, "--user"),
    };
    assert!(room.run(["names"]).succeeds().out.contains("bob"), "the mailbox was made");
    let looked = stage.command(&json!([]), ["postroom", "install", "--check"]).output().unwrap();
    let said = String::from_utf8_lossy(&looked.stdout).into_owned();
    assert!(said.contains(&format!("{name} user current")), "{said}");
    assert!(said.contains(&format!("{title} sees: hooks, skill, MCP server\n")), "{said}");
    assert_eq!(looked.status.success(), is_good, "{said}");
}

#[test]
fn claude_sees_all_of_it() {
    is_seen(claude(), "claude_sees_all_of_it", "Claude Code 2.1.325", true);
}

#[test]
fn codex_sees_all_of_it() {
    // Its hooks are seen, and wait for the person's trust.
    is_seen(codex(), "codex_sees_all_of_it", "Codex 0.166.0", false);
}

#[test]
fn gemini_sees_all_of_it() {
    is_seen(gemini(), "gemini_sees_all_of_it", "Gemini CLI 0.61.0", true);
}

/// Gemini CLI ends while it writes its list of projects, so that each question for its version left two files behind.
#[test]
fn gemini_keeps_nothing_when_it_is_asked_for_its_version() {
    let test = "gemini_keeps_nothing_when_it_is_asked_for_its_version";
    let Some(real) = gemini() else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice"]);
    let stage = Stage::set(&room, real);
    let ran = stage.command(&json!([]), ["postroom", "install", "gemini", "--dry-run"]).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    let kept = std::fs::read_dir(stage.home().join(".gemini")).into_iter().flatten();
    let names: Vec<_> = kept.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!names.iter().any(|name| name.ends_with(".tmp")), "{names:?}");
}

#[test]
fn opencode_sees_all_of_it() {
    is_seen(opencode(), "opencode_sees_all_of_it", "OpenCode 1.18.33", true);
}

#[test]
fn copilot_sees_all_of_it() {
    is_seen(copilot(), "copilot_sees_all_of_it", "Copilot CLI 1.0.102", true);
}

/// What is below these directories of a home.
fn pictures(stage: &Stage<'_>, below: &[&str]) -> Vec<Tree> {
    let there = below.iter().map(|name| stage.home().join(name)).filter(|path| path.exists());
    there.map(|path| tree(&path)).collect()
}

/// Settings that its program does not load are refused in its own words, or with the line, and nothing is changed.
fn is_refused(real: Option<Program>, test: &str, path: &str, text: &str, told: &str) {
    let Some(real) = real else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice"]);
    let name = real.name;
    let stage = Stage::set(&room, real);
    let file = stage.home().join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, text).unwrap();
    let ran = stage.command(&json!([]), ["postroom", "install", name]).output().unwrap();
    let err = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(4), "{err}");
    assert!(err.contains(path) && err.contains(told), "{err}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    assert_eq!(pictures(&stage, &[".agents", ".claude/skills", ".local/state/postroom"]), Vec::<Tree>::new());
}

#[test]
fn claude_does_not_load_what_is_refused() {
    let test = "claude_does_not_load_what_is_refused";
    is_refused(claude(), test, ".claude/settings.json", "{\n  \"a\": 1,\n}\n", "line 2");
    // The program agrees.
    let Some(real) = claude() else { return };
    let room = TestRoom::with(&["alice"]);
    let stage = Stage::set(&room, real);
    std::fs::create_dir_all(stage.home().join(".claude")).unwrap();
    std::fs::write(stage.home().join(".claude/settings.json"), "{} // fine?\n").unwrap();
    let doctor = stage.plays(&json!([]), ["claude", "doctor"]);
    assert!(doctor.contains(".claude/settings.json: Invalid or malformed JSON"), "{doctor}");
}

#[test]
fn codex_does_not_load_what_is_refused() {
    let text = "model = 3\n";
    is_refused(
        codex(),
        "codex_does_not_load_what_is_refused",
        ".codex/config.toml",
        text,
        "Codex does not load",
    );
}

#[test]
fn gemini_does_not_load_what_is_refused() {
    let (path, text) = (".gemini/settings.json", "{\n  \"a\": 1,\n}\n");
    is_refused(gemini(), "gemini_does_not_load_what_is_refused", path, text, "line 2");
}

#[test]
fn opencode_does_not_load_what_is_refused() {
    let (path, text) = (".config/opencode/opencode.json", "{ // mine\n  \"model\": 3,\n}\n");
    is_refused(opencode(), "opencode_does_not_load_what_is_refused", path, text, "OpenCode does not load");
}
