//! Doing what the person wants: each deed is one verb of the library, said in words afterwards.

use super::deed::{Deed, Told};
use crate::desk::Desk;
use crate::dispatch::retriable::{self, Retriable, RetriableMailboxes};
use crate::dispatch::{pausing, stop};
use crate::mailbox::Folder;
use crate::name::MailboxId;
use crate::post::line::{counted, of_receipt};
use crate::post::{Letter, Outcome, Post, Receipt, USER};
use crate::staff::find_workflow;
use crate::workflow::decision::{self, Decision};
use crate::workflow::order::{self, Obeyed};
use crate::workflow::pruning::Workflows;
use crate::workflow::start::Order;

/// Why a deed was not done, in words.
type Said = Result<String, String>;

/// Does it.
pub(super) fn perform(desk: &Desk, post: &Post, deed: Deed) -> Told {
    let mut flow = None;
    let said = run(desk, post, &deed, &mut flow);
    Told { deed, said, flow }
}

fn words(e: impl std::fmt::Display) -> String {
    e.to_string()
}

fn run(desk: &Desk, post: &Post, deed: &Deed, flow: &mut Option<String>) -> Said {
    match deed {
        Deed::Send { to, subject, body } => send(post, to, subject, body),
        Deed::Reply { id, body } => reply(post, id, body),
        Deed::Archive { id } => move_to(post, id, Folder::Archive).map(|()| "archived".to_owned()),
        Deed::Unarchive { id } => move_to(post, id, Folder::Inbox).map(|()| "unread again".to_owned()),
        Deed::Approve { gate, comment } => decide(post, gate, Decision::Approve { comment }),
        Deed::Reject { gate, why } => decide(post, gate, Decision::Reject { why }),
        Deed::Stop { what } => stop(desk, post, what),
        Deed::Pause { agent, why } => {
            let why = if why.is_empty() { "in the terminal client" } else { why };
            pausing::pause(post, agent, why).map_err(words)?;
            Ok(format!("{agent} is paused; its mail waits"))
        }
        Deed::Resume { agent } => {
            let resumed = pausing::resume(post, agent).map_err(words)?;
            Ok(match (resumed.was_paused, resumed.left.first()) {
                (_, Some(left)) => format!("{agent} {}", left.line()),
                (true, None) => format!("{agent} goes on"),
                (false, None) => format!("{agent} was not paused"),
            })
        }
        Deed::Retry { mailbox, file } => {
            let first = match MailboxId::parse(mailbox) {
                Ok(id) => Some(post.other(&id).map_err(words)?),
                Err(_) => None,
            };
            let all = RetriableMailboxes::of(post, first, true).map_err(words)?;
            retry(post, &all.named(post, std::slice::from_ref(file)).map_err(words)?)
        }
        Deed::RetryAll => retry(post, &Retriable::of_agents(post).map_err(words)?),
        Deed::Release { id } => {
            let me = post.act_as(USER).map_err(words)?;
            let held = post.held(&me, id).map_err(words)?;
            post.release(&me, &held, "in the terminal client").map_err(words)?;
            Ok("given back; it is unread again".to_owned())
        }
        Deed::PruneMessage { mailbox, file } => {
            let id = MailboxId::parse(mailbox).map_err(|_| "no such mailbox".to_owned())?;
            let me = post.other(&id).map_err(words)?;
            let plan = post.prune_plan_of(&me, file, &Workflows).map_err(words)?;
            prune(post, &plan)
        }
        Deed::PruneMailbox { name } => {
            let wanted =
                crate::post::Wanted { mailboxes: vec![name.clone()], ..crate::post::Wanted::default() };
            let me = post.act_as(USER).ok();
            let plan = post.prune_plan(me.as_ref(), &wanted, &Workflows).map_err(words)?;
            prune(post, &plan)
        }
        Deed::Undo { bag } => undo(post, bag),
        Deed::UndoLast => match post.trashed().map_err(words)?.first() {
            Some(bag) => undo(post, &bag.id),
            None => Err("the trash is empty".to_owned()),
        },
        Deed::StartFlow { name, inputs } => {
            let around = desk.around(post);
            let found = find_workflow(&*around, name).map_err(words)?;
            let run = found.ready(&*around, inputs).map_err(words)?.begin(post).map_err(words)?;
            order::carry_once(post, &run, &gate(desk, post)).map_err(words)?;
            *flow = Some(run.clone());
            Ok(format!("run {run} has begun"))
        }
        Deed::CancelFlow { run } => give(desk, post, run, &Order::Cancel { let_finish: false }),
        Deed::RetryFlow { run } => give(desk, post, run, &Order::Retry { from: None, all: false }),
    }
}

