//! `postroom claude` and the others with the real programs and no installation: the mailbox is bound, skill, server and
//! hooks reach the model, `postroom` needs no permission, an idle session is woken, and the settings in the home stay as
//! they were.

use std::path::PathBuf;
use std::process::Stdio;

use postroom::agents::install_files::Site;
use postroom::agents::programs::find;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::agents::idle::{
    Daemon, Terminal, greet_codex, has_tmux, is_woken, settle_claude, settle_codex, settle_copilot, trusts,
};
use crate::agents::launch::keepers;
use crate::agents::real::{has_plugins, heard};
use crate::agents::waker::wakers;
use crate::support::models::{MISSING, Program, Stage, claude, codex, copilot, gemini, opencode};
use crate::support::room::TestRoom;
use crate::support::staffed::inbox;
use crate::support::until::{skip, until_at_last};

/// What an installation would change in the home, as it is now. The port of the models and what a program itself adds to its
/// settings are left out.
fn settings(stage: &Stage<'_>, word: &str) -> Vec<(PathBuf, Option<String>)> {
    let program = find(word).unwrap();
    let site = Site {
        home: stage.home(),
        config: stage.home().join(program.config.1),
        moved: false,
        project: None,
        postroom: "postroom".to_owned(),
        roots: vec![],
        name: None,
        bodies: None,
        wakes: true,
        types: false,
        start: None,
        mcp: true,
        called: None,
    };
    let plain = |text: String| {
        let mut value: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        match value.as_object_mut() {
            Some(members) if word == "claude" => {
                members.get("mcpServers").cloned().unwrap_or_default().to_string()
            }
            Some(members) => {
                members.shift_remove("$schema");
                let text = value.to_string();
                text.replace(|c: char| c.is_ascii_digit(), "")
            }
            None => text.replace("{PORT}", "").replace(|c: char| c.is_ascii_digit(), ""),
        }
        .replace("{PORT}", "")
    };
    let files = site.install_files(program).into_iter().map(|piece| piece.path);
    let text = |path: &PathBuf| std::fs::read_to_string(path).ok().map(plain).filter(|text| text != "null");
    files.map(|path| (path.clone(), text(&path))).collect()
}

/// Plays a start without a terminal, to its end.
fn plays(test: &str, real: Option<Program>, words: &[&str]) {
    let Some(real) = real else { return skip(test, MISSING) };
    let (word, room) = (real.name, TestRoom::with(&["alice"]));
    let server = if word == "claude" { "plugin_postroom_postroom" } else { "postroom" };
    if word == "opencode" && !has_plugins(&room, "home/.config/opencode") {
        return skip(test, "its package for plugins is not installed");
    }
    let stage = Stage::set(&room, real);
    let gate = room.around().join("gate");
    let script = json!([
        {"shell": "postroom whoami"},
        {"shell": "postroom send alice -s receipt <<'EOF'\nfrom the agent\nEOF"},
        {"mcp": format!("{server}/names"), "input": {}},
        {"shell": "postroom names", "after": gate},
        {"text": "I am done."}
    ]);
    let before = settings(&stage, word);
    let line: Vec<&str> =
        ["postroom", word, "--as", "bob"].into_iter().chain(words.iter().copied()).collect();
    let mut command = stage.command(&script, line);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until_at_last("the fourth turn", || stage.turns().len() >= 4);
    room.by("alice", ["send", "bob", "-s", "marker-0", "-m", "BODY-OF-MAIL"]).succeeds();
    std::fs::write(&gate, "").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains(" is bob, room "), "{output:?}");
    assert_eq!(inbox(&room, "alice"), ["from the agent\n"], "no permission was asked for");
    let turns = stage.turns();
    assert_eq!(heard(&turns[0]).matches("this session has the mailbox bob").count(), 1, "{}", turns[0]);
    assert!(
        heard(&turns[0]).contains("Mail between agent sessions by the command"),
        "the skill: {}",
        turns[0]
    );
    assert!(heard(&turns[1]).contains("name: bob"), "{}", turns[1]);
    let names = |turn: &Value| ["bob maildir", "alive"].map(|word| heard(turn).matches(word).count());
    assert_ne!(names(&turns[3]), names(&turns[2]), "the server answers: {}", turns[3]);
    assert_eq!(heard(&turns[4]).matches("1 unread message for bob").count(), 1, "told once: {}", turns[4]);
    assert!(turns.iter().all(|turn| !heard(turn).contains("BODY-OF-MAIL")));
    until_at_last("the end of its keeper", || keepers(&room).is_empty());
    assert_eq!(settings(&stage, word), before, "nothing was installed");
}

#[test]
fn claude_is_started_with_a_mailbox() {
    plays("claude_is_started_with_a_mailbox", claude(), &["-p", "go"]);
}

