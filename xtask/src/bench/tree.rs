//! A `.claude` tree: what it costs to change one status, and what a poll of a tree opens in which nothing changed.
//!
//! The smallest verb that changes a status is `archive`: it reads one message and publishes it with one word changed. A
//! message that changed within the last two seconds is read again by every look, whatever the index says, so what is
//! archived here has lain for longer than that, and was looked at once.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::Bench;
use super::mail::{on_both, rows};
use super::pair::{Pair, Sides, Unit, microseconds};
use super::place::Place;
use super::room::{BODY, Room, prose};
use super::table::{Limit, Row, Without};
use super::trace::Trace;

const DONE: &[i32] = &[0];
/// A poll that finds nothing says so by its exit code.
const NOTHING: &[i32] = &[0, 1];
const COMPLETED: u32 = 10_000;
/// How long after its last change a message is known by its index alone; with a margin.
const SETTLED: Duration = Duration::from_millis(2200);

/// A room and a project whose agents are explore and writer.
struct Tree<'a> {
    room: Room<'a>,
    claude: PathBuf,
}

impl<'a> Tree<'a> {
    fn set_up(bench: &'a Bench, dir: &Path) -> Result<Self, String> {
        let room = Room::set_up(&bench.programs, dir, &["alice"])?;
        let project = dir.join("project");
        fs::create_dir_all(&project).map_err(|e| e.to_string())?;
        let words: [&OsStr; 5] =
            ["setup".as_ref(), "--tree".as_ref(), project.as_os_str(), "explore".as_ref(), "writer".as_ref()];
        bench.programs.output(room.postroom("alice", &words))?;
        Ok(Self { room, claude: project.join(".claude") })
    }

    fn path(&self, number: u32) -> PathBuf {
        self.claude.join("inboxes/explore").join(format!("{}.md", id(number)))
    }

    /// Writes a message of 2 KiB behind Postroom's back.
    fn put(&self, number: u32, status: &str) -> Result<(), String> {
        write(&self.path(number), &message(number, status))
    }

    /// Writes a completed response to a message.
    fn answer(&self, number: u32) -> Result<(), String> {
        let to = asker(number);
        let text = format!(
            "---\nid: {0}-response\nrequest_id: {0}\nfrom: explore\nto: {to}\nstatus: completed\ncreated: 2026-01-01T00:00:00Z\n---\n\nDone.\n",
            id(number)
        );
        write(&self.claude.join("outboxes/explore").join(format!("{}-response.md", id(number))), &text)
    }

    fn check(&self) -> Command {
        self.room.postroom("explore", &["check".as_ref()])
    }

    fn archive(&self, number: u32) -> Command {
        let id = id(number);
        self.room.postroom("explore", &["archive".as_ref(), id.as_ref()])
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let told = |e: std::io::Error| format!("{}: {e}", path.display());
    let mut file = File::create(path).map_err(told)?;
    file.write_all(text.as_bytes()).map_err(told)
}

fn id(number: u32) -> String {
    format!("2026-01-01-{:03}", number + 1)
}

/// Half of the messages are asked by another agent, which would look for its answers here.
fn asker(number: u32) -> &'static str {
    if number.is_multiple_of(2) { "user" } else { "writer" }
}

fn message(number: u32, status: &str) -> String {
    let (id, from, body) = (id(number), asker(number), prose(BODY));
    format!(
        "---\nid: {id}\nfrom: {from}\nto: explore\nstatus: {status} # pending | in_progress | completed | failed\ncreated: 2026-01-01T00:00:00Z\n---\n\n{body}"
    )
}

pub(crate) fn change(bench: &Bench) -> Vec<Row> {
    on_both("a change of status", |place| {
        let tree = Tree::set_up(bench, &place.dir)?;
        let mut changes = Changes { tree: &tree, next: 0 };
        changes.stock()?;
        let pair = Pair::take(Unit::Microseconds, bench.rounds, &mut changes)?;
        let what = format!("a change of status of 2 KiB, {}", place.kind);
        let mut found = vec![Row::ratio(what, &pair, Limit::AtMost(1.35))];
        if place.kind == "tmpfs" {
            changes.stock()?;
            found.extend(rows("calls of a change of status", || {
                let trace = Trace::of_heard(&bench.programs, &tree.archive(changes.next), DONE)?;
                Ok(vec![
                    Row::count("fsyncs of a change of status", trace.syncs() as f64, "", Limit::AtMost(2.0)),
                    // Once to change it, and once more what was displaced: another hand may have written it meanwhile.
                    Row::count(
                        "messages that a change of status reads",
                        trace.messages_read() as f64,
                        "",
                        Limit::AtMost(2.0),
                    ),
                    Row::count("system calls of a change of status", trace.calls() as f64, "", Limit::None),
                ])
            }));
        }
        Ok(found)
    })
}

