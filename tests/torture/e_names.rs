//! E1: hostile names, in every place where a caller or a message can put one.
//!
//! Each case either is refused, or is a well-formed name that nobody bears, or is text that stays text. The
//! tree outside the room is the same before and after, and nothing is made in the room under a name that a
//! caller chose as a path.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::atomic::{AtomicUsize, Ordering};

use postroom::name::{MailboxId, MessageId, Name, RoomName};

use crate::lab::{Findings, Lab, Outcome, spread};
use crate::ledger::body;
use crate::place::{Place, ago, names_in, set_time, snapshot};
use crate::process::{Ended, Run};

/// What is tried. The first group leads out of the room if anybody takes it for a path.
fn hostile(place: &Place) -> Vec<OsString> {
    let outside = place.outside().display().to_string();
    let long = ["a".repeat(129), "a".repeat(256), "é".repeat(200), "a/".repeat(2000)];
    let texts = [
        "../outside/x",
        "../../outside/x",
        "../../../../../../etc/x",
        "..",
        ".",
        "",
        "/",
        "//",
        "/etc/x",
        "./x",
        "a/b",
        "a/../b",
        "a/",
        "bob/../alice",
        "../room/alice",
        ".hidden",
        "..x",
        "-rf",
        "--help",
        "--root",
        "-",
        "~",
        "~root",
        "$(id)",
        "`id`",
        "$HOME",
        "*",
        "?",
        "[a-z]",
        "{a,b}",
        "a;b",
        "a|b",
        "a&b",
        "a>b",
        "'",
        "\"",
        "\\",
        "a\\b",
        "%2e%2e",
        "%2e%2e%2fx",
        "..%2f",
        "a b",
        " a",
        "a ",
        "a\tb",
        "a\nb",
        "a\r\nb",
        "a\u{1b}[2Jb",
        "a\u{7f}",
        "a\u{85}b",
        "a\u{200b}b",
        "a\u{202e}b",
        "a\u{2028}b",
        "\u{feff}a",
        "a\u{e0041}",
        "a:b",
        "a@b",
        ".journal",
        ".registry.lock",
        ".postroom",
    ];
    let absolute = [format!("{outside}/x"), format!("{outside}/canary"), format!("..{outside}/x")];
    let not_utf8 =
        [&b"\xff\xfe"[..], b"a\xc3", b"\xed\xa0\x80"].map(|bytes| OsString::from_vec(bytes.to_vec()));
    let texts = texts.into_iter().map(OsString::from);
    texts
        .chain(absolute.into_iter().map(OsString::from))
        .chain(long.map(OsString::from))
        .chain(not_utf8)
        .collect()
}

/// Well-formed names of any script, and ones that mean something elsewhere: as names they are unknown, not
/// refused.
const WELL_FORMED: [&str; 10] =
    ["CON", "NUL", "ADMIN", "é", "e\u{301}", "陳", "org.research", "x_y-z", "registry.json", "README.md"];

/// Where a name can stand on the command line; `X` is its place.
const POSITIONS: [(&str, &[&str]); 12] = [
    ("sender", &["--as", "X", "check"]),
    ("sender of a send", &["--as", "X", "send", "bob", "-m", "text"]),
    ("recipient", &["--as", "alice", "send", "X", "-m", "text"]),
    ("id", &["--as", "alice", "send", "bob", "-m", "text", "--id", "X"]),
    ("reply to", &["--as", "alice", "send", "bob", "-m", "text", "--reply-to", "X"]),
    ("filter", &["--as", "bob", "check", "--from", "X"]),
    ("read", &["--as", "bob", "read", "X"]),
    ("archive", &["--as", "bob", "archive", "X"]),
    ("reply", &["--as", "bob", "reply", "X", "-m", "text"]),
    ("setup", &["setup", "X"]),
    ("alias", &["--as", "alice", "setup", "--alias", "X"]),
    ("room", &["--room", "X", "names"]),
];

/// One case: where which name stands.
enum Case {
    Hostile(usize, usize),
    WellFormed(usize, usize),
    Text(usize),
    File(usize),
}

