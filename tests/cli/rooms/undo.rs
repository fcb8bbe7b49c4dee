//! `undo`: what a prune removed is in the trash of the room, and comes back whole.

use serde_json::{Value, json};

use crate::support::room::TestRoom;
use crate::support::taken::claim;

/// Prunes, and gives the id that brings it back.
#[track_caller]
fn prune(room: &TestRoom, arguments: &[&str]) -> String {
    let told =
        room.by("alice", ["prune", "--yes", "--json"].into_iter().chain(arguments.iter().copied())).json();
    told["undo"].as_str().unwrap_or_else(|| panic!("no way back: {told}")).to_owned()
}

/// Everything a room holds but what only commands leave behind.
fn kept(room: &TestRoom) -> Vec<String> {
    let files = room.bash("cd \"$POSTROOM_ROOT\" && find . -type f -not -path './.journal/*' -not -path './.sessions/*' -not -name seen | sort");
    files.succeeds().out.lines().map(str::to_owned).collect()
}

#[test]
fn a_mailbox_comes_back_with_its_mail_names_and_groups() {
    let room = TestRoom::with(&["alice", "carol"]);
    room.run(["setup", "bob", "--child", "--alias", "rob", "--about", "tests"]).succeeds();
    room.run(["group", "add", "team", "bob"]).succeeds();
    room.run(["group", "add", "everybody", "@team", "carol"]).succeeds();
    room.send("alice", "bob", "read");
    room.by("bob", ["read"]).succeeds();
    room.send("alice", "bob", "unread");
    let (before, registry) =
        (kept(&room), std::fs::read_to_string(room.root().join("registry.json")).unwrap());
    let id = prune(&room, &["bob", "--unread"]);
    room.by("alice", ["send", "bob", "-m", "x"]).exits(3);
    assert_eq!(room.run(["group", "list"]).succeeds().out, "@everybody carol\n");

    let ran = room.by("alice", ["undo", &id]).succeeds();
    assert_eq!(ran.out, "brought back the mailbox bob\n");
    assert_eq!(kept(&room), before);
    let lines = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(|line| line.trim_end_matches(',').to_owned()).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&std::fs::read_to_string(room.root().join("registry.json")).unwrap()), lines(&registry));
    assert_eq!(room.run(["group", "list"]).succeeds().out, "@everybody carol @team\n@team bob\n");
    assert!(room.by("rob", ["check"]).succeeds().out.contains("unread"));
    room.by("alice", ["undo", &id]).exits(3);
    assert!(room.run(["log"]).succeeds().out.contains("restored"));
}

#[test]
fn old_mail_comes_back_with_its_attempts() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "read");
    room.by("bob", ["read"]).succeeds();
    room.send("alice", "bob", "failed");
    room.by("bob", ["fail", &claim(&room, "bob", &[]), "--reason", "no compiler"]).succeeds();
    let before = kept(&room);
    let id = prune(&room, &["--archived", "0s", "--failed", "0s"]);
    assert!(room.files("bob", "archive").is_empty() && room.files("bob", "failed").is_empty());
    let ran = room.by("alice", ["undo", &id]).succeeds();
    // The notice of the failure is unread at its asker, so only two went.
    assert_eq!(ran.out, "brought back 2 messages\n");
    assert_eq!(kept(&room), before);
    assert!(room.by("bob", ["failed", "list"]).succeeds().out.contains("no compiler"));
}

#[test]
fn a_name_that_was_taken_meanwhile_is_an_error_that_says_what_to_do() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "unread");
    let id = prune(&room, &["bob", "--unread"]);
    room.run(["setup", "bob", "--child"]).succeeds();
    // It suggested `bob-2` without a look.
    room.run(["setup", "bob-2", "--child"]).succeeds();
    let before = room.tree();
    let ran = room.by("alice", ["undo", &id]).exits(4);
    assert!(
        ran.err.contains("`bob` was taken") && ran.err.contains(&format!(" undo {id} --name bob-3")),
        "{}",
        ran.err
    );
    room.is_still(&before, "an undo that is refused");
    room.by("alice", ["undo", &id, "--name", "alice"]).exits(4);
    room.is_still(&before, "a new name that is taken too");
    room.by("alice", ["undo", &id, "--name", "robert"]).succeeds();
    assert!(room.by("robert", ["check"]).succeeds().out.contains("unread"));
    room.by("bob", ["check"]).exits(1);
    room.run(["doctor", "--strict"]).succeeds();
}

