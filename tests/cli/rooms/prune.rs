//! `prune`: removes mailboxes that are named and old finished mail, says first what it would do, and never touches
//! what is not finished unless told.

use serde_json::Value;

use crate::support::mask::mask;
use crate::support::room::TestRoom;
use crate::support::taken::{claim, end_lease, taken};

#[test]
fn it_says_first_what_it_would_do() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "read");
    room.by("bob", ["read"]).succeeds();
    let before = room.tree();
    let ran = room.by("alice", ["prune", "bob"]).exits(4);
    assert_eq!(
        mask(&ran.out, &room.root()),
        "would remove the mailbox bob (bob-<id>) with 1 message, 0 of them unread or claimed\n"
    );
    assert!(ran.err.contains("nothing was removed") && ran.err.contains(" prune --yes "), "{}", ran.err);
    // Nobody is asked where nobody can answer.
    let ran = room.by("alice", ["prune", "bob"]).input("y\n").exits(4);
    assert!(ran.err.contains("nothing was removed"), "{}", ran.err);
    room.is_still(&before, "a prune without --yes");
}

#[test]
fn a_mailbox_goes_with_its_mail_and_its_name() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "read");
    room.by("bob", ["read"]).succeeds();
    let id = room.id("bob");
    let ran = room.by("alice", ["prune", "bob", "--yes"]).succeeds();
    assert_eq!(
        mask(&ran.out, &room.root()),
        "removed the mailbox bob (bob-<id>) with 1 message, 0 of them unread or claimed\npostroom --root <room> undo <id>  # brings it back, for 30 days\n"
    );
    assert!(!room.root().join(&id).exists());
    let names = room.run(["names"]).succeeds().out;
    assert!(!names.contains("bob"), "{names}");
    room.by("alice", ["send", "bob", "-m", "x"]).exits(3);
    room.by("alice", ["prune", "bob", "--yes"]).exits(3);
    room.run(["setup", "bob"]).succeeds();
    assert_ne!(room.id("bob"), id, "the name is free for another");
    assert!(room.run(["log"]).succeeds().out.contains("pruned"));
}

#[test]
fn one_s_own_mailbox_is_never_removed() {
    let room = TestRoom::with(&["alice", "bob"]);
    let before = room.tree();
    for (name, run) in [
        ("alice", room.by("alice", ["prune", "alice", "--yes"])),
        ("ALICE", room.by("alice", ["prune", "ALICE", "--yes"])),
        ("bob alice", room.by("alice", ["prune", "bob", "alice", "--yes", "--unread"])),
        ("by the environment", room.run(["prune", "alice", "--yes"]).env("AGENT_MAILBOX_ID", "alice")),
    ] {
        let ran = run.exits(4);
        assert!(ran.err.contains("is your own mailbox"), "{name}: {}", ran.err);
        room.is_still(&before, name);
    }
    let id = room.id("alice");
    room.by("alice", ["prune", &id, "--yes"]).exits(4);
    room.is_still(&before, "one's own by its id");
}

#[test]
fn unread_mail_is_kept_unless_told() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    room.send("alice", "bob", "unread");
    let before = room.tree();
    for arguments in [vec!["bob"], vec!["carol", "bob"]] {
        let ran = room.by("alice", ["prune", "--yes"].into_iter().chain(arguments)).exits(4);
        assert!(ran.err.contains("`bob` has 1 unread") && ran.err.contains("--unread"), "{}", ran.err);
        room.is_still(&before, "a mailbox with unread mail, and who was named beside it");
    }
    room.by("alice", ["prune", "bob", "--unread"]).exits(4);
    room.is_still(&before, "told, but not to do it");
    room.by("alice", ["prune", "bob", "--unread", "--yes"]).succeeds();
}

#[test]
fn what_somebody_is_working_on_is_not_finished_either() {
    for over in [false, true] {
        let room = TestRoom::with(&["alice", "bob", "carol"]);
        room.send("alice", "bob", "job");
        let token = claim(&room, "carol", &["--queue", "bob"]);
        if over {
            // It is unread again, as the next look at the mailbox will say.
            end_lease(&room, "bob", &token);
        }
        let ran = room.by("alice", ["prune", "bob", "--yes"]).ends();
        assert_eq!(
            ran.code, 4,
            "a message that nobody had finished was removed (lease over: {over}): {ran:?}"
        );
        assert!(room.root().join(room.id("bob")).exists());
        room.by("carol", ["claim", "--queue", "bob"]).ends();
        for token in room.files("bob", "claimed") {
            room.by("carol", ["done", &token]).succeeds();
        }
    }
}

#[test]
fn old_mail_goes_and_young_mail_stays() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "read");
    room.by("bob", ["read"]).succeeds();
    room.send("alice", "bob", "failed");
    room.by("bob", ["fail", &claim(&room, "bob", &[]), "--reason", "x"]).succeeds();
    room.send("alice", "bob", "claimed");
    let token = claim(&room, "bob", &[]);
    room.send("alice", "bob", "unread");
    let ran = room.by("alice", ["prune", "--archived", "1h", "--failed", "1h", "--yes"]).exits(1);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""), "nothing is old enough");

    let ran = room.by("alice", ["prune", "--archived", "0s", "--yes"]).succeeds();
    assert_eq!(ran.out.lines().next(), Some("removed 1 message from bob/archive"));
    let counts = ["archive", "failed", "inbox"].map(|folder| room.files("bob", folder).len());
    assert_eq!(counts, [0, 1, 1]);
    room.by("alice", ["prune", "--failed", "0s", "--yes"]).succeeds();
    assert_eq!(room.files("bob", "failed").len(), 0);
    assert!(room.files("bob", "attempts").is_empty(), "what was noted of it goes too");
    assert_eq!((room.files("bob", "claimed").len(), room.files("bob", "inbox").len()), (1, 1));
    room.by("bob", ["done", &token]).succeeds();
}

