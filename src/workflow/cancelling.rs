//! The end of a cancelled run: what nobody has begun is withdrawn, and the agents at work are stopped.
//!
//! Agents are stopped as `postroom stop` does it (`dispatch/stop.rs`), with everything that they started. A carrier only
//! asks for that, because a dispatcher has other runs to carry meanwhile. The command of the person waits until they have
//! ended.

use std::collections::HashSet;

use super::engine::Engine;
use super::request::{Whereabouts, recipient, whereabouts};
use super::run_mail;
use crate::dispatch::stop::{StopRequest, Stopped, Then, ask, stop};
use crate::name::{MailboxId, MessageId};
use crate::post::{Error, Me, Post, Result};

/// How often a request is looked for that goes from one place to another at this moment.
const LOOKS: usize = 5;

/// Withdraws the open requests of a run, and asks the agents that work on them to end.
pub(super) fn take_back(post: &Post, me: &Me, engine: &Engine) -> Result<()> {
    let (at_work, fault) = withdraw(post, me, engine);
    if !at_work.is_empty() {
        ask(post, |run| at_work.contains(&run.id), &request())?;
    }
    fault.map_or(Ok(()), Err)
}

/// Stops the agents that still work for a cancelled run, and waits until they have ended.
pub fn stop_agents(post: &Post, engine: &Engine) -> Result<Vec<Stopped>> {
    let run = &engine.facts().run;
    let me = post.other(&MailboxId::parse(run).map_err(|_| super::carrier::no_run(run))?)?;
    let (at_work, fault) = withdraw(post, &me, engine);
    let stopped = match at_work.is_empty() {
        true => vec![],
        false => stop(post, |run| at_work.contains(&run.id), &request())?,
    };
    fault.map_or(Ok(stopped), Err)
}

fn request() -> StopRequest {
    StopRequest::new("the run was cancelled", Then::GiveUp)
}

/// Withdraws the open requests that nobody has begun. Returns the dispatcher's runs that work on the others, and the
/// first error: one mailbox that cannot be read does not keep other agents at work.
fn withdraw(post: &Post, me: &Me, engine: &Engine) -> (HashSet<String>, Option<Error>) {
    let (mut at_work, mut fault) = (HashSet::new(), None);
    for ask in engine.open().values() {
        let Some(Ok(to)) = recipient(ask).map(|name| post.addressee(name)) else { continue };
        match withdraw_one(post, me, &to, &ask.id) {
            Ok(run) => at_work.extend(run),
            Err(e) => fault = fault.or(Some(e)),
        }
    }
    (at_work, fault)
}

/// Withdraws a request, or returns the run that works on it.
fn withdraw_one(post: &Post, me: &Me, to: &MailboxId, id: &MessageId) -> Result<Option<String>> {
    for _ in 0..LOOKS {
        // Also what was not noted as sent: a carrier may have been killed in between.
        if run_mail::withdraw(post, me, to, id)? {
            break;
        }
        match whereabouts(post, to, id)? {
            // Its agent has given it back meanwhile.
            Whereabouts::Queued => {}
            Whereabouts::Taken => break,
            Whereabouts::Claimed { run } => return Ok(Some(run)),
        }
    }
    Ok(None)
}
