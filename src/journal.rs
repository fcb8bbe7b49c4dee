//! The journal: a history for people. One line of JSON per event in `<root>/.journal/<day>.jsonl`.
//!
//! Each line is one appending write after the event, without sync. A failed write is ignored, and nothing depends on a
//! line being there. `trace` and `log` read the journal and say so when it has no evidence.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::mailbox::{Dir, Error, IfAny};
use crate::room::Room;

pub const FOLDER: &str = ".journal";

/// The most bytes that are read of one day. A longer day is cut at the front, because the newest events matter.
const DAY_LIMIT: u64 = 256 * 1024 * 1024;

/// One event. Fields that do not apply are omitted; readers ignore unknown fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    #[serde(default)]
    pub v: u32,
    /// Time in UTC, with milliseconds.
    #[serde(default)]
    pub time: String,
    /// One word: `sent`, `shown`, `archived`, `setup`, …
    pub event: String,
    /// The mailbox that acted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub to: String,
    /// The mailbox it happened in, if that is not the one that acted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mailbox: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subject: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reply_to: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Event {
    pub fn new(event: &str, by: &str) -> Self {
        Self { v: 1, event: event.to_owned(), by: by.to_owned(), ..Self::default() }
    }

    /// Appends this event to today's file.
    pub fn record(mut self, room: &Room) {
        if room.may_write().is_err() {
            return;
        }
        let now = room.clock().now();
        self.time = now.precise();
        let Ok(mut line) = serde_json::to_vec(&self) else { return };
        line.push(b'\n');
        if let Ok(folder) = room.root().create_dir(FOLDER) {
            let _ = folder.append(&file_of(now), &line);
        }
    }
}

fn file_of(time: Timestamp) -> String {
    format!("{}.jsonl", time.day())
}

/// All days that have a file, oldest first.
pub fn days(room: &Room) -> Result<Vec<String>, Error> {
    let Some(folder) = folder(room)? else { return Ok(vec![]) };
    let names = folder.names(|_, _| true)?;
    Ok(names.iter().filter_map(|name| name.strip_suffix(".jsonl")).map(str::to_owned).collect())
}

/// The events of one day after the first `skip` bytes, and the number of bytes now. Lines that are not events are skipped.
pub fn events(room: &Room, day: &str, skip: usize) -> Result<(Vec<Event>, usize), Error> {
    let Some((bytes, before)) = folder(room)?.map(|f| read_day(&f, day)).transpose()?.flatten() else {
        return Ok((vec![], 0));
    };
    let skip = skip.max(before);
    let fresh = bytes.get(skip - before..).unwrap_or_default();
    // A line that is still being written is left for the next read.
    let whole = fresh.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let events =
        fresh[..whole].split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    Ok((events, skip + whole))
}

/// The content of a day's file, and the number of bytes cut off before it.
fn read_day(folder: &Dir, day: &str) -> Result<Option<(Vec<u8>, usize)>, Error> {
    let Some(file) = folder.open_file(&format!("{day}.jsonl")).if_any()? else { return Ok(None) };
    let (bytes, before) = file.tail(DAY_LIMIT)?;
    Ok(Some((bytes, usize::try_from(before).unwrap_or(usize::MAX))))
}

/// All events whose lines contain one of these texts, oldest first. Other lines are not parsed: a journal is long, and
/// a query needs little of it.
pub fn mentions(room: &Room, texts: &[&str]) -> Result<Vec<Event>, Error> {
    let Some(folder) = folder(room)? else { return Ok(vec![]) };
    let mut found = vec![];
    for day in days(room)? {
        let (bytes, _) = read_day(&folder, &day)?.unwrap_or_default();
        let lines = String::from_utf8_lossy(&bytes);
        let asked = lines.split('\n').filter(|line| texts.iter().any(|text| line.contains(text)));
        found.extend(asked.filter_map(|line| serde_json::from_str(line).ok()));
    }
    Ok(found)
}

/// The newest `limit` events, in order of time.
pub fn latest(room: &Room, limit: usize) -> Result<Vec<Event>, Error> {
    let mut found: Vec<Event> = vec![];
    for day in days(room)?.iter().rev() {
        let (mut events, _) = events(room, day, 0)?;
        events.append(&mut found);
        found = events;
        if found.len() >= limit {
            break;
        }
    }
    Ok(found.split_off(found.len().saturating_sub(limit)))
}

/// Removes days that are older than the room keeps.
pub fn prune(room: &Room) -> Result<usize, Error> {
    let Some(folder) = folder(room)? else { return Ok(0) };
    let keep = i64::from(room.limits().journal_days) * 86_400;
    let oldest = Timestamp::from_parts(room.clock().now().seconds() - keep, 0).day();
    let old: Vec<_> = days(room)?.into_iter().filter(|day| *day < oldest).collect();
    for day in &old {
        folder.remove(&format!("{day}.jsonl"))?;
    }
    Ok(old.len())
}

fn folder(room: &Room) -> Result<Option<Dir>, Error> {
    room.root().sub(FOLDER).if_any()
}
