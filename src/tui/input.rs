//! Input: the bytes of a terminal as events. Pure.
//!
//! The reader of crossterm is not used: it blocks on half a sequence, and turns for ever when the terminal has gone. Here
//! bytes come in as they were read. What is incomplete waits for the next ones, until [`Input::end`] says that none
//! follow; then a lone escape is the key, and anything else is dropped. No byte of the input leads to a panic.

use super::event::{Code, Event, Key, Mouse, MouseKind};

/// The longest paste that is kept, and the longest sequence.
const PASTE: usize = 1024 * 1024;
const SEQUENCE: usize = 64;

/// What a person types at once is not longer. After a silence in a paste, more than that is the rest of it.
const TYPED: usize = 16;

const PASTE_END: &[u8] = b"\x1b[201~";

/// Bytes that are not yet an event.
#[derive(Debug, Default)]
pub(super) struct Input {
    pending: Vec<u8>,
    paste: Option<Vec<u8>>,
    /// A paste was ended for its silence, and may go on.
    is_stalled: bool,
}

/// What the beginning of the pending bytes is.
enum Parsed {
    /// So many bytes are this event, or nothing that is known.
    Event(usize, Option<Event>),
    /// A paste begins behind so many bytes.
    Paste(usize),
    /// More bytes must follow.
    Incomplete,
}

impl Input {
    /// The events that these bytes complete.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Event> {
        if std::mem::take(&mut self.is_stalled) && bytes.len() > TYPED && !bytes.starts_with(b"\x1b") {
            self.paste = Some(vec![]);
        }
        self.pending.extend_from_slice(bytes);
        self.events(false)
    }

    /// No more bytes follow for now. A paste whose end does not come is taken as it is.
    pub(super) fn end(&mut self) -> Vec<Event> {
        match self.paste.take() {
            Some(mut text) => {
                text.append(&mut self.pending);
                self.is_stalled = true;
                vec![pasted(&text)]
            }
            None => self.events(true),
        }
    }

    /// Whether half a sequence waits for its rest.
    pub(super) fn is_open(&self) -> bool {
        self.paste.is_none() && !self.pending.is_empty()
    }

    /// Whether a paste waits for its rest.
    pub(super) fn is_pasting(&self) -> bool {
        self.paste.is_some()
    }

    fn events(&mut self, is_end: bool) -> Vec<Event> {
        let mut found = vec![];
        loop {
            if self.paste.is_some() {
                match self.pasted() {
                    Some(event) => found.push(event),
                    None => break,
                }
                continue;
            }
            match parse(&self.pending) {
                _ if self.pending.is_empty() => break,
                Parsed::Event(used, event) => {
                    self.pending.drain(..used);
                    found.extend(event);
                }
                Parsed::Paste(used) => {
                    self.pending.drain(..used);
                    self.paste = Some(vec![]);
                }
                Parsed::Incomplete if is_end => {
                    let is_escape = self.pending == b"\x1b";
                    self.pending.clear();
                    found.extend(is_escape.then_some(Event::Key(Key::plain(Code::Esc))));
                }
                Parsed::Incomplete => break,
            }
        }
        found
    }

    /// The paste, once its end has come.
    fn pasted(&mut self) -> Option<Event> {
        let end = self.pending.windows(PASTE_END.len()).position(|part| part == PASTE_END);
        let text = self.paste.get_or_insert_default();
        // The end may be half here.
        let whole = end.unwrap_or_else(|| self.pending.len().saturating_sub(PASTE_END.len() - 1));
        let room = PASTE.saturating_sub(text.len());
        text.extend(self.pending.drain(..whole).take(room));
        end?;
        self.pending.drain(..PASTE_END.len());
        let text = self.paste.take().unwrap_or_default();
        Some(pasted(&text))
    }
}

fn pasted(text: &[u8]) -> Event {
    Event::Paste(String::from_utf8_lossy(text).replace("\r\n", "\n").replace('\r', "\n"))
}

fn parse(bytes: &[u8]) -> Parsed {
    match bytes {
        [b'\x1b'] => Parsed::Incomplete,
        [b'\x1b', b'[', rest @ ..] => csi(rest),
        [b'\x1b', b'O', code, ..] => Parsed::Event(3, final_key(*code, 1)),
        [b'\x1b', b'O'] => Parsed::Incomplete,
        [b'\x1b', b']', rest @ ..] => osc(rest),
        [b'\x1b', b'\x1b', ..] => Parsed::Event(1, Some(Event::Key(Key::plain(Code::Esc)))),
        [b'\x1b', rest @ ..] => match parse(rest) {
            Parsed::Event(used, Some(Event::Key(key))) => {
                Parsed::Event(used + 1, Some(Event::Key(Key { alt: true, ..key })))
            }
            Parsed::Event(used, event) => Parsed::Event(used + 1, event),
            Parsed::Paste(used) => Parsed::Paste(used + 1),
            Parsed::Incomplete => Parsed::Incomplete,
        },
        [first, ..] => character(*first, bytes),
        [] => Parsed::Incomplete,
    }
}

