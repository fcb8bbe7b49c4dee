//! `--all`: one person's mail, and everybody's names, in all rooms.

use std::time::Duration;

use serde_json::Value;

use crate::support::room::TestRoom;

/// Two rooms, `one` and `two`, with alice in both and `user` in the second.
fn rooms() -> TestRoom {
    let around = TestRoom::empty();
    for (room, name) in [("one", "alice"), ("two", "alice"), ("two", "user"), ("one", "bob")] {
        around.bare(["--room", room, "setup", "--child", name]).succeeds();
    }
    around
}

fn send(around: &TestRoom, room: &str, to: &str, text: &str) {
    around.bare(["--room", room, "--as", "alice", "send", to, "-m", text]).succeeds();
}

#[test]
fn the_mail_of_the_person_is_found_in_every_room() {
    let around = rooms();
    assert_eq!(around.bare(["check", "--all"]).exits(1).out, "");
    send(&around, "two", "user", "for you");
    let out = around.bare(["check", "--all"]).succeeds().out;
    assert!(out.starts_with("user@two ") && out.ends_with(" alice: for you\n"), "{out}");
    assert_eq!(around.bare(["check", "--all", "--count"]).succeeds().out, "1\n");
    let json = around.bare(["check", "--all", "--json"]).json();
    assert_eq!((&json["unread"], &json["mailboxes"][0]["room"]), (&1.into(), &"two".into()), "{json}");
    assert_eq!(json["mailboxes"][0]["messages"][0]["subject"], "for you");
}

#[test]
fn a_name_is_looked_for_in_every_room() {
    let around = rooms();
    send(&around, "one", "alice", "note in one");
    send(&around, "two", "alice", "note in two");
    let out = around.bare(["--as", "alice", "check", "--all"]).succeeds().out;
    let places: Vec<_> = out.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(places, ["alice@one", "alice@two"], "{out}");
    let out = around.bare(["--as", "bob", "check", "--all", "--from", "alice"]).exits(1).out;
    assert_eq!(out, "", "bob is in one room alone, and has none");
    let ran = around.bare(["--as", "nobody", "check", "--all"]).exits(3);
    assert!(ran.err.contains("nobody in any room is called `nobody`"), "{ran:?}");
    // A sender of one room is known; a mistyped one is not taken for one who has sent nothing.
    around.bare(["--as", "alice", "check", "--all", "--from", "bob"]).exits(1);
    let ran = around.bare(["--as", "alice", "check", "--all", "--from", "bbo"]).exits(3);
    assert!(ran.err.contains("nobody in any room is called `bbo`"), "{ran:?}");
    assert!(ran.err.contains("postroom names --all"), "{ran:?}");
}

#[test]
fn a_terminal_is_looked_for_as_well() {
    let around = rooms();
    let script = "unset POSTROOM_ROOT; postroom --room one setup carol -q; postroom --room two setup dora -q
        for room in one two; do postroom --room $room --as alice send @all -m hello -q; done; postroom check --all | cut -d' ' -f1";
    let ran = around.bash(script).by_person();
    assert_eq!(ran.out, "carol@one\ndora@two\nuser@two\n", "{ran:?}");
}

#[test]
fn all_names_have_their_room() {
    let around = rooms();
    let out = around.bare(["names", "--all"]).succeeds().out;
    let names: Vec<_> = out.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(names, ["alice@one", "bob@one", "alice@two", "user@two"]);
    let json = around.bare(["names", "bob", "--all", "--json"]).json();
    assert_eq!(json["rooms"][0]["names"][0]["name"], "bob", "{json}");
    around.bare(["names", "x*", "--all"]).exits(1);
    around.bare(["--room", "one", "names", "--all"]).exits(2);
}

#[test]
fn a_wait_ends_with_mail_in_any_room() {
    let around = rooms();
    assert_eq!(around.bare(["wait", "--all", "--timeout", "0"]).exits(1).out, "");
    let waiting = around.bare(["wait", "--all", "--timeout", "60", "--json"]).start();
    std::thread::sleep(Duration::from_millis(200));
    send(&around, "two", "user", "wake up");
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["timed_out"], &json["mailboxes"][0]["unread"]), (&false.into(), &1.into()), "{json}");
}

#[test]
fn who_stays_refuses_a_room_that_others_could_move_away() {
    let around = rooms();
    let above = around.around().join("home/.local");
    std::fs::set_permissions(&above, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let ran = around.bare(["wait", "--all", "--timeout", "1"]).exits(5);
    assert!(
        ran.err.contains("the room one could not be read") && ran.err.contains("writable by others"),
        "{ran:?}"
    );
}

#[test]
fn a_wait_notices_a_mailbox_that_is_made_meanwhile() {
    let around = rooms();
    let waiting = around.bare(["wait", "--all", "--timeout", "60"]).start();
    std::thread::sleep(Duration::from_millis(200));
    around.bare(["--room", "three", "setup", "alice"]).succeeds();
    around.bare(["--room", "three", "setup", "--child", "user"]).succeeds();
    send(&around, "three", "user", "wake up");
    let output = waiting.wait_with_output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("user@three "));
}

