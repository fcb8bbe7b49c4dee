//! `rename`: a mailbox gets another name, and everything that it has stays.

use crate::support::edges_strike::{can_be_struck, points, sample, stopped};
use crate::support::room::TestRoom;
use crate::support::staffed::{shell, staffed};
use crate::support::until::until;

#[test]
fn a_mailbox_keeps_all_it_has_under_its_new_name() {
    let room = TestRoom::empty();
    room.run(["setup", "alice"]).succeeds();
    room.run(["setup", "bob", "--alias", "reviewer", "--about", "reviews"]).succeeds();
    room.run(["group", "add", "team", "bob"]).succeeds();
    let id = room.id("bob");
    let first = room.send("alice", "bob", "before");
    room.send("alice", "bob", "job");
    let claimed = room.by("bob", ["claim", &first, "--json"]).json();
    let token = claimed["claim"]["token"].as_str().unwrap();
    let ran = room.run(["rename", "bob", "Robert"]).succeeds();
    assert_eq!(ran.out, "bob is now Robert\n");
    assert_eq!(room.id("Robert"), id, "the id stays");
    let registry = std::fs::read_to_string(room.root().join("registry.json")).unwrap();
    assert!(!registry.contains("\"bob\":") && registry.contains("\"aliases\":\"reviewer\""), "{registry}");
    // Mail, claims, groups and aliases go on.
    assert!(room.by("robert", ["check"]).succeeds().out.contains("job"));
    room.by("Robert", ["done", token, "-m", "ok"]).succeeds();
    let answer = room.by("alice", ["read"]).succeeds().out;
    assert!(answer.contains(" Robert (unverified): "), "{answer}");
    room.by("alice", ["send", "@team", "-m", "to the group"]).succeeds();
    room.by("alice", ["send", "reviewer", "-m", "to the alias"]).succeeds();
    assert_eq!(room.files("Robert", "inbox").len(), 3);
    room.bare(["check"]).env("AGENT_MAILBOX_ID", &id).env("POSTROOM_ROOT", room.root()).succeeds();
    assert!(room.run(["log"]).succeeds().out.contains("renamed"));
    // A lost registry is rebuilt with the new name.
    std::fs::remove_file(room.root().join("registry.json")).unwrap();
    room.run(["doctor", "--fix"]).ends();
    assert_eq!(room.id("Robert"), id);
}

#[test]
fn nothing_keeps_the_old_name() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.run(["rename", "bob", "zoe"]).succeeds();
    let ran = room.by("alice", ["send", "bob", "-m", "x"]).exits(3);
    assert!(ran.err.contains("nearest: zoe\n"), "the sender is told the new name: {}", ran.err);
    room.run(["rename", "bob", "carol"]).exits(3);
    assert_eq!(room.run(["rename", "bob", "zoe"]).succeeds().out, "bob is now zoe\n", "again is success");
    room.run(["setup", "bob"]).succeeds();
    assert_ne!(room.id("bob"), room.id("zoe"));
    room.run(["rename", "bob", "zoe"]).exits(4);
}

#[test]
fn a_bound_session_goes_on_under_the_new_name() {
    let room = TestRoom::empty();
    let in_session = |arguments: &[&str]| room.run(arguments.iter().copied()).env("CODEX_THREAD_ID", "t1");
    in_session(&["setup", "bob"]).succeeds();
    in_session(&["rename", "bob", "robert"]).succeeds();
    let me = in_session(&["whoami"]).succeeds().out;
    assert!(me.contains("name: robert\n"), "{me}");
    // Its own name is found again by a second setup.
    in_session(&["setup", "robert"]).succeeds();
    in_session(&["setup", "bob"]).exits(4);
}

#[test]
fn taken_bad_and_unknown_names_are_refused_and_change_nothing() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.run(["setup", "carol", "--alias", "cc"]).succeeds();
    let (alice, before) = (room.id("alice"), room.tree());
    for (old, new, code) in [
        ("bob", "alice", 4),
        ("bob", "ALICE", 4),
        ("bob", "cc", 4),
        ("bob", alice.as_str(), 4),
        ("bob", "a/b", 4),
        ("bob", "", 4),
        ("bob", "user", 4),
        ("nobody", "somebody", 3),
    ] {
        room.run(["rename", old, new]).exits(code);
        room.is_still(&before, &format!("rename {old} {new}"));
    }
    let told = room.run(["rename", "bob", "alice", "--json"]).exits(4);
    assert!(told.out.contains("\"code\":4") && told.out.contains("alice-2"), "{}", told.out);
    let told = room.run(["rename", "bob", "alice"]).exits(4);
    let hint = told.err.lines().nth(1).unwrap().trim();
    assert!(hint.ends_with(" rename bob alice-2"), "{hint}");
    room.paste(hint).succeeds();
}

