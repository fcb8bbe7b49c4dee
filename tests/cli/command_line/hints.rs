//! Every printed command can be pasted: it names the room and the mailbox where the present one did, and it is run here.

use crate::support::hand::by_hand;
use crate::support::pasted::commands;
use crate::support::room::{Ran, TestRoom};

/// Insists that the output has exactly these commands, each shown with the flags of the room, and that each ends with its
/// code when it is pasted.
#[track_caller]
fn pasted(room: &TestRoom, ran: &Ran, expected: &[(&str, i32)]) {
    let printed: Vec<String> = commands(&ran.out).chain(commands(&ran.err)).collect();
    let root = room.root().display().to_string();
    let short: Vec<String> = printed.iter().map(|line| line.replace(&root, "ROOM")).collect();
    assert_eq!(short, expected.iter().map(|(line, _)| *line).collect::<Vec<_>>(), "{ran:?}");
    for (line, (_, code)) in printed.iter().zip(expected) {
        room.paste(line).exits(*code);
    }
}

#[test]
fn without_identity_the_command_comes_back_with_a_name_that_is_here() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.by("bob", ["check"]).exits(1);
    let ran = room.run(["check"]).exits(3);
    pasted(&room, &ran, &[("postroom --as bob --root ROOM check", 1)]);
    assert!(ran.err.contains("names here: bob, alice"), "{ran:?}");
    let document = room.run(["--json", "check"]).exits(3);
    pasted(&room, &document, &[("postroom --as bob --root ROOM --json check", 1)]);
    // An agent is rather somebody new.
    let ran = room.run(["check"]).env("CLAUDECODE", "1").exits(3);
    let new = ("postroom --root ROOM setup", 0);
    pasted(&room, &ran, &[new, ("postroom --as bob --root ROOM check", 1)]);
}

#[test]
fn nobody_is_advised_to_write_to_themselves() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.by("bob", ["setup", "--alias", "bobby"]).succeeds();
    for to in ["bob", "BOB", "bobby"] {
        room.by("bob", ["check"]).ends();
        let ran = room.run(["send", to, "-m", "hi"]).exits(3);
        let again = format!("postroom --as alice --root ROOM send {to} -m hi");
        pasted(&room, &ran, &[(&again, 0)]);
        assert!(ran.err.contains("names here: bob, alice"), "{ran:?}");
    }
    let new = ("postroom --root ROOM setup", 0);
    pasted(&room, &room.run(["send", "bob", "alice", "-m", "hi"]).exits(3), &[new]);
    let ran = room.by("alcie", ["send", "alice", "-m", "hi"]).exits(3);
    pasted(&room, &ran, &[("postroom --root ROOM setup alcie", 0)]);
    let alone = TestRoom::with(&["bob"]);
    pasted(&alone, &alone.run(["send", "bob", "-m", "hi"]).exits(3), &[new]);
}

#[test]
fn without_a_room_setup_is_what_comes_first() {
    let room = TestRoom::empty();
    let ran = room.run(["check"]).exits(3);
    pasted(&room, &ran, &[("postroom --root ROOM setup", 0)]);
}

/// A person was told to make a mailbox with a free name, which cannot approve and is not the one that gates ask.
#[test]
fn a_person_is_told_to_set_up_as_user() {
    let said = |room: &TestRoom, words: &[&str], code| {
        let ran = room.run(words.iter().copied()).by_person().with(code);
        let root = room.root().display().to_string();
        commands(&ran.err).map(|line| line.replace(&root, "ROOM")).collect::<Vec<_>>()
    };
    let user = "postroom --root ROOM setup user";
    let empty = TestRoom::empty();
    for words in [&["status"][..], &["names"], &["agents"], &["tui"], &["dispatch", "--watch"], &["check"]] {
        assert_eq!(said(&empty, words, 3)[0], user, "{words:?}");
    }
    let room = TestRoom::with(&["coder"]);
    assert_eq!(said(&room, &["send", "coder", "-m", "hi"], 3), [user]);
    assert_eq!(said(&room, &["check"], 3), [user, "postroom --as coder --root ROOM check"]);
    // In a session of an agent at the same terminal it is a free name, as before.
    let ran = room.run(["check"]).env("CLAUDECODE", "1").by_person().with(3);
    assert!(ran.err.contains(" setup  # makes your mailbox with a free name"), "{ran:?}");
    room.run(["setup", "--child", "user"]).succeeds();
    let again = "postroom --as user --root ROOM check";
    assert_eq!(said(&room, &["check"], 3), [again, user]);
}

