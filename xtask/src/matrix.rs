//! The matrix of docs/guides/programs.md: program × event × (told once, woken, identity kept), between two markers.
//!
//! The tests in `tests/cli/agents/matrix/` drive the real programs and hold the promises in every run; here they are run
//! once more, and append what they saw to a file, one line of JSON for each cell. A cell that is missing fails the task, and
//! `tidy` fails if one of the page is empty.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::thread::available_parallelism;

use serde_json::Value;

use crate::bench::page::said;
use crate::repo::Repo;
use crate::{run, tools};

pub(crate) const PAGE: &str = "docs/guides/programs.md";
pub(crate) const BEGIN: &str = "<!-- matrix:begin -->";
pub(crate) const END: &str = "<!-- matrix:end -->";

/// The programs, as the tests and the page name them.
pub(crate) const PROGRAMS: [(&str, &str); 5] = [
    ("claude", "Claude Code"),
    ("codex", "Codex"),
    ("gemini", "Gemini CLI"),
    ("opencode", "OpenCode"),
    ("copilot", "Copilot CLI"),
];

pub(crate) const EVENTS: [&str; 15] = [
    "set up before",
    "set up inside",
    "set up by name",
    "mail when idle",
    "mail when thinking",
    "mail in a tool",
    "mail in a failing tool",
    "three mails in a dialog",
    "`/clear`",
    "compact",
    "resume",
    "exit",
    "kill",
    "two sessions",
    "hooks of user and project",
];

/// The tables, and what a cell of each says.
pub(crate) const TABLES: [(&str, Shown); 3] = [("told once", told), ("woken", woken), ("mailbox", identity)];

type Shown = fn(&Value) -> Option<String>;

type Cells = BTreeMap<(String, String), Value>;

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if let Some(argument) = args.first() {
        return Err(format!("`cargo xtask matrix` takes no argument such as `{argument}`"));
    }
    let repo = Repo::open()?;
    if !tools::has_nextest(&repo) {
        return Err("cargo-nextest is missing; `cargo xtask test` installs it".to_owned());
    }
    let seen = repo.target.join("matrix.jsonl");
    let told = |e: std::io::Error| format!("{}: {e}", seen.display());
    fs::write(&seen, "").map_err(told)?;
    // The stand-in for the models; a single test target does not build it.
    run::run(repo.cargo().args(["build", "--locked", "--example", "models"]))?;
    let mut cargo = repo.cargo();
    cargo.args(["nextest", "run", "--locked", "--test", "cli", "-E", "test(/^agents::matrix::/)"]);
    run::run(cargo.env("POSTROOM_MATRIX", &seen))?;
    let cells = read(&fs::read_to_string(&seen).map_err(told)?)?;
    let path = repo.root.join(PAGE);
    let of_page = |e: std::io::Error| format!("{PAGE}: {e}");
    let page = fs::read_to_string(&path).map_err(of_page)?;
    let page = replaced(&page, &machine()?, &cells)?;
    fs::write(&path, page).map_err(of_page)
}

/// When and where it was seen.
fn machine() -> Result<String, String> {
    let date = said(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    let cores = available_parallelism().map_err(|e| format!("cannot count cores: {e}"))?;
    Ok(format!("{date}, Linux, {cores} cores, a debug build, beside other work"))
}

/// What the tests saw; a cell that was seen twice is as it was seen last.
fn read(text: &str) -> Result<Cells, String> {
    let mut cells = Cells::new();
    for line in text.lines() {
        let cell: Value = serde_json::from_str(line).map_err(|e| format!("{line}: {e}"))?;
        let word = |key: &str| cell[key].as_str().unwrap_or_default().to_owned();
        cells.insert((word("program"), word("event")), cell);
    }
    Ok(cells)
}

fn replaced(page: &str, machine: &str, cells: &Cells) -> Result<String, String> {
    let none = || format!("{PAGE} has no {BEGIN} … {END}");
    let (before, rest) = page.split_once(BEGIN).ok_or_else(none)?;
    let (_, after) = rest.split_once(END).ok_or_else(none)?;
    let mut text = format!("{before}{BEGIN}\nSeen on one machine: {machine}.\n");
    for (title, shown) in TABLES {
        text.push_str(&format!(
            "\n| {title} |{}\n|---|",
            PROGRAMS.map(|(_, name)| format!(" {name} |")).concat()
        ));
        text.push_str(&"---|".repeat(PROGRAMS.len()));
        for event in EVENTS {
            text.push_str(&format!("\n| {event} |"));
            for (program, _) in PROGRAMS {
                let cell = cells.get(&(program.to_owned(), event.to_owned())).and_then(shown);
                let cell =
                    cell.ok_or_else(|| format!("{program}, {event}: nothing was seen of it ({title})"))?;
                text.push_str(&format!(" {} |", cell.replace('|', "/")));
            }
        }
        text.push('\n');
    }
    Ok(format!("{text}{END}{after}"))
}

/// How often, extra requests, and bytes.
fn told(cell: &Value) -> Option<String> {
    if let Some(why) = cell["told"].as_str() {
        return Some(why.to_owned());
    }
    let (requests, bytes) = (cell["requests"].as_u64()?, cell["bytes"].as_u64()?);
    (cell["told"] == 1).then(|| format!("+{requests}, {bytes} B"))
}

fn woken(cell: &Value) -> Option<String> {
    let seconds = |seconds: f64| format!("{seconds:.1} s");
    cell["woken"].as_f64().map(seconds).or_else(|| Some(cell["woken"].as_str()?.to_owned()))
}

fn identity(cell: &Value) -> Option<String> {
    cell["identity"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> String {
        let mut lines = String::new();
        for (program, _) in PROGRAMS {
            for event in EVENTS {
                let cell = serde_json::json!({
                    "program": program, "event": event, "told": 1, "requests": 1, "bytes": 1011, "woken": 0.9, "identity": "bob",
                });
                lines.push_str(&format!("{cell}\n"));
            }
        }
        lines
    }

    #[test]
    fn every_cell_is_written_and_none_may_be_missing() {
        let page = format!("# Page\n{BEGIN}\nold\n{END}\nafter\n");
        let new = replaced(&page, "m", &read(&all()).unwrap()).unwrap();
        assert_eq!(new.matches("+1, 1011 B").count(), 75);
        assert_eq!(new.matches("0.9 s").count(), 75);
        assert!(new.starts_with("# Page\n") && new.ends_with(&format!("{END}\nafter\n")), "{new}");
        let less: String = all().lines().skip(1).map(|line| format!("{line}\n")).collect();
        assert!(replaced(&page, "m", &read(&less).unwrap()).unwrap_err().contains("claude, set up before"));
        assert!(replaced("# Page\n", "m", &read(&all()).unwrap()).is_err());
    }
}
