//! Who a command acts as, and who exists: `whoami`, `names`, and the order flag, session, environment.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::support::hand::age;
use crate::support::mask::mask;
use crate::support::room::TestRoom;

const SESSION: &str = "CLAUDE_CODE_SESSION_ID";
const ID: &str = "AGENT_MAILBOX_ID";

#[test]
fn the_flag_goes_before_the_session_and_that_before_the_environment() {
    let room = TestRoom::with(&["flag", "environment"]);
    room.run(["setup", "session"]).env(SESSION, "s1").succeeds();
    let who = |run: crate::support::room::Run| {
        let who = run.json();
        let text = |key: &str| who[key].as_str().unwrap().to_owned();
        (text("name"), text("why"))
    };
    let all = |arguments: &[&'static str]| {
        room.run(arguments.iter().copied()).env(ID, room.id("environment")).env(SESSION, "s1")
    };
    assert_eq!(who(all(&["--as", "flag", "whoami", "--json"])), ("flag".into(), "--as".into()));
    assert_eq!(
        who(all(&["whoami", "--json"])),
        ("session".into(), "the binding of this agent session".into())
    );
    assert_eq!(
        who(room.run(["whoami", "--json"]).env(ID, room.id("environment")).env(SESSION, "s2")),
        ("environment".into(), "AGENT_MAILBOX_ID".into()),
        "a session that is bound to nothing"
    );
}

#[test]
fn whoami_shows_who_why_and_where() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "hi");
    insta::assert_snapshot!(mask(&room.by("bob", ["whoami"]).succeeds().out, &room.root()), @"
    name: bob
    id: bob-<id>
    by: --as
    room: <room>
    unread: 1
    ");
}

