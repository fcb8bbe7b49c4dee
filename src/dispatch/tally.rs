//! The tally: how many recent runs an agent had and what they cost, and how many a thread had. Each question needs one
//! small file, however many runs there were.
//!
//! ```text
//! .dispatch/tally/<mailbox>   one line per run, `<seconds> -`, and one per cost, `<seconds> <dollars>`
//!          /threads/<name>    one byte per run of a thread
//! ```

use super::runs::Runs;
use crate::clock::Timestamp;
use crate::mailbox::fault::Result;
use crate::mailbox::reading::mtime;

/// The size at which the older half of a tally is removed: some thousand runs, more than a day has.
const LARGE: usize = 128 * 1024;

/// How long a thread without new runs is remembered.
const REMEMBERED: i64 = 30 * 86_400;

/// The number of remembered threads from which old ones are removed.
const THREADS: usize = 5000;

/// The counts before a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RunCounts {
    pub in_hour: usize,
    pub in_thread: usize,
    /// Dollars in a day.
    pub spent: f64,
}

impl Runs {
    /// Counts one more run for a mailbox and a thread, unless `refuse` gives a reason against it. Returns that reason.
    pub fn count(
        &self,
        mailbox: &str,
        thread: &str,
        now: Timestamp,
        refuse: impl FnOnce(RunCounts) -> Option<String>,
    ) -> Result<Option<String>> {
        let tallies = self.dir.create_dir_synced("tally")?;
        let threads = self.dir.create_dir_synced("threads")?;
        let _turn = tallies.lock(".lock")?;
        let text = tallies.read(mailbox, 1024 * 1024)?.unwrap_or_default();
        let in_thread = threads.stat(thread).map_or(0, |stat| usize::try_from(stat.st_size).unwrap_or(0));
        let counted = RunCounts { in_thread, ..counted(&text, now) };
        if let Some(why) = refuse(counted) {
            return Ok(Some(why));
        }
        if text.len() > LARGE {
            let cut = text.len() / 2;
            let from = text[cut..].iter().position(|b| *b == b'\n').map_or(cut, |at| cut + at + 1);
            tallies.replace(mailbox, &text[from..])?;
        }
        tallies.append(mailbox, format!("{} -\n", now.seconds()).as_bytes())?;
        threads.append(thread, b".")?;
        Ok(None)
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
        let Ok(time) = time.parse::<i64>() else { continue };
        let age = now.seconds() - time;
        match what.parse::<f64>() {
            Ok(dollars) if age < 86_400 && dollars.is_finite() => counted.spent += dollars.max(0.0),
            Err(_) if age < 3600 => counted.in_hour += 1,
            _ => {}
        }
    }
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
        assert_eq!((counted.in_hour, counted.spent), (2, 5.25));
    }
}
