//! J3: a FUSE disk that remembers what it once knew of a file. A message that another engine published by link and unlink has
//! two links for ever there, unless the disk is asked again; it is mail like any other.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::lab::{Findings, Lab, NotPassed, Outcome, need};
use crate::place::{Place, names_in};

/// A directory that is shown again by FUSE, with answers that are kept for an hour.
struct Mirror(PathBuf);

impl Drop for Mirror {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

pub(crate) fn cached_links(lab: &Lab) -> Outcome {
    need("bindfs")?;
    let dir = lab.dir();
    let (below, shown) = (dir.path().join("below"), dir.path().join("shown"));
    for path in [&below, &shown] {
        fs::create_dir(path).expect("a directory");
    }
    let mounted = Command::new("bindfs")
        .args(["-o", "attr_timeout=3600,entry_timeout=3600", "--perms=0700:u+rw"])
        .args([&below, &shown])
        .output()
        .expect("bindfs");
    if !mounted.status.success() {
        let why = String::from_utf8_lossy(&mounted.stderr).trim().to_owned();
        return Err(NotPassed::Skipped(format!("needs root and /dev/fuse ({why})")));
    }
    let mirror = Mirror(shown);
    let findings = Findings::default();
    let place = Place::with(lab, &mirror.0, &["alice", "bob"]);
    for verb in ["claim", "read", "check"] {
        place.ok(&["--as", "alice", "send", "bob", "-m", verb]);
        let inbox = place.mailbox("bob").join("inbox");
        let name = names_in(&inbox).pop().expect("a message");
        let (here, staged) = (inbox.join(&name), place.mailbox("bob").join("tmp").join(&name));
        fs::rename(&here, &staged).expect("a move");
        fs::hard_link(&staged, &here).expect("a link");
        // Looked at while it has two links, it keeps them.
        fs::metadata(&here).expect("a look");
        fs::remove_file(&staged).expect("the end of the first name");
        let ended = place.run(&["--as", "bob", verb]);
        findings.check(ended.ok() && ended.stdout().contains(verb), || format!("{verb}: {}", ended.shown()));
        for token in names_in(&place.mailbox("bob").join("claimed")) {
            place.ok(&["--as", "bob", "done", &token]);
        }
    }
    findings.verdict("claim, read and check of messages whose link count is out of date")
}
