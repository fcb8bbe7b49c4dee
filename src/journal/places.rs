//! Places in the journal: what came behind one, what is the newest before one.
//!
//! A place is the end of a whole line, so nothing is told in part, and who goes on from a place is told each event once.

use super::{Error, Event, days, file_of_day, folder, parsed, read_day};
use crate::mailbox::IfAny;
use crate::room::Room;

/// More than most events have.
const LINE: usize = 512;

/// A place in the journal: a day, and a number of bytes of its file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub day: String,
    pub bytes: usize,
}

/// The place behind which new events come.
pub fn end(room: &Room) -> Result<Position, Error> {
    let day = room.clock().now().day();
    Ok(Position { bytes: whole_lines(room, &day)?, day })
}

/// The number of bytes of a day's whole lines. Each line is one write, but one that crosses pages of memory is seen in parts while it is written.
fn whole_lines(room: &Room, day: &str) -> Result<usize, Error> {
    let size = size_of(room, day)?;
    let mut read = LINE;
    while let Some(folder) = folder(room)?.filter(|_| size > 0) {
        let start = size.saturating_sub(read);
        let Some((bytes, before)) = read_day(&folder, day, start)? else { break };
        if let Some(at) = bytes.iter().rposition(|b| *b == b'\n') {
            return Ok(before + at + 1);
        }
        if start == 0 {
            break;
        }
        read = read.saturating_mul(8);
    }
    Ok(0)
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{FOLDER, file_of};
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
    fn a_line_that_is_seen_in_parts_is_behind_the_end_and_not_cut_by_it() {
        let temp = tempfile::tempdir().unwrap();
        let room = room(temp.path());
        let start = end(&room).unwrap();
        let append = |text: &[u8]| {
            let folder = room.root().create_dir(FOLDER).unwrap();
            folder.append(&file_of(room.clock().now()), text).unwrap();
        };
        append(b"{\"event\":\"sent\",");
        assert_eq!(end(&room).unwrap(), start);
        append(b"\"id\":\"0\"}\n");
        let (events, place) = after(&room, &start).unwrap();
        assert_eq!(ids(&events), ["0"]);
        append(format!("{{\"event\":\"sent\",\"note\":\"{}", "x".repeat(9 * LINE)).as_bytes());
        assert_eq!(end(&room).unwrap(), place);
        append(b"\",\"id\":\"1\"}\n");
        assert_eq!(ids(&after(&room, &place).unwrap().0), ["1"]);
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
