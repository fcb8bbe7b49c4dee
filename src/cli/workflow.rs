//! `postroom workflow …`: run, list, show, graph, check, resume, cancel, retry; and the process of a gate.

use clap::{Args, Subcommand};

use super::context::Context;
use super::fail::Fail;
use super::follow::{follow, must_be_staffed};
use super::output::note;
use super::surroundings::ThisProcess;
use super::workflow_order::give;
use super::workflow_shown::{check, document, draw, list, show, summary};
use super::workflows::find;
use super::{Verb, dispatch};
use crate::hint::Hint;
use crate::message::visible;
use crate::post::{Failure, Post};
use crate::staff::gate_environment;
use crate::workflow::carrier::{Carried, Carrier, look_at, shown};
use crate::workflow::engine::{Engine, Phase, Status};
use crate::workflow::gate;
use crate::workflow::order::{self, MeantRun};
use crate::workflow::runs::Runs;
use crate::workflow::start::Order;

/// Run many agents in many steps, each a message
///
///   postroom workflow list      what there is, and what runs
///   postroom workflow run research-create --input topic='Python testing' --follow
///   postroom workflow show RUN
///
/// A workflow is a file .postroom/workflows/NAME.yaml; four ship with Postroom.
/// `postroom workflow graph NAME --yaml` prints one to copy and edit. Any
/// `postroom dispatch --watch` carries a run on, and nothing is lost if none runs.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Workflow {
    #[command(subcommand)]
    deed: Deed,
}

#[derive(Debug, Subcommand)]
enum Deed {
    /// Begin a run
    Run {
        /// A workflow: `postroom workflow list` shows them
        name: String,
        /// An input of the workflow; may be repeated
        #[arg(long = "input", short, value_name = "KEY=VALUE", value_parser = input, allow_hyphen_values = true)]
        inputs: Vec<(String, String)>,
        /// Dispatch here, as `postroom dispatch --watch` does, and show its steps until it is over
        #[arg(long)]
        follow: bool,
    },
    /// Show all workflows, and the newest runs
    List {
        /// At most this many runs
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Show the state of a run, or the result of one of its steps
    Show {
        /// A run, by its id or the digits at its end
        run: String,
        /// One of its steps
        step: Option<String>,
    },
    /// Draw a workflow, or print its definition
    Graph {
        /// A workflow: `postroom workflow list` shows them
        name: String,
        /// For Mermaid
        #[arg(long)]
        mermaid: bool,
        /// Its definition, unchanged, to copy and edit
        #[arg(long, conflicts_with = "mermaid")]
        yaml: bool,
    },
    /// Check a workflow: shows every fault with line and column
    Check {
        /// Its name, or the path of its file
        name: String,
    },
    /// Carry a run from its mail, as a dispatcher would
    Resume {
        /// A run, by its id or the digits at its end
        run: String,
        /// Dispatch here, as `postroom dispatch --watch` does, and show its steps until it is over
        #[arg(long)]
        follow: bool,
    },
    /// End a run: stops its agents, withdraws its requests
    Cancel {
        /// A run, by its id or the digits at its end
        run: String,
        /// Let agents at work finish; nobody waits for their answers
        #[arg(long)]
        let_finish: bool,
    },
    /// Repeat what failed in a run
    Retry {
        /// A run, by its id or the digits at its end
        run: String,
        /// Repeat this step and all that follow it; its items that are done keep their results
        #[arg(long, value_name = "STEP")]
        from: Option<String>,
        /// Repeat also the items of that step that are done
        #[arg(long, requires = "from")]
        all: bool,
        /// Dispatch here, as `postroom dispatch --watch` does, and show its steps until it is over
        #[arg(long)]
        follow: bool,
    },
}

fn input(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(key, value)| (key.trim().to_owned(), value.to_owned()))
        .filter(|(key, _)| !key.is_empty())
        .ok_or_else(|| "of the form KEY=VALUE".to_owned())
}

impl Verb for Workflow {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        match self.deed {
            Deed::Run { name, inputs, follow } => run(context, &name, &inputs, follow),
            Deed::List { limit } => list(context, limit),
            Deed::Show { run, step } => show(context, &run, step.as_deref()),
            Deed::Graph { name, mermaid, yaml } => draw(context, &name, mermaid, yaml),
            Deed::Check { name } => check(context, &name),
            Deed::Resume { run, follow } => resume(context, &run, follow),
            Deed::Cancel { run, let_finish } => give(context, &run, &Order::Cancel { let_finish }, false),
            Deed::Retry { run, from, all, follow } => {
                give(context, &run, &Order::Retry { from, all }, follow)
            }
        }
    }
}

