//! Workflows and their runs.

use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};

use super::Versioned;
use crate::workflow::carrier::{shown_at, step_status};
use crate::workflow::engine::{Engine, StepState};
use crate::workflow::problem;
use crate::workflow::request::OpenRequests;
use crate::workflow::runs::Record;

/// One item of a step: its agent's work on one value.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Item<'a> {
    /// The agent that was asked.
    pub agent: &'a str,
    /// Which attempt this is, counted from 1.
    pub attempt: u32,
    /// Whether its result was accepted.
    pub done: bool,
    /// Why it finally failed; left out if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<&'a str>,
    /// The file of the last answer; left out before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The result; left out until it was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<&'a str>,
}

/// One step of a run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Step<'a> {
    /// Its name.
    pub step: &'a str,
    /// Its purpose.
    pub about: &'a str,
    /// `waiting`, `asked`, `running` (an agent or a gate is at work), `done`, `failed`, `skipped` or `stopped`.
    pub status: &'static str,
    /// Its state in words.
    pub how: String,
    /// Which round this is, counted from 1; a handled failure begins another.
    pub round: u32,
    /// Its items: one, or one for each value of `foreach`.
    pub items: Vec<Item<'a>>,
}

impl<'a> Step<'a> {
    fn of(
        engine: &'a Engine,
        index: usize,
        state: &'a StepState,
        at_work: &OpenRequests,
        archive: &Path,
    ) -> Self {
        let step = &engine.definition().steps[index];
        let items = state.items.iter().map(|item| {
            let done = item.outcome == Some(Ok(()));
            let file = Some(&item.file).filter(|file| !file.is_empty());
            Item {
                agent: &item.agent,
                attempt: item.attempt + 1,
                done,
                failure: item.outcome.as_ref().and_then(|outcome| outcome.as_ref().err()).map(String::as_str),
                file: file.map(|file| archive.join(file).display().to_string()),
                result: item.text.as_deref().filter(|_| done),
            }
        });
        Self {
            step: &step.name,
            about: &step.about,
            status: step_status(engine, index, at_work),
            how: shown_at(engine, index, at_work),
            round: state.round + 1,
            items: items.collect(),
        }
    }
}

/// A run of a workflow, printed by `workflow run`, `show`, `resume`, `cancel` and `retry`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Run<'a> {
    /// Its id.
    pub run: &'a str,
    /// The name of the workflow.
    pub workflow: &'a str,
    /// `in_progress`, `completed`, `failed` or `cancelled`.
    pub status: &'static str,
    /// How many steps have ended.
    pub settled: usize,
    /// How many steps there are.
    pub total: usize,
    /// The values of its inputs, by name.
    pub inputs: &'a Map<String, Value>,
    /// When it began; left out if its record cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// The mailbox that began it; left out if its record cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The file of its shared state; left out if its record cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Its steps.
    pub steps: Vec<Step<'a>>,
}

impl<'a> Run<'a> {
    /// `root` is the directory of the room; `at_work`: the requests on which agents work now.
    pub fn of(
        root: &Path,
        engine: &'a Engine,
        at_work: &OpenRequests,
        run: &'a str,
        record: Option<Record>,
    ) -> Self {
        let archive = root.join(run).join("archive");
        let step = |(index, state)| Step::of(engine, index, state, at_work, &archive);
        let file = |record: &Record| record.desk.join("shared").join("workflows").join(format!("{run}.md"));
        let state = record.as_ref().map(|record| file(record).display().to_string());
        let (started, by) = record.map(|record| (record.started, record.by)).unzip();
        Self {
            run,
            workflow: &engine.definition().name,
            status: engine.status().as_str(),
            settled: engine.settled(),
            total: engine.steps().len(),
            inputs: &engine.facts().inputs,
            started,
            by,
            state,
            steps: engine.steps().iter().enumerate().map(step).collect(),
        }
    }
}

/// A run in a list.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ListedRun<'a> {
    Run(Run<'a>),
    Unreadable(UnreadableRun<'a>),
}

/// A run that cannot go on, because a part of it is gone or cannot be read; printed by `workflow list`, and by
/// `workflow cancel` when it ends such a run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UnreadableRun<'a> {
    /// Its id.
    pub run: &'a str,
    /// Always `unreadable`.
    #[cfg_attr(test, schemars(extend("enum" = ["unreadable"])))]
    pub status: &'static str,
    /// What is wrong.
    pub why: &'a str,
}

impl<'a> UnreadableRun<'a> {
    pub fn of(run: &'a str, why: &'a str) -> Self {
        Self { run, status: "unreadable", why }
    }
}

/// A workflow that can be run from here.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ListedWorkflow<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its purpose.
    pub about: String,
    /// Its file; left out if it ships with Postroom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// How many problems it has.
    pub problems: usize,
}

/// All workflows and the newest runs, printed by `workflow list`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkflowList<'a> {
    /// The workflows.
    pub workflows: Vec<ListedWorkflow<'a>>,
    /// The runs, newest first.
    pub runs: Vec<Versioned<ListedRun<'a>>>,
}

/// The result of one step, printed by `workflow show RUN STEP`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepResult<'a> {
    /// The step.
    pub step: &'a str,
    /// `waiting`, `asked`, `running` (an agent or a gate is at work), `done`, `failed`, `skipped` or `stopped`.
    pub status: &'static str,
    /// The received texts, one for each item that has one.
    pub results: Vec<&'a str>,
}

/// A workflow drawn, printed by `workflow graph`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Graph<'a> {
    /// Its name.
    pub name: &'a str,
    /// For Mermaid.
    pub mermaid: &'a str,
    /// As text.
    pub text: &'a str,
}

/// The definition of a workflow, unchanged even if invalid, printed by `workflow graph --yaml`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Definition<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its file; left out if it ships with Postroom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The text of the file.
    pub yaml: &'a str,
}

/// A problem of a workflow.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Problem<'a> {
    /// The line, counted from 1.
    pub line: usize,
    /// The column, counted from 1.
    pub column: usize,
    /// What is wrong.
    pub message: &'a str,
}

/// The check of a workflow, printed by `workflow check`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkflowCheck<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its file; left out if it ships with Postroom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Whether it has no problems.
    pub ok: bool,
    /// How many steps it has; 0 if it cannot be read.
    pub steps: usize,
    /// The problems.
    pub problems: Vec<Problem<'a>>,
}

impl<'a> WorkflowCheck<'a> {
    pub fn of(name: &'a str, file: Option<String>, steps: usize, problems: &'a [problem::Problem]) -> Self {
        let problem = |p: &'a problem::Problem| Problem {
            line: p.place.line,
            column: p.place.column,
            message: &p.message,
        };
        Self { name, file, ok: problems.is_empty(), steps, problems: problems.iter().map(problem).collect() }
    }
}

/// A person's decision at a gate, printed by `approve` and `reject`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Approval<'a> {
    /// The id of the run.
    pub run: &'a str,
    /// The id of the request that was answered.
    pub request: &'a str,
    /// The answer: `approve`, or `reject: ` and the reason.
    pub answer: &'a str,
}
