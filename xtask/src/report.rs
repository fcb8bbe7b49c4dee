//! What became of the steps of a run, and how the run ends: what is missing, what was skipped and why, one line of counts.
//!
//! Nothing is silent: a step that did not run is listed with its reason, and so is each test that skipped itself.

use std::fmt;
use std::time::{Duration, Instant};

/// How one step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

impl From<Result<(), String>> for Outcome {
    fn from(result: Result<(), String>) -> Self {
        match result {
            Ok(()) => Self::Passed,
            Err(why) => Self::Failed(why),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Report {
    steps: Vec<(String, Outcome, Duration)>,
    /// What could not be installed, each with the words that say how to install it.
    pub(crate) missing: Vec<String>,
    /// `skipped: TEST: REASON`, as the tests wrote it.
    pub(crate) skipped_tests: Vec<String>,
}

impl Report {
    /// Runs one step under a headline. After a failure no further step runs, and each says so.
    pub(crate) fn step(&mut self, name: &str, about: &str, step: impl FnOnce(&mut Self) -> Outcome) {
        if self.failed() {
            self.add(name, Outcome::Skipped("an earlier step failed".to_owned()), Duration::ZERO);
            return;
        }
        println!("==> {name}: {about}");
        let start = Instant::now();
        let outcome = step(self);
        let took = start.elapsed();
        match &outcome {
            Outcome::Passed => println!("    {name} passed in {}", Seconds(took)),
            Outcome::Failed(why) => println!("    {name} failed after {}: {why}", Seconds(took)),
            Outcome::Skipped(why) => println!("    {name} skipped: {why}"),
        }
        self.add(name, outcome, took);
    }

    fn add(&mut self, name: &str, outcome: Outcome, took: Duration) {
        self.steps.push((name.to_owned(), outcome, took));
    }

    pub(crate) fn failed(&self) -> bool {
        self.steps.iter().any(|(_, outcome, _)| matches!(outcome, Outcome::Failed(_)))
    }
}

/// The closing summary. Its last line is `N passed, N failed`, with `, N skipped` if a step was skipped.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [mut passed, mut failed, mut skipped] = [0, 0, 0];
        writeln!(f, "==> summary")?;
        for (name, outcome, took) in &self.steps {
            let took = Seconds(*took);
            match outcome {
                Outcome::Passed => {
                    passed += 1;
                    writeln!(f, "    passed   {name:<8} {took:>8}")?;
                }
                Outcome::Failed(why) => {
                    failed += 1;
                    writeln!(f, "    failed   {name:<8} {took:>8}  {why}")?;
                }
                Outcome::Skipped(why) => {
                    skipped += 1;
                    writeln!(f, "    skipped  {name:<8} {:>8}  {why}", "")?;
                }
            }
        }
        for line in &self.missing {
            writeln!(f, "to install: {line}")?;
        }
        for line in &self.skipped_tests {
            writeln!(f, "{line}")?;
        }
        write!(f, "{passed} passed, {failed} failed")?;
        if skipped > 0 {
            write!(f, ", {skipped} skipped")?;
        }
        writeln!(f)
    }
}

/// A duration as people compare it: seconds with one decimal.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.1} s", self.0.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_line(report: &Report) -> String {
        let text = report.to_string();
        assert!(text.ends_with('\n'));
        text.lines().next_back().unwrap_or_default().to_owned()
    }

    #[test]
    fn the_last_line_counts_steps_and_names_skips_only_if_there_are_any() {
        let mut report = Report::default();
        report.step("one", "", |_| Outcome::Passed);
        report.step("two", "", |_| Outcome::Passed);
        assert_eq!(last_line(&report), "2 passed, 0 failed");
        report.step("three", "", |_| Outcome::Skipped("no such program".to_owned()));
        assert_eq!(last_line(&report), "2 passed, 0 failed, 1 skipped");
        assert!(report.to_string().contains("no such program"));
        assert!(!report.failed());
    }

    #[test]
    fn after_a_failure_no_step_runs_and_each_is_listed() {
        let mut report = Report::default();
        report.step("one", "", |_| Outcome::Failed("broken".to_owned()));
        report.step("two", "", |_| unreachable!("a step ran after a failure"));
        assert!(report.failed());
        assert!(report.to_string().contains("broken"));
        assert!(report.to_string().contains("an earlier step failed"));
        assert_eq!(last_line(&report), "0 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn what_is_missing_and_what_tests_skipped_is_printed_before_the_counts() {
        let report = Report {
            missing: vec!["strace: the Debian package strace".to_owned()],
            skipped_tests: vec!["skipped: D1: no loop device".to_owned()],
            ..Report::default()
        };
        let text = report.to_string();
        assert!(text.contains("to install: strace: the Debian package strace\n"));
        assert!(text.contains("\nskipped: D1: no loop device\n"));
        assert_eq!(last_line(&report), "0 passed, 0 failed");
    }
}
