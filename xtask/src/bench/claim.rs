//! The work queue: what it costs to claim a message and to finish it, each as a cold process.

use std::ffi::OsStr;
use std::fs;
use std::process::Command;

use super::Bench;
use super::mail::{on_both, rows};
use super::pair::{Pair, Sides, Unit, microseconds};
use super::room::{BODY, Letter, Room, file_name, prose};
use super::table::{Limit, Row, Without};
use super::trace::Trace;

const DONE: &[i32] = &[0];
/// Rounds between two sweeps of the archive.
const SWEEP: usize = 20;

pub(crate) fn claim(bench: &Bench) -> Vec<Row> {
    on_both("`claim` and `done`", |place| {
        let room = Room::set_up(&bench.programs, &place.dir, &["alice", "bob"])?;
        // The floor makes no directories that are made once.
        fs::create_dir_all(room.folder("bob", "claimed")?).map_err(|e| e.to_string())?;
        let mut queue = Queue { room: &room, body: prose(BODY) };
        let pair = Pair::take(Unit::Microseconds, bench.rounds, &mut queue)?;
        let what = format!("`claim` and `done` of 2 KiB, {}", place.kind);
        let mut found = vec![Row::ratio(what, &pair, Limit::AtMost(1.35))];
        if place.kind == "tmpfs" {
            found.extend(rows("calls of `claim` and `done`", || calls(bench, &queue)));
        }
        Ok(found)
    })
}

struct Queue<'a> {
    room: &'a Room<'a>,
    body: String,
}

impl Sides for Queue<'_> {
    fn measured(&mut self, round: usize) -> Result<f64, String> {
        self.put(2 * round)?;
        let claim = self.time(self.claim())?;
        let done = self.time(self.done(&self.token()?))?;
        Ok(claim + done)
    }

    fn floor(&mut self, round: usize) -> Result<f64, String> {
        // Another name, because the archive keeps both.
        self.put(2 * round + 1)?;
        let token = format!("{round:016x}");
        let claim = self.time(self.room.floor("claim", "bob", &[&token])?)?;
        let done = self.time(self.room.floor("done", "bob", &[&token])?)?;
        Ok(claim + done)
    }

    fn after(&mut self, round: usize) -> Result<(), String> {
        if round % SWEEP == SWEEP - 1 {
            self.room.empty("bob", "archive")?;
        }
        Ok(())
    }
}

impl Queue<'_> {
    fn claim(&self) -> Command {
        self.room.postroom("bob", &["claim".as_ref()])
    }

    fn done(&self, token: &str) -> Command {
        let args: [&OsStr; 2] = ["done".as_ref(), token.as_ref()];
        self.room.postroom("bob", &args)
    }

    fn time(&self, command: Command) -> Result<f64, String> {
        self.room.programs.time_heard(command, DONE).map(microseconds)
    }

    /// Puts the one message there is to claim into the inbox.
    fn put(&self, number: usize) -> Result<(), String> {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let letter = Letter { number, from: "alice", to: "bob", reply_to: None, body: &self.body };
        self.room.put(&self.room.folder("bob", "inbox")?.join(file_name(number)), &letter)?;
        self.room.settle()
    }

    /// The token of the one claim there is.
    fn token(&self) -> Result<String, String> {
        let told = |e: std::io::Error| format!("cannot look for the claim: {e}");
        let mut claims = fs::read_dir(self.room.folder("bob", "claimed")?).map_err(told)?;
        let claim = claims.next().ok_or("`claim` left no claim")?.map_err(told)?;
        Ok(claim.file_name().to_string_lossy().into_owned())
    }
}

/// The order of format.md §5.5 needs three fsyncs for a claim; a move into the archive needs two, that of the file among them.
fn calls(bench: &Bench, queue: &Queue<'_>) -> Result<Vec<Row>, Without> {
    queue.room.empty("bob", "archive")?;
    queue.put(0)?;
    let claim = Trace::of_heard(&bench.programs, &queue.claim(), DONE)?;
    let done = Trace::of_heard(&bench.programs, &queue.done(&queue.token()?), DONE)?;
    Ok(vec![
        // One of them makes the place of an empty folder durable: its maker may have been interrupted before.
        Row::count("fsyncs of a `claim`", claim.syncs() as f64, "", Limit::AtMost(4.0)),
        Row::count("fsyncs of a `done`", done.syncs() as f64, "", Limit::AtMost(3.0)),
        Row::count("system calls of a `claim`", claim.calls() as f64, "", Limit::None),
        Row::count("system calls of a `done`", done.calls() as f64, "", Limit::None),
    ])
}
