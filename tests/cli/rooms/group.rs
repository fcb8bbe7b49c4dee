//! `group`: named sets of mailboxes. One delivery and one receipt each, and no group contains itself.

use serde_json::json;

use crate::support::room::TestRoom;

fn groups(room: &TestRoom) -> String {
    std::fs::read_to_string(room.root().join("groups.json")).unwrap_or_default()
}

/// The names that the receipts of a send give, in order.
fn told(out: &str) -> Vec<&str> {
    let name = |line: &str| line.split_once(" for ").unwrap().1.split_once(':').unwrap().0.len();
    out.lines().map(|line| &line.split_once(" for ").unwrap().1[..name(line)]).collect()
}

#[test]
fn a_group_is_made_grown_and_written_one_line_each() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    let ran = room.run(["group", "list"]).exits(1);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    assert_eq!(room.run(["group", "add", "reviewers", "bob"]).succeeds().out, "@reviewers bob\n");
    assert_eq!(
        room.run(["group", "add", "@reviewers", "carol", "bob"]).succeeds().out,
        "@reviewers bob carol\n"
    );
    room.run(["group", "add", "seniors", "@reviewers", "alice"]).succeeds();
    assert_eq!(
        room.run(["group", "list"]).succeeds().out,
        "@reviewers bob carol\n@seniors @reviewers alice\n"
    );
    let (alice, bob, carol) = (room.id("alice"), room.id("bob"), room.id("carol"));
    assert_eq!(
        groups(&room),
        format!(
            "{{\n  \"reviewers\": [\"{bob}\",\"{carol}\"],\n  \"seniors\": [\"@reviewers\",\"{alice}\"]\n}}\n"
        ),
        "ids, so that a new name changes nothing (format.md §6.4)"
    );
    assert_eq!(room.run(["--quiet", "group", "add", "x", "bob"]).succeeds().out, "");
}

#[test]
fn a_letter_to_a_group_is_one_delivery_and_one_receipt_each() {
    let room = TestRoom::with(&["alice", "bob", "carol", "dave"]);
    room.run(["group", "add", "reviewers", "bob", "carol"]).succeeds();
    room.run(["group", "add", "seniors", "@reviewers", "dave", "bob"]).succeeds();
    let ran = room.by("alice", ["send", "@seniors", "-m", "hi"]).succeeds();
    assert_eq!(told(&ran.out), ["bob", "carol", "dave"]);
    let ran = room.by("alice", ["send", "carol", "@seniors", "@reviewers", "-m", "hi"]).succeeds();
    assert_eq!(told(&ran.out), ["carol", "bob", "dave"], "in the order they were named, each once");
    for name in ["bob", "carol", "dave"] {
        assert_eq!(room.files(name, "inbox").len(), 2, "{name}");
    }
    assert!(room.files("alice", "inbox").is_empty());
}

#[test]
fn all_is_everyone_but_the_sender() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    let ran = room.by("bob", ["send", "@all", "-m", "hi"]).succeeds();
    assert_eq!(told(&ran.out), ["alice", "carol"]);
    assert!(room.files("bob", "inbox").is_empty(), "not to oneself");
    let again = room.by("bob", ["send", "@ALL", "-m", "hi"]).succeeds();
    assert_eq!(told(&again.out).len(), 2, "names are the same whatever their case");
    room.run(["setup", "dave"]).succeeds();
    assert_eq!(
        told(&room.by("bob", ["send", "@all", "-m", "hi"]).succeeds().out),
        ["alice", "carol", "dave"]
    );
    assert_eq!(groups(&room), "", "it is never written");
}

#[test]
fn a_group_of_oneself_alone_is_refused() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.run(["group", "add", "me", "alice"]).succeeds();
    let ran = room.by("alice", ["send", "@me", "-m", "hi"]).exits(4);
    assert!(ran.err.contains("nobody but you is in `@me`"), "{}", ran.err);
    let ran = room.by("alice", ["send", "@me", "bob", "-m", "hi"]).ends();
    assert!(ran.code == 4 && room.files("bob", "inbox").is_empty(), "all or nothing: {ran:?}");
    let alone = TestRoom::with(&["alice"]);
    alone.by("alice", ["send", "@all", "-m", "hi"]).exits(4);
}

