//! Workflows for this process, and what to type when one is not found or not started.

use super::fail::Fail;
use super::surroundings::ThisProcess;
use crate::hint::{Command, Hint};
use crate::post::Failure;
use crate::staff::{self, FoundWorkflow, WorkflowError};
use crate::workflow::templates::SHIPPED;

/// Finds a workflow by name, else the file of a path.
pub(super) fn find(name: &str) -> Result<FoundWorkflow, Fail> {
    Ok(staff::find_workflow(&ThisProcess, name)?)
}

/// All workflows that can be run from here.
pub(super) fn all() -> Vec<FoundWorkflow> {
    staff::all_workflows(&ThisProcess)
}

const NAMES: &str = "the name of a workflow is of a-z, 0-9, `-` and `_`";

impl From<WorkflowError> for Fail {
    fn from(e: WorkflowError) -> Self {
        let what = e.to_string();
        match e {
            WorkflowError::Unknown { .. } => {
                let hints = vec![list(), "a new one is .postroom/workflows/NAME.yaml".into()];
                Self::Told(Failure::Unknown, what, hints)
            }
            WorkflowError::BadName { .. } => Self::Told(Failure::Unknown, what, vec![NAMES.into(), list()]),
            WorkflowError::BadFileName { file, .. } => {
                Self::unknown(what, format!("rename {}: {NAMES}", file.display()))
            }
            WorkflowError::NoFile { .. } => {
                let hints = vec![list(), "a workflow of the project is named without .yaml".into()];
                Self::Told(Failure::Unknown, what, hints)
            }
            WorkflowError::Unreadable { .. } => Self::refused(what, "a workflow is a YAML file of text"),
            WorkflowError::Wrong { name, .. } => Self::Told(Failure::Refused, what, example(&name)),
            WorkflowError::Strangers { missing, .. } => {
                Self::Told(Failure::Unknown, what, missing.iter().map(|name| make(name).into()).collect())
            }
            WorkflowError::NotCovered { .. } => {
                Self::refused(what, "only what `trust` covers is run: put it into .postroom/workflows/")
            }
            WorkflowError::Untrusted { project, shown, .. } => {
                let command = Hint::run(&["trust", &project.display().to_string()]);
                Self::refused(what, command.to(format!("after you have read {shown}")))
            }
            WorkflowError::Inputs { known, .. } => {
                Self::Told(Failure::Usage, what, known.into_iter().map(Hint::from).collect())
            }
            WorkflowError::Surroundings(e) => e.into(),
            WorkflowError::Post(e) => Self::Post(e),
        }
    }
}

/// The command that makes a mailbox for a recipient.
pub(super) fn make(name: &str) -> Command {
    Hint::run(&["setup", "--child", name]).to("makes that mailbox")
}

fn list() -> Hint {
    Hint::run(&["workflow", "list"]).to("shows them").into()
}

/// A workflow to compare a wrong one with.
fn example(wrong: &str) -> Vec<Hint> {
    let other = SHIPPED.iter().map(|(name, _)| *name).find(|name| *name != wrong);
    let compare =
        |name| Hint::run(&["workflow", "graph", name, "--yaml"]).to("one to compare it with").into();
    other.map(compare).into_iter().collect()
}
