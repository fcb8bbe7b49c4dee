//! What becomes of letters later: after a letter from another room was delivered, its sender hears when it was shown, done,
//! answered or given up.
//!
//! ```text
//! <root>/.courier/received/open.jsonl   letters whose end is not told yet, and a place in the journal; the last line of each counts
//! ```
//!
//! The journal tells what happened. Where a line says less than a state, the files are read. A receipt is owed until
//! [`Later::told`], so none is lost with a connection; a letter that was told once as shown is not told again. A line that is
//! lost, or a journal that is, costs a receipt: the sender keeps to what it knows.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::parcel::{LetterContent, ReceiptItem, ReceiptState};
use crate::clock::Timestamp;
use crate::journal::{self, Event, Position};
use crate::mailbox::Dir;
use crate::name::RoomName;
use crate::post::{BOUNCE, MessageState, Post, Result};

const FILE: &str = "open.jsonl";
const LIMIT: u64 = 64 * 1024 * 1024;
/// The most letters that are followed; the oldest are forgotten first.
const MOST: usize = 20_000;
/// The file is written anew when it has twice as many lines as letters, and this many more.
const DEAD_LINES: usize = 1000;
/// How far the journal is read without a note of it.
const UNSAVED: usize = 256 * 1024;
/// How long a room that could not be told is left alone.
const KEPT_BACK: Duration = Duration::from_secs(50);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Open {
    room: String,
    id: String,
    to: String,
    file: String,
    /// What its sender was told last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    told: Option<ReceiptState>,
    /// What its sender is to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owed: Option<Owed>,
    /// Nothing comes after what is owed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_ended: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Owed {
    state: ReceiptState,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    why: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Letter(Open),
    Place { day: String, bytes: usize },
}

#[derive(Debug)]
pub(super) struct Later {
    dir: Dir,
    /// By the order in which they came.
    open: BTreeMap<u64, Open>,
    by_id: HashMap<String, Vec<u64>>,
    next: u64,
    /// How many lines the file has.
    lines: usize,
    at: Option<Position>,
    saved: Option<Position>,
    kept_back: HashMap<String, Timestamp>,
}