/// What became of a letter. One that was delivered to nobody is an error, so that its text is kept.
fn told(receipts: &[&Receipt]) -> Said {
    let line = receipts.iter().map(|receipt| of_receipt(receipt)).collect::<Vec<_>>().join(", ");
    match receipts.iter().all(|receipt| matches!(receipt.outcome, Outcome::Failed(_))) {
        true => Err(line),
        false => Ok(line),
    }
}

fn send(post: &Post, to: &[String], subject: &str, body: &str) -> Said {
    let me = post.act_as(USER).map_err(words)?;
    let subject = Some(subject.trim()).filter(|subject| !subject.is_empty()).map(str::to_owned);
    let letter = Letter { to: to.to_vec(), subject, body: body.to_owned(), ..Letter::default() };
    let receipts = post.send(&me, &letter).map_err(words)?;
    told(&receipts.iter().collect::<Vec<_>>())
}

/// The answer to a gate is the person's decision.
fn reply(post: &Post, id: &str, body: &str) -> Said {
    let me = post.act_as(USER).map_err(words)?;
    let letter = Letter { body: body.to_owned(), ..Letter::default() };
    let asked = post.open_message(&me, id, true).map_err(words)?.message;
    let run = asked.envelope.extra("workflow").unwrap_or_default();
    decision::note_answer(post, run, &asked.envelope.id, &asked.body, &letter.body).map_err(words)?;
    let answer = post.reply(&me, id, letter).map_err(words)?;
    post.answered(&me, &answer);
    told(&[&answer.receipt])
}

fn move_to(post: &Post, id: &str, to: Folder) -> Result<(), String> {
    let me = post.act_as(USER).map_err(words)?;
    post.move_to(&me, id, to).map(drop).map_err(words)
}

fn decide(post: &Post, gate: &str, decision: Decision<'_>) -> Said {
    let gate = decision::find(post, gate).map_err(words)?;
    let decided = decision::decide(post, &gate, decision).map_err(words)?;
    post.answered(&decided.by, &decided.told);
    Ok(format!("{}: {}", gate.run, decided.answer.lines().next().unwrap_or_default()))
}

fn stop(desk: &Desk, post: &Post, what: &str) -> Said {
    let staff = desk.staff(post).map_err(words)?;
    let agents: Vec<(String, MailboxId)> =
        staff.agents.into_iter().filter_map(|(agent, id)| Some((agent.name, id?))).collect();
    let halted = stop::stop_meant(post, &agents, what, "in the terminal client").map_err(words)?;
    Ok(match halted.runs.as_slice() {
        [] => format!("{} parked", counted(halted.parked.len(), "message")),
        runs if runs.iter().any(|stopped| stopped.is_unanswered) => {
            "its agent is ended; its supervisor does not answer yet".to_owned()
        }
        runs => format!("stopped {}; the message is parked until it is retried", counted(runs.len(), "run")),
    })
}

fn retry(post: &Post, chosen: &[Retriable]) -> Said {
    let again = retriable::retry(post, chosen).map_err(words)?;
    Ok(format!("{} tried again", counted(again.len(), "message")))
}

fn prune(post: &Post, plan: &[crate::post::Doomed]) -> Said {
    let by = post.act_as(USER).map(|me| me.id.to_string()).unwrap_or_default();
    post.prune(&by, plan, &Workflows, false, |_| {}).map_err(words)?;
    Ok("moved to the trash; u brings it back".to_owned())
}

fn undo(post: &Post, bag: &str) -> Said {
    let by = post.act_as(USER).map(|me| me.id.to_string()).unwrap_or_default();
    let back = post.undo(&by, bag, None, &Workflows).map_err(words)?;
    Ok(format!("brought back {}", back.contents()))
}

fn give(desk: &Desk, post: &Post, run: &str, order: &Order) -> Said {
    Ok(match order::give(post, run, order, &gate(desk, post)).map_err(words)? {
        Obeyed::Ended { run, why } => format!("run {run} ended: {why}"),
        Obeyed::Carried { stopped, .. } if stopped.iter().any(|stopped| stopped.is_unanswered) => {
            "its agents are ended; a supervisor does not answer yet".to_owned()
        }
        Obeyed::Carried { run, engine, .. } => {
            format!("run {run} {}", engine.status().as_str().replace('_', " "))
        }
    })
}

/// Starts the commands of gates in this room.
fn gate<'a>(desk: &'a Desk, post: &'a Post) -> impl Fn(&str, &str) -> std::io::Result<()> + 'a {
    |run, id| (desk.start_gate)(post.room().path(), run, id)
}
