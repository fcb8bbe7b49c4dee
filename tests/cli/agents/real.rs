//! The real programs after `postroom install`, without a terminal: a shell call of postroom needs no permission, mail that
//! comes while the agent works reaches its model as headers at the next end of a tool, also one that failed, and mail that is unread when it
//! would stop keeps it going; the tools of the server that was registered work. What reached the model is read off the
//! requests.

use serde_json::{Value, json};

use crate::agents::matrix::seen::added;
use crate::support::models::{MISSING, Program, Stage, claude, codex, copilot, gemini, opencode};
use crate::support::room::TestRoom;
use crate::support::staffed::inbox;
use crate::support::until::{skip, until_at_last};

/// A program at home: its sessions are bob.
pub(crate) fn at_home(room: &TestRoom, real: Program) -> Stage<'_> {
    equipped(room, real, "--user")
}

/// The same for one project, the directory around the room, which the person trusts.
pub(crate) fn in_project(room: &TestRoom, real: Program) -> Stage<'_> {
    let (home, here) = (room.around().join("home"), room.around().canonicalize().unwrap());
    let name = real.name;
    std::fs::create_dir_all(&home).unwrap();
    if name == "claude" {
        let trusted = json!({"projects": {here.to_str().unwrap(): {"hasTrustDialogAccepted": true}}});
        std::fs::write(home.join(".claude.json"), trusted.to_string()).unwrap();
    }
    let stage = equipped(room, real, "--project");
    if name == "codex" {
        let path = home.join(".codex/config.toml");
        let trusted = format!("\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n", here.display());
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + &trusted).unwrap();
    }
    stage
}

pub(crate) fn equipped<'a>(room: &'a TestRoom, real: Program, place: &str) -> Stage<'a> {
    let name = real.name;
    let stage = Stage::set(room, real);
    // A login shell has its own idea of the search path.
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_postroom")).parent().unwrap();
    std::fs::write(stage.home().join(".profile"), format!("export PATH='{}':$PATH\n", own.display()))
        .unwrap();
    stage.plays(&json!([]), ["postroom", "install", name, "--name", "bob", "--mcp", place]);
    stage
}

/// What one request told the model, all of its text.
pub(crate) fn heard(request: &Value) -> String {
    request["body"].to_string()
}

