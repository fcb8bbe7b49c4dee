//! Whose mailbox a session has: told, bound, kept, and never made up.

use crate::agents::hook::{bound, hook, text};
use crate::support::room::TestRoom;

#[test]
fn an_unknown_session_gets_no_mailbox_and_is_told_how_to() {
    let room = TestRoom::with(&["alice"]);
    let before = room.tree();
    let told = text(&hook(&room, "claude", "session-start", "s1").ends());
    assert_eq!(told, "postroom: no mailbox yet. `postroom setup NAME` gives this session one.");
    assert!(told.len() < 80);
    for event in ["prompt", "tool-end", "stop", "mail", "session-end"] {
        assert_eq!(hook(&room, "claude", event, "s1").succeeds().out, "");
    }
    room.is_still(&before, "hooks of an unknown session");
}

#[test]
fn a_standing_name_is_that_of_one_session_at_a_time() {
    let room = TestRoom::with(&["alice", "bob"]);
    let start =
        |session: &str| text(&hook(&room, "codex", "session-start", session).arg("--name").arg("bob").ends());
    assert!(start("s1").contains("the mailbox bob"));
    let told = start("s2");
    assert!(told.contains("held by another session") && told.contains("takeover flow"), "{told}");
    room.send("alice", "bob", "hello");
    let second = hook(&room, "codex", "tool-end", "s2").arg("--name").arg("bob").succeeds();
    assert_eq!(second.out, "", "it is not the second session's mail");
    assert!(text(&hook(&room, "codex", "tool-end", "s1").ends()).contains("hello"));
    hook(&room, "codex", "session-end", "s1").succeeds();
    assert_eq!(start("s2"), "postroom: this session has the mailbox bob.");
    assert!(
        text(&hook(&room, "codex", "prompt", "s2").ends()).contains("hello"),
        "it is news to this session"
    );
    let out = room.run(["whoami", "--json"]).env("CODEX_THREAD_ID", "s2").json();
    assert_eq!(out["name"], "bob", "{out}");
}

#[test]
fn a_session_whose_program_is_gone_makes_room() {
    let room = TestRoom::with(&["bob"]);
    let mut program = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let start = |session: &str, pid: u32| {
        let run = hook(&room, "claude", "session-start", session).arg("--name").arg("bob");
        text(&run.env("CLAUDE_PID", pid.to_string()).ends())
    };
    assert!(start("s1", program.id()).contains("the mailbox bob"));
    assert!(start("s2", std::process::id()).contains("held by another"));
    program.kill().unwrap();
    program.wait().unwrap();
    assert!(start("s2", std::process::id()).contains("the mailbox bob"));
}

#[test]
fn the_environment_says_who_a_spawned_session_is() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "hello");
    let id = room.id("bob");
    let told = text(&hook(&room, "gemini", "session-start", "g1").env("AGENT_MAILBOX_ID", &id).ends());
    assert_eq!(told, "postroom: this session has the mailbox bob.");
    // From here on it is known by its session alone.
    assert!(text(&hook(&room, "gemini", "tool-end", "g1").ends()).contains("hello"));
}

#[test]
fn a_session_that_lost_its_mailbox_is_told_so_and_hears_nothing_more() {
    let room = bound();
    room.send("alice", "bob", "hello");
    room.run(["takeover", "bob", "--force"]).env("CODEX_THREAD_ID", "t").succeeds();
    assert_eq!(hook(&room, "claude", "tool-end", "s1").succeeds().out, "");
    assert!(text(&hook(&room, "claude", "session-start", "s1").ends()).contains("held by another"));
    assert!(text(&hook(&room, "codex", "tool-end", "t").ends()).contains("hello"));
}

#[test]
fn an_attended_session_watches_its_inbox() {
    let room = bound();
    let start = |attended: &str| {
        let run = hook(&room, "claude", "session-start", "s1").env("CLAUDE_CODE_SESSION_ATTENDED", attended);
        run.json()["hookSpecificOutput"]["watchPaths"].clone()
    };
    assert_eq!(start("1")[0], room.folder("bob", "inbox").display().to_string());
    assert!(start("0").is_null());
}

