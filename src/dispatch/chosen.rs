//! Runs that are looked for, as they are now: the newest that fit a filter, the one that is meant by a part of its id, and the last result of
//! each agent.
//!
//! Ids of runs sort by the time of their start, so every look begins at the newest and reads no more records than it
//! needs. A record that cannot be read is passed over.

use std::collections::{HashMap, HashSet};

use super::runs::{Run, RunState, Runs};
use crate::clock::Timestamp;
use crate::mailbox::fault::Result;
use crate::name::fold;

/// How many records a look for last results reads at most. The last result of an agent that had none among so many runs
/// of the room is left out.
const RECENT: usize = 400;

/// Selects runs.
#[derive(Debug, Clone)]
pub struct RunFilter {
    /// Only those of this agent.
    pub agent: Option<String>,
    /// Only those that failed, also if their message is tried again.
    pub failed: bool,
    /// Only those that began since.
    pub since: Option<Timestamp>,
    /// Only those that are older than the run of this id: the next page.
    pub before: Option<String>,
    /// At most this many, the newest.
    pub limit: usize,
}

impl RunFilter {
    /// Whether it can leave out runs for what they are.
    pub fn is_narrowed(&self) -> bool {
        self.agent.is_some() || self.failed || self.since.is_some()
    }

    fn fits(&self, run: &Run) -> bool {
        let has_failed = matches!(run.state, RunState::Failed | RunState::Again);
        self.agent.as_ref().is_none_or(|name| fold(name) == fold(&run.agent)) && (!self.failed || has_failed)
    }
}

fn is_recent(run: &Run, since: Option<Timestamp>) -> bool {
    since.is_none_or(|since| Timestamp::parse(&run.started).is_some_and(|began| began >= since))
}

impl Runs {
    /// One run as it is now: also whether its supervisor lives, if its record says that it runs. Readers show this.
    pub fn seen(&self, id: &str) -> Result<Option<Run>> {
        let is_running = |run: &Run| run.state == RunState::Running;
        let Some(run) = self.get(id)? else { return Ok(None) };
        if !is_running(&run) || self.is_alive(id)? {
            return Ok(Some(run));
        }
        // It may have ended between the two looks.
        let again = self.get(id)?;
        Ok(again.map(|run| Run { is_interrupted: is_running(&run), ..run }))
    }

    /// How many runs go on.
    pub fn count_alive(&self) -> Result<usize> {
        let mut alive = 0;
        for id in self.open_ids()? {
            alive += usize::from(self.is_alive(&id)?);
        }
        Ok(alive)
    }

    /// The newest runs that fit, oldest first.
    pub fn chosen(&self, filter: &RunFilter) -> Result<Vec<Run>> {
        let ids = self.ids()?;
        let is_older = |id: &&String| filter.before.as_ref().is_none_or(|before| *id < before);
        let newest = ids.iter().rev().filter(is_older).filter_map(|id| self.seen(id).ok().flatten());
        let recent = newest.take_while(|run| is_recent(run, filter.since));
        let mut found: Vec<Run> = recent.filter(|run| filter.fits(run)).take(filter.limit).collect();
        found.reverse();
        Ok(found)
    }

    /// All runs that worked on a message, the newest first. `file`: its name, by which other messages of its run know it. `since`:
    /// none began before.
    pub fn of_message(&self, id: &str, file: &str, since: Option<Timestamp>) -> Result<Vec<Run>> {
        let ids = self.ids()?;
        let newest = ids.iter().rev().filter_map(|id| self.get(id).ok().flatten());
        let recent = newest.take_while(|run| is_recent(run, since));
        let its = recent.filter(|run| run.message == id || run.also.iter().any(|also| also == file));
        Ok(its.filter_map(|run| self.seen(&run.id).ok().flatten()).collect())
    }

    /// The runs whose id begins or ends like this.
    pub fn called(&self, part: &str) -> Result<Vec<Run>> {
        let ids = self.ids()?;
        let fitting = ids.iter().filter(|id| id.starts_with(part) || id.ends_with(part));
        Ok(fitting.filter_map(|id| self.seen(id).ok().flatten()).collect())
    }

