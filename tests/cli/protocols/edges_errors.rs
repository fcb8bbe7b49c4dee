//! An error while looking for something is an error, never "not there": every open of a command fails once.

use crate::protocols::conformance::{Kind, Way, for_each_kind, sent_id};
use crate::support::edges_strike::{can_be_struck, points, sample, struck};

for_each_kind!(
    a_send_retried_with_an_error_delivers_once,
    an_answer_by_hand_survives_an_error_of_its_asker,
    an_answer_by_hand_survives_an_error_of_its_writer,
    a_reply_survives_an_error,
    mail_that_is_there_is_never_denied,
);

/// Number 1: an error while looking for the earlier one is an error, never "not there".
fn a_send_retried_with_an_error_delivers_once(kind: Kind) {
    if !can_be_struck("a_send_retried_with_an_error_delivers_once") {
        return;
    }
    let way = Way { asks: Kind::Maildir, works: kind };
    let room = way.room();
    let send =
        format!("--as alice send {} -m once.here --id abcd1234-0000-4000-8000-000000000000", way.worker());
    room.bash(&format!("postroom {send}")).succeeds();
    room.by(way.worker(), ["reply", "abcd1234", "-m", "answer"]).succeeds();
    for error in ["EMFILE", "EIO"] {
        for point in points(&room, "openat,openat2,getdents64,statx", &send) {
            let ran = struck(&room, &point, &format!("error={error}"), &send);
            let copies = kind.copies(&room, way.worker(), "once.here");
            assert_eq!(copies.len(), 1, "{error} at {point:?}: {ran:?}");
        }
    }
    room.bash(&format!("postroom {send}")).succeeds();
    room.by(way.worker(), ["check"]).exits(1);
}

/// Number 2: whatever call of `command` meets an error, the answer in the outbox comes with the next look.
#[track_caller]
fn survives(asks: Kind, command: &str) {
    let way = Way { asks, works: Kind::Tree };
    let room = way.room();
    let asker = way.asker();
    let ask = |text: &str| {
        let id = sent_id(&room.by(asker, ["send", "writer", "-m", text, "--json"]).json());
        let inbox = room.of_agent("inboxes", "writer");
        let file = inbox.files().into_iter().find(|file| inbox.text(file).contains(text)).unwrap();
        let task = file.trim_end_matches(".md").to_owned();
        std::fs::write(
            inbox.0.join(&file),
            inbox.text(&file).replace("status: pending", "status: completed"),
        )
        .unwrap();
        let head = format!("---\nid: {task}-response\nrequest_id: {task}\nfrom: writer\nto: {asker}\n");
        let rest = "status: completed\ncreated: 2026-01-02T00:00:00Z\n---\n\nby hand\n";
        room.of_agent("outboxes", "writer").put(&format!("{task}-response.md"), format!("{head}{rest}"));
        id
    };
    ask("the first");
    let calls = points(&room, "openat,openat2", command);
    room.by(asker, ["read"]).succeeds();
    for (n, point) in sample(calls, 60).iter().enumerate() {
        let id = ask(&format!("question {n}."));
        let ran = struck(&room, point, "error=EMFILE", command);
        let denied = command.contains(asker) && ran.code == 1 && ran.err.is_empty();
        assert!(!denied, "{point:?}: it is there, and an error is not nothing: {ran:?}");
        let found = room.by(asker, ["check", "--reply-to", &id]).ends();
        assert_eq!((found.code, found.out.lines().count()), (0, 1), "{point:?}: {found:?} after {ran:?}");
        room.by(asker, ["read"]).succeeds();
        room.by(asker, ["check"]).exits(1);
    }
}

fn an_answer_by_hand_survives_an_error_of_its_asker(kind: Kind) {
    if can_be_struck("an_answer_by_hand_survives_an_error_of_its_asker") {
        survives(kind, &format!("--as {} check", kind.asker()));
    }
}

fn an_answer_by_hand_survives_an_error_of_its_writer(kind: Kind) {
    if can_be_struck("an_answer_by_hand_survives_an_error_of_its_writer") {
        survives(kind, "--as writer check");
    }
}

/// Whatever call of `reply` meets an error, the answer is there once after the next run.
fn a_reply_survives_an_error(kind: Kind) {
    if !can_be_struck("a_reply_survives_an_error") {
        return;
    }
    let way = Way { asks: Kind::Maildir, works: kind };
    let room = way.room();
    let begin = |n: usize| {
        let id = sent_id(&room.by(way.asker(), ["send", way.worker(), "-m", "question", "--json"]).json());
        let reply = format!("reply {id} -m answer --id beef{n:04x}-0000-4000-8000-000000000000");
        (id, format!("--as {} {reply}", way.worker()))
    };
    let calls = points(&room, "openat,openat2", &begin(0).1);
    room.by(way.asker(), ["read"]).succeeds();
    for (n, point) in sample(calls, 60).into_iter().enumerate() {
        let (id, reply) = begin(n + 1);
        let first = struck(&room, &point, "error=EMFILE", &reply);
        let again = room.bash(&format!("postroom {reply}")).ends();
        assert_eq!(again.code, 0, "{point:?}: {again:?} after {first:?}");
        let found = room.by(way.asker(), ["check", "--reply-to", &id]).ends();
        assert_eq!((found.code, found.out.lines().count()), (0, 1), "{point:?}: {found:?} after {first:?}");
        room.by(way.asker(), ["read"]).succeeds();
        room.by(way.asker(), ["check"]).exits(1);
        room.by(way.worker(), ["check"]).exits(1);
    }
}

/// 1 says that there is nothing, 3 that there is no such name or message; neither is so.
fn mail_that_is_there_is_never_denied(kind: Kind) {
    if !can_be_struck("mail_that_is_there_is_never_denied") {
        return;
    }
    let way = Way { asks: Kind::Maildir, works: kind };
    let room = way.room();
    let id = sent_id(&room.by(way.asker(), ["send", way.worker(), "-m", "question", "--json"]).json());
    let worker = way.worker();
    for command in [
        format!("--as {worker} check"),
        format!("--as {worker} check --count"),
        format!("--as {worker} read --keep {id}"),
        format!("--as alice send {worker} -m question --id {id}"),
    ] {
        for error in ["EMFILE", "EIO"] {
            for point in sample(points(&room, "openat,openat2,getdents64", &command), 40) {
                let ran = struck(&room, &point, &format!("error={error}"), &command);
                let nothing = matches!(ran.code, 1 | 3) || ran.out == "0\n";
                assert!(!nothing, "{command}, {error} at {point:?}: {ran:?}");
                assert_eq!(kind.copies(&room, worker, "question").len(), 1, "{command} at {point:?}");
            }
        }
    }
    assert_eq!(room.headers(worker).len(), 1);
}
