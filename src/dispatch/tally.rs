//! The tally: how many recent runs an agent had and what they cost, and how many a thread had. Each question needs one
//! small file, however many runs there were.
//!
//! ```text
//! .dispatch/tally/<mailbox>   one line per run, `<seconds> -`, and one per cost, `<seconds> <dollars>`
//!          /threads/<name>    one byte per run of a thread
//! ```

use std::time::Duration;

use super::guards::{DAY, HOUR};
use super::runs::Runs;
use crate::clock::Timestamp;
use crate::mailbox::IfAny;
use crate::mailbox::fault::Result;
use crate::mailbox::reading::mtime;

/// The size at which the older half of a tally is removed: some thousand runs, more than a day has.
const LARGE: usize = 128 * 1024;

/// How long a thread without new runs is remembered.
const REMEMBERED: i64 = 30 * 86_400;

/// The number of remembered threads from which old ones are removed.
const THREADS: usize = 5000;

/// The counts before a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunCounts {
    /// The starts within an hour, oldest first.
    pub runs: Vec<Timestamp>,
    pub in_thread: usize,
    /// The costs in dollars within a day, oldest first.
    pub costs: Vec<(Timestamp, f64)>,
}

impl RunCounts {
    /// Dollars in a day.
    pub fn spent(&self) -> f64 {
        // A sum of nothing would be -0.0.
        self.costs.iter().fold(0.0, |sum, (_, dollars)| sum + dollars)
    }
}

impl Runs {
    /// Counts one more run for a mailbox and a thread, unless `refuse` gives a reason against it. Returns that reason.
    /// `counted_before`: the threads for which this run was counted before. It is one run, however many messages it has.
    pub fn count<R>(
        &self,
        mailbox: &str,
        thread: &str,
        counted_before: &[String],
        now: Timestamp,
        refuse: impl FnOnce(&RunCounts) -> Option<R>,
    ) -> Result<Option<R>> {
        let tallies = self.dir.create_dir_synced("tally")?;
        let threads = self.dir.create_dir_synced("threads")?;
        let _turn = tallies.lock(".lock")?;
        let text = tallies.read(mailbox, 1024 * 1024)?.unwrap_or_default();
        let in_thread = threads.stat(thread).map_or(0, |stat| usize::try_from(stat.st_size).unwrap_or(0));
        let counted = RunCounts { in_thread, ..counted(&text, now) };
        if let Some(why) = refuse(&counted) {
            return Ok(Some(why));
        }
        if text.len() > LARGE {
            let cut = text.len() / 2;
            let from = text[cut..].iter().position(|b| *b == b'\n').map_or(cut, |at| cut + at + 1);
            tallies.replace(mailbox, &text[from..])?;
        }
        if counted_before.is_empty() {
            tallies.append(mailbox, format!("{} -\n", now.seconds()).as_bytes())?;
        }
        if !counted_before.iter().any(|before| before == thread) {
            threads.append(thread, b".")?;
        }
        Ok(None)
    }

    /// The recent runs and costs of a mailbox, without those of a thread.
    pub fn counts(&self, mailbox: &str, now: Timestamp) -> Result<RunCounts> {
        let text = self.dir.sub("tally").and_then(|dir| dir.read(mailbox, 1024 * 1024)).if_any()?.flatten();
        Ok(counted(&text.unwrap_or_default(), now))
    }

    /// Counts the runs of a thread anew.
    pub fn forget_thread(&self, thread: &str) -> Result<()> {
        self.dir.sub("threads").and_then(|dir| dir.remove(thread)).if_any().map(drop)
    }

    /// Takes back a run of a thread that was counted: it met an outage, which is not the thread's fault.
    pub fn uncount_thread(&self, thread: &str) -> Result<()> {
        let (tallies, threads) =
            (self.dir.create_dir_synced("tally")?, self.dir.create_dir_synced("threads")?);
        let _turn = tallies.lock(".lock")?;
        let runs = threads.read(thread, 1024 * 1024)?.unwrap_or_default();
        threads.replace(thread, &runs[..runs.len().saturating_sub(1)])
    }

    /// Adds the cost of a run.
    pub fn count_cost(&self, mailbox: &str, now: Timestamp, dollars: f64) -> Result<()> {
        let tallies = self.dir.create_dir_synced("tally")?;
        let _turn = tallies.lock(".lock")?;
        tallies.append(mailbox, format!("{} {dollars:.6}\n", now.seconds()).as_bytes())
    }

    /// Removes threads that were inactive for long, when there are many.
    pub fn prune_threads(&self, now: Timestamp) -> Result<()> {
        let names = self.names("threads")?;
        if names.len() < THREADS {
            return Ok(());
        }
        let threads = self.dir.sub("threads")?;
        for name in names {
            let old = |stat| now.seconds() - mtime(&stat).seconds() > REMEMBERED;
            if threads.stat(&name).is_ok_and(old) {
                let _ = threads.remove(&name);
            }
        }
        Ok(())
    }
}

fn counted(text: &[u8], now: Timestamp) -> RunCounts {
    let mut counted = RunCounts::default();
    for line in String::from_utf8_lossy(text).lines() {
        let Some((time, what)) = line.split_once(' ') else { continue };
        let Ok(seconds) = time.parse::<i64>() else { continue };
        let (time, age) = (Timestamp::from_parts(seconds, 0), now.seconds() - seconds);
        let within = |window: Duration| age < i64::try_from(window.as_secs()).unwrap_or(i64::MAX);
        match what.parse::<f64>() {
            Ok(dollars) if within(DAY) && dollars.is_finite() => counted.costs.push((time, dollars.max(0.0))),
            Err(_) if within(HOUR) => counted.runs.push(time),
            _ => {}
        }
    }
    // The clock may have been set back between two lines.
    counted.runs.sort();
    counted.costs.sort_by_key(|(time, _)| *time);
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_a_day_and_lines_of_nothing() {
        let now = Timestamp::from_parts(1_000_000, 0);
        let text = "999000 -\n999001 0.25\n996000 -\n920000 5.0\n920000 -\n913000 7\nrubbish\n999002 NaN\n999003 -\n";
        let counted = counted(text.as_bytes(), now);
        assert_eq!((counted.runs.len(), counted.spent()), (2, 5.25));
        assert!(
            RunCounts::default().spent().is_sign_positive(),
            "`status --json` said that idle agents spent -0.0"
        );
    }
}
