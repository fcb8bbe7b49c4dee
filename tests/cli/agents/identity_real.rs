//! A session of Gemini CLI that sets up its mailbox acts as itself without being named: its commands, its hooks and its
//! server know it by its process. A run of Claude Code is in session while it runs, and no longer. What all programs have in
//! common is in `matrix/`.

use serde_json::json;

use crate::agents::real::heard;
use crate::support::models::{MISSING, Stage, claude, gemini};
use crate::support::room::TestRoom;
use crate::support::until::{skip, until_at_last};

/// How a name is listed.
fn listed(room: &TestRoom, name: &str) -> String {
    let names = room.run(["names"]).succeeds().out;
    names.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned()
}

#[test]
fn gemini_set_up_inside_acts_as_itself_without_being_named() {
    let test = "gemini_set_up_inside_acts_as_itself_without_being_named";
    let Some(real) = gemini() else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice"]);
    let stage = Stage::set(&room, real);
    stage.plays(&json!([]), ["postroom", "install", "gemini", "--mcp", "--user"]);
    let go = room.around().join("go");
    let script = json!([
        {"shell": "postroom setup dora"},
        {"shell": "postroom whoami", "after": go},
        {"mcp": "postroom/send", "input": {"to": ["alice"], "subject": "by-the-server", "text": "x"}},
        {"text": "done."},
    ]);
    let words = ["gemini", "--skip-trust", "-m", "gemini-2.5-flash", "-p", "you are dora"];
    let playing = stage.starts(&script, words);
    until_at_last("the setup", || stage.turns().len() >= 2);
    assert!(listed(&room, "dora").ends_with(" in session"), "{}", listed(&room, "dora"));
    room.by("alice", ["send", "dora", "-s", "marker-1", "-m", "x"]).succeeds();
    std::fs::write(&go, "").unwrap();
    assert!(playing.ends().status.success());
    let turns = stage.turns();
    assert_eq!((turns.len(), heard(&turns[0]).matches("no mailbox yet").count()), (4, 1), "{turns:?}");
    let who = heard(&turns[2]);
    assert!(who.contains("name: dora") && who.contains("by: the binding of this agent session"), "{who}");
    assert_eq!(
        heard(turns.last().unwrap()).matches("marker-1").count(),
        1,
        "its hooks know it too: {turns:?}"
    );
    let sent = room.by("alice", ["check"]).succeeds().out;
    assert!(sent.contains(" dora: by-the-server"), "{sent} {:?}", turns[3]);
    until_at_last("the end", || listed(&room, "dora").ends_with(" seen just now"));
}

#[test]
fn claude_without_a_terminal_is_in_session_until_it_has_ended() {
    let test = "claude_without_a_terminal_is_in_session_until_it_has_ended";
    let Some(real) = claude() else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice"]);
    let stage = Stage::set(&room, real);
    stage.plays(&json!([]), ["postroom", "install", "claude", "--user"]);
    let go = room.around().join("go");
    let script = json!([
        {"shell": "postroom setup dora"},
        {"shell": "postroom whoami", "after": go},
        {"text": "done."},
    ]);
    let playing = stage.starts(&script, ["claude", "-p", "you are dora"]);
    until_at_last("the setup", || listed(&room, "dora").ends_with(" in session"));
    std::fs::write(&go, "").unwrap();
    assert!(playing.ends().status.success());
    assert!(listed(&room, "dora").ends_with(" seen just now"), "{}", listed(&room, "dora"));
    // Nobody holds it, so nothing has to be forced.
    room.run(["takeover", "dora"]).env("CODEX_THREAD_ID", "t").succeeds();
}