    /// The last run of each of these mailboxes that has ended. Reads records from the newest back until each mailbox that
    /// ever had a run was seen, and no more than some hundreds.
    pub fn last_ended(&self, mailboxes: &[&str]) -> Result<HashMap<String, Run>> {
        let tallied: HashSet<String> = self.names("tally")?.into_iter().collect();
        let mut wanted: HashSet<&str> =
            mailboxes.iter().copied().filter(|mailbox| tallied.contains(*mailbox)).collect();
        let mut found = HashMap::new();
        if wanted.is_empty() {
            return Ok(found);
        }
        for id in self.ids()?.iter().rev().take(RECENT) {
            let Some(run) = self.get(id)?.filter(|run| run.state != RunState::Running) else { continue };
            if wanted.remove(run.mailbox.as_str()) {
                found.insert(run.mailbox.clone(), run);
            }
            if wanted.is_empty() {
                break;
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::room::Room;

    const ALL: RunFilter =
        RunFilter { agent: None, failed: false, since: None, before: None, limit: usize::MAX };

    /// Runs of three agents, a minute apart; the last one of each goes on.
    fn scene() -> (tempfile::TempDir, Runs, Vec<String>) {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("room");
        let runs = Runs::open(&Room::open_or_make(&path, std::sync::Arc::new(SystemClock)).unwrap()).unwrap();
        let states = [RunState::Done, RunState::Failed, RunState::Again, RunState::Running];
        let mut ids = vec![];
        for (at, state) in (1_000_000..).step_by(60).zip(states.iter().flat_map(|state| [state; 3])) {
            let now = Timestamp::from_parts(at, 0);
            let open = runs.begin(now).unwrap();
            let agent = ["Ann", "bob", "cyd"][ids.len() % 3];
            runs.count(&format!("m-{agent}"), "t", &[], now, |_| None::<()>).unwrap();
            let record = serde_json::json!({"v": 1, "id": open.id, "mailbox": format!("m-{agent}"), "agent": agent,
                "message": "x", "file": "f", "from": "u", "thread": "t", "attempt": 1, "started": now.precise(),
                "state": state});
            runs.record(&open.dir, &serde_json::from_value(record).unwrap()).unwrap();
            ids.push(open.id.clone());
            runs.close(open);
        }
        (temp, runs, ids)
    }

    #[test]
    fn runs_are_chosen_by_agent_failure_time_and_page() {
        let (_temp, runs, ids) = scene();
        let chosen = |filter: RunFilter| -> Vec<usize> {
            let place = |run: &Run| ids.iter().position(|id| *id == run.id).unwrap();
            runs.chosen(&filter).unwrap().iter().map(place).collect()
        };
        assert_eq!(chosen(ALL), (0..12).collect::<Vec<_>>());
        assert_eq!(chosen(RunFilter { agent: Some("ann".into()), ..ALL }), [0, 3, 6, 9]);
        assert_eq!(chosen(RunFilter { failed: true, ..ALL }), [3, 4, 5, 6, 7, 8]);
        let since = Some(Timestamp::from_parts(1_000_000 + 9 * 60, 0));
        assert_eq!(chosen(RunFilter { since, ..ALL }), [9, 10, 11]);
        let page = RunFilter { limit: 2, ..ALL };
        assert_eq!(chosen(page.clone()), [10, 11]);
        assert_eq!(chosen(RunFilter { before: Some(ids[10].clone()), ..page }), [8, 9]);
        assert_eq!(runs.called(&ids[4]).unwrap().len(), 1);
        assert_eq!(runs.called(&ids[4][ids[4].len() - 6..]).unwrap()[0].id, ids[4]);
        assert!(runs.called("none").unwrap().is_empty());
    }

    #[test]
    fn the_runs_of_a_message_are_found_however_many_came_after_them() {
        let (_temp, runs, ids) = scene();
        let since = Some(Timestamp::from_parts(1_000_000, 0));
        for (at, message, also) in [(0, "mine", "f"), (1, "other", "mine.md")] {
            let began = Timestamp::from_parts(1_000_001 + at, 0);
            let open = runs.begin(began).unwrap();
            let (id, message, also) = (open.id.clone(), message.into(), vec![also.into()]);
            let any = runs.get(&ids[0]).unwrap().unwrap();
            let record = Run { id, message, also, started: began.precise(), ..any };
            runs.record(&open.dir, &record).unwrap();
            runs.close(open);
        }
        let found = runs.of_message("mine", "mine.md", since).unwrap();
        assert_eq!(found.iter().map(|run| run.message.as_str()).collect::<Vec<_>>(), ["other", "mine"]);
        let late = Some(Timestamp::from_parts(1_000_000 + 60, 0));
        assert!(runs.of_message("mine", "mine.md", late).unwrap().is_empty(), "it was sent later");
    }

    /// `runs` and `rooms` said that a run goes on whose supervisor was killed.
    #[test]
    fn a_run_without_a_supervisor_is_interrupted() {
        let (_temp, runs, ids) = scene();
        let open = runs.begin(Timestamp::from_parts(2_000_000, 0)).unwrap();
        let record = Run { id: open.id.clone(), ..runs.get(&ids[9]).unwrap().unwrap() };
        runs.record(&open.dir, &record).unwrap();
        let look = || (runs.seen(&record.id).unwrap().unwrap().state_word(), runs.count_alive().unwrap());
        assert_eq!(look(), ("running", 1));
        drop(open);
        assert_eq!(look(), ("interrupted", 0));
        assert_eq!(runs.seen(&ids[0]).unwrap().unwrap().state_word(), "done");
    }

    #[test]
    fn the_last_result_of_each_agent_is_its_newest_run_that_ended() {
        let (_temp, runs, ids) = scene();
        let last = runs.last_ended(&["m-Ann", "m-cyd", "m-never"]).unwrap();
        let mut found: Vec<(&str, &str)> =
            last.values().map(|run| (run.agent.as_str(), run.id.as_str())).collect();
        found.sort_unstable();
        assert_eq!(found, [("Ann", ids[6].as_str()), ("cyd", ids[8].as_str())]);
    }
}
