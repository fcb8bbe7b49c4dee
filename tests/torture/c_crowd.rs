//! C1 and C3: many at once. Every sender writes what it means and what was acknowledged into the ledger,
//! every reader what it got; at the end the two have to agree. Two movers of one message never both win.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use postroom::clock::SystemClock;
use postroom::mailbox::Folder;
use postroom::mailbox::Maildir;
use postroom::name::MailboxId;
use postroom::room::Room;
use serde_json::Value;

use crate::lab::{Findings, Lab, Outcome};
use crate::ledger::{self, Ledger, body};
use crate::place::{Place, names_in, snapshot};

const SENDERS: usize = 16;
const READERS: usize = 8;

/// C1: senders and readers, each command a process of its own.
pub(crate) fn senders_and_readers(lab: &Lab) -> Outcome {
    let each = if lab.tier == 0 { 50 } else { 1000 };
    let findings = Findings::default();
    findings.extend("the checker", ledger::self_check());
    let dir = if lab.tier == 0 { lab.fast_dir() } else { lab.dir() };
    let names: Vec<String> =
        (0..READERS).map(|n| format!("r{n}")).chain((0..SENDERS).map(|n| format!("s{n}"))).collect();
    let place = Place::with(lab, dir.path(), &names.iter().map(String::as_str).collect::<Vec<_>>());
    fs::write(place.outside().join("canary"), "nobody comes here").expect("a canary");
    let before = snapshot(&place.outside());
    let (ledger, done) = (Ledger::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        for reader in 0..READERS {
            let (place, ledger, done, findings) = (&place, &ledger, &done, &findings);
            scope.spawn(move || read(place, reader, ledger, done, findings));
        }
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let (place, ledger, findings) = (&place, &ledger, &findings);
                scope.spawn(move || send(place, sender, each, ledger, findings))
            })
            .collect();
        senders.into_iter().for_each(|sender| sender.join().expect("a sender"));
        done.store(true, Ordering::Release);
    });
    let tally = ledger.tally();
    findings.extend("ledger", tally.problems());
    findings.check(tally.acked == SENDERS * each, || {
        format!("{} of {} were acknowledged", tally.acked, SENDERS * each)
    });
    findings.check(snapshot(&place.outside()) == before, || "something outside the room changed".to_owned());
    findings.extend("afterwards", place.doctor());
    let archived: usize = (0..READERS).map(|n| place.messages(&format!("r{n}"), "archive").len()).sum();
    findings.check(archived == tally.acked, || format!("{archived} archived, {} acknowledged", tally.acked));
    findings.verdict(format!("{SENDERS} senders, {READERS} readers: {tally}, 0 out of root"))
}

fn send(place: &Place, sender: usize, each: usize, ledger: &Ledger, findings: &Findings) {
    let me = format!("s{sender}");
    for number in 0..each {
        let key = format!("{me}-{number:04}");
        let (text, to) = (body(&key), format!("r{}", (sender + number) % READERS));
        let id = format!("{sender:04x}{number:04x}-{key}");
        let mut words = vec!["--as", &me, "send", &to, "-s", &key, "-m", &text];
        // Half of them choose their ids, and so take the lock and look for themselves first.
        if sender.is_multiple_of(2) {
            words.extend(["--id", &id]);
        }
        ledger.intent(&key, &text);
        let ended = place.run(&words);
        if ended.ok() && ended.stdout().starts_with("queued ") {
            ledger.acked(&key);
        } else {
            findings.add(format!("{key}: {}", ended.shown()));
        }
    }
}

fn read(place: &Place, reader: usize, ledger: &Ledger, done: &AtomicBool, findings: &Findings) {
    let me = format!("r{reader}");
    loop {
        // Asked before the look, so that nothing can arrive between the last look and the end.
        let last = done.load(Ordering::Acquire);
        let ended = place.run(&["--as", &me, "read", "--json"]);
        match ended.code {
            Some(0) => {
                let shown: Value = serde_json::from_slice(&ended.out).unwrap_or_default();
                let bodies = shown["messages"].as_array().cloned().unwrap_or_default();
                findings.check(!bodies.is_empty(), || format!("{me}: an empty read: {}", ended.shown()));
                bodies.iter().for_each(|message| ledger.got(message["body"].as_str().unwrap_or_default()));
            }
            Some(1) if last => return,
            Some(1) => {
                let waited = place.run(&["--as", &me, "wait", "--timeout", "0.2"]);
                findings
                    .check(matches!(waited.code, Some(0 | 1)), || format!("{me}: wait: {}", waited.shown()));
            }
            _ => {
                findings.add(format!("{me}: {}", ended.shown()));
                return;
            }
        }
    }
}

/// C3: eight movers want each of two thousand messages; each message is moved once.
pub(crate) fn one_winner(lab: &Lab) -> Outcome {
    const MOVERS: usize = 8;
    const MESSAGES: usize = 2000;
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let place = Place::with(lab, dir.path(), &["bob"]);
    let inbox = place.folder("bob", "inbox");
    for number in 0..MESSAGES {
        let text =
            format!("---\nfrom: x\nmsg_id: {number:08x}\nsubject: race\nto: \n---\n\n{}", body("race"));
        fs::write(inbox.join(format!("20260101T000000Z-{number:08x}-race.md")), text).expect("a message");
    }
    let names = names_in(&inbox);
    let mailbox = place.mailbox("bob");
    let id = MailboxId::parse(&mailbox.file_name().expect("a name").to_string_lossy()).expect("an id");
    let (wins, start) = (AtomicUsize::new(0), Barrier::new(MOVERS));
    thread::scope(|scope| {
        for _ in 0..MOVERS {
            let (place, id, names, wins, start, findings) = (&place, &id, &names, &wins, &start, &findings);
            scope.spawn(move || {
                let room = Room::open(&place.root, Arc::new(SystemClock)).expect("the room");
                let mailbox = Maildir::open(room.root(), id).expect("the mailbox");
                start.wait();
                for name in names {
                    match mailbox.shift(name, Folder::Inbox, Folder::Archive) {
                        Ok(moved) => wins.fetch_add(usize::from(moved.is_some()), Ordering::Relaxed),
                        Err(e) => return findings.add(format!("{name}: {e}")),
                    };
                }
            });
        }
    });
    let wins = wins.into_inner();
    let archived: BTreeSet<String> = names_in(&place.folder("bob", "archive")).into_iter().collect();
    findings.check(wins == MESSAGES, || format!("{wins} wins for {MESSAGES} messages"));
    findings.check(archived == names.into_iter().collect(), || format!("{} archived", archived.len()));
    findings.verdict(format!("{MOVERS} movers, {MESSAGES} messages, {wins} wins"))
}
