//! A terminal as a person sees it: what a program writes becomes rows of text. It understands what full-screen programs of
//! this project write, and passes over the rest.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// The cells, and what was set.
#[derive(Debug)]
struct Cells {
    rows: Vec<Vec<String>>,
    at: (usize, usize),
    is_other_screen: bool,
    is_cursor_shown: bool,
    pending: Vec<u8>,
    all: usize,
    /// How often a colour was set.
    colours: usize,
}

/// A terminal that is looked at.
pub(crate) struct Screen {
    terminal: File,
    cells: Arc<Mutex<Cells>>,
}

impl Screen {
    /// Looks at the side of the person of a pseudo-terminal.
    pub(crate) fn of(terminal: File, width: u16, height: u16) -> Self {
        let screen = Self { terminal, cells: Arc::new(Mutex::new(Cells::new(width, height))) };
        screen.resize(width, height);
        let (mut reader, cells) = (screen.terminal.try_clone().unwrap(), Arc::clone(&screen.cells));
        std::thread::spawn(move || {
            let mut bytes = [0; 65536];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                cells.lock().unwrap().take(&bytes[..count]);
            }
        });
        screen
    }

    pub(crate) fn resize(&self, width: u16, height: u16) {
        let size = Winsize { ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(self.terminal.as_fd(), size).unwrap();
        let mut cells = self.cells.lock().unwrap();
        cells.rows = vec![vec![" ".to_owned(); width.into()]; height.into()];
    }

    /// Types bytes.
    pub(crate) fn types(&self, keys: impl AsRef<[u8]>) {
        (&self.terminal).write_all(keys.as_ref()).unwrap();
    }

    pub(crate) fn text(&self) -> String {
        let cells = self.cells.lock().unwrap();
        cells.rows.iter().map(|row| row.concat()).collect::<Vec<_>>().join("\n")
    }

    /// How long it took until this was seen.
    pub(crate) fn sees(&self, text: &str, limit: Duration) -> Result<Duration, String> {
        let start = Instant::now();
        while !self.text().contains(text) {
            if start.elapsed() > limit {
                return Err(format!("`{text}` was not seen:\n{}", self.text()));
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(start.elapsed())
    }

    /// The number of bytes that were written so far.
    pub(crate) fn written(&self) -> usize {
        self.cells.lock().unwrap().all
    }

    /// How often a colour was set so far.
    pub(crate) fn colours(&self) -> usize {
        self.cells.lock().unwrap().colours
    }

    /// Whether a program has the other screen.
    pub(crate) fn is_taken(&self) -> bool {
        self.cells.lock().unwrap().is_other_screen
    }

    /// Whether the terminal is as a shell has it: the first screen, a cursor, lines and echo.
    pub(crate) fn is_as_before(&self) -> bool {
        let modes = tcgetattr(self.terminal.as_fd()).unwrap().local_modes;
        let cells = self.cells.lock().unwrap();
        !cells.is_other_screen
            && cells.is_cursor_shown
            && modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }
}

impl Cells {
    fn new(width: u16, height: u16) -> Self {
        let rows = vec![vec![" ".to_owned(); width.into()]; height.into()];
        Self {
            rows,
            at: (0, 0),
            is_other_screen: false,
            is_cursor_shown: true,
            pending: vec![],
            all: 0,
            colours: 0,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.all += bytes.len();
        self.pending.extend_from_slice(bytes);
        loop {
            let Some(used) = self.one() else { return };
            self.pending.drain(..used);
        }
    }

    /// Obeys what is first; `None` if it is not whole yet.
    fn one(&mut self) -> Option<usize> {
        match self.pending.as_slice() {
            [] | [0x1b] => None,
            [0x1b, b'[', rest @ ..] => {
                let end = rest.iter().position(|byte| (0x40..=0x7e).contains(byte))?;
                let (text, code) = (String::from_utf8_lossy(&rest[..end]).into_owned(), rest[end]);
                self.obey(&text, code);
                Some(2 + end + 1)
            }
            [0x1b, b']', rest @ ..] => {
                let end = rest.windows(2).position(|part| part == b"\x1b\\").map(|at| at + 2);
                let bell = rest.iter().position(|byte| *byte == 7).map(|at| at + 1);
                Some(2 + end.into_iter().chain(bell).min()?)
            }
            [0x1b, _, ..] => Some(2),
            [b'\r', ..] => {
                self.at.0 = 0;
                Some(1)
            }
            [b'\n', ..] => {
                self.at.1 += 1;
                Some(1)
            }
            [first, ..] if *first < 0x20 => Some(1),
            [first, ..] => {
                let length = match first {
                    0xc0..=0xdf => 2,
                    0xe0..=0xef => 3,
                    0xf0..=0xff => 4,
                    _ => 1,
                };
                let text = String::from_utf8_lossy(self.pending.get(..length)?).into_owned();
                self.put(&text);
                Some(length)
            }
        }
    }

    fn put(&mut self, text: &str) {
        let (x, y) = self.at;
        let c = text.chars().next().unwrap_or(' ');
        let wide = if matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{1f300}'..='\u{1faff}')
        {
            2
        } else {
            1
        };
        if let Some(row) = self.rows.get_mut(y)
            && x < row.len()
        {
            row[x] = text.to_owned();
            if wide == 2 && x + 1 < row.len() {
                row[x + 1] = String::new();
            }
        }
        self.at.0 += wide;
    }

    fn obey(&mut self, text: &str, code: u8) {
        let number = |at: usize| text.split(';').nth(at).and_then(|part| part.parse::<usize>().ok());
        match (code, text) {
            (b'H', _) => self.at = (number(1).unwrap_or(1).max(1) - 1, number(0).unwrap_or(1).max(1) - 1),
            (b'J', _) => self.rows.iter_mut().flatten().for_each(|cell| *cell = " ".to_owned()),
            (b'h' | b'l', "?1049") => {
                self.is_other_screen = code == b'h';
                self.rows.iter_mut().flatten().for_each(|cell| *cell = " ".to_owned());
            }
            (b'm', _) => {
                let is_colour = |code| matches!(code, 30..=38 | 40..=48 | 90..=107);
                let codes = text.split([';', ':']).filter_map(|part| part.parse::<u8>().ok());
                self.colours += usize::from(codes.into_iter().any(is_colour));
            }
            (b'h' | b'l', "?25") => self.is_cursor_shown = code == b'h',
            _ => {}
        }
    }
}
