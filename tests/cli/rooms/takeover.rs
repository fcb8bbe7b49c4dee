//! `takeover`: a new session goes on where another ended. One wins, and the loser is told.

use crate::support::hand::age;
use crate::support::mask::mask;
use crate::support::room::{Run, TestRoom};

/// A command of a session of Claude Code.
fn claude<'a>(room: &TestRoom, session: &str, arguments: impl IntoIterator<Item = &'a str>) -> Run {
    room.run(arguments).env("CLAUDE_CODE_SESSION_ID", session)
}

/// A command of a session of Codex.
fn codex<'a>(room: &TestRoom, session: &str, arguments: impl IntoIterator<Item = &'a str>) -> Run {
    room.run(arguments).env("CODEX_THREAD_ID", session)
}

/// A room in which alice's session has been silent for an hour.
fn silent() -> TestRoom {
    let room = TestRoom::empty();
    claude(&room, "s1", ["setup", "alice"]).succeeds();
    age(&room.folder("alice", "seen"), 3600);
    room
}

/// The hint of a taken name was `--as alice whoami`, which binds nothing in a session.
#[test]
fn a_session_is_led_to_the_mailbox_that_its_holder_left() {
    let room = silent();
    let refused = || codex(&room, "s2", ["setup", "alice"]).exits(4).err;
    let take = " takeover alice  # if it is yours";
    assert!(refused().contains(take), "{}", refused());
    assert!(!room.run(["setup", "alice"]).exits(4).err.contains(take), "there is no session to bind");
    claude(&room, "s1", ["check"]).exits(1);
    assert!(!refused().contains(take), "its holder is there");
    age(&room.folder("alice", "seen"), 3600);
    let said = refused();
    let line = crate::support::pasted::commands(&said).find(|line| line.contains("takeover")).unwrap();
    room.paste(&line).env("CODEX_THREAD_ID", "s2").succeeds();
    assert!(codex(&room, "s2", ["whoami"]).succeeds().out.starts_with("name: alice\n"));
}

#[test]
fn a_silent_mailbox_is_taken_with_all_its_mail() {
    let room = silent();
    room.run(["setup", "bob"]).succeeds();
    room.send("bob", "alice", "for the present alice");
    let ran = codex(&room, "s2", ["takeover", "alice"]).succeeds();
    assert_eq!(mask(&ran.out, &room.root()), "name: alice\nid: alice-<id>\n");
    let who = codex(&room, "s2", ["whoami"]).succeeds().out;
    assert!(who.starts_with("name: alice\n"), "{who}");
    assert!(codex(&room, "s2", ["read"]).succeeds().out.contains("for the present alice"));
    let log = room.run(["log"]).succeeds().out;
    assert!(log.contains(" alice takeover: codex\n"), "{log}");
}

#[test]
fn the_former_holder_is_told_at_its_next_command_whichever_it_is() {
    let room = silent();
    room.run(["setup", "bob"]).succeeds();
    codex(&room, "s2", ["takeover", "alice"]).succeeds();
    room.send("bob", "alice", "job");
    let before = room.tree();
    for arguments in [
        vec!["check"],
        vec!["read"],
        vec!["wait", "--timeout", "0"],
        vec!["send", "bob", "-m", "x"],
        vec!["claim"],
        vec!["whoami"],
        vec!["sent"],
        vec!["archive", "abcd"],
        vec!["ask", "bob", "-m", "x", "--timeout", "0"],
    ] {
        let ran = claude(&room, "s1", arguments.clone()).exits(4);
        assert!(
            ran.err.contains("the mailbox of `alice` was taken over by codex at "),
            "{arguments:?}: {}",
            ran.err
        );
        assert!(ran.err.contains(" setup  # ") && ran.err.contains(" takeover alice --force"));
        room.is_still(&before, &format!("{arguments:?} of a session that holds it no more"));
    }
    let told = claude(&room, "s1", ["check", "--json"]).json();
    assert_eq!(told["error"]["code"], 4);
    codex(&room, "s2", ["check"]).succeeds();
}

#[test]
fn while_its_holder_is_alive_it_takes_force() {
    let room = TestRoom::empty();
    claude(&room, "s1", ["setup", "alice"]).succeeds();
    let before = room.tree();
    let ran = codex(&room, "s2", ["takeover", "alice"]).exits(4);
    assert!(
        ran.err.contains("`alice` is alive") && ran.err.contains(" takeover alice --force"),
        "{}",
        ran.err
    );
    room.is_still(&before, "a takeover that was refused");
    claude(&room, "s1", ["check"]).exits(1);
    codex(&room, "s2", ["takeover", "alice", "--force"]).succeeds();
    claude(&room, "s1", ["check"]).exits(4);
    // And back, the same way.
    claude(&room, "s1", ["takeover", "alice"]).exits(4);
    claude(&room, "s1", ["takeover", "alice", "--force"]).succeeds();
    claude(&room, "s1", ["check"]).exits(1);
    codex(&room, "s2", ["check"]).exits(4);
}

#[test]
fn a_waiting_process_is_alive_however_long_ago_its_last_command_was() {
    let room = silent();
    let waiting = claude(&room, "s1", ["wait", "--timeout", "60"]).start();
    crate::support::until::until_watching(&waiting);
    age(&room.folder("alice", "seen"), 3600);
    codex(&room, "s2", ["takeover", "alice"]).exits(4);
    room.run(["setup", "bob"]).succeeds();
    room.send("bob", "alice", "wake up");
    assert_eq!(waiting.wait_with_output().unwrap().status.code(), Some(0));
}