#[test]
fn codex_is_started_with_a_mailbox() {
    let words = ["exec", "--skip-git-repo-check", "-s", "workspace-write", "go"];
    plays("codex_is_started_with_a_mailbox", codex(), &words);
}

#[test]
fn gemini_is_started_with_a_mailbox() {
    plays(
        "gemini_is_started_with_a_mailbox",
        gemini(),
        &["--skip-trust", "-m", "gemini-2.5-flash", "-p", "go"],
    );
}

#[test]
fn opencode_is_started_with_a_mailbox() {
    plays("opencode_is_started_with_a_mailbox", opencode(), &["run", "--model", "mock/m", "go"]);
}

#[test]
fn copilot_is_started_with_a_mailbox() {
    plays("copilot_is_started_with_a_mailbox", copilot(), &["-p", "go"]);
}

#[test]
fn a_started_claude_is_woken_and_its_conversation_is_resumed() {
    let test = "a_started_claude_is_woken_and_its_conversation_is_resumed";
    let (Some(real), true) = (claude(), has_tmux()) else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice"]);
    settle_claude(&room);
    let stage = Stage::set(&room, real);
    let terminal = Terminal::open(&room, &stage, "postroom claude --as bob 'hello there'");
    is_woken(&room, &stage, &terminal, " · done ");
    drop(terminal);
    let before = stage.turns().len();
    let words = ["postroom", "claude", "--as", "bob", "--resume", "-p", "go on"];
    until_at_last("the end of the session", || {
        let ended = stage.command(&json!([{"text": "third answer"}]), words).output().unwrap();
        ended.status.success()
    });
    let turn = heard(&stage.turns()[before]);
    assert!(turn.contains("hello there") && turn.contains("go on"), "the same conversation: {turn}");
    // Its own exit code, for what it refuses.
    let words =
        ["postroom", "claude", "--as", "bob", "-p", "--resume", "5b8f4b5e-0000-4000-8000-000000000000", "x"];
    assert_eq!(stage.command(&json!([]), words).output().unwrap().status.code(), Some(1));
}

#[test]
fn a_started_codex_is_woken_also_when_it_is_resumed() {
    let test = "a_started_codex_is_woken_also_when_it_is_resumed";
    let (Some(real), true) = (codex(), has_tmux()) else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice"]);
    let stage = Stage::set(&room, real);
    settle_codex(&room);
    // A login shell has its own idea of the search path.
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_postroom")).parent().unwrap();
    std::fs::write(stage.home().join(".profile"), format!("export PATH='{}':$PATH\n", own.display()))
        .unwrap();
    let at = |name: &str| room.around().join(name);
    // The second time its hooks come from an installation, without a server that Codex would start with a session.
    let line = format!(
        "postroom codex --as bob 'hello there'; touch {}; while ! test -e {}; do sleep 0.1; done; \
         postroom install codex --user; postroom codex --as bob --resume",
        at("exited").display(),
        at("again").display()
    );
    let script = json!([
        {"text": "first answer"}, {"shell": "postroom check"}, {"text": "second answer"},
        {"shell": "postroom send alice -s who -m x"}, {"text": "third answer"}
    ]);
    let terminal = Terminal::play(&room, &stage, &script, &line);
    let turns = is_woken(&room, &stage, &terminal, "Worked for");
    assert!(turns[1]["body"].to_string().contains("mail has arrived for this session"), "{}", turns[1]);
    // An interrupted conversation would wait for the person.
    until_at_last("the rest", || !terminal.screen().contains("esc to interrupt"));
    terminal.press("/quit", "the command", |screen| screen.contains("› /quit"));
    terminal.press("Enter", "the end", |_| at("exited").exists());
    until_at_last("the end of its waker", || wakers(&room).is_empty());
    room.by("alice", ["send", "bob", "-s", "marker-two", "-m", "BODY-OF-MAIL"]).succeeds();
    std::fs::write(at("again"), "").unwrap();
    trusts(&terminal);
    until_at_last("the turn for the mail", || stage.turns().len() >= 5);
    let turns = stage.turns();
    assert!(heard(&turns[3]).contains("hello there"), "the same conversation: {}", turns[3]);
    assert_eq!(heard(&turns[3]).matches("marker-two").count(), 1, "told once: {}", turns[3]);
    let inbox = room.by("alice", ["check"]).succeeds().out;
    assert!(inbox.contains(" bob: who"), "as whom it acts: {inbox}");
    assert_eq!(wakers(&room).len(), 1);
    drop(terminal);
    until_at_last("the end of its waker", || wakers(&room).is_empty());
}

