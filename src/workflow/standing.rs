//! How a run stands, each of its steps, and each item of a step.

use serde_json::Value as Json;

/// How a step stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    Waiting,
    Running,
    Done,
    /// `true`: the run goes on all the same.
    Failed(String, bool),
    Skipped(String),
}

impl Phase {
    pub fn word(&self) -> &'static str {
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

/// How one item of a step stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Item {
    /// Counted from 0.
    pub attempt: u32,
    /// Why the attempt before was not accepted.
    pub failure: Option<String>,
    /// The last text that came, accepted or not, and the file it lies in.
    pub text: Option<String>,
    pub json: Option<Json>,
    pub file: String,
    pub agent: String,
    /// `None`: it is under way.
    pub outcome: Option<Result<(), String>>,
}

/// One step of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct StepState {
    pub phase: Phase,
    /// Counted from 0; the next begins when what handles its failure is done.
    pub round: u32,
    pub values: Vec<Json>,
    pub items: Vec<Item>,
    /// Items that are still under way.
    pub open: usize,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    InProgress,
    Completed,
    Failed,
    Cancelled,
}

impl Status {
    pub fn word(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}
