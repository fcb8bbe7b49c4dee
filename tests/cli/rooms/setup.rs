//! `setup`: a mailbox with a name, once.

use crate::support::mask::mask;
use crate::support::room::TestRoom;

const SESSION: &str = "CLAUDE_CODE_SESSION_ID";

#[test]
fn a_new_mailbox_tells_its_name_id_and_room() {
    let room = TestRoom::empty();
    let ran = room.run(["setup", "bob"]).succeeds();
    insta::assert_snapshot!(mask(&ran.out, &room.root()), @"
    name: bob
    id: bob-<id>
    room: <room>
    to act as it: --as bob, or export AGENT_MAILBOX_ID=bob-<id>
    ");
    for folder in ["tmp", "inbox", "archive"] {
        assert!(room.folder("bob", folder).is_dir(), "{folder}");
    }
}

#[test]
fn without_a_name_a_free_given_name_is_taken() {
    let room = TestRoom::empty();
    let names: Vec<String> = (0..5)
        .map(|_| {
            let name = room.run(["setup", "--json"]).json()["name"].clone();
            name.as_str().unwrap().to_owned()
        })
        .collect();
    for (index, name) in names.iter().enumerate() {
        assert!(!name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase()), "{name}");
        assert!(!names[..index].contains(name), "{name} twice");
    }
}

