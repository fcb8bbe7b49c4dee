//! `postroom approve` and `postroom reject`: a person's decision at a gate of a workflow.

use clap::Args;

use super::Verb;
use super::context::Context;
use super::dispatch::gate_starter;
use super::fail::Fail;
use super::output::note;
use super::send::tell;
use super::terminal;
use super::workflow::tell_remarks;
use crate::hint::Hint;
use crate::message::visible;
use crate::post::{Failure, Post, USER};
use crate::view::workflow::Approval;
use crate::workflow::decision::{self, Decided, Decision, PendingGate};
use crate::workflow::order;

/// Let a workflow run pass the gate at which it waits for you
///
/// Shows the question of the run, and asks you. The approval is recorded in your settings with name, time and terminal.
/// Only a person at a terminal that no agent has started can do this.
#[derive(Debug, Args)]
pub(super) struct Approve {
    /// A run, RUN/STEP, or the first digits of the id of the request
    id: String,
    /// Do not ask; still needs a terminal
    #[arg(long)]
    yes: bool,
}

impl Verb for Approve {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let post = context.post()?;
        let gate = decision::find(post, &self.id)?;
        post.person(&gate.run)?;
        if !self.yes {
            let (subject, body) = (visible::line(&gate.subject), visible::text(&gate.body));
            let shown = format!("{subject}\n\n{}\n", body.trim_end());
            if !terminal::agrees(&format!("{shown}\nDo you approve?")) {
                return Err(Fail::told(
                    Failure::Nothing,
                    "nothing was approved",
                    Hint::run(&["help", "reject"]).to("how to refuse it"),
                ));
            }
        }
        say(context, post, &gate, Decision::Approve { comment: "" })
    }
}

/// Refuse the result at which a workflow run waits for you
#[derive(Debug, Args)]
pub(super) struct Reject {
    /// A run, RUN/STEP, or the first digits of the id of the request
    id: String,
    /// The reason; the agent reads it before its next attempt
    #[arg(short, long, value_name = "WHY", allow_hyphen_values = true)]
    message: String,
}

impl Verb for Reject {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let post = context.post()?;
        let gate = decision::find(post, &self.id)?;
        say(context, post, &gate, Decision::Reject { why: &self.message })
    }
}

/// Decides, and reports it.
fn say(context: &mut Context, post: &Post, gate: &PendingGate, decision: Decision<'_>) -> Result<(), Fail> {
    let Decided { by, told, answer } = decision::decide(post, gate, decision)?;
    if context.output.json {
        context.done = true;
        let (run, request) = (gate.run.as_str(), gate.request.as_str());
        context.output.json(&Approval { run, request, answer: &answer });
        carry_on(context, post, &gate.run);
        return Ok(());
    }
    let receipt = tell(context, [&told.receipt]);
    context.output.flush().map_err(Fail::Output)?;
    post.answered(&by, &told);
    carry_on(context, post, &gate.run);
    receipt
}

/// Lets a run go on with an answer that it has, also if no dispatcher runs. The answer stands without it.
pub(super) fn carry_on(context: &Context, post: &Post, run: &str) {
    match order::carry_once(post, run, &gate_starter(&context.root)) {
        Ok((carried, _)) => tell_remarks(&carried),
        Err(_) => {
            note(&format!("postroom: the run {} goes on when a dispatcher runs", visible::clip(run, 80)))
        }
    }
}

impl From<decision::Error> for Fail {
    fn from(e: decision::Error) -> Self {
        let (code, what) = (e.code(), e.to_string());
        let hints = match e {
            decision::Error::NoGate { .. } => vec![
                Hint::run(&["workflow", "list"]).to("the runs").into(),
                Hint::run(&["check"]).by(USER).to("the requests").into(),
            ],
            decision::Error::Several { fitting, .. } => {
                let each = |gate: &PendingGate| {
                    format!("{} {} {}", gate.request, gate.run, visible::line(&gate.subject)).into()
                };
                fitting.iter().map(each).collect()
            }
            decision::Error::NotAsked { request, .. } => {
                vec![Hint::run(&["approve", request.as_str()]).to("shows what it asks").into()]
            }
            decision::Error::Post(e) => return Self::Post(e),
        };
        Self::Told(code, what, hints)
    }
}

/// The command that answers a question of a run; `word` names it.
pub(super) fn command(word: &str) -> Hint {
    Hint::run(&["approve", word]).to(format!("or reject {word} -m WHY")).into()
}
