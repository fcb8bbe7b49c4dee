//! In the session of an agent, postroom delivers mail and does not change what its program allows it.

use serde_json::json;

use crate::agents::install::{home, picture, postroom, settled};
use crate::agents::real::heard;
use crate::support::models::{MISSING, Stage, codex};
use crate::support::room::TestRoom;
use crate::support::staffed::inbox;
use crate::support::until::skip;

const SESSIONS: [(&str, &str); 4] = [
    ("CLAUDE_CODE_SESSION_ID", "s"),
    ("CODEX_THREAD_ID", "t"),
    ("GEMINI_CLI", "1"),
    ("COPILOT_AGENT_SESSION_ID", "c"),
];

#[test]
fn an_agent_changes_no_installation_and_no_trust() {
    let room = settled();
    postroom(&room, ["install", "claude"]).succeeds();
    let before = picture(&room);
    let root = room.root().display().to_string();
    for (name, value) in SESSIONS {
        for words in
            [&["install", "codex"][..], &["install"], &["uninstall", "claude"], &["trust", &root, "--yes"]]
        {
            let ran = postroom(&room, words.iter().copied()).env(name, value).exits(4);
            assert!(ran.err.contains("session of an agent"), "{}", ran.err);
        }
        postroom(&room, ["install", "claude", "--check"]).env(name, value).succeeds();
    }
    assert_eq!(picture(&room), before);
}

