//! Pruning: limits the number of kept runs, and the size of their output. The oldest go first; a running one never
//! goes.

use super::runs::Runs;
use crate::clock::Timestamp;
use crate::mailbox::fault::Result;

/// How many runs are kept, and how many more may exist before the oldest are removed.
const KEPT: usize = 1000;
const OVER: usize = 50;

/// The limit for the output of all runs together, and the output of one run from which that is checked.
const HEAVIEST: u64 = 1024 * 1024 * 1024;
const MUCH: u64 = 1024 * 1024;

impl Runs {
    /// Keeps the number of runs and threads bounded. A run with much output always checks, of the others one in
    /// sixteen, so that the cost of a run does not grow with the number of earlier runs.
    pub fn tidy_up(&self, after: &str, now: Timestamp) {
        if after.ends_with('0') || self.size(after) > MUCH {
            let _ = self.prune(after);
            let _ = self.prune_threads(now);
        }
    }

    /// Removes the oldest runs when there are too many, or, after one with much output, when all together are too
    /// large. Returns how many were removed.
    fn prune(&self, after: &str) -> Result<usize> {
        let mut ids = self.ids()?;
        let many = ids.len().saturating_sub(if ids.len() < KEPT + OVER { ids.len() } else { KEPT });
        let heavy = if self.size(after) > MUCH { self.too_heavy(&ids) } else { 0 };
        ids.truncate(many.max(heavy));
        if ids.is_empty() {
            return Ok(0);
        }
        let open = self.open_ids()?;
        let runs = self.dir.sub("runs")?;
        // Another dispatcher may be doing the same.
        let gone = |id: &&String| *id != after && !open.contains(id) && runs.remove_tree(id).is_ok();
        Ok(ids.iter().filter(gone).count())
    }

    /// How many of these, oldest first, have to go so that the rest is small enough.
    fn too_heavy(&self, ids: &[String]) -> usize {
        let mut kept = 0;
        let newest = ids.iter().rev().take_while(|id| {
            kept += self.size(id);
            kept <= HEAVIEST
        });
        ids.len() - newest.count()
    }

    /// The size of a run's output.
    fn size(&self, id: &str) -> u64 {
        let Ok(dir) = self.dir_of(id) else { return 0 };
        let size = |name: &str| dir.stat(name).map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or(0));
        ["out", "err", "out-again", "err-again"].into_iter().map(size).sum()
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use super::*;
    use crate::clock::{SystemClock, Timestamp};
    use crate::room::Room;

    fn runs() -> (tempfile::TempDir, Runs) {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("room");
        let room = Room::open_or_make(&path, std::sync::Arc::new(SystemClock)).unwrap();
        let runs = Runs::open(&room).unwrap();
        (temp, runs)
    }

    /// An ended run with this much output; the file is sparse.
    fn ended(runs: &Runs, second: i64, printed: u64) -> String {
        let open = runs.begin(Timestamp::from_parts(second, 0)).unwrap();
        let id = open.id.clone();
        let out = std::fs::File::create(open.dir.path().join("out")).unwrap();
        out.set_len(printed).unwrap();
        runs.close(open);
        id
    }

    #[test]
    fn what_printed_too_much_together_goes_from_the_oldest_on() {
        let (_temp, runs) = runs();
        let all: Vec<String> = (0..4).map(|second| ended(&runs, second, HEAVIEST / 2)).collect();
        let small = ended(&runs, 4, 10);
        assert_eq!(runs.prune(&small).unwrap(), 0, "after one that printed little nobody looks");
        let going = runs.begin(Timestamp::from_parts(5, 0)).unwrap();
        assert_eq!(runs.prune(&all[3]).unwrap(), 3);
        let left = runs.ids().unwrap();
        assert!(left.contains(&all[3]) && left.contains(&small) && left.contains(&going.id), "{left:?}");
    }

    #[test]
    fn of_many_the_newest_are_kept() {
        let (_temp, runs) = runs();
        let all: Vec<String> = (0..1050).map(|second| ended(&runs, second, 0)).collect();
        assert_eq!(runs.prune(&all[0]).unwrap(), OVER - 1);
        assert_eq!(runs.ids().unwrap().len(), KEPT + 1);
    }

    #[test]
    fn one_in_sixteen_tidies_up_and_whatever_printed_much() {
        let (_temp, runs) = runs();
        let now = Timestamp::from_parts(2000, 0);
        let all: Vec<String> = (0..1051).map(|second| ended(&runs, second, 0)).collect();
        let by = |last: fn(&&String) -> bool| all.iter().rev().find(last).unwrap();
        runs.tidy_up(by(|id| !id.ends_with('0')), now);
        assert_eq!(runs.ids().unwrap().len(), 1051);
        runs.tidy_up(by(|id| id.ends_with('0')), now);
        assert_eq!(runs.ids().unwrap().len(), KEPT);
        for second in 1051..1101 {
            ended(&runs, second, 0);
        }
        runs.tidy_up(&ended(&runs, 1101, MUCH + 1), now);
        assert_eq!(runs.ids().unwrap().len(), KEPT);
    }
}
