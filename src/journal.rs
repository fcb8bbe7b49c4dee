//! The journal: a history for people. One line of JSON per event in `<root>/.journal/<day>.jsonl`.
//!
//! Each line is one appending write after the event, without sync. A failed write is ignored, and nothing depends on a
//! line being there. `trace` and `log` read the journal and say so when it has no evidence.

mod places;

use std::borrow::Cow;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::mailbox::{Dir, Error, IfAny};
use crate::room::Room;

pub use places::{Position, after, between, distance, end, latest, latest_before};

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
    file_of_day(&time.day())
}

fn file_of_day(day: &str) -> String {
    format!("{day}.jsonl")
}

/// All days that have a file, oldest first.
pub fn days(room: &Room) -> Result<Vec<String>, Error> {
    let Some(folder) = folder(room)? else { return Ok(vec![]) };
    let names = folder.names(|_, _| true)?;
    Ok(names.iter().filter_map(|name| name.strip_suffix(".jsonl")).map(str::to_owned).collect())
}

/// The events of one day after the first `skip` bytes, and the number of bytes now. Lines that are not events are skipped.
pub fn events(room: &Room, day: &str, skip: usize) -> Result<(Vec<Event>, usize), Error> {
    let Some((fresh, before)) = folder(room)?.map(|f| read_day(&f, day, skip)).transpose()?.flatten() else {
        return Ok((vec![], 0));
    };
    // A line that is still being written is left for the next read.
    let whole = fresh.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    Ok((parsed(&fresh[..whole]).collect(), before + whole))
}

/// One line of the journal while it is read. It is not kept, so a long day takes no memory.
#[derive(Debug, Default, Deserialize)]
pub struct EventLine<'a> {
    #[serde(borrow, default)]
    pub time: Cow<'a, str>,
    #[serde(borrow)]
    pub event: Cow<'a, str>,
    #[serde(borrow, default)]
    pub by: Cow<'a, str>,
    #[serde(borrow, default)]
    pub id: Cow<'a, str>,
    #[serde(borrow, default)]
    pub to: Cow<'a, str>,
    #[serde(borrow, default)]
    pub mailbox: Cow<'a, str>,
    #[serde(borrow, default)]
    pub subject: Cow<'a, str>,
    #[serde(borrow, default)]
    pub reply_to: Cow<'a, str>,
    #[serde(borrow, default)]
    pub file: Cow<'a, str>,
    #[serde(borrow, default)]
    pub note: Cow<'a, str>,
}

/// Reads one day, line by line. Lines that are not events are skipped.
pub fn each(room: &Room, day: &str, mut take: impl FnMut(EventLine<'_>)) -> Result<(), Error> {
    let Some(folder) = folder(room)? else { return Ok(()) };
    let Some(file) = folder.open_file(&file_of_day(day)).if_any()? else { return Ok(()) };
    file.each_line(DAY_LIMIT, |line| {
        if let Ok(event) = serde_json::from_slice(line) {
            take(event);
        }
    })
}

/// The content of a day's file after the first `skip` bytes, and the number of bytes before it.
fn read_day(folder: &Dir, day: &str, skip: usize) -> Result<Option<(Vec<u8>, usize)>, Error> {
    let Some(file) = folder.open_file(&file_of_day(day)).if_any()? else { return Ok(None) };
    let (bytes, before) = file.tail_after(skip as u64, DAY_LIMIT)?;
    Ok(Some((bytes, usize::try_from(before).unwrap_or(usize::MAX))))
}

/// All events whose lines contain one of these texts, oldest first.
pub fn mentions(room: &Room, texts: &[&str]) -> Result<Vec<Event>, Error> {
    let mut found = vec![];
    each_mention(room, texts, |line| found.extend(serde_json::from_str::<Event>(line)))?;
    Ok(found)
}

/// The files that came into a mailbox, as far as the journal tells.
pub fn files_to(room: &Room, mailbox: &str) -> Result<HashSet<String>, Error> {
    let mut files = HashSet::new();
    each_mention(room, &[mailbox], |line| {
        let event: Option<EventLine<'_>> = serde_json::from_str(line).ok();
        let file = event.filter(|event| event.event == "sent" && event.to == mailbox).map(|event| event.file);
        files.extend(file.map(Cow::into_owned));
    })?;
    Ok(files)
}

/// The lines that contain one of these texts. Other lines are not parsed: a journal is long, and a query needs little of it.
fn each_mention(room: &Room, texts: &[&str], mut take: impl FnMut(&str)) -> Result<(), Error> {
    let Some(folder) = folder(room)? else { return Ok(()) };
    for day in days(room)? {
        let Some(file) = folder.open_file(&file_of_day(&day)).if_any()? else { continue };
        file.each_line(DAY_LIMIT, |line| {
            // A line that is no text is no event.
            let line = str::from_utf8(line).unwrap_or_default();
            if texts.iter().any(|text| line.contains(text)) {
                take(line);
            }
        })?;
    }
    Ok(())
}

/// Removes days that are older than the room keeps.
pub fn prune(room: &Room) -> Result<usize, Error> {
    let Some(folder) = folder(room)? else { return Ok(0) };
    let keep = i64::from(room.limits().journal_days) * 86_400;
    let oldest = Timestamp::from_parts(room.clock().now().seconds() - keep, 0).day();
    let old: Vec<_> = days(room)?.into_iter().filter(|day| *day < oldest).collect();
    for day in &old {
        folder.remove(&file_of_day(day))?;
    }
    Ok(old.len())
}

/// The events of whole lines. Lines that are not events are skipped.
fn parsed(bytes: &[u8]) -> impl Iterator<Item = Event> {
    bytes.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}

fn folder(room: &Room) -> Result<Option<Dir>, Error> {
    room.root().sub(FOLDER).if_any()
}
