//! Marks of runs that failed, so that an overview finds them without computing every run.
//!
//! ```text
//! <root>/.workflows/failed/<run>   {"v":1,"run":…,"workflow":…,"at":…,"why":…}
//! ```
//!
//! The carrier that ends a failed run makes the mark, and a retry removes it. It is a hint: the state of a run follows from
//! its mail.

use serde::{Deserialize, Serialize};

use super::engine::{Engine, Phase};
use super::runs::Runs;
use crate::clock::Timestamp;
use crate::mailbox::IfAny;
use crate::mailbox::fault::Result;
use crate::message::visible;

const FOLDER: &str = "failed";
const LIMIT: u64 = 64 * 1024;

/// A run that ended failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedFlow {
    v: u32,
    pub run: String,
    pub workflow: String,
    /// When it ended.
    pub at: String,
    /// The step that failed, and why.
    pub why: String,
}

impl FailedFlow {
    pub(super) fn of(engine: &Engine, now: Timestamp) -> Self {
        let steps = engine.definition().steps.iter().zip(engine.steps());
        let mut failed = steps.filter_map(|(step, state)| match &state.phase {
            Phase::Failed(why, false) => Some(format!("{}: {why}", step.name)),
            _ => None,
        });
        let why = failed.next().unwrap_or_else(|| "no step says why".to_owned());
        Self {
            v: 1,
            run: engine.facts().run.clone(),
            workflow: engine.definition().name.clone(),
            at: now.precise(),
            why: visible::clip(why.lines().next().unwrap_or_default(), 400),
        }
    }
}

impl Runs {
    pub(super) fn note_failed(&self, failed: &FailedFlow) -> Result<()> {
        let text = serde_json::to_vec(failed).unwrap_or_default();
        self.dir.create_dir_synced(FOLDER)?.replace(&failed.run, &text)
    }

    pub(super) fn forget_failed(&self, run: &str) -> Result<()> {
        self.dir.sub(FOLDER).and_then(|dir| dir.remove(run)).if_any().map(drop)
    }

    /// The runs that ended failed since a time, the first one first.
    pub fn failed_since(&self, since: Timestamp) -> Result<Vec<FailedFlow>> {
        let mut found = vec![];
        for run in self.names(FOLDER)? {
            let bytes = self.dir.sub(FOLDER).and_then(|dir| dir.read(&run, LIMIT)).if_any()?.flatten();
            let failed = bytes.and_then(|bytes| serde_json::from_slice::<FailedFlow>(&bytes).ok());
            let is_recent = |failed: &FailedFlow| Timestamp::parse(&failed.at).is_some_and(|at| at >= since);
            // A retry is in progress, or a prune was interrupted.
            let stands =
                |failed: &FailedFlow| !self.is_open(&failed.run) && self.record(&failed.run).is_some();
            found.extend(failed.filter(|failed| failed.run == run && is_recent(failed) && stands(failed)));
        }
        found.sort_by(|one, other| one.at.cmp(&other.at));
        Ok(found)
    }
}
