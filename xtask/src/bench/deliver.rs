//! Deliveries by the library: how many a second one process makes, against a loop of nothing but the system calls.
//!
//! The library's side is `benches/deliver.rs`, started as `deliver ROOT FROM TO COUNT [send]`; both print a rate. The whole
//! verb `send`, with its checks and its line in the journal, stands beside it for comparison.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::Bench;
use super::mail::rows;
use super::pair::{Pair, Sides, Unit};
use super::place::Place;
use super::room::Room;
use super::table::{Limit, Row, Without};
use crate::repo::Repo;

const ROUNDS: usize = 40;
const COUNT: &str = "2000";

pub(crate) fn deliver(bench: &Bench) -> Vec<Row> {
    rows("deliveries by the library", || {
        let library = build(&bench.repo, "deliver")?;
        let place = Place::tmpfs()?;
        let room = Room::set_up(&bench.programs, &place.dir, &["alice", "bob"])?;
        let take = |extra: &'static [&'static str]| {
            Pair::take(Unit::PerSecond, ROUNDS, &mut Deliveries { room: &room, library: &library, extra })
        };
        Ok(vec![
            Row::ratio("deliveries by the library, tmpfs", &take(&[])?, Limit::AtLeast(0.85)),
            Row::ratio("whole sends by the library, tmpfs", &take(&["send"])?, Limit::None),
        ])
    })
}

struct Deliveries<'a> {
    room: &'a Room<'a>,
    library: &'a Path,
    /// What the library is told beside the four arguments.
    extra: &'a [&'a str],
}

impl Sides for Deliveries<'_> {
    fn measured(&mut self, _round: usize) -> Result<f64, String> {
        let mut args: Vec<&OsStr> =
            vec![self.room.root().as_os_str(), "alice".as_ref(), "bob".as_ref(), COUNT.as_ref()];
        args.extend(self.extra.iter().map(AsRef::<OsStr>::as_ref));
        self.rate(self.room.programs.command(self.library, &args))
    }

    fn floor(&mut self, _round: usize) -> Result<f64, String> {
        self.rate(self.room.floor("deliver", "bob", &[COUNT])?)
    }
}

impl Deliveries<'_> {
    /// Each run finds the inbox empty.
    fn rate(&self, command: Command) -> Result<f64, String> {
        let said = self.room.programs.output(command)?;
        self.room.sweep("bob")?;
        said.trim().parse().map_err(|e| format!("`{}` is no rate: {e}", said.trim()))
    }
}

/// Builds the library's side, with the profile of what is shipped, and asks cargo where it is.
pub(crate) fn build(repo: &Repo, name: &str) -> Result<PathBuf, Without> {
    if !repo.root.join(format!("benches/{name}.rs")).exists() {
        return Err(Without::Wanting(format!("there is no benches/{name}.rs")));
    }
    let args = ["bench", "--quiet", "--bench", name, "--no-run", "--message-format", "json"];
    let output = repo.cargo().args(args).output().map_err(|e| format!("cannot run cargo bench: {e}"))?;
    if !output.status.success() {
        return Err(Without::Failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let found = said.lines().filter_map(|line| executable(line, name)).next_back();
    Ok(found.ok_or_else(|| "cargo bench names no program".to_owned())?)
}

/// The program that a line of cargo's JSON tells of.
fn executable(line: &str, name: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_bench = message["target"]["name"] == name;
    message["executable"].as_str().filter(|_| is_bench).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_in_what_cargo_says() {
        let line =
            r#"{"reason":"compiler-artifact","target":{"name":"deliver"},"executable":"/t/deliver-1"}"#;
        assert_eq!(executable(line, "deliver"), Some("/t/deliver-1".into()));
        assert_eq!(
            executable(r#"{"target":{"name":"postroom"},"executable":"/t/postroom"}"#, "deliver"),
            None
        );
        assert_eq!(executable(r#"{"reason":"build-finished","success":true}"#, "deliver"), None);
    }
}
