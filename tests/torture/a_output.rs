//! A5: nobody listens. Standard output or error closed, full, or a pipe whose reader has gone.
//!
//! A deed that is done still reports through the exit code; what was to be shown and could not be is not
//! consumed.

use std::fs::OpenOptions;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::lab::{Findings, Lab, Outcome, spread};
use crate::ledger::body;
use crate::ops::{ASKED, Op};
use crate::place::Place;
use crate::process::{Ended, Run};

/// Where the two outputs of a command go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sink {
    Kept,
    Closed,
    Full,
    BrokenPipe,
}

const SINKS: [Sink; 4] = [Sink::Kept, Sink::Closed, Sink::Full, Sink::BrokenPipe];

pub(crate) fn nobody_listens(lab: &Lab) -> Outcome {
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let places: Vec<Place> = (0..lab.workers)
        .map(|worker| Op::Send.prepare(lab, &dir.path().join(format!("w{worker}"))))
        .collect();
    let message = body("new");
    let commands: [(&str, &[&str]); 22] = [
        ("send", &["--as", "alice", "send", "bob", "-s", "news", "-m", &message]),
        ("send --json", &["--as", "alice", "send", "bob", "--json", "-s", "news", "-m", &message]),
        ("send to nobody", &["--as", "alice", "send", "nobody", "-m", "x"]),
        ("read", &["--as", "bob", "read"]),
        ("read --json", &["--as", "bob", "read", "--json"]),
        ("read --keep", &["--as", "bob", "read", "--keep"]),
        ("reply", &["--as", "bob", "reply", ASKED, "-m", "answer"]),
        ("check", &["--as", "bob", "check"]),
        ("check --json", &["--as", "bob", "check", "--json"]),
        ("wait", &["--as", "bob", "wait", "--timeout", "1"]),
        ("archive", &["--as", "bob", "archive", ASKED]),
        ("names", &["names"]),
        ("whoami", &["--as", "bob", "whoami"]),
        ("log", &["log"]),
        ("doctor", &["doctor"]),
        ("setup", &["setup", "dave"]),
        ("setup --child", &["setup", "--child", "erin"]),
        ("help", &["help", "send"]),
        ("--help", &["--help"]),
        ("completions", &["tools", "completions", "bash"]),
        ("man", &["tools", "man"]),
        ("unknown verb", &["sned"]),
    ];
    let runs = AtomicUsize::new(0);
    spread(lab.workers, &commands, |worker, (word, arguments)| {
        let (place, word) = (&places[worker], *word);
        for out in SINKS {
            for err in SINKS {
                if (out, err) == (Sink::Kept, Sink::Kept) {
                    continue;
                }
                place.restore();
                let at = format!("{word}, output {out:?}, errors {err:?}");
                let ended = run(place.command(arguments), out, err);
                runs.fetch_add(1, Ordering::Relaxed);
                findings.extend(&at, ended.crash());
                let unread = place.messages("bob", "inbox");
                let has = |text: &str| unread.iter().any(|(_, bytes)| bytes.ends_with(text.as_bytes()));
                let deaf = out != Sink::Kept;
                let right = match word {
                    "send" | "send --json" => ended.ok() && has(&message),
                    "send to nobody" => ended.code == Some(3),
                    // Nothing was shown, so nothing may be consumed.
                    "read" | "read --json" if deaf => ended.code == Some(5) && has(&body("asked")),
                    "reply" => ended.ok() && place.messages("alice", "inbox").len() == 1,
                    "archive" | "setup" => ended.ok(),
                    "unknown verb" => ended.code == Some(2),
                    _ => true,
                };
                findings.check(right, || format!("{at}: {}, {} unread", ended.shown(), unread.len()));
            }
        }
    });
    let runs = runs.into_inner();
    findings.verdict(format!("{runs} runs of {} commands", commands.len()))
}

fn run(run: Run, out: Sink, err: Sink) -> Ended {
    let closing =
        |sink: Sink, fd: &str| if sink == Sink::Closed { format!("{fd}>&- ") } else { String::new() };
    let redirection = closing(out, "1") + &closing(err, "2");
    let run = if redirection.is_empty() { run } else { run.in_shell(":", &redirection) };
    run.end_with(stdio(out), stdio(err))
}

fn stdio(sink: Sink) -> Stdio {
    match sink {
        // What is kept goes to a file and not to /dev/null, which `read` takes for nobody.
        Sink::Kept => Stdio::from(tempfile::tempfile().expect("a temporary file")),
        Sink::Closed => Stdio::null(),
        Sink::Full => Stdio::from(OpenOptions::new().write(true).open("/dev/full").expect("/dev/full")),
        Sink::BrokenPipe => {
            let (reader, writer) = std::io::pipe().expect("a pipe");
            drop(reader);
            Stdio::from(writer)
        }
    }
}