#[test]
fn a_taken_name_is_refused_with_three_free_ones() {
    let room = TestRoom::with(&["bob", "bob-3"]);
    let before = room.tree();
    let ran = room.run(["setup", "bob"]).exits(4);
    assert_eq!(ran.out, "");
    insta::assert_snapshot!(mask(&ran.err, &room.root()), @"
    postroom: the name `bob` is taken
      postroom --root <room> setup bob-2
      postroom --root <room> setup bob-4
      postroom --root <room> setup bob-5
      postroom --root <room> --as bob whoami  # if it is yours
    ");
    room.is_still(&before, "looking or a refusal");
    room.run(["setup", "bob-2"]).succeeds();
}

#[test]
fn a_name_is_taken_in_every_case_and_unicode_form() {
    let room = TestRoom::with(&["bob", "Ångström"]);
    for twin in ["BOB", "Bob", "\u{ff42}\u{ff4f}\u{ff42}", "A\u{30a}ngstro\u{308}m", "ångström"] {
        let ran = room.run(["setup", twin]).exits(4);
        assert!(ran.err.contains("is taken"), "{twin}: {}", ran.err);
    }
}

#[test]
fn an_alias_of_another_is_taken_too() {
    let room = TestRoom::empty();
    room.run(["setup", "bob", "--alias", "reviewer"]).succeeds();
    room.run(["setup", "Reviewer"]).exits(4);
    let before = room.tree();
    let ran = room.run(["setup", "carol", "--alias", "bob"]).exits(4);
    assert!(ran.err.contains("the name `bob` is taken"), "{}", ran.err);
    room.is_still(&before, "a refused alias leaves no half-made mailbox");
}

#[test]
fn the_same_name_again_by_its_owner_is_success() {
    let room = TestRoom::empty();
    let first = room.run(["setup", "bob", "--json"]).env(SESSION, "s1").json();
    let again = room.run(["setup", "bob", "--json"]).env(SESSION, "s1").json();
    assert_eq!(first["id"], again["id"]);
    assert_eq!((&first["created"], &again["created"]), (&true.into(), &false.into()));
    // Also without a name, by flag, and in another case.
    for (run, case) in [
        (room.run(["setup", "--json"]).env(SESSION, "s1"), "binding"),
        (room.by("bob", ["setup", "bob", "--json"]), "flag"),
        (room.by("bob", ["setup", "BOB", "--json"]), "case"),
    ] {
        assert_eq!(run.json()["id"], first["id"], "{case}");
    }
}

#[test]
fn an_owner_that_wants_a_second_name_hears_about_aliases() {
    let room = TestRoom::with(&["bob"]);
    let ran = room.by("bob", ["setup", "rob"]).exits(4);
    assert!(ran.err.contains(" --as bob setup --alias rob"), "{}", ran.err);
    room.by("bob", ["setup", "--alias", "rob"]).succeeds();
    room.send("bob", "rob", "to myself");
    assert_eq!(room.files("bob", "inbox").len(), 1);
}

#[test]
fn what_an_agent_can_do_is_shown_by_names() {
    let room = TestRoom::empty();
    room.run(["setup", "bob", "--about", "reviews Rust", "--alias", "rev", "--alias", "qa.rust"]).succeeds();
    let listed = room.run(["names", "--json"]).json()["names"][0].clone();
    assert_eq!(listed["about"], "reviews Rust");
    assert_eq!(listed["aliases"], serde_json::json!(["rev", "qa.rust"]));
    room.by("bob", ["setup", "--about", "sleeps"]).succeeds();
    assert_eq!(room.run(["names", "--json"]).json()["names"][0]["about"], "sleeps");
}

#[test]
fn a_session_is_bound_and_needs_no_flag_afterwards() {
    let room = TestRoom::empty();
    let ran = room.run(["setup", "bob"]).env(SESSION, "s1").succeeds();
    assert!(!ran.out.contains("--as"), "a bound session needs no advice: {}", ran.out);
    assert_eq!(room.run(["whoami", "--json"]).env(SESSION, "s1").json()["name"], "bob");
    room.run(["whoami"]).env(SESSION, "s2").exits(3);
}

#[test]
fn a_child_gets_a_mailbox_and_a_prompt_that_works() {
    let room = TestRoom::with(&["alice"]);
    let made = room.by("alice", ["setup", "--child", "kid", "--json"]).env(SESSION, "s1").json();
    let (id, prompt) = (made["id"].as_str().unwrap(), made["prompt"].as_str().unwrap());
    assert!(prompt.contains(id) && prompt.contains("kid"), "{prompt}");
    assert_eq!(made["bound"], false, "the parent's session stays its own");

    room.by("alice", ["send", "kid", "-s", "spawn: parse", "-m", "parse it"]).succeeds();
    // What the prompt says to run, run as it stands.
    let command = prompt
        .lines()
        .find_map(|line| line.split_once("set it up: "))
        .unwrap_or_else(|| panic!("{prompt}"))
        .1;
    let ran = room.bash(command).env(SESSION, "s2").succeeds();
    assert!(ran.out.contains("name: kid\n") && ran.out.contains("unread: 1\n"), "{}", ran.out);
    assert_eq!(room.run(["names", "--json"]).json()["names"].as_array().unwrap().len(), 2);
}

#[test]
fn the_prompt_for_a_child_works_in_a_directory_with_spaces() {
    let room = TestRoom::empty();
    let root = room.around().join("a room");
    let root = root.to_str().unwrap();
    let made = room.bare(["--root", root, "setup", "--child", "kid", "--json"]).json();
    let prompt = made["prompt"].as_str().unwrap();
    let command = prompt.lines().find_map(|line| line.split_once("set it up: ")).unwrap().1;
    let ran = room.bash(command).ends();
    assert_eq!((ran.code, ran.out.contains("name: kid\n")), (0, true), "{command}: {ran:?}");
}

#[test]
fn an_id_from_the_environment_is_adopted() {
    let room = TestRoom::empty();
    let ran = room.run(["setup", "bob"]).env("AGENT_MAILBOX_ID", "agent-7").succeeds();
    assert!(ran.out.contains("id: agent-7\n"), "{}", ran.out);
    assert_eq!(room.id("bob"), "agent-7");
    assert!(room.folder("bob", "inbox").is_dir());
}

#[test]
fn everything_is_made_for_this_user_alone_whatever_the_umask() {
    let room = TestRoom::empty();
    let script = "set -e; umask 0; postroom setup alice; postroom setup bob
        postroom --as alice send bob -m hi; postroom --as bob read";
    room.bash(script).succeeds();
    let loose: Vec<_> = room
        .tree()
        .into_iter()
        .filter(|(_, what)| !what.starts_with("directory 700") && !what.starts_with("file 600"))
        .collect();
    assert!(loose.is_empty(), "{loose:?}");
    assert_eq!(room.files("bob", "archive").len(), 1);
}

#[test]
fn two_that_want_one_name_at_once_get_one_owner() {
    let room = TestRoom::empty();
    room.run(["setup", "first"]).succeeds();
    let racing: Vec<_> = (0..6).map(|_| room.run(["setup", "bob"]).start()).collect();
    let codes: Vec<_> =
        racing.into_iter().map(|child| child.wait_with_output().unwrap().status.code().unwrap()).collect();
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert!(codes.iter().all(|code| [0, 4].contains(code)), "{codes:?}");
    assert_eq!(room.run(["names"]).succeeds().out.lines().count(), 2);
}

#[test]
fn names_of_any_script_and_hierarchy_can_be_written_to() {
    let names = ["陳", "Ångström", "हिन्दी", "org.research.explore", "agent_7", "user"];
    let room = TestRoom::with(&names);
    for name in names {
        room.by("user", ["send", name, "-m", "x"]).succeeds();
        assert_eq!(room.by(name, ["check", "--count"]).succeeds().out, "1\n", "{name}");
    }
    // A decomposed spelling is the same name, and is kept composed.
    room.by("user", ["send", "A\u{30a}ngstro\u{308}m", "-m", "x"]).succeeds();
    assert_eq!(room.files("Ångström", "inbox").len(), 2);
}

#[test]
fn quiet_setup_says_nothing() {
    let room = TestRoom::empty();
    let ran = room.run(["setup", "bob", "-q"]).succeeds();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
}

#[test]
fn a_setup_without_a_name_says_that_it_chose_one() {
    let room = TestRoom::empty();
    let ran = room.run(["setup"]).succeeds();
    assert!(ran.out.contains("\nchosen: no name was given"), "{ran:?}");
    let chosen = room.run(["setup", "--json"]).json();
    assert_eq!(chosen["chosen"], true);
    let name = chosen["name"].as_str().unwrap().to_owned();
    // Its owner has that name now, and so has who gives one.
    assert!(!room.by(&name, ["setup"]).succeeds().out.contains("chosen"));
    assert!(!room.run(["setup", "bob"]).succeeds().out.contains("chosen"));
    let _ = room.workspace("desk");
}

#[test]
fn words_that_mean_something_else_are_no_names() {
    let room = TestRoom::with(&["alice", "bob"]);
    let before = room.tree();
    for word in ["all", "ALL", "me", "user", "User"] {
        let ran = room.run(["setup", word]).exits(4);
        assert!(ran.err.contains("is a reserved word"), "{ran:?}");
        room.by("alice", ["setup", "--alias", word]).exits(4);
    }
    for word in ["all", "me"] {
        room.run(["setup", "--child", word]).exits(4);
    }
    room.is_still(&before, "a refused name");
    room.run(["prune", "bob", "--yes"]).succeeds();
    let bag = room.run(["undo", "--json"]).json()["trash"][0]["id"].as_str().unwrap().to_owned();
    room.run(["setup", "bob"]).succeeds();
    room.run(["undo", &bag, "--name", "me"]).exits(4);
}

#[test]
fn the_persons_mailbox_is_made_by_the_person_or_for_the_person() {
    let room = TestRoom::with(&["alice"]);
    room.run(["setup", "user"]).env("CLAUDECODE", "1").exits(4);
    room.run(["setup", "user"]).by_person().with(0);
    room.send("alice", "user", "hello");
    let other = TestRoom::with(&["alice"]);
    other.run(["setup", "--child", "user"]).env("CLAUDECODE", "1").succeeds();
    other.send("alice", "user", "hello");
}

#[test]
fn a_room_with_a_mailbox_of_a_reserved_name_works_as_before() {
    let room = TestRoom::with(&["alice", "bob"]);
    let path = room.root().join("registry.json");
    let text = std::fs::read_to_string(&path).unwrap().replace("\"bob\"", "\"me\"");
    std::fs::write(&path, text).unwrap();
    room.send("alice", "me", "hello");
    room.by("me", ["read"]).succeeds();
    room.by("me", ["setup", "me"]).succeeds();
    // The card still has the old name, as another engine leaves it.
    room.run(["doctor", "--fix"]).ends();
}
