//! A retry changes nothing, and nothing that still wants an answer is removed.

use crate::protocols::conformance::{Kind, Way, claim, for_each_way, reads_once, reference, sent_id};
use crate::support::room::{Ran, Run, TestRoom};

for_each_way!(
    a_send_run_again_changes_nothing,
    a_reply_run_again_changes_nothing,
    a_done_run_again_changes_nothing,
    a_fail_run_again_changes_nothing,
    an_archive_run_again_changes_nothing,
    a_read_run_again_changes_nothing,
    nothing_unanswered_is_removed,
);

const ID: &str = "abcd1234-0000-4000-8000-000000000000";
const ANSWER: &str = "abcd5678-0000-4000-8000-000000000000";

/// All files of the two mailboxes and what `check` says of them. The journal grows by every run, and what Postroom
/// keeps in hidden directories of its own can be deleted at any time.
fn state(room: &TestRoom, way: Way) -> (Vec<(String, String)>, [String; 2]) {
    let checked = [way.asker(), way.worker()].map(|name| room.by(name, ["check", "--json"]).ends().out);
    let ours = |path: &str| {
        [".journal", ".postroom", "home"].iter().any(|dir| path.split('/').any(|part| part == *dir))
    };
    let files =
        crate::support::picture::tree(room.around()).into_iter().filter(|(path, _)| !ours(path)).collect();
    (files, checked)
}

/// Runs a command as the worker twice, and insists that the second run ends so and leaves everything as it was.
#[track_caller]
fn twice(room: &TestRoom, way: Way, code: i32, run: impl Fn() -> Run) -> Ran {
    run().succeeds();
    let before = state(room, way);
    let again = run().exits(code);
    let after = state(room, way);
    for (path, content) in &after.0 {
        let was = before.0.iter().find(|(p, _)| p == path).map(|(_, c)| c);
        assert_eq!(was, Some(content), "{path}");
    }
    assert_eq!((before.0.len(), &before.1), (after.0.len(), &after.1));
    again
}

/// A room in which the worker has one question, and what `check` calls it.
fn asked(way: Way) -> (TestRoom, String) {
    let room = way.room();
    room.by(way.asker(), ["send", way.worker(), "-m", "question", "--id", ID]).succeeds();
    let file = reference(&room.header(way.worker()));
    (room, file)
}

fn a_send_run_again_changes_nothing(way: Way) {
    let room = way.room();
    twice(&room, way, 0, || room.by(way.asker(), ["send", way.worker(), "-m", "question", "--id", ID]));
    assert_eq!(room.headers(way.worker()).len(), 1);
    assert_eq!(way.works.copies(&room, way.worker(), "question").len(), 1);
}

fn a_reply_run_again_changes_nothing(way: Way) {
    let (room, file) = asked(way);
    let reply = || room.by(way.worker(), ["reply", &file, "-m", "answer", "--id", ANSWER]);
    twice(&room, way, 0, reply);
    assert_eq!(reads_once(&room, way.asker())["body"], "answer");
    reply().succeeds();
    room.by(way.asker(), ["check"]).exits(1);
}

fn a_done_run_again_changes_nothing(way: Way) {
    let (room, _) = asked(way);
    let token = claim(&room, way.worker(), &[]);
    twice(&room, way, 3, || room.by(way.worker(), ["done", &token, "-m", "answer"]));
    assert_eq!(reads_once(&room, way.asker())["body"], "answer");
}

fn a_fail_run_again_changes_nothing(way: Way) {
    let (room, _) = asked(way);
    let token = claim(&room, way.worker(), &[]);
    twice(&room, way, 3, || room.by(way.worker(), ["fail", &token, "--reason", "no compiler"]));
    reads_once(&room, way.asker());
}

fn an_archive_run_again_changes_nothing(way: Way) {
    let (room, file) = asked(way);
    twice(&room, way, 0, || room.by(way.worker(), ["archive", &file]));
    room.by(way.worker(), ["check"]).exits(1);
}

fn a_read_run_again_changes_nothing(way: Way) {
    let (room, file) = asked(way);
    let again = twice(&room, way, 0, || room.by(way.worker(), ["read", &file]));
    assert!(again.out.contains("\nquestion\n"), "{again:?}");
}

/// One is unread, one was read, one is claimed; a fourth is answered, and whatever tidies up runs over them.
fn nothing_unanswered_is_removed(way: Way) {
    let room = way.room();
    let ask = |text: &str| {
        let sent = room.by(way.asker(), ["send", way.worker(), "-m", text, "--json"]).json();
        let headers = room.headers(way.worker());
        let file = headers.iter().find(|h| h["subject"] == text).map(reference);
        (sent_id(&sent), file.unwrap())
    };
    let claimed = ask("claimed question");
    let token = claim(&room, way.worker(), &[]);
    let answered = ask("answered question");
    room.by(way.worker(), ["reply", &answered.1, "-m", "answer"]).succeeds();
    // In a room what was read is over; elsewhere it is open until it is answered.
    let mut open = vec![ask("unread question")];
    if way.works != Kind::Maildir {
        let shown = ask("shown question");
        room.by(way.worker(), ["read", &shown.1]).succeeds();
        open.push(shown);
    }
    let filed = ask("filed question");
    room.by(way.worker(), ["archive", &filed.1]).succeeds();
    let project = room.around().join("project");
    for _ in 0..2 {
        if project.exists() {
            room.run(["tree", "cleanup"]).within(&project).ends();
        }
        room.run(["prune", "--archived", "0s", "--yes"]).ends();
        room.by(way.worker(), ["check"]).succeeds();
    }
    let kept = way.works.copies(&room, way.worker(), " question");
    for (_, file) in &open {
        assert!(kept.iter().any(|path| path.ends_with(file)), "{file}: {kept:?}");
    }
    room.by(way.worker(), ["done", &token, "-m", "to the claimed one"]).succeeds();
    for (_, file) in &open {
        room.by(way.worker(), ["reply", file, "-m", "to an open one"]).succeeds();
    }
    for (id, _) in open.iter().chain([&claimed]) {
        let found = room.by(way.asker(), ["check", "--reply-to", id]).succeeds();
        assert_eq!(found.out.lines().count(), 1, "{id}: {found:?}");
    }
}