/// Plays the day of an agent; `words` start it, and `postroom` is how its shell calls postroom.
fn works(room: &TestRoom, stage: &Stage<'_>, words: &[&str], postroom: &str) -> Vec<Value> {
    let gates = ["gate-1", "gate-2", "gate-3"].map(|name| room.around().join(name));
    let script = json!([
        {"shell": format!("{postroom} send alice -s receipt <<'EOF'\nfrom the agent\nEOF")},
        {"shell": "postroom names", "after": gates[0]},
        {"shell": format!("{postroom} read 00000000"), "after": gates[1]},
        {"mcp": "postroom/names", "input": {}},
        {"text": "I am done.", "after": gates[2]},
        {"text": "Now I am."}
    ]);
    let mut child =
        stage.command(&script, words.iter().copied()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    for ((at, gate), turns) in gates.iter().enumerate().zip([2, 3, 5]) {
        // This turn is being answered: the agent is at work, and hears of the mail at the end of its next tool, or before
        // it stops.
        until_at_last("the turn", || stage.turns().len() >= turns || child.try_wait().unwrap().is_some());
        room.by("alice", ["send", "bob", "-s", &format!("marker-{at}"), "-m", "BODY-OF-MAIL"]).succeeds();
        std::fs::write(gate, "").unwrap();
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(inbox(room, "alice"), ["from the agent\n"], "no permission was asked for");
    stage.turns()
}

fn check(turns: &[Value], holds: bool) {
    let named = "this session has the mailbox bob";
    assert_eq!(heard(&turns[0]).matches(named).count(), 1, "{}", turns[0]);
    assert!(!heard(&turns[1]).contains("marker-0"));
    let told = "1 unread message for bob";
    assert_eq!(heard(&turns[2]).matches(told).count(), 1, "at the end of the tool: {}", turns[2]);
    assert!(heard(&turns[2]).contains("marker-0") && !heard(&turns[2]).contains("marker-1"));
    assert_eq!(heard(&turns[3]).matches(told).count(), 2, "at the end of a tool that failed: {}", turns[3]);
    assert!(heard(&turns[3]).contains("marker-1"));
    // Some show the model the text of an answer, some its values.
    let names = |turn: &Value| ["bob maildir", "alive"].map(|word| heard(turn).matches(word).count());
    assert_ne!(names(&turns[4]), names(&turns[3]), "the server that was registered answers: {}", turns[4]);
    assert_eq!(turns.len(), if holds { 6 } else { 5 }, "kept going once, and not again");
    if holds {
        assert_eq!(heard(&turns[5]).matches(told).count(), 3, "before it stopped: {}", turns[5]);
        assert!(heard(&turns[5]).contains("marker-2"), "{}", turns[5]);
    }
    let last = heard(turns.last().unwrap());
    assert!([0, 1].iter().all(|at| last.matches(&format!("marker-{at}")).count() == 1), "once: {last}");
    for (moment, at) in [("in a tool", 2), ("in a failing tool", 3), ("thinking", 5)] {
        let pair = turns.get(at - 1).zip(turns.get(at));
        println!("{moment}: {:?} bytes of notices", pair.map(|(before, after)| added(before, after)));
    }
    assert!(turns.iter().all(|turn| !heard(turn).contains("BODY-OF-MAIL")), "never a body");
}

/// The person's word for the hooks, given for one run; nothing of it is written down.
const CODEX: [&str; 9] = [
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

#[test]
fn claude_hears_of_its_mail() {
    let Some(real) = claude() else { return skip("claude_hears_of_its_mail", MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let stage = at_home(&room, real);
    check(&works(&room, &stage, &["claude", "-p", "go"], "postroom"), true);
}

#[test]
fn claude_hears_of_its_mail_in_a_project() {
    let Some(real) = claude() else { return skip("claude_hears_of_its_mail_in_a_project", MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let stage = in_project(&room, real);
    check(&works(&room, &stage, &["claude", "-p", "go"], "postroom"), true);
}

#[test]
fn codex_hears_of_its_mail() {
    let Some(real) = codex() else { return skip("codex_hears_of_its_mail", MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let stage = at_home(&room, real);
    let looked = stage.command(&json!([]), ["postroom", "install", "codex", "--check"]).output().unwrap();
    let said = String::from_utf8_lossy(&looked.stdout).into_owned();
    assert!(!looked.status.success() && said.contains("5 of 5 hooks are not trusted yet"), "{said}");
    check(&works(&room, &stage, &CODEX, "postroom"), true);
}

#[test]
fn codex_hears_of_its_mail_in_a_project() {
    let Some(real) = codex() else { return skip("codex_hears_of_its_mail_in_a_project", MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let stage = in_project(&room, real);
    check(&works(&room, &stage, &CODEX, "postroom"), true);
}

#[test]
fn codex_in_its_sandbox_has_its_mail_in_the_room_of_the_repository() {
    let test = "codex_in_its_sandbox_has_its_mail_in_the_room_of_the_repository";
    let Some(real) = codex() else { return skip(test, MISSING) };
    let room = TestRoom::empty();
    let repository = room.around().canonicalize().unwrap().join("web");
    room.bash(&format!("git init -q '{}'", repository.display())).succeeds();
    let postroom = |words: &[&str]| room.bare(words.iter().copied()).within(&repository).succeeds().out;
    postroom(&["setup", "alice"]);
    postroom(&["setup", "bob"]);
    let asked = postroom(&["--as", "alice", "send", "bob", "-m", "what is 40 + 2?"]);
    let stage = Stage::set(&room, real);
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_postroom")).parent().unwrap();
    std::fs::write(stage.home().join(".profile"), format!("export PATH='{}':$PATH\n", own.display()))
        .unwrap();
    let at_home = |script: &Value, words: &[&str]| {
        let mut command = stage.command(script, words.iter().copied());
        let ended = command.env_remove("POSTROOM_ROOT").current_dir(&repository).output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
    };
    at_home(&json!([]), &["postroom", "install", "codex", "--name", "bob", "--user"]);
    // A line with more than one command is run in the sandbox, whatever is allowed outside of it.
    let id = asked.split(' ').nth(1).unwrap();
    let script = json!([
        {"shell": format!("true && postroom read {id}")},
        {"shell": format!("true && postroom reply {id} -m 'it is 42'")},
        {"shell": "true && cd / && postroom whoami"},
        {"shell": "true && touch $HOME/outside"},
        {"text": "I am done."}
    ]);
    // Everything here is in a temporary directory, which the sandbox leaves open if nobody closes it.
    let closed = ["exclude_slash_tmp=true", "exclude_tmpdir_env_var=true"]
        .map(|s| format!("sandbox_workspace_write.{s}"));
    let mut words = CODEX.to_vec();
    let last = words.pop();
    words.extend(closed.iter().flat_map(|setting| ["-c", setting]).chain(last));
    at_home(&script, &words);
    let told = postroom(&["--as", "alice", "check"]);
    assert!(told.contains(" bob") && told.contains("what is 40 + 2?"), "the answer is there: {told}");
    assert!(!stage.home().join("outside").exists(), "the sandbox was on");
    let heard = |turn: usize| heard(&stage.turns()[turn]);
    assert!(heard(1).contains("what is 40 + 2?"), "{}", heard(1));
    assert!(heard(3).contains("by: the binding of this agent session"), "{}", heard(3));
    assert!(heard(3).contains("room: web ("), "another directory is no other identity: {}", heard(3));
}

#[test]
fn copilot_hears_of_its_mail() {
    let Some(real) = copilot() else { return skip("copilot_hears_of_its_mail", MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let stage = at_home(&room, real);
    let words = ["copilot", "-p", "go", "--allow-tool", "shell(postroom:*)", "--allow-tool", "postroom"];
    let turns = works(&room, &stage, &words, "postroom");
    check(&turns, true);
    assert!(heard(&turns[0]).contains("<name>mailbox</name>"), "the skill is listed: {}", turns[0]);
}

#[test]
fn copilot_hears_of_its_mail_in_a_project() {
    let Some(real) = copilot() else { return skip("copilot_hears_of_its_mail_in_a_project", MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let stage = in_project(&room, real);
    check(&works(&room, &stage, &["copilot", "-p", "go", "--trust-folder"], "postroom"), true);
}

#[test]
fn gemini_hears_of_its_mail() {
    let Some(real) = gemini() else { return skip("gemini_hears_of_its_mail", MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let stage = at_home(&room, real);
    let words = ["gemini", "--skip-trust", "-m", "gemini-2.5-flash", "-p", "go"];
    check(&works(&room, &stage, &words, "postroom"), true);
}

#[test]
fn opencode_hears_of_its_mail() {
    let Some(real) = opencode() else { return skip("opencode_hears_of_its_mail", MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let Some(stage) = opencode_at_home(&room, real) else {
        return skip("opencode_hears_of_its_mail", "its package for plugins is not installed");
    };
    // It ends before a plugin could keep it going; in a terminal the plugin wakes it.
    check(&works(&room, &stage, &["opencode", "run", "--model", "mock/m", "go"], "postroom"), false);
}

#[test]
fn opencode_knows_its_session_in_the_server_and_finds_the_skill_without_ripgrep() {
    let test = "opencode_knows_its_session_in_the_server_and_finds_the_skill_without_ripgrep";
    let Some(real) = opencode() else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let Some(stage) = opencode_at_home(&room, real) else {
        return skip(test, "its package for plugins is not installed");
    };
    room.by("alice", ["send", "bob", "-s", "marker-1", "-m", "x"]).succeeds();
    let skill = stage.home().join(".agents/skills/mailbox/SKILL.md");
    let script = json!([
        {"mcp": "postroom/check", "input": {}},
        {"tool": "read", "input": {"filePath": skill}},
        {"text": "I am done."}
    ]);
    stage.plays(&script, ["opencode", "run", "--model", "mock/m", "--command", "mailbox", "check"]);
    let turns = stage.turns();
    let last = |turn: &Value| turn["body"]["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(heard(&turns[0]).contains(skill.to_str().unwrap()), "the command names the file: {}", turns[0]);
    assert!(last(&turns[1]).contains("marker-1"), "the server knows who asks: {}", last(&turns[1]));
    assert!(!heard(&turns[1]).contains("postroom_session"), "the model does not see how: {}", turns[1]);
    assert!(last(&turns[2]).contains("name: mailbox"), "without a question: {}", last(&turns[2]));
}

#[test]
fn opencode_hears_of_its_mail_in_a_project() {
    let Some(real) = opencode() else { return skip("opencode_hears_of_its_mail_in_a_project", MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    if !has_plugins(&room, ".opencode") || !has_plugins(&room, "home/.config/opencode") {
        return skip("opencode_hears_of_its_mail_in_a_project", "its package for plugins is not installed");
    }
    let stage = in_project(&room, real);
    check(&works(&room, &stage, &["opencode", "run", "--model", "mock/m", "go"], "postroom"), false);
}

pub(crate) fn opencode_at_home<'a>(room: &'a TestRoom, real: Program) -> Option<Stage<'a>> {
    has_plugins(room, "home/.config/opencode").then(|| at_home(room, real))
}

/// OpenCode loads a package for its plugins from the registry, which a test without network must have beforehand.
pub(crate) fn has_plugins(room: &TestRoom, below: &str) -> bool {
    let package = crate::support::models::installed().with_file_name("opencode");
    if !package.join("node_modules/@opencode-ai/plugin").is_dir() {
        return false;
    }
    let config = room.around().join(below);
    std::fs::create_dir_all(&config).unwrap();
    std::os::unix::fs::symlink(package.join("node_modules"), config.join("node_modules")).unwrap();
    for name in ["package.json", "package-lock.json"] {
        std::fs::copy(package.join(name), config.join(name)).unwrap();
    }
    true
}
