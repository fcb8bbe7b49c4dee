//! `adopt`: mailboxes that lie elsewhere get names here, and nothing in them is changed.

use std::os::unix::fs::symlink;

use crate::support::hand::by_hand;
use crate::support::kinds_room::{REQUEST, request};
use crate::support::picture::tree;
use crate::support::room::TestRoom;

/// A project with a workspace and a tree of agents, made by hand.
fn project(room: &TestRoom, name: &str, agents: &[&str]) {
    let dir = room.around().join(name);
    std::fs::create_dir_all(dir.join(".mailbox/inbox")).unwrap();
    for agent in agents {
        std::fs::create_dir_all(dir.join(".claude/inboxes").join(agent)).unwrap();
        std::fs::create_dir_all(dir.join(".claude/outboxes").join(agent)).unwrap();
    }
}

/// What `names` says of a name: protocol and description.
fn listed(room: &TestRoom, name: &str) -> (String, Option<String>) {
    let names = room.run(["names", name, "--json"]).json();
    let entry = &names["names"][0];
    assert_eq!(entry["name"], name, "{names}");
    (entry["protocol"].as_str().unwrap().to_owned(), entry["about"].as_str().map(str::to_owned))
}

#[test]
fn a_workspace_is_adopted_under_the_name_of_its_directory() {
    let room = TestRoom::with(&["alice"]);
    project(&room, "carol", &[]);
    let before = tree(&room.around().join("carol"));
    let out = room.run(["adopt", "carol"]).succeeds().out;
    let inbox = room.around().join("carol/.mailbox/inbox");
    assert_eq!(out, format!("adopted: carol workspace {}\n", inbox.display()));
    assert_eq!(tree(&room.around().join("carol")), before, "nothing in it is changed");
    let still = room.tree();
    let again = room.run(["adopt", "carol/.mailbox"]).succeeds().out;
    assert_eq!(again, format!("already here: carol workspace {}\n", inbox.display()));
    room.is_still(&still, "adopting again");
    room.send("alice", "carol", "hello");
    assert_eq!(room.header("carol")["from"]["name"], "alice");
}

#[test]
fn the_agents_of_a_tree_bring_what_they_can_do() {
    let room = TestRoom::empty();
    project(&room, "shop", &["explore", "writer"]);
    let dir = room.around().join("shop/.claude/agents");
    std::fs::create_dir(&dir).unwrap();
    let about = "---\nname: explore\ndescription: \"Finds things in code\" # yes\n---\n\nYou explore.\n";
    std::fs::write(dir.join("explore.md"), about).unwrap();
    std::fs::remove_dir_all(room.around().join("shop/.mailbox")).unwrap();
    let out = room.run(["adopt", "shop"]).succeeds().out;
    assert_eq!(out.lines().count(), 2, "{out}");
    assert_eq!(listed(&room, "explore"), ("tree".to_owned(), Some("Finds things in code".to_owned())));
    assert_eq!(listed(&room, "writer"), ("tree".to_owned(), None));
    assert!(room.run(["names", "--about", "CODE finds"]).succeeds().out.starts_with("explore "));
    room.run(["names", "--about", "cooking"]).exits(1);
}

