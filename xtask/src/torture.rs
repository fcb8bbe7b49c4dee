//! The torture battery, run against the release binary.
//!
//! `cargo xtask torture A1 D1` runs the named tests, `--tier N` those of a tier (with `--write` into docs/why/reliability.md as
//! well), `--soak MINUTES` the soak, `P1 --seeds A..B` the histories of these seeds, and none of them the proof: tier 0, and the tests of [`PROOF`] that are above it. The tests themselves are in `tests/torture/`; they find the binary by
//! `POSTROOM_BIN` and print one line for each test, which begins with its id or has it as the second word.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::figures;
use crate::repo::Repo;
use crate::run;

/// What stands for the promise that a message which was acknowledged survives: all of them run in `cargo xtask test`.
const PROOF: [&str; 11] = ["A1", "A3", "D1", "D3", "C1", "E1", "E2", "E4", "F1", "F2", "K1"];

/// The test target. It has no libtest harness and is built only when it is asked for.
pub(crate) const TARGET: &str = "torture";

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let selection = Selection::parse(args)?;
    let repo = Repo::open()?;
    if selection.is_empty() {
        return prove(&repo, None);
    }
    build(&repo)?;
    let mutant = selection.wants_mutant().then(|| build_mutant(&repo)).transpose()?;
    let (lines, verdict) = battery(&repo, &selection, mutant.as_deref(), None);
    if let Some(tier) = selection.tier.filter(|_| selection.write) {
        figures::write(&repo, tier, &lines)?;
    }
    verdict
}

/// Tier 0 and the proof. The tests write what they skip into the given file.
pub(crate) fn prove(repo: &Repo, skipped: Option<&Path>) -> Result<(), String> {
    build(repo)?;
    let (lines, verdict) = battery(repo, &Selection { tier: Some(0), ..Selection::default() }, None, skipped);
    let mut seen = ids(&lines);
    verdict?;
    // Side by side: each has its own rooms and disks, and none is about time.
    let rest = unseen(&seen);
    let ran: Vec<_> = std::thread::scope(|scope| {
        let alone = |id: String| Selection { ids: vec![id], ..Selection::default() };
        let start = |id| scope.spawn(move || battery(repo, &alone(id), None, skipped));
        let running: Vec<_> = rest.into_iter().map(start).collect();
        running
            .into_iter()
            .map(|one| one.join().unwrap_or((vec![], Err("its thread panicked".to_owned()))))
            .collect()
    });
    for (lines, verdict) in ran {
        verdict?;
        seen.extend(ids(&lines));
    }
    match unseen(&seen).as_slice() {
        [] => Ok(()),
        silent => Err(format!("no result line from {}, which the proof needs", silent.join(", "))),
    }
}

fn unseen(seen: &BTreeSet<String>) -> Vec<String> {
    PROOF.iter().filter(|id| !seen.contains(**id)).map(|id| (*id).to_owned()).collect()
}

pub(crate) fn build(repo: &Repo) -> Result<(), String> {
    run::run(repo.cargo().args(["build", "--release", "--locked"]))
}

/// A build that can leave out a sync or a flag, for D4. It lies apart, so that nobody takes it for the program.
fn build_mutant(repo: &Repo) -> Result<PathBuf, String> {
    let apart = repo.target.join("mutants");
    let mut cargo = repo.cargo();
    cargo
        .args(["build", "--locked", "--bin", "postroom", "--features", "mutations", "--target-dir"])
        .arg(&apart);
    run::run(&mut cargo)?;
    Ok(apart.join("debug/postroom"))
}

/// Runs the battery, and returns the lines that it printed.
fn battery(
    repo: &Repo,
    selection: &Selection,
    mutant: Option<&Path>,
    skipped: Option<&Path>,
) -> (Vec<String>, Result<(), String>) {
    if !repo.has_test(TARGET) {
        return (vec![], Err(format!("the workspace has no test target `{TARGET}`")));
    }
    let mut cargo = repo.cargo();
    // The driver itself is not measured, and need not be built as slowly as what it drives.
    cargo.args(["test", "--test", TARGET, "--locked", "--"]);
    cargo.args(selection.arguments()).env("POSTROOM_BIN", repo.binary("release", "postroom"));
    if let Some(path) = mutant {
        cargo.env("POSTROOM_MUTANT_BIN", path);
    }
    if let Some(path) = skipped {
        cargo.env("POSTROOM_SKIPPED", path);
    }
    run::teed(&mut cargo)
}

/// The ids that there is a result for.
fn ids(lines: &[String]) -> BTreeSet<String> {
    lines.iter().filter_map(|line| reported(line)).collect()
}

/// The id a result line is about.
fn reported(line: &str) -> Option<String> {
    let words = line.split_whitespace().take(2).map(|word| word.trim_end_matches([':', ',']));
    words.into_iter().find(|word| is_id(word)).map(str::to_owned)
}

/// An id is a letter of the battery and a number: `A1`.
fn is_id(word: &str) -> bool {
    let mut characters = word.chars();
    characters.next().is_some_and(|letter| letter.is_ascii_uppercase())
        && !characters.as_str().is_empty()
        && characters.all(|digit| digit.is_ascii_digit())
}

