//! The edges of the protocols: what was found wrong there, one test each. Retries, look-ups that meet an error, ids
//! that begin alike, clocks that are ahead, and counts. (edges_*.rs have failures, chains, trees and workspaces.)

use std::time::{Duration, Instant, SystemTime};

use crate::conformance::{Kind, Way, claim, for_each_kind, sent_id};
use crate::edges_strike::{can_be_struck, points, sample, struck};
use crate::hand::{by_hand, tighten};
use crate::kinds_room::{Folder, request, task};
use crate::project::Project;
use crate::room::TestRoom;

for_each_kind!(
    a_send_retried_beside_done_delivers_once,
    a_send_retried_beside_fail_delivers_once,
    a_send_retried_beside_release_delivers_once,
    a_send_retried_beside_reply_delivers_once,
    a_send_retried_with_an_error_delivers_once,
    an_answer_by_hand_survives_an_error_of_its_asker,
    an_answer_by_hand_survives_an_error_of_its_writer,
    a_reply_survives_an_error,
    answers_to_ids_that_begin_alike_are_kept_apart,
    the_count_is_the_number_of_lines,
);

/// Number 1: retries of a send run beside another verb on the same message.
#[track_caller]
fn retried_beside(kind: Kind, verb: &str) {
    let way = Way { asks: Kind::Maildir, works: kind };
    let room = way.room();
    let worker = way.worker();
    // The race was one of the tree.
    let rounds = if kind == Kind::Tree { 60 } else { 12 };
    for round in 0..rounds {
        let (id, text) = (format!("abcd{round:04x}-0000-4000-8000-000000000000"), format!("round {round}."));
        let send = || room.by(way.asker(), ["send", worker, "-m", &text, "--id", &id]);
        send().succeeds();
        let reference = id.clone();
        let token = if verb == "reply" { reference } else { claim(&room, worker, &[]) };
        let words: &[&str] = match verb {
            "reply" | "done" => &["-m", "answer"],
            "fail" => &["--reason", "no"],
            _ => &[],
        };
        let other = room.by(worker, [verb, &token].into_iter().chain(words.iter().copied())).start();
        let retries: Vec<_> = (0..2).map(|_| send().start()).collect();
        let other = other.wait_with_output().unwrap();
        assert_eq!(other.status.code(), Some(0), "{verb}: {other:?}");
        for retry in retries {
            let ended = retry.wait_with_output().unwrap();
            assert!(matches!(ended.status.code(), Some(0 | 5)), "round {round}: {ended:?}");
        }
        assert_eq!(kind.copies(&room, worker, &text).len(), 1, "round {round}");
        if verb == "release" {
            room.by(worker, ["archive", &id]).succeeds();
        }
    }
}

fn a_send_retried_beside_done_delivers_once(kind: Kind) {
    retried_beside(kind, "done");
}

fn a_send_retried_beside_fail_delivers_once(kind: Kind) {
    retried_beside(kind, "fail");
}

fn a_send_retried_beside_release_delivers_once(kind: Kind) {
    retried_beside(kind, "release");
}

fn a_send_retried_beside_reply_delivers_once(kind: Kind) {
    retried_beside(kind, "reply");
}

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

/// Number 2: whatever call of `command` meets an error, the answer that lies in the outbox comes with the next look.
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

