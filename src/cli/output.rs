//! Output: where a verb's text goes. Collected and written in one piece, so that an error of the output is an
//! error of the command and never a panic. Colour and alignment are for terminals: there rows that follow each other are
//! one table, and lines are broken between words. Without a terminal, text is plain and short.

use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};

use super::fail::Fail;
use super::fold::{fold, fold_lines};
use super::surroundings::ThisProcess;
use super::table::{Cell, fitted};
use crate::hint::Hint;
use crate::message::visible;
use crate::surroundings::Environment;
use crate::view::answer::Text;
use crate::view::{Document, Versioned};

/// Standard output, with what is known of it.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) json: bool,
    pub(super) quiet: bool,
    pub(super) terminal: bool,
    colour: bool,
    buffer: String,
    /// The rows of a table whose end was not seen yet.
    rows: Vec<Vec<Cell>>,
}

// Every style can be read on a light and on a dark ground: nothing is dimmed, yellow, blue, black or white.
pub(super) const PLAIN: Style = Style::new();
pub(super) const BOLD: Style = Style::new().bold();
pub(super) const TITLE: Style = Style::new().underline();
pub(super) const GREEN: Style = AnsiColor::Green.on_default();
pub(super) const MAGENTA: Style = AnsiColor::Magenta.on_default();
pub(super) const RED: Style = AnsiColor::Red.on_default();
// What `names` calls two of them.
pub(super) const DIM: Style = PLAIN;
pub(super) const YELLOW: Style = MAGENTA;
/// An id to type: never cut.
pub(super) const CYAN: Style = AnsiColor::Cyan.on_default();
/// A name to type: never cut.
pub(super) const NAME: Style = CYAN.bold();

impl Output {
    pub(super) fn new(json: bool, quiet: bool) -> Self {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        // NO_COLOR, CLICOLOR_FORCE, TERM=dumb: one crate knows them all, but only a terminal needs to ask.
        let colour =
            !json && terminal && anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
        Self { json, quiet, terminal: terminal && !json, colour, buffer: String::new(), rows: vec![] }
    }

    pub(super) fn text(&mut self, text: &str) {
        self.end_table();
        self.buffer.push_str(text);
    }

    /// Lines of our own, which a terminal does not break within words.
    pub(super) fn folded(&self, text: String) -> String {
        if self.terminal { fold_lines(&text, self.width()) } else { text }
    }

    pub(super) fn line(&mut self, line: &str) {
        self.end_table();
        match self.terminal {
            true => self.buffer.push_str(&fold_lines(line, self.width())),
            false => self.buffer.push_str(line),
        }
        self.buffer.push('\n');
    }

    /// A line that only people want: left out without a terminal and with `--quiet`.
    pub(super) fn remark(&mut self, line: &str) {
        if self.terminal && !self.quiet {
            self.line(line);
        }
    }

    /// One document on one line.
    pub(super) fn json(&mut self, document: &impl Document) {
        self.line(&visible::json(&Versioned::of(document)));
    }

    /// Text that is the whole result of a command: as it is, or as one document.
    pub(super) fn result(&mut self, text: &str) {
        if self.json { self.json(&Text { text }) } else { self.text(text) }
    }

    /// What was done: one document, or lines that `--quiet` leaves out.
    pub(super) fn receipt<L: AsRef<str>>(
        &mut self,
        document: &impl Document,
        lines: impl IntoIterator<Item = L>,
    ) {
        if self.json {
            self.json(document);
        } else if !self.quiet {
            lines.into_iter().for_each(|line| self.line(line.as_ref()));
        }
    }

    /// A list: one document, or what `show` prints of each item.
    pub(super) fn list<T>(
        &mut self,
        document: &impl Document,
        items: &[T],
        mut show: impl FnMut(&mut Self, &T),
    ) {
        if self.json {
            return self.json(document);
        }
        items.iter().for_each(|item| show(self, item));
    }

