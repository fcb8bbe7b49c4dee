//! A shift: the supervisors that one dispatcher has running, what it has tried, and what it leaves alone for a while.
//!
//! It decides which waiting message may begin now, as far as this dispatcher knows; the claim and the slots of an agent
//! decide the rest.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use super::dispatcher::{AtWork, Event, Wanted};
use super::queue::Key;
use super::runs::{Run, RunState};

/// How long a message is left alone after its supervisor could not begin: another process has it, or something is
/// wrong.
const OTHERS: Duration = Duration::from_millis(500);
const WRONG: Duration = Duration::from_secs(30);

/// A supervisor that was started in this shift.
#[derive(Debug)]
struct Running {
    since: Duration,
    activity: String,
    ended: Option<Run>,
    wrong: Option<String>,
}

/// The state of one dispatcher.
#[derive(Debug)]
pub(super) struct InFlight<'w> {
    wanted: &'w Wanted,
    /// How many may run at once, by the settings.
    parallel: usize,
    going: BTreeMap<Key, Running>,
    tried: HashSet<Key>,
    resting: HashMap<Key, Duration>,
    begun: usize,
}

impl<'w> InFlight<'w> {
    pub(super) fn new(wanted: &'w Wanted, parallel: usize) -> Self {
        let (going, tried, resting) = (BTreeMap::new(), HashSet::new(), HashMap::new());
        Self { wanted, parallel, going, tried, resting, begun: 0 }
    }

    /// The number of running supervisors.
    pub(super) fn size(&self) -> usize {
        self.going.len()
    }

    /// Whether the limit of runs is reached.
    pub(super) fn is_spent(&self) -> bool {
        self.wanted.limit.is_some_and(|limit| self.begun >= limit)
    }

    /// Whether this message may begin, as far as this dispatcher knows.
    pub(super) fn may_begin(&self, key: &Key, places: usize, now: Duration) -> bool {
        let own = self.going.keys().filter(|(name, _)| *name == key.0).count();
        // One cycle tries each message once; a watch tries it again when its time has come.
        let had_its_chance = !self.wanted.watch && self.tried.contains(key);
        !self.is_spent()
            && self.going.len() < self.wanted.parallel.unwrap_or(self.parallel).max(1)
            && own < places
            && !self.going.contains_key(key)
            && self.resting.get(key).is_none_or(|until| *until <= now)
            && !had_its_chance
    }

    /// Records that a supervisor was started for this message.
    pub(super) fn begin(&mut self, key: &Key, now: Duration) {
        self.try_once(key);
        self.begun += 1;
        let new = Running { since: now, activity: String::new(), ended: None, wrong: None };
        self.going.insert(key.clone(), new);
    }

    /// Records that none could be started.
    pub(super) fn fail(&mut self, key: &Key, now: Duration) {
        self.try_once(key);
        self.resting.insert(key.clone(), now + WRONG);
    }

    fn try_once(&mut self, key: &Key) {
        if !self.wanted.watch {
            self.tried.insert(key.clone());
        }
    }

    /// Takes a line from a supervisor: the state of its run, or why there is none.
    pub(super) fn hear(&mut self, key: &Key, line: &str) {
        let Some(one) = self.going.get_mut(key) else { return };
        if let Ok(run) = serde_json::from_str::<Run>(line) {
            match run.state {
                RunState::Running => one.activity = run.activity,
                _ => one.ended = Some(run),
            }
        } else if let Ok(told) = serde_json::from_str::<serde_json::Value>(line)
            && let Some(why) = told["error"]["message"].as_str()
        {
            one.wrong = Some(why.to_owned());
        }
    }

    /// Records that a supervisor has ended.
    pub(super) fn gone(&mut self, key: &Key) {
        if let Some(one) = self.going.get_mut(key) {
            one.wrong.get_or_insert_default();
        }
    }

    /// The running agents.
    pub(super) fn progress(&self, now: Duration) -> Vec<AtWork> {
        let shown = |((agent, _), one): (&Key, &Running)| AtWork {
            agent: agent.clone(),
            elapsed: now.saturating_sub(one.since),
            activity: one.activity.clone(),
        };
        self.going.iter().map(shown).collect()
    }

    /// Removes supervisors that have ended, and reports their results.
    pub(super) fn close<N>(&mut self, now: Duration, tell: &mut impl FnMut(Event<'_, N>)) {
        for (key, gone) in self.going.extract_if(.., |_, one| one.ended.is_some() || one.wrong.is_some()) {
            match (gone.ended, gone.wrong.as_deref()) {
                (Some(run), _) => {
                    // The messages handled together with it were also tried.
                    let also = run.also.iter().filter(|_| !self.wanted.watch);
                    self.tried.extend(also.map(|file| (key.0.clone(), file.clone())));
                    tell(Event::Ended { run: &run });
                }
                (None, wrong) => {
                    self.begun -= 1;
                    let why = wrong.filter(|why| !why.is_empty());
                    tell(Event::Nothing { agent: &key.0, why });
                    self.resting.insert(key, now + if why.is_some() { WRONG } else { OTHERS });
                }
            }
        }
    }

    /// Goes on with other settings: every message may begin that was left alone, and so many may run at once.
    pub(super) fn take_settings(&mut self, parallel: usize) {
        self.resting.clear();
        self.parallel = parallel;
    }

    /// The time until the next message that is left alone may begin.
    pub(super) fn rest(&mut self, now: Duration) -> Option<Duration> {
        self.resting.retain(|_, until| *until > now);
        self.resting.values().min().map(|until| until.saturating_sub(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trusted edit was retried 30 s later.
    #[test]
    fn what_was_left_alone_begins_at_once_when_settings_change() {
        let wanted = Wanted { watch: true, ..Wanted::default() };
        let mut shift = InFlight::new(&wanted, 1);
        let (key, now) = (("worker".to_owned(), "m.md".to_owned()), Duration::from_secs(100));
        shift.fail(&key, now);
        assert!(!shift.may_begin(&key, 1, now));
        shift.take_settings(1);
        assert!(shift.may_begin(&key, 1, now));
    }

    /// `[dispatch] parallel` counted only from the next start of a watch on.
    #[test]
    fn another_number_of_runs_at_once_counts_unless_the_command_gives_one() {
        let now = Duration::from_secs(100);
        let key = |file: &str| ("worker".to_owned(), file.to_owned());
        for (given, more) in [(None, true), (Some(1), false)] {
            let wanted = Wanted { watch: true, parallel: given, ..Wanted::default() };
            let mut shift = InFlight::new(&wanted, 1);
            shift.begin(&key("a.md"), now);
            assert!(!shift.may_begin(&key("b.md"), 2, now));
            shift.take_settings(2);
            assert_eq!(shift.may_begin(&key("b.md"), 2, now), more);
        }
    }
}
