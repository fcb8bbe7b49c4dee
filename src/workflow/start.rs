//! Starting a run, and a person's commands about it: cancel, and retry from a step.
//!
//! A run starts in this order: its record, its mailbox, then the mark that it is in progress. Each is durable before
//! the next. If interrupted before the mark, nothing has begun.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};

use super::carrier::look_at;
use super::definition::{Definition, Gate};
use super::engine::{Control, Status};
use super::mail;
use super::problem::Problem;
use super::repeat::Repeat;
use super::run_mail;
use super::runs::{Record, Runs};
use super::template::Template;
use crate::mailbox::lock::Lock;
use crate::name::{MailboxId, MessageId};
use crate::post::{Error, Post, Result};
use crate::random;

/// A run to start.
#[derive(Debug)]
pub struct Beginning<'a> {
    pub definition: &'a Definition,
    /// The text it was read from.
    pub text: &'a str,
    pub inputs: Map<String, Json>,
    pub project: PathBuf,
    /// The `.claude` tree that holds the state. `None`: the room holds it.
    pub tree: Option<PathBuf>,
    /// The name of its starter.
    pub by: &'a str,
}

/// Starts a run and returns its id. Durable on return; nothing is sent yet.
pub fn begin(post: &Post, beginning: Beginning<'_>) -> Result<String> {
    post.room().may_write()?;
    let runs = Runs::open(post.room())?;
    let id = format!("{}-{}", beginning.definition.name, random::hex());
    let mailbox =
        MailboxId::parse(&id).map_err(|why| Error::BadName { what: "the run", text: id.clone(), why })?;
    let record = Record {
        v: 1,
        id: id.clone(),
        workflow: beginning.definition.name.clone(),
        inputs: beginning.inputs,
        started: post.room().clock().now().precise(),
        by: beginning.by.to_owned(),
        project: beginning.project,
        desk: beginning.tree.unwrap_or_else(|| runs.path()),
        hops: post.hops(),
    };
    runs.keep(&record, beginning.text)?;
    run_mail::make(post, &mailbox)?;
    runs.set_open(&id, true)?;
    Ok(id)
}

/// Recipients of a workflow that cannot be reached.
#[derive(Debug, Default)]
pub struct Strangers {
    pub problems: Vec<Problem>,
    /// The names that nobody has.
    pub missing: BTreeSet<String>,
}

/// Recipients of a workflow that do not exist, as far as known before the run.
pub fn strangers(post: &Post, definition: &Definition, inputs: Option<&Map<String, Json>>) -> Strangers {
    let (mut problems, mut missing) = (vec![], BTreeSet::new());
    let mut see = |name: &str, place| {
        if let Err(e) = post.addressee(name) {
            if matches!(e, Error::UnknownName { .. }) {
                missing.insert(name.to_owned());
            }
            problems.push(Problem::at(place, e.to_string()));
        }
    };
    for step in &definition.steps {
        if let Some(name) = known_name(&step.agent, inputs) {
            see(&name, step.agent.place);
        }
        for gate in &step.gates {
            if let Gate::Approval { by, .. } = gate {
                see(by, step.place);
            }
        }
    }
    problems.sort();
    problems.dedup();
    Strangers { problems, missing }
}

/// The agent of a step, if it depends only on inputs.
fn known_name(agent: &Template, inputs: Option<&Map<String, Json>>) -> Option<String> {
    let uses = &agent.uses;
    if !uses.steps.is_empty() || uses.any_step || !uses.others.is_empty() {
        return None;
    }
    // The template may be unreviewed, so nothing is computed.
    if !agent.is_simple() || (inputs.is_none() && !uses.inputs.is_empty()) {
        return None;
    }
    let context = serde_json::json!({ "inputs": inputs });
    agent.render(&context).ok().map(|name| name.trim().to_owned())
}

/// The agents of a run, as far as known before it: each name once, with its mailbox.
pub fn agents(post: &Post, definition: &Definition, inputs: &Map<String, Json>) -> Vec<(String, MailboxId)> {
    let mut found: Vec<(String, MailboxId)> = vec![];
    for name in definition.steps.iter().filter_map(|step| known_name(&step.agent, Some(inputs))) {
        if let Ok(id) = post.addressee(&name)
            && !found.iter().any(|(_, other)| *other == id)
        {
            found.push((name, id));
        }
    }
    found
}

/// The tree of the first step's agent, which then holds the state.
pub fn tree_of(post: &Post, definition: &Definition, inputs: &Map<String, Json>) -> Option<PathBuf> {
    definition.steps.iter().find_map(|step| {
        let id = post.addressee(&known_name(&step.agent, Some(inputs))?).ok()?;
        let agent = post.other(&id).ok()?;
        agent.mailbox.desk()
    })
}

/// The runs that are called so: the one with this id, else all whose id begins or ends so.
pub fn find(runs: &Runs, wanted: &str) -> Result<Vec<String>> {
    let ids = runs.ids()?;
    if ids.iter().any(|id| id == wanted) {
        return Ok(vec![wanted.to_owned()]);
    }
    let fits = |id: &String| wanted.len() >= 4 && (id.starts_with(wanted) || id.ends_with(wanted));
    Ok(ids.into_iter().filter(fits).collect())
}

/// What a person wants of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// End it. With `let_finish`, agents at work go on to their end.
    Cancel { let_finish: bool },
    /// Repeat what failed, or a step and all that follow it. With `all`, also the items of that step that are done.
    Retry { from: Option<String>, all: bool },
}

/// Why a command about a run is not written.
#[derive(Debug)]
pub enum Refused {
    /// The run has a state that does not allow the command.
    Stands(Status),
    NoStep(Vec<String>),
    NothingFailed,
    Post(Error),
}

impl<E: Into<Error>> From<E> for Refused {
    fn from(e: E) -> Self {
        Self::Post(e.into())
    }
}

/// Writes a person's command about a run into its mail. It is valid once this returns, and takes effect when the run is
/// next carried.
pub fn control(
    post: &Post,
    runs: &Runs,
    run: &str,
    order: &Order,
    why: &str,
) -> std::result::Result<(), Refused> {
    let lock: Lock = runs.lock(run)?;
    let engine = look_at(post, runs, run)?;
    let in_progress = engine.status() == Status::InProgress;
    if in_progress == matches!(order, Order::Retry { .. }) {
        return Err(Refused::Stands(engine.status()));
    }
    let word = match order {
        Order::Cancel { let_finish } => Control::Cancel { let_finish: *let_finish },
        Order::Retry { from, all } => {
            let repeat = match from.as_deref().map(|name| engine.definition().step(name)) {
                None => Repeat::failed(&engine),
                Some(Some(step)) => Repeat::from_step(&engine, step, *all),
                Some(None) => {
                    let steps = engine.definition().steps.iter().map(|step| step.name.clone()).collect();
                    return Err(Refused::NoStep(steps));
                }
            };
            if repeat.is_empty() {
                return Err(Refused::NothingFailed);
            }
            Control::Retry(repeat)
        }
    };
    let number = engine.controls().keys().next_back().map_or(1, |last| last + 1);
    let me = post.other(&MailboxId::parse(run).map_err(|_| super::carrier::no_run(run))?)?;
    let id = MessageId::derived(format!("control {run} {number}").as_bytes());
    run_mail::note_to_self(post, &me, &mail::control(number, &word, why), &id)?;
    runs.set_open(run, true)?;
    runs.forget_failed(run)?;
    drop(lock);
    Ok(())
}

/// Whether a path is a `.claude` tree with mailboxes.
pub fn is_tree(claude: &Path) -> bool {
    claude.join("inboxes").is_dir()
}
