//! Stopping, pausing and resuming: what `stop`, `pause` and `resume` did, and why mail waits.

use serde::Serialize;

use super::run::Run;
use crate::dispatch::paused;

/// Why an agent is not started now.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Pause {
    /// `person`: until `resume`; `outage`: its program cannot work; `limit`: it had too many runs or spent too much.
    #[cfg_attr(test, schemars(extend("enum" = ["person", "outage", "limit"])))]
    pub kind: &'static str,
    /// The reason.
    pub why: String,
    /// Since when.
    pub since: String,
    /// When it is tried again; left out if a person decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

impl Pause {
    pub fn of(pause: &paused::Pause) -> Self {
        let paused::Pause { kind, why, since, until, .. } = pause;
        Self { kind: kind.as_str(), why: why.clone(), since: since.clone(), until: until.clone() }
    }
}

/// What was stopped, printed by `stop`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Stopped<'a> {
    /// The runs, as they ended.
    pub runs: Vec<Run<'a>>,
    /// Ids of runs whose agent is ended, but whose supervisor does not answer.
    pub unanswered: Vec<&'a str>,
    /// Files of messages that were waiting and are parked.
    pub parked: &'a [String],
}

/// An agent that was paused or resumed, printed by `pause` and `resume`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Paused<'a> {
    /// The name of the agent.
    pub agent: &'a str,
    /// What keeps it from being started now.
    pub paused: Vec<Pause>,
}
