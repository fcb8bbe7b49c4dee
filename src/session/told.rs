//! The unread mail that a session already knows: `…/postroom/sessions/<hash>.told`. It has one line for each message,
//! with marks and file name, one line for each recent wake-up, and one for the event that was answered last. Only
//! messages that are still unread are kept, so the file is never longer than the inbox. Its loss costs only a second
//! notice, so it is written without sync.

use std::collections::HashMap;

use super::{Session, folder, made};
use crate::mailbox::Error;
use crate::mailbox::lock::Lock;
use crate::room::Room;

const LIMIT: u64 = 64 * 1024 * 1024;
/// Held while a notice is composed: hooks of one session run concurrently.
const LOCK: &str = "lock";

/// The most wake-ups of a session within [`SPAN`] seconds. Without a limit, two idle agents could keep each other awake forever.
pub const MOST_WAKES: usize = 20;
const SPAN: i64 = 3600;

/// How long after an event its twin may come: hooks of the user and of a project hear of each event at once.
const TWIN: i64 = 5;

/// One action on a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Its header was shown.
    Told = 1,
    /// A line that wakes the session for it is on its way, or has come.
    Woken = 2,
}

/// The messages that a session knows, its recent wake-ups, and the event that was answered last.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    marks: HashMap<String, u8>,
    wakes: Vec<i64>,
    answered: Option<(i64, String)>,
}

const LETTERS: [(u8, char); 2] = [(Mark::Told as u8, 't'), (Mark::Woken as u8, 'w')];

impl Told {
    pub fn read(room: &Room, session: &Session) -> Result<Self, Error> {
        let Some(folder) = folder(room)? else { return Ok(Self::default()) };
        let bytes = folder.read(&file(session), LIMIT)?.unwrap_or_default();
        Ok(Self::parse(&String::from_utf8_lossy(&bytes)))
    }

    /// Keeps other processes from giving the same notice. The folder exists, because the session is bound.
    pub fn lock(room: &Room) -> Result<Lock, Error> {
        made(room)?.lock(LOCK)
    }

    /// Writes the record, without messages that are no longer unread.
    pub fn write(mut self, room: &Room, session: &Session, unread: &[String]) -> Result<(), Error> {
        let unread: std::collections::HashSet<&str> = unread.iter().map(String::as_str).collect();
        self.marks.retain(|name, _| unread.contains(name.as_str()));
        self.note(room, session)
    }

    /// Writes the record as it is.
    pub fn note(&self, room: &Room, session: &Session) -> Result<(), Error> {
        made(room)?.replace(&file(session), self.render().as_bytes())
    }

    /// Whether a message has a mark.
    pub fn has(&self, name: &str, mark: Mark) -> bool {
        self.marks.get(name).is_some_and(|marks| marks & mark as u8 != 0)
    }

    /// Whether an event was answered a moment ago. Otherwise it is noted as answered now.
    pub fn is_twin(&mut self, event: &str, now: i64) -> bool {
        let is_recent = |then: i64| (now - TWIN..=now).contains(&then);
        let is_twin = self.answered.as_ref().is_some_and(|(then, last)| is_recent(*then) && last == event);
        if !is_twin {
            self.answered = Some((now, event.to_owned()));
        }
        is_twin
    }

    pub fn set(&mut self, name: &str, mark: Mark) {
        *self.marks.entry(name.to_owned()).or_default() |= mark as u8;
    }

    pub fn clear(&mut self, name: &str, mark: Mark) {
        self.marks.entry(name.to_owned()).and_modify(|marks| *marks &= !(mark as u8));
    }

    /// Records a wake-up; `false` if there were too many already.
    pub fn wake(&mut self, now: i64) -> bool {
        self.wakes.retain(|then| (now - SPAN..=now).contains(then));
        let allowed = self.wakes.len() < MOST_WAKES;
        if allowed {
            self.wakes.push(now);
        }
        allowed
    }

    /// Removes the last wake-up.
    pub fn unwake(&mut self) {
        self.wakes.pop();
    }

    fn parse(text: &str) -> Self {
        let mut told = Self::default();
        for (marks, rest) in text.lines().filter_map(|line| line.split_once(' ')) {
            if marks == "@" {
                told.wakes.extend(rest.parse::<i64>());
                continue;
            }
            if marks == "=" {
                let parts = rest.split_once(' ');
                told.answered = parts.and_then(|(then, event)| Some((then.parse().ok()?, event.to_owned())));
                continue;
            }
            let bits = LETTERS.iter().filter(|(_, letter)| marks.contains(*letter)).map(|(bit, _)| bit).sum();
            told.marks.insert(rest.to_owned(), bits);
        }
        told
    }

    fn render(&self) -> String {
        let mut text: String = self.wakes.iter().map(|then| format!("@ {then}\n")).collect();
        text.extend(self.answered.iter().map(|(then, event)| format!("= {then} {event}\n")));
        let mut names: Vec<_> = self.marks.iter().filter(|(name, _)| !name.contains('\n')).collect();
        names.sort();
        for (name, marks) in names {
            text.extend(LETTERS.iter().filter(|(bit, _)| marks & bit != 0).map(|(_, letter)| letter));
            text.push_str(&format!(" {name}\n"));
        }
        text
    }
}

pub(super) fn file(session: &Session) -> String {
    format!("{}.told", session.file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_is_read_back() {
        let mut told = Told::default();
        told.set("a b.md", Mark::Told);
        told.set("a b.md", Mark::Woken);
        told.set("c.md", Mark::Told);
        assert!(told.wake(100));
        assert!(!told.is_twin("e 1", 100) && told.is_twin("e 1", 103));
        assert_eq!(Told::parse(&told.render()), told);
        assert!(told.has("a b.md", Mark::Woken) && told.has("a b.md", Mark::Told));
        assert!(!told.has("c.md", Mark::Woken) && !told.has("d", Mark::Told));
        assert!(!told.is_twin("e 2", 103) && !told.is_twin("e 1", 103) && !told.is_twin("e 1", 200));
        assert_eq!(Told::parse("\0\u{1b}\n\nx\n@ y\n").wakes, Vec::<i64>::new());
    }

    #[test]
    fn wakes_are_capped_within_an_hour() {
        let mut told = Told::default();
        assert_eq!((0..100).filter(|second| told.wake(1000 + second)).count(), MOST_WAKES);
        assert!(told.wake(1000 + SPAN + 200));
    }
}
