//! What a person sees of claims, groups, threads, traces, searches and figures: colour, tables that fit, and never a
//! control byte out of a mail, a name, a group or a journal.

use crate::command_line::terminal::{HOSTILE, PLAIN, columns, harmless, lent, on_terminal};
use crate::support::hand::{by_hand, tighten};
use crate::support::room::TestRoom;
use crate::support::taken::claim;

/// A room in which everything that others write is hostile, with a claim and a dead letter.
fn hostile_room() -> TestRoom {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    let bob = room.id("bob");
    for (id, name) in [
        ("abcd1111-1", "20260101T000000Z-abcd1111-x.md"),
        ("abcd2222-2", "20260102T000000Z-abcd2222-x.md"),
        ("abcd3333-3", "20260103T000000Z-abcd3333-x.md"),
    ] {
        let text = by_hand(&bob, id, HOSTILE, &format!("needle {HOSTILE}\n"));
        let fields = format!("reply_to: x\u{202e}\nchannel: {HOSTILE}\nx-step: {HOSTILE}\n");
        room.place("bob", name, text.replacen("---\n\n", &format!("{fields}---\n\n"), 1));
    }
    let token = claim(&room, "bob", &["abcd1111"]);
    room.by("bob", ["fail", &token, "--reason", HOSTILE]).succeeds();
    claim(&room, "bob", &["abcd2222"]);
    // Another program's groups, attempts, terms, holder and journal may hold anything, too.
    let hostile = serde_json::to_string(HOSTILE).unwrap();
    let groups = room.root().join("groups.json");
    std::fs::write(&groups, format!("{{{hostile}: [{hostile}, \"@\", \"{bob}\"]}}")).unwrap();
    tighten(&groups);
    let attempts = room.folder("bob", "attempts").join("20260101T000000Z-abcd1111-x.md");
    let line = format!(
        "{{\"v\":1,\"time\":{hostile},\"token\":{hostile},\"owner\":{hostile},\"how\":{hostile},\"why\":{hostile}}}\n"
    );
    let before = std::fs::read_to_string(&attempts).unwrap();
    std::fs::write(&attempts, format!("{before}{line}")).unwrap();
    let token = room.files("bob", "claimed").pop().unwrap();
    for key in ["ends", "owner"] {
        crate::support::taken::set_term(&room, "bob", &token, key, HOSTILE);
    }
    let day = room.root().join(".journal/2020-01-02.jsonl");
    let events: String = ["sent", "shown", "done", "claimed", HOSTILE]
        .iter()
        .map(|event| {
            let line = serde_json::json!({"v": 1, "time": HOSTILE, "event": event, "by": HOSTILE, "id": "abcd3333-3", "to": HOSTILE, "mailbox": HOSTILE, "subject": HOSTILE, "file": HOSTILE, "note": HOSTILE, "reply_to": HOSTILE});
            format!("{line}\n")
        })
        .collect();
    std::fs::write(&day, events).unwrap();
    tighten(&day);
    room
}

const LOOKS: [(&str, &str); 14] = [
    ("--as bob failed list", "u{1b}"),
    ("--as bob failed show abcd1111", "u{1b}"),
    ("--as bob thread abcd3333", "u{1b}"),
    ("--as bob trace abcd1111", "u{1b}"),
    ("--as bob trace abcd2222", "u{1b}"),
    ("--as bob trace abcd3333", "u{1b}"),
    ("--as bob sent", "u{1b}"),
    ("search needle", "u{1b}"),
    ("group list", "u{1b}"),
    ("stats --since 520w", "bob"),
    ("--as bob ask alice -m x --timeout 0", "queued"),
    ("--as bob send alice -m x --wait-for shown --timeout 0", "queued"),
    ("--as alice prune bob", "unread"),
    ("--as bob claim abcd3333", "u{1b}"),
];

#[test]
fn nothing_obeys_hostile_text() {
    if !lent("nothing_obeys_hostile_text (life)") {
        return;
    }
    let room = hostile_room();
    for (arguments, shows) in LOOKS {
        let shown = on_terminal(&room, 100, arguments, &PLAIN);
        harmless(arguments, &shown);
        assert!(shown.contains(shows), "{arguments} shows that something was there: {shown:?}");
    }
}

#[test]
fn without_a_terminal_it_is_harmless_too() {
    // An agent's own program may show what its tool printed.
    let room = hostile_room();
    for (arguments, _) in LOOKS {
        let ran = room.bash(&format!("postroom {arguments}")).ends();
        if arguments.contains("failed show") || arguments.contains("claim") {
            // A body keeps what no terminal obeys.
            assert!(
                !ran.out.contains(['\u{1b}', '\u{9b}', '\u{85}', '\u{202e}']),
                "{arguments}: {:?}",
                ran.out
            );
            assert!(ran.out.contains("f\\u{202e}g\u{200b}h\u{e0041}i\u{8}j"), "{arguments}: {:?}", ran.out);
            continue;
        }
        harmless(arguments, &ran.out);
        harmless(arguments, &ran.err);
    }
}

#[test]
fn json_escapes_what_a_terminal_would_obey() {
    if !lent("json_escapes_what_a_terminal_would_obey (life)") {
        return;
    }
    let room = hostile_room();
    for (arguments, _) in LOOKS {
        let arguments = format!("--json {arguments}");
        let shown = on_terminal(&room, 100, &arguments, &PLAIN);
        harmless(&arguments, &shown);
        for line in shown.lines() {
            serde_json::from_str::<serde_json::Value>(line)
                .unwrap_or_else(|e| panic!("{arguments}: {e}: {line}"));
        }
    }
}