/// Number 10: of two ids one begins with the other.
fn answers_to_ids_that_begin_alike_are_kept_apart(kind: Kind) {
    let room = Way { asks: kind, works: kind }.room();
    let (asker, worker) = (kind.asker(), kind.worker());
    let inbox = kind.inbox(&room, asker);
    let (short, long) = match kind {
        Kind::Tree => ("2026-01-02-100", "2026-01-02-1001"),
        _ => ("req-1", "req-11"),
    };
    if kind == Kind::Tree {
        for id in [short, long] {
            kind.inbox(&room, worker).put(&format!("{id}.md"), task(id, asker, worker, "x\n"));
        }
    }
    let answer = |id: &str, n: u32| match kind {
        Kind::Maildir => {
            let text = by_hand(&room.id(worker), &format!("abcd000{n}-0000"), "an answer", "x\n");
            let text = text.replacen("subject:", &format!("reply_to: {id}\nsubject:"), 1);
            drop(room.place(asker, &format!("20260101T00000{n}Z-abcd000{n}-an-answer.md"), text));
        }
        Kind::Workspace => {
            let back = kind.inbox(&room, worker).0.join(id);
            drop(inbox.put(id, request("REPLY", id, &inbox.0.join(id), &back, "x\n")));
        }
        Kind::Tree => drop(room.by(worker, ["reply", id, "-m", "x"]).succeeds()),
    };
    answer(long, 1);
    for verb in ["wait", "check"] {
        let more: &[&str] = if verb == "wait" { &["--timeout", "0"] } else { &[] };
        room.by(asker, [verb, "--reply-to", short].into_iter().chain(more.iter().copied())).exits(1);
    }
    room.by(asker, ["claim", "--reply-to", short]).exits(1);
    answer(short, 2);
    for id in [short, long] {
        let found = room.by(asker, ["wait", "--reply-to", id, "--timeout", "0"]).succeeds();
        assert_eq!(found.out.lines().count(), 1, "{id}: {found:?}");
    }
}

/// A year ahead of the clock.
fn ahead(path: &std::path::Path) {
    let time = SystemTime::now() + Duration::from_secs(365 * 86_400);
    std::fs::File::options().read(true).open(path).unwrap().set_modified(time).unwrap();
    tighten(path);
}

#[test]
fn unreadable_files_of_the_future_do_not_slow_a_check_down() {
    // Number 11: each made every check wait for five seconds.
    let room = TestRoom::with(&["alice"]).leaves_faults();
    room.workspace("carol");
    let home = Folder(room.folder("carol", "inbox"));
    for n in 0..3 {
        ahead(&home.put(&format!("20260101T000000Z-abcd000{n}-x.md"), "---\nfrom: half a mes"));
    }
    room.send("alice", "carol", "good");
    let start = Instant::now();
    let checked = room.by("carol", ["check"]).succeeds();
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}: {checked:?}", start.elapsed());
    assert!(checked.out.contains("good"), "{checked:?}");
}

#[test]
fn a_message_of_the_future_is_carried_into_a_tree_at_once() {
    let project = Project::with(&["alice"], &["writer"]);
    let home = Folder(project.room.folder("writer", "inbox"));
    let text = by_hand(&project.room.id("alice"), "abcd1111-aaaa", "from a clock ahead", "x\n");
    ahead(&home.put("20270101T000000Z-abcd1111-x.md", text));
    let start = Instant::now();
    assert_eq!(project.room.header("writer")["subject"], "from a clock ahead");
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert_eq!(project.ids("writer").len(), 1);
}

/// `check` and `check --count` agree on what is unread, also where something was read, is claimed or waits.
fn the_count_is_the_number_of_lines(kind: Kind) {
    let way = Way { asks: kind, works: kind };
    let room = way.room().leaves_faults();
    let agree = |what: &str, at_least: usize| {
        let lines = room.by(way.worker(), ["check"]).ends().out.lines().count();
        let count = room.by(way.worker(), ["check", "--count"]).ends().out;
        assert_eq!(count.trim().parse::<usize>().unwrap_or(0), lines, "{what}: {count}");
        assert!(lines >= at_least, "{what}: {lines}");
    };
    agree("nothing", 0);
    for step in ["1", "2"] {
        let fields = [format!("step={step}"), "workflow=w".to_owned()];
        let words = ["send", way.worker(), "-m", "text", "--channel", "c", "--field", &fields[0]];
        room.by(way.asker(), words.into_iter().chain(["--field", &fields[1]])).succeeds();
    }
    room.by(way.asker(), ["send", way.worker(), "-m", "a third"]).succeeds();
    agree("three", 3);
    kind.inbox(&room, way.worker()).put("00broken.md", "---\nfrom: nobody\n");
    agree("one that cannot be read", 3);
    let token = claim(&room, way.worker(), &[]);
    agree("one is claimed", 2);
    room.by(way.worker(), ["read"]).succeeds();
    agree("one was read", 1);
    room.by(way.worker(), ["done", &token, "-m", "answer"]).succeeds();
    agree("one is answered", 1);
    room.by(way.asker(), ["check", "--count"]).succeeds();
}
