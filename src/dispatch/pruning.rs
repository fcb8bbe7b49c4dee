//! Pruning: how many runs are kept, and how much of what they printed. The oldest go first, never one that goes on.

use super::runs::Runs;
use crate::clock::Timestamp;
use crate::mailbox::fault::Result;

/// How many runs are kept, and how many more there may be before the oldest go.
const KEPT: usize = 1000;
const OVER: usize = 50;

/// How much all runs together may keep, and from how much of one it is worth to look.
const HEAVIEST: u64 = 1024 * 1024 * 1024;
const MUCH: u64 = 1024 * 1024;

impl Runs {
    /// Sees to it that runs and threads do not become too many. A run that printed much does so itself, of the others one in
    /// sixteen: a run is not to pay for how many came before it.
    pub fn tidy_up(&self, after: &str, now: Timestamp) {
        if after.ends_with('0') || self.size(after) > MUCH {
            let _ = self.prune(after);
            let _ = self.prune_threads(now);
        }
    }

    /// Removes the oldest runs when there are more than are kept, or, after one that printed much, when all of them
    /// together keep too much; gives how many went.
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

    /// How many of these, the oldest, have to go so that the rest is not too large.
    fn too_heavy(&self, ids: &[String]) -> usize {
        let mut kept = 0;
        let newest = ids.iter().rev().take_while(|id| {
            kept += self.size(id);
            kept <= HEAVIEST
        });
        ids.len() - newest.count()
    }

    /// How much a run has printed.
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

    /// A run that has ended and printed this much; the file is sparse.
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