impl Later {
    /// `received` is the folder of the log.
    pub(super) fn load(courier: &Dir) -> std::result::Result<Self, crate::mailbox::Error> {
        let dir = courier.create_dir_synced("received")?;
        let bytes = dir.tail(FILE, LIMIT)?.unwrap_or_default();
        let mut later = Self {
            dir,
            open: BTreeMap::new(),
            by_id: HashMap::new(),
            next: 0,
            lines: 0,
            at: None,
            saved: None,
            kept_back: HashMap::new(),
        };
        for line in bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
            later.lines += 1;
            match serde_json::from_slice(line) {
                Ok(Line::Letter(open)) => later.set(open),
                Ok(Line::Place { day, bytes }) => later.at = Some(Position { day, bytes }),
                Err(_) => {}
            }
        }
        if later.open.is_empty() {
            later.at = None;
        }
        later.saved.clone_from(&later.at);
        later.forget_oldest();
        Ok(later)
    }

    /// Puts a letter in the place of its earlier line; one that is told and has ended is gone.
    fn set(&mut self, open: Open) {
        let number = self.number(&open.room, &open.id, &open.to);
        if open.has_ended && open.owed.is_none() {
            number.into_iter().for_each(|number| self.remove(number));
            return;
        }
        let number = number.unwrap_or_else(|| {
            self.next += 1;
            self.by_id.entry(open.id.clone()).or_default().push(self.next);
            self.next
        });
        self.open.insert(number, open);
    }

    fn number(&self, room: &str, id: &str, to: &str) -> Option<u64> {
        let is_it = |number: &&u64| {
            self.open.get(number).is_some_and(|open| (open.room.as_str(), open.to.as_str()) == (room, to))
        };
        self.by_id.get(id)?.iter().find(is_it).copied()
    }

    fn remove(&mut self, number: u64) {
        let Some(open) = self.open.remove(&number) else { return };
        if let Some(all) = self.by_id.get_mut(&open.id) {
            all.retain(|other| *other != number);
            if all.is_empty() {
                self.by_id.remove(&open.id);
            }
        }
    }

    fn forget_oldest(&mut self) {
        while self.open.len() > MOST
            && let Some(oldest) = self.open.keys().next().copied()
        {
            self.remove(oldest);
        }
    }

    /// Writes lines for these letters, or the whole file anew. What is not written costs a receipt, or repeats one, after a
    /// restart.
    fn save(&mut self, changed: &[Open]) {
        let mut lines: Vec<Vec<u8>> = vec![];
        let place = self.at.clone().filter(|_| self.at != self.saved);
        let is_long = self.lines + changed.len() > 2 * self.open.len() + DEAD_LINES;
        let of_letter = |open: &Open| serde_json::to_vec(&Line::Letter(open.clone())).unwrap_or_default();
        match is_long {
            true => lines.extend(self.open.values().map(of_letter)),
            false => lines.extend(changed.iter().map(of_letter)),
        }
        let place = if is_long { self.at.clone() } else { place };
        lines.extend(place.map(|Position { day, bytes }| {
            serde_json::to_vec(&Line::Place { day, bytes }).unwrap_or_default()
        }));
        let count = lines.len();
        let bytes: Vec<u8> = lines.into_iter().flat_map(|line| line.into_iter().chain([b'\n'])).collect();
        let written = match is_long {
            true => self.dir.replace(FILE, &bytes),
            false => self.dir.append(FILE, &bytes),
        };
        if written.is_ok() {
            self.lines = if is_long { count } else { self.lines + count };
            self.saved.clone_from(&self.at);
        }
    }

    /// Follows letters that were delivered.
    pub(super) fn follow(&mut self, room: &RoomName, letters: &[&LetterContent]) {
        let mut fresh = vec![];
        for letter in letters {
            let LetterContent { id, to, file, .. } = letter;
            if self.number(room.as_str(), id, to).is_some() {
                continue;
            }
            let (room, id, to, file) = (room.to_string(), id.clone(), to.clone(), file.clone());
            let open = Open { room, id, to, file, told: None, owed: None, has_ended: false };
            self.set(open.clone());
            fresh.push(open);
        }
        self.forget_oldest();
        if !fresh.is_empty() {
            self.save(&fresh);
        }
    }

    /// The receipts that are owed, by room. Without a known place in the journal, all that is open is looked at.
    pub(super) fn news(&mut self, post: &Post) -> Result<HashMap<String, Vec<ReceiptItem>>> {
        let happened = match self.at.take() {
            None => {
                let end = journal::end(post.room())?;
                let all = self.open.iter().map(|(number, open)| (*number, look(post, open)));
                let all = all.collect();
                self.at = Some(end);
                all
            }
            Some(at) => match journal::after(post.room(), &at) {
                Ok((events, end)) => {
                    self.at = Some(end);
                    self.told_by(post, &events)
                }
                Err(e) => {
                    self.at = Some(at);
                    return Err(e.into());
                }
            },
        };
        let mut changed = vec![];
        for (number, happened) in happened {
            let Some(open) = self.open.get(&number) else { continue };
            let after = open.clone().after(happened);
            if after != *open {
                changed.push(after.clone());
                self.set(after);
            }
        }
        let is_far = match (&self.at, &self.saved) {
            (Some(at), Some(saved)) => at.day != saved.day || at.bytes > saved.bytes + UNSAVED,
            _ => true,
        };
        if !changed.is_empty() || (is_far && !self.open.is_empty()) {
            self.save(&changed);
        }
        let now = post.room().clock().now();
        self.kept_back.retain(|_, since| now.since(*since) < KEPT_BACK);
        let mut receipts: HashMap<String, Vec<ReceiptItem>> = HashMap::new();
        for open in self.open.values().filter(|open| !self.kept_back.contains_key(&open.room)) {
            let Open { room, id, to, file, owed: Some(Owed { state, why }), .. } = open.clone() else {
                continue;
            };
            receipts.entry(room).or_default().push(ReceiptItem { id, to, file, state, why });
        }
        Ok(receipts)
    }

    /// What these events say about letters that are open.
    fn told_by(&self, post: &Post, events: &[Event]) -> BTreeMap<u64, Happened> {
        let mut all = BTreeMap::new();
        for event in events {
            let is_answer = event.event == "sent" && event.note != BOUNCE;
            let id = if is_answer { &event.reply_to } else { &event.id };
            for number in self.by_id.get(id).into_iter().flatten() {
                let Some(open) = self.open.get(number) else { continue };
                let to = post.addressee(&open.to).map_or_else(|_| open.to.clone(), |to| to.to_string());
                if event.by != to && event.mailbox != to {
                    continue;
                }
                let was_shown = open.told == Some(ReceiptState::Shown)
                    || matches!(all.get(number), Some(Happened::State(ReceiptState::Shown, _)));
                let happened = match event.event.as_str() {
                    "shown" => Happened::State(ReceiptState::Shown, String::new()),
                    "done" => Happened::State(ReceiptState::Done, String::new()),
                    "answered" => Happened::State(ReceiptState::Answered, String::new()),
                    "sent" if is_answer && was_shown => {
                        Happened::State(ReceiptState::Answered, String::new())
                    }
                    "failed" if !event.note.is_empty() => {
                        Happened::State(ReceiptState::Failed, event.note.clone())
                    }
                    // An answer says whether the letter is finished only with the place of the letter.
                    "sent" | "failed" => Happened::Unclear,
                    "archived" => Happened::Filed,
                    "retried" | "unarchived" | "restored" => Happened::Nothing,
                    _ => continue,
                };
                let has_ended = matches!(
                    all.get(number),
                    Some(Happened::State(ReceiptState::Done | ReceiptState::Answered, _))
                );
                // A letter that was done may be put away, and its answer may come a moment before.
                if !(has_ended && matches!(happened, Happened::Filed | Happened::Unclear)) {
                    all.insert(*number, happened);
                }
            }
        }
        for (number, happened) in &mut all {
            if matches!(happened, Happened::Unclear)
                && let Some(open) = self.open.get(number)
            {
                *happened = look(post, open);
            }
        }
        all
    }

    /// Receipts were sent to a room, or could not be.
    pub(super) fn told(&mut self, (room, items): (&str, &[ReceiptItem]), is_sent: bool, now: Timestamp) {
        if !is_sent {
            self.kept_back.insert(room.to_owned(), now);
            return;
        }
        let mut changed = vec![];
        for item in items {
            let Some(open) = self.number(room, &item.id, &item.to).and_then(|number| self.open.get(&number))
            else {
                continue;
            };
            if open.owed.as_ref().is_some_and(|owed| owed.state == item.state) {
                let open = Open { told: Some(item.state), owed: None, ..open.clone() };
                changed.push(open.clone());
                self.set(open);
            }
        }
        if !changed.is_empty() {
            self.save(&changed);
        }
    }
}