pub(crate) fn hostile_names(lab: &Lab) -> Outcome {
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let places: Vec<Place> = (0..lab.workers)
        .map(|worker| {
            let place = Place::with(lab, &dir.path().join(format!("w{worker}")), &["alice", "bob"]);
            fs::write(place.outside().join("canary"), "canary").expect("a canary");
            place.save();
            place
        })
        .collect();
    let names: Vec<Vec<OsString>> = places.iter().map(hostile).collect();
    // Tier 0 tries every name in every fourth place, and every fourth name in each.
    let every = if lab.tier == 0 { 4 } else { 1 };
    let mut all = vec![];
    for name in 0..names[0].len() {
        let here = |place: usize| (place + name).is_multiple_of(every);
        all.extend((0..POSITIONS.len()).filter(|at| here(*at)).map(|at| Case::Hostile(at, name)));
        all.extend(Some(Case::Text(name)).filter(|_| here(1)));
        all.extend(Some(Case::File(name)).filter(|_| here(2)));
    }
    for name in 0..WELL_FORMED.len() {
        let here = (0..POSITIONS.len()).filter(|at| (at + name).is_multiple_of(every));
        all.extend(here.map(|at| Case::WellFormed(at, name)));
    }
    let cases = AtomicUsize::new(in_memory(&findings));
    spread(lab.workers, &all, |worker, case| {
        let (place, names) = (&places[worker], &names[worker]);
        let count = match case {
            Case::Hostile(at, name) => on_command_line(place, *at, &names[*name], &findings),
            Case::WellFormed(at, name) => well_formed(place, *at, WELL_FORMED[*name], &findings),
            Case::Text(name) => texts(place, &names[*name], &findings),
            Case::File(name) => files(place, &names[*name], &findings),
        };
        cases.fetch_add(count, Ordering::Relaxed);
    });
    findings.verdict(format!("{} cases, nothing outside the room changed", cases.into_inner()))
}

fn on_command_line(place: &Place, at: usize, name: &OsStr, findings: &Findings) -> usize {
    let (position, words) = POSITIONS[at];
    let ended = attempt(place, words, name, findings, position);
    // `-` and `--help` are words of the command line itself; a file of that name is out of reach with them.
    let is_option = name.as_bytes().starts_with(b"-");
    // `a@b` is an address: of `a` in the room `b`.
    let no_room = ended.code == Some(3) && ended.stderr().contains("there is no room `b`");
    let refused = matches!(ended.code, Some(2 | 4)) || no_room || position_says_unknown(position, &ended);
    findings
        .check(refused || is_option && !changed(place), || format!("{position} {name:?}: {}", ended.shown()));
    1
}

fn well_formed(place: &Place, at: usize, name: &str, findings: &Findings) -> usize {
    let (position, words) = POSITIONS[at];
    let ended = attempt(place, words, OsStr::new(name), findings, position);
    let right = match position {
        "setup" | "alias" => ended.ok(),
        "id" | "reply to" | "read" | "archive" | "reply" => matches!(ended.code, Some(2..=4)),
        "room" => matches!(ended.code, Some(3 | 4)),
        _ => ended.code == Some(3),
    };
    findings.check(right, || format!("{position} {name:?}: {}", ended.shown()));
    1
}

/// Runs one case and compares the world outside.
fn attempt(place: &Place, words: &[&str], name: &OsStr, findings: &Findings, position: &str) -> Ended {
    place.restore();
    let before = snapshot(&place.outside());
    let words: Vec<&OsStr> =
        words.iter().map(|word| if *word == "X" { name } else { OsStr::new(word) }).collect();
    let root = place.root.clone().into_os_string();
    let mut all: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    if !all.iter().any(|word| word == "--room") {
        all.splice(0..0, ["--root".into(), root]);
    }
    judge(place, place.bare(all), &before, findings, &format!("{position} {name:?}"))
}

fn judge(place: &Place, run: Run, before: &[String], findings: &Findings, at: &str) -> Ended {
    let ended = run.end();
    findings.extend(at, ended.crash());
    findings.check(snapshot(&place.outside()) == before, || format!("{at}: something outside changed"));
    let known = ["outside", "home", "room", "template"];
    let strays: Vec<_> =
        names_in(&place.base).into_iter().filter(|name| !known.contains(&name.as_str())).collect();
    findings.check(strays.is_empty(), || format!("{at}: made beside the room: {strays:?}"));
    for (dir, known) in [("home", "state"), ("home/state", "postroom"), ("home/state/postroom", "sessions")] {
        let mut strays = names_in(&place.base.join(dir));
        strays.retain(|name| name != known);
        findings.check(strays.is_empty(), || format!("{at}: made in {dir}: {strays:?}"));
    }
    let raw = ended.out.iter().chain(&ended.err).any(|byte| matches!(byte, 0..=8 | 11..=31 | 127));
    findings.check(!raw, || format!("{at}: control characters in the output: {:?}", ended.stderr()));
    ended
}

/// A reference that no message has is unknown, however it is spelled; it is compared and never opened.
fn position_says_unknown(position: &str, ended: &Ended) -> bool {
    matches!(position, "read" | "archive" | "reply") && ended.code == Some(3)
}