#[test]
fn the_trash_is_listed_expires_and_can_be_emptied() {
    let room = TestRoom::with(&["alice", "bob", "carol", "dave"]);
    room.run(["undo"]).exits(1);
    let first = prune(&room, &["bob"]);
    let second = prune(&room, &["carol"]);
    let listed = room.run(["undo"]).succeeds().out;
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert!(listed.contains(&format!("{first} pruned ")) && listed.contains("the mailbox carol"), "{listed}");
    let told = room.run(["undo", "--json"]).json();
    let of = |id: &str| told["trash"].as_array().unwrap().iter().find(|bag| bag["id"] == id).unwrap().clone();
    assert_eq!((&of(&first)["mailboxes"], &of(&second)["mailboxes"]), (&json!(["bob"]), &json!(["carol"])));

    // Thirty days on, the next prune frees it.
    let trash = room.root().join(".trash");
    let old = std::fs::read_dir(&trash)
        .unwrap()
        .flatten()
        .find(|e| e.file_name().to_string_lossy().ends_with(&first));
    std::fs::rename(old.unwrap().path(), trash.join(format!("20260101T000000Z-{first}"))).unwrap();
    room.by("alice", ["undo", &first[..4]]).succeeds();
    let third = prune(&room, &["bob"]);
    let newest = std::fs::read_dir(&trash)
        .unwrap()
        .flatten()
        .find(|e| e.file_name().to_string_lossy().ends_with(&third));
    std::fs::rename(newest.unwrap().path(), trash.join(format!("20260101T000000Z-{third}"))).unwrap();
    let fourth = prune(&room, &["dave"]);
    room.by("alice", ["undo", &third]).exits(3);

    room.run(["prune", "--forever"]).exits(4);
    room.run(["prune", "--forever", "--yes"]).succeeds();
    for gone in [second, fourth] {
        room.by("alice", ["undo", &gone]).exits(3);
    }
    assert_eq!(std::fs::read_dir(&trash).unwrap().count(), 0);
}

#[test]
fn an_emptied_trash_gives_back_what_an_interrupted_prune_left() {
    for arguments in [&["prune", "--forever", "--yes"][..], &["prune", "carol", "--forever", "--yes"]] {
        let room = TestRoom::with(&["alice", "bob", "carol"]);
        room.send("alice", "bob", "acknowledged");
        room.prune_in_part("bob");
        let note = r#"{"v":1,"names":"{\\n}\\n","groups":[]}"#;
        let id = room.id("bob");
        room.bash(&format!(
            "umask 077; cd \"$POSTROOM_ROOT\"/.trash/*/mailboxes && printf '{note}' >{id}.json"
        ))
        .succeeds();
        room.run(arguments.iter().copied()).ends();
        assert_eq!(room.files("bob", "inbox").len(), 1, "{arguments:?}");
    }
}

#[test]
fn forever_frees_the_disk_at_once() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "read");
    room.by("bob", ["read"]).succeeds();
    let told = room.run(["prune", "--archived", "0s", "--forever", "--yes", "--json"]).json();
    assert_eq!((&told["removed"], &told["undo"]), (&Value::Bool(true), &Value::Null));
    room.run(["prune", "bob", "--forever", "--yes"]).succeeds();
    assert!(
        !kept(&room).iter().any(|file| file.contains("bob") || file.contains(".trash")),
        "{:?}",
        kept(&room)
    );
}