/// What happened to a letter.
#[derive(Debug)]
enum Happened {
    State(ReceiptState, String),
    /// Put away, without a word for its sender.
    Filed,
    /// It waits again, or was not touched.
    Nothing,
    /// Its files must be asked.
    Unclear,
}

impl Open {
    fn after(mut self, happened: Happened) -> Self {
        match happened {
            Happened::State(ReceiptState::Shown, _) if self.told == Some(ReceiptState::Shown) => {}
            Happened::State(state, why) => {
                self.has_ended = state != ReceiptState::Shown;
                self.owed = Some(Owed { state, why });
            }
            Happened::Filed => self.has_ended = true,
            Happened::Nothing | Happened::Unclear => {}
        }
        self
    }
}

/// The state of a letter by its files.
fn look(post: &Post, open: &Open) -> Happened {
    let to = post.addressee(&open.to);
    let state = |state| Happened::State(state, String::new());
    match to.and_then(|to| post.state_of(&open.id, to.as_str())) {
        Ok(Some(MessageState::Shown(_))) => state(ReceiptState::Shown),
        Ok(Some(MessageState::Done(_))) => state(ReceiptState::Done),
        Ok(Some(MessageState::Answered(_))) => state(ReceiptState::Answered),
        Ok(Some(MessageState::Filed(_))) => Happened::Filed,
        // The notice to its sender is a letter of its own; this is only the state.
        Ok(Some(MessageState::Failed(why))) => Happened::State(ReceiptState::Failed, why),
        Ok(_) | Err(_) => Happened::Nothing,
    }
}

#[cfg(test)]
#[path = "later_tests.rs"]
mod tests;
