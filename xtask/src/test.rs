//! All that continuous integration runs, in the order in which a mistake is found soonest.
//!
//! The first failure ends the run, but the summary always comes: each step, what could not be installed, each test that
//! was skipped with its reason, and as the last line the number of steps that passed and failed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::repo::Repo;
use crate::report::{Outcome, Report};
use crate::run::run as execute;
use crate::{portable, tidy, tools, torture};

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let portable = match args {
        [] => false,
        [word] if word == "--portable" => true,
        [.., argument] => {
            return Err(format!(
                "`cargo xtask test` runs everything and takes no argument such as `{argument}`"
            ));
        }
    };
    let repo = Repo::open()?;
    let skipped = repo.skipped_file();
    forget(&skipped)?;

    let mut report = Report::default();
    report.step("tools", "what the tests need", |report| tools::install(&repo, report));
    if portable {
        report.step("tests", "the suite on the portable layer", |_| portable::test(&repo, &skipped).into());
        report.step("torture", "tier 0 on the portable layer", |_| portable::torture(&repo, &skipped).into());
        return end(report, &skipped);
    }
    report.step("fmt", "the layout of the code", |_| fmt(&repo));
    report.step("clippy", "lints, and the boundaries of clippy.toml", |_| clippy(&repo));
    report.step("build", "the release binary", |_| torture::build(&repo).into());
    report.step("tests", "unit and integration tests", |_| tests(&repo, &skipped).into());
    report.step("doctests", "the examples in the documentation", |_| doctests(&repo, &skipped).into());
    report.step("deny", "licences, bans, sources; not advisories, which need a network", |_| deny(&repo));
    report.step("tidy", "what no lint checks", |_| tidy::check(&repo.root).into());
    report.step("torture", "tier 0 and the proof", |_| torture::prove(&repo, Some(&skipped)).into());
    end(report, &skipped)
}

fn end(mut report: Report, skipped: &Path) -> Result<(), String> {
    report.skipped_tests = recorded(skipped);
    print!("{report}");
    if report.failed() { Err(String::new()) } else { Ok(()) }
}

fn fmt(repo: &Repo) -> Outcome {
    if !tools::has_fmt(repo) {
        return Outcome::Skipped("rustfmt is not installed".to_owned());
    }
    execute(repo.cargo().args(["fmt", "--all", "--check"])).into()
}

fn clippy(repo: &Repo) -> Outcome {
    if !tools::has_clippy(repo) {
        return Outcome::Skipped("clippy is not installed".to_owned());
    }
    let deny_warnings = ["--locked", "--", "-D", "warnings"];
    let mut verdict =
        execute(repo.cargo().args(["clippy", "--workspace", "--all-targets"]).args(deny_warnings));
    // A target with `test = false` is not among all targets.
    if verdict.is_ok() && repo.has_test(torture::TARGET) {
        verdict = execute(repo.cargo().args(["clippy", "--test", torture::TARGET]).args(deny_warnings));
    }
    // What is a feature can be left out, and other Unixes have another layer below.
    for features in [["--no-default-features"].as_slice(), &["--features", "portable"]] {
        if verdict.is_ok() {
            verdict = execute(repo.cargo().arg("clippy").args(features).args(deny_warnings));
        }
    }
    verdict.into()
}

fn tests(repo: &Repo, skipped: &Path) -> Result<(), String> {
    let mut cargo = repo.cargo();
    if tools::has_nextest(repo) {
        cargo.args(["nextest", "run", "--workspace", "--locked"]);
    } else {
        cargo.args(["test", "--workspace", "--lib", "--bins", "--examples", "--tests", "--locked"]);
    }
    execute(cargo.env("POSTROOM_SKIPPED", skipped))
}

fn doctests(repo: &Repo, skipped: &Path) -> Result<(), String> {
    execute(repo.cargo().args(["test", "--doc", "--locked"]).env("POSTROOM_SKIPPED", skipped))
}

fn deny(repo: &Repo) -> Outcome {
    if !tools::has_deny(repo) {
        return Outcome::Skipped("cargo-deny is not installed".to_owned());
    }
    let check = ["deny", "--workspace", "--offline", "check", "licenses", "bans", "sources"];
    execute(repo.cargo().args(check)).into()
}

/// Removes what an earlier run recorded, and makes the directory that tests append in.
fn forget(path: &Path) -> Result<(), String> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)
            .map_err(|source| format!("cannot make {}: {source}", directory.display()))?;
    }
    fs::write(path, "").map_err(|source| format!("cannot write {}: {source}", path.display()))
}

/// Each recorded line once, in order: a test that runs twice skips twice.
fn recorded(path: &Path) -> Vec<String> {
    let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: BTreeSet<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_skips_are_printed_once_and_forgotten_by_the_next_run() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("target").join("skipped.txt");
        forget(&path).unwrap();
        assert!(recorded(&path).is_empty());
        fs::write(
            &path,
            "skipped: D1: no loop device\nskipped: A1: no strace\n\nskipped: D1: no loop device\n",
        )
        .unwrap();
        assert_eq!(recorded(&path), ["skipped: A1: no strace", "skipped: D1: no loop device"]);
        forget(&path).unwrap();
        assert!(recorded(&path).is_empty());
    }

    #[test]
    fn an_argument_is_refused_before_anything_runs() {
        assert!(run(&["--quick".to_owned()]).unwrap_err().contains("--quick"));
        let two = ["--portable", "--quick"].map(str::to_owned);
        assert!(run(&two).is_err());
    }
}