#[test]
fn sessions_that_are_long_over_are_forgotten() {
    let room = TestRoom::with(&["alice", "bob"]);
    let sessions =
        || std::fs::read_dir(room.around().join("home/.local/state/postroom/sessions")).unwrap().count();
    let start = |session: &str| {
        let run = hook(&room, "codex", "session-start", session).arg("--name").arg("bob");
        assert!(text(&run.ends()).contains("the mailbox bob"));
        room.send("alice", "bob", session);
        assert!(text(&hook(&room, "codex", "prompt", session).ends()).contains(session));
        hook(&room, "codex", "session-end", session).succeeds();
    };
    (0..5).for_each(|n| start(&format!("s{n}")));
    assert_eq!(sessions(), 11, "a binding and what was told for each, and the lock");
    for file in std::fs::read_dir(room.around().join("home/.local/state/postroom/sessions")).unwrap() {
        crate::support::hand::age(&file.unwrap().path(), 31 * 24 * 3600);
    }
    start("s5");
    assert_eq!(sessions(), 5, "who held it last, who holds it now, and the lock");
    let out = room.run(["whoami", "--json"]).env("CODEX_THREAD_ID", "s5").json();
    assert_eq!(out["name"], "bob", "{out}");
}

#[test]
fn a_session_where_no_room_is_hears_how_to_set_up_and_when_it_did() {
    let room = TestRoom::empty();
    let repository = room.around().canonicalize().unwrap().join("web");
    room.bash(&format!("git init -q '{}'", repository.display())).succeeds();
    let input = serde_json::json!({"session_id": "s1", "cwd": repository, "hook_event_name": "SessionStart"});
    let start = |attended: &str| {
        let run = room.bare(["hook", "claude", "session-start"]).input(input.to_string()).within(&repository);
        run.env("CLAUDE_CODE_SESSION_ATTENDED", attended).succeeds()
    };
    let told = start("0");
    assert_eq!(text(&told), "postroom: no mailbox yet. `postroom setup NAME` gives this session one.");
    let answer: serde_json::Value = serde_json::from_str(&start("1").out).unwrap();
    let watched = answer["hookSpecificOutput"]["watchPaths"][0].as_str().unwrap().to_owned();
    assert!(std::fs::read_dir(&watched).unwrap().next().is_none());
    let setup = room.bare(["setup", "dora"]).env("CLAUDE_CODE_SESSION_ID", "s1").within(&repository);
    assert!(setup.succeeds().out.contains("name: dora"));
    assert!(std::fs::read_dir(&watched).unwrap().next().is_some(), "its program hears of the mailbox");
}

#[test]
fn a_standing_name_of_another_room_is_no_mailbox_here() {
    let room = TestRoom::with(&["alice"]);
    let told = text(&hook(&room, "claude", "session-start", "s1").arg("--name").arg("dora").ends());
    assert!(told.starts_with("postroom: no mailbox yet."), "{told}");
}

#[test]
fn a_hook_that_install_asks_answers_and_does_nothing_else() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "hello");
    let before = room.tree();
    for event in ["session-start", "prompt", "tool-end", "stop", "session-end"] {
        let ran = hook(&room, "claude", event, "s1").arg("--name").arg("bob").env("POSTROOM_PROBE", "0a1b");
        let ran = ran.succeeds();
        assert_eq!(
            if ran.out.is_empty() { String::new() } else { text(&ran) },
            if event == "session-start" { "0a1b" } else { "" }
        );
    }
    room.is_still(&before, "the hooks of nobody's session");
}

#[test]
fn copilot_keeps_its_mailbox_when_the_person_begins_anew() {
    let room = TestRoom::with(&["alice"]);
    let start = |session: &str| {
        let input = serde_json::json!({"session_id": session, "cwd": "/", "source": "new"});
        text(&room.run(["hook", "copilot", "session-start"]).input(input.to_string()).ends())
    };
    assert!(start("s1").contains("no mailbox yet"));
    room.run(["setup", "bob"]).env("COPILOT_AGENT_SESSION_ID", "s1").succeeds();
    hook(&room, "copilot", "session-end", "s1").succeeds();
    room.send("alice", "bob", "hello");
    assert_eq!(hook(&room, "copilot", "mail", "s1").succeeds().out, "", "it is over");
    // The extension asks for a new session before its first prompt.
    assert!(text(&hook(&room, "copilot", "mail", "s2").ends()).contains("mail has arrived"));
    assert!(start("s2").contains("this session has the mailbox bob"));
    hook(&room, "copilot", "session-end", "s2").succeeds();
    assert!(start("s3").contains("this session has the mailbox bob"));
}
