//! Workflows for this process, and what to type when one is not found or not started.

use super::fail::Fail;
use super::surroundings::ThisProcess;
use crate::hint::{Command, Hint};
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
        let (code, what) = (e.code(), e.to_string());
        let hints = match e {
            WorkflowError::Unknown { .. } => {
                vec![list(), "a new one is .postroom/workflows/NAME.yaml".into()]
            }
            WorkflowError::BadName { .. } => vec![NAMES.into(), list()],
            WorkflowError::BadFileName { file, .. } => {
                vec![format!("rename {}: {NAMES}", file.display()).into()]
            }
            WorkflowError::NoFile { .. } => {
                vec![list(), "a workflow of the project is named without .yaml".into()]
            }
            WorkflowError::Unreadable { .. } => vec!["a workflow is a YAML file of text".into()],
            WorkflowError::Wrong { name, .. } => example(&name),
            WorkflowError::Strangers { missing, .. } => {
                missing.iter().map(|name| make(name).into()).collect()
            }
            WorkflowError::NotCovered { .. } => {
                vec!["only what `trust` covers is run: put it into .postroom/workflows/".into()]
            }
            WorkflowError::Untrusted { project, shown, .. } => {
                let command = Hint::run(&["trust", &project.display().to_string()]);
                vec![command.to(format!("after you have read {shown}")).into()]
            }
            WorkflowError::Inputs { known, .. } => known.into_iter().map(Hint::from).collect(),
            WorkflowError::Surroundings(e) => return e.into(),
            WorkflowError::Post(e) => return Self::Post(e),
        };
        Self::Told(code, what, hints)
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
