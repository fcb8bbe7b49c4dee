//! Spending: how many runs each agent had within a time window and in each of its steps, and what they cost.
//!
//! It comes from the records of the runs that began in the window, and is as complete as what their programs say. A run
//! counts where it began.

use std::collections::BTreeMap;
use std::time::Duration;

use super::chosen::RunFilter;
use super::runs::{RunState, Runs};
use crate::clock::Timestamp;
use crate::mailbox::fault::Result;
use crate::process::transcript::Tokens;

/// What some runs came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spent {
    pub runs: usize,
    /// How many failed, also if their message was tried again.
    pub failed: usize,
    /// Dollars.
    pub cost: f64,
    pub tokens: Tokens,
}

/// The spending of one agent.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSpending {
    pub mailbox: String,
    /// As its last run was called.
    pub agent: String,
    pub total: Spent,
    /// The equal parts of the window, oldest first.
    pub steps: Vec<Spent>,
}

impl Runs {
    /// The spending of each agent that ran within a window of this length, sorted by mailbox.
    pub fn spending(&self, start: Timestamp, window: Duration, steps: usize) -> Result<Vec<AgentSpending>> {
        let steps = steps.max(1);
        let all =
            RunFilter { agent: None, failed: false, since: Some(start), before: None, limit: usize::MAX };
        let mut found: BTreeMap<String, AgentSpending> = BTreeMap::new();
        for run in self.chosen(&all)? {
            let Some(began) = Timestamp::parse(&run.started) else { continue };
            let share = began.since(start).as_secs_f64() / window.as_secs_f64().max(1.0);
            let step = ((share * steps as f64) as usize).min(steps - 1);
            let new = || AgentSpending {
                mailbox: run.mailbox.clone(),
                agent: String::new(),
                total: Spent::default(),
                steps: vec![Spent::default(); steps],
            };
            let agent = found.entry(run.mailbox.clone()).or_insert_with(new);
            agent.agent = run.agent;
            let has_failed = matches!(run.state, RunState::Failed | RunState::Again);
            for spent in [&mut agent.total, &mut agent.steps[step]] {
                spent.runs += 1;
                spent.failed += usize::from(has_failed);
                spent.cost += run.cost.unwrap_or_default();
                let tokens = run.tokens.unwrap_or_default();
                spent.tokens.input = spent.tokens.input.saturating_add(tokens.input);
                spent.tokens.cached = spent.tokens.cached.saturating_add(tokens.cached);
                spent.tokens.output = spent.tokens.output.saturating_add(tokens.output);
            }
        }
        Ok(found.into_values().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::room::Room;

    #[test]
    fn runs_count_in_the_step_in_which_they_began() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("room");
        let runs = Runs::open(&Room::open_or_make(&path, std::sync::Arc::new(SystemClock)).unwrap()).unwrap();
        let at = |second| Timestamp::from_parts(second, 0);
        let runs_of = [
            (900, "a", 9.0, "done"),
            (1010, "a", 0.25, "done"),
            (1060, "a", 0.5, "failed"),
            (1099, "b", 1.0, "again"),
        ];
        for (second, agent, cost, state) in runs_of {
            let open = runs.begin(at(second)).unwrap();
            let tokens = serde_json::json!({"input": 10, "cached": 1, "output": 2});
            let record = serde_json::json!({"v": 1, "id": open.id, "mailbox": format!("m-{agent}"), "agent": agent,
                "message": "x", "file": "f", "from": "u", "thread": "t", "attempt": 1,
                "started": at(second).precise(), "state": state, "cost": cost, "tokens": tokens});
            runs.record(&open.dir, &serde_json::from_value(record).unwrap()).unwrap();
            runs.close(open);
        }
        let found = runs.spending(at(1000), Duration::from_secs(100), 4).unwrap();
        let [a, b] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((a.agent.as_str(), a.total.runs, a.total.failed, a.total.cost), ("a", 2, 1, 0.75));
        assert_eq!((a.total.tokens.input, a.total.tokens.output), (20, 4));
        assert_eq!(a.steps.iter().map(|step| step.runs).collect::<Vec<_>>(), [1, 0, 1, 0]);
        assert_eq!((b.total.failed, b.steps[3].cost), (1, 1.0));
    }
}
