//! The wake-up: how long after a message is published a waiting process has ended, and how often an idle one stirs.
//!
//! The message is published by the bench itself, by one rename, and only when the process is known to sleep with a
//! watch; so neither its start nor the sender's work is in the figure. Its own work after the wake-up is: it has to look at
//! the mail and tell of it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::Bench;
use super::mail::rows;
use super::pair::{Pair, Sides, Unit, microseconds};
use super::place::Place;
use super::room::{Room, file_name};
use super::table::{Limit, Row, Without};
use super::trace::Trace;

/// The issue asks for a 99th percentile, which needs some hundreds.
const SAMPLES: usize = 500;
const PATIENCE: Duration = Duration::from_secs(10);
/// Seconds that an idle wait is watched, and the seconds that must lie between two bursts of calls.
const IDLE: &str = "17";
const BETWEEN: f64 = 5.0;
/// The second in which a process starts and the one in which it times out are not idle.
const SETTLED: f64 = 1.0;

pub(crate) fn wake(bench: &Bench) -> Vec<Row> {
    rows("`wait`", || {
        let place = Place::tmpfs()?;
        let room = Room::set_up(&bench.programs, &place.dir, &["alice", "bob"])?;
        let pair = Pair::take(Unit::Microseconds, SAMPLES, &mut Wakes { room: &room })?;
        let mut found = vec![
            Row::ratio("wake of a `wait`, p50, tmpfs", &pair, Limit::AtMost(2.0)),
            Row::ratio_at("wake of a `wait`, p99, tmpfs", &pair, 0.99, Limit::AtMost(5.0)),
        ];
        found.extend(rows("idle `wait`", || idle(bench, &room)));
        Ok(found)
    })
}

struct Wakes<'a> {
    room: &'a Room<'a>,
}

impl Sides for Wakes<'_> {
    fn measured(&mut self, round: usize) -> Result<f64, String> {
        self.sample(self.room.postroom("bob", &["wait".as_ref(), "--timeout".as_ref(), "60".as_ref()]), round)
    }

    fn floor(&mut self, round: usize) -> Result<f64, String> {
        self.sample(self.room.floor("wait", "bob", &[])?, round)
    }
}

impl Wakes<'_> {
    fn sample(&self, command: Command, round: usize) -> Result<f64, String> {
        wake_of(self.room, command, "bob", u32::try_from(round).unwrap_or(u32::MAX))
    }
}

/// The time from the arrival of a message to the end of a command that waits for it.
pub(crate) fn wake_of(room: &Room<'_>, mut command: Command, to: &str, number: u32) -> Result<f64, String> {
    let publication = publish(room, to, number)?;
    room.programs.silence(&mut command)?;
    // Its errors are shown: they say why it does not wait.
    let mut child =
        command.stderr(Stdio::inherit()).spawn().map_err(|e| format!("cannot run {command:?}: {e}"))?;
    if let Err(why) = until_waiting(child.id()) {
        let _ = child.kill().and_then(|()| child.wait());
        return Err(why);
    }
    let start = publication.now()?;
    let status = child.wait().map_err(|e| e.to_string())?;
    let took = start.elapsed();
    publication.take_back()?;
    if status.success() { Ok(microseconds(took)) } else { Err(format!("a waiter ended with {status}")) }
}

/// A message that is written, and arrives by one rename.
pub(crate) struct Publication {
    staged: PathBuf,
    published: PathBuf,
}

pub(crate) fn publish(room: &Room<'_>, to: &str, number: u32) -> Result<Publication, String> {
    let name = file_name(number);
    let (staged, published) = (room.folder(to, "tmp")?.join(&name), room.folder(to, "inbox")?.join(&name));
    room.write(&staged, number, to)?;
    Ok(Publication { staged, published })
}

impl Publication {
    /// The moment before it arrives.
    pub(crate) fn now(&self) -> Result<Instant, String> {
        let start = Instant::now();
        renameat_with(CWD, &self.staged, CWD, &self.published, RenameFlags::NOREPLACE)
            .map_err(|e| e.to_string())?;
        Ok(start)
    }

