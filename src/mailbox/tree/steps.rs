//! The order of messages: that of a poll, and steps that wait for earlier steps (protocols: tree §3.4).
//!
//! Messages are ordered by priority, then by `created`, then by id. Messages of one priority and one workflow run swap
//! positions among themselves until their steps are in order. So `step` decides within a run, and a run neither
//! overtakes nor is overtaken because of it. A step is ready when every lower step of its run, in all inboxes of the
//! tree, is completed.

use std::collections::HashMap;

use super::Tree;
use super::agent::Agent;
use super::facts::{Seen, TaskFacts, Tray};
use crate::clock::Timestamp;
use crate::mailbox::fault::Result;
use crate::mailbox::place::Listing;
use crate::message::Step;
use crate::message::tree::Status;
use crate::name::MailboxId;

/// The lowest step of each run that is not completed.
#[derive(Debug, Default)]
pub(super) struct Runs(HashMap<String, Step>);

impl Runs {
    pub(super) fn see(&mut self, facts: &TaskFacts) {
        if let (Some(run), Some(step)) = (&facts.workflow, facts.step)
            && facts.status != Status::Completed
        {
            let lowest = self.0.entry(run.clone()).or_insert(step);
            *lowest = step.min(*lowest);
        }
    }

    /// The step that a message waits for, and its run.
    pub(super) fn waits_for<'a>(&self, facts: &'a TaskFacts) -> Option<(Step, &'a str)> {
        let (run, step) = (facts.workflow.as_deref()?, facts.step?);
        self.0.get(run).filter(|lowest| step > **lowest).map(|lowest| (*lowest, run))
    }
}

impl Tree {
    /// The progress of the runs of the tree.
    fn runs(&self, but: &MailboxId, seen: &Seen) -> Result<Runs> {
        let mut runs = Runs::default();
        seen.readable().for_each(|(_, facts)| runs.see(facts));
        for agent in self.agents()?.iter().filter(|agent| *agent != but) {
            self.facts(Tray::Inbox, agent)?.readable().for_each(|(_, facts)| runs.see(facts));
        }
        Ok(runs)
    }
}

impl Agent {
    /// The pending messages whose earlier steps are completed, in order. `total` counts all that are ready. Strange and
    /// broken files are listed too, as in every list of the inbox.
    pub fn ready(&self, limit: usize) -> Result<Listing> {
        let seen = self.inbox_seen()?;
        let found = seen.readable().filter(|(_, facts)| facts.is_unread()).collect();
        let mut found = in_order(found, |(name, facts): &(&str, &TaskFacts)| (*facts, *name));
        if found.is_empty()
            && let Some(e) = seen.failing
        {
            return Err(e);
        }
        let runs = self.runs_seen(&seen)?;
        let held_back = |(name, facts): &(&str, &TaskFacts)| {
            runs.waits_for(facts).map(|waits| ((*name).to_owned(), waits_for(waits)))
        };
        let held_back = found.iter().filter_map(held_back).collect();
        found.retain(|(_, facts)| runs.waits_for(facts).is_none());
        let answers = found.iter().filter(|(_, facts)| facts.is_unread_answer());
        let answers = answers.map(|(name, _)| (*name).to_owned()).collect();
        let total = found.len();
        let names = found.into_iter().take(limit).map(|(name, _)| name.to_owned()).collect();
        let broken = seen.broken();
        Ok(Listing { names, total, strange: seen.strange, broken, answers, held_back })
    }

    /// The progress of the runs of the tree. Without a step in this inbox, the others need not be read.
    fn runs_seen(&self, seen: &Seen) -> Result<Runs> {
        let is_step =
            |facts: &TaskFacts| facts.is_unread() && facts.workflow.is_some() && facts.step.is_some();
        match seen.readable().any(|(_, facts)| is_step(facts)) {
            true => self.tree().runs(self.id(), seen),
            false => Ok(Runs::default()),
        }
    }

    /// What each held-back message waits for, by file name.
    pub fn held_back(&self) -> Result<HashMap<String, String>> {
        let seen = self.facts(Tray::Inbox)?;
        let runs = self.runs_seen(&seen)?;
        let waits = |facts: &TaskFacts| {
            Some(facts).filter(|f| f.is_unread()).and_then(|f| runs.waits_for(f).map(waits_for))
        };
        Ok(seen.readable().filter_map(|(name, facts)| Some((name.to_owned(), waits(facts)?))).collect())
    }
}

fn waits_for((step, run): (Step, &str)) -> String {
    format!("waits for step {step} of {run}")
}

