//! A drawing: lines on a terminal that are drawn over their last state.

use std::io::{self, Write};

/// The lines that are on the terminal now.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    last: Vec<String>,
    drawn: usize,
}

impl Drawing {
    /// Takes the lines away, before anything else is written.
    pub(super) fn clear(&mut self) {
        if self.drawn > 0 {
            let _ = write!(io::stdout(), "\x1b[{}A\x1b[J", self.drawn);
            self.drawn = 0;
        }
    }

    /// Draws lines over the last ones. Lines beyond the height of the terminal cannot be drawn over, and a line that is
    /// wider counts as several, so the caller sees to it that all fit.
    pub(super) fn draw(&mut self, lines: Vec<String>) {
        if self.drawn == lines.len() && self.last == lines {
            return;
        }
        self.clear();
        self.drawn = lines.len();
        let _ = writeln!(io::stdout(), "{}", lines.join("\n"));
        let _ = io::stdout().flush();
        self.last = lines;
    }
}
