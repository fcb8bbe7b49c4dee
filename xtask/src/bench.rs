//! The speed of the mail path, each figure a ratio against a floor measured in the same run.
//!
//! `cargo xtask bench [NAME…] [--bin PATH] [--rounds N] [--write]`. A measurement starts the binary of profile `dist` and the
//! floor (`src/bin/floor.rs`) alternately on the same room and compares medians, because the same machine is up to three
//! times slower a minute later: only what was measured side by side can be compared. What is counted instead of timed
//! (system calls, fsyncs, messages opened, memory) comes from strace. `--write` puts the table into docs/why/benchmarks.md.

mod chromium;
mod claim;
mod courier;
mod crowd;
mod deliver;
mod dispatch;
mod evidence;
mod mail;
mod names;
pub(crate) mod page;
mod pair;
mod place;
mod programs;
mod room;
mod runs;
mod search;
mod table;
mod trace;
mod tree;
mod tui;
mod wake;
mod web;
mod workflow;

use std::path::PathBuf;

use crate::repo::Repo;
use programs::Programs;
use table::{Row, Table};

/// What every measurement is given.
struct Bench {
    repo: Repo,
    programs: Programs,
    /// Rounds of a pair of processes; one round is one run of each.
    rounds: usize,
}

type Measure = fn(&Bench) -> Vec<Row>;

/// Name, what it measures, and the function: selection and dispatch are the same table.
const MEASUREMENTS: [(&str, &str, Measure); 18] = [
    (
        "start",
        "a process that does nothing, and the shortest command (for comparison, without limits)",
        mail::start,
    ),
    ("send", "one durable message of 2 KiB into an existing mailbox, cold process", mail::send),
    ("check", "an empty inbox, cold process", mail::check),
    ("hook", "a hook of a session that has no mail, cold process", mail::hook),
    ("crowd", "check and send with 100,000 messages in the inbox", crowd::crowd),
    ("wait", "from publishing to the end of a waiting process; how often an idle one stirs", wake::wake),
    ("deliver", "deliveries by the library in one process", deliver::deliver),
    ("claim", "a message of 2 KiB claimed and finished, two cold processes", claim::claim),
    ("names", "what each mailbox and each unread message adds to `names`", names::names),
    ("trace", "what `trace` and `thread` look at among 10,000 messages", evidence::evidence),
    ("change", "one status changed in a `.claude` tree, cold process", tree::change),
    ("poll", "what a poll of 10,000 completed messages of a tree opens", tree::poll),
    ("dispatch", "a poll without mail, from an arrival to the start of an agent, memory", dispatch::dispatch),
    (
        "workflow",
        "a run of 1,000 steps of trivial agents, per step, against a cold `send`",
        workflow::workflow,
    ),
    ("tui", "the terminal client of 100,000 messages: start, arrival, idleness", tui::tui),
    ("web", "the page of 100,000 messages and 5,000 runs: first view, arrival, memory, idleness", web::web),
    ("courier", "mail between two rooms over a server: one hop, the rate, memory", courier::courier),
    ("search", "a rare word in 100,000 messages, warm; memory", search::search),
];

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let repo = Repo::open()?;
    let programs = Programs::build(&repo, options.binary)?;
    let bench = Bench { repo, programs, rounds: options.rounds };
    let mut table = Table::default();
    for (name, about, measure) in MEASUREMENTS {
        if options.names.is_empty() || options.names.iter().any(|wanted| wanted == name) {
            println!("==> {name}: {about}");
            let rows = measure(&bench);
            rows.iter().for_each(|row| println!("    {row}"));
            table.rows.extend(rows);
        }
    }
    println!("\n{table}");
    if options.write {
        page::write(&bench.repo, &table)?;
    }
    match table.missed() {
        0 => Ok(()),
        1 => Err("one figure of the bench is not what it must be".to_owned()),
        missed => Err(format!("{missed} figures of the bench are not what they must be")),
    }
}

#[derive(Debug, PartialEq)]
struct Options {
    names: Vec<String>,
    binary: Option<PathBuf>,
    rounds: usize,
    write: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self { names: Vec::new(), binary: None, rounds: 600, write: false };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--bin" => options.binary = Some(value()?.into()),
                "--rounds" => options.rounds = value()?.parse().map_err(|e| format!("--rounds: {e}"))?,
                "--write" => options.write = true,
                name if MEASUREMENTS.iter().any(|(known, ..)| *known == name) => {
                    options.names.push(name.to_owned())
                }
                other => {
                    return Err(format!("there is no measurement `{other}`; there are {}", known()));
                }
            }
        }
        // Fewer than one block of rounds has no spread, and a table of some rows is no table of record.
        if options.rounds < 20 {
            return Err("--rounds must be at least 20".to_owned());
        }
        if options.write && !options.names.is_empty() {
            return Err("--write needs the whole table: leave out the names".to_owned());
        }
        Ok(options)
    }
}

fn known() -> String {
    MEASUREMENTS.map(|(name, ..)| name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn names_and_options_may_be_mixed() {
        let options = parse("send --bin target/postroom check --rounds 50").unwrap();
        assert_eq!(options.names, ["send", "check"]);
        assert_eq!(options.binary, Some("target/postroom".into()));
        assert_eq!((options.rounds, options.write), (50, false));
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        assert!(parse("sned").unwrap_err().contains("start, send, check"));
        assert!(parse("--rounds").unwrap_err().contains("needs a value"));
        assert!(parse("--rounds 3").unwrap_err().contains("at least 20"));
        assert!(parse("send --write").unwrap_err().contains("whole table"));
    }
}