fn run(context: &mut Context, name: &str, given: &[(String, String)], follows: bool) -> Result<(), Fail> {
    let found = find(name)?;
    let ready = found.ready(&ThisProcess, given)?;
    let post = context.project_post_for_long(follows)?;
    ready.check_recipients(post)?;
    if follows {
        must_be_staffed(post, &ready.agents(post))?;
    }
    let id = ready.begin(post)?;
    context.done = true;
    let engine = carry_once(context, post, &id)?;
    match context.output.json {
        true if follows => {}
        true => context.output.json(&document(post, &engine, &id)),
        false => context.output.line(&format!("run {id}")),
    }
    if follows {
        context.output.flush().map_err(Fail::Output)?;
        return end_of(context, post, &id);
    }
    let next = [Hint::run(&["dispatch", "--watch"]).to("carries it on").into(), stands(&id)];
    for line in next.map(|hint| context.hint(hint)) {
        context.output.remark(&line);
    }
    Ok(())
}

/// Reports the state of a run.
pub(super) fn tell(context: &mut Context, post: &Post, engine: &Engine, id: &str) {
    match context.output.json {
        true => context.output.json(&document(post, engine, id)),
        false => context.output.line(&format!("run {id} {}", summary(engine))),
    }
}

/// Carries a run once, and tells the remarks.
fn carry_once(context: &Context, post: &Post, run: &str) -> Result<Engine, Fail> {
    let (carried, engine) = order::carry_once(post, run, &dispatch::gate_starter(&context.root))?;
    tell_remarks(&carried);
    Ok(engine)
}

pub(super) fn tell_remarks(carried: &Carried) {
    carried.remarks.iter().for_each(|remark| note(&format!("postroom: {}", visible::line(remark))));
}

/// Follows a run and exits with its result.
pub(super) fn end_of(context: &mut Context, post: &Post, run: &str) -> Result<(), Fail> {
    let status = follow(context, post, run)?;
    if let Some(runs) = Runs::existing(post.room())?
        && (context.output.json || context.output.terminal)
    {
        let engine = look_at(post, &runs, run)?;
        if context.output.json {
            context.output.json(&document(post, &engine, run));
        } else if let Some(step) = engine.last_result().filter(|_| status == Status::Completed) {
            let shows = Hint::run(&["workflow", "show", run, step]).to("shows its result");
            let shows = context.hint(shows);
            context.output.remark(&shows);
        }
    }
    match status {
        Status::Completed => Ok(()),
        Status::InProgress => Err(Fail::Told(
            Failure::NotDone,
            format!("the run {run} is not over"),
            vec![Hint::run(&["dispatch"]).to("carries it on").into(), stands(run)],
        )),
        Status::Failed | Status::Cancelled => {
            let failed = failed_step(post, run)?;
            let why = failed.map(|(step, how)| format!(": {step} {how}")).unwrap_or_default();
            Err(Fail::Told(
                Failure::NotDone,
                format!("the run {run} is {}{why}", status.as_str()),
                vec![stands(run), repeats(run)],
            ))
        }
    }
}

fn stands(run: &str) -> Hint {
    Hint::run(&["workflow", "show", run]).to("how it stands").into()
}

fn repeats(run: &str) -> Hint {
    Hint::run(&["workflow", "retry", run]).to("repeats what failed").into()
}

/// The first failed step, and how it failed.
fn failed_step(post: &Post, run: &str) -> Result<Option<(String, String)>, Fail> {
    let Some(runs) = Runs::existing(post.room())? else { return Ok(None) };
    let engine = look_at(post, &runs, run)?;
    let failed = |index: &usize| matches!(engine.steps()[*index].phase, Phase::Failed(..));
    let step = (0..engine.steps().len()).find(failed);
    Ok(step.map(|step| (engine.definition().steps[step].name.clone(), visible::line(&shown(&engine, step)))))
}

fn resume(context: &mut Context, wanted: &str, follows: bool) -> Result<(), Fail> {
    let post = context.project_post_for_long(follows)?;
    let MeantRun { runs, id, .. } = order::meant(post, wanted)?;
    let gate = dispatch::gate_starter(&context.root);
    if look_at(post, &runs, &id)?.status() == Status::InProgress {
        // The mark may be lost even if the mail is not.
        runs.set_open(&id, true)?;
    }
    let Some(carried) = Carrier::default().carry(post, &runs, &id, &gate)? else {
        // A follower does not have to be the carrier.
        if follows {
            return end_of(context, post, &id);
        }
        return Err(Fail::not_done(
            format!("another process is carrying the run {id} on just now"),
            stands(&id),
        ));
    };
    tell_remarks(&carried);
    if carried.status == Status::InProgress && follows {
        return end_of(context, post, &id);
    }
    tell(context, post, &look_at(post, &runs, &id)?, &id);
    match carried.status {
        Status::InProgress | Status::Completed => Ok(()),
        status => Err(Fail::refused(format!("the run {id} is {}", status.as_str()), repeats(&id))),
    }
}

/// Run a gate of a workflow, to the end (started by a dispatcher)
#[derive(Debug, Args)]
pub(super) struct WorkflowGate {
    run: String,
    id: String,
}

impl Verb for WorkflowGate {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let post = context.post()?;
        match gate::run(post, &self.run, &self.id, gate_environment(&ThisProcess, &context.root))? {
            true => Ok(()),
            false => Err(Fail::Code(Failure::Nothing)),
        }
    }
}