    /// Changes its text before it arrives.
    pub(crate) fn change(&self, change: impl FnOnce(String) -> String) -> Result<(), String> {
        let text = fs::read_to_string(&self.staged).map_err(|e| e.to_string())?;
        fs::write(&self.staged, change(text)).map_err(|e| e.to_string())
    }

    pub(crate) fn take_back(self) -> Result<(), String> {
        fs::remove_file(&self.published).map_err(|e| e.to_string())
    }
}

/// Returns when the process sleeps with a watch. On tmpfs nothing before the wait makes it sleep; that it was not
/// scheduled between two looks tells that it really does.
pub(crate) fn until_waiting(process: u32) -> Result<(), String> {
    let start = Instant::now();
    let mut last = None;
    while start.elapsed() < PATIENCE {
        let now = Look::at(process);
        if now.as_ref().is_some_and(|look| look.sleeps) && now == last && has_watch(process) {
            return Ok(());
        }
        last = now;
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(format!("a waiter did not wait on a watch within {} s", PATIENCE.as_secs()))
}

/// What can be seen of a process from outside.
#[derive(Debug, PartialEq)]
struct Look {
    sleeps: bool,
    /// The lines that count how often it was scheduled.
    switches: Vec<String>,
}

impl Look {
    fn at(process: u32) -> Option<Self> {
        fs::read_to_string(format!("/proc/{process}/status")).ok().map(|status| Self::parse(&status))
    }

    fn parse(status: &str) -> Self {
        let lines = || status.lines();
        Self {
            sleeps: lines().any(|line| line.starts_with("State:\tS")),
            switches: lines().filter(|line| line.contains("ctxt_switches")).map(str::to_owned).collect(),
        }
    }
}

pub(crate) fn has_watch(process: u32) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{process}/fdinfo")) else {
        return false;
    };
    let mut texts = descriptors.flatten().filter_map(|entry| fs::read_to_string(entry.path()).ok());
    texts.any(|text| text.lines().any(|line| line.starts_with("inotify wd:")))
}

fn idle(bench: &Bench, room: &Room<'_>) -> Result<Vec<Row>, Without> {
    let command = room.postroom("bob", &["wait".as_ref(), "--timeout".as_ref(), IDLE.as_ref()]);
    // A wait that times out exits with 1.
    let bursts = Trace::of(&bench.programs, &command, &[1])?.bursts();
    let what = "shortest time between the bursts of an idle `wait`";
    let end = IDLE.parse().unwrap_or(f64::MAX) - SETTLED;
    let row = match shortest_gap(&bursts, end) {
        // The clock of the trace is another one: a hundredth of a second is not an earlier burst.
        Some(gap) => Row::count(what, (gap * 100.0).round() / 100.0, " s", Limit::AtLeast(BETWEEN)),
        None => Row::count("bursts of an idle `wait`", 0.0, "", Limit::AtMost(0.0)),
    };
    Ok(vec![row])
}

/// The shortest time from one burst to the next, up to the end of idleness; the first burst is the start itself.
fn shortest_gap(bursts: &[f64], end: f64) -> Option<f64> {
    let idle: Vec<f64> = bursts.iter().copied().filter(|at| *at < end).collect();
    idle.windows(2).map(|pair| pair[1] - pair[0]).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_out_is_no_burst_of_an_idle_wait() {
        assert_eq!(shortest_gap(&[0.0, 5.0, 10.5, 15.0, 17.0], 16.0), Some(4.5));
        assert_eq!(shortest_gap(&[0.0, 17.0], 16.0), None);
    }

    #[test]
    fn a_process_sleeps_that_is_in_state_s() {
        let look = Look::parse(
            "Name:\tx\nState:\tS (sleeping)\nvoluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t0\n",
        );
        assert!(look.sleeps);
        assert_eq!(look.switches.len(), 2);
        assert!(!Look::parse("State:\tR (running)\n").sleeps);
    }
}
