//! The terminal: taken over, drawn on, and given back as it was, whatever ends the client.
//!
//! Only cells that differ are written, in one write, and nothing is written if none do.

use std::io::{self, BufWriter, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use ratatui::layout::Rect;

/// The other screen, no cursor, pastes as pastes, presses of the mouse as text; and the question for the background.
const ENTER: &str = "\x1b[?1049h\x1b[2J\x1b[?25l\x1b[?2004h\x1b[?1000h\x1b[?1006h\x1b]11;?\x1b\\";
const LEAVE: &str = "\x1b[0m\x1b[?1006l\x1b[?1000l\x1b[?2004l\x1b[?25h\x1b[?1049l";

/// What is between these is shown at once, by terminals that know them.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

/// Whether the terminal is taken over.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

#[derive(Debug)]
pub(super) struct Screen {
    backend: CrosstermBackend<BufWriter<Stdout>>,
    last: Buffer,
    cursor: Option<(u16, u16)>,
}

impl Screen {
    /// Takes the terminal over.
    pub(super) fn new() -> io::Result<Self> {
        let backend = CrosstermBackend::new(BufWriter::with_capacity(64 * 1024, io::stdout()));
        let mut screen = Self { backend, last: Buffer::default(), cursor: None };
        screen.enter()?;
        Ok(screen)
    }

    pub(super) fn enter(&mut self) -> io::Result<()> {
        // A shell that had the terminal meanwhile changed its mode, and crossterm does not look.
        if IS_TAKEN.load(Ordering::SeqCst) {
            disable_raw_mode()?;
        }
        enable_raw_mode()?;
        IS_TAKEN.store(true, Ordering::SeqCst);
        self.backend.write_all(ENTER.as_bytes())?;
        Write::flush(&mut self.backend)?;
        self.forget();
        Ok(())
    }

    /// Everything is drawn anew the next time.
    pub(super) fn forget(&mut self) {
        (self.last, self.cursor) = (Buffer::default(), None);
    }

    /// The size of the terminal. One that does not tell has the usual one.
    pub(super) fn size() -> (u16, u16) {
        let size = rustix::termios::tcgetwinsize(io::stdout()).map(|size| (size.ws_col, size.ws_row));
        // A screen of a hostile size would take more memory than it is worth.
        size.ok()
            .filter(|(width, height)| *width > 0 && *height > 0)
            .map_or((80, 24), |(w, h)| (w.min(1000), h.min(500)))
    }

    /// Shows a buffer, and a cursor if there is one. Writes nothing if this is shown already, or the terminal is given back.
    pub(super) fn paint(&mut self, next: Buffer, cursor: Option<(u16, u16)>) -> io::Result<()> {
        // The screen is the shell's, with the report of a panic on it.
        if !IS_TAKEN.load(Ordering::SeqCst) {
            return Ok(());
        }
        let is_new = self.last.area != next.area;
        if is_new {
            self.last = Buffer::empty(next.area);
        }
        let changes = self.last.diff(&next);
        if changes.is_empty() && cursor == self.cursor && !is_new {
            return Ok(());
        }
        self.backend.write_all(BEGIN.as_bytes())?;
        if is_new {
            self.backend.write_all(b"\x1b[0m\x1b[2J")?;
        }
        self.backend.draw(changes.into_iter())?;
        match cursor {
            Some((x, y)) => write!(self.backend, "\x1b[{};{}H\x1b[?25h", y + 1, x + 1)?,
            None if self.cursor.is_some() => self.backend.write_all(b"\x1b[?25l")?,
            None => {}
        }
        self.backend.write_all(END.as_bytes())?;
        Write::flush(&mut self.backend)?;
        (self.last, self.cursor) = (next, cursor);
        Ok(())
    }

    /// An empty buffer of this size.
    pub(super) fn empty((width, height): (u16, u16)) -> Buffer {
        Buffer::empty(Rect::new(0, 0, width, height))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back. Once, however often it is called, and from any thread.
pub(super) fn give_back() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        let _ = disable_raw_mode();
        let mut out = io::stdout().lock();
        let _ = out.write_all(LEAVE.as_bytes()).and_then(|()| out.flush());
    }
}

/// From now on, a panic of any thread gives the terminal back before it is reported.
pub(super) fn give_back_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        give_back();
        before(info);
    }));
}
