//! Evidence: what `trace` and `thread` look at to answer, in a room of 10,000 messages, with a journal and without.
//!
//! Nothing is timed here. The journal tells who answered what; names carry the digits of an id; so with a journal neither
//! has to open more than the message itself, and directories are only read for their names. Without a journal only the
//! envelopes tell what answers what: `trace` then has to open the mail of the sender, where answers must lie, and `thread`
//! each message, but each once.

use std::fs;
use std::process::Command;

use super::Bench;
use super::mail::rows;
use super::names::member_names;
use super::place::Place;
use super::room::{Letter, Room, digits, file_name, message_id};
use super::table::{Limit, Row, Without};
use super::trace::Trace;

const DONE: &[i32] = &[0];
const MAILBOXES: u32 = 10;
const MESSAGES: u32 = 10_000;
/// One conversation between the first two mailboxes; each answers the one before.
const TALK: [u32; 5] = [0, 1, 10, 11, 20];
/// The message that is asked for: in the middle, and in the mailbox that asks.
const ASKED: u32 = 10;
/// What is read besides the folders: the room and the journal, each perhaps twice, and the two folders of the sender, where
/// answers must lie.
const BESIDES: u32 = 6;

pub(crate) fn evidence(bench: &Bench) -> Vec<Row> {
    rows("`trace` and `thread`", || {
        let place = Place::tmpfs()?;
        let names = member_names(MAILBOXES as usize);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let room = Room::set_up(&bench.programs, &place.dir, &names)?;
        fill(&room, &names)?;
        let traced = Looks::of(bench, &room, "trace")?;
        let threaded = Looks::of(bench, &room, "thread")?;
        let journal = room.root().join(".journal");
        fs::remove_dir_all(&journal).map_err(|e| format!("cannot remove the journal: {e}"))?;
        let traced_bare = Looks::of(bench, &room, "trace")?;
        let threaded_bare = Looks::of(bench, &room, "thread")?;
        let count = |what: &str, value: usize, limit: u32| {
            Row::count(what, value as f64, "", Limit::AtMost(f64::from(limit)))
        };
        let folders = 2 * MAILBOXES;
        // `trace` finds a message by names; `thread` then looks for what the journal does not know.
        let (once, twice) = (folders + BESIDES, 2 * folders + BESIDES);
        Ok(vec![
            count("messages that `trace` opens, of 10,000", traced.opened, TALK.len() as u32),
            count("directories that `trace` reads, of 20", traced.scans, once),
            count("messages that `thread` opens, of 10,000", threaded.opened, TALK.len() as u32),
            count("directories that `thread` reads, of 20", threaded.scans, twice),
            count(
                "other messages that `trace` opens without a journal",
                traced_bare.others,
                MESSAGES / MAILBOXES,
            ),
            count("directories that `trace` reads without a journal", traced_bare.scans, once),
            count("messages that `thread` opens without a journal", threaded_bare.opened, MESSAGES + 2),
            count("directories that `thread` reads without a journal", threaded_bare.scans, twice),
        ])
    })
}

/// What one command looked at.
struct Looks {
    opened: usize,
    /// Messages whose names do not carry the digits that were asked for.
    others: usize,
    scans: usize,
}

impl Looks {
    /// Asks for a message in the middle of the conversation. That the answer is right is checked first: to find nothing
    /// would be frugal.
    fn of(bench: &Bench, room: &Room<'_>, verb: &str) -> Result<Self, Without> {
        let digits = digits(ASKED);
        let command = || -> Command { room.postroom("alice", &[verb.as_ref(), digits.as_ref()]) };
        let said = bench.programs.output(command())?;
        let whole = match verb {
            "thread" => said.lines().count() == TALK.len(),
            _ => said.starts_with(&format!("message: {}\n", message_id(ASKED))),
        };
        if !whole {
            return Err(Without::Failed(format!("`{verb}` does not tell all: {said}")));
        }
        let trace = Trace::of(&bench.programs, &command(), DONE)?;
        let (opened, others) = (trace.messages_opened(), trace.messages_opened_without(&digits));
        Ok(Self { opened, others, scans: trace.scans() })
    }
}

/// Fills the mailboxes in turn, inbox and archive alike, and journals every message as sent.
fn fill(room: &Room<'_>, names: &[&str]) -> Result<(), String> {
    let mut journal = String::new();
    for number in 0..MESSAGES {
        let to = (number % MAILBOXES) as usize;
        // Mailboxes write to each other in pairs.
        let letter =
            Letter { number, from: names[to ^ 1], to: names[to], reply_to: answered(number), body: "body\n" };
        let folder = if (number / MAILBOXES).is_multiple_of(2) { "inbox" } else { "archive" };
        room.put(&room.folder(letter.to, folder)?.join(file_name(number)), &letter)?;
        journal.push_str(&event(room, &letter)?);
    }
    fs::write(room.root().join(".journal/2026-01-01.jsonl"), journal).map_err(|e| e.to_string())
}

/// What a message answers, if it is a later one of the conversation.
fn answered(number: u32) -> Option<u32> {
    TALK.windows(2).find(|pair| pair[1] == number).map(|pair| pair[0])
}

/// The line of the journal that tells of a sent message.
fn event(room: &Room<'_>, letter: &Letter<'_>) -> Result<String, String> {
    let event = serde_json::json!({
        "v": 1,
        "time": "2026-01-01T00:00:00.000Z",
        "event": "sent",
        "by": room.id(letter.from)?,
        "id": message_id(letter.number),
        "to": room.id(letter.to)?,
        "subject": "filled",
        "reply_to": letter.reply_to.map(message_id).unwrap_or_default(),
        "file": file_name(letter.number),
    });
    Ok(format!("{event}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_of_the_conversation_answers_the_one_before() {
        assert_eq!(TALK.map(answered), [None, Some(0), Some(1), Some(10), Some(11)]);
        assert_eq!(answered(2), None);
    }

    #[test]
    fn the_conversation_is_between_two_mailboxes_that_write_to_each_other() {
        assert!(TALK.windows(2).all(|pair| pair[0] % MAILBOXES == (pair[1] % MAILBOXES) ^ 1));
        assert_eq!(ASKED % MAILBOXES, 0);
    }
}
