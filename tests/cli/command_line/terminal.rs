//! What a person sees: colour, relative times, a width, and never a control byte out of a mail.

use std::process::Command;

use crate::support::hand::{age, by_hand, tighten};
use crate::support::room::TestRoom;
use crate::support::until::skip;

/// Whether there is a program that lends a terminal; tells who watches if not.
pub(crate) fn lent(test: &str) -> bool {
    let there = Command::new("script").arg("--version").output().is_ok();
    if !there {
        skip(test, "`script` of util-linux is not installed");
    }
    there
}

/// What `postroom` with these arguments shows on a terminal of so many columns, with its line ends as in a file.
pub(crate) fn on_terminal(
    room: &TestRoom,
    columns: u32,
    arguments: &str,
    environment: &[(&str, &str)],
) -> String {
    let command = format!("stty cols {columns} rows 24; exec postroom {arguments}");
    let mut run = room.bash("exec script -qec \"$COMMAND\" /dev/null").env("COMMAND", command);
    for (key, value) in [("TERM", "xterm-256color"), ("SHELL", "/bin/sh")].iter().chain(environment) {
        run = run.env(key, value);
    }
    run.ends().out.replace("\r\n", "\n")
}

pub(crate) const PLAIN: [(&str, &str); 1] = [("NO_COLOR", "1")];

/// The columns a line takes, colours left out.
pub(crate) fn columns(line: &str) -> usize {
    let mut count = 0;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => {
                chars.by_ref().find(|c| *c == 'm');
            }
            _ => count += 1,
        }
    }
    count
}

/// Seven lines about a prompt stood between a person and the next command of the dispatcher.
#[test]
fn a_person_is_told_that_a_child_of_the_dispatcher_needs_no_prompt() {
    if !lent("a_person_is_told_that_a_child_of_the_dispatcher_needs_no_prompt") {
        return;
    }
    let room = TestRoom::with(&["alice"]);
    let shown = on_terminal(&room, 80, "setup --child coder", &PLAIN);
    let remark = "an agent in postroom.toml needs nothing more; for one that you start by hand:\n";
    assert!(shown.contains(&format!("{remark}prompt for the new agent:\n")), "{shown}");
    let piped = room.run(["setup", "--child", "tester"]).succeeds().out;
    assert!(piped.contains("prompt for the new agent:\n") && !piped.contains(remark), "{piped}");
}

#[test]
fn people_get_colour_and_ages() {
    if !lent("people_get_colour_and_ages") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob"]);
    let file = {
        room.by("alice", ["send", "bob", "-s", "old news", "-m", "x", "--priority", "urgent"]).succeeds();
        room.folder("bob", "inbox").join(room.files("bob", "inbox").pop().unwrap())
    };
    age(&file, 7300);
    let shown = on_terminal(&room, 80, "--as bob check", &[]);
    assert!(shown.contains('\u{1b}') && shown.contains("2h") && shown.contains("old news"), "{shown:?}");
    assert!(!shown.contains("Z alice"), "a relative time instead of a date: {shown}");
    for quiet in [&PLAIN[..], &[("TERM", "dumb")]] {
        let plain = on_terminal(&room, 80, "--as bob check", quiet);
        assert!(!plain.contains('\u{1b}') && plain.contains("old news"), "{quiet:?}: {plain:?}");
    }
    let names = on_terminal(&room, 100, "names", &PLAIN);
    assert!(names.starts_with("name ") && names.contains("seen just now"), "{names}");
}

#[test]
fn an_empty_inbox_names_the_room_to_people() {
    if !lent("an_empty_inbox_names_the_room_to_people") {
        return;
    }
    let room = TestRoom::with(&["bob"]);
    let root = room.root().display().to_string();
    for arguments in ["--as bob check", "--as bob read", "--as bob wait --timeout 0"] {
        let shown = on_terminal(&room, 200, arguments, &PLAIN);
        assert!(shown.contains("bob") && shown.contains(&root), "{arguments}: {shown:?}");
    }
    assert_eq!(on_terminal(&room, 80, "--quiet --as bob check", &PLAIN), "");
}

