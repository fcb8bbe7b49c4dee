//! Where a request of a run is: nobody has begun it, an agent works on it, or somebody has it.
//!
//! A timeout counts from the start of the work, and *running* is said only while a supervisor is alive. Both are found
//! where the request is: in an inbox, under a claim, or past both. A mailbox whose messages stay in the inbox until they
//! are answered tells nothing of somebody who works on one by hand.

use std::collections::HashSet;

use super::engine::{Ask, AskKind, Engine};
use crate::clock::Timestamp;
use crate::dispatch;
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

/// When the work on a request began: as its run recorded, else now. `None` if nobody has begun it.
pub(super) fn begun(post: &Post, to: &MailboxId, id: &MessageId) -> Result<Option<Timestamp>> {
    let now = post.room().clock().now();
    match whereabouts(post, to, id)? {
        Whereabouts::Queued => Ok(None),
        Whereabouts::Taken => Ok(Some(now)),
        Whereabouts::Claimed { run } => {
            let record =
                dispatch::runs::Runs::existing(post.room())?.map(|runs| runs.get(&run)).transpose()?;
            let started = record.flatten().and_then(|run| Timestamp::parse(&run.started));
            Ok(Some(started.unwrap_or(now)))
        }
    }
}

/// The open requests of a run on which an agent works now.
pub fn at_work(post: &Post, engine: &Engine) -> Result<HashSet<MessageId>> {
    let mut found = HashSet::new();
    let Some(runs) = dispatch::runs::Runs::existing(post.room())? else { return Ok(found) };
    // Without a living run nothing is at work, and no mailbox has to be opened.
    let mut alive = vec![];
    for run in runs.open_ids()? {
        if runs.is_alive(&run)? {
            alive.push(run);
        }
    }
    for ask in engine.open().values().filter(|_| !alive.is_empty()) {
        let Some(Ok(to)) = recipient(ask).map(|name| post.addressee(name)) else { continue };
        if matches!(whereabouts(post, &to, &ask.id)?, Whereabouts::Claimed { run } if alive.contains(&run)) {
            found.insert(ask.id.clone());
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
