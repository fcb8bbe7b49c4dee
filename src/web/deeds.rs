//! What the person does on the page. Each deed is one verb of the library, said in words afterwards.

use serde_json::Value;

use super::markup::encoded;
use super::routes::{Ask, Done, Wrong, text};
use crate::dispatch::pausing;
use crate::dispatch::retriable::{self, Retriable, RetriableMailboxes};
use crate::dispatch::stop;
use crate::mailbox::Folder;
use crate::name::MailboxId;
use crate::post::line::{counted, of_receipt};
use crate::post::{Letter, USER};
use crate::staff::find_workflow;
use crate::workflow::decision::{self, Decision};
use crate::workflow::order::{self, Obeyed};
use crate::workflow::start::Order;

/// Writes a message as the person.
pub(super) fn send(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    let me = ask.post.act_as(USER)?;
    let to = text(body, "to")?.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let subject = body.get("subject").and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let letter = Letter {
        to,
        subject: subject.map(str::to_owned),
        body: text(body, "text")?.to_owned(),
        ..Letter::default()
    };
    let receipts = ask.post.send(&me, &letter)?;
    let lines: Vec<String> = receipts.iter().map(of_receipt).collect();
    Ok(Done::said(lines.join(", ")))
}

/// Answers a message of the person. The answer to a gate is the person's decision.
pub(super) fn reply(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    let (post, id) = (&ask.post, text(body, "id")?);
    let me = post.act_as(USER)?;
    let letter = Letter { body: text(body, "text")?.to_owned(), ..Letter::default() };
    let asked = post.open_message(&me, id, true)?.message;
    let run = asked.envelope.extra("workflow").unwrap_or_default();
    let is_gate = decision::note_answer(post, run, &asked.envelope.id, &asked.body, &letter.body)?;
    let answer = post.reply(&me, id, letter)?;
    post.answered(&me, &answer);
    let remark = if is_gate { carried(ask, run) } else { "" };
    Ok(Done::said(format!("{}{remark}", of_receipt(&answer.receipt))))
}

/// Takes a message of the person out of the unread mail.
pub(super) fn archive(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    let me = ask.post.act_as(USER)?;
    ask.post.move_to(&me, text(body, "id")?, Folder::Archive)?;
    Ok(Done::said("archived"))
}

/// Lets a run pass a gate.
pub(super) fn approve(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    decide(ask, body, Decision::Approve { comment: "" })
}

/// Refuses a result at a gate.
pub(super) fn reject(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    decide(ask, body, Decision::Reject { why: text(body, "why")? })
}

fn decide(ask: &Ask, body: &Value, decision: Decision<'_>) -> Result<Done, Wrong> {
    let gate = decision::find(&ask.post, text(body, "gate")?)?;
    let decided = decision::decide(&ask.post, &gate, decision)?;
    ask.post.answered(&decided.by, &decided.told);
    Ok(Done::said(format!("{}: {}{}", gate.run, decided.answer, carried(ask, &gate.run))))
}

/// Lets a run go on with an answer that it has, also if no dispatcher runs. Returns a remark if it could not: the answer stands,
/// and the next dispatcher takes it.
fn carried(ask: &Ask, run: &str) -> &'static str {
    match order::carry_once(&ask.post, run, &gate(ask)) {
        Ok(_) => "",
        Err(_) => "; the run goes on when a dispatcher runs",
    }
}

/// Stops a run, a message or an agent.
pub(super) fn stop(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    let staff = ask.desk.staff(&ask.post).map_err(|e| Wrong::NotDone(e.to_string()))?;
    let agents: Vec<(String, MailboxId)> =
        staff.agents.into_iter().filter_map(|(agent, id)| Some((agent.name, id?))).collect();
    let halted = stop::stop_meant(&ask.post, &agents, text(body, "what")?, "on the page")?;
    let said = match halted.runs.as_slice() {
        [] => format!("{} parked", counted(halted.parked.len(), "message")),
        runs if runs.iter().any(|stopped| stopped.is_unanswered) => {
            "its agent is ended; its supervisor does not answer yet".to_owned()
        }
        runs => format!("stopped {}; the message is parked until it is retried", counted(runs.len(), "run")),
    };
    Ok(Done::said(said))
}