/// Puts messages into the order of §3.4.
pub(super) fn in_order<T>(mut found: Vec<T>, facts: impl Fn(&T) -> (&TaskFacts, &str)) -> Vec<T> {
    found.sort_by_cached_key(|message| {
        let (facts, name) = facts(message);
        let (day, number) = parts(&facts.id);
        let time: Option<Timestamp> = facts.time();
        (facts.priority, time, day.to_owned(), number, name.to_owned())
    });
    // The positions of a run's steps, by priority and run; they are given to the same steps in order.
    let mut places: HashMap<_, Vec<usize>> = HashMap::new();
    for (place, message) in found.iter().enumerate() {
        let facts = facts(message).0;
        if let (Some(run), Some(_)) = (&facts.workflow, facts.step) {
            places.entry((facts.priority, run.clone())).or_default().push(place);
        }
    }
    let mut from: Vec<usize> = (0..found.len()).collect();
    for places in places.into_values() {
        let mut steps = places.clone();
        steps.sort_by_key(|place| facts(&found[*place]).0.step);
        for (place, source) in places.into_iter().zip(steps) {
            from[place] = source;
        }
    }
    let mut messages: Vec<Option<T>> = found.into_iter().map(Some).collect();
    from.into_iter().filter_map(|source| messages[source].take()).collect()
}

/// An id as its day and its number, so that 1000 comes after 999.
fn parts(id: &str) -> (&str, u64) {
    id.rsplit_once('-').and_then(|(day, number)| Some((day, number.parse().ok()?))).unwrap_or((id, 0))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use super::super::scene::*;
    use super::*;
    use crate::mailbox::Folder;
    use crate::message::Priority;

    #[test]
    fn priority_then_step_then_time_then_id() {
        let scene = Scene::new(&["a"]);
        let put = |name: &str, created: &str, extra: &str| {
            scene.put("a", name, &format!("created: 2026-11-15T{created}Z\n{extra}"));
        };
        put("2026-11-15-001", "10:00:00", "workflow: w\nstep: 2\n");
        put("2026-11-15-002", "10:00:01", "");
        put("2026-11-15-003", "10:00:02", "workflow: w\nstep: 1\n");
        put("2026-11-15-004", "10:00:03", "priority: urgent\n");
        put("2026-11-15-1000", "10:00:04", "");
        put("2026-11-15-999", "10:00:04", "");
        put("2026-11-15-005", "09:00:00", "priority: low\n");
        let agent = scene.agent("a");
        let numbers = |listing: Listing| {
            listing.names.iter().map(|n| n[11..].trim_end_matches(".md").to_owned()).collect::<Vec<_>>()
        };
        let all = agent.list(Folder::Inbox, usize::MAX).unwrap();
        assert_eq!(all.total, 7);
        assert_eq!(numbers(all), ["004", "003", "002", "001", "999", "1000", "005"]);
        let two = agent.list(Folder::Inbox, 2).unwrap();
        assert_eq!((two.total, numbers(two)), (7, vec!["004".to_owned(), "003".to_owned()]));
        assert_eq!(numbers(agent.ready(usize::MAX).unwrap()), ["004", "003", "002", "999", "1000", "005"]);
    }

    #[test]
    fn a_step_waits_for_those_before_it_in_any_inbox() {
        let scene = Scene::new(&["a", "b"]);
        let run = |step: u32| format!("created: 2026-11-15T10:00:00Z\nworkflow: w\nstep: {step}\n");
        scene.put("a", "2026-11-15-001", &run(1));
        scene.put("b", "2026-11-15-002", &run(2));
        scene.put("b", "2026-11-15-003", &run(2).replace("workflow: w", "workflow: other"));
        let (a, b) = (scene.agent("a"), scene.agent("b"));
        let two = || b.ready(usize::MAX).unwrap().names;
        assert_eq!(two(), ["2026-11-15-003.md"]);
        let name = "2026-11-15-001.md";
        for (from, to) in [
            (Status::Pending, Status::InProgress),
            (Status::InProgress, Status::Failed),
            (Status::Failed, Status::Pending),
        ] {
            assert!(a.set_status(name, from, to, None).unwrap());
            assert_eq!(two(), ["2026-11-15-003.md"], "{to}");
        }
        assert_eq!(a.ready(10).unwrap().names, [name]);
        let waits = b.held_back().unwrap();
        assert_eq!(waits.get("2026-11-15-002.md").map(String::as_str), Some("waits for step 1 of w"));
        assert_eq!(waits.len(), 1);
        assert!(a.set_status(name, Status::Pending, Status::Completed, None).unwrap());
        assert_eq!(two(), ["2026-11-15-002.md", "2026-11-15-003.md"]);
    }

    #[test]
    fn an_order_that_no_comparison_of_two_could_give_is_total() {
        let of = |id: &str, second: u32, run: Option<&str>, step: Option<u64>| TaskFacts {
            id: id.into(),
            from: "x".into(),
            to: "y".into(),
            status: Status::Pending,
            priority: Priority::Normal,
            created: format!("2026-11-15T10:00:{second:02}Z"),
            msg_id: None,
            request_id: None,
            workflow: run.map(str::to_owned),
            step: step.map(Step::from),
            subject: String::new(),
            duration_seconds: None,
            error: None,
            doubtful: false,
        };
        let all =
            vec![of("a", 1, Some("w"), Some(2)), of("b", 2, None, None), of("c", 3, Some("w"), Some(1))];
        let ids: Vec<_> = in_order(all, |f| (f, f.id.as_str())).into_iter().map(|f| f.id).collect();
        assert_eq!(ids, ["c", "b", "a"]);
    }
}
