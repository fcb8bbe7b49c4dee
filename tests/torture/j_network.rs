//! J2: a room on a network disk. The kind of disk is what statfs says, so strace says it in the kernel's place: `setup`
//! warns once, `doctor` tells what is not promised, and `wait` does not rely on its watch.

use std::time::{Duration, Instant};

use crate::lab::{Findings, Lab, Outcome, need};
use crate::place::Place;
use crate::process::Run;
use crate::waiter::Sender;

/// What a disk says of itself, as the bytes of `f_type`, and what it is called.
const DISKS: [(&str, &str); 5] = [
    ("6969000000000000", "NFS"),
    ("424d53ff00000000", "SMB"),
    ("7b51000000000000", "SMB"),
    ("9719020100000000", "9p"),
    ("4655736500000000", "FUSE"),
];

/// The same command on a disk that says so of itself, and, if it is to be deaf, with watches that hear nothing.
fn on_disk(run: Run, kind: &str, deaf: bool) -> Run {
    let mut words: Vec<String> = ["strace", "-q", "-f", "-o", "/dev/null"].map(str::to_owned).into();
    words.push(format!("--inject=statfs:poke_exit=@arg2={kind}"));
    if deaf {
        // The watch is there, and nothing that others do is ever told by it.
        words.push("--inject=inotify_add_watch:retval=1".to_owned());
    }
    run.behind(words)
}

pub(crate) fn network_disks(lab: &Lab) -> Outcome {
    need("strace")?;
    let findings = Findings::default();
    let dir = lab.fast_dir();
    for (number, (kind, word)) in DISKS.into_iter().enumerate() {
        let place = Place::new(lab, &dir.path().join(number.to_string()));
        let first = on_disk(place.command(&["setup", "alice"]), kind, false).end();
        let warned = first.ok() && first.stderr().contains(&format!("network disk ({word})"));
        findings.check(warned, || format!("{word}: setup does not warn: {}", first.shown()));
        let again = on_disk(place.command(&["--as", "alice", "setup", "alice"]), kind, false).end();
        findings.check(!again.stderr().contains("network"), || {
            format!("{word}: warned twice: {}", again.shown())
        });
        let told = on_disk(place.command(&["doctor"]), kind, false).end();
        let tells = told.ok()
            && ["§1.4", word, "power cut", "lock", "other machines"]
                .iter()
                .all(|part| told.stdout().contains(part));
        findings.check(tells, || format!("{word}: doctor says {}", told.shown()));
        for words in [&["--as", "alice", "send", "alice", "-m", "x"][..], &["--as", "alice", "read"]] {
            let ended = on_disk(place.command(words), kind, false).end();
            findings.check(ended.ok() && !ended.stderr().contains("network"), || {
                format!("{word}: {words:?}: {}", ended.shown())
            });
        }
    }
    let place = Place::with(lab, &dir.path().join("local"), &["alice", "bob"]);
    let local = place.run(&["doctor"]);
    findings.check(!local.stdout().contains("network"), || format!("a local disk: {}", local.shown()));
    // A waiter whose watch hears nothing finds the mail by looking.
    let waiter =
        on_disk(place.command(&["--as", "bob", "wait", "--timeout", "30"]), DISKS[0].0, true).start();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !place.folder("bob", ".alive").exists() {
        assert!(Instant::now() < deadline, "the waiter never began to wait");
        std::thread::sleep(Duration::from_millis(5));
    }
    // It has looked at least once when it sleeps; what comes now is told to nobody.
    std::thread::sleep(Duration::from_millis(200));
    let start = Instant::now();
    Sender::new(&place.root, "alice").send("bob", "from another machine");
    let found = waiter.ends_within(Duration::from_secs(20));
    let (took, ended) = (start.elapsed(), waiter.end());
    findings.check(found && ended.ok(), || format!("not found by looking: {}", ended.shown()));
    // Looked for every 2 s; without knowing the disk it would be every 5 s. The rest is for a busy machine.
    findings
        .check(took < Duration::from_secs(2) + crate::lab::promptly(), || format!("found after {took:?}"));
    findings.verdict(format!(
        "{} kinds of disk told, each warned of once; a deaf waiter found its mail in {:.1} s",
        DISKS.len(),
        took.as_secs_f64()
    ))
}
