//! `names` in rooms of different sizes: each mailbox and each unread message must cost the same in a large room as in a
//! small one.
//!
//! What is compared is the time for one item, a mailbox or an unread message. The time of a process in a room with one
//! empty mailbox is taken off first, because in a small room it would hide how much an item costs.

use std::path::Path;
use std::process::Command;

use super::Bench;
use super::mail::rows;
use super::pair::{Pair, Sides, Unit, microseconds};
use super::place::Place;
use super::room::Room;
use super::table::{Limit, Row, Without};
use super::trace::Trace;

const DONE: &[i32] = &[0];
/// The large room takes long enough to need few rounds.
const ROUNDS: usize = 100;
/// How much dearer an item may be in the larger room.
const GROWTH: Limit = Limit::AtMost(1.5);

pub(crate) fn names(bench: &Bench) -> Vec<Row> {
    rows("`names`", || {
        let place = Place::tmpfs()?;
        let alone = Crowd::set_up(bench, &place.dir.join("alone"), 1)?;
        let mut small = Crowd::set_up(bench, &place.dir.join("small"), 100)?;
        let mut large = Crowd::set_up(bench, &place.dir.join("large"), 1000)?;
        small.fill(10)?;
        large.fill(10)?;
        let take = |large: &Crowd<'_>| {
            Pair::take(Unit::Nanoseconds, ROUNDS, &mut Sizes { alone: &alone, small: &small, large })
        };
        let mailboxes = take(&large)?;
        large.fill(100)?;
        let unread = take(&large)?;
        let trace = Trace::of(&bench.programs, &large.command(), DONE);
        let mut found = vec![
            Row::ratio("`names`, an item of 1,000 × 10 against 100 × 10", &mailboxes, GROWTH),
            Row::ratio("`names`, an item of 1,000 × 100 against 100 × 10", &unread, GROWTH),
        ];
        found.extend(rows("calls of `names`", || {
            let trace = trace?;
            let calls = (trace.calls() as f64 / large.mailboxes as f64 * 10.0).round() / 10.0;
            Ok(vec![
                Row::count(
                    "messages that `names` opens, of 100,000",
                    trace.messages_opened() as f64,
                    "",
                    Limit::AtMost(0.0),
                ),
                Row::count("system calls of `names` for a mailbox", calls, "", Limit::None),
            ])
        }));
        Ok(found)
    })
}

/// A room with this many mailboxes and as many unread messages in each.
struct Crowd<'a> {
    room: Room<'a>,
    names: Vec<String>,
    mailboxes: usize,
    unread: u32,
}

impl<'a> Crowd<'a> {
    fn set_up(bench: &'a Bench, dir: &Path, mailboxes: usize) -> Result<Self, Without> {
        std::fs::create_dir_all(dir).map_err(|e| e.to_string())?;
        let names = member_names(mailboxes);
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        Ok(Self { room: Room::set_up(&bench.programs, dir, &all)?, names, mailboxes, unread: 0 })
    }

    /// Brings every inbox to so many messages.
    fn fill(&mut self, unread: u32) -> Result<(), String> {
        self.names.iter().try_for_each(|name| self.room.fill_with(name, self.unread..unread))?;
        self.unread = unread;
        Ok(())
    }

    fn command(&self) -> Command {
        self.room.postroom("alice", &["names".as_ref()])
    }

    fn items(&self) -> f64 {
        self.mailboxes as f64 * f64::from(1 + self.unread)
    }
}

struct Sizes<'a> {
    alone: &'a Crowd<'a>,
    small: &'a Crowd<'a>,
    large: &'a Crowd<'a>,
}

impl Sides for Sizes<'_> {
    fn measured(&mut self, _round: usize) -> Result<f64, String> {
        self.item_of(self.large)
    }

    fn floor(&mut self, _round: usize) -> Result<f64, String> {
        self.item_of(self.small)
    }
}

impl Sizes<'_> {
    /// Nanoseconds for one item.
    fn item_of(&self, crowd: &Crowd<'_>) -> Result<f64, String> {
        let time = |crowd: &Crowd<'_>| crowd.room.programs.time(crowd.command(), DONE).map(microseconds);
        let (start, whole) = (time(self.alone)?, time(crowd)?);
        Ok((whole - start) * 1000.0 / (crowd.items() - 1.0))
    }
}

/// `alice`, from whom mail comes, and others.
pub(crate) fn member_names(count: usize) -> Vec<String> {
    let others = (1..count).map(|number| format!("member{number:04}"));
    std::iter::once("alice".to_owned()).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_the_first_is_alice() {
        let mut names = member_names(1000);
        assert_eq!((names.len(), names[0].as_str()), (1000, "alice"));
        names.dedup();
        assert_eq!(names.len(), 1000);
    }
}
