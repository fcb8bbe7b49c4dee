//! Doing what the person wants. What other faces do too is in [`crate::deeds`].

use super::deed::{Deed, Made, Told};
use crate::deeds::Deeds;
use crate::desk::Desk;
use crate::mailbox::Folder;
use crate::name::MailboxId;
use crate::post::{Post, USER, Wanted};
use crate::workflow::decision::Decision;
use crate::workflow::pruning::Workflows;

/// Why a deed was not done, in words.
type Said = Result<String, String>;

/// Does it.
pub(super) fn perform(desk: &Desk, post: &Post, deed: Deed) -> Told {
    let mut made = Made::Nothing;
    let said = run(&Deeds { desk, post, place: "in the terminal client" }, &deed, &mut made);
    Told { deed, said, made }
}

fn words(e: impl std::fmt::Display) -> String {
    e.to_string()
}

fn run(deeds: &Deeds<'_>, deed: &Deed, made: &mut Made) -> Said {
    let post = deeds.post;
    let done = match deed {
        Deed::Send { to, subject, body } => deeds.send(to, subject, body),
        Deed::Reply { id, body } => deeds.reply(id, body),
        Deed::Archive { id } => deeds.move_to(id, Folder::Archive).map(|()| "archived".to_owned()),
        Deed::Unarchive { id } => deeds.move_to(id, Folder::Inbox).map(|()| "unread again".to_owned()),
        Deed::Approve { gate, comment } => deeds.decide(gate, Decision::Approve { comment }),
        Deed::Reject { gate, why } => deeds.decide(gate, Decision::Reject { why }),
        Deed::Stop { mailbox, what } => deeds.stop(mailbox.as_deref(), what),
        Deed::Pause { agent, why } => deeds.pause(agent, why),
        Deed::Resume { agent } => deeds.resume(agent),
        Deed::Retry { mailbox, file } => deeds.retry_in(mailbox, file),
        Deed::RetryAll => deeds.retry_all(),
        Deed::Release { id } => return release(post, id),
        Deed::PruneMessage { mailbox, file } => return prune_message(post, mailbox, file, made),
        Deed::PruneMailbox { name } => return prune_mailbox(post, name, made),
        Deed::Undo { bag } => return undo(post, bag),
        Deed::StartFlow { name, inputs } => deeds.start_flow(name, inputs).map(|run| {
            let said = format!("run {run} has begun");
            *made = Made::Flow(run);
            said
        }),
        Deed::CancelFlow { run } => deeds.cancel_flow(run),
        Deed::RetryFlow { run } => deeds.retry_flow(run),
    };
    done.map_err(words)
}

fn release(post: &Post, id: &str) -> Said {
    let me = post.act_as(USER).map_err(words)?;
    let held = post.held(&me, id).map_err(words)?;
    post.release(&me, &held, "in the terminal client").map_err(words)?;
    Ok("given back; it is unread again".to_owned())
}

fn prune_message(post: &Post, mailbox: &str, file: &str, made: &mut Made) -> Said {
    let id = MailboxId::parse(mailbox).map_err(|_| "no such mailbox".to_owned())?;
    let me = post.other(&id).map_err(words)?;
    let plan = post.prune_plan_of(&me, file, &Workflows).map_err(words)?;
    prune(post, &plan, made)
}

fn prune_mailbox(post: &Post, name: &str, made: &mut Made) -> Said {
    let wanted = Wanted { mailboxes: vec![name.to_owned()], ..Wanted::default() };
    let me = post.act_as(USER).ok();
    let plan = post.prune_plan(me.as_ref(), &wanted, &Workflows).map_err(words)?;
    prune(post, &plan, made)
}

fn prune(post: &Post, plan: &[crate::post::Doomed], made: &mut Made) -> Said {
    let by = post.act_as(USER).map(|me| me.id.to_string()).unwrap_or_default();
    let bag = post.prune(&by, plan, &Workflows, false, |_| {}).map_err(words)?;
    *made = bag.map_or(Made::Nothing, Made::Bag);
    Ok("moved to the trash; u brings it back".to_owned())
}

fn undo(post: &Post, bag: &str) -> Said {
    let by = post.act_as(USER).map(|me| me.id.to_string()).unwrap_or_default();
    let back = post.undo(&by, bag, None, &Workflows).map_err(words)?;
    Ok(format!("brought back {}", back.contents()))
}