#[test]
fn flags_are_repeated_and_what_needs_none_is_not() {
    let room = TestRoom::empty();
    room.bare(["--room", "one", "setup", "alice"]).succeeds();
    let ran = room.bare(["--room", "one", "--as", "alice", "read", "deadbeef"]).exits(3);
    pasted(&room, &ran, &[("postroom --room one --as alice check", 1), ("postroom --room one log", 0)]);
    let root = room.around().join("home/.local/state/postroom/rooms/one");
    let run = room.bare(["read", "deadbeef"]).env("POSTROOM_ROOT", root).env("AGENT_MAILBOX_ID", "alice");
    let ran = run.exits(3);
    assert_eq!(commands(&ran.err).collect::<Vec<_>>(), ["postroom check", "postroom log"]);
}

#[test]
fn a_name_that_is_not_here() {
    let room = TestRoom::with(&["alice", "bob"]);
    let ran = room.by("alcie", ["check"]).exits(3);
    pasted(
        &room,
        &ran,
        &[("postroom --as alice --root ROOM check", 1), ("postroom --root ROOM setup alcie", 0)],
    );
    room.run(["group", "add", "reviewers", "bob"]).succeeds();
    let ran = room.by("alice", ["send", "reviewers", "-m", "it's done"]).exits(3);
    pasted(&room, &ran, &[("postroom --root ROOM --as alice send @reviewers -m 'it'\\''s done'", 0)]);
    let ran = room.by("alice", ["send", "all", "-m", "hi"]).exits(3);
    pasted(&room, &ran, &[("postroom --root ROOM --as alice send @all -m hi", 0)]);
    let ran = room.by("alice", ["send", "@nobody", "-m", "hi"]).exits(3);
    pasted(&room, &ran, &[("postroom help group add", 0)]);
    room.run(["group", "add", "solo", "alice"]).succeeds();
    let ran = room.by("alice", ["send", "@solo", "-m", "hi"]).exits(4);
    pasted(&room, &ran, &[("postroom --root ROOM group list", 0)]);
}

#[test]
fn a_message_that_is_not_there() {
    let room = TestRoom::with(&["alice", "bob"]);
    let ran = room.by("bob", ["read", "ab"]).exits(2);
    pasted(&room, &ran, &[("postroom --root ROOM --as bob check", 1)]);
    let id = room.send("alice", "bob", "hi");
    let ran = room.by("bob", ["read"]).succeeds();
    // An agent gets the id alone; a person at a terminal gets the command.
    assert!(ran.out.starts_with(&id) && commands(&ran.out).next().is_none(), "{ran:?}");
    let id = room.send("alice", "bob", "work");
    room.by("bob", ["claim"]).succeeds();
    let ran = room.by("bob", ["archive", &id]).exits(4);
    let trace = format!("postroom --root ROOM trace {id}");
    pasted(&room, &ran, &[(&trace, 0), ("postroom --root ROOM --as bob check", 1)]);
    let ran = room.by("bob", ["send", "alice", "--reply-to", "x", "-m", "hi"]).exits(4);
    pasted(&room, &ran, &[("postroom --root ROOM --as bob check --json", 1)]);
}

#[test]
fn a_sender_who_is_not_here() {
    let room = TestRoom::with(&["bob"]);
    room.place("bob", "note.md", by_hand("nobody", "9f8e7d6c-1", "s", "b"));
    let ran = room.by("bob", ["reply", "9f8e7d6c-1", "-m", "hi"]).exits(3);
    pasted(&room, &ran, &[("postroom --root ROOM names", 0)]);
}

#[test]
fn claims() {
    let room = TestRoom::with(&["alice", "bob"]);
    let none = "00000000000000000000000000000000";
    let ran = room.by("bob", ["done", none]).exits(3);
    pasted(&room, &ran, &[("postroom --root ROOM --as bob claim", 1), ("postroom --root ROOM log", 0)]);
    room.send("alice", "bob", "work");
    let ran = room.by("bob", ["claim"]).succeeds();
    let done = commands(&ran.out).next().unwrap();
    let token = done.rsplit(' ').next().unwrap().to_owned();
    let ran = room.by("alice", ["done", &token]).exits(4);
    pasted(&room, &ran, &[(&format!("postroom --as bob --root ROOM done {token}"), 0)]);
    room.send("alice", "bob", "more");
    let ran = room.by("bob", ["claim"]).succeeds();
    room.paste(&commands(&ran.out).next().unwrap()).succeeds();
}

