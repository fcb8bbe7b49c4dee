//! B1 and B2: the disk is full, of bytes or of inodes. What was acknowledged stays, what does not fit is
//! refused in words and leaves nothing behind, and after something was removed mail goes through again.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::lab::{Findings, Lab, NotPassed, Outcome};
use crate::ledger::{self, body};
use crate::place::{Place, names_in};

/// B1: no bytes are left.
pub(crate) fn no_bytes(lab: &Lab) -> Outcome {
    full(lab, "size=160k")
}

/// B2: no inodes are left.
pub(crate) fn no_inodes(lab: &Lab) -> Outcome {
    full(lab, "nr_inodes=48")
}

/// A small file system in memory, unmounted at the end.
struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    fn new(mount: &'a Path, option: &str) -> Result<Self, NotPassed> {
        let status = Command::new("mount").args(["-t", "tmpfs", "-o", option, "tmpfs"]).arg(mount).output();
        match status {
            Ok(output) if output.status.success() => Ok(Self(mount)),
            _ => Err(NotPassed::Skipped("needs root and a file system in memory".to_owned())),
        }
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

fn full(lab: &Lab, option: &str) -> Outcome {
    let findings = Findings::default();
    let dir = lab.dir();
    let small = Small::new(dir.path(), option)?;
    let place = Place::with(lab, dir.path(), &["alice", "bob"]);
    let send = |number: usize| {
        let key = format!("n{number}");
        place.run(&["--as", "alice", "send", "bob", "-s", &key, "-m", &body(&key)])
    };
    let mut sent = 0;
    let refused = loop {
        let ended = send(sent);
        if !ended.ok() {
            break ended;
        }
        sent += 1;
        assert!(sent < 1000, "the small file system is never full");
    };
    findings.check(sent > 0, || "nothing fits at all".to_owned());
    let in_words = refused.code == Some(5) && refused.stderr().contains("No space left");
    findings.check(in_words, || format!("the first that does not fit: {}", refused.shown()));
    // While it is full, every command still ends as it should.
    for words in [&["--as", "bob", "check"][..], &["names"], &["log"], &["setup", "carol"], &["doctor"]] {
        findings.extend(&words.join(" "), place.run(words).crash());
    }
    let intact = || {
        let inbox = place.messages("bob", "inbox");
        let keys: Vec<_> = inbox.iter().map(|(name, bytes)| ledger::whole(name, bytes)).collect();
        keys.iter().filter(|seen| seen.is_ok()).count()
    };
    findings.check(intact() == sent, || format!("{} of {sent} are whole", intact()));
    let left = names_in(&place.folder("bob", "tmp"));
    findings.check(left.is_empty(), || format!("left in tmp: {left:?}"));
    findings.extend("full", place.doctor());
    let inbox = place.folder("bob", "inbox");
    for name in names_in(&inbox).iter().take(2) {
        fs::remove_file(inbox.join(name)).expect("a message to make room");
    }
    let again = send(sent);
    findings.check(again.ok(), || format!("after room was made: {}", again.shown()));
    findings.extend("afterwards", place.doctor());
    drop(small);
    findings
        .verdict(format!("{sent} fitted, all whole; the next was refused, and fitted after room was made"))
}