#[test]
fn the_age_is_that_of_its_being_finished() {
    // A message may have waited long before it was read; that does not make it old mail.
    let room = TestRoom::with(&["alice", "bob"]);
    let path =
        room.place("bob", "old.md", crate::support::hand::by_hand(&room.id("alice"), "abcd1111", "old", "x"));
    crate::support::hand::age(&path, 90 * 86_400);
    room.by("bob", ["read"]).succeeds();
    room.run(["prune", "--archived", "30d", "--yes"]).exits(1);
    assert_eq!(room.files("bob", "archive").len(), 1);
}

#[test]
fn old_mail_of_one_mailbox_only() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    for name in ["bob", "carol"] {
        room.send("alice", name, "x");
        room.by(name, ["read"]).succeeds();
    }
    room.run(["prune", "--archived", "0s", "--only", "bob", "--yes"]).succeeds();
    assert_eq!((room.files("bob", "archive").len(), room.files("carol", "archive").len()), (0, 1));
    let ran = room.run(["prune", "--archived", "0s", "--only", "nobody", "--yes"]).exits(3);
    assert!(ran.err.contains("names here:"), "{}", ran.err);
    assert_eq!(room.files("carol", "archive").len(), 1);
}

#[test]
fn without_anything_named_nothing_goes() {
    let room = TestRoom::with(&["alice", "bob"]);
    let before = room.tree();
    for arguments in [vec!["prune"], vec!["prune", "--yes"], vec!["prune", "--only", "bob", "--yes"]] {
        let ran = room.run(arguments.clone()).exits(2);
        assert!(ran.err.contains("name a mailbox, or use --archived"), "{arguments:?}: {}", ran.err);
    }
    let ran = room.run(["prune", "nobody", "--yes"]).exits(3);
    assert!(ran.err.contains("names here: alice, bob"), "{}", ran.err);
    room.run(["prune", "bob", "nobody", "--yes"]).exits(3);
    room.run(["prune", "--archived", "long", "--yes"]).exits(2);
    // Thirty what?
    let ran = room.run(["prune", "--archived", "30", "--yes"]).exits(2);
    assert!(ran.err.contains("30d"), "{}", ran.err);
    room.run(["prune", "@all", "--yes"]).exits(4);
    room.run(["prune", "..", "--yes"]).exits(4);
    room.is_still(&before, "prunes that name nobody");
}

#[test]
fn the_document_is_one() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "x");
    room.by("bob", ["read"]).succeeds();
    for arguments in [["prune", "bob", "--json"], ["prune", "--archived=0s", "--json"]] {
        let ran = room.run(arguments).exits(4);
        let told: Value =
            serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{arguments:?}: {e}: {}", ran.out));
        assert_eq!((&told["v"], &told["removed"]), (&1.into(), &false.into()), "{arguments:?}");
        assert_eq!(told["items"].as_array().unwrap().len(), 1, "{arguments:?}");
    }
    let told = room.run(["prune", "bob", "--json", "--yes"]).json();
    assert_eq!((&told["removed"], &told["items"][0]["name"]), (&true.into(), &"bob".into()));
    let ran = room.run(["prune", "--archived=0s", "--json", "--yes"]).exits(1);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(told["items"], serde_json::json!([]));
}

#[test]
fn old_mail_that_went_before_is_no_error() {
    let room = TestRoom::with(&["alice", "bob"]);
    for n in 0..20 {
        room.send("alice", "bob", &format!("m{n}"));
    }
    let ids: Vec<String> = room.files("bob", "inbox").iter().map(|f| f[17..25].to_owned()).collect();
    room.by("bob", ["archive"].into_iter().chain(ids.iter().map(String::as_str))).succeeds();
    let running: Vec<_> = (0..3).map(|_| room.run(["prune", "--archived", "0s", "--yes"]).start()).collect();
    for child in running {
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!([Some(0), Some(1)].contains(&output.status.code()), "{:?}: {err}", output.status.code());
    }
    assert!(room.files("bob", "archive").is_empty());
}

#[test]
fn a_pruned_mailbox_is_in_no_group_any_more() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    room.run(["group", "add", "team", "bob", "carol"]).succeeds();
    room.run(["prune", "bob", "--yes"]).succeeds();
    assert_eq!(room.run(["group", "list"]).succeeds().out, "@team carol\n");
    room.by("alice", ["send", "@team", "-m", "x"]).succeeds();
}

#[test]
fn a_session_whose_mailbox_was_removed_is_told_what_to_do() {
    let room = TestRoom::with(&["alice"]);
    let session = |arguments: &[&str]| room.run(arguments.iter().copied()).env("CODEX_THREAD_ID", "t");
    session(&["setup", "bob"]).succeeds();
    room.by("alice", ["prune", "bob", "--yes"]).succeeds();
    let ran = session(&["check"]).exits(3);
    assert!(ran.err.contains(" setup "), "a repair does not bring it back: {}", ran.err);
    session(&["setup", "bob"]).succeeds();
    session(&["check"]).exits(1);
}

#[test]
fn a_claim_token_of_a_removed_queue_is_gone() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (_, token) = taken(&room, "alice", "bob", "job");
    room.by("alice", ["prune", "bob", "--unread", "--yes"]).succeeds();
    room.by("alice", ["done", &token]).exits(3);
}
