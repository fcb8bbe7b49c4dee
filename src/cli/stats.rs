//! `postroom stats`.

use std::time::Duration;

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::output::{BOLD, CYAN, DIM, PLAIN};
use crate::message::visible;
use crate::post::{STEPS, quantile};
use crate::span;
use crate::view;

/// Show how much mail there was, how long it waited and how long it was worked on
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
        let titles = ["name", "in", "out", "read", "failed", "waited 50% 90%", "worked 50% 90%", "arrivals"];
        let widths = [12, 5, 5, 5, 6, 14, 14, STEPS];
        if context.output.terminal && !figures.is_empty() {
            let cells: Vec<_> = titles.iter().zip(widths).map(|(t, w)| (DIM, visible::pad(t, w))).collect();
            context.output.row(&cells);
        }
        let document = view::rooms::Stats::of(post, self.since, &figures);
        context.output.list(&document, &figures, |output, f| {
            let name = post.name_of(&f.mailbox);
            let (waited, worked) = (pair(&f.waiting), pair(&f.processing));
            let cells = [
                (BOLD, visible::pad(name, 12)),
                (PLAIN, format!("{:<5}", f.received)),
                (PLAIN, format!("{:<5}", f.sent)),
                (PLAIN, format!("{:<5}", f.finished)),
                (PLAIN, format!("{:<6}", f.failed)),
                (PLAIN, visible::pad(&waited, 14)),
                (PLAIN, visible::pad(&worked, 14)),
                (CYAN, sparkline(&f.arrivals)),
            ];
            let (received, sent, finished, failed) = (f.received, f.sent, f.finished, f.failed);
            let line = format!(
                "{} in={received} out={sent} read={finished} failed={failed} waited={} worked={}",
                visible::line(name),
                waited.replace(' ', "/"),
                worked.replace(' ', "/"),
            );
            output.entry(&cells, &line);
        });
        match figures.is_empty() {
            true => Err(context.nothing(&format!("nothing happened in {}", span::short(self.since)))),
            false => Ok(()),
        }
    }
}

/// The median and the 90th percentile.
fn pair(sorted: &[Duration]) -> String {
    let at = |share| quantile(sorted, share).map_or("-".to_owned(), span::measured);
    format!("{} {}", at(0.5), at(0.9))
}

fn sparkline(values: &[usize]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().max().unwrap_or(0);
    let bar = |value: usize| if value == 0 { ' ' } else { BARS[(value * 7).div_ceil(most.max(1)).min(7)] };
    values.iter().map(|v| bar(*v)).collect()
}