/// Messages of an inbox that never holds many, each archived once.
struct Changes<'a> {
    tree: &'a Tree<'a>,
    next: u32,
}

/// Messages that are put into the inbox at once.
const STOCK: u32 = 40;

impl Changes<'_> {
    /// Fills the inbox anew and lets it settle, so that a look knows all of it by its index.
    fn stock(&mut self) -> Result<(), String> {
        self.next = 0;
        for number in 0..STOCK {
            self.tree.put(number, "pending")?;
        }
        self.tree.room.settle()?;
        std::thread::sleep(SETTLED);
        self.tree.room.programs.output(self.tree.check()).map(|_| ())
    }

    fn take(&mut self) -> Result<u32, String> {
        if self.next + 2 >= STOCK {
            self.stock()?;
        }
        self.next += 1;
        Ok(self.next - 1)
    }
}

impl Sides for Changes<'_> {
    fn measured(&mut self, _round: usize) -> Result<f64, String> {
        let number = self.take()?;
        self.tree.room.programs.time(self.tree.archive(number), DONE).map(microseconds)
    }

    fn floor(&mut self, _round: usize) -> Result<f64, String> {
        let number = self.take()?;
        let name = format!("{}.md", id(number));
        let args: [&OsStr; 4] =
            ["change".as_ref(), self.tree.claude.as_os_str(), "explore".as_ref(), name.as_ref()];
        let took = self.tree.room.programs.time(self.tree.room.programs.floor(&args), DONE)?;
        // What it displaced is not removed by it.
        fs::remove_file(self.tree.path(number).with_file_name(format!(".{name}.floor")))
            .map_err(|e| e.to_string())?;
        Ok(microseconds(took))
    }
}

pub(crate) fn poll(bench: &Bench) -> Vec<Row> {
    rows("a poll of 10,000", || {
        let place = Place::tmpfs()?;
        let tree = Tree::set_up(bench, &place.dir)?;
        for number in 0..COMPLETED {
            tree.put(number, "completed")?;
            tree.answer(number)?;
        }
        std::thread::sleep(SETTLED);
        let status = || {
            let words: [&OsStr; 4] =
                ["tree".as_ref(), "status".as_ref(), "--tree".as_ref(), tree.claude.as_os_str()];
            tree.room.postroom("alice", &words)
        };
        let opened = |command: Command| -> Result<f64, Without> {
            Ok(Trace::of_heard(&bench.programs, &command, NOTHING)?.messages_opened() as f64)
        };
        let first = opened(tree.check())?;
        opened(status())?;
        let second = opened(tree.check())?;
        let second_status = opened(status())?;
        let start = Instant::now();
        bench.programs.time(tree.check(), NOTHING)?;
        let took = start.elapsed();
        for number in [7, 70, 700] {
            tree.put(number, "failed")?;
        }
        let changed = opened(tree.check())?;
        std::thread::sleep(SETTLED);
        opened(tree.check())?;
        let settled = opened(tree.check())?;
        Ok(vec![
            Row::count("messages that the first poll of 10,000 opens", first, "", Limit::None),
            Row::count("messages that the second poll opens", second, "", Limit::AtMost(0.0)),
            // The two files of shared state, which it shows.
            Row::count("files that a second `status` opens", second_status, "", Limit::AtMost(2.0)),
            Row::count("messages that a poll opens after 3 changed", changed, "", Limit::AtMost(3.0)),
            Row::count("messages that the poll after that opens", settled, "", Limit::AtMost(0.0)),
            Row::count(
                "a poll of 10,000 in which nothing changed",
                took.as_millis() as f64,
                " ms",
                Limit::None,
            ),
        ])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_three_digits_or_more() {
        assert_eq!((id(0).as_str(), id(9_999).as_str()), ("2026-01-01-001", "2026-01-01-10000"));
        assert!(message(0, "pending").starts_with("---\nid: 2026-01-01-001\n"));
    }
}
