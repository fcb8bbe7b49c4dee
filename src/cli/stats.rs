//! `postroom stats`.

use std::time::Duration;

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::output::{BOLD, GREEN, Output, PLAIN, TITLE};
use super::table::{Cell, left_beside};
use crate::message::visible;
use crate::post::{Figures, Post, STEPS, quantile};
use crate::span;
use crate::view;

/// Show how much mail there was and how long it took
///
/// Computed from the journal. Waiting is from queued to shown or claimed, work from claimed to done.
#[derive(Debug, Args)]
pub(super) struct Stats {
    /// Time window (12h, 7d)
    #[arg(long, value_name = "SPAN", default_value = "24h", value_parser = span::parse)]
    since: Duration,
}

impl Verb for Stats {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let post = context.post()?;
        post.names_are_known()?;
        let figures = post.stats(self.since)?;
        let document = view::rooms::Stats::of(post, self.since, &figures);
        match context.output.terminal && !figures.is_empty() {
            true => table(&mut context.output, post, &figures),
            false => context.output.list(&document, &figures, |output, f| output.line(&line(post, f))),
        }
        match figures.is_empty() {
            true => Err(context.nothing(&format!("nothing happened in {}", span::short(self.since)))),
            false => Ok(()),
        }
    }
}

/// `NAME in=N out=N read=N failed=N waited=MEDIAN/90% worked=MEDIAN/90%`
fn line(post: &Post, f: &Figures) -> String {
    let (received, sent, finished, failed) = (f.received, f.sent, f.finished, f.failed);
    format!(
        "{} in={received} out={sent} read={finished} failed={failed} waited={} worked={}",
        visible::line(post.name_of(&f.mailbox)),
        pair(&f.waiting),
        pair(&f.processing),
    )
}

/// The figures for people. What happened when is drawn in the columns that are left.
fn table(output: &mut Output, post: &Post, figures: &[Figures]) {
    let titles = ["name", "in", "out", "read", "failed", "wait 50/90%", "work 50/90%"];
    let mut rows: Vec<Vec<Cell>> = vec![titles.map(|title| (TITLE, title.to_owned())).to_vec()];
    for f in figures {
        let name = visible::clip(post.name_of(&f.mailbox), (output.width() / 5).max(8));
        let counts = [f.received, f.sent, f.finished, f.failed].map(|count| (PLAIN, count.to_string()));
        let times = [&f.waiting, &f.processing].map(|times| (PLAIN, pair(times)));
        rows.push([(BOLD, name)].into_iter().chain(counts).chain(times).collect());
    }
    let left = left_beside(&rows, output.width()).min(STEPS);
    if left >= "arrivals".len() {
        rows[0].push((TITLE, "arrivals".to_owned()));
        for (row, f) in rows[1..].iter_mut().zip(figures) {
            row.push((GREEN, sparkline(&f.arrivals(), left)));
        }
    }
    rows.iter().for_each(|row| output.row(row));
}

/// The median and the 90th percentile.
fn pair(sorted: &[Duration]) -> String {
    let at = |share| quantile(sorted, share).map_or("-".to_owned(), span::measured);
    format!("{}/{}", at(0.5), at(0.9))
}

/// One bar for each value, or for as many neighbours as it takes to fit into `width` columns.
fn sparkline(values: &[usize], width: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let width = width.clamp(1, values.len().max(1));
    let at = |bar: usize| bar * values.len() / width;
    let sums: Vec<usize> = (0..width).map(|bar| values[at(bar)..at(bar + 1)].iter().sum()).collect();
    let most = sums.iter().copied().max().unwrap_or(0);
    let bar = |value: usize| if value == 0 { ' ' } else { BARS[(value * 7).div_ceil(most.max(1)).min(7)] };
    sums.into_iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_shrinks_to_its_width() {
        let values = [0, 1, 0, 2, 0, 0, 8, 0];
        assert_eq!(sparkline(&values, 8), " ▂ ▃  █ ");
        assert_eq!(sparkline(&values, 20), " ▂ ▃  █ ");
        assert_eq!(sparkline(&values, 4), "▂▃ █");
        assert_eq!(sparkline(&values, 3), "▂▃█");
    }
}