#[test]
fn of_two_that_take_over_at_once_one_wins() {
    for _ in 0..3 {
        let room = silent();
        let running: Vec<_> =
            (0..6).map(|n| codex(&room, &format!("t{n}"), ["takeover", "alice"]).start()).collect();
        let codes: Vec<_> =
            running.into_iter().map(|c| c.wait_with_output().unwrap().status.code()).collect();
        let winners: Vec<usize> = (0..6).filter(|n| codes[*n] == Some(0)).collect();
        assert_eq!(winners.len(), 1, "{codes:?}");
        assert!(codes.iter().all(|code| [Some(0), Some(4)].contains(code)), "{codes:?}");
        codex(&room, &format!("t{}", winners[0]), ["check"]).exits(1);
        let other = (winners[0] + 1) % 6;
        let ran = codex(&room, &format!("t{other}"), ["check"]).exits(3);
        assert!(ran.err.contains(" setup  # "), "the others are nobody still: {}", ran.err);
        claude(&room, "s1", ["check"]).exits(4);
    }
}

#[test]
fn one_s_own_mailbox_needs_no_force() {
    let room = TestRoom::empty();
    claude(&room, "s1", ["setup", "alice"]).succeeds();
    claude(&room, "s1", ["takeover", "alice"]).succeeds();
    claude(&room, "s1", ["check"]).exits(1);
}

#[test]
fn the_same_session_id_of_another_program_is_another_session() {
    let room = silent();
    codex(&room, "s1", ["takeover", "alice"]).succeeds();
    claude(&room, "s1", ["check"]).exits(4);
    codex(&room, "s1", ["check"]).exits(1);
}

#[test]
fn without_a_session_it_says_how_to_act_as_it() {
    let room = silent();
    let ran = room.run(["takeover", "alice"]).succeeds();
    assert_eq!(
        mask(&ran.out, &room.root()),
        "name: alice\nid: alice-<id>\nto act as it: --as alice, or export AGENT_MAILBOX_ID=alice-<id>\n"
    );
    let ran = claude(&room, "s1", ["check"]).exits(4);
    assert!(ran.err.contains("was taken over by shell"), "{}", ran.err);
    assert_eq!(room.run(["takeover", "alice", "--force", "--json"]).json()["bound"], false);
}

#[test]
fn a_session_that_lost_its_mailbox_may_have_another() {
    let room = silent();
    codex(&room, "s2", ["takeover", "alice"]).succeeds();
    claude(&room, "s1", ["setup", "alice"]).exits(4);
    claude(&room, "s1", ["setup", "anna"]).succeeds();
    assert!(claude(&room, "s1", ["whoami"]).succeeds().out.starts_with("name: anna\n"));
    codex(&room, "s2", ["check"]).exits(1);
}

#[test]
fn a_setup_is_no_way_around_the_force() {
    let room = TestRoom::empty();
    claude(&room, "s1", ["setup", "alice"]).succeeds();
    let ran = codex(&room, "s2", ["--as", "alice", "setup"]).ends();
    let held = claude(&room, "s1", ["check"]).ends();
    assert_eq!(
        held.code, 1,
        "alice lost her mailbox to a `setup` that said nothing of it ({ran:?}): {held:?}"
    );
}

#[test]
fn nobody_is_taken_over_by_accident() {
    let room = silent();
    room.run(["setup", "alicia"]).succeeds();
    let before = room.tree();
    let ran = codex(&room, "s2", ["takeover", "alic"]).exits(3);
    assert!(ran.err.contains("nearest: alice"), "{}", ran.err);
    for (name, code) in [("@all", 4), ("../x", 4), ("", 4)] {
        let ran = codex(&room, "s2", ["takeover", name]).exits(code);
        assert!(!ran.err.is_empty(), "{name}");
    }
    codex(&room, "s2", ["takeover"]).exits(2);
    room.is_still(&before, "takeovers of nobody");
}

#[test]
fn a_name_is_found_without_case_by_alias_and_by_id() {
    for by in ["ALICE", "al", "id"] {
        let room = TestRoom::empty();
        claude(&room, "s1", ["setup", "alice", "--alias", "al"]).succeeds();
        age(&room.folder("alice", "seen"), 3600);
        let id = room.id("alice");
        let name = if by == "id" { &id } else { by };
        let told = codex(&room, "s2", ["takeover", name, "--json"]).json();
        assert_eq!((&told["name"], &told["id"]), (&"alice".into(), &id.clone().into()), "{by}");
    }
}

#[test]
fn an_old_room_without_holders_still_works() {
    let room = silent();
    std::fs::remove_file(room.folder("alice", "holder")).unwrap();
    claude(&room, "s1", ["check"]).exits(1);
    age(&room.folder("alice", "seen"), 3600);
    codex(&room, "s2", ["takeover", "alice"]).succeeds();
    claude(&room, "s1", ["check"]).exits(4);
}

#[test]
fn a_holder_that_cannot_be_read_locks_nobody_out() {
    let room = TestRoom::empty().leaves_faults();
    claude(&room, "s1", ["setup", "alice"]).succeeds();
    for broken in ["", "{", "[]", "{\"v\":1}", "\0"] {
        std::fs::write(room.folder("alice", "holder"), broken).unwrap();
        claude(&room, "s1", ["check"]).exits(1);
    }
}