#[test]
fn a_prune_that_is_refused_leaves_nothing_to_undo() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    // Its directory is in its place, as where a prune was killed before it moved it.
    let id = room.id("bob");
    let note = r#"{"v":1,"names":"{\n}\n","groups":[]}"#;
    room.bash(&format!(
        "umask 077; cd \"$POSTROOM_ROOT\" && mkdir -p .trash/20990101T000000Z-0123abcd/mailboxes && echo '{note}' >.trash/20990101T000000Z-0123abcd/mailboxes/{id}.json"
    ))
    .succeeds();
    room.run(["undo"]).exits(1);
    // Mail that comes between the plan and the prune: what was planned before it is kept, and can be undone.
    room.prune_in_part("bob");
    room.bash("umask 077; cd \"$POSTROOM_ROOT\"/.trash/*/mailboxes/bob-*/inbox && echo hello >late.md")
        .succeeds();
    room.by("alice", ["prune", "carol", "bob", "--yes"]).exits(4);
    let told = room.run(["undo", "--json"]).ends().out;
    assert!(!told.contains("bob"), "{told}");
    room.by("bob", ["archive", "late.md"]).ends();
}

#[test]
fn a_retry_finds_what_was_pruned() {
    let room = TestRoom::with(&["alice", "bob"]);
    let send = ["send", "bob", "-m", "once", "--id", "abcd1234-0000-4000-8000-000000000000"];
    room.by("alice", send).succeeds();
    room.by("bob", ["read"]).succeeds();
    let id = prune(&room, &["--archived", "0s"]);
    room.by("alice", send).succeeds();
    room.by("bob", ["check"]).exits(1);
    let ran = room
        .by("alice", ["send", "bob", "-m", "other", "--id", "abcd1234-0000-4000-8000-000000000000"])
        .exits(4);
    assert!(ran.err.contains(".trash"), "{}", ran.err);
    room.by("alice", ["undo", &id]).succeeds();
    room.by("alice", send).succeeds();
    assert_eq!(room.files("bob", "archive").len(), 1);
    room.by("bob", ["check"]).exits(1);
}

#[test]
fn a_workspace_keeps_its_files_and_gets_its_name_back() {
    let room = TestRoom::with(&["alice"]);
    let dir = room.around().join("project");
    std::fs::create_dir(&dir).unwrap();
    room.run(["setup", "--child", "--workspace", dir.to_str().unwrap()]).succeeds();
    let send = ["send", "project", "-m", "once", "--id", "abcd1234-0000-4000-8000-000000000000"];
    room.by("alice", send).succeeds();
    room.by("project", ["reply", "abcd1234", "-m", "answer"]).succeeds();
    let old = prune(&room, &["--archived", "0s", "--only", "project"]);
    room.by("alice", send).succeeds();
    room.by("project", ["check"]).exits(1);
    let id = prune(&room, &["project"]);
    room.by("alice", send).exits(3);
    room.by("alice", ["undo", &id]).succeeds();
    room.by("alice", ["undo", &old]).succeeds();
    assert_eq!(std::fs::read_dir(dir.join(".mailbox/archive")).unwrap().count(), 1);
    room.by("alice", send).succeeds();
    room.by("project", ["check"]).exits(1);
}

#[test]
fn a_prune_that_was_killed_before_it_counted_is_put_back() {
    let room = TestRoom::with(&["alice", "bob", "carol", "dave"]);
    room.send("alice", "bob", "acknowledged");
    room.prune_in_part("bob");
    // Neither the prune of another mailbox nor time takes it away.
    room.by("alice", ["prune", "carol", "--yes"]).succeeds();
    room.by("alice", ["prune", "bob", "--yes"]).exits(4);
    assert_eq!(room.files("bob", "inbox").len(), 1);
    room.prune_in_part("bob");
    assert!(room.by("bob", ["check"]).succeeds().out.contains("acknowledged"));
    room.prune_in_part("bob");
    room.send("alice", "bob", "second");
    assert_eq!(room.files("bob", "inbox").len(), 2);
    room.prune_in_part("bob");
    room.run(["doctor", "--fix"]).succeeds();
    assert_eq!(room.files("bob", "inbox").len(), 2);
    // Somebody made the directory anew by hand.
    room.prune_in_part("bob");
    let inbox = room.folder("bob", "inbox");
    room.bash(&format!("umask 077; mkdir -p '{}'", inbox.display())).succeeds();
    room.by("alice", ["prune", "bob", "--yes"]).exits(4);
    assert_eq!(room.files("bob", "inbox").len(), 2);
}
