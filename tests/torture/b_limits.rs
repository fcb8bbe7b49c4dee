//! B3, B4, B5: the limits of a process. File size, descriptors and memory run out; nothing is killed, nothing
//! leaks, and what is too large is refused by its size and not by running out of room for it.

use std::fs::{self, File};
use std::sync::Arc;

use postroom::clock::SystemClock;
use postroom::post::{Caller, Letter, Outcome as Sent, Post};

use crate::lab::{Findings, Lab, Outcome};
use crate::ledger::body;
use crate::ops::Op;
use crate::place::{Place, ago, names_in, set_time};

/// B3: a file may not grow beyond the limit, and the signal for it must not kill.
pub(crate) fn file_size(lab: &Lab) -> Outcome {
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let place = Op::Reply.prepare(lab, dir.path());
    let long = dir.path().join("long.txt");
    fs::write(&long, "a line of text that is long enough to count\n".repeat(4000)).expect("a long text");
    let long = long.to_str().expect("a plain path");
    let commands: [&[&str]; 3] = [
        &["--as", "alice", "send", "bob", "-s", "long", "--file", long],
        &["--as", "alice", "send", "bob", "-s", "long", "--id", "abcdef0123", "--file", long],
        &["--as", "bob", "reply", "a5ced000", "--file", long],
    ];
    let mut runs = 0;
    for blocks in [0, 1, 4, 64] {
        for command in commands {
            place.restore();
            let ended = place.command(command).in_shell(&format!("ulimit -f {blocks}"), "").end();
            let at = format!("ulimit -f {blocks}: {}", command[2..4].join(" "));
            runs += 1;
            findings.check(matches!(ended.code, Some(4 | 5)), || format!("{at}: {}", ended.shown()));
            let unread = place.messages("bob", "inbox").len() + place.messages("alice", "inbox").len();
            findings.check(unread == 1, || format!("{at}: {unread} unread"));
            let left =
                [place.folder("bob", "tmp"), place.folder("alice", "tmp")].map(|tmp| names_in(&tmp)).concat();
            findings.check(left.is_empty(), || format!("{at}: left in tmp: {left:?}"));
            findings.extend(&at, place.doctor());
        }
    }
    findings.verdict(format!("{runs} runs refused, none killed"))
}

/// B4: descriptors run out, and none is kept.
pub(crate) fn descriptors(lab: &Lab) -> Outcome {
    let findings = Findings::default();
    let (mut runs, mut done) = (0, 0);
    for op in Op::CHANGING {
        let dir = lab.fast_dir();
        let place = op.prepare(lab, dir.path());
        // Below five the loader itself fails.
        for limit in 5..=12 {
            op.restore(&place);
            let at = format!("{} with {limit} descriptors", op.word());
            let ended = op.command(&place).in_shell(&format!("ulimit -n {limit}"), "").end();
            runs += 1;
            done += usize::from(ended.ok());
            findings.extend(&at, ended.crash());
            findings.extend(&at, op.judge(&place, &ended, None));
            if !ended.ok() {
                let again = op.command(&place).end();
                findings.extend(&at, op.judge(&place, &ended, Some(&again)));
            }
            findings.extend(&at, place.doctor());
        }
    }
    let sends = if lab.tier == 0 { 1_000 } else { 10_000 };
    let dir = lab.fast_dir();
    let place = Place::with(lab, dir.path(), &["alice", "bob"]);
    let kept = leak(&place, sends, &findings);
    findings.check(kept == 0, || format!("{kept} descriptors are left open after {sends} sends"));
    findings.verdict(format!(
        "{runs} runs, {done} of them within the limit; {sends} sends by the library, {kept} descriptors kept"
    ))
}

/// How many descriptors more are open after many sends by the library.
fn leak(place: &Place, sends: usize, findings: &Findings) -> usize {
    let caller = Caller { flag: Some("alice".to_owned()), ..Caller::default() };
    let post = Post::open(&place.root, caller, Arc::new(SystemClock)).expect("the room");
    let me = post.me().expect("alice");
    let letter = Letter { to: vec!["bob".to_owned()], body: body("many"), ..Letter::default() };
    let open = || names_in("/proc/self/fd".as_ref()).len();
    let before = open();
    for number in 0..sends {
        let receipts = post.send(&me, &letter).expect("a send");
        let queued = matches!(receipts[..], [ref one] if matches!(one.outcome, Sent::Queued));
        findings.check(queued, || format!("send {number}: {receipts:?}"));
        // The mail itself is not what is counted here, and may take more memory than there is.
        if number % 1000 == 999 {
            let inbox = place.folder("bob", "inbox");
            names_in(&inbox).iter().for_each(|name| fs::remove_file(inbox.join(name)).expect("a message"));
        }
    }
    open().saturating_sub(before)
}

/// B5: a body and a file of a gigabyte, in 32 MiB of address space.
pub(crate) fn memory(lab: &Lab) -> Outcome {
    let findings = Findings::default();
    let dir = lab.dir();
    let place = Op::Read.prepare(lab, dir.path());
    let huge = dir.path().join("huge");
    File::create(&huge).and_then(|file| file.set_len(1 << 30)).expect("a sparse file");
    // The address space holds all that is resident, so what fits into it has never used more. The binary itself is mapped there
    // too, although only parts of it are ever read.
    let binary = fs::metadata(&lab.binary).expect("the binary").len() / 1024;
    let limit = format!("ulimit -v {}", 32768 + binary);
    let limit = limit.as_str();
    let from_stdin =
        place.command(&["--as", "alice", "send", "bob", "-s", "huge"]).stdin(&huge).in_shell(limit, "").end();
    let path = huge.to_str().expect("a plain path");
    let from_file = place
        .command(&["--as", "alice", "send", "bob", "-s", "huge", "--file", path])
        .in_shell(limit, "")
        .end();
    for (from, ended) in [("standard input", from_stdin), ("a file", from_file)] {
        findings.check(ended.code == Some(4), || format!("a gigabyte from {from}: {}", ended.shown()));
    }
    let inbox = place.folder("bob", "inbox");
    let dropped = inbox.join("20200101T000000Z-00000000-first.md");
    fs::rename(&huge, &dropped).expect("a huge file in the inbox");
    let start = b"---\nfrom: x\nmsg_id: 00000000\n---\n\n";
    let file = File::options().write(true).open(&dropped).expect("the huge file");
    std::os::unix::fs::FileExt::write_all_at(&file, start, 0).expect("its head");
    set_time(&dropped, ago(3600));
    for (verb, wanted) in [("check", 0), ("wait", 0), ("names", 0), ("doctor", 4)] {
        let ended = place.command(&["--as", "bob", verb]).in_shell(limit, "").end();
        findings.check(ended.code == Some(wanted), || format!("{verb} beside a gigabyte: {}", ended.shown()));
        let listed = !matches!(verb, "check" | "wait") || ended.stdout().contains("a5ced000");
        findings.check(listed, || format!("{verb} does not list the rest: {}", ended.shown()));
    }
    let ended = place.command(&["--as", "bob", "read"]).in_shell(limit, "").end();
    findings
        .check(ended.ok() && ended.stdout().contains(&body("asked")), || format!("read: {}", ended.shown()));
    findings.check(names_in(&place.folder("bob", "quarantine")).len() == 1, || {
        "it is not in quarantine".to_owned()
    });
    findings
        .verdict("a gigabyte refused as a body, passed over as a file, all within 32 MiB beside the binary")
}