#[test]
fn several_kinds_at_once_and_another_room() {
    let room = TestRoom::empty();
    project(&room, "shop", &["explore"]);
    let other = room.around().join("shop");
    // A root of the native protocol, as the seed leaves it: no registry entry, no marker of ours.
    for folder in ["tmp", "inbox", "archive"] {
        std::fs::create_dir_all(other.join("agent-7").join(folder)).unwrap();
    }
    let out = room.run(["adopt", "shop"]).succeeds().out;
    let kinds: Vec<_> = out.lines().map(|l| l.split(' ').take(3).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(kinds, ["adopted: shop workspace", "adopted: explore tree", "adopted: agent-7 maildir"]);
    room.send("explore", "agent-7", "over there");
    assert_eq!(std::fs::read_dir(other.join("agent-7/inbox")).unwrap().count(), 1, "it is in the other room");
    let read = room.by("agent-7", ["read"]).succeeds().out;
    assert!(read.contains(" explore (unverified): ") && read.contains("over there"), "{read}");
    assert_eq!(std::fs::read_dir(other.join("agent-7/archive")).unwrap().count(), 1);
}

#[test]
fn a_room_of_postroom_keeps_its_names() {
    let room = TestRoom::with(&["alice"]);
    let other = room.around().join("other");
    let there = |arguments: &[&str]| {
        room.bare(["--root", "other"].into_iter().chain(arguments.iter().copied())).succeeds().out
    };
    there(&["setup", "-q", "bob", "--about", "reviews parsers"]);
    let out = room.run(["adopt", "other"]).succeeds().out;
    assert!(out.starts_with("adopted: bob maildir "), "{out}");
    assert_eq!(listed(&room, "bob"), ("maildir".to_owned(), Some("reviews parsers".to_owned())));
    room.send("alice", "bob", "from the other room");
    assert!(there(&["--as", "bob", "check"]).contains("from the other room"), "its own room sees it too");
    assert!(other.is_dir());
}

#[test]
fn the_room_itself_has_little_to_adopt() {
    let room = TestRoom::with(&["alice"]);
    room.workspace("carol");
    room.agents(&["explore"]);
    // A mailbox that somebody made by hand, and nobody named.
    for folder in ["tmp", "inbox", "archive"] {
        std::fs::create_dir_all(room.root().join("agent-9").join(folder)).unwrap();
    }
    let out = room.run(["adopt", "room"]).succeeds().out;
    assert_eq!(
        (out.matches("adopted: agent-9 ").count(), out.matches("already here: ").count()),
        (1, 3),
        "{out}"
    );
    assert_eq!(listed(&room, "agent-9").0, "maildir");
    assert_eq!(room.id("agent-9"), "agent-9", "it keeps its id");
}

#[test]
fn a_prefix_goes_before_each_name() {
    let room = TestRoom::empty();
    project(&room, "shop", &["explore", "writer"]);
    room.run(["adopt", "shop", "--prefix", "org.web"]).succeeds();
    for name in ["org.web.shop", "org.web.explore", "org.web.writer"] {
        assert_eq!(listed(&room, name).1, None);
    }
    let ran = room.run(["adopt", "shop", "--prefix", "not a name"]).succeeds();
    assert_eq!(ran.out.matches("already here: org.web.").count(), 3, "{}", ran.out);
}

#[test]
fn a_taken_name_is_told_and_the_others_are_adopted() {
    let room = TestRoom::with(&["explore"]);
    project(&room, "shop", &["explore", "writer"]);
    let ran = room.run(["adopt", "shop"]).exits(4);
    assert!(ran.err.contains("the name `explore` is taken; free are explore-2"), "{}", ran.err);
    assert_eq!(ran.out.matches("adopted: ").count(), 2, "{}", ran.out);
    assert_eq!(listed(&room, "writer").0, "tree");
    assert_eq!(listed(&room, "explore").0, "maildir", "the mailbox that had the name keeps it");
    // With a prefix the rest follows.
    let ran = room.run(["adopt", "shop", "--prefix", "shop2"]).succeeds();
    assert!(ran.out.contains("adopted: shop2.explore tree"), "{}", ran.out);
    let bad = room.around().join("no name");
    std::fs::create_dir_all(bad.join(".mailbox/inbox")).unwrap();
    let ran = room.run(["adopt", "no name"]).exits(4);
    assert!(ran.err.contains("`no name` cannot be a name"), "{}", ran.err);
}

#[test]
fn where_nothing_is_nothing_is_adopted() {
    let room = TestRoom::with(&["alice"]);
    std::fs::create_dir_all(room.around().join("empty/src")).unwrap();
    let before = room.tree();
    let ran = room.run(["adopt", "empty"]).exits(3);
    assert!(ran.err.contains("there is no mailbox of any protocol at "), "{}", ran.err);
    room.run(["adopt", "nowhere"]).exits(4);
    room.run(["adopt"]).exits(2);
    room.is_still(&before, "refusals");
}

#[test]
fn a_link_is_resolved_on_the_way_and_refused_as_a_mailbox() {
    let room = TestRoom::with(&["alice"]);
    project(&room, "real", &[]);
    symlink(room.around().join("real"), room.around().join("way")).unwrap();
    let out = room.run(["adopt", "way"]).succeeds().out;
    assert_eq!(
        out,
        format!("adopted: real workspace {}\n", room.around().join("real/.mailbox/inbox").display())
    );
    let before = room.tree();
    for (name, what) in [("one", ".mailbox"), ("two", ".mailbox/inbox"), ("three", ".claude")] {
        let dir = room.around().join(name);
        std::fs::create_dir_all(dir.join(what).parent().unwrap()).unwrap();
        symlink(room.around().join("real").join(what), dir.join(what)).unwrap();
        if what == ".claude" {
            std::fs::create_dir_all(room.around().join("real/.claude/inboxes/explore")).unwrap();
        }
        let ran = room.run(["adopt", name]).exits(4);
        assert!(ran.err.contains(&format!("{} is a symbolic link", dir.join(what).display())), "{}", ran.err);
    }
    std::fs::create_dir_all(room.around().join("four/.mailbox")).unwrap();
    std::fs::write(room.around().join("four/.mailbox/inbox"), "a file").unwrap();
    room.run(["adopt", "four"]).exits(4);
    room.is_still(&before, "what could never be reached");
}

#[test]
fn prune_of_an_adopted_mailbox_frees_the_name_and_leaves_its_files() {
    let room = TestRoom::with(&["alice"]);
    project(&room, "carol", &["explore"]);
    room.run(["adopt", "carol"]).succeeds();
    room.send("alice", "carol", "to the workspace");
    room.send("alice", "explore", "to the agent");
    let before = tree(&room.around().join("carol"));
    room.by("alice", ["prune", "carol", "explore", "--yes"]).succeeds();
    assert_eq!(tree(&room.around().join("carol")), before);
    let names = room.run(["names"]).succeeds().out;
    assert_eq!(names.lines().count(), 1, "{names}");
    room.by("alice", ["send", "carol", "-m", "x"]).exits(3);
    let again = room.run(["adopt", "carol"]).succeeds().out;
    assert_eq!(again.matches("adopted: ").count(), 2, "{again}");
    assert_eq!(room.header("carol")["subject"], "to the workspace");
}

#[test]
fn an_adopted_mailbox_can_be_taken_over() {
    let room = TestRoom::with(&["alice"]);
    project(&room, "carol", &[]);
    room.run(["adopt", "carol"]).succeeds();
    room.send("alice", "carol", "who reads this?");
    let session = |arguments: &[&str]| {
        room.run(arguments.iter().copied()).env("CLAUDE_CODE_SESSION_ID", "session-1").succeeds().out
    };
    session(&["takeover", "carol"]);
    assert!(session(&["check"]).contains("who reads this?"));
    assert!(session(&["whoami"]).contains("carol"));
}

#[test]
fn a_mailbox_whose_place_is_gone_is_told_and_stops_nobody_else() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    project(&room, "carol", &[]);
    room.run(["adopt", "carol"]).succeeds();
    std::fs::remove_dir_all(room.around().join("carol")).unwrap();
    let ran = room.by("alice", ["send", "carol", "-m", "x"]).exits(3);
    assert!(ran.err.contains("are missing"), "{}", ran.err);
    assert!(room.run(["names"]).succeeds().out.contains("carol workspace unknown unread=?"));
    let id = room.send("alice", "bob", "still works");
    assert!(room.run(["search", "works"]).succeeds().out.contains(&id));
    room.run(["trace", &id]).succeeds();
    room.run(["thread", &id]).succeeds();
    room.by("alice", ["sent"]).succeeds();
    let both = room.by("alice", ["send", "bob", "carol", "-m", "to both"]).exits(3);
    assert!(both.out.contains(" for bob: to both"), "{both:?}");
}

#[test]
fn mail_that_lay_there_before_is_found() {
    let room = TestRoom::empty();
    project(&room, "carol", &["explore"]);
    let inbox = room.of_workspace("carol", "inbox");
    let away = room.around().join("away/.mailbox/inbox");
    inbox.put(REQUEST, request("NEW", REQUEST, &inbox.0.join(REQUEST), &away.join(REQUEST), "old mail\n"));
    inbox.put("hand.md", by_hand("nobody", "abcd1111", "a handoff", "x\n"));
    room.run(["adopt", "carol"]).succeeds();
    let unread = room.run(["names", "carol", "--json"]).json();
    assert_eq!(unread["names"][0]["unread"], 2, "{unread}");
    assert_eq!(room.headers("carol").len(), 2);
}
