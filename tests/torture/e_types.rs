//! E4: what is called like a message and is none: a FIFO, a socket, a device, a directory, a link to a file
//! outside, a file of a terabyte, one that cannot be opened, one of another owner.
//!
//! Every command returns within a second and lists the rest; `read` puts the odd one aside and shows the good
//! one.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, makedev, mkfifoat, mknodat};

use crate::lab::{Findings, Lab, NotPassed, Outcome, promptly, spread};
use crate::ledger::body;
use crate::ops::Op;
use crate::place::{Place, ago, names_in, set_time};

/// The odd one sorts before the good one, so that nobody reaches the good one without passing it.
const ODD: &str = "20200101T000000Z-00000000-odd.md";

const KINDS: [&str; 13] = [
    "fifo",
    "socket",
    "character device",
    "block device",
    "directory",
    "full directory",
    "hard link",
    "terabyte",
    "mode 000",
    "other owner",
    "empty",
    "dangling link",
    "not UTF-8 name",
];

pub(crate) fn file_types(lab: &Lab) -> Outcome {
    let findings = Findings::default();
    let (mut planted, mut left_out, mut slowest) = (0, vec![], Duration::ZERO);
    for kind in KINDS {
        let dir = lab.dir();
        let place = Op::Read.prepare(lab, dir.path());
        let outside = place.outside().join("outside.txt");
        fs::write(&outside, "outside").expect("a file outside");
        fs::set_permissions(&outside, PermissionsExt::from_mode(0o644)).expect("its mode");
        set_time(&outside, ago(3600));
        let look = || {
            fs::metadata(&outside).map(|m| (m.mode(), m.mtime(), m.len(), m.uid())).expect("the file outside")
        };
        let before = look();
        let odd = place.folder("bob", "inbox").join(ODD);
        if let Err(why) = plant(lab, &place, kind, &odd, &outside) {
            left_out.push(format!("{kind}: {why}"));
            continue;
        }
        planted += 1;
        // The doctor calls it a fault, and is right.
        let looks: [(&[&str], i32); 6] = [
            (&["--as", "bob", "check"], 0),
            (&["--as", "bob", "check", "--json"], 0),
            (&["--as", "bob", "wait", "--timeout", "5"], 0),
            (&["names"], 0),
            (&["doctor"], 4),
            (&["--as", "bob", "read"], 0),
        ];
        for (words, wanted) in looks {
            let ended = place.run(words);
            let at = format!("{} beside {kind}", words.join(" "));
            slowest = slowest.max(ended.time);
            findings.check(ended.code == Some(wanted), || format!("{at}: {}", ended.shown()));
            findings.check(ended.time < promptly(), || format!("{at}: took {:?}", ended.time));
            let lists =
                !matches!(words.get(2), Some(&("check" | "wait"))) || ended.stdout().contains("a5ced000");
            findings.check(lists, || format!("{at}: does not list the rest: {}", ended.shown()));
            if words.contains(&"read") && !is_readable(lab, kind) {
                findings
                    .check(ended.stdout().contains(&body("asked")), || format!("{at}: {}", ended.shown()));
            }
        }
        if !is_readable(lab, kind) {
            let (inbox, aside) =
                (names_in(&place.folder("bob", "inbox")), names_in(&place.folder("bob", "quarantine")));
            findings.check(inbox.is_empty(), || format!("{kind}: still in the inbox: {inbox:?}"));
            findings.check(aside.len() == 1, || format!("{kind}: in quarantine: {aside:?}"));
        }
        findings.check(look() == before, || format!("{kind}: the file outside was changed"));
    }
    let elsewhere = elsewhere(lab, &findings);
    let mut figures = format!(
        "{planted} kinds in an inbox, the slowest command took {} ms; {elsewhere} runs with others elsewhere",
        slowest.as_millis()
    );
    if !left_out.is_empty() {
        figures.push_str(&format!(", left out: {}", left_out.join("; ")));
    }
    if planted == 0 {
        return Err(NotPassed::Skipped(figures));
    }
    findings.verdict(figures)
}

/// Where else a file is expected, below the root; `@` is bob's mailbox.
const ELSEWHERE: [&str; 11] = [
    "registry.json",
    ".registry.lock",
    ".postroom",
    "postroom.toml",
    ".journal",
    "@/card.json",
    "@/seen",
    "@/.alive",
    "@/.deliver.lock",
    "@/.answer.lock",
    "@/answering",
];

