//! Follows one run of a workflow: collects the state of its steps from the events of a dispatcher. The dispatcher stops
//! when the run ends.

use super::carrier::{Carried, look_at, shown};
use super::engine::Status;
use super::runs::Runs;
use crate::dispatch::dispatcher::{AtWork, Event, StopHandle};
use crate::post::{Post, Result};

/// A step of a followed run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveStep {
    pub name: String,
    /// Its depth among the steps it waits for.
    pub depth: usize,
    /// Its state, in words.
    pub how: String,
}

/// The current state of a run.
#[derive(Debug)]
pub struct LiveRun {
    pub run: String,
    pub status: Status,
    pub steps: Vec<LiveStep>,
    pub settled: usize,
    /// Agents at work, for how long, and their activity.
    pub at_work: Vec<AtWork>,
}

/// News from an event.
#[derive(Debug)]
pub enum News<'e> {
    /// The run made progress.
    Carried(&'e Carried),
    /// The set of working agents changed.
    AtWork,
    /// An agent could not be started.
    Fault { agent: &'e str, why: &'e str },
}

impl LiveRun {
    pub fn look(post: &Post, run: &str) -> Result<Self> {
        let mut live = Self {
            run: run.to_owned(),
            status: Status::InProgress,
            steps: vec![],
            settled: 0,
            at_work: vec![],
        };
        if let Some(runs) = Runs::existing(post.room())? {
            let engine = look_at(post, &runs, run)?;
            (live.status, live.settled) = (engine.status(), engine.settled());
            for (index, step) in engine.definition().steps.iter().enumerate() {
                let depth = usize::try_from(step.level.saturating_sub(1)).unwrap_or(0).min(20);
                live.steps.push(LiveStep { name: step.name.clone(), depth, how: shown(&engine, index) });
            }
        }
        Ok(live)
    }

    pub fn is_over(&self) -> bool {
        self.status != Status::InProgress
    }

    /// Takes an event, and stops the dispatcher once the run is over. `None` if the event is not about this run.
    pub fn take<'e>(&mut self, event: &Event<'e, Carried>, stop: &StopHandle) -> Option<News<'e>> {
        let news = match event {
            Event::Background { news: carried } if carried.run == self.run => {
                self.get_on(carried);
                News::Carried(carried)
            }
            Event::Going { runs } => {
                self.at_work = runs.to_vec();
                News::AtWork
            }
            Event::Ended { run } => {
                self.at_work.retain(|at_work| at_work.agent != run.agent);
                News::AtWork
            }
            Event::Nothing { agent, why: Some(why) } => News::Fault { agent, why },
            Event::Background { .. }
            | Event::Started { .. }
            | Event::Waits { .. }
            | Event::Delayed { .. }
            | Event::Reread { .. }
            | Event::Nothing { .. } => {
                return None;
            }
        };
        if self.is_over() {
            stop.stop();
        }
        Some(news)
    }

    fn get_on(&mut self, carried: &Carried) {
        (self.status, self.settled) = (carried.status, carried.settled);
        for (name, how) in &carried.changes {
            if let Some(step) = self.steps.iter_mut().find(|step| step.name == *name) {
                step.how.clone_from(how);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_run_that_is_followed_gets_on_and_stops_its_dispatcher_when_it_is_over() {
        let step = |name: &str| LiveStep { name: name.into(), depth: 0, how: "waiting".into() };
        let mut live = LiveRun {
            run: "r-1".into(),
            status: Status::InProgress,
            steps: vec![step("build"), step("test")],
            settled: 0,
            at_work: vec![AtWork { agent: "coder".into(), elapsed: Duration::ZERO, activity: String::new() }],
        };
        let (stop, stopped) = StopHandle::for_test();
        let carried = |run: &str, status, settled| Carried {
            run: run.into(),
            status,
            settled,
            total: 2,
            moved: true,
            changes: vec![("build".into(), "done".into())],
            remarks: vec![],
            asks: vec![],
            due: None,
            busy: false,
        };
        let other = carried("r-2", Status::Completed, 2);
        assert!(live.take(&Event::Background { news: &other }, &stop).is_none());
        assert_eq!(live.settled, 0);
        let own = carried("r-1", Status::InProgress, 1);
        assert!(matches!(live.take(&Event::Background { news: &own }, &stop), Some(News::Carried(_))));
        assert_eq!((live.steps[0].how.as_str(), live.steps[1].how.as_str()), ("done", "waiting"));
        assert!(live.take(&Event::Nothing { agent: "coder", why: None }, &stop).is_none());
        let fault = Event::Nothing { agent: "coder", why: Some("no program") };
        assert!(matches!(live.take(&fault, &stop), Some(News::Fault { why: "no program", .. })));
        assert!(!stopped(), "it goes on");
        let last = carried("r-1", Status::Failed, 2);
        live.take(&Event::Background { news: &last }, &stop);
        assert!(live.is_over() && stopped());
    }
}
