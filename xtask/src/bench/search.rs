//! Search: a rare word in 100,000 messages that are in memory, against a bare parallel scan of the same bytes.
//!
//! The floor uses as many threads, and does nothing with a file but open it, read it once, look for the word and close
//! it. Its search looks for the first two bytes of the word, 32 places at a time, and knows no case, where `search` ignores
//! it. The memory of a `search` is compared with that of one in a tenth of the messages.

use std::num::NonZero;
use std::process::Command;
use std::thread::available_parallelism;

use super::Bench;
use super::mail::{on_both, rows};
use super::names::member_names;
use super::pair::{Pair, Unit};
use super::room::{Letter, Room, file_name, prose};
use super::runs::Runs;
use super::table::{Limit, Row};
use super::trace::peak_memory;

const FOUND: &[i32] = &[0];
const MAILBOXES: u32 = 50;
const FEW: u32 = 10_000;
const MANY: u32 = 100_000;
/// A whole message, envelope included, has about 1.35 KB.
const BODY: usize = 1200;
const WORD: &str = "zyzzyva";
/// One message in so many has the word.
const RARE: u32 = 20_000;
const ROUNDS: usize = 40;
/// Postroom takes no more threads, however many cores there are.
const MOST_THREADS: usize = 8;

pub(crate) fn search(bench: &Bench) -> Vec<Row> {
    on_both("`search`", |place| {
        let names = member_names(MAILBOXES as usize);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let room = Room::set_up(&bench.programs, &place.dir, &names)?;
        let command = || -> Command {
            let limit = ["--limit".as_ref(), "100".as_ref()];
            room.postroom("alice", &[&["search".as_ref(), WORD.as_ref()], &limit[..]].concat())
        };
        fill(&room, &names, 0..FEW)?;
        let few = peak_memory(&bench.programs, &command());
        fill(&room, &names, FEW..MANY)?;
        expect(&bench.programs.output(command())?, "search")?;
        let floor = |_| {
            let threads = available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS).to_string();
            let args = ["search".as_ref(), room.root().as_os_str(), threads.as_ref(), WORD.as_ref()];
            Ok(bench.programs.floor(&args))
        };
        expect(&bench.programs.output(floor(0)?)?, "floor search")?;
        let measured = |_| Ok(command());
        let runs = Runs { room: &room, measured: &measured, floor: &floor, expected: FOUND, receivers: &[] };
        let pair = runs.take_among_others(ROUNDS)?;
        let what = format!("`search` of 100,000, warm, {}", place.kind);
        let mut found = vec![Row::ratio(what, &pair, Limit::AtMost(1.5))];
        if place.kind == "tmpfs" {
            let what = "memory of `search`, 100,000 against 10,000";
            found.extend(rows(what, || {
                let (many, few) = (peak_memory(&bench.programs, &command())? as f64, few? as f64);
                let pair = Pair { unit: Unit::Bytes, rounds: vec![(many, few)] };
                Ok(vec![Row::ratio_at(what, &pair, 0.5, Limit::AtMost(1.5))])
            }));
        }
        Ok(found)
    })
}

/// Puts messages into the mailboxes in turn, inbox and archive alike.
fn fill(room: &Room<'_>, names: &[&str], numbers: std::ops::Range<u32>) -> Result<(), String> {
    let plain = prose(BODY);
    let rare = format!("{}\n{WORD}\n", prose(BODY - WORD.len() - 2));
    for number in numbers {
        let to = names[(number % MAILBOXES) as usize];
        let body = if has_word(number) { &rare } else { &plain };
        let letter = Letter { number, from: "alice", to, reply_to: None, body };
        let folder = if (number / MAILBOXES).is_multiple_of(2) { "inbox" } else { "archive" };
        room.put(&room.folder(to, folder)?.join(file_name(number)), &letter)?;
    }
    room.settle()
}

fn has_word(number: u32) -> bool {
    number % RARE == RARE / 3
}

/// Every message that has the word must have been found: to miss some would be quick.
fn expect(said: &str, what: &str) -> Result<(), String> {
    let (found, there) = (hits(said), (0..MANY).filter(|number| has_word(*number)).count());
    if found == there { Ok(()) } else { Err(format!("`{what}` finds {found} of {there} messages: {said}")) }
}

/// The lines that tell of a message: both sides print a line for each with its folder in it.
fn hits(said: &str) -> usize {
    said.lines().filter(|line| line.contains("/inbox") || line.contains("/archive")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_rare_and_occurs_among_the_few() {
        assert_eq!((0..MANY).filter(|number| has_word(*number)).count(), 5);
        assert_eq!((0..FEW).filter(|number| has_word(*number)).count(), 1);
        assert!(!prose(BODY).contains(WORD));
    }

    #[test]
    fn a_hit_is_a_line_with_its_folder() {
        let said = "9e3779b1 alice/inbox alice: filled\n  17: zyzzyva\n/r/a/archive/x.md\n";
        assert_eq!(hits(said), 2);
        assert!(expect("", "search").unwrap_err().contains("finds 0 of 5"));
    }
}