#[test]
fn codex_starts_where_the_person_has_yet_to_trust_the_folder() {
    let test = "codex_starts_where_the_person_has_yet_to_trust_the_folder";
    let (Some(real), true) = (codex(), has_tmux()) else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice"]);
    let stage = Stage::set(&room, real);
    greet_codex(&room);
    // Codex asks in a repository.
    room.bash("git init --quiet").succeeds();
    let terminal = Terminal::open(&room, &stage, "postroom codex --as bob 'hello there'");
    let question = "Trust this folder?";
    until_at_last(question, || terminal.screen().contains(question));
    terminal.press("Enter", "the answer", |screen| !screen.contains(question));
    is_woken(&room, &stage, &terminal, "Worked for");
}

#[test]
fn a_started_opencode_is_woken() {
    let test = "a_started_opencode_is_woken";
    let (Some(real), true) = (opencode(), has_tmux()) else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice"]);
    if !has_plugins(&room, "home/.config/opencode") {
        return skip(test, "its package for plugins is not installed");
    }
    let stage = Stage::set(&room, real);
    let terminal = Terminal::open(&room, &stage, "postroom opencode --as bob --prompt 'hello there'");
    is_woken(&room, &stage, &terminal, "Build · m");
}

#[test]
fn a_started_copilot_is_woken() {
    let (Some(real), true) = (copilot(), has_tmux()) else {
        return skip("a_started_copilot_is_woken", MISSING);
    };
    let room = TestRoom::with(&["alice"]);
    settle_copilot(&room);
    let stage = Stage::set(&room, real);
    let terminal = Terminal::open(&room, &stage, "postroom copilot --as bob -i 'hello there'");
    is_woken(&room, &stage, &terminal, "❯");
    drop(terminal);
    let kept = std::fs::read_to_string(room.around().join("home/.copilot/config.json")).unwrap();
    assert!(!kept.contains("experimental"), "{kept}");
}

#[test]
fn after_a_kill_the_next_start_leaves_the_home_of_codex_as_it_was() {
    let test = "after_a_kill_the_next_start_leaves_the_home_of_codex_as_it_was";
    let Some(real) = codex() else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice"]);
    let stage = Stage::set(&room, real);
    let before = settings(&stage, "codex");
    let words = |name| ["postroom", "codex", "--as", name, "exec", "--skip-git-repo-check", "go"];
    let never = room.around().join("never");
    let playing = stage.starts(&json!([{"text": "late", "after": never}]), words("bob"));
    until_at_last("the turn", || !stage.turns().is_empty());
    let plugin = stage.home().join(".codex/plugins/cache/postroom-local");
    assert!(plugin.exists());
    keepers(&room).into_iter().for_each(|keeper| kill_process(keeper, Signal::KILL).unwrap());
    // All of its group at once: launcher and program are one process.
    drop(playing);
    assert!(plugin.exists());
    stage.plays(&json!([{"text": "done"}]), words("bob"));
    until_at_last("the end of its keeper", || keepers(&room).is_empty());
    assert!(!plugin.exists());
    assert_eq!(settings(&stage, "codex"), before);
}

#[test]
fn a_spawned_codex_is_itself_beside_a_daemon() {
    let test = "a_spawned_codex_is_itself_beside_a_daemon";
    let (Some(real), true) = (codex(), has_tmux()) else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice"]);
    let stage = Stage::set(&room, real);
    settle_codex(&room);
    let _daemon = Daemon(&room);
    let script = json!([
        {"has": "You are the agent worker", "turns": [{"shell": "postroom whoami"}, {"text": "It is me."}]},
        {"has": "hello there", "turns": [{"text": "first answer"}]},
    ]);
    // Its threads run in a daemon, with the environment of the process that started it.
    let terminal = Terminal::play(&room, &stage, &script, "AGENT_MAILBOX_ID=leaked codex 'hello there'");
    until_at_last("the first answer", || terminal.screen().contains("first answer"));
    // A window has the search path and the directory of the tmux that opens it, which here are those of the test.
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_postroom")).parent().unwrap().display();
    let path = format!("PATH='{}:{own}':\"$PATH\"", room.around().join("bin").display());
    let line = format!("{path} postroom --as alice spawn worker --preset codex -m 'the task'");
    terminal.tmux(&["new-window", "-d", "-c", room.around().to_str().unwrap(), &line]);
    let own = || stage.turns().into_iter().filter(|turn| heard(turn).contains("You are the agent worker"));
    until_at_last("the answer to whoami", || own().count() >= 2);
    let who = heard(&own().nth(1).unwrap());
    assert!(who.contains("name: worker") && who.contains("by: the binding of this agent session"), "{who}");
    assert!(own().next().is_some_and(|turn| heard(&turn).contains("this session has the mailbox worker")));
}
