//! The state of a chain in the shared files: requests with `workflow` and `step` that agents hand to each other keep
//! these up to date (protocols: tree §3.5). `session-context.md` has a line for each agent, `workflow-state.md` shows
//! the progress of the chain.
//!
//! Nothing depends on these files: one that cannot be changed stays as it is, and `tree status` reports the fault. Runs
//! of the workflow engine keep their own state; their requests come from the run itself and are skipped here.

use std::collections::BTreeMap;

use super::agent::{Agent, TaskFile};
use super::facts::{TaskFacts, Tray};
use super::{SESSION, STATE, Tree};
use crate::mailbox::fault::Result;
use crate::mailbox::folder::Folder;
use crate::message::tree::Status;
use crate::message::{ParseError, Step as Number, frontmatter, shared};

/// The state of a step of a chain.
#[derive(Debug)]
struct Step {
    agent: String,
    subject: String,
    status: Status,
}

impl Agent {
    /// Records the progress of a chain's request in the shared files.
    pub(super) fn tell_session(&self, name: &str, to: Folder) {
        let word = match to {
            Folder::Archive => Status::Completed,
            Folder::Failed => Status::Failed,
            Folder::Inbox => return,
            _ => Status::InProgress,
        };
        if let Ok(Some(TaskFile { task, .. })) = self.task(name)
            && let Some(run) = task.workflow.as_deref().filter(|run| *run != task.from)
        {
            let _ = self.tree().note_agent(self.id().as_str(), word);
            let _ = self.tree().note_chain(run);
        }
    }
}

impl Tree {
    fn note_agent(&self, agent: &str, status: Status) -> Result<()> {
        self.rewrite("session-context", |text| {
            let text = if text.trim().is_empty() { SESSION } else { text };
            with_agent(text, agent, &format!("{agent} ({status})"))
        })
    }

    fn note_chain(&self, run: &str) -> Result<()> {
        let steps = self.steps_of(run)?;
        self.rewrite("workflow-state", |text| {
            let text = if text.trim().is_empty() { STATE } else { text };
            // The file is about one workflow; that of another is left alone.
            match shared::get(text, "workflow_id")?.filter(|id| !id.is_empty()) {
                Some(other) if other != run => Ok(text.to_owned()),
                _ => with_steps(text, run, &steps),
            }
        })
    }

    /// The steps of a chain by number, from all inboxes.
    fn steps_of(&self, run: &str) -> Result<BTreeMap<Number, Vec<Step>>> {
        let mut steps: BTreeMap<Number, Vec<Step>> = BTreeMap::new();
        for agent in self.agents()? {
            for tray in [Tray::Inbox, Tray::ArchivedInbox] {
                let seen = self.facts(tray, &agent)?;
                let of_run = |facts: &&TaskFacts| facts.workflow.as_deref() == Some(run);
                for (step, facts) in
                    seen.readable().map(|(_, facts)| facts).filter(of_run).filter_map(|f| Some((f.step?, f)))
                {
                    let (agent, subject) = (agent.to_string(), facts.subject.clone());
                    steps.entry(step).or_default().push(Step { agent, subject, status: facts.status });
                }
            }
        }
        Ok(steps)
    }
}

/// The text with the current line of an agent. Only the list of agents is ours; the same words elsewhere are not.
pub fn with_agent(text: &str, agent: &str, line: &str) -> std::result::Result<String, ParseError> {
    let before = Status::ALL.map(|word| format!("- {agent} ({word})"));
    let header = frontmatter::split(text).map_or(0, |split| split.header.lines().count() + 1);
    let is_ours = |found: &str| before.iter().any(|line| found.trim() == line);
    let Some(at) = text.lines().take(header).position(is_ours) else {
        return shared::append(text, "agents_invoked", line);
    };
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let found = lines[at].trim().to_owned();
    lines[at] = lines[at].replacen(&found, &format!("- {line}"), 1);
    Ok(lines.concat())
}

/// The text with the fields and the check-list of a chain updated.
fn with_steps(
    text: &str,
    run: &str,
    steps: &BTreeMap<Number, Vec<Step>>,
) -> std::result::Result<String, ParseError> {
    let is_done = |of: &[Step]| of.iter().all(|step| step.status == Status::Completed);
    let last = steps.keys().next_back().copied().unwrap_or(Number::from(0));
    let open = steps.iter().find(|(_, of)| !is_done(of)).map(|(number, _)| *number);
    let total = shared::get(text, "total_steps")?.and_then(|total| total.parse::<Number>().ok());
    let total = total.map_or(last, |total| total.max(last));
    let failed = steps.values().flatten().any(|step| step.status == Status::Failed);
    let status = match open {
        Some(_) if failed => Status::Failed,
        None if last >= total => Status::Completed,
        _ => Status::InProgress,
    };
    let mut text = text.to_owned();
    for (key, value) in [
        ("workflow_id", run.to_owned()),
        ("status", status.to_string()),
        ("current_step", open.unwrap_or(last).to_string()),
        ("total_steps", total.to_string()),
    ] {
        text = shared::set(&text, key, &value)?;
    }
    for (number, of) in steps {
        text = with_step(&text, *number, of, is_done(of))?;
    }
    Ok(text)
}

/// The text with one line of the check-list updated.
fn with_step(text: &str, number: Number, of: &[Step], done: bool) -> std::result::Result<String, ParseError> {
    let mark = if done { "[x]" } else { "[ ]" };
    let start = format!("{number}. [");
    let Some(at) = text.lines().position(|line| line.trim_start().starts_with(&start)) else {
        let agents: Vec<&str> = of.iter().map(|step| step.agent.as_str()).collect();
        let subject = of.first().map_or("", |step| step.subject.as_str());
        return shared::append(text, "Steps", &format!("{number}. {mark} {}: {subject}", agents.join(", ")));
    };
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for other in ["[ ]", "[x]", "[X]"] {
        lines[at] = lines[at].replacen(&format!("{number}. {other}"), &format!("{number}. {mark}"), 1);
    }
    Ok(lines.concat())
}
