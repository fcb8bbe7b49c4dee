//! F4: a terminal obeys nothing that came by mail. Texts with every kind of control are put into every field, by
//! command where a command takes them and by hand where it does not, and everything that shows them is shown on a
//! terminal: no control but line breaks may reach it.

use std::fs;

use crate::lab::{Findings, Lab, Outcome, need};
use crate::place::{Place, ago, set_time};

/// What a terminal may obey: CSI, OSC 52, OSC 8, DCS, C1, DEL, BEL, BS, CR, bidi, zero width, tags, and what draws nothing.
const HOSTILE: &str = "a\u{1b}[2Jb\u{1b}]52;c;eA==\u{7}c\u{1b}]8;;x\u{1b}\\d\u{1b}Pq\u{1b}\\e\u{9b}31m\u{7f}\u{8}\u{85}\u{202e}\u{2066}\u{200b}\u{feff}\u{e0041}x\u{ad}x\u{34f}x\u{180e}x\u{3164}x\u{fe00}x\u{fe0f}x\u{e0100}x\u{e000}z";

pub(crate) fn nothing_is_obeyed(lab: &Lab) -> Outcome {
    need("script")?;
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let place = Place::with(lab, dir.path(), &["alice", "bob", "carol"]);
    arrange(&place);
    // What shows, changes and fails; the words that a person types may be hostile as well.
    let shown: Vec<Vec<String>> = [
        "names",
        "names --about zzz",
        "log",
        "stats",
        "runs",
        "agents",
        "doctor",
        "doctor --strict",
        "--as bob check",
        "--as bob whoami",
        "--as bob wait --timeout 1",
        "--as bob read",
        "--as bob read",
        "--as bob read a5ced002",
        "--as bob sent",
        "--as carol sent",
        "search zz",
        "--as bob search a",
        "trace a5ced001",
        "thread a5ced001",
        "--as bob failed",
        "--as bob claim --lease 1h",
        "group",
        "verify outside/hostile.md",
        "--as bob read --json",
        "--as bob check --json",
        "doctor --json",
        "log --json",
        "runs --json",
        "names --json",
        "dispatch --dry-run",
        "dispatch",
        "runs",
        "--as carol check",
        "--as carol read",
    ]
    .iter()
    .map(|line| line.split(' ').map(str::to_owned).collect())
    .chain([
        vec!["send".to_owned(), HOSTILE.to_owned(), "-m".to_owned(), "x".to_owned()],
        vec![HOSTILE.to_owned()],
        vec!["--as".to_owned(), HOSTILE.to_owned(), "check".to_owned()],
        vec!["setup".to_owned(), HOSTILE.to_owned()],
        vec!["--as".to_owned(), "bob".to_owned(), "read".to_owned(), HOSTILE.to_owned()],
        vec!["search".to_owned(), HOSTILE.to_owned()],
        vec![
            "--as".to_owned(),
            "bob".to_owned(),
            "send".to_owned(),
            "bob".to_owned(),
            "-s".to_owned(),
            HOSTILE.to_owned(),
        ],
        vec!["tools".to_owned(), "verify".to_owned(), HOSTILE.to_owned()],
    ])
    .collect();
    let mut bytes = 0;
    for words in &shown {
        let out = on_terminal(&place, words);
        bytes += out.len();
        findings.check(!out.is_empty(), || format!("{words:?} showed nothing"));
        if let Some(found) = obeyed(&out) {
            let at = out.find(found).unwrap_or(0);
            let near: String =
                out[..at].chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
            findings.add(format!("{words:?} shows {} after {near:?}", found.escape_unicode()));
        }
    }
    let control = on_terminal_raw(&place, &format!("printf '{}'", "a\\033[2Jb"));
    findings.check(obeyed(&control).is_some(), || "the check does not see a control".to_owned());
    findings.verdict(format!("{} commands on a terminal, {bytes} bytes, 0 controls", shown.len()))
}

/// The first character in what a terminal got that it could obey.
fn obeyed(out: &str) -> Option<char> {
    out.chars().find(|c| *c != '\n' && postroom::message::visible::is_unsafe(*c))
}

/// Puts the hostile text wherever a message, a card or a program can have it.
fn arrange(place: &Place) {
    place.ok(&["--as", "alice", "send", "bob", "--id", "a5ced001", "-s", "plain", "-m", HOSTILE]);
    let inbox = place.folder("bob", "inbox");
    let field = HOSTILE.replace('\u{85}', "");
    let head = |from: &str, more: &str| {
        format!("---\nfrom: {from}\nto: bob\nmsg_id: ID\nsubject: {field}\n{more}---\n\n{HOSTILE}\n")
    };
    let by_hand = [
        ("a5ced002", head("carol", &format!("channel: {field}\nreply_to: {}\n", "a5ced001"))),
        ("a5ced003", head(&field, &format!("x-{}: {field}\npriority: {field}\n", "extra"))),
        ("a5ced004", head("carol", "\u{1b}[2J: x\n")),
        ("a5ced005", format!("---\nfrom: {HOSTILE}\n")),
        ("a5ced006", HOSTILE.to_owned()),
    ];
    for (id, text) in by_hand {
        let path = inbox.join(format!("20260101T000000Z-{id}-hand.md"));
        fs::write(&path, text.replace("ID", id)).expect("a message by hand");
        set_time(&path, ago(3600));
    }
    let strange = inbox.join(format!("20260101T000001Z-a5ced007-{}.md", HOSTILE.replace('/', "")));
    fs::write(&strange, head("carol", "").replace("ID", "a5ced007")).expect("a strange name");
    set_time(&strange, ago(3600));
    fs::write(place.outside().join("hostile.md"), head(&field, "")).expect("a file to verify");
    // What an agent prints and how it fails is shown by `runs` and in the bounce.
    let agent = "[agents.carol]\npreset = \"command\"\nretries = 0\ncommand = [\"sh\", \"-c\", \
                 'printf \"\\033[2Jx\\007\" >&2; printf \"\\033]52;c;eA==\\007\"; exit 3']\n";
    place.settle(agent);
    place.ok(&["--as", "alice", "send", "carol", "-m", HOSTILE]);
    place.ok(&["--as", "alice", "send", "carol", "-m", "once more"]);
    place.ok(&["--as", "carol", "setup", "--about", "knows zzz"]);
    let registry = place.root.join("registry.json");
    let text = fs::read_to_string(&registry).expect("the registry");
    let about: String = HOSTILE
        .chars()
        .map(|c| if c.is_control() { format!("\\u{:04x}", c as u32) } else { c.to_string() })
        .collect();
    fs::write(&registry, text.replace("knows zzz", &format!("knows zzz {}", about.replace("\u{1b}\\", ""))))
        .expect("the registry");
    place.run(&["dispatch", "--limit", "1"]);
}

fn on_terminal(place: &Place, words: &[String]) -> String {
    let run = place.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let quoted = |word: &str| format!("'{}'", word.replace('\'', "'\\''"));
    let line: Vec<String> = run.words.iter().map(|word| quoted(&word.to_string_lossy())).collect();
    on_terminal_raw(place, &line.join(" "))
}

/// What a terminal gets of a command line, with its line ends as in a file.
fn on_terminal_raw(place: &Place, line: &str) -> String {
    let command = format!("stty cols 200 rows 24; exec {line}");
    let mut run = place.bare(Vec::<String>::new());
    run.words = ["script", "-qec", &command, "/dev/null"].map(Into::into).into();
    let run = run.env("TERM", "xterm-256color").env("SHELL", "/bin/sh").env("NO_COLOR", "1");
    run.end().stdout().replace("\r\n", "\n")
}