/// Keeps an agent from being started.
pub(super) fn pause(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    let agent = text(body, "agent")?;
    pausing::pause(&ask.post, agent, "on the page")?;
    Ok(Done::said(format!("{agent} is paused; its mail waits")))
}

/// Lets an agent be started again.
pub(super) fn resume(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    let agent = text(body, "agent")?;
    let resumed = pausing::resume(&ask.post, agent)?;
    Ok(Done::said(match (resumed.was_paused, resumed.left.first()) {
        (_, Some(left)) => format!("{agent} {}", left.line()),
        (true, None) => format!("{agent} goes on"),
        (false, None) => format!("{agent} was not paused"),
    }))
}

/// Tries messages again: some by their ids, or all that were given up.
pub(super) fn retry(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    let post = &ask.post;
    let ids: Vec<String> = match body.get("ids") {
        Some(Value::Array(ids)) => ids.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => vec![],
    };
    let chosen = match (ids.as_slice(), body.get("all")) {
        ([], Some(_)) => Retriable::of_agents(post)?,
        ([], None) => return Err(Wrong::Missing("ids")),
        (ids, _) => {
            let first =
                match body.get("mailbox").and_then(Value::as_str).and_then(|id| MailboxId::parse(id).ok()) {
                    Some(id) => Some(post.other(&id)?),
                    None => None,
                };
            RetriableMailboxes::of(post, first, true)?.named(post, ids)?
        }
    };
    let again = retriable::retry(post, &chosen)?;
    Ok(Done::said(format!("{} unread again", counted(again.len(), "message"))))
}

/// Begins a run of a workflow, with the inputs of its form.
pub(super) fn workflow_start(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    let around = ask.desk.around(&ask.post);
    let found = find_workflow(&*around, text(body, "name")?)?;
    let inputs = body.as_object().into_iter().flatten().filter_map(|(key, value)| {
        let key = key.strip_prefix("input-")?;
        Some((key.to_owned(), value.as_str()?.trim().to_owned()))
    });
    // What was left empty has its default.
    let given: Vec<(String, String)> = inputs.filter(|(_, value)| !value.is_empty()).collect();
    let run = found.ready(&*around, &given)?.begin(&ask.post)?;
    order::carry_once(&ask.post, &run, &gate(ask))?;
    let next = format!("/r/{}/workflows/{}", encoded(&ask.room), encoded(&run));
    Ok(Done { said: format!("run {run} has begun"), next: Some(next) })
}

/// Ends a run and its agents.
pub(super) fn workflow_cancel(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    give(ask, body, &Order::Cancel { let_finish: false })
}

/// Repeats what failed in a run.
pub(super) fn workflow_retry(ask: &Ask, body: &Value) -> Result<Done, Wrong> {
    give(ask, body, &Order::Retry { from: None, all: false })
}

fn give(ask: &Ask, body: &Value, order: &Order) -> Result<Done, Wrong> {
    let said = match order::give(&ask.post, text(body, "run")?, order, &gate(ask))? {
        Obeyed::Ended { run, why } => format!("run {run} ended: {why}"),
        Obeyed::Carried { stopped, .. } if stopped.iter().any(|stopped| stopped.is_unanswered) => {
            "its agents are ended; a supervisor does not answer yet".to_owned()
        }
        Obeyed::Carried { run, engine, .. } => format!("run {run} {}", engine.status().as_str()),
    };
    Ok(Done::said(said))
}

/// Starts the commands of gates in this room.
fn gate(ask: &Ask) -> impl Fn(&str, &str) -> std::io::Result<()> + '_ {
    |run, id| (ask.desk.start_gate)(ask.post.room().path(), run, id)
}
