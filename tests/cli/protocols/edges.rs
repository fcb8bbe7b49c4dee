//! The edges of the protocols: what was found wrong there, one test each. Retries, ids that
//! begin alike, clocks that are ahead, and counts. (edges_*.rs have errors, failures, chains, trees and workspaces.)

use std::time::{Duration, Instant, SystemTime};

use crate::protocols::conformance::{Kind, Way, claim, for_each_kind};
use crate::support::hand::{by_hand, tighten};
use crate::support::kinds_room::{Folder, request, task};
use crate::support::project::Project;
use crate::support::room::TestRoom;

for_each_kind!(
    a_send_retried_beside_done_delivers_once,
    a_send_retried_beside_fail_delivers_once,
    a_send_retried_beside_release_delivers_once,
    a_send_retried_beside_reply_delivers_once,
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
