//! Where a request of a run is: nobody has begun it, an agent works on it, or somebody has it.
//!
//! A timeout counts from the start of the work, and *running* is said only while a supervisor is alive. Both are found
//! where the request is: in an inbox, under a claim, or past both. A mailbox whose messages stay in the inbox until they
//! are answered tells nothing of somebody who works on one by hand.

use std::collections::{HashMap, HashSet};

use super::engine::{Ask, AskKind, Engine};
use crate::clock::Timestamp;
use crate::dispatch;
use crate::dispatch::waits::Holds;
use crate::mailbox::Folder;
use crate::name::{MailboxId, MessageId};
use crate::post::{Post, Result};

/// Where a request is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Whereabouts {
    /// Unread. Nobody has begun it.
    Queued,
    /// A run of the dispatcher has claimed it.
    Claimed { run: String },
    /// Somebody took it by hand, or has finished it.
    Taken,
}

/// Finds the request with this id that was sent to a mailbox.
pub(super) fn whereabouts(post: &Post, to: &MailboxId, id: &MessageId) -> Result<Whereabouts> {
    let mailbox = post.mailbox(to)?;
    for token in mailbox.tokens()? {
        let Some(terms) = mailbox.terms(token)?.filter(|terms| !terms.run.is_empty()) else { continue };
        let header = post.header(&mailbox, Folder::Claimed(token), &terms.file).ok().flatten();
        if header.is_some_and(|header| header.envelope.id == *id) {
            return Ok(Whereabouts::Claimed { run: terms.run });
        }
    }
    for name in mailbox.twins(Folder::Inbox, id)? {
        let header = post.header(&mailbox, Folder::Inbox, &name).ok().flatten();
        if header.is_some_and(|header| header.envelope.id == *id) {
            return Ok(Whereabouts::Queued);
        }
    }
    Ok(Whereabouts::Taken)
}

/// When the work on a request began: as its run recorded, else as it was noted before, else now. `None` if nobody has begun it.
pub(super) fn begun(
    post: &Post,
    to: &MailboxId,
    id: &MessageId,
    noted: Option<Timestamp>,
) -> Result<Option<Timestamp>> {
    let otherwise = noted.unwrap_or_else(|| post.room().clock().now());
    match whereabouts(post, to, id)? {
        Whereabouts::Queued => Ok(None),
        Whereabouts::Taken => Ok(Some(otherwise)),
        Whereabouts::Claimed { run } => {
            let record =
                dispatch::runs::Runs::existing(post.room())?.map(|runs| runs.get(&run)).transpose()?;
            let started = record.flatten().and_then(|run| Timestamp::parse(&run.started));
            // The note may be that of an earlier attempt.
            Ok(Some(started.unwrap_or(otherwise)))
        }
    }
}

/// What is known of the open requests of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenRequests {
    /// An agent works on these now.
    pub at_work: HashSet<MessageId>,
    /// Why these wait although they were sent: parked, paused, or over a limit.
    pub waits: HashMap<MessageId, String>,
}

/// Looks at the agents that the open requests of a run are for.
pub fn at_work(post: &Post, engine: &Engine) -> Result<OpenRequests> {
    let mut found = OpenRequests::default();
    let Some(runs) = dispatch::runs::Runs::existing(post.room())? else { return Ok(found) };
    // Without a living run nothing is at work, and no mailbox has to be opened; likewise if nothing is on hold.
    let mut alive = vec![];
    for run in runs.open_ids()? {
        if runs.is_alive(&run)? {
            alive.push(run);
        }
    }
    let holds = Holds::look(&runs, post.room().clock().now())?;
    for ask in engine.open().values() {
        let Some(Ok(to)) = recipient(ask).map(|name| post.addressee(name)) else { continue };
        let is_claimed = |run: &String| alive.contains(run);
        if !alive.is_empty()
            && matches!(whereabouts(post, &to, &ask.id)?, Whereabouts::Claimed { run } if is_claimed(&run))
        {
            found.at_work.insert(ask.id.clone());
        } else if !holds.is_empty() {
            let files = post.mailbox(&to)?.twins(Folder::Inbox, &ask.id)?;
            let why = files.iter().find_map(|file| holds.of(to.as_str(), file).into_iter().next());
            found.waits.extend(why.map(|why| (ask.id.clone(), why)));
        }
    }
    Ok(found)
}

/// The name that gets an ask, if it is a message to somebody.
pub(super) fn recipient(ask: &Ask) -> Option<&str> {
    match &ask.kind {
        AskKind::Work { to, .. } => Some(to),
        AskKind::Approval { by, .. } => Some(by),
        AskKind::Command { .. } => None,
    }
}
