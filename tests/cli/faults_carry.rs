//! Mail that is carried from one place to another is finished at its source only when it is known to be durable where it went.

use crate::edges_strike::can_be_struck;
use crate::project::Project;
use crate::room::{Ran, TestRoom};
use crate::taken::claim;

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
    assert_eq!(ran.code, 6, "{ran:?}");
    room.bash(&format!("postroom {words}")).succeeds();
    assert_eq!(room.headers("alice").len(), 1);
}

#[test]
fn a_task_for_a_name_outside_whose_delivery_is_not_proven_stays_where_it_was() {
    if !can_be_struck("a_task_for_a_name_outside_whose_delivery_is_not_proven_stays_where_it_was") {
        return;
    }
    let project = Project::with(&["alice"], &["writer"]);
    std::fs::create_dir(project.path("inboxes/alice")).unwrap();
    project.put("alice", ID, "from: writer\n");
    crate::hand::age(&project.path(&format!("inboxes/alice/{ID}.md")), 60);
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
    crate::hand::age(&project.path(&format!("inboxes/alice/{ID}.md")), 60);
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
