//! A workflow as its file defines it: inputs, and steps that each are a message to an agent. Pure.
//!
//! A definition has been read and checked (`reading`, `check`): every name it uses exists, and no step waits for
//! itself. Steps keep the order of their file and refer to each other by index.

use std::time::Duration;

use serde_json::Value as Json;

use super::problem::Position;
use super::template::{Expression, Template};
use super::verdict::Verdict;

/// How many steps a workflow may have, and how many items a step.
pub const STEPS: usize = 2000;
pub const ITEMS: usize = 1000;

/// How many requests a run may have open at once, by default.
pub const PARALLEL: usize = 10;

/// The longest result that goes into a prompt unchanged, by default.
pub const RESULT_BYTES: usize = 32 * 1024;

/// One workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    pub name: String,
    pub about: String,
    pub inputs: Vec<Input>,
    pub parallel: usize,
    pub result_bytes: usize,
    pub steps: Vec<Step>,
}

/// An input of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    pub name: String,
    pub kind: Kind,
    /// `None` if the input is required.
    pub default: Option<Json>,
    pub about: String,
}

/// The kind of value that an input may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Number,
    Boolean,
    List,
    Json,
}

impl Kind {
    pub const ALL: [Self; 5] = [Self::Text, Self::Number, Self::Boolean, Self::List, Self::Json];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::List => "list",
            Self::Json => "json",
        }
    }

    /// Whether a value is of this kind.
    pub fn fits(self, value: &Json) -> bool {
        self == Self::Json || self == Self::of(value)
    }

    /// The kind of a literal value.
    pub fn of(value: &Json) -> Self {
        match value {
            Json::String(_) => Self::Text,
            Json::Number(_) => Self::Number,
            Json::Bool(_) => Self::Boolean,
            Json::Array(_) => Self::List,
            _ => Self::Json,
        }
    }
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub name: String,
    pub place: Position,
    pub about: String,
    pub agent: Template,
    pub prompt: Template,
    pub needs: Vec<usize>,
    pub when: Option<Expression>,
    pub foreach: Option<Expression>,
    pub join: Join,
    pub gates: Vec<Gate>,
    pub retry: u32,
    pub timeout: Option<Duration>,
    pub on_failure: OnFailure,
    pub output: Output,
    /// The step whose failure starts this one; then nothing else starts it.
    pub handler_of: Option<usize>,
    /// The length of the longest path to it: its step number in mail, by which a tree orders.
    pub level: u64,
}

/// How many of the needed results must exist. Every item of a `foreach` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    All,
    AtLeast(usize),
}

/// A check that a result must pass before it is accepted.
#[derive(Debug, Clone, PartialEq)]
pub enum Gate {
    /// The result contains this text.
    Contains(String),
    /// The result ends with a verdict that accepts.
    Verdict(Verdict),
    /// This command reads the result on standard input and exits with 0.
    Command { command: Vec<String>, timeout: Duration },
    /// The result is JSON that matches this schema.
    Schema(Json),
    /// This mailbox answers `approve`.
    Approval { by: String, ask: Option<Template> },
}

impl Gate {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Contains(_) => "contains",
            Self::Verdict(_) => "verdict",
            Self::Command { .. } => "command",
            Self::Schema(_) => "schema",
            Self::Approval { .. } => "approval",
        }
    }
}

/// What happens to a run when a step has finally failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// Nothing more begins, and the run fails.
    Stop,
    /// The run goes on as if the step were done.
    Continue,
    /// Another step runs, and then …
    Step { step: usize, rounds: u32, then: Then },
}

/// … what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Repeat the failed step in the next round, while rounds are left.
    Again,
    Continue,
    Stop,
}

/// The form of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    Text,
    Json,
}

impl Definition {
    pub fn step(&self, name: &str) -> Option<usize> {
        self.steps.iter().position(|step| step.name == name)
    }

    /// For each step, those that need it.
    pub fn followers(&self) -> Vec<Vec<usize>> {
        let mut followers = vec![vec![]; self.steps.len()];
        for (index, step) in self.steps.iter().enumerate() {
            step.needs.iter().for_each(|need| followers[*need].push(index));
        }
        followers
    }

    /// All steps that come after this one: those that need it, its failure handler, and so on.
    pub fn after(&self, from: usize) -> Vec<bool> {
        let mut reached = vec![false; self.steps.len()];
        let mut followers = self.followers();
        for (index, step) in self.steps.iter().enumerate() {
            if let OnFailure::Step { step: handler, then, .. } = step.on_failure {
                followers[index].push(handler);
                // The failed step is repeated after its handler.
                if then == Then::Again {
                    followers[handler].push(index);
                }
            }
        }
        let mut open = vec![from];
        while let Some(step) = open.pop() {
            if !std::mem::replace(&mut reached[step], true) {
                open.extend(&followers[step]);
            }
        }
        reached
    }

    /// The commands of its gates.
    pub fn commands(&self) -> impl Iterator<Item = &[String]> {
        self.steps.iter().flat_map(|step| &step.gates).filter_map(|gate| match gate {
            Gate::Command { command, .. } => Some(command.as_slice()),
            _ => None,
        })
    }
}