#[test]
fn no_group_contains_itself_at_any_depth() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.run(["group", "add", "a", "bob"]).succeeds();
    room.run(["group", "add", "b", "@a"]).succeeds();
    room.run(["group", "add", "c", "@b"]).succeeds();
    let before = room.tree();
    for arguments in [["a", "@a"], ["a", "@b"], ["a", "@c"], ["b", "@c"], ["new", "@new"]] {
        let ran = room.run(["group", "add"].into_iter().chain(arguments)).exits(4);
        let itself = format!("the group `@{}` would contain itself", arguments[0]);
        assert!(ran.err.contains(&itself), "{arguments:?}: {}", ran.err);
        room.is_still(&before, &format!("{arguments:?}"));
    }
    // With a good member beside it nothing is half done.
    room.run(["group", "add", "a", "alice", "@c"]).exits(4);
    room.is_still(&before, "a good member beside a bad one");
    for arguments in [["all", "bob"], ["ALL", "bob"], ["a", "@all"]] {
        let ran = room.run(["group", "add"].into_iter().chain(arguments)).exits(4);
        assert!(ran.err.contains("@all"), "{arguments:?}: {}", ran.err);
    }
    room.is_still(&before, "@all is always there");
}

#[test]
fn an_unknown_name_is_refused_and_nothing_is_written() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.run(["group", "add", "team", "bob"]).succeeds();
    let before = room.tree();
    for (arguments, code, says) in [
        (vec!["add", "team", "alice", "carol"], 3, "names here: alice, bob"),
        (vec!["add", "team", "@nobody"], 3, "there is no group `@nobody`"),
        (vec!["add", "a b", "bob"], 4, "is not allowed"),
        (vec!["add", "team", "a\u{1b}[2Jb"], 4, "is not allowed"),
        (vec!["remove", "nobody"], 3, "groups here: @team"),
        (vec!["remove", "nobody", "bob"], 3, "groups here: @team"),
        (vec!["remove", "team", "carol"], 3, "carol"),
    ] {
        let ran = room.run(["group"].into_iter().chain(arguments.iter().copied())).exits(code);
        assert!(ran.err.contains(says) && !ran.err.contains('\u{1b}'), "{arguments:?}: {}", ran.err);
        room.is_still(&before, &format!("{arguments:?}"));
    }
    assert_eq!(room.run(["group"]).succeeds().out, "@team bob\n", "alone it lists");
    for arguments in [vec!["group", "add", "x"], vec!["group", "frobnicate"]] {
        room.run(arguments).exits(2);
    }
    let ran = room.by("alice", ["send", "@nobody", "-m", "x"]).exits(3);
    assert!(ran.err.contains("groups here: @team") && ran.err.contains(" help group add"), "{}", ran.err);
    room.by("alice", ["send", "@team", "@nobody", "-m", "x"]).exits(3);
    room.is_still(&before, "a letter to a group that is not there");
}

#[test]
fn a_group_is_found_without_case_like_any_name() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    room.run(["group", "add", "Reviewers", "bob"]).succeeds();
    assert_eq!(told(&room.by("alice", ["send", "@reviewers", "-m", "x"]).succeeds().out), ["bob"]);
    let grown = room.run(["group", "add", "REVIEWERS", "carol"]).succeeds().out;
    assert_eq!(grown, "@Reviewers bob carol\n", "the same group, not a second one");
    room.run(["group", "add", "team", "@reviewers"]).succeeds();
    room.run(["group", "add", "reviewers", "@TEAM"]).exits(4);
    room.run(["group", "remove", "reviewers", "carol"]).succeeds();
    assert_eq!(told(&room.by("alice", ["send", "@team", "-m", "x"]).succeeds().out), ["bob"]);
}

#[test]
fn members_go_one_by_one_and_the_group_with_the_last() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    room.run(["group", "add", "team", "alice", "bob", "carol"]).succeeds();
    assert_eq!(room.run(["group", "remove", "team", "bob"]).succeeds().out, "@team alice carol\n");
    assert_eq!(room.run(["group", "remove", "@team", "alice", "carol"]).succeeds().out, "");
    room.run(["group", "list"]).exits(1);
    room.run(["group", "add", "team", "alice", "bob"]).succeeds();
    room.run(["group", "remove", "team"]).succeeds();
    room.by("alice", ["send", "@team", "-m", "x"]).exits(3);
}