#[test]
fn lines_fit_a_narrow_terminal() {
    if !lent("lines_fit_a_narrow_terminal") {
        return;
    }
    let room = TestRoom::empty();
    let about = "knows everything there is to know about parsers and then some more";
    room.run(["setup", "a.rather.long.name.for.an.agent", "--about", about]).succeeds();
    room.run(["setup", "陳", "--about", about]).succeeds();
    let subject = "a subject that is a good deal longer than a narrow terminal is wide, and goes on";
    let marks = ["--priority", "urgent", "--channel", "build"];
    room.by(
        "a.rather.long.name.for.an.agent",
        ["send", "陳", "-s", subject, "-m", "x"].into_iter().chain(marks),
    )
    .succeeds();
    for width in [40, 60, 80, 120] {
        for arguments in ["--as 陳 check", "names"] {
            for line in on_terminal(&room, width, arguments, &[]).lines() {
                // The test counts characters, so that a wide one is let pass once.
                assert!(
                    columns(line) <= width as usize,
                    "{arguments} at {width}: {} in {line:?}",
                    columns(line)
                );
            }
        }
    }
}

/// One text with what a terminal may obey: CSI, OSC 52, OSC 8, C1, DEL, bidi, zero width, tags.
pub(crate) const HOSTILE: &str = "a\u{1b}[2Jb\u{1b}]52;c;eA==\u{7}c\u{1b}]8;;x\u{1b}\\d\u{9b}31me\u{7f}f\u{202e}g\u{200b}h\u{e0041}i\u{8}j\u{85}k";

/// Insists that nothing in a text is obeyed by a terminal.
#[track_caller]
pub(crate) fn harmless(what: &str, shown: &str) {
    let raw: Vec<char> = shown
        .chars()
        .filter(|c| (c.is_control() && *c != '\n') || matches!(c, '\u{202e}' | '\u{200b}' | '\u{e0041}'))
        .collect();
    assert!(raw.is_empty(), "{what} shows {raw:?} raw: {shown:?}");
}

/// A room in which every field that others write is hostile.
fn hostile_room() -> TestRoom {
    let room = TestRoom::with(&["bob"]).leaves_faults();
    let fields = format!("reply_to: x\u{202e}\nchannel: {HOSTILE}\nx-step: {HOSTILE}\n");
    let text = by_hand(HOSTILE, "abcd1111-1", HOSTILE, &format!("{HOSTILE}\r\n{HOSTILE}\n"));
    let text = text.replacen("---\n\n", &format!("{fields}---\n\n"), 1);
    room.place("bob", "20260101T000000Z-abcd1111-x.md", text);
    room.place("bob", "na\u{1b}[2Jme\u{9b}.md", by_hand("eve", "abcd2222", "by hand", "x"));
    room.place("bob", "br\u{1b}[2Joken\u{9b}.md", HOSTILE);
    room.bash("umask 077; mkdir -p \"$POSTROOM_ROOT\"/eve/{tmp,inbox,archive}").succeeds();
    // Another program's registry and journal may hold anything, too.
    let registry = std::fs::read_to_string(room.root().join("registry.json")).unwrap();
    let escaped = serde_json::to_string(HOSTILE).unwrap();
    let entry = format!(
        "{{\n  {escaped}: {{\"id\":\"eve\",\"harness\":{escaped},\"inbox\":{escaped},\"pid\":1,\"created\":{escaped},\"about\":{escaped},\"aliases\":{escaped}}},\n  {escaped_other}: 7,",
        escaped_other = serde_json::to_string(&format!("{HOSTILE}2")).unwrap()
    );
    std::fs::write(room.root().join("registry.json"), registry.replacen('{', &entry, 1)).unwrap();
    let line = serde_json::json!({"v": 1, "time": HOSTILE, "event": HOSTILE, "by": HOSTILE, "id": "x", "to": HOSTILE, "subject": HOSTILE, "file": HOSTILE, "note": HOSTILE});
    let day = room.root().join(".journal/2020-01-02.jsonl");
    std::fs::write(&day, format!("{line}\n")).unwrap();
    tighten(&day);
    room
}