#[test]
fn mistakes_of_the_command_line_are_shown_harmlessly() {
    if !lent("mistakes_of_the_command_line_are_shown_harmlessly (life)") {
        return;
    }
    let room = TestRoom::with(&["bob"]);
    for arguments in [
        "--as bob done $'a\\e[2J'",
        "--as bob claim $'a\\e[2Jbcd'",
        "--as bob claim --queue $'a\\e[2J'",
        "--as bob failed retry $'a\\e[2Jbcd'",
        "--as bob failed $'a\\e[2J'",
        "--as bob ask $'a\\e[2J' -m x",
        "--as bob send $'@a\\e[2J' -m x",
        "--as bob send bob -m x --wait-for $'a\\e[2J'",
        "group add $'a\\e[2J' bob",
        "group add team $'a\\e[2J'",
        "group remove $'a\\e[2J'",
        "thread $'a\\e[2Jbcd'",
        "trace $'a\\e[2Jbcd'",
        "search --regex $'(\\e[2J'",
        "search x --since $'a\\e[2J'",
        "takeover $'a\\e[2J'",
        "prune $'a\\e[2J'",
        "stats --since $'a\\e[2J'",
    ] {
        let shown = on_terminal(&room, 100, arguments, &[("NO_COLOR", "1"), ("SHELL", "/bin/bash")]);
        assert!(!shown.is_empty(), "{arguments}");
        harmless(arguments, &shown);
    }
}

/// A room with long names, long subjects, a thread, a dead letter and figures.
fn wide_room() -> TestRoom {
    let room = TestRoom::with(&["a.rather.long.name.for.an.agent", "陳"]);
    let subject = "a subject that is a good deal longer than a narrow terminal is wide, and goes on";
    for (from, to) in [("a.rather.long.name.for.an.agent", "陳"), ("陳", "a.rather.long.name.for.an.agent")]
    {
        room.by(
            from,
            ["send", to, "-s", subject, "-m", "needle in a line that is longer than a terminal is wide, too"],
        )
        .succeeds();
    }
    let id = room.files("陳", "inbox")[0][17..25].to_owned();
    room.by("陳", ["reply", &id, "-m", "x"]).succeeds();
    let token = claim(&room, "a.rather.long.name.for.an.agent", &[]);
    let reason = "a reason that is longer than a narrow terminal is wide";
    room.by("a.rather.long.name.for.an.agent", ["fail", &token, "--reason", reason]).succeeds();
    room
}

#[test]
fn lines_fit_a_narrow_terminal() {
    if !lent("lines_fit_a_narrow_terminal (life)") {
        return;
    }
    let room = wide_room();
    let id = room.files("陳", "archive")[0][17..25].to_owned();
    for width in [40, 60, 80, 120] {
        for arguments in [
            format!("thread {id}"),
            "--as 陳 sent".to_owned(),
            "--as a.rather.long.name.for.an.agent failed list".to_owned(),
            "search needle".to_owned(),
            "stats".to_owned(),
        ] {
            let shown = on_terminal(&room, width, &arguments, &[]);
            // A command stays one line, so that it can be copied.
            for line in shown.lines().filter(|line| !line.starts_with("postroom ")) {
                assert!(
                    columns(line) <= width as usize,
                    "{arguments} at {width}: {} in {line:?}",
                    columns(line)
                );
            }
        }
    }
}

#[test]
fn people_get_a_table_of_figures_with_sparklines() {
    if !lent("people_get_a_table_of_figures_with_sparklines") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "x");
    room.by("bob", ["read"]).succeeds();
    let shown = on_terminal(&room, 140, "stats", &PLAIN);
    let mut lines = shown.lines();
    assert!(lines.next().unwrap().starts_with("name "), "{shown}");
    assert!(lines.any(|line| line.starts_with("bob ") && line.ends_with('█')), "{shown}");
    assert!(on_terminal(&room, 140, "stats", &[]).contains('\u{1b}'), "colour");
}

#[test]
fn people_are_told_that_there_is_nothing_and_where() {
    if !lent("people_are_told_that_there_is_nothing_and_where") {
        return;
    }
    let room = TestRoom::with(&["bob"]);
    let root = room.root().display().to_string();
    for arguments in [
        "--as bob claim",
        "--as bob failed list",
        "--as bob sent",
        "group list",
        "search needle",
        "prune --archived 1d",
    ] {
        let shown = on_terminal(&room, 200, arguments, &PLAIN);
        assert!(shown.contains(&root), "{arguments}: {shown:?}");
        assert_eq!(room.bash(&format!("postroom {arguments}")).exits(1).out, "", "agents get silence");
    }
}

#[test]
fn a_prune_asks_people_and_does_what_they_say() {
    if !lent("a_prune_asks_people_and_does_what_they_say") {
        return;
    }
    for (answer, gone) in [("n", false), ("", false), ("nonsense", false), ("y", true), ("yes", true)] {
        let room = TestRoom::with(&["alice", "bob"]);
        let id = room.id("bob");
        let script = "exec script -qec 'postroom --as alice prune bob' /dev/null";
        let run = room.bash(script).env("TERM", "dumb").env("SHELL", "/bin/sh").input(format!("{answer}\n"));
        let shown = run.ends().out;
        assert!(
            shown.contains("would remove the mailbox bob") && shown.contains("[y/N]"),
            "{answer:?}: {shown}"
        );
        assert_eq!(!room.root().join(&id).exists(), gone, "{answer:?}: {shown}");
    }
}