#[test]
fn names_that_are_taken_or_reserved() {
    let room = TestRoom::with(&["alice", "bob"]);
    let ran = room.run(["setup", "bob"]).exits(4);
    let printed: Vec<String> = commands(&ran.err).collect();
    let (mine, free) = printed.split_last().unwrap();
    assert!(mine.ends_with("--as bob whoami") && !free.is_empty(), "{ran:?}");
    printed.iter().for_each(|line| drop(room.paste(line).succeeds()));
    let ran = room.by("alice", ["setup", "carol"]).exits(4);
    pasted(&room, &ran, &[("postroom --root ROOM --as alice setup --alias carol", 0)]);
    let ran = room.run(["setup", "user"]).exits(4);
    pasted(&room, &ran, &[("postroom --root ROOM setup --child user", 0)]);
}

#[test]
fn a_person_is_advised_to_act_as_the_person() {
    let room = TestRoom::with(&["user", "alice"]);
    let ran = room.run(["check"]).by_person().with(3);
    assert!(ran.err.contains(" --as user ") && ran.err.contains("names here: user, alice"), "{ran:?}");
    let ran = room.run(["check"]).exits(3);
    assert!(!ran.err.contains("--as user"), "without a terminal nobody is the person: {ran:?}");
    let ran = room.run(["setup", "user"]).by_person().with(0);
    assert!(ran.out.contains("this terminal acts as user"), "{ran:?}");
}

#[test]
fn the_person_gets_no_prompt_for_an_agent() {
    let room = TestRoom::with(&["alice"]);
    let ran = room.run(["setup", "--child", "user"]).by_person().with(0);
    assert!(ran.out.contains("name: user") && !ran.out.contains("You are the agent"), "{ran:?}");
}

#[test]
fn prune_and_undo() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "hi");
    let ran = room.run(["prune", "bob", "--yes"]).exits(4);
    pasted(&room, &ran, &[("postroom --root ROOM prune --unread bob --yes", 0)]);
    let ran = room.run(["prune", "alice"]).exits(4);
    pasted(&room, &ran, &[("postroom --root ROOM prune --yes alice", 0)]);
    room.run(["setup", "carol"]).succeeds();
    let ran = room.run(["prune", "carol", "--yes"]).succeeds();
    let undo = commands(&ran.out).next().unwrap();
    let bag = undo.rsplit(' ').next().unwrap();
    room.run(["setup", "carol"]).succeeds();
    let ran = room.paste(&undo).exits(4);
    let new = format!("postroom --root ROOM undo {bag} --name carol-2");
    pasted(&room, &ran, &[(&new, 0), ("postroom --root ROOM prune carol", 4)]);
    let ran = room.run(["undo", bag]).exits(3);
    pasted(&room, &ran, &[("postroom --root ROOM undo", 0)]);
    let ran = room.run(["prune"]).exits(2);
    pasted(
        &room,
        &ran,
        &[("postroom --root ROOM names", 0), ("postroom --root ROOM prune --archived 30d", 1)],
    );
}

#[test]
fn other_refusals() {
    let room = TestRoom::with(&["alice", "bob"]);
    let key = format!("AKIA{}", "ABCDEFGHIJKLMNOP");
    let ran = room.by("alice", ["send", "bob", "-m", &key]).exits(4);
    assert!(
        ran.err.contains("--allow-secrets") && !ran.err.contains(&key),
        "the secret is not repeated: {ran:?}"
    );
    room.by("alice", ["send", "bob", "-m", &key, "--allow-secrets"]).succeeds();
    room.send("alice", "bob", "one more");
    let ran = room.by("bob", ["check", "--limit", "1"]).succeeds();
    pasted(&room, &ran, &[("postroom --root ROOM --as bob check --limit 2", 0)]);
    let ran = room.by("bob", ["takeover", "alice"]).exits(4);
    pasted(&room, &ran, &[("postroom --root ROOM takeover alice --force", 0)]);
    let ran = room.bare(["--as", "zoe", "check", "--all"]).exits(3);
    assert_eq!(commands(&ran.err).collect::<Vec<_>>(), ["postroom names --all"]);
}

/// The first line told a new agent to act as somebody else, and it would have taken that one's mail.
#[test]
fn an_agent_without_a_mailbox_is_told_to_make_one_first() {
    let room = TestRoom::with(&["alice", "bob"]);
    let ran = room.run(["read"]).env("CLAUDE_CODE_SESSION_ID", "s9").exits(3);
    let first = commands(&ran.err).next().unwrap_or_default().to_owned();
    assert!(first.ends_with(" setup"), "{first}: {}", ran.err);
    assert!(ran.err.contains("only if you are "), "{}", ran.err);
    let ran = room.run(["read"]).exits(3);
    assert!(commands(&ran.err).next().unwrap_or_default().contains("--as "), "{}", ran.err);
}