#[test]
fn nothing_obeys_hostile_text() {
    if !lent("nothing_obeys_hostile_text") {
        return;
    }
    let room = hostile_room();
    for (arguments, shows) in [
        ("--as bob check", "u{1b}"),
        ("--as bob wait --timeout 0", "u{1b}"),
        ("--as bob read --keep abcd1111", "u{1b}"),
        ("--as bob read --keep abcd1111 --full", "u{9b}"),
        ("names", "u{1b}"),
        ("log", "u{1b}"),
        ("doctor", "u{1b}"),
        ("--as eve whoami", "u{1b}"),
        ("--as bob archive abcd2222", "archived"),
        ("--as bob unarchive abcd2222", "unread"),
        ("--as bob send nobody -m x", "nobody"),
        ("--as bob read", "u{1b}"),
    ] {
        let shown = on_terminal(&room, 100, arguments, &PLAIN);
        harmless(arguments, &shown);
        assert!(shown.contains(shows), "{arguments} shows that something was there: {shown:?}");
    }
}

#[test]
fn json_escapes_what_a_terminal_would_obey() {
    if !lent("json_escapes_what_a_terminal_would_obey") {
        return;
    }
    let room = hostile_room();
    for arguments in [
        "--as bob check --json",
        "--as bob read --keep abcd1111 --json",
        "names --json",
        "log --json",
        "doctor --json",
    ] {
        let shown = on_terminal(&room, 100, arguments, &PLAIN);
        harmless(arguments, &shown);
        for line in shown.lines() {
            serde_json::from_str::<serde_json::Value>(line)
                .unwrap_or_else(|e| panic!("{arguments}: {e}: {line}"));
        }
    }
    let read: serde_json::Value =
        serde_json::from_str(&on_terminal(&room, 100, "--as bob read --keep abcd1111 --json", &PLAIN))
            .unwrap();
    assert_eq!(read["messages"][0]["subject"], HOSTILE, "the document says the same");
}

#[test]
fn mistakes_of_the_command_line_are_shown_harmlessly() {
    if !lent("mistakes_of_the_command_line_are_shown_harmlessly") {
        return;
    }
    let room = TestRoom::with(&["bob"]);
    for arguments in [
        "$'fro\\e[2Jb'",
        "check $'--l\\e[2J'",
        "--as $'x\\e[2J' check",
        "--as bob read $'\\e[2Jabcd'",
        "--as bob send $'a\\e[2J' -m x",
        "setup $'a\\e[2J'",
        "--room $'a\\e[2J' check",
        "--root $'/nowhere\\e[2J' check",
        "--as bob send bob -s $'a\\e[2J' -m x",
        "tools man $'a\\e[2J'",
        "help $'a\\e[2J'",
        "--as bob send bob --file $'a\\e[2J'",
        "--as bob send bob -m x --id $'a\\e[2J'",
    ] {
        let shown = on_terminal(&room, 100, arguments, &[("NO_COLOR", "1"), ("SHELL", "/bin/bash")]);
        assert!(!shown.is_empty(), "{arguments}");
        harmless(arguments, &shown);
    }
}

#[test]
fn a_long_body_is_whole_on_a_terminal() {
    if !lent("a_long_body_is_whole_on_a_terminal") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob"]);
    let text = "line of a long letter\n".repeat(2000);
    room.by("alice", ["send", "bob", "-s", "long"]).input(&text).succeeds();
    let shown = on_terminal(&room, 80, "--as bob read", &PLAIN);
    assert!(shown.contains(&text), "{} of {} bytes", shown.len(), text.len());
    assert_eq!(room.files("bob", "archive").len(), 1);
}

/// A folded line could not be copied as a command, and its body had more bytes than its fence said.
#[test]
fn a_body_is_shown_line_by_line_as_it_is() {
    if !lent("a_body_is_shown_line_by_line_as_it_is") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob"]);
    let line =
        "cargo nextest run --profile ci -E 'test(parser) and not test(slow)' && git push origin HEAD:main";
    let body = format!("{line}\n  {line}\n\n{line} # a remark of two\n");
    room.by("alice", ["send", "bob", "-s", line, "-m", &body]).succeeds();
    let fenced = format!(": {} bytes]\n{body}[", body.len());
    for arguments in ["read --keep", "read", "claim"] {
        if arguments == "claim" {
            room.by("alice", ["send", "bob", "-m", &body]).succeeds();
        }
        let shown = on_terminal(&room, 40, &format!("--as bob {arguments}"), &PLAIN);
        assert!(shown.contains(&fenced), "{arguments}: {shown}");
        let head = shown.split("bytes]").next().unwrap();
        assert!(
            head.lines().count() > 2
                && head.lines().all(|line| columns(line) <= 40 || line.contains("postroom")),
            "{head}"
        );
    }
}
