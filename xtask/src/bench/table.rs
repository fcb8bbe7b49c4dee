//! The table of a run: one row for each figure that has a limit, as text for a terminal and as Markdown for the page.
//!
//! A figure without a limit is there for comparison. A row that could not be measured for want of something on this
//! machine says what is wanting and counts as not missed; one that failed counts as missed.

use std::fmt;

use super::pair::Pair;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    what: String,
    measured: String,
    floor: String,
    ratio: String,
    limit: String,
    verdict: Verdict,
}

#[derive(Clone, Debug, PartialEq)]
enum Verdict {
    Held,
    Missed,
    NoLimit,
    Without(Without),
}

/// Why a row has no figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Without {
    /// This machine lacks something that the measurement needs.
    Wanting(String),
    Failed(String),
}

impl From<String> for Without {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// What a figure must be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    AtMost(f64),
    AtLeast(f64),
    None,
}

impl Limit {
    fn judge(self, value: f64) -> Verdict {
        match self {
            Self::AtMost(limit) if value > limit => Verdict::Missed,
            Self::AtLeast(limit) if value < limit => Verdict::Missed,
            Self::None => Verdict::NoLimit,
            Self::AtMost(_) | Self::AtLeast(_) => Verdict::Held,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(limit) => write!(f, "≤ {limit}"),
            Self::AtLeast(limit) => write!(f, "≥ {limit}"),
            Self::None => f.write_str("–"),
        }
    }
}

impl Row {
    /// Two medians and their ratio, with its spread.
    pub(crate) fn ratio(what: impl Into<String>, pair: &Pair, limit: Limit) -> Self {
        let [low, ratio, high] = pair.ratio();
        Self {
            ratio: format!("{ratio:.2} ({low:.2}–{high:.2})"),
            verdict: limit.judge(ratio),
            ..Self::ratio_at(what, pair, 0.5, limit)
        }
    }

    /// Another quantile of both series, too rare to be compared block by block.
    pub(crate) fn ratio_at(what: impl Into<String>, pair: &Pair, quantile: f64, limit: Limit) -> Self {
        let ratio = pair.ratio_at(quantile);
        Self {
            what: what.into(),
            measured: pair.unit.show(pair.measured(quantile)),
            floor: pair.unit.show(pair.floor(quantile)),
            ratio: format!("{ratio:.2}"),
            limit: limit.to_string(),
            verdict: limit.judge(ratio),
        }
    }

    /// A figure that was counted.
    pub(crate) fn count(what: impl Into<String>, value: f64, unit: &str, limit: Limit) -> Self {
        let [measured, limit_text] = [format!("{value}{unit}"), format!("{limit}{unit}")];
        Self {
            what: what.into(),
            measured,
            floor: "–".to_owned(),
            ratio: "–".to_owned(),
            limit: limit_text,
            verdict: limit.judge(value),
        }
    }

    pub(crate) fn without(what: impl Into<String>, why: Without) -> Self {
        let none = || "–".to_owned();
        let verdict = Verdict::Without(why);
        Self { what: what.into(), measured: none(), floor: none(), ratio: none(), limit: none(), verdict }
    }

    fn cells(&self) -> [&str; 6] {
        [&self.what, &self.measured, &self.floor, &self.ratio, &self.limit, self.verdict.word()]
    }

    fn reason(&self) -> Option<&str> {
        match &self.verdict {
            Verdict::Without(Without::Wanting(why) | Without::Failed(why)) => Some(why),
            Verdict::Held | Verdict::Missed | Verdict::NoLimit => None,
        }
    }
}

impl Verdict {
    fn word(&self) -> &'static str {
        match self {
            Self::Held => "ok",
            Self::Missed => "MISSED",
            Self::NoLimit => "–",
            Self::Without(Without::Wanting(_)) => "not run",
            Self::Without(Without::Failed(_)) => "FAILED",
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.verdict.word();
        match self.reason() {
            Some(why) => write!(f, "{}: {word}: {why}", self.what),
            None => write!(f, "{}: {} / {} = {}, {word}", self.what, self.measured, self.floor, self.ratio),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
}

const HEAD: [&str; 6] = ["what", "measured", "floor", "ratio", "limit", "ok"];

impl Table {
    pub(crate) fn missed(&self) -> usize {
        self.rows
            .iter()
            .filter(|row| matches!(row.verdict, Verdict::Missed | Verdict::Without(Without::Failed(_))))
            .count()
    }

    /// The reasons of the rows without a figure, one line each.
    fn reasons(&self) -> impl Iterator<Item = String> {
        self.rows
            .iter()
            .filter_map(|row| row.reason().map(|why| format!("{}: {}: {why}", row.verdict.word(), row.what)))
    }

    /// The table as Markdown, aligned so that it also reads well as text.
    pub(crate) fn markdown(&self) -> String {
        let lines: Vec<[&str; 6]> = std::iter::once(HEAD).chain(self.rows.iter().map(Row::cells)).collect();
        let widths: [usize; 6] = std::array::from_fn(|column| {
            lines.iter().map(|cells| cells[column].chars().count()).max().unwrap_or(0)
        });
        let mut text = String::new();
        for (number, cells) in lines.iter().enumerate() {
            let padded: Vec<String> =
                cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            text.push_str(&format!("| {} |\n", padded.join(" | ")));
            if number == 0 {
                text.push_str(&format!("|{}|\n", widths.map(|width| "-".repeat(width + 2)).join("|")));
            }
        }
        let reasons: Vec<String> = self.reasons().map(|reason| format!("- {reason}\n")).collect();
        if !reasons.is_empty() {
            text.push_str(&format!("\n{}", reasons.concat()));
        }
        text
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.markdown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::pair::Unit;

    fn pair(measured: f64, floor: f64) -> Pair {
        Pair { unit: Unit::Microseconds, rounds: vec![(measured, floor); 20] }
    }

    #[test]
    fn a_limit_is_held_when_it_is_met_exactly() {
        let row = |measured, limit| Row::ratio("send", &pair(measured, 100.0), limit).verdict;
        assert_eq!(row(135.0, Limit::AtMost(1.35)), Verdict::Held);
        assert_eq!(row(135.1, Limit::AtMost(1.35)), Verdict::Missed);
        assert_eq!(row(85.0, Limit::AtLeast(0.85)), Verdict::Held);
        assert_eq!(row(84.0, Limit::AtLeast(0.85)), Verdict::Missed);
        assert_eq!(row(900.0, Limit::None), Verdict::NoLimit);
    }

    #[test]
    fn what_could_not_run_is_told_and_is_no_miss_but_a_failure_is_one() {
        let rows = vec![
            Row::without("wait", Without::Wanting("no strace".to_owned())),
            Row::without("send", "exit code 3".to_owned().into()),
        ];
        let table = Table { rows };
        assert_eq!(table.missed(), 1);
        assert!(table.markdown().ends_with("\n- not run: wait: no strace\n- FAILED: send: exit code 3\n"));
    }

    #[test]
    fn columns_are_aligned() {
        let rows = vec![
            Row::ratio("send, ≤ 2 KiB", &pair(120.0, 100.0), Limit::AtMost(1.35)),
            Row::count("n", 3.0, "", Limit::None),
        ];
        let text = Table { rows }.markdown();
        let widths: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
        assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
    }
}