#[test]
fn a_room_that_cannot_be_looked_into_is_not_empty() {
    let around = rooms();
    let room = around.around().join("home/.local/state/postroom/rooms/one");
    std::fs::write(room.join("registry.json"), "{").unwrap();
    let ran = around.bare(["check", "--all"]).exits(5);
    assert!(ran.err.contains("the room one could not be read"), "{ran:?}");
    send(&around, "two", "user", "for you");
    let ran = around.bare(["check", "--all"]).succeeds();
    assert!(ran.out.starts_with("user@two ") && ran.err.contains("the room one"), "{ran:?}");
    let json = around.bare(["names", "--all", "--json"]).json();
    assert_eq!(json["failed"][0]["room"], "one", "{json}");
}

/// The mailbox of a session or of the environment was left out, and its mail passed for an empty inbox.
#[test]
fn an_agent_finds_its_own_mailbox_too() {
    let around = rooms();
    send(&around, "one", "bob", "work");
    let bob = around.bare(["--room", "one", "--as", "bob", "whoami", "--json"]).json();
    let (id, root) = (bob["id"].as_str().unwrap(), bob["root"].as_str().unwrap());
    let by_variable = |words: &[&str]| {
        around
            .bare(words.iter().copied())
            .env("AGENT_MAILBOX_ID", id)
            .env("POSTROOM_ROOT", root)
            .succeeds()
            .out
    };
    let out = by_variable(&["check", "--all"]);
    assert!(out.starts_with("bob@one ") && out.ends_with(" alice: work\n"), "{out}");
    assert_eq!(by_variable(&["check", "--all", "--count"]), "1\n");
    assert!(by_variable(&["wait", "--all", "--timeout", "0"]).starts_with("bob@one "));
    // The variable names a mailbox of one room.
    let ran = around.bare(["check", "--all"]).env("AGENT_MAILBOX_ID", id).exits(3);
    assert!(ran.err.contains("there is no room at"), "{ran:?}");
    around.bare(["setup", "--child", "carol"]).succeeds();
    let ran = around.bare(["check", "--all"]).env("AGENT_MAILBOX_ID", id).exits(3);
    assert!(ran.err.contains("AGENT_MAILBOX_ID says"), "{ran:?}");

    let in_session = |words: &[&str]| around.bare(words.iter().copied()).env("CLAUDE_CODE_SESSION_ID", "s1");
    in_session(&["--room", "one", "takeover", "bob", "--force"]).succeeds();
    let out = in_session(&["check", "--all"]).succeeds().out;
    assert!(out.starts_with("bob@one "), "{out}");
    around.bare(["--room", "one", "takeover", "bob", "--force"]).env("CODEX_THREAD_ID", "s2").succeeds();
    let ran = in_session(&["check", "--all"]).exits(4);
    assert!(ran.err.contains("was taken over"), "{ran:?}");
}

#[test]
fn a_room_without_a_name_is_looked_into_if_it_is_that_of_the_command() {
    let around = rooms();
    around.run(["setup", "dora"]).succeeds();
    around.run(["setup", "emil"]).succeeds();
    around.send("emil", "dora", "hello");
    let check = around.bare(["check", "--all", "--json"]).env("POSTROOM_ROOT", around.root());
    let json = check.env("AGENT_MAILBOX_ID", around.id("dora")).json();
    let root = around.root().display().to_string();
    let dora =
        json["mailboxes"].as_array().unwrap().iter().find(|mailbox| mailbox["name"] == "dora").unwrap();
    assert_eq!((dora.get("room"), &dora["root"], &dora["unread"]), (None, &root.into(), &1.into()), "{json}");
}

#[test]
fn a_caller_without_a_mailbox_is_not_an_empty_inbox() {
    let around = TestRoom::empty();
    for words in [&["check", "--all"][..], &["wait", "--all", "--timeout", "0"]] {
        let ran = around.bare(words.iter().copied()).exits(3);
        assert!(ran.err.contains("this command has no identity"), "{ran:?}");
    }
    around.bare(["--room", "one", "setup", "alice"]).succeeds();
    let ran = around.bare(["check", "--all"]).exits(3);
    assert!(ran.err.contains("postroom names --all") && ran.err.contains("--as NAME"), "{ran:?}");
}
