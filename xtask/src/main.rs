//! The tasks of this repository, run as `cargo xtask TASK`.
//!
//! `test` is all that continuous integration runs; the other tasks are parts of it, or take too long for it. A task is
//! one file with one function, `run(&[String]) -> Result<(), String>`: it prints what it does as it goes, and its error is
//! the last thing a person reads. Exit code 0 means done, 1 that something failed, 2 that there is no such task.

#![allow(
    clippy::disallowed_methods,
    reason = "the rules of clippy.toml are for the mail path; tasks talk to the disk, the clock and the environment"
)]

mod agents;
mod bench;
#[allow(dead_code, clippy::expect_used, reason = "some of it is for the tests alone, and it ends them")]
#[path = "../../tests/cli/web_http/client.rs"]
mod browser;
#[allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "some of it is for the tests alone, and it ends them"
)]
#[path = "../../tests/cli/web/driver.rs"]
mod chromium;
mod dist;
mod figures;
mod matrix;
mod portable;
mod record;
mod repo;
mod report;
mod run;
#[allow(dead_code, clippy::unwrap_used, reason = "some of it is for the tests alone, and it ends them")]
#[path = "../../tests/cli/support/screen.rs"]
mod screen;
#[allow(dead_code, reason = "some of it is for the tests alone")]
#[path = "../../tests/cli/support/seat.rs"]
mod seat;
mod support;
mod test;
mod tidy;
mod tools;
mod torture;

use std::process::ExitCode;

type Task = fn(&[String]) -> Result<(), String>;

/// Name, what it does, and the function: help and dispatch are the same table.
const TASKS: [(&str, &str, Task); 8] = [
    (
        "test",
        "[--portable]: everything that continuous integration runs; or the suite on the portable layer",
        test::run,
    ),
    (
        "torture",
        "[ID…] [--tier 0|1|2 [--write]] [--soak MINUTES]: kill, errno, power cut, races on the release binary",
        torture::run,
    ),
    (
        "matrix",
        "the table of docs/guides/programs.md: the real programs, told once, woken, with their mailbox",
        matrix::run,
    ),
    ("bench", "each figure as a ratio against a floor measured in the same run", bench::run),
    (
        "dist",
        "[--from URL] [--test]: the static binary and its packages; installs and removes each",
        dist::run,
    ),
    ("record", "docs/recording.svg: two real agent programs exchange mail in a terminal", record::run),
    ("shots", "docs/pictures/tui.svg: the terminal client, and each of its places", record::shots::run),
    ("tidy", "what no lint checks: sizes, names, links, left-overs", tidy::run),
];

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_else(|| "help".to_owned());
    let rest: Vec<String> = args.collect();
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        print!("{}", help());
        return ExitCode::SUCCESS;
    }
    let Some((_, _, task)) = TASKS.iter().find(|(known, ..)| *known == name) else {
        eprint!("error: there is no task `{name}`\n\n{}", help());
        return ExitCode::from(2);
    };
    match task(&rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // An empty error means that the report on standard output has said it all.
            if !why.is_empty() {
                eprintln!("error: {why}");
            }
            ExitCode::FAILURE
        }
    }
}

fn help() -> String {
    let mut text = "cargo xtask TASK\n\n".to_owned();
    for (name, about, _) in TASKS {
        text.push_str(&format!("  {name:<8} {about}\n"));
    }
    text.push_str("  help     this list\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_task() {
        for (name, about, _) in TASKS {
            assert!(help().contains(&format!("  {name:<8} {about}\n")), "{name} is missing");
        }
    }
}
