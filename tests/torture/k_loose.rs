//! K2: a room that others could change is refused, with what to type. A directory above it that anyone may write to and
//! that is not sticky lets anyone swap the room, and so does one of another user; a room of another user is that user's.
//! Commands that stay look at every directory up to `/`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::lab::{Findings, Lab, Outcome};
use crate::place::{Place, snapshot};

const VERBS: [&[&str]; 12] = [
    &["setup", "--child", "dave"],
    &["--as", "alice", "send", "bob", "-m", "x"],
    &["--as", "bob", "check"],
    &["--as", "bob", "read"],
    &["--as", "bob", "wait", "--timeout", "0"],
    &["--as", "bob", "claim"],
    &["--as", "bob", "archive", "a5ced000"],
    &["names"],
    &["log"],
    &["doctor"],
    &["doctor", "--fix"],
    &["dispatch"],
];

/// What stays, or settles in a room.
const STAYING: [&[&str]; 5] = [
    &["setup", "--child", "dave"],
    &["--as", "bob", "wait", "--timeout", "1"],
    &["dispatch", "--watch"],
    &["--as", "bob", "mcp"],
    &["--as", "bob", "mcp", "--http"],
];

pub(crate) fn loose_rooms(lab: &Lab) -> Outcome {
    let findings = Findings::default();
    let dir = lab.dir();
    let place = Place::with(lab, dir.path(), &["alice", "bob"]);
    place.ok(&["--as", "alice", "send", "bob", "--id", "a5ced000", "-m", "there"]);
    let mut refused = 0;
    let above = place.base.clone();
    for mode in [0o770, 0o707, 0o777, 0o720, 0o702] {
        set_mode(&above, mode);
        let before = snapshot(&place.root);
        for words in VERBS {
            let ended = place.run(words);
            let hint = format!("chmod go-w {}", above.display());
            let told = ended.code == Some(4) && ended.stderr().contains(&hint);
            refused += usize::from(told);
            findings
                .check(told, || format!("below a directory of mode {mode:o}, {words:?}: {}", ended.shown()));
        }
        findings.check(snapshot(&place.root) == before, || format!("{mode:o}: the room was changed"));
    }
    // Sticky, as /tmp is: nobody else can swap what lies there.
    set_mode(&above, 0o1777);
    findings
        .check(place.run(&["--as", "bob", "check"]).ok(), || "refused below a sticky directory".to_owned());
    set_mode(&above, 0o700);
    // The room itself is ours: it is tightened, not refused, because nobody else could have been there first.
    set_mode(&place.root, 0o777);
    let sent = place.run(&["--as", "alice", "send", "bob", "-m", "x"]);
    let mode = fs::metadata(&place.root).expect("the room").permissions().mode() & 0o7777;
    findings.check(sent.ok() && mode == 0o700, || format!("a loose room: mode {mode:o}, {}", sent.shown()));
    findings.extend("afterwards", place.doctor());
    let owners = if lab.is_root() { foreign(&place, &findings) } else { 0 };
    let skipped = if lab.is_root() { "" } else { "; rooms of other users not tried, which needs root" };
    let higher = higher(lab, &findings);
    findings.verdict(format!(
        "{refused} commands refused with the chmod to run, {higher} that stay by directories higher up, {owners} in places of another user{skipped}"
    ))
}

/// A directory two and three levels above the room is writable by others, or belongs to somebody else.
fn higher(lab: &Lab, findings: &Findings) -> usize {
    let dir = lab.dir();
    let (top, base) = (dir.path().join("top"), dir.path().join("top/middle/base"));
    fs::create_dir_all(&base).expect("directories");
    let place = Place::with(lab, &base, &["alice", "bob"]);
    let mut refused = 0;
    for above in [&top, &top.join("middle")] {
        let mut judge = |what: &str, hint: String| {
            for words in STAYING {
                let ended = place.run(words);
                let told = ended.code == Some(4) && ended.stderr().contains(&hint);
                refused += usize::from(told);
                findings.check(told, || format!("{} {what}, {words:?}: {}", above.display(), ended.shown()));
            }
            let ended = place.run(&["doctor"]);
            findings.check(!ended.ok(), || format!("{} {what}: the doctor finds nothing", above.display()));
        };
        set_mode(above, 0o777);
        judge("is writable", format!("chmod go-w {}", above.display()));
        set_mode(above, 0o755);
        if lab.is_root() {
            std::os::unix::fs::chown(above, Some(SOMEBODY), None).expect("another owner");
            judge("is another user's", "belongs to another user".to_owned());
            std::os::unix::fs::chown(above, Some(0), None).expect("the owner before");
        }
    }
    findings.extend("higher up", place.doctor());
    refused
}

const SOMEBODY: u32 = 4711;

/// The room, the directory it is in, the mailbox or its inbox belongs to somebody else.
fn foreign(place: &Place, findings: &Findings) -> usize {
    let mut refused = 0;
    for path in [place.base.clone(), place.root.clone(), place.mailbox("bob"), place.folder("bob", "inbox")] {
        std::os::unix::fs::chown(&path, Some(SOMEBODY), None).expect("another owner");
        for words in VERBS.iter().filter(|words| {
            words.contains(&"bob") && !words.contains(&"send") || place.root.starts_with(&path)
        }) {
            let ended = place.run(words);
            let told = ended.code == Some(4) && ended.stderr().contains("belongs to another user");
            refused += usize::from(told);
            findings
                .check(told, || format!("{} of another user, {words:?}: {}", path.display(), ended.shown()));
        }
        std::os::unix::fs::chown(&path, Some(0), None).expect("the owner before");
    }
    refused
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("a mode");
}