/// Nothing waits for the other end of a FIFO, wherever it lies; counts the runs.
fn elsewhere(lab: &Lab, findings: &Findings) -> usize {
    let dir = lab.fast_dir();
    let places: Vec<Place> = (0..lab.workers)
        .map(|worker| Op::Reply.prepare(lab, &dir.path().join(format!("w{worker}"))))
        .collect();
    let new = body("new");
    let commands: [&[&str]; 8] = [
        &["--as", "alice", "send", "bob", "--id", "abcd0123", "-m", &new],
        &["--as", "bob", "check"],
        &["--as", "bob", "wait", "--timeout", "0.01"],
        &["--as", "bob", "reply", "a5ced000", "-m", &new],
        &["names"],
        &["log"],
        &["setup", "dave"],
        &["doctor", "--fix"],
    ];
    let mut all = vec![];
    for spot in ELSEWHERE {
        for kind in ["fifo", "socket", "directory"] {
            all.extend(commands.map(|command| (spot, kind, command)));
        }
    }
    // Tier 0 has time for every third: each command meets each spot, with one kind or another.
    let every = |n: usize| lab.tier > 0 || (n % commands.len() + n / commands.len()).is_multiple_of(3);
    let some: Vec<_> = all.into_iter().enumerate().filter(|(n, _)| every(*n)).map(|(_, case)| case).collect();
    spread(lab.workers, &some, |worker, (spot, kind, command)| {
        let place = &places[worker];
        let bob = place.mailbox("bob").file_name().expect("a name").to_string_lossy().into_owned();
        place.restore();
        let odd = place.root.join(spot.replace('@', &bob));
        let _ = fs::remove_dir_all(&odd);
        let _ = fs::remove_file(&odd);
        plant(lab, place, kind, &odd, &odd).expect("an odd file");
        let run = place.command(command).env("CLAUDE_CODE_SESSION_ID", "of the test");
        let ended = run.deadline(promptly() * 2).end();
        let at = format!("{} with a {kind} at `{spot}`", command[..3.min(command.len())].join(" "));
        findings.extend(&at, ended.crash());
        findings.check(ended.time < promptly(), || format!("{at}: took {:?}", ended.time));
    });
    some.len()
}

/// For root, mode 000 keeps nothing closed: the message is whole and is shown.
fn is_readable(lab: &Lab, kind: &str) -> bool {
    kind == "mode 000" && lab.is_root()
}

fn plant(lab: &Lab, place: &Place, kind: &str, odd: &Path, outside: &Path) -> Result<(), String> {
    let message = format!("---\nfrom: x\nmsg_id: 00000000\nsubject: odd\n---\n\n{}", body("odd"));
    let told = |e: std::io::Error| e.to_string();
    let root_only = || if lab.is_root() { Ok(()) } else { Err("needs root".to_owned()) };
    match kind {
        "fifo" => mkfifoat(CWD, odd, Mode::RUSR | Mode::WUSR).map_err(|e| e.to_string())?,
        "socket" => drop(UnixListener::bind(odd).map_err(told)?),
        "character device" | "block device" => {
            root_only()?;
            let (kind, device) = match kind {
                "character device" => (FileType::CharacterDevice, makedev(1, 5)),
                _ => (FileType::BlockDevice, makedev(7, 0)),
            };
            mknodat(CWD, odd, kind, Mode::RUSR | Mode::WUSR, device).map_err(|e| e.to_string())?;
        }
        "directory" => fs::create_dir(odd).map_err(told)?,
        "full directory" => {
            fs::create_dir(odd).and_then(|()| fs::write(odd.join("inside.md"), message)).map_err(told)?;
        }
        "hard link" => fs::hard_link(outside, odd).map_err(told)?,
        "terabyte" => {
            fs::write(odd, message).map_err(told)?;
            File::options().write(true).open(odd).and_then(|file| file.set_len(1 << 40)).map_err(told)?;
        }
        "mode 000" => {
            fs::write(odd, message).map_err(told)?;
            fs::set_permissions(odd, PermissionsExt::from_mode(0o000)).map_err(told)?;
        }
        "other owner" => {
            root_only()?;
            fs::write(odd, message).and_then(|()| chown(odd, Some(65_534), None)).map_err(told)?;
        }
        "empty" => fs::write(odd, "").map_err(told)?,
        "dangling link" => std::os::unix::fs::symlink(place.base.join("nowhere"), odd).map_err(told)?,
        _ => {
            let name = std::os::unix::ffi::OsStrExt::from_bytes(b"20200101T000000Z-00000000-\xff.md");
            let odd = odd.with_file_name::<&std::ffi::OsStr>(name);
            fs::write(&odd, message).map_err(told)?;
            set_time(&odd, ago(3600));
            return Ok(());
        }
    }
    // The time of a hard link is that of the file outside, which is old already.
    if kind != "hard link" {
        set_time(odd, ago(3600));
    }
    Ok(())
}
