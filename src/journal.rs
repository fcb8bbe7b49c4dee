//! The journal: a history for people. One line of JSON per event in `<root>/.journal/<day>.jsonl`.
//!
//! Each line is one appending write after the event, without sync. A failed write is ignored, and nothing depends on a
//! line being there. `trace` and `log` read the journal and say so when it has no evidence.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::mailbox::{Dir, Error, IfAny};
use crate::room::Room;

pub const FOLDER: &str = ".journal";

/// The most bytes that are read of one day. A longer day is cut at the front, because the newest events matter.
const DAY_LIMIT: u64 = 256 * 1024 * 1024;

/// More than most events have.
const LINE: usize = 512;

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

/// A place in the journal: a day, and a number of bytes of its file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub day: String,
    pub bytes: usize,
}

/// The place behind which new events come.
pub fn end(room: &Room) -> Result<Position, Error> {
    let day = room.clock().now().day();
    // Each line is one write, so the end of a file is the end of a line.
    Ok(Position { bytes: size_of(room, &day)?, day })
}

/// The events behind a place, and the place behind them.
pub fn after(room: &Room, place: &Position) -> Result<(Vec<Event>, Position), Error> {
    let end = end(room)?.max(place.clone());
    Ok((between(room, place, &end)?, end))
}

/// The events between two places. The second one must have been an end: no line is cut by it.
pub fn between(room: &Room, from: &Position, to: &Position) -> Result<Vec<Event>, Error> {
    let Some(folder) = folder(room)? else { return Ok(vec![]) };
    let days = match from.day == to.day {
        true => vec![to.day.clone()],
        false => days(room)?.into_iter().filter(|day| (&from.day..=&to.day).contains(&day)).collect(),
    };
    let mut found = vec![];
    for day in days {
        let skip = if day == from.day { from.bytes } else { 0 };
        let Some((mut bytes, before)) = read_day(&folder, &day, skip)? else { continue };
        if day == to.day {
            bytes.truncate(to.bytes.saturating_sub(before));
        }
        found.extend(parsed(&bytes));
    }
    Ok(found)
}

/// How many bytes of events are between two places. `None`: the first one is no place of this journal, whose files may have
/// been removed since, or it is behind the second.
pub fn distance(room: &Room, from: &Position, to: &Position) -> Result<Option<usize>, Error> {
    if from.day == to.day {
        return Ok(to.bytes.checked_sub(from.bytes));
    }
    if from.day > to.day {
        return Ok(None);
    }
    let Some(rest) = size_of(room, &from.day)?.checked_sub(from.bytes) else { return Ok(None) };
    let mut bytes = rest.saturating_add(to.bytes);
    for day in days(room)?.iter().filter(|day| **day > from.day && **day < to.day) {
        bytes = bytes.saturating_add(size_of(room, day)?);
    }
    Ok(Some(bytes))
}

/// The number of bytes of a day; none if it has no file.
fn size_of(room: &Room, day: &str) -> Result<usize, Error> {
    let Some(folder) = folder(room)? else { return Ok(0) };
    let stat = folder.stat(&file_of_day(day)).if_any()?;
    Ok(stat.map_or(0, |stat| usize::try_from(stat.st_size).unwrap_or(0)))
}

/// The events of whole lines. Lines that are not events are skipped.
fn parsed(bytes: &[u8]) -> impl Iterator<Item = Event> {
    bytes.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}

/// The newest `limit` events, in order of time.
pub fn latest(room: &Room, limit: usize) -> Result<Vec<Event>, Error> {
    latest_until(room, None, limit)
}

/// The newest `limit` events before a place that was an end.
pub fn latest_before(room: &Room, place: &Position, limit: usize) -> Result<Vec<Event>, Error> {
    latest_until(room, Some(place), limit)
}

fn latest_until(room: &Room, place: Option<&Position>, limit: usize) -> Result<Vec<Event>, Error> {
    let mut found: Vec<Event> = vec![];
    for day in days(room)?.into_iter().rev().filter(|day| place.is_none_or(|place| *day <= place.day)) {
        let end = match place.filter(|place| place.day == day) {
            Some(place) => place.clone(),
            None => Position { bytes: size_of(room, &day)?, day },
        };
        let mut events = latest_of(room, &end, limit - found.len())?;
        events.append(&mut found);
        found = events;
        if found.len() >= limit {
            break;
        }
    }
    Ok(found)
}

