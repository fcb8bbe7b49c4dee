//! The progress line: what runs, for how long, and its current activity; on a terminal, one line that is overwritten.

use std::io::{self, IsTerminal, Write};

use super::output::can_redraw;
use crate::dispatch::dispatcher::AtWork;
use crate::message::visible;

/// The line at the foot of the terminal.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) wanted: bool,
    shown: bool,
}

impl Progress {
    /// Only on a terminal that can overwrite a line.
    pub(super) fn new(wanted: bool) -> Self {
        Self { wanted: wanted && io::stderr().is_terminal() && can_redraw(), shown: false }
    }

    /// Shows runs of a second or more.
    pub(super) fn show(&mut self, runs: &[AtWork], width: usize) {
        let slow: Vec<String> = runs
            .iter()
            .filter(|run| run.elapsed.as_secs() >= 1)
            .map(|AtWork { agent, elapsed, activity }| {
                let doing = if activity.is_empty() { String::new() } else { format!(" {activity}") };
                format!("{agent} {}s{}", elapsed.as_secs(), visible::clip(&doing, 60))
            })
            .collect();
        if !self.wanted || slow.is_empty() {
            return;
        }
        let line = format!("{} running: {}", runs.len(), slow.join(" · "));
        let _ = write!(io::stderr(), "\r\x1b[K{}", visible::clip(&line, width.saturating_sub(1)));
        self.shown = true;
    }

    /// Removes the line, before anything else is written.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
