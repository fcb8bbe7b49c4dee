//! What happens to the client: a key, the mouse, a paste, a new size, something that was read, or a deed that was done.

use super::deed::Told;
use super::seen::Seen;
use crate::clock::Timestamp;

/// One event. The core knows no other way to learn anything.
#[derive(Debug)]
pub(super) enum Event {
    Key(Key),
    Paste(String),
    Mouse(Mouse),
    Resized(u16, u16),
    /// The background of the terminal, as it answered.
    Background {
        is_light: bool,
    },
    /// Files of the room changed.
    Changed,
    /// Time went on, and nothing else.
    Tick(Timestamp),
    Seen(Box<Seen>, Timestamp),
    Told(Told),
    /// The text of the draft, back from the editor. An error if that could not be started.
    Edited(Result<String, String>),
    /// A thread is gone, and the terminal was given back for its report.
    Panicked,
}

/// A key, with what was held down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) code: Code,
    pub(super) ctrl: bool,
    pub(super) alt: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    Char(char),
    Enter,
    Tab,
    BackTab,
    Esc,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
}

impl Key {
    pub(super) fn plain(code: Code) -> Self {
        Self { code, ctrl: false, alt: false }
    }

    pub(super) fn ctrl(c: char) -> Self {
        Self { code: Code::Char(c), ctrl: true, alt: false }
    }

    pub(super) fn char(c: char) -> Self {
        Self::plain(Code::Char(c))
    }

    /// As people write it.
    pub(super) fn shown(self) -> String {
        let word = match self.code {
            Code::Char(' ') => "Space".to_owned(),
            Code::Char(c) if self.ctrl => c.to_ascii_uppercase().to_string(),
            Code::Char(c) => c.to_string(),
            Code::BackTab => "S-Tab".to_owned(),
            Code::Up => "↑".to_owned(),
            Code::Down => "↓".to_owned(),
            Code::Left => "←".to_owned(),
            Code::Right => "→".to_owned(),
            Code::PageUp => "PgUp".to_owned(),
            Code::PageDown => "PgDn".to_owned(),
            other => format!("{other:?}"),
        };
        let held = if self.ctrl {
            "C-"
        } else if self.alt {
            "M-"
        } else {
            ""
        };
        format!("{held}{word}")
    }
}

/// What the mouse did, and in which cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mouse {
    pub(super) x: u16,
    pub(super) y: u16,
    pub(super) kind: MouseKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MouseKind {
    Press,
    Up,
    Down,
}
