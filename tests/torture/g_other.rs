//! G2: another user. With the modes of the room alone between them, another user can neither read nor list nor send nor
//! claim nor end a lease nor hold a lock, by command or by hand.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::{Findings, Lab, NotPassed, Outcome, need};
use crate::ledger::body;
use crate::place::{Place, snapshot};
use crate::process::Run;

const COMMANDS: [&[&str]; 14] = [
    &["--as", "bob", "check"],
    &["--as", "bob", "read"],
    &["--as", "bob", "read", "a5ced000"],
    &["--as", "alice", "send", "bob", "-m", "forged"],
    &["--as", "bob", "claim"],
    &["--as", "bob", "done", "0123456789abcdef"],
    &["--as", "bob", "takeover", "bob", "--force"],
    &["--as", "bob", "archive", "a5ced000"],
    &["setup", "mallory"],
    &["names"],
    &["log"],
    &["search", "secret"],
    &["doctor", "--fix"],
    &["dispatch"],
];

/// By hand, in a shell; `$1` is the room, `$2` the mailbox of bob.
const BY_HAND: [&str; 9] = [
    "ls \"$1\"",
    "ls \"$2/inbox\"",
    "cat \"$2\"/inbox/*",
    "cat \"$1/registry.json\"",
    "touch \"$2/inbox/x.md\"",
    "rm -f \"$2\"/inbox/* && test ! -e \"$2/inbox\"",
    "mv \"$2\" \"$2.mine\"",
    "flock -n \"$2/.alive\" true",
    "ln \"$1/registry.json\" \"$3/mine\"",
];

pub(crate) fn another_user(lab: &Lab) -> Outcome {
    need("chroot")?;
    if !lab.is_root() {
        return Err(NotPassed::Skipped("needs root, to become another user".to_owned()));
    }
    let findings = Findings::default();
    let dir = lab.dir();
    let place = Place::with(lab, dir.path(), &["alice", "bob"]);
    place.ok(&["--as", "alice", "send", "bob", "--id", "a5ced000", "-s", "secret", "-m", &body("secret")]);
    place.ok(&["--as", "alice", "send", "bob", "--id", "a5ced001", "-s", "held", "-m", &body("held")]);
    place.ok(&["--as", "bob", "claim", "a5ced001", "--lease", "1h"]);
    // Nothing above the room is in the way, and the program is at hand: what refuses is the room.
    let binary = place.outside().join("postroom");
    fs::copy(&lab.binary, &binary).expect("a copy of the program");
    for (path, mode) in [
        (dir.path(), 0o755),
        (&place.outside(), 0o1777),
        (&place.base.join("home"), 0o1777),
        (&binary, 0o755),
    ] {
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("a mode");
    }
    let before = snapshot(&place.root);
    let theirs = place.by_program(&binary);
    let jail = Jail::new(lab, dir.path())?;
    let as_other = |run: Run| run.behind(jail.enter()).env("HOME", "/nonexistent");
    let mut control = theirs.command(&["--version"]);
    let works = as_other(control.clone()).end();
    findings.check(works.ok(), || format!("the other user cannot run the program at all: {}", works.shown()));
    control.words = ["sh", "-c", "ls \"$1\" > /dev/null", "sh"].map(Into::into).into();
    control.words.push(place.outside().into());
    let works = as_other(control).end();
    findings.check(works.ok(), || format!("the other user cannot look at anything: {}", works.shown()));
    for words in COMMANDS {
        let ended = as_other(theirs.command(words)).end();
        findings.extend(&format!("{words:?}"), ended.crash());
        let refused = matches!(ended.code, Some(3..=5));
        findings.check(refused, || format!("{words:?} by another user: {}", ended.shown()));
        let shown = ended.stdout() + &ended.stderr();
        findings
            .check(!shown.contains("acknowledged is there"), || format!("{words:?} shows a body: {shown}"));
    }
    let [room, bob, outside] =
        [place.root.clone(), place.mailbox("bob"), place.outside()].map(|path| path.display().to_string());
    for script in BY_HAND {
        let mut run = theirs.command(&[]);
        run.words = ["sh", "-c", script, "sh", &room, &bob, &outside].map(Into::into).into();
        let ended = as_other(run).end();
        findings.check(!ended.ok() && ended.out.is_empty(), || {
            format!("`{script}` by another user: {}", ended.shown())
        });
    }
    findings.check(snapshot(&place.root) == before, || "the room changed".to_owned());
    findings.extend("afterwards", place.doctor());
    findings.verdict(format!(
        "{} commands and {} tries by hand as another user, all refused, the room unchanged",
        COMMANDS.len(),
        BY_HAND.len()
    ))
}

/// A root directory that everybody may enter, with the system, which cannot be written there, and one more directory in
/// it: on some machines the real one is closed to other users, and then nothing of theirs would run.
struct Jail {
    /// Made to be kept, and taken down step by step: nothing is ever removed recursively where the system is mounted.
    root: PathBuf,
    mounts: Vec<PathBuf>,
    links: Vec<PathBuf>,
}

impl Jail {
    fn new(lab: &Lab, shown: &Path) -> Result<Self, NotPassed> {
        let mut jail = Self { root: lab.dir().keep(), mounts: vec![], links: vec![] };
        fs::set_permissions(&jail.root, PermissionsExt::from_mode(0o755)).expect("a mode");
        let system = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/dev"].map(PathBuf::from);
        for path in system.into_iter().chain([shown.to_owned()]).filter(|path| path.exists()) {
            let inside = jail.root.join(path.strip_prefix("/").expect("a whole path"));
            if let Ok(target) = fs::read_link(&path) {
                std::os::unix::fs::symlink(target, &inside).expect("a link");
                jail.links.push(inside);
                continue;
            }
            fs::create_dir_all(&inside).expect("a mount point");
            let how = if path == shown { "bind" } else { "bind,ro" };
            let done = Command::new("mount").args(["-o", how]).arg(&path).arg(&inside).status();
            jail.mounts.push(inside);
            if !done.is_ok_and(|status| status.success()) {
                return Err(NotPassed::Skipped(format!("{} cannot be mounted elsewhere", path.display())));
            }
        }
        Ok(jail)
    }

    /// The words before a command of the other user.
    fn enter(&self) -> [OsString; 4] {
        ["chroot".into(), "--userspec=65534:65534".into(), "--groups=".into(), self.root.clone().into()]
    }
}

impl Drop for Jail {
    fn drop(&mut self) {
        self.links.iter().for_each(|link| drop(fs::remove_file(link)));
        for mount in self.mounts.iter().rev() {
            let _ = Command::new("umount").arg("-l").arg(mount).status();
            // Only what is empty goes, so a mount that is still there keeps everything.
            for empty in mount.ancestors().take_while(|path| path.starts_with(&self.root)) {
                let _ = fs::remove_dir(empty);
            }
        }
    }
}
