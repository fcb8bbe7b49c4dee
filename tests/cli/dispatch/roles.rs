//! Names of roles: hierarchical, with aliases and descriptions, and patterns where a list is wanted.

use crate::support::room::TestRoom;

/// A room with roles and one workspace among them.
fn organisation() -> TestRoom {
    let room = TestRoom::with(&["alice", "org.engineering.api", "org.research.explore"]);
    std::fs::create_dir(room.around().join("web")).unwrap();
    room.run([
        "setup",
        "-q",
        "--workspace",
        "web",
        "org.engineering.web",
        "--alias",
        "web",
        "--about",
        "Builds the pages",
    ])
    .succeeds();
    room
}

fn names(room: &TestRoom, arguments: &[&str]) -> Vec<String> {
    let ran = room.run(["names"].into_iter().chain(arguments.iter().copied())).ends();
    assert!([0, 1].contains(&ran.code) && (ran.code == 1) == ran.out.is_empty(), "{ran:?}");
    ran.out.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

#[test]
fn a_star_stands_for_one_level_and_two_for_all() {
    let room = organisation();
    assert_eq!(names(&room, &["org.engineering.*"]), ["org.engineering.api", "org.engineering.web"]);
    assert_eq!(names(&room, &["org.*"]), [""; 0]);
    assert_eq!(names(&room, &["org.**"]).len(), 3);
    assert_eq!(names(&room, &["**"]).len(), 4);
    assert_eq!(names(&room, &["*"]), ["alice", "org.engineering.web"], "an alias counts too");
    assert_eq!(names(&room, &["*.*.a*"]), ["org.engineering.api"]);
    assert_eq!(names(&room, &["ORG.Research.EXPLOR?"]), ["org.research.explore"]);
    assert_eq!(names(&room, &["alice", "org.research.*"]), ["alice", "org.research.explore"]);
    assert_eq!(names(&room, &["nobody"]), [""; 0]);
    let id = room.id("alice");
    assert_eq!(names(&room, &[&id]), ["alice"]);
}

#[test]
fn an_id_with_capitals_is_found_by_itself() {
    let room = TestRoom::empty();
    room.run(["setup", "-q", "alice"]).env("AGENT_MAILBOX_ID", "Agent-7F").succeeds();
    assert_eq!(names(&room, &["Agent-7F"]), ["alice"]);
}

#[test]
fn who_can_do_a_thing() {
    let room = organisation();
    assert_eq!(names(&room, &["--about", "pages"]), ["org.engineering.web"]);
    assert_eq!(
        names(&room, &["--about", "PAGES builds"]),
        ["org.engineering.web"],
        "words in any order and case"
    );
    assert_eq!(names(&room, &["--about", "explore"]), ["org.research.explore"], "a role says something too");
    assert_eq!(names(&room, &["org.research.**", "--about", "pages"]), [""; 0]);
    let line = room.run(["names", "web"]).succeeds().out;
    assert!(line.starts_with("org.engineering.web workspace "), "{line}");
    assert!(line.ends_with(" aliases=web: Builds the pages\n"), "{line}");
}

#[test]
fn an_alias_is_an_address_in_every_kind() {
    let room = organisation();
    let sent = room.by("alice", ["send", "web", "-m", "by its alias"]).succeeds().out;
    assert!(sent.contains(" for org.engineering.web: "), "{sent}");
    assert_eq!(room.by("web", ["check", "--count"]).succeeds().out, "1\n");
    let ran = room.run(["setup", "alice2", "--alias", "WEB"]).exits(4);
    assert!(ran.err.contains("`WEB` is taken"), "{}", ran.err);
}

#[test]
fn an_unknown_role_is_told_with_those_that_exist() {
    let room = organisation();
    let ran = room.by("alice", ["send", "org.engineering.wbe", "-m", "x"]).exits(3);
    assert!(ran.err.contains("org.engineering.web"), "{}", ran.err);
    // A pattern is for lists: nobody is written to by one.
    room.by("alice", ["send", "org.engineering.*", "-m", "x"]).exits(4);
    assert!(room.of_workspace("web", "inbox").files().is_empty());
}