/// Whether the room differs from what it was, in more than the notes that any command leaves.
fn changed(place: &Place) -> bool {
    let names = |root: &std::path::Path| {
        names_in(root).into_iter().filter(|name| name != ".journal").collect::<Vec<_>>()
    };
    let mail = |place: &Place| place.messages("bob", "inbox").len() + place.messages("alice", "inbox").len();
    names(&place.root) != names(&place.base.join("template")) || mail(place) > 0
}

/// What is text and no name may hold anything that fits on one line: channel, subject, and the session of an
/// agent.
fn texts(place: &Place, name: &OsStr, findings: &Findings) -> usize {
    let mut cases = 0;
    if !name.as_bytes().starts_with(b"-") {
        for option in ["--channel", "--subject"] {
            cases += 1;
            let words = ["--as", "alice", "send", "bob", "-m", "text", option, "X"];
            let ended = attempt(place, &words, name, findings, option);
            let stored = place.messages("bob", "inbox").pop().map(|(_, bytes)| bytes);
            // A subject is trimmed, and an empty one is taken from the text.
            let kept = if option == "--subject" { name.as_bytes().trim_ascii() } else { name.as_bytes() };
            let kept = if kept.is_empty() { b"text" } else { kept };
            let line = [&b": "[..], kept, b"\n"].concat();
            let verbatim = stored.as_ref().is_some_and(|bytes| bytes.windows(line.len()).any(|w| w == line));
            let right =
                if ended.ok() { verbatim } else { matches!(ended.code, Some(2 | 4)) && stored.is_none() };
            findings.check(right, || format!("{option} {name:?}: {}", ended.shown()));
        }
        cases += 1;
        place.restore();
        let before = snapshot(&place.outside());
        let run = place.command(&["setup", "dave"]).env("CLAUDE_CODE_SESSION_ID", name);
        let ended = judge(place, run, &before, findings, &format!("session {name:?}"));
        findings.check(ended.ok(), || format!("session {name:?}: {}", ended.shown()));
        let bindings = names_in(&place.sessions());
        let hashed = bindings.iter().all(|file| file.bytes().all(|b| b.is_ascii_hexdigit()));
        findings.check(hashed, || format!("session {name:?} became a file: {bindings:?}"));
    }
    cases
}

/// Names inside messages, and as names of their files.
fn files(place: &Place, name: &OsStr, findings: &Findings) -> usize {
    let mut cases = 0;
    let bytes = name.as_bytes();
    let one_line = !bytes.iter().any(|b| matches!(b, b'\n' | b'\r'));
    let field = |from: &[u8], id: &[u8]| {
        let head = [b"---\nfrom: ", from, b"\nmsg_id: ", id, b"\nsubject: x\n---\n\n"].concat();
        [&head[..], body("x").as_bytes()].concat()
    };
    let mut plans = vec![];
    if one_line {
        plans.push(("from", "20200101T000000Z-deadbeef-x.md".into(), field(bytes, b"deadbeef-1")));
        plans.push(("msg_id", "20200101T000000Z-deadbeef-x.md".into(), field(b"alice", bytes)));
    }
    if !bytes.contains(&b'/') && bytes.len() <= 252 && !bytes.is_empty() {
        plans.push(("file", OsString::from_vec([bytes, b".md"].concat()), field(b"alice", b"deadbeef-1")));
    }
    for (position, file, text) in plans {
        cases += 1;
        place.restore();
        let path = place.folder("bob", "inbox").join(&file);
        fs::write(&path, text).expect("a message by hand");
        set_time(&path, ago(3600));
        let before = snapshot(&place.outside());
        for words in [
            &["check"][..],
            &["reply", "deadbeef", "-m", "text"],
            &["read"],
            &["doctor"],
            &["doctor", "--fix"],
        ] {
            let run = place.command(&[&["--as", "bob"], words].concat());
            judge(place, run, &before, findings, &format!("{} with {position} {name:?}", words.join(" ")));
        }
        let left = place.messages("bob", "inbox");
        // A name that begins with a dot is nobody's message, and stays where it is.
        findings.check(left.is_empty() || bytes.starts_with(b"."), || {
            format!("{position} {name:?}: still there")
        });
    }
    cases
}

/// No command line holds a NUL, but other callers of the library may.
fn in_memory(findings: &Findings) -> usize {
    let names = ["a\0b", "\0", "deadbeef\0", "../deadbeef", "deadbeef/.."];
    for name in names {
        let taken = [
            Name::parse(name).is_ok(),
            MailboxId::parse(name).is_ok(),
            MessageId::parse_strict(name).is_ok(),
            RoomName::parse(name).is_ok(),
        ];
        findings.check(taken == [false; 4], || {
            format!("{name:?} is taken as name, mailbox, message or room: {taken:?}")
        });
    }
    names.len() * 4
}
