//! `postroom gemini --type-into-tmux`: one start in which the person allows typing, without an installation.

use crate::agents::idle::{Terminal, has_tmux, is_at_work};
use crate::agents::launch::{stand_in, start};
use crate::agents::waker::wakers;
use crate::support::models::{MISSING, Stage, gemini};
use crate::support::room::TestRoom;
use crate::support::until::{skip, until_at_last};

#[test]
fn a_gemini_that_was_started_once_is_woken_by_typing_where_that_was_allowed() {
    let test = "a_gemini_that_was_started_once_is_woken_by_typing_where_that_was_allowed";
    let (Some(real), true) = (gemini(), has_tmux()) else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice"]);
    let stage = Stage::set(&room, real);
    let line = "postroom gemini --as bob --type-into-tmux --skip-trust -m gemini-2.5-flash";
    let terminal = Terminal::open(&room, &stage, line);
    until_at_last("the prompt", || terminal.screen().contains("Type your message"));
    terminal.press("hello there", "the text", |screen| screen.contains("> hello there"));
    terminal.press("Enter", "the answer", |screen| screen.contains("first answer"));
    until_at_last("a waker, and rest", || wakers(&room).len() == 1 && !is_at_work(&room));
    room.by("alice", ["send", "bob", "-s", "marker-one", "-m", "BODY-OF-MAIL"]).succeeds();
    until_at_last("the turn for the mail", || stage.turns().len() >= 3);
    let woken = stage.turns()[1]["body"].to_string();
    assert!(woken.contains("mail has arrived for this session") && woken.contains("marker-one"), "{woken}");
    drop(terminal);
    until_at_last("the end of the waker with the terminal", || wakers(&room).is_empty());
}

#[test]
fn only_a_start_that_allows_typing_says_so_and_only_gemini_needs_it() {
    let room = TestRoom::with(&["alice"]);
    for name in ["gemini", "claude"] {
        stand_in(&room, name, "echo typing: $POSTROOM_TYPE_INTO_TMUX.");
    }
    let ran = start(&room, ["gemini", "--type-into-tmux", "-i", "go"]).succeeds();
    assert!(ran.out.contains("typing: 1.") && !ran.out.contains("type-into-tmux"), "{}", ran.out);
    let nested = start(&room, ["gemini", "-i", "go"]).env("POSTROOM_TYPE_INTO_TMUX", "1").succeeds();
    assert!(nested.out.contains("typing: ."), "{}", nested.out);
    let refused = start(&room, ["claude", "--type-into-tmux"]).exits(2);
    assert!(refused.err.contains("Claude Code is woken without typing"), "{}", refused.err);
}