    /// One entry of a list: cells on a terminal, else a line.
    pub(super) fn entry(&mut self, cells: &[Cell], line: &str) {
        if self.terminal { self.row(cells) } else { self.line(line) }
    }

    /// Text that others wrote, with a newline at its end and harmless controls ([`visible`]).
    pub(super) fn text_of_others(&mut self, text: &str) {
        let shown = if self.terminal { visible::text(text) } else { visible::piped(text).into_owned() };
        self.text(&shown);
        if !shown.ends_with('\n') {
            self.text("\n");
        }
    }

    /// One row of a table.
    pub(super) fn row(&mut self, cells: &[Cell]) {
        self.rows.push(cells.to_vec());
    }

    /// Writes the rows so far; the next ones are another table.
    pub(super) fn end_table(&mut self) {
        if self.rows.is_empty() {
            return;
        }
        let rows = std::mem::take(&mut self.rows);
        for line in self.table(rows, self.width()) {
            self.buffer.push_str(&line);
            self.buffer.push('\n');
        }
    }

    /// The lines of a table.
    pub(super) fn table(&self, rows: Vec<Vec<Cell>>, width: usize) -> Vec<String> {
        let line = |row: Vec<Cell>| {
            let painted: Vec<String> = row.iter().map(|(style, text)| self.paint(*style, text)).collect();
            painted.join("  ").trim_end().to_owned()
        };
        fitted(rows, width).into_iter().map(line).collect()
    }

    pub(super) fn paint(&self, style: Style, text: &str) -> String {
        if self.colour && style != PLAIN { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// The columns of the terminal, within reason; as good as endless without one.
    pub(super) fn width(&self) -> usize {
        if !self.terminal {
            return usize::MAX;
        }
        columns_of(io::stdout())
    }

    /// The lines of the terminal, within reason.
    pub(super) fn height(&self) -> usize {
        let lines = rustix::termios::tcgetwinsize(io::stdout()).map_or(24, |size| usize::from(size.ws_row));
        if lines == 0 { 24 } else { lines.max(5) }
    }

    /// Writes what was collected.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.end_table();
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(self.buffer.as_bytes()).and_then(|()| stdout.flush());
        self.buffer.clear();
        written
    }

    /// Refuses to consume what nobody would see.
    pub(super) fn must_be_seen(&self, instead: impl Into<Hint>) -> Result<(), Fail> {
        if !self.goes_nowhere() {
            return Ok(());
        }
        let what = "standard output is closed or /dev/null, so nothing can be shown";
        Err(Fail::not_done(what, instead))
    }

    /// Whether what is written can be seen by anyone: a closed standard output is /dev/null by now.
    fn goes_nowhere(&self) -> bool {
        let Ok(stat) = rustix::fs::fstat(io::stdout()) else {
            return true;
        };
        let is_device =
            rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::CharacterDevice;
        is_device && rustix::fs::stat("/dev/null").is_ok_and(|null| null.st_rdev == stat.st_rdev)
    }
}

/// One line to standard error; if that is closed too, nobody is listening.
pub(super) fn note(line: &str) {
    let stderr = io::stderr();
    let width = if stderr.is_terminal() { columns_of(&stderr) } else { usize::MAX };
    for line in line.split('\n') {
        let _ = writeln!(io::stderr(), "{}", fold(line, width));
    }
}

/// Whether lines can be drawn over others. A dumb terminal shows the controls for that.
pub(super) fn can_redraw() -> bool {
    ThisProcess.variable("TERM").is_some_and(|term| term != "dumb")
}

/// The columns of a terminal, within reason.
fn columns_of(terminal: impl std::os::fd::AsFd) -> usize {
    let columns = rustix::termios::tcgetwinsize(terminal).map_or(80, |size| usize::from(size.ws_col));
    if columns == 0 { 80 } else { columns.max(20) }
}