fn character(first: u8, bytes: &[u8]) -> Parsed {
    let key = |key| Parsed::Event(1, Some(Event::Key(key)));
    match first {
        b'\r' | b'\n' => key(Key::plain(Code::Enter)),
        b'\t' => key(Key::plain(Code::Tab)),
        0x7f | 0x08 => key(Key::plain(Code::Backspace)),
        0 => key(Key::ctrl(' ')),
        0x01..=0x1a => key(Key::ctrl(char::from(first - 1 + b'a'))),
        0x1c..=0x1f => key(Key::ctrl(char::from(first - 0x1c + b'4'))),
        0x20..=0x7e => key(Key::char(char::from(first))),
        _ => {
            let length = match first {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                _ => return Parsed::Event(1, None),
            };
            let is_begun = bytes[1..].iter().take(length - 1).all(|byte| (0x80..0xc0).contains(byte));
            match bytes.get(..length) {
                _ if !is_begun => Parsed::Event(1, None),
                None => Parsed::Incomplete,
                Some(whole) => {
                    let c = std::str::from_utf8(whole).ok().and_then(|text| text.chars().next());
                    Parsed::Event(length, c.map(|c| Event::Key(Key::char(c))))
                }
            }
        }
    }
}

/// Behind `ESC [`. The first byte that is no parameter decides, so that the pieces in which the bytes come do not matter.
fn csi(rest: &[u8]) -> Parsed {
    let Some(at) = rest.iter().take(SEQUENCE).position(|byte| !(0x20..=0x3f).contains(byte)) else {
        return too_long(rest);
    };
    // A byte that belongs to no sequence ends this one.
    if !(0x40..=0x7e).contains(&rest[at]) {
        return Parsed::Event(2 + at, None);
    }
    let (parameters, code, used) = (&rest[..at], rest[at], 2 + at + 1);
    if let Some(mouse) = parameters.strip_prefix(b"<") {
        return Parsed::Event(used, mouse_event(mouse, code == b'M'));
    }
    // A terminal that does not know the newer form puts three bytes behind a press.
    if code == b'M' && parameters.is_empty() {
        return if rest.len() < at + 4 { Parsed::Incomplete } else { Parsed::Event(used + 3, None) };
    }
    let numbers: Vec<u16> = numbers(parameters);
    let held = numbers.get(1).copied().unwrap_or(1);
    match (code, numbers.first().copied().unwrap_or(1)) {
        (b'~', 200) => Parsed::Paste(used),
        (b'~', number) => {
            let code = match number {
                1 | 7 => Code::Home,
                3 => Code::Delete,
                4 | 8 => Code::End,
                5 => Code::PageUp,
                6 => Code::PageDown,
                _ => return Parsed::Event(used, None),
            };
            Parsed::Event(used, Some(Event::Key(held_down(code, held))))
        }
        (b'Z', _) => Parsed::Event(used, Some(Event::Key(Key::plain(Code::BackTab)))),
        (code, _) => Parsed::Event(used, final_key(code, held)),
    }
}

/// A sequence without an end: its first bytes are dropped once it is longer than any that is known.
fn too_long(rest: &[u8]) -> Parsed {
    if rest.len() < SEQUENCE { Parsed::Incomplete } else { Parsed::Event(2 + SEQUENCE, None) }
}

fn numbers(parameters: &[u8]) -> Vec<u16> {
    let text = std::str::from_utf8(parameters).unwrap_or_default();
    text.split(';').map(|part| part.parse().unwrap_or(0)).collect()
}

/// Keys that end with a letter.
fn final_key(code: u8, held: u16) -> Option<Event> {
    let code = match code {
        b'A' => Code::Up,
        b'B' => Code::Down,
        b'C' => Code::Right,
        b'D' => Code::Left,
        b'H' => Code::Home,
        b'F' => Code::End,
        b'M' => Code::Enter,
        _ => return None,
    };
    Some(Event::Key(held_down(code, held)))
}

fn held_down(code: Code, held: u16) -> Key {
    let bits = held.saturating_sub(1);
    Key { code, ctrl: bits & 4 != 0, alt: bits & 2 != 0 }
}

fn mouse_event(parameters: &[u8], is_press: bool) -> Option<Event> {
    let numbers = numbers(parameters);
    let [button, x, y] = *numbers.as_slice() else { return None };
    let kind = match button & !0b1_1100 {
        0 if is_press => MouseKind::Press,
        64 => MouseKind::Up,
        65 => MouseKind::Down,
        _ => return None,
    };
    Some(Event::Mouse(Mouse { x: x.checked_sub(1)?, y: y.checked_sub(1)?, kind }))
}

/// Behind `ESC ]`: the answer to the question for the colour of the background.
fn osc(rest: &[u8]) -> Parsed {
    let known = &rest[..rest.len().min(SEQUENCE)];
    let bell = known.iter().position(|byte| *byte == 0x07).map(|at| (at, 1));
    let string = known.windows(2).position(|part| part == b"\x1b\\").map(|at| (at, 2));
    let Some((at, length)) = [bell, string].into_iter().flatten().min() else { return too_long(rest) };
    Parsed::Event(2 + at + length, background(&rest[..at]))
}

/// `11;rgb:RRRR/GGGG/BBBB`
fn background(text: &[u8]) -> Option<Event> {
    let text = std::str::from_utf8(text).ok()?.strip_prefix("11;rgb:")?;
    let mut parts = text.split('/').map(|part| {
        let part = part.get(..2.min(part.len()))?;
        u32::from_str_radix(part, 16).ok()
    });
    let (red, green, blue) = (parts.next()??, parts.next()??, parts.next()??);
    Some(Event::Background { is_light: 299 * red + 587 * green + 114 * blue > 127_500 })
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