#[test]
fn an_agent_writes_no_file_of_its_choice() {
    let room = TestRoom::with(&["alice"]);
    let file = room.around().join("profile");
    std::fs::write(&file, "kept").unwrap();
    let file = file.display().to_string();
    let fresh = room.around().join("fresh").display().to_string();
    let compose =
        ["tools", "compose", "--protocol", "maildir", "--from", "a", "--to", "b", "-m", "x", "-o", &fresh];
    for (name, value) in SESSIONS {
        let ran = room.run(["status", "--html", &file]).env(name, value).exits(4);
        assert!(ran.err.contains("`--html` may write where"), "{}", ran.err);
        let ran = room.bare(compose).env(name, value).exits(4);
        assert!(ran.err.contains("`--output` may write where"), "{}", ran.err);
        room.bare(compose[..10].iter().copied()).env(name, value).succeeds();
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
    assert!(!std::path::Path::new(&fresh).exists());
    // What a person types is theirs.
    room.bare(compose).succeeds();
}

#[test]
fn an_agent_serves_no_new_room_elsewhere() {
    let room = TestRoom::with(&["alice"]);
    let elsewhere = room.around().join("elsewhere");
    let root = elsewhere.display().to_string();
    let ran = room.bare(["--root", &root, "mcp", "--http"]).env("CODEX_THREAD_ID", "t").exits(4);
    assert!(ran.err.contains("there is no room at "), "{}", ran.err);
    assert!(!elsewhere.exists());
}

#[test]
fn a_session_is_known_also_without_its_environment() {
    let room = settled();
    postroom(&room, ["install", "claude"]).succeeds();
    // The shell below is the program: its hook records the process, and its commands forget who they are.
    let script = "printf '{\"session_id\":\"s\",\"hook_event_name\":\"SessionStart\"}' | CLAUDE_PID=$$ postroom hook claude session-start
        env -u CLAUDE_PID postroom uninstall claude; echo $?
        postroom --root \"$PWD/other\" setup dora; echo $?";
    let ran = room.bash(script).env("CLAUDECODE", "").succeeds();
    assert!(ran.out.ends_with("\n4\n4\n"), "{ran:?}");
    assert!(!room.around().join("other").exists());
}

#[test]
fn an_agent_makes_no_room_elsewhere_and_uses_those_that_are_there() {
    let room = TestRoom::with(&["alice", "bob"]);
    let elsewhere = room.around().join("elsewhere");
    let root = elsewhere.display().to_string();
    for words in [&["setup", "dora"][..], &["check"]] {
        let words = ["--root", &root].into_iter().chain(words.iter().copied());
        let ran = room.bare(words).env("CODEX_THREAD_ID", "t").exits(4);
        assert!(ran.err.contains("there is no room at ") && ran.err.contains("--root"), "{}", ran.err);
    }
    assert!(!elsewhere.exists());
    let below = home(&room).join(".local/state/postroom/rooms/web").display().to_string();
    room.bare(["--root", &below, "setup", "dora"]).env("CODEX_THREAD_ID", "t").succeeds();
    // A room that a person made, its mail, and the answers of another protocol.
    room.run(["--as", "bob", "send", "alice", "-m", "x"]).env("CODEX_THREAD_ID", "u").succeeds();
    let work = room.around().join("work");
    std::fs::create_dir_all(&work).unwrap();
    room.run(["setup", "wanda", "--workspace"]).arg(&work).succeeds();
    room.by("wanda", ["send", "bob", "-m", "what is 40 + 2?"]).succeeds();
    let id = room.by("bob", ["check"]).succeeds().out[..8].to_owned();
    room.by("bob", ["reply", &id, "-m", "42"]).env("CODEX_THREAD_ID", "v").succeeds();
    assert!(
        room.by("wanda", ["check"]).succeeds().out.contains("bob"),
        "the answer lies outside of every room"
    );
    room.bare(["--root", &root, "setup", "dora"]).succeeds();
    room.bare(["--root", &root, "check"]).env("CODEX_THREAD_ID", "t").ends();
}

#[test]
fn an_agent_makes_no_workspace_and_no_tree_outside_of_its_project() {
    let room = TestRoom::with(&["alice"]);
    let at = |name: &str| room.around().canonicalize().unwrap().join(name);
    for dir in ["project/src", "project/.git", "elsewhere/.git", "home"] {
        std::fs::create_dir_all(at(dir)).unwrap();
    }
    let setup = |option: &str, dir: &str, from: &str| {
        room.run(["setup", option]).arg(at(dir)).arg("dora").within(&at(from)).env("CODEX_THREAD_ID", "t")
    };
    for option in ["--workspace", "--tree"] {
        for from in ["project", "project/src"] {
            let ran = setup(option, "elsewhere", from).exits(4);
            assert!(ran.err.contains("outside of this session's project"), "{}", ran.err);
        }
        let ran = room
            .run(["setup", option])
            .arg(at("project"))
            .within(std::path::Path::new("/"))
            .env("CODEX_THREAD_ID", "t");
        ran.exits(4);
    }
    let entries = |dir: &str| std::fs::read_dir(at(dir)).unwrap().count();
    assert_eq!((entries("elsewhere"), entries("project")), (1, 2), "nothing was made");
    // The program of the session is known by its process, and a command of it goes elsewhere first.
    let script = "cd project; printf '{\"session_id\":\"s\",\"hook_event_name\":\"SessionStart\"}' | CLAUDE_PID=$$ postroom hook claude session-start
        (cd ../elsewhere && env -u CLAUDE_PID postroom setup --workspace . dora); echo $?";
    let ran = room.bash(script).env("CLAUDECODE", "").succeeds();
    assert!(ran.out.ends_with("\n4\n") && entries("elsewhere") == 1, "{ran:?}");
    setup("--workspace", "project/src", "project").succeeds();
    // A person has made this one.
    room.run(["setup", "erin", "--workspace"]).arg(at("elsewhere")).succeeds();
    let again = room
        .run(["setup", "--workspace"])
        .arg(at("elsewhere"))
        .env("CODEX_THREAD_ID", "u")
        .within(&at("project"));
    again.succeeds();
}

#[test]
fn codex_in_a_read_only_sandbox_sends_in_the_form_that_it_is_taught() {
    let test = "codex_in_a_read_only_sandbox_sends_in_the_form_that_it_is_taught";
    let Some(real) = codex() else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let stage = Stage::set(&room, real);
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_postroom"));
    // Its login shell does not find postroom, so it is told the path.
    std::fs::write(stage.home().join(".profile"), "PATH=/usr/bin:/bin\n").unwrap();
    let said = stage.plays(&json!([]), ["postroom", "install", "codex", "--name", "bob"]);
    assert!(
        said.contains("its rules allow /") && said.contains("Codex 0.166.0 sees: hooks, skill\n"),
        "{said}"
    );
    let own = own.display();
    let script = json!([
        {"shell": "postroom names"},
        {"shell": format!("{own} --as bob send alice -s one <<'EOF'\nby a heredoc\nEOF")},
        {"shell": format!("{own} --as bob send alice -s two -m 'in one line'")},
        {"shell": format!("{own} install claude")},
        {"text": "I am done."}
    ]);
    let words = ["exec", "--skip-git-repo-check", "--disable", "plugins", "-s", "read-only"];
    let words = ["codex"].into_iter().chain(words).chain(["--dangerously-bypass-hook-trust", "go"]);
    stage.plays(&script, words);
    let turns = stage.turns();
    assert!(heard(&turns[0]).contains(&format!("finds postroom only by the path {own}")), "{}", turns[0]);
    assert!(heard(&turns[1]).contains("not found"), "{}", turns[1]);
    assert!(heard(&turns[2]).contains("-m 'TEXT'"), "what works is taught: {}", turns[2]);
    assert_eq!(inbox(&room, "alice"), ["in one line"]);
    assert!(heard(&turns[4]).contains("this is the session of an agent"), "{}", turns[4]);
    assert!(!stage.home().join(".claude").exists());
}
