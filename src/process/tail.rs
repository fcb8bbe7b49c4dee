//! The end of an output, for people: its last lines, each from its beginning.
//!
//! Text is kept as it was printed, a stream of events as its transcript shows it: texts, calls, and what failed. Empty
//! lines are left out and long ones are cut. Memory is bounded.

use std::collections::VecDeque;

use super::transcript::{CallOutcome, Event, shown_call};

/// How much of all lines, and of one, is kept.
const ALL: usize = 4 * 1024;
const LINE: usize = 1000;

/// How many lines of what a tool or the program complained about are kept.
const REASON: usize = 3;

/// The end of an output.
#[derive(Debug, Clone, Default)]
pub(super) struct Tail {
    lines: VecDeque<String>,
    /// The bytes in `lines`, and one more for each.
    size: usize,
    /// The beginning of the line that has not ended.
    open: Vec<u8>,
}

impl Tail {
    /// Takes the next bytes of text. A carriage return ends a line too: what follows it is printed over that line.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let ends = piece.ends_with(b"\n") || piece.ends_with(b"\r");
            let text = if ends { &piece[..piece.len() - 1] } else { piece };
            // One byte more tells that it is to be cut.
            let room = (LINE + 1).saturating_sub(self.open.len());
            self.open.extend_from_slice(&text[..text.len().min(room)]);
            if ends {
                self.end_line();
            }
        }
    }

    /// Takes an event.
    pub(super) fn see(&mut self, event: &Event) {
        match event {
            Event::Said { text } => self.take_lines("", text, usize::MAX),
            Event::Called { tool, input, .. } => self.take_lines("→ ", &shown_call(tool, input), 1),
            Event::Returned { outcome: CallOutcome::Failed, output, .. } => {
                self.take_lines("  failed: ", output, REASON);
            }
            Event::Returned { outcome: CallOutcome::Denied, output, .. } => {
                self.take_lines("  denied: ", output, REASON);
            }
            Event::Remarked { text } => self.take_lines("warning: ", text, REASON),
            Event::Ended { is_ok: false, text } => {
                let why = text.as_deref().unwrap_or("no reason is given");
                self.take_lines("ended with an error: ", why, REASON);
            }
            // The last words at the end were said before.
            Event::Began { .. }
            | Event::Thought { .. }
            | Event::Returned { outcome: CallOutcome::Done, .. }
            | Event::Ended { is_ok: true, .. } => {}
        }
    }

    /// Takes the first lines of a text, after a word.
    fn take_lines(&mut self, word: &str, text: &str, most: usize) {
        let text = text.trim();
        for (at, line) in text.lines().take(most).enumerate() {
            self.take(if at == 0 { word.as_bytes() } else { b"" });
            self.take(line.as_bytes());
            self.take(b"\n");
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.open);
        let Some(line) = shown(&line) else { return };
        self.size += line.len() + 1;
        self.lines.push_back(line);
        while self.size > ALL {
            self.size -= self.lines.pop_front().map_or(0, |line| line.len() + 1);
        }
    }

    /// The lines.
    pub(super) fn text(&self) -> String {
        let lines = self.lines.iter().cloned().chain(shown(&self.open));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// A line as it is shown; `None` if it is empty.
fn shown(line: &[u8]) -> Option<String> {
    let is_cut = line.len() > LINE;
    let text = String::from_utf8_lossy(&line[..line.len().min(LINE)]);
    let text = if is_cut { text.trim_end_matches('\u{FFFD}') } else { text.trim_end() };
    let end = if is_cut { "…" } else { "" };
    (!text.trim().is_empty()).then(|| format!("{text}{end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(text: &str) -> String {
        let mut tail = Tail::default();
        // In pieces that cut lines anywhere.
        text.as_bytes().chunks(7).for_each(|piece| tail.take(piece));
        tail.text()
    }

    #[test]
    fn lines_are_kept_from_their_beginning() {
        assert_eq!(tail("one\r\n\n  \n two\nthree"), "one\n two\nthree");
        assert_eq!(tail("10%\r100%\rno disk"), "10%\n100%\nno disk");
        let many: String = (0..5000).map(|n| format!("line {n}\n")).collect();
        let end = tail(&many);
        assert!(end.starts_with("line ") && end.ends_with("line 4999") && end.len() <= ALL, "{end}");
        let long = tail(&format!("{}\nthe end", "é".repeat(ALL)));
        assert!(long.starts_with('é') && long.ends_with("é…\nthe end") && long.len() < LINE + 20, "{long}");
    }
}