#[test]
fn a_group_that_others_contain_leaves_no_hole_in_them() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    room.run(["group", "add", "inner", "bob"]).succeeds();
    room.run(["group", "add", "outer", "@inner", "carol"]).succeeds();
    let removed = room.run(["group", "remove", "inner"]).ends();
    let list = room.run(["group", "list"]).ends().out;
    assert!(
        removed.code == 4 || !list.contains("@inner"),
        "@outer still names a group that is gone, and a letter to it silently reaches fewer: {list}"
    );
}

#[test]
fn one_copy_that_fails_is_named_and_the_others_arrive() {
    let room = TestRoom::with(&["alice", "bob", "carol", "dave"]);
    room.run(["group", "add", "team", "bob", "carol", "dave"]).succeeds();
    room.block("carol");
    let ran = room.by("alice", ["send", "@team", "-m", "x"]).exits(4);
    assert_eq!(told(&ran.out), ["bob", "dave"], "a receipt for each that arrived");
    assert!(ran.err.contains("not delivered to carol"), "{}", ran.err);
    let document = room.by("alice", ["send", "@team", "-m", "x", "--json"]).json();
    let states: Vec<_> =
        document["receipts"].as_array().unwrap().iter().map(|r| r["state"].clone()).collect();
    assert_eq!(states, [json!("queued"), json!("failed"), json!("queued")]);
    room.unblock("carol");
}

#[test]
fn a_member_that_cannot_get_it_is_named() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    room.run(["group", "add", "team", "bob", "carol"]).succeeds();
    room.block("carol");
    for limit in ["mailbox_messages = 100", "body_bytes = 100000"] {
        // Whether there is a limit to look at must not change who gets the letter.
        room.limit(limit);
        let ran = room.by("alice", ["send", "@team", "-m", "x"]).exits(4);
        assert_eq!(told(&ran.out), ["bob"], "{limit}: {ran:?}");
        assert!(ran.err.contains("not delivered to carol"), "{limit}: {}", ran.err);
    }
    room.unblock("carol");
}

#[test]
fn groups_that_are_no_json_are_never_written_over() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    for broken in ["{\n  \"team\": [\"bo", "[]", "", "{\"team\": 7}"] {
        std::fs::write(room.root().join("groups.json"), broken).unwrap();
        crate::support::hand::tighten(&room.root().join("groups.json"));
        for arguments in
            [vec!["group", "list"], vec!["group", "add", "x", "bob"], vec!["send", "@x", "-m", "m"]]
        {
            let ran = room.by("alice", arguments.clone()).exits(4);
            assert!(ran.err.contains("groups.json"), "{broken:?} {arguments:?}: {}", ran.err);
        }
        assert_eq!(groups(&room), broken);
        assert_eq!(
            told(&room.by("alice", ["send", "@all", "-m", "m"]).succeeds().out),
            ["bob"],
            "needs no file"
        );
    }
}

#[test]
fn groups_made_by_hand_are_read_and_a_loop_in_them_ends() {
    let room = TestRoom::with(&["alice", "bob", "carol"]).leaves_faults();
    let (bob, carol) = (room.id("bob"), room.id("carol"));
    let text = json!({"a": ["@b", bob], "b": ["@a", carol], "self": ["@self", bob]}).to_string();
    std::fs::write(room.root().join("groups.json"), text).unwrap();
    let mut names = told(&room.by("alice", ["send", "@a", "-m", "x"]).succeeds().out).join(" ");
    assert!(names == "carol bob" || names == "bob carol", "{names}");
    names = told(&room.by("alice", ["send", "@self", "-m", "x"]).succeeds().out).join(" ");
    assert_eq!(names, "bob");
}

#[test]
fn groups_changed_by_many_at_once_lose_nobody() {
    let names: Vec<String> = (0..8).map(|n| format!("w{n}")).collect();
    let room = TestRoom::with(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let running: Vec<_> = names.iter().map(|n| room.run(["group", "add", "team", n]).start()).collect();
    for child in running {
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    }
    assert_eq!(room.run(["group", "list"]).succeeds().out.split_whitespace().count(), 9);
}