#[test]
fn nobody_is_an_error_that_names_who_is_here() {
    let room = TestRoom::with(&["bob"]);
    let before = room.tree();
    for verb in ["whoami", "check", "read", "wait"] {
        let ran = room.run([verb]).exits(3);
        insta::allow_duplicates! {
            insta::assert_snapshot!(mask(&ran.err.replace(verb, "VERB"), &room.root()), @"
            postroom: this command has no identity
              postroom --as bob --root <room> VERB
            ");
        }
    }
    room.is_still(&before, "no mailbox is minted by accident");
}

#[test]
fn the_environment_takes_an_id_or_else_a_name() {
    let room = TestRoom::with(&["bob"]);
    for value in [room.id("bob"), "bob".to_owned(), "BOB".to_owned()] {
        let who = room.run(["whoami", "--json"]).env(ID, &value).json();
        assert_eq!(who["name"], "bob", "{value}");
    }
    let ran = room.run(["whoami"]).env(ID, "bib").exits(3);
    insta::assert_snapshot!(mask(&ran.err, &room.root()), @"
    postroom: AGENT_MAILBOX_ID says `bib`, but nobody here is called that
      postroom --as bob --root <room> whoami  # if you are that
      postroom --root <room> setup bib  # makes that mailbox
    ");
}

#[test]
fn a_flag_takes_a_name_an_alias_or_an_id() {
    let room = TestRoom::empty();
    room.run(["setup", "bob", "--alias", "rev"]).succeeds();
    for value in [room.id("bob"), "bob".into(), "Rev".into()] {
        assert_eq!(room.by(&value, ["whoami", "--json"]).json()["name"], "bob", "{value}");
    }
}

#[test]
fn each_agent_program_has_its_own_sessions() {
    let room = TestRoom::empty();
    for (variable, name) in [
        ("CLAUDE_CODE_SESSION_ID", "claude"),
        ("CODEX_THREAD_ID", "codex"),
        ("COPILOT_AGENT_SESSION_ID", "copilot"),
    ] {
        room.run(["setup", name]).env(variable, "the same id").succeeds();
        let who = room.run(["whoami", "--json"]).env(variable, "the same id").json();
        assert_eq!(who["name"], name);
    }
    let names = room.run(["names", "--json"]).json();
    let harnesses: Vec<_> = names["names"].as_array().unwrap().iter().map(|n| &n["harness"]).collect();
    assert_eq!(harnesses, ["claude", "codex", "copilot"]);
}

#[test]
fn a_session_id_is_never_a_path() {
    let room = TestRoom::empty();
    let evil = "../../../../escape";
    room.run(["setup", "bob"]).env(SESSION, evil).succeeds();
    assert_eq!(room.run(["whoami", "--json"]).env(SESSION, evil).json()["name"], "bob");
    let names = |path: std::path::PathBuf| -> Vec<String> {
        let entries = std::fs::read_dir(path).unwrap();
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    };
    let mut outside = names(room.around().to_owned());
    outside.sort();
    assert_eq!(outside, ["home", "room"]);
    let sessions = names(room.around().join("home/.local/state/postroom/sessions"));
    assert!(sessions.iter().all(|name| name.len() == 32), "{sessions:?}");
}

#[test]
fn an_unusable_identity_in_the_environment_is_not_passed_over() {
    let room = TestRoom::with(&["bob"]);
    let long = "x".repeat(1100);
    for value in [OsStr::from_bytes(b"\xff\xfe"), OsStr::new(&long), OsStr::new("../bob")] {
        let ran = room.run(["whoami"]).env(SESSION, "s2").env(ID, value).ends();
        assert!([3, 4].contains(&ran.code) && ran.out.is_empty(), "{value:?}: {ran:?}");
    }
    // An empty one is as good as none.
    room.run(["setup", "carol"]).env(SESSION, "s1").env(ID, "").succeeds();
    room.run(["whoami"]).env(SESSION, "s1").env(ID, "").succeeds();
}

#[test]
fn names_without_a_terminal_are_one_line_each() {
    let room = TestRoom::empty();
    room.run(["setup", "alice", "--about", "writes parsers", "--alias", "al"])
        .env("CODEX_THREAD_ID", "t")
        .succeeds();
    room.run(["setup", "bob"]).succeeds();
    room.run(["setup", "--child", "kid"]).succeeds();
    room.send("alice", "bob", "hi");
    let seen = room.root().join(room.id("bob")).join("seen");
    age(&seen, 3600);
    insta::assert_snapshot!(mask(&room.run(["names"]).succeeds().out, &room.root()), @"
    alice maildir codex unread=0 seen just now aliases=al: writes parsers
    bob maildir shell unread=1 oldest=<time> seen 1 h ago
    kid maildir unknown unread=0 never seen
    ");
}

#[test]
fn a_waiting_agent_is_alive_however_long_it_waits() {
    let room = TestRoom::with(&["bob"]);
    let mut waiting = room.by("bob", ["wait", "--timeout", "60"]).start();
    crate::support::until::until_watching(&waiting);
    age(&room.root().join(room.id("bob")).join("seen"), 3600);
    assert_eq!(room.run(["names", "--json"]).json()["names"][0]["presence"], "alive");
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    assert_eq!(room.run(["names", "--json"]).json()["names"][0]["presence"], "silent");
}

#[test]
fn a_lost_mailbox_is_made_again_and_the_log_says_so() {
    let room = TestRoom::with(&["alice", "bob"]);
    std::fs::remove_dir_all(room.root().join(room.id("bob"))).unwrap();
    room.run(["doctor"]).exits(4);
    assert!(room.run(["names"]).succeeds().out.contains("bob maildir shell unread=0 "));
    room.by("bob", ["check"]).exits(1);
    let log = room.run(["log"]).succeeds().out;
    assert_eq!(log.matches("its directory was missing").count(), 1, "{log}");
}

#[test]
fn a_mailbox_whose_prune_was_interrupted_is_back_with_the_first_look() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "x");
    room.prune_in_part("bob");
    let found = room.run(["doctor"]).exits(4).out;
    assert!(found.contains("`bob` has no mailbox"), "{found}");
    assert!(room.run(["names"]).succeeds().out.contains("bob maildir shell unread=1 "));
    room.by("bob", ["check"]).succeeds();
}

#[test]
fn a_session_whose_mailbox_is_gone_can_set_up_again() {
    let room = TestRoom::with(&["alice"]);
    room.run(["setup", "bob"]).env(SESSION, "s1").succeeds();
    let id = room.id("bob");
    std::fs::remove_dir_all(room.root().join(&id)).unwrap();
    let registry = std::fs::read_to_string(room.root().join("registry.json")).unwrap();
    let without: Vec<&str> = registry.lines().filter(|line| !line.contains("\"bob\"")).collect();
    std::fs::write(room.root().join("registry.json"), without.join("\n").replace("},\n}", "}\n}")).unwrap();
    room.run(["check"]).env(SESSION, "s1").exits(3);
    room.run(["setup", "bob"]).env(SESSION, "s1").succeeds();
    assert_eq!(room.run(["whoami", "--json"]).env(SESSION, "s1").json()["name"], "bob");
}