/// The newest `limit` events of one day before a place. A day can be long, so its end is read first.
fn latest_of(room: &Room, end: &Position, limit: usize) -> Result<Vec<Event>, Error> {
    let mut read = limit.saturating_mul(LINE);
    loop {
        // A line that is cut at the front is no event.
        let start = Position { day: end.day.clone(), bytes: end.bytes.saturating_sub(read) };
        let mut events = between(room, &start, end)?;
        if events.len() >= limit || read >= end.bytes {
            return Ok(events.split_off(events.len().saturating_sub(limit)));
        }
        read = read.saturating_mul(8);
    }
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

fn folder(room: &Room) -> Result<Option<Dir>, Error> {
    room.root().sub(FOLDER).if_any()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::SystemClock;

    fn room(temp: &std::path::Path) -> Room {
        Room::open_or_make(&temp.join("room"), Arc::new(SystemClock)).unwrap()
    }

    fn ids(events: &[Event]) -> Vec<&str> {
        events.iter().map(|event| event.id.as_str()).collect()
    }

    fn record(room: &Room, id: usize) {
        // Longer than a line is expected to be.
        Event { id: id.to_string(), note: "x".repeat(2 * LINE), ..Event::new("sent", "a") }.record(room);
    }

    #[test]
    fn events_behind_a_place_come_once_and_over_midnight() {
        let temp = tempfile::tempdir().unwrap();
        let room = room(temp.path());
        let start = end(&room).unwrap();
        (0..3).for_each(|id| record(&room, id));
        let (events, place) = after(&room, &start).unwrap();
        assert_eq!(ids(&events), ["0", "1", "2"]);
        assert_eq!(place, end(&room).unwrap());
        record(&room, 3);
        let yesterday = Position { day: "2026-01-01".to_owned(), bytes: 500 };
        assert_eq!(ids(&after(&room, &place).unwrap().0), ["3"]);
        let (events, now) = after(&room, &yesterday).unwrap();
        assert_eq!((ids(&events).len(), now.clone()), (4, end(&room).unwrap()));
        assert_eq!(after(&room, &now).unwrap(), (vec![], now));
    }

    #[test]
    fn the_latest_events_are_found_at_the_end_of_a_long_day() {
        let temp = tempfile::tempdir().unwrap();
        let room = room(temp.path());
        (0..50).for_each(|id| record(&room, id));
        assert_eq!(ids(&latest(&room, 3).unwrap()), ["47", "48", "49"]);
        assert_eq!(latest(&room, 100).unwrap().len(), 50);
        assert!(latest(&room, 0).unwrap().is_empty());
    }

    #[test]
    fn the_latest_events_before_a_place_are_those_that_are_not_behind_it() {
        let temp = tempfile::tempdir().unwrap();
        let room = room(temp.path());
        (0..5).for_each(|id| record(&room, id));
        let place = end(&room).unwrap();
        (5..9).for_each(|id| record(&room, id));
        assert_eq!(ids(&latest_before(&room, &place, 3).unwrap()), ["2", "3", "4"]);
        assert_eq!(latest_before(&room, &place, 100).unwrap().len(), 5);
        let before = Position { day: "2026-01-01".to_owned(), bytes: 0 };
        assert!(latest_before(&room, &before, 3).unwrap().is_empty());
    }

    #[test]
    fn the_distance_of_places_is_that_of_all_days_between_them() {
        let temp = tempfile::tempdir().unwrap();
        let room = room(temp.path());
        record(&room, 0);
        let place = |day: &str, bytes| Position { day: day.to_owned(), bytes };
        let folder = room.root().sub(FOLDER).unwrap();
        for (day, bytes) in [("2026-01-01", 30), ("2026-01-02", 5)] {
            folder.append(&file_of_day(day), &vec![b'\n'; bytes]).unwrap();
        }
        let now = end(&room).unwrap();
        let far = |from: &Position| distance(&room, from, &now).unwrap();
        assert_eq!(far(&now), Some(0));
        assert_eq!(far(&place("2026-01-01", 10)), Some(20 + 5 + now.bytes));
        // A day without events has no file.
        assert_eq!(far(&place("2026-01-03", 0)), Some(now.bytes));
        let unknown = [place("2026-01-01", 31), place("2026-01-03", 1), place("9999-01-01", 0)];
        assert_eq!(unknown.map(|from| far(&from)), [None; 3]);
        assert_eq!(distance(&room, &place(&now.day, now.bytes + 1), &now).unwrap(), None);
    }
}