#[test]
fn groups_rooms_and_names_that_are_not_there() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    room.run(["group", "add", "team", "bob"]).succeeds();
    let ran = room.run(["group", "remove", "team", "alice"]).exits(3);
    pasted(&room, &ran, &[("postroom --root ROOM group list", 0)]);
    let ran = room.by("alice", ["send", "bob@nowhere", "-m", "x"]).exits(3);
    pasted(&room, &ran, &[("postroom rooms", 1)]);
    // Two names that differ in their case, written by hand.
    let registry = room.root().join("registry.json");
    let text = std::fs::read_to_string(&registry).unwrap();
    let twice = text.replacen("{", "{\n  \"Bob\": {\"id\": \"bob-2\"},", 1);
    std::fs::write(&registry, twice).unwrap();
    let ran = room.by("alice", ["send", "BOB", "-m", "x"]).exits(4);
    pasted(&room, &ran, &[("postroom --root ROOM names", 0)]);
}

#[test]
fn a_mailbox_that_was_taken_over() {
    let room = TestRoom::empty();
    let claude = |words: [&str; 2]| room.run(words).env("CLAUDE_CODE_SESSION_ID", "s1");
    claude(["setup", "alice"]).succeeds();
    room.run(["takeover", "alice", "--force"]).env("CODEX_THREAD_ID", "s2").succeeds();
    let ran = claude(["check", "--quiet"]).exits(4);
    let setup = ("postroom --root ROOM setup", 0);
    pasted(&room, &ran, &[setup, ("postroom --root ROOM takeover alice --force", 0)]);
}

#[test]
fn a_long_text_is_not_repeated() {
    let room = TestRoom::with(&["bob", "alice"]);
    let ran = room.run(["send", "bob", "-m", &"long ".repeat(60)]).exits(3);
    assert_eq!(commands(&ran.err).count(), 0);
    assert!(ran.err.contains("the same with --as alice"), "{ran:?}");
}

/// `--all` of `failed list` was taken for all rooms, so the next command looked into another room.
#[test]
fn all_of_one_room_keeps_the_room() {
    let room = TestRoom::empty();
    room.bare(["--room", "two", "setup", "ben"]).succeeds();
    let ran = room.bare(["--room", "two", "--as", "ben", "failed", "show", "abcd1234"]).exits(3);
    pasted(&room, &ran, &[("postroom --room two --as ben failed list --all", 1)]);
}

/// The first command that a newcomer saw made a mailbox called `NAME` when it was pasted.
#[test]
fn the_word_that_stands_for_a_name_is_not_taken_for_one() {
    let room = TestRoom::with(&["alice"]);
    let ran = room.run(["setup", "NAME"]).exits(4);
    pasted(&room, &ran, &[("postroom --root ROOM setup", 0)]);
    room.run(["setup", "bob", "--alias", "NAME"]).exits(4);
    room.run(["setup", "name"]).succeeds();
}

#[test]
fn an_unknown_name_to_act_as_is_told_who_is_here() {
    let room = TestRoom::with(&["alice", "bob"]);
    let ran = room.by("charlotte", ["check"]).exits(3);
    assert!(ran.err.contains("\n  names here: "), "{ran:?}");
    pasted(&room, &ran, &[("postroom --root ROOM setup charlotte", 0)]);
}

#[test]
fn the_name_of_a_workflow_is_not_a_run() {
    let room = TestRoom::with(&["alice"]);
    let ran = room.run(["workflow", "show", "implement-review"]).exits(3);
    let [graph, list] =
        ["graph implement-review", "list"].map(|what| format!("postroom --root ROOM workflow {what}"));
    pasted(&room, &ran, &[(&graph, 0), (&list, 0)]);
    let ran = room.run(["runs", "nope"]).exits(3);
    assert!(ran.err.starts_with("postroom: there is no run `nope`\n"), "{ran:?}");
}

#[test]
fn small_sentences_are_whole() {
    let room = TestRoom::with(&["alice", "bob"]);
    let ran = room.run(["setup", "x", "y"]).exits(2);
    assert!(ran.err.starts_with("postroom: setup takes one name; `y` is a second\n"), "{ran:?}");
    let id = room.send("alice", "bob", "hi");
    let ran = room.bash(&format!("postroom --as bob read {id} >/dev/null")).exits(5);
    assert_eq!(commands(&ran.err).collect::<Vec<_>>(), [format!("postroom --as bob archive {id}")]);
    let ran = room.by("alice", ["ask", "bob", "-m", "when?", "--timeout", "0"]).exits(1);
    assert!(ran.out.lines().nth(1).is_some_and(|line| line.starts_with("  postroom ")), "{ran:?}");
    let page = room.bare(["tools", "man", "send"]).succeeds().out;
    assert!(page.contains(&format!("\"postroom {}\"", env!("CARGO_PKG_VERSION"))), "{page}");
}
