//! B6: a hundred thousand messages in one inbox, and a thousand agents. A look at the newest twenty stays quick and small.

use std::fs;
use std::time::Duration;

use crate::lab::{Findings, Lab, Outcome, spread};
use crate::ledger::body;
use crate::place::{Place, ago, names_in, set_time};

const MESSAGES: usize = 100_000;
const AGENTS: usize = 1_000;
const LONGEST: Duration = Duration::from_millis(300);

pub(crate) fn many(lab: &Lab) -> Outcome {
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let place = Place::with(lab, dir.path(), &["alice", "bob"]);
    let numbers: Vec<usize> = (0..AGENTS).collect();
    spread(lab.workers, &numbers, |_, number| {
        drop(place.ok(&["setup", "--child", &format!("agent.{number}")]))
    });
    let inbox = place.folder("bob", "inbox");
    let text = body("many");
    let from = place.mailbox("alice").file_name().expect("a name").to_string_lossy().into_owned();
    for number in 0..MESSAGES {
        let id = format!("{number:08x}");
        let second = format!("2026{:02}{:02}T{:02}0000Z", 1 + number % 9, 1 + number % 28, number % 24);
        let path = inbox.join(format!("{second}-{id}-many.md"));
        fs::write(
            &path,
            format!("---\nfrom: {from}\nto: \nmsg_id: {id}\nsubject: many {number}\n---\n\n{text}"),
        )
        .expect("a message");
        if number % 1000 == 0 {
            set_time(&path, ago(3600));
        }
    }
    let mut figures = vec![];
    // The address space holds all that is resident, so what fits into it has never used more.
    for (words, code, limit) in [
        (&["--as", "bob", "check", "--limit", "20"][..], 0, Some(LONGEST)),
        (&["--as", "bob", "check", "--count"], 0, Some(LONGEST)),
        (&["--as", "bob", "wait", "--timeout", "1", "--limit", "20"], 0, Some(LONGEST)),
        (&["--as", "bob", "read"], 0, None),
        (&["--as", "alice", "send", "bob", "-m", "one more"], 0, Some(LONGEST)),
        (&["names"], 0, None),
    ] {
        let runs: Vec<_> =
            (0..5).map(|_| place.command(words).in_shell("ulimit -v 65536", "").end()).collect();
        runs.iter().for_each(|ended| {
            findings.check(ended.code == Some(code), || format!("{words:?} within 64 MiB: {}", ended.shown()))
        });
        let best = runs.iter().map(|ended| ended.time).min().unwrap_or_default();
        findings.check(limit.is_none_or(|limit| best < limit), || format!("{words:?} took {best:?}"));
        figures.push(format!(
            "{} {} ms",
            words[words.len() - if words[0] == "names" { 1 } else { words.len() - 2 }],
            best.as_millis()
        ));
    }
    let there = names_in(&inbox).len() + place.messages("bob", "archive").len();
    findings.check(there == MESSAGES + 5, || format!("{there} messages"));
    findings.verdict(format!("{MESSAGES} messages, {AGENTS} agents, within 64 MiB: {}", figures.join(", ")))
}
