//! `postroom approve` and `postroom reject`: a person's decision at a gate of a workflow.

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::send::tell;
use super::terminal;
use crate::hint::Hint;
use crate::message::visible;
use crate::name::MessageId;
use crate::post::{Failure, Letter, Post, USER};
use crate::view::workflow::Approval;
use crate::workflow::carrier::look_at;
use crate::workflow::engine::{Ask, AskKind};
use crate::workflow::runs::Runs;
use crate::workflow::start;

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
        let (run, ask) = gate(post, &self.id)?;
        post.person(&run)?;
        if let (AskKind::Approval { subject, body, .. }, false) = (&ask.kind, self.yes) {
            let shown = format!("{}\n\n{}\n", visible::line(subject), visible::text(body).trim_end());
            if !terminal::agrees(&format!("{shown}\nDo you approve?")) {
                return Err(Fail::told(
                    Failure::Nothing,
                    "nothing was approved",
                    Hint::run(&["reject", ask.id.as_str(), "-m", "WHY"]),
                ));
            }
        }
        say(context, post, &run, &ask, "approve\n")
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
        let (run, ask) = gate(post, &self.id)?;
        post.person(&run)?;
        say(context, post, &run, &ask, &format!("reject: {}\n", self.message.trim()))
    }
}

/// Records the decision, then answers the request with it.
fn say(context: &mut Context, post: &Post, run: &str, ask: &Ask, answer: &str) -> Result<(), Fail> {
    let me = post.act_as(USER)?;
    let letter = Letter { body: answer.to_owned(), allow_secrets: true, ..Letter::default() };
    post.say(&ask.id, run, answer)?;
    let told = post.reply(&me, ask.id.as_str(), letter)?;
    if context.output.json {
        context.done = true;
        context.output.json(&Approval { run, request: ask.id.as_str(), answer: answer.trim_end() });
        return Ok(());
    }
    let receipt = tell(context, [&told.receipt]);
    context.output.flush().map_err(Fail::Output)?;
    post.answered(&me, &told);
    receipt
}

/// The one gate that waits for the person, found by its run or its request.
fn gate(post: &Post, wanted: &str) -> Result<(String, Ask), Fail> {
    let runs = Runs::existing(post.room())?;
    let (run, step) = wanted.split_once('/').map_or((wanted, None), |(run, step)| (run, Some(step)));
    let named = start::find(runs.as_ref(), run)?.ok();
    let mut found = vec![];
    if let Some(runs) = &runs {
        let open = match &named {
            Some(run) => vec![run.clone()],
            None => runs.open_ids()?,
        };
        for run in open {
            let engine = look_at(post, runs, &run)?;
            let is_meant = |ask: &&Ask| match &named {
                Some(_) => step.is_none_or(|step| engine.definition().steps[ask.step].name == step),
                None => wanted.len() >= 4 && ask.id.as_str().starts_with(wanted),
            };
            found.extend(
                engine
                    .asks_of_person()
                    .into_iter()
                    .filter(|ask| is_meant(ask))
                    .map(|ask| (run.clone(), ask.clone())),
            );
        }
    }
    let wanted = visible::clip(wanted, 80);
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(Fail::Told(
            Failure::Unknown,
            format!("nothing called `{wanted}` waits for your approval"),
            vec![
                Hint::run(&["workflow", "list"]).to("the runs").into(),
                Hint::run(&["check"]).by(USER).to("the requests").into(),
            ],
        )),
        _ => {
            let each = found.iter().map(|(run, ask)| format!("{} {run} {}", ask.id, shown(ask)).into());
            Err(Fail::Told(Failure::Unknown, format!("`{wanted}` fits several requests"), each.collect()))
        }
    }
}

fn shown(ask: &Ask) -> String {
    match &ask.kind {
        AskKind::Approval { subject, .. } => visible::line(subject),
        AskKind::Work { .. } | AskKind::Command { .. } => String::new(),
    }
}

/// The command that answers a question of a run; `word` names it.
pub(super) fn command(word: &str) -> Hint {
    Hint::run(&["approve", word]).to(format!("or reject {word} -m WHY")).into()
}

/// Records the person's answer by mail, if it answers a gate. The mail must show what the run asks, because anybody can
/// write its file.
pub(super) fn answers(
    post: &Post,
    run: &str,
    request: &MessageId,
    shown: &str,
    answer: &str,
) -> Result<(), Fail> {
    let Some(runs) = Runs::existing(post.room())? else { return Ok(()) };
    if !runs.ids()?.iter().any(|id| id == run) {
        return Ok(());
    }
    let engine = look_at(post, &runs, run)?;
    let Some(ask) = engine.asks_of_person().into_iter().find(|ask| ask.id == *request) else { return Ok(()) };
    match &ask.kind {
        AskKind::Approval { body, .. } if body.trim() == shown.trim() => Ok(post.say(&ask.id, run, answer)?),
        _ => Err(Fail::refused(
            format!("this message is not what the run {run} asks"),
            Hint::run(&["approve", request.as_str()]).to("shows what it asks"),
        )),
    }
}
