//! `postroom workflow cancel` and `retry`: what a person wants of a run.

use super::context::Context;
use super::dispatch::gate_starter;
use super::fail::Fail;
use super::output::note;
use super::stop::{line, release};
use super::workflow::{end_of, tell, tell_remarks};
use super::workflows::find;
use crate::hint::Hint;
use crate::message::visible;
use crate::post::Failure;
use crate::view::workflow::UnreadableRun;
use crate::workflow::engine::Status;
use crate::workflow::order::{self, Obeyed};
use crate::workflow::start::Order;

/// Gives an order, and reports what became of it.
pub(super) fn give(context: &mut Context, wanted: &str, order: &Order, follows: bool) -> Result<(), Fail> {
    let post = context.project_post_for_long(follows)?;
    let obeyed = order::give(post, wanted, order, &gate_starter(&context.root))?;
    context.done = true;
    let (id, engine, stopped) = match obeyed {
        Obeyed::Ended { run, why } => {
            match context.output.json {
                true => context.output.json(&UnreadableRun::of(&run, &why)),
                false => context.output.line(&format!("run {run} ended: {}", visible::line(&why))),
            }
            let rest = context.hint(removes(&run));
            context.output.remark(&rest);
            return Ok(());
        }
        Obeyed::Carried { run, engine, carried, stopped } => {
            tell_remarks(&carried);
            (run, engine, stopped)
        }
    };
    if follows && engine.status() == Status::InProgress {
        return end_of(context, post, &id);
    }
    tell(context, post, &engine, &id);
    for stopped in &stopped {
        match release(stopped) {
            Some(release) => context.warn(&line(stopped), release),
            None => note(&format!("postroom: {}", line(stopped))),
        }
    }
    match stopped.iter().any(|stopped| stopped.is_unanswered) {
        true => Err(Fail::Code(Failure::NotDone)),
        false => Ok(()),
    }
}

fn removes(run: &str) -> Hint {
    Hint::run(&["prune", run]).to("removes what is left of it").into()
}

impl From<order::Error> for Fail {
    fn from(e: order::Error) -> Self {
        let (code, what) = (e.code(), e.to_string());
        let hints = match e {
            order::Error::NoRun { wanted } => {
                let list = Hint::run(&["workflow", "list"]).to("shows them").into();
                let is_workflow = find(&wanted).is_ok();
                let graph = Hint::run(&["workflow", "graph", &wanted]).to("that is a workflow").into();
                is_workflow.then_some(graph).into_iter().chain([list]).collect()
            }
            order::Error::SeveralRuns { fitting, .. } => vec![fitting.join(", ").into()],
            order::Error::Lost { run, .. } => vec![removes(&run)],
            order::Error::NoStep { steps } => vec![format!("there are {}", steps.join(", ")).into()],
            order::Error::NothingFailed { run } => {
                let hint = Hint::run(&["workflow", "show", &run]);
                vec![hint.to("lists its steps; `retry --from STEP` repeats from one on").into()]
            }
            order::Error::Over { .. } => {
                vec![Hint::run(&["workflow", "list"]).to("what is in progress").into()]
            }
            order::Error::InProgress { run, .. } => {
                vec![Hint::run(&["workflow", "cancel", &run]).to("ends it first").into()]
            }
            order::Error::Post(e) => return Self::Post(e),
        };
        Self::Told(code, what, hints)
    }
}
