//! The real programs after `postroom install`, without a terminal: a shell call of postroom needs no permission, mail that
//! comes while the agent works reaches its model as headers at the next end of a tool, and mail that is unread when it
//! would stop keeps it going. What reached the model is read off the requests.

use serde_json::{Value, json};

use crate::models::{MISSING, Program, Stage, claude, codex, gemini, opencode};
use crate::room::TestRoom;
use crate::staffed::inbox;
use crate::until::{skip, until};

/// A program at home: its sessions are bob.
pub(crate) fn at_home(room: &TestRoom, real: Program) -> Stage<'_> {
    let name = real.name;
    let stage = Stage::set(room, real);
    // A login shell has its own idea of the search path.
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_postroom")).parent().unwrap();
    std::fs::write(stage.home().join(".profile"), format!("export PATH='{}':$PATH\n", own.display()))
        .unwrap();
    stage.plays(&json!([]), ["postroom", "install", name, "--name", "bob"]);
    stage
}

/// What one request told the model, all of its text.
fn heard(request: &Value) -> String {
    request["body"].to_string()
}

/// Plays the day of an agent; `words` start it.
fn works(room: &TestRoom, stage: &Stage<'_>, words: &[&str], send: &str) -> Vec<Value> {
    let gate = room.around().join("gate");
    let script = json!([
        {"shell": format!("{send} alice -s receipt <<'EOF'\nfrom the agent\nEOF")},
        {"shell": "postroom names", "after": gate},
        {"text": "I am done."},
        {"text": "Now I am."}
    ]);
    let mut child =
        stage.command(&script, words.iter().copied()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    // The second turn is being answered: the agent is at work, and hears of this at the end of its next tool.
    until("the second turn", || stage.turns().len() >= 2 || child.try_wait().unwrap().is_some());
    room.by("alice", ["send", "bob", "-s", "marker-one", "-m", "BODY-OF-MAIL"]).succeeds();
    std::fs::write(&gate, "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(inbox(room, "alice"), ["from the agent\n"], "no permission was asked for");
    stage.turns()
}

fn check(turns: &[Value], holds: bool) {
    let named = "this session has the mailbox bob";
    assert!(heard(&turns[0]).contains(named), "{}", turns[0]);
    assert!(!heard(&turns[1]).contains("marker-one"));
    let told = "1 unread message for bob";
    assert_eq!(heard(&turns[2]).matches(told).count(), 1, "at the end of the tool: {}", turns[2]);
    assert!(heard(&turns[2]).contains("marker-one"));
    assert_eq!(turns.len(), if holds { 4 } else { 3 }, "kept going once, and not again");
    if holds {
        assert_eq!(heard(&turns[3]).matches(told).count(), 2, "before it stopped: {}", turns[3]);
    }
    assert!(turns.iter().all(|turn| !heard(turn).contains("BODY-OF-MAIL")), "never a body");
}

#[test]
fn claude_hears_of_its_mail() {
    let Some(real) = claude() else { return skip("claude_hears_of_its_mail", MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let stage = at_home(&room, real);
    check(&works(&room, &stage, &["claude", "-p", "go"], "postroom send"), true);
}

#[test]
fn codex_hears_of_its_mail() {
    let Some(real) = codex() else { return skip("codex_hears_of_its_mail", MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let stage = at_home(&room, real);
    let looked = stage.command(&json!([]), ["postroom", "install", "codex", "--check"]).output().unwrap();
    let said = String::from_utf8_lossy(&looked.stdout).into_owned();
    assert!(!looked.status.success() && said.contains("5 of 5 hooks are not trusted yet"), "{said}");
    // The person's word, given for one run; nothing of it is written down.
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
    check(&works(&room, &stage, &words, "postroom send"), true);
}

#[test]
fn gemini_hears_of_its_mail() {
    let Some(real) = gemini() else { return skip("gemini_hears_of_its_mail", MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let stage = at_home(&room, real);
    let words = ["gemini", "--skip-trust", "-m", "gemini-2.5-flash", "-p", "go"];
    check(&works(&room, &stage, &words, "postroom --as bob send"), true);
}

#[test]
fn opencode_hears_of_its_mail() {
    let Some(real) = opencode() else { return skip("opencode_hears_of_its_mail", MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let Some(stage) = opencode_at_home(&room, real) else {
        return skip("opencode_hears_of_its_mail", "its package for plugins is not installed");
    };
    // It ends before a plugin could keep it going; in a terminal the plugin wakes it.
    check(&works(&room, &stage, &["opencode", "run", "--model", "mock/m", "go"], "postroom send"), false);
}

/// OpenCode loads a package for its plugins from the registry, which a test without network must have beforehand.
pub(crate) fn opencode_at_home<'a>(room: &'a TestRoom, real: Program) -> Option<Stage<'a>> {
    let package = crate::models::installed().with_file_name("opencode");
    if !package.join("node_modules/@opencode-ai/plugin").is_dir() {
        return None;
    }
    let config = room.around().join("home/.config/opencode");
    std::fs::create_dir_all(&config).unwrap();
    std::os::unix::fs::symlink(package.join("node_modules"), config.join("node_modules")).unwrap();
    for name in ["package.json", "package-lock.json"] {
        std::fs::copy(package.join(name), config.join(name)).unwrap();
    }
    Some(at_home(room, real))
}