#[test]
fn another_case_or_an_own_alias_may_be_the_new_name() {
    let room = TestRoom::empty();
    room.run(["setup", "bob", "--alias", "rob", "--alias", "bobby"]).succeeds();
    room.run(["rename", "bob", "Bob"]).succeeds();
    let done = room.run(["rename", "bobby", "rob", "--json"]).json();
    assert_eq!((&done["old"], &done["name"]), (&"Bob".into(), &"rob".into()));
    let names = room.run(["names", "--json"]).json();
    assert_eq!(names["names"][0]["name"], "rob");
    assert_eq!(names["names"][0]["aliases"], serde_json::json!(["bobby"]));
}

#[test]
fn the_person_keeps_the_name_user() {
    let room = TestRoom::with(&["alice", "user"]);
    let before = room.tree();
    let ran = room.run(["rename", "user", "mallory"]).exits(4);
    assert!(ran.err.contains("person"), "{}", ran.err);
    room.is_still(&before, "a rename of the person");
}

#[test]
fn in_a_tree_or_a_workspace_only_the_name_of_the_room_changes() {
    let room = TestRoom::with(&["alice"]);
    let (site, desk) = (room.around().join("site"), room.around().join("desk"));
    std::fs::create_dir(&site).unwrap();
    std::fs::create_dir(&desk).unwrap();
    room.run(["setup", "explore", "--tree"]).arg(&site).succeeds();
    room.run(["setup", "desk", "--workspace"]).arg(&desk).succeeds();
    for (old, new) in [("explore", "scout"), ("desk", "office")] {
        room.run(["rename", old, new]).succeeds();
        room.send("alice", new, "look around");
        let read = room.by(new, ["read"]).succeeds().out;
        assert!(read.contains("look around") && read.contains(" alice (unverified): "), "{read}");
        room.by("alice", ["send", old, "-m", "x"]).exits(3);
    }
    assert!(site.join(".claude/inboxes/explore").is_dir() && desk.join(".mailbox/inbox").is_dir());
    // A second look finds them under their new names.
    let again = room.run(["adopt"]).arg(&site).succeeds().out;
    assert!(again.contains("already"), "{again}");
}

#[test]
fn a_running_dispatcher_goes_on_with_a_renamed_mailbox() {
    let room = staffed(&["worker"], &shell("worker", "cat", ""));
    let watch = room.run(["dispatch", "--watch"]).start();
    let id = room.send("alice", "worker", "one");
    until("the first answer", || room.files("alice", "inbox").len() == 1);
    let told = room.run(["rename", "worker", "helper"]).succeeds();
    assert!(told.err.contains("[agents.worker]") && told.err.contains("[agents.helper]"), "{}", told.err);
    room.send("alice", "helper", "two");
    until("the second answer", || room.files("alice", "inbox").len() == 2);
    rustix::process::kill_process(rustix::process::Pid::from_child(&watch), rustix::process::Signal::TERM)
        .unwrap();
    let ran = crate::support::room::Ran::end(watch);
    assert!(!ran.err.contains("configured"), "{ran:?}");
    assert!(!id.is_empty());
}

#[test]
fn a_prune_that_is_overtaken_by_a_rename_removes_nothing() {
    if !can_be_struck("a_prune_that_is_overtaken_by_a_rename_removes_nothing") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.id("bob");
    let prune = "--as alice prune bob --yes";
    let all = sample(points(&room, "openat,flock", prune), 12);
    let mut overtaken = 0;
    for point in &all {
        let undone = room.run(["undo", "--json"]).json();
        if let Some(bag) = undone["trash"][0]["id"].as_str() {
            room.by("alice", ["undo", bag]).succeeds();
        }
        // A rename that finds the room locked waits for the prune, which waits for this test.
        let rename = "timeout 1 postroom rename bob zoe; exit $?";
        let (pruned, renamed) = stopped(&room, point, prune, || room.bash(rename).ends());
        if renamed.is_some_and(|ran| ran.code == 0) {
            overtaken += 1;
            assert_eq!(pruned.status.code(), Some(3), "{point:?}: {pruned:?}");
            assert_eq!(room.id("zoe"), id, "{point:?}");
            room.run(["rename", "zoe", "bob"]).succeeds();
        }
    }
    assert!(overtaken > 0);
}
