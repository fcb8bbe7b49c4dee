//! C2: a scan while everything moves. A thousand messages lie still; beside them others arrive, are claimed, given back
//! and archived without a pause. No scan misses one of the thousand or shows it twice.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use postroom::clock::SystemClock;
use postroom::mailbox::{Folder, Maildir};
use postroom::name::MailboxId;
use postroom::post::Filter;
use postroom::room::Room;

use crate::lab::{Findings, Lab, Outcome};
use crate::ledger::body;
use crate::place::{Place, names_in};
use crate::waiter::Sender;

const FIXED: usize = 1000;

pub(crate) fn scan_while_moving(lab: &Lab) -> Outcome {
    let time = Duration::from_secs(if lab.tier == 0 { 1 } else { 60 });
    let findings = Findings::default();
    // On the disk, because it is its directories that move names while they are read.
    let dir = lab.dir();
    let place = Place::with(lab, dir.path(), &["alice", "bob"]);
    let inbox = place.folder("bob", "inbox");
    for number in 0..FIXED {
        let text =
            format!("---\nfrom: x\nmsg_id: f{number:07x}\nsubject: fixed\nto: \n---\n\n{}", body("fixed"));
        let path = inbox.join(format!("20300101T000000Z-f{number:07x}-fixed.md"));
        fs::write(&path, text).expect("a message");
        fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("its mode");
    }
    let fixed: HashSet<String> = names_in(&inbox).into_iter().collect();
    let mailbox = place.mailbox("bob");
    let id = MailboxId::parse(&mailbox.file_name().expect("a name").to_string_lossy()).expect("an id");
    let (stop, moves, scans) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let going = || !stop.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        // Arrivals, and the same messages claimed and given back, and filed away.
        scope.spawn(|| {
            let sender = Sender::new(&place.root, "alice");
            while going() {
                sender.send("bob", "passing");
                moves.fetch_add(1, Ordering::Relaxed);
            }
        });
        scope.spawn(|| mover(&place, &going, &moves, &findings));
        for _ in 0..2 {
            scope.spawn(|| {
                let room = Room::open(&place.root, Arc::new(SystemClock)).expect("the room");
                let mailbox = Maildir::open(room.root(), &id).expect("the mailbox");
                while going() {
                    let listing = mailbox.list(Folder::Inbox, usize::MAX).expect("a listing");
                    let mut seen = HashSet::new();
                    let twice = listing.names.iter().filter(|name| !seen.insert(name.as_str())).count();
                    let missed = fixed.iter().filter(|name| !seen.contains(name.as_str())).count();
                    findings.check(twice + missed == 0, || {
                        format!("a scan missed {missed} and showed {twice} twice")
                    });
                    scans.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let start = Instant::now();
        while start.elapsed() < time {
            let ended = place.run(&["--as", "bob", "check", "--count"]);
            let told: usize = ended.stdout().trim().parse().unwrap_or(0);
            findings.check(told >= FIXED, || format!("check --count: {}", ended.shown()));
            std::thread::sleep(Duration::from_millis(50));
        }
        stop.store(true, Ordering::Relaxed);
    });
    let (moves, scans) = (moves.into_inner(), scans.into_inner());
    findings.check(moves > 0 && scans > 0, || format!("{moves} moves, {scans} scans"));
    findings.extend("afterwards", place.doctor());
    findings.verdict(format!(
        "{FIXED} fixed messages, {moves} moves beside them, {scans} scans, 0 misses, 0 twice"
    ))
}

/// Claims what passes, gives every other one back, and finishes the rest.
fn mover(place: &Place, going: &dyn Fn() -> bool, moves: &AtomicUsize, findings: &Findings) {
    let caller = postroom::post::Caller { flag: Some("bob".to_owned()), ..Default::default() };
    let post = postroom::post::Post::open(&place.root, caller, Arc::new(SystemClock)).expect("the room");
    let me = post.me().expect("a mailbox");
    let filter = Filter { from: Some(post.addressee("alice").expect("alice")), ..Filter::default() };
    while going() {
        let taken = match post.claim(&me, None, None, &filter, Duration::from_secs(60)) {
            Ok((taken, _)) => taken,
            Err(e) => return findings.add(format!("claim: {e}")),
        };
        let Some(taken) = taken else { continue };
        let held = post.held(&me, &taken.token.to_string()).expect("what was claimed");
        let done = if moves.load(Ordering::Relaxed).is_multiple_of(2) {
            post.release(&me, &held, "moved")
        } else {
            post.done(&me, &held, None).map(|_| ())
        };
        findings.check(done.is_ok(), || format!("{done:?}"));
        moves.fetch_add(2, Ordering::Relaxed);
    }
}
