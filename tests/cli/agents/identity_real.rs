//! A session keeps its mailbox through all that may happen to it, and is woken there, with the real programs in a terminal:
//! set up inside, cleared, ended, resumed, killed.

use serde_json::json;

use crate::agents::idle::{has_tmux, settle_claude};
use crate::agents::real::heard;
use crate::agents::told_real::{Day, WAKE, times};
use crate::support::models::{MISSING, Stage, claude, gemini};
use crate::support::room::TestRoom;
use crate::support::until::{skip, until_at_last};

/// How a name is listed.
fn listed(room: &TestRoom, name: &str) -> String {
    let names = room.run(["names"]).succeeds().out;
    names.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned()
}

/// The processes of sessions, as their hooks recorded them.
fn processes(room: &TestRoom) -> Vec<String> {
    let sessions = std::fs::read_dir(room.around().join("home/.local/state/postroom/sessions")).unwrap();
    let names = sessions.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| name.strip_suffix(".process").map(str::to_owned)).collect()
}

#[test]
fn claude_set_up_inside_keeps_its_mailbox_and_is_woken_there() {
    let test = "claude_set_up_inside_keeps_its_mailbox_and_is_woken_there";
    let (Some(real), true) = (claude(), has_tmux()) else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice"]);
    settle_claude(&room);
    let stage = Stage::set(&room, real);
    stage.plays(&json!([]), ["postroom", "install", "claude", "--mcp", "--user"]);
    let script = json!([
        {"shell": "postroom setup dora"}, {"text": "answer-1."},
        {"text": "answer-2."},
        {"mcp": "postroom/check", "input": {}}, {"text": "answer-3."},
        {"text": "answer-4."},
    ]);
    let (exited, again) = (room.around().join("exited"), room.around().join("again"));
    let line = format!(
        "claude 'you are dora'; touch {}; while ! test -e {}; do sleep 0.1; done; claude --continue",
        exited.display(),
        again.display()
    );
    let day = Day::begins(&room, &stage, "dora", &script, &line);

    day.rests("answer-1.");
    let turns = day.cost("set up inside", 2);
    assert_eq!((turns.len(), times(&turns[..1], "no mailbox yet")), (2, 1), "{turns:?}");
    assert!(listed(&room, "dora").ends_with(" in session"), "{}", listed(&room, "dora"));

    let mail = day.mail();
    day.rests("answer-2.");
    let turns = day.cost("idle after a setup inside", 0);
    assert_eq!((turns.len(), times(&turns, WAKE), times(&turns, &mail)), (1, 1, 1), "{turns:?}");

    // Cleared: another session in the same process, with the same mailbox.
    day.terminal.press("/clear", "the command", |screen| screen.contains("❯ /clear"));
    day.terminal.press("Enter", "an empty session", |screen| !screen.contains("answer-2."));
    until_at_last("the mailbox", || listed(&room, "dora").ends_with(" in session"));
    let mail = day.mail();
    day.rests("answer-3.");
    let turns = day.cost("idle after /clear", 0);
    let text = heard(turns.last().unwrap());
    assert!(text.contains("this session has the mailbox dora") && !text.contains("you are dora"), "{text}");
    assert_eq!((turns.len(), times(&turns, WAKE)), (2, 1), "{turns:?}");
    assert_eq!(times(&turns[..1], &mail), 1, "{turns:?}");
    assert_eq!(times(&turns, &mail), 2, "and the server acts as this session: {turns:?}");

    // Ended: not there, and free at once.
    day.terminal.press("/exit", "the command", |screen| screen.contains("❯ /exit"));
    day.terminal.press("Enter", "the end", |_| exited.exists());
    until_at_last("the end", || listed(&room, "dora").ends_with(" seen just now"));
    assert_eq!(processes(&room), Vec::<String>::new());

    // Resumed: the same session with its mailbox. It is woken for mail that came meanwhile.
    let mail = day.mail();
    std::fs::write(&again, "").unwrap();
    until_at_last("the session", || listed(&room, "dora").ends_with(" in session"));
    day.rests("answer-4.");
    let turns = day.cost("idle after --continue", 0);
    assert_eq!((turns.len(), times(&turns, WAKE), times(&turns, &mail)), (1, 2, 1), "{turns:?}");

    // Killed: its process is gone, so another takes it over without force.
    room.run(["takeover", "dora"]).env("CODEX_THREAD_ID", "t").exits(4);
    let [process] = processes(&room).try_into().unwrap();
    room.bash(&format!("kill -9 {process}")).succeeds();
    until_at_last("the end", || listed(&room, "dora").ends_with(" seen just now"));
    room.run(["takeover", "dora"]).env("CODEX_THREAD_ID", "t").succeeds();
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
    assert_eq!((turns.len(), times(&turns[..1], "no mailbox yet")), (4, 1), "{turns:?}");
    let who = heard(&turns[2]);
    assert!(who.contains("name: dora") && who.contains("by: the binding of this agent session"), "{who}");
    assert_eq!(times(&turns, "marker-1"), 1, "its hooks know it too: {turns:?}");
    let sent = room.by("alice", ["check"]).succeeds().out;
    assert!(sent.contains(" dora: by-the-server"), "{sent} {:?}", turns[3]);
    until_at_last("the end", || listed(&room, "dora").ends_with(" seen just now"));
}
