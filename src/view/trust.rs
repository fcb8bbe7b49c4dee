//! Trust: what a repository or a room would run, and the person's decision about it.

use std::path::Path;

use serde::Serialize;

use crate::trust::{self, TrustState, What};

/// The command of a step.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepCommand<'a> {
    /// The step.
    pub step: &'a str,
    /// The program and its arguments.
    pub runs: &'a [String],
}

/// Something that would run: an agent, a workflow, or the limits of a project.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrustItem<'a> {
    /// For an agent: the program and its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<&'a [String]>,
    /// For an agent: its working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<&'a str>,
    /// For an agent: its access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<&'static str>,
    /// For an agent: the variables that it gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variables: Option<&'a [String]>,
    /// For an agent: the files that its program reads in the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<&'a [String]>,
    /// For a workflow: its agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<&'a [String]>,
    /// For a workflow: the commands of its steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<Vec<StepCommand<'a>>>,
    /// For a workflow: why it cannot be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faults: Option<&'a [String]>,
    /// Its name.
    pub item: String,
    /// `new`, `changed` or `unchanged` since a person trusted it.
    #[cfg_attr(test, schemars(extend("enum" = ["new", "changed", "unchanged"])))]
    pub state: &'static str,
    /// A digest of everything that is trusted.
    pub fingerprint: String,
    /// The trusted text, line by line; left out for a workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a [String]>,
    /// For a changed item: the lines that differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Vec<String>>,
}

impl<'a> TrustItem<'a> {
    fn of(item: &'a trust::Item, state: TrustState) -> Self {
        let mut view = Self {
            item: item.key.to_string(),
            state: state.as_str(),
            fingerprint: item.fingerprint(),
            description: Some(&item.description),
            ..Self::default()
        };
        match &item.what {
            What::Limits => {}
            What::Agent { command, directory, access, variables, reads } => {
                view.runs = Some(command);
                view.directory = Some(directory);
                view.access = Some(access);
                view.variables = Some(variables);
                view.reads = Some(reads);
            }
            What::Workflow { agents, commands, faults } => {
                let commands = commands.iter().map(|(step, runs)| StepCommand { step, runs });
                view.agents = Some(agents);
                view.commands = Some(commands.collect());
                view.faults = Some(faults);
                view.description = None;
            }
        }
        if let TrustState::Changed(changes) = state {
            view.difference = Some(changes);
        }
        view
    }
}

/// What a repository or a room would run, printed by `trust` before it asks.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrustItems<'a> {
    /// The repository or the room.
    pub directory: String,
    /// The items it would run.
    pub items: Vec<TrustItem<'a>>,
}

impl<'a> TrustItems<'a> {
    pub fn of(dir: &Path, before: &trust::Record, items: &'a [trust::Item]) -> Self {
        let items = items.iter().map(|item| TrustItem::of(item, before.state(item))).collect();
        Self { directory: dir.display().to_string(), items }
    }
}

/// The person's decision, printed by `trust` at its end.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrustSaid {
    /// The directory that is trusted now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted: Option<String>,
    /// The directory that is no longer trusted, with `--revoke`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked: Option<String>,
}

/// The record that `trust` would write, printed by `trust --export`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrustRecord {
    /// The repository or the room.
    pub directory: String,
    /// The text of the file; its first line names the path.
    pub record: String,
}
