//! Whole: nobody reads a part of a message, of whatever size and however slowly it is written.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::protocols::conformance::{Kind, Way, claim, for_each_kind};
use crate::support::hand::{by_hand, tighten};
use crate::support::kinds_room::{REQUEST, request, task};
use crate::support::room::TestRoom;

for_each_kind!(
    a_reader_beside_a_sender_sees_whole_messages,
    a_slow_hand_is_not_read_half_way,
    a_slow_hand_is_not_claimed_half_way,
    a_claim_returns_once,
);

fn alike(kind: Kind) -> Way {
    Way { asks: kind, works: kind }
}

fn a_reader_beside_a_sender_sees_whole_messages(kind: Kind) {
    const COUNT: usize = 10;
    let way = alike(kind);
    let room = way.room();
    let body = |n: usize| format!("message {n}\n{}\nthe end of {n}\n", "0123456789abcdef".repeat(16_000));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..COUNT {
                room.by(way.asker(), ["send", way.worker()]).input(body(n)).succeeds();
            }
        });
        let mut seen = vec![];
        crate::support::until::until("all messages", || {
            let checked = room.by(way.worker(), ["check", "--json"]).ends();
            assert_eq!(checked.err, "", "{checked:?}");
            let ran = room.by(way.worker(), ["read", "--json"]).ends();
            assert_eq!(ran.err, "", "{ran:?}");
            if ran.code == 0 {
                let read: Value = serde_json::from_str(&ran.out).unwrap();
                seen.push(read["messages"][0]["body"].as_str().unwrap().to_owned());
            }
            seen.len() == COUNT
        });
        for n in 0..COUNT {
            assert!(seen.contains(&body(n)), "{n} is not whole");
        }
    });
}

/// A message as a hand writes it, and where its protocol says that it goes.
fn written(room: &TestRoom, kind: Kind, body: &str) -> (PathBuf, String) {
    let (asker, worker) = (kind.asker(), kind.worker());
    let inbox = kind.inbox(room, worker).0;
    match kind {
        Kind::Maildir => (
            inbox.join("20260101T000000Z-abcd1111-slow.md"),
            by_hand(&room.id(asker), "abcd1111-aaaa", "slow", body),
        ),
        Kind::Workspace => {
            let back = kind.inbox(room, asker).0.join(REQUEST);
            let place = inbox.join(REQUEST);
            (place.clone(), request("NEW", REQUEST, &place, &back, body))
        }
        Kind::Tree => {
            (inbox.join("2026-01-01-001.md"), task("2026-01-01-001", asker, worker, &format!("{body}\n")))
        }
    }
}

/// Writes a message in four parts while somebody tries to take it.
#[track_caller]
fn slowly(kind: Kind, take: &str) {
    let way = alike(kind);
    let room = way.room();
    let (path, text) = written(&room, kind, "the first half\nand the second half");
    let head = text.find("\n---\n").unwrap() + 5;
    let middle = text.find("and the second").unwrap();
    let mut file = std::fs::File::create(&path).unwrap();
    tighten(&path);
    let part = |file: &mut std::fs::File, from: usize, to: usize| {
        file.write_all(&text.as_bytes()[from..to]).unwrap();
    };
    part(&mut file, 0, head);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for (from, to) in [(head, middle), (middle, text.len())] {
                std::thread::sleep(Duration::from_millis(100));
                part(&mut file, from, to);
            }
        });
        let mut taken = None;
        crate::support::until::until("the message", || {
            let ran = room.by(way.worker(), [take, "--json"]).ends();
            assert!(matches!(ran.code, 0 | 1), "{ran:?}");
            if ran.code == 0 {
                let shown: Value = serde_json::from_str(&ran.out).unwrap();
                taken = shown["messages"][0]["body"].as_str().map(str::to_owned);
            }
            taken.is_some()
        });
        let taken = taken.unwrap();
        assert!(taken.contains("the first half\nand the second half"), "{take} gave {taken:?}");
    });
}

fn a_slow_hand_is_not_read_half_way(kind: Kind) {
    slowly(kind, "read");
}

fn a_slow_hand_is_not_claimed_half_way(kind: Kind) {
    slowly(kind, "claim");
}

fn a_claim_returns_once(kind: Kind) {
    let way = alike(kind);
    let room = way.room();
    room.by(way.asker(), ["send", way.worker(), "-m", "some work"]).succeeds();
    let token = claim(&room, way.worker(), &["--lease", "1"]);
    room.by(way.worker(), ["check"]).exits(1);
    room.by(way.worker(), ["claim"]).exits(1);
    crate::support::until::until("the end of the lease", || !room.headers(way.worker()).is_empty());
    assert_eq!(room.header(way.worker())["subject"], "some work");
    for verb in [vec!["done", &token, "-m", "late"], vec!["release", &token], vec!["done", &token]] {
        room.by(way.worker(), verb).exits(3);
    }
    room.by(way.asker(), ["check"]).exits(1);
    assert_eq!(kind.copies(&room, way.worker(), "some work").len(), 1);
    let again = claim(&room, way.worker(), &[]);
    room.by(way.worker(), ["claim"]).exits(1);
    room.by(way.worker(), ["done", &again, "-m", "in time"]).succeeds();
    assert_eq!(crate::protocols::conformance::reads_once(&room, way.asker())["body"], "in time");
}