/// Two numbers with two dots between them: `0..300`.
fn is_range(word: &str) -> bool {
    word.split_once("..").is_some_and(|(from, to)| from.parse::<u64>().is_ok() && to.parse::<u64>().is_ok())
}

/// Which tests of the battery to run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Selection {
    ids: Vec<String>,
    tier: Option<u8>,
    /// How many minutes the soak lasts, as it was written.
    soak: Option<String>,
    /// Which histories P1 plays, as it was written.
    seeds: Option<String>,
    /// What passes goes into docs/why/reliability.md.
    write: bool,
}

impl Selection {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut selection = Self::default();
        let mut args = args.iter();
        while let Some(argument) = args.next() {
            let id = argument.to_ascii_uppercase();
            if argument == "--tier" {
                let tier = args.next().and_then(|tier| tier.parse().ok()).filter(|tier| *tier <= 2);
                selection.tier = Some(tier.ok_or("--tier takes 0, 1 or 2")?);
            } else if argument == "--soak" {
                let minutes = args.next().filter(|minutes| minutes.parse::<f64>().is_ok_and(|m| m > 0.0));
                selection.soak = Some(minutes.ok_or("--soak takes a number of minutes")?.clone());
            } else if argument == "--seeds" {
                let seeds = args.next().filter(|seeds| is_range(seeds));
                selection.seeds = Some(seeds.ok_or("--seeds takes two numbers, such as 0..300")?.clone());
            } else if argument == "--write" {
                selection.write = true;
            } else if is_id(&id) {
                selection.ids.push(id);
            } else {
                return Err(format!(
                    "`{argument}` is neither the id of a test, such as A1, nor --tier, --soak, --seeds or --write"
                ));
            }
        }
        if selection.write && selection.tier.is_none() {
            return Err("--write needs --tier: the page tells the figures of each apart".to_owned());
        }
        if selection.seeds.is_some() && !selection.ids.iter().any(|id| id == "P1") {
            return Err("--seeds is for P1: name it too".to_owned());
        }
        Ok(selection)
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn wants_mutant(&self) -> bool {
        self.ids.iter().any(|id| id == "D4") || (self.ids.is_empty() && self.tier == Some(2))
    }

    fn arguments(&self) -> Vec<String> {
        let mut arguments = self.ids.clone();
        if let Some(tier) = self.tier {
            arguments.extend(["--tier".to_owned(), tier.to_string()]);
        }
        if let Some(minutes) = &self.soak {
            arguments.extend(["--soak".to_owned(), minutes.clone()]);
        }
        if let Some(seeds) = &self.seeds {
            arguments.extend(["--seeds".to_owned(), seeds.clone()]);
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Selection, String> {
        Selection::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn ids_and_tier_are_passed_on() {
        assert_eq!(parse("a1 D3 --tier 1").unwrap().arguments(), ["A1", "D3", "--tier", "1"]);
        assert!(parse("").unwrap().is_empty());
        assert!(!parse("--tier 0").unwrap().is_empty());
        assert_eq!(parse("--soak 2.5").unwrap().arguments(), ["--soak", "2.5"]);
        assert_eq!(parse("P1 --seeds 7..9").unwrap().arguments(), ["P1", "--seeds", "7..9"]);
    }

    #[test]
    fn the_mutants_are_built_only_for_their_test() {
        assert!(parse("d4").unwrap().wants_mutant() && parse("--tier 2").unwrap().wants_mutant());
        assert!(!parse("--tier 1").unwrap().wants_mutant() && !parse("A1 --tier 2").unwrap().wants_mutant());
    }

    #[test]
    fn anything_else_is_refused() {
        for line in [
            "--write",
            "--write A1",
            "--tier",
            "--tier 3",
            "--tier x",
            "A",
            "1A",
            "--seed",
            "A1x",
            "--soak",
            "--soak x",
            "--soak -1",
            "P1 --seeds",
            "P1 --seeds 7",
            "P1 --seeds a..b",
            "--seeds 0..9",
            "A1 --seeds 0..9",
        ] {
            assert!(parse(line).is_err(), "{line} was accepted");
        }
    }

    #[test]
    fn a_result_line_begins_with_the_id_or_has_it_second() {
        assert_eq!(reported("A1  passed  212 points").as_deref(), Some("A1"));
        assert_eq!(reported("skipped: D1: no loop device").as_deref(), Some("D1"));
        assert_eq!(reported("ok K1").as_deref(), Some("K1"));
        assert_eq!(reported("running the tests of A1"), None);
        assert_eq!(reported(""), None);
    }

    #[test]
    fn the_proof_asks_for_what_tier_0_did_not_report() {
        let seen = ["C1", "D3", "E1", "E2", "E4", "F1", "F2", "K1"].map(str::to_owned).into();
        assert_eq!(unseen(&seen), ["A1", "A3", "D1"]);
        assert_eq!(unseen(&BTreeSet::new()).len(), PROOF.len());
        assert!(PROOF.iter().all(|id| is_id(id)));
    }
}
