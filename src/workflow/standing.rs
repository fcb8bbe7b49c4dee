//! The states of a run, of its steps, and of the items of a step.

use serde_json::Value as Json;

/// The state of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Phase {
    #[default]
    Waiting,
    Running,
    Done,
    /// `true`: the run goes on anyway.
    Failed(String, bool),
    Skipped(String),
}

impl Phase {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed(..) => "failed",
            Self::Skipped(_) => "skipped",
        }
    }

    pub fn is_settled(&self) -> bool {
        !matches!(self, Self::Waiting | Self::Running)
    }
}

/// The state of one item of a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Item {
    /// Counted from 0.
    pub attempt: u32,
    /// How many attempts gave no clear verdict; `retry` does not count them.
    pub unclear: u32,
    /// Why the previous attempt was not accepted.
    pub failure: Option<String>,
    /// The last text that came, accepted or not, and the file that holds it.
    pub text: Option<String>,
    pub json: Option<Json>,
    pub file: String,
    pub agent: String,
    /// `None` while it is in progress.
    pub outcome: Option<Result<(), String>>,
}

/// One step of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepState {
    pub phase: Phase,
    /// Counted from 0. The next round begins when the failure handler is done.
    pub round: u32,
    pub values: Vec<Json>,
    pub items: Vec<Item>,
    /// Items in progress.
    pub open: usize,
}

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    InProgress,
    Completed,
    Failed,
    Cancelled,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}
