//! Mail that is carried from one place to another is finished at its source only when it is known to be durable where it went.

use crate::support::edges_strike::can_be_struck;
use crate::support::project::Project;
use crate::support::room::{Ran, TestRoom};
use crate::support::taken::claim;

const ID: &str = "2026-01-02-001";

/// Runs a command for which a directory cannot be synced.
fn unsynced(room: &TestRoom, path: &std::path::Path, arguments: &str) -> Ran {
    let strike =
        format!("strace -o /dev/null -P '{}' -e trace=fsync -e inject=fsync:error=EIO", path.display());
    room.bash(&format!("{strike} postroom {arguments}; exit $?")).ends()
}

#[test]
fn an_answer_by_hand_whose_delivery_is_not_proven_is_carried_again() {
    if !can_be_struck("an_answer_by_hand_whose_delivery_is_not_proven_is_carried_again") {
        return;
    }
    let project = Project::with(&["alice"], &["writer"]);
    let id = project.ask("alice", "writer", "question");
    project.respond("writer", &id, "alice", "completed", "the answer\n");
    let ran = unsynced(&project.room, &project.room.folder("alice", "inbox"), "--as alice check");
    assert_eq!(ran.code, 5, "{ran:?}");
    assert_ne!(project.status("writer", &id), "completed", "{ran:?}");
    assert_eq!(project.room.headers("alice").len(), 1);
    assert_eq!(project.status("writer", &id), "completed");
}

#[test]
fn a_claim_whose_answer_is_not_proven_can_be_finished_again_and_answers_once() {
    if !can_be_struck("a_claim_whose_answer_is_not_proven_can_be_finished_again_and_answers_once") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "question");
    let token = claim(&room, "bob", &[]);
    let words = format!("--as bob done {token} -m answer");
    let ran = unsynced(&room, &room.folder("alice", "inbox"), &words);
    assert_eq!(ran.code, 6, "{ran:?}");
    assert_eq!(room.files("bob", "archive").len(), 0, "{ran:?}");
    room.bash(&format!("postroom {words}")).succeeds();
    assert_eq!((room.files("bob", "archive").len(), room.headers("alice").len()), (1, 1));
}

#[test]
fn a_reply_whose_delivery_is_not_proven_says_so_and_comes_once() {
    if !can_be_struck("a_reply_whose_delivery_is_not_proven_says_so_and_comes_once") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "question");
    let words = format!("--as bob reply {id} -m answer");
    let ran = unsynced(&room, &room.folder("alice", "inbox"), &words);
    assert_eq!((ran.code, room.files("bob", "archive").len()), (6, 0), "{ran:?}");
    room.bash(&format!("postroom {words}")).succeeds();
    assert_eq!((room.files("bob", "archive").len(), room.headers("alice").len()), (1, 1));
}

#[test]
fn a_message_is_given_up_when_its_sender_is_told_for_sure() {
    if !can_be_struck("a_message_is_given_up_when_its_sender_is_told_for_sure") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "question");
    let words = format!("--as bob fail {} --reason no", claim(&room, "bob", &[]));
    let ran = unsynced(&room, &room.folder("alice", "inbox"), &words);
    assert_eq!((ran.code, room.files("bob", "failed").len()), (6, 0), "{ran:?}");
    assert!(ran.err.contains("the same command again"), "{ran:?}");
    room.bash(&format!("postroom {words}")).succeeds();
    assert_eq!((room.files("bob", "failed").len(), room.headers("alice").len()), (1, 1));
}

#[test]
fn a_request_that_was_never_filed_is_not_looked_for_for_ever() {
    let project = Project::with(&["alice"], &["writer"]);
    project.ask("alice", "writer", "question");
    let notes = project.room.root().join(project.room.id("alice")).join(".mailbox/asked");
    let note = std::fs::read_dir(&notes).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&note).unwrap();
    let mut never: serde_json::Value = serde_json::from_str(&text).unwrap();
    (never["id"], never["message"]) = ("".into(), "b0051e00-0000-4000-8000-000000000003".into());
    let left = notes.join("0".repeat(32));
    std::fs::write(&left, never.to_string()).unwrap();
    let check = || project.room.run(["--as", "alice", "check"]).ends();
    check();
    assert!(left.exists(), "its sender may be at it");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(25 * 3600);
    for path in [&left, &note] {
        std::fs::File::open(path).unwrap().set_modified(old).unwrap();
    }
    check();
    assert!(!left.exists() && note.exists());
}

#[test]
fn a_task_for_a_name_outside_whose_delivery_is_not_proven_stays_where_it_was() {
    if !can_be_struck("a_task_for_a_name_outside_whose_delivery_is_not_proven_stays_where_it_was") {
        return;
    }
    let project = Project::with(&["alice"], &["writer"]);
    std::fs::create_dir(project.path("inboxes/alice")).unwrap();
    project.put("alice", ID, "from: writer\n");
    crate::support::hand::age(&project.path(&format!("inboxes/alice/{ID}.md")), 60);
    let ran = unsynced(&project.room, &project.room.folder("alice", "inbox"), "--as alice check");
    assert_eq!((ran.code, project.status("alice", ID).as_str()), (5, "pending"), "{ran:?}");
    assert_eq!(project.room.headers("alice").len(), 1);
    assert_eq!(project.status("alice", ID), "in_progress");
}

/// The inbox that an agent made for somebody outside cannot be looked at: that is no empty inbox.
#[test]
fn an_inbox_for_a_name_outside_that_cannot_be_looked_at_is_an_error() {
    if !can_be_struck("an_inbox_for_a_name_outside_that_cannot_be_looked_at_is_an_error") {
        return;
    }
    let project = Project::with(&["alice"], &["writer"]);
    std::fs::create_dir(project.path("inboxes/alice")).unwrap();
    project.put("alice", ID, "from: writer\n");
    crate::support::hand::age(&project.path(&format!("inboxes/alice/{ID}.md")), 60);
    let strike = format!(
        "strace -o /dev/null -P '{}' -e inject=statx,newfstatat,lstat,stat:error=EIO",
        project.path("inboxes/alice").display()
    );
    let ran = project.room.bash(&format!("{strike} postroom --as alice check; exit $?")).ends();
    assert_eq!(ran.code, 5, "{ran:?}");
    // Nor is the end of what came out of it forgotten.
    let token = claim(&project.room, "alice", &[]);
    let ran = project.room.bash(&format!("{strike} postroom --as alice done {token}; exit $?")).ends();
    assert_eq!(ran.code, 5, "{ran:?}");
    project.by("alice", ["done", &token]).succeeds();
    assert_eq!(project.status("alice", ID), "completed");
}
