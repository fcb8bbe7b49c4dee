//! A person at the client: writes, answers, archives, and everything else that only a person may.

use std::process::Command;
use std::time::Duration;

use crate::support::room::{Run, TestRoom};
use crate::support::screen::Screen;
use crate::support::seat;
use crate::support::until::until;

const SOON: Duration = Duration::from_secs(30);

/// Lets a person use the client of a room, until it has ended.
fn attended(room: &TestRoom, editor: &str, person: impl FnOnce(&Screen) + Send + 'static) {
    seated(room.run(["tui"]), editor, person);
}

/// Lets a person use a client that is started like this, until it has ended.
pub(crate) fn seated(tui: Run, editor: &str, person: impl FnOnce(&Screen) + Send + 'static) {
    let own = tui.command();
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", "exec \"$@\" </dev/tty >/dev/tty 2>&1", "sh"])
        .arg(own.get_program())
        .args(own.get_args());
    command.env_clear().envs(own.get_envs().filter_map(|(key, value)| Some((key, value?))));
    own.get_current_dir().map(|dir| command.current_dir(dir));
    command.env("EDITOR", editor);
    let seated = seat::start_with(&command, std::path::Path::new("/dev/null"), move |terminal| {
        let screen = Screen::of(terminal, 100, 30);
        screen.types("go\n");
        until("it is there", || {
            let text = screen.text();
            if text.contains("Type tui to go on") {
                screen.types("tui\n");
                screen.sees("1 Now", SOON).unwrap();
            }
            text.contains("1 Now")
        });
        person(&screen);
        until("the terminal is as before", || screen.is_as_before());
    });
    seated.ends();
}

fn room() -> TestRoom {
    let room = TestRoom::with(&["alice", "bob"]);
    room.run(["setup", "user"]).by_person().with(0);
    room
}

#[test]
fn a_person_writes_answers_and_archives() {
    let room = room();
    room.send("alice", "user", "May I delete the old index?");
    room.send("alice", "user", "May I delete the old index?");
    attended(&room, "true", |screen| {
        let sees = |text: &str| screen.sees(text, SOON).map(drop).unwrap();
        screen.types(":mail user\r");
        sees("from     alice");
        screen.types("a");
        sees("archived");
        sees("from     alice");
        sees("1/1");
        screen.types("r");
        sees("Answer");
        screen.types("Yes, do.\x13");
        sees("queued");
        screen.types("c");
        sees("Write a message");
        screen.types("bob\rHello\rFrom the terminal client\x13");
        sees("for bob: Hello");
        screen.types("q");
    });
    assert!(room.by("alice", ["read"]).succeeds().out.contains("Yes, do."));
    let read = room.by("bob", ["read"]).succeeds().out;
    assert!(read.contains("From the terminal client") && read.contains("Hello"), "{read}");
    assert_eq!(room.files("user", "archive").len(), 2);
}

#[test]
fn a_text_goes_through_the_editor_and_a_mailbox_to_the_trash_and_back() {
    let room = room();
    attended(&room, "printf 'Written in the editor.\\n' >", |screen| {
        let sees = |text: &str| screen.sees(text, SOON).map(drop).unwrap();
        screen.types("c");
        sees("Write a message");
        screen.types("alice\r\r\x0f");
        sees("Written in the editor.");
        screen.types("\x13");
        sees("for alice");
        screen.types(":prune bob\r");
        sees("Do it?");
        screen.types("y");
        sees("moved to the trash");
        screen.types("u");
        sees("brought back the mailbox bob");
        screen.types("q");
    });
    assert!(room.by("alice", ["read"]).succeeds().out.contains("Written in the editor."));
    room.by("bob", ["check"]).exits(1);
}

#[test]
fn what_is_refused_is_said_and_the_text_is_kept() {
    let room = room();
    attended(&room, "true", |screen| {
        let sees = |text: &str| screen.sees(text, SOON).map(drop).unwrap();
        screen.types("c");
        sees("Write a message");
        screen.types("nobody\rHi\rA text worth keeping\x13");
        sees("nobody here is called");
        sees("A text worth keeping");
        screen.types("\x18");
        sees("Throw this text away?");
        screen.types("y");
        sees("the draft is thrown away");
        screen.types("q");
    });
}

#[test]
fn a_draft_is_there_again_and_a_sleep_without_a_shell_is_refused() {
    let room = room();
    attended(&room, "true", |screen| {
        screen.types("c");
        screen.sees("Write a message", SOON).unwrap();
        screen.types("alice\r\rNot sent yet\x1b");
        screen.sees("the draft is kept", SOON).unwrap();
        screen.types("\x1a");
        screen.sees("there is no shell", SOON).unwrap();
        screen.types("q");
    });
    attended(&room, "true", |screen| {
        screen.types("c");
        screen.sees("Not sent yet", SOON).unwrap();
        screen.types("\x13");
        screen.sees("for alice", SOON).unwrap();
        screen.types("q");
    });
    assert!(room.by("alice", ["read"]).succeeds().out.contains("Not sent yet"));
    attended(&room, "true", |screen| {
        screen.types("c");
        screen.sees("Write a message", SOON).unwrap();
        assert!(!screen.text().contains("Not sent yet"));
        screen.types("\x18q");
    });
}
