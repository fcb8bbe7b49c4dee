//! Sending and withdrawing the mail of a run. Message ids are derived, so every process that computes the run gets the
//! same ones.
//!
//! A run has its own mailbox, which is in no registry: its id is its name. It sends and gets answers like any other
//! mailbox.

use crate::clock::Timestamp;
use crate::journal::Event;
use crate::mailbox::{Folder, Maildir};
use crate::message::{Envelope, Message};
use crate::name::{MailboxId, MessageId};
use crate::post::{Error, Held, Letter, Me, Outcome, Post, Receipt, Result, Sender};

/// Creates the mailbox of a run. Durable on return.
pub(super) fn make(post: &Post, id: &MailboxId) -> Result<Me> {
    post.room().may_write()?;
    Maildir::make(post.room().root(), id, None)?;
    post.other(id)
}

/// Sends a letter to one mailbox under an id. `first`: it was certainly never sent before, so the mailbox is not
/// searched for it.
pub(super) fn send(
    post: &Post,
    me: &Me,
    to: &MailboxId,
    letter: &Letter,
    id: &MessageId,
    first: bool,
) -> Result<Receipt> {
    post.send_one(&Sender::of(&me.mailbox), letter, to, id, !first)
}

/// Writes a note into the run's own mailbox, once.
pub(super) fn note_to_self(post: &Post, me: &Me, letter: &Letter, id: &MessageId) -> Result<()> {
    check_sent(send(post, me, &me.id, letter, id, false)?)
}

/// Checks that a letter is in its mailbox. If its id was sent with another text before, the first one stands.
pub(super) fn check_sent(receipt: Receipt) -> Result<()> {
    match receipt.outcome {
        Outcome::Failed(Error::IdTaken { .. }) => Ok(()),
        Outcome::Queued | Outcome::Unproven(_) | Outcome::Already(_) => Ok(()),
        Outcome::Failed(e) => Err(e),
    }
}

/// Withdraws a request that nobody has begun. `false` if it is no longer unread.
pub(super) fn withdraw(post: &Post, me: &Me, to: &MailboxId, id: &MessageId) -> Result<bool> {
    post.room().may_write()?;
    let mailbox = post.mailbox(to)?;
    for name in mailbox.twins(Folder::Inbox, id)? {
        let Ok(Some(header)) = post.header(&mailbox, Folder::Inbox, &name) else { continue };
        if header.envelope.id != *id || !header.envelope.from.is(&me.id) {
            continue;
        }
        let taken = mailbox.withdraw(&name)?;
        if taken {
            let event = Event::new("withdrawn", me.id.as_str());
            post.record(Event { id: id.to_string(), to: to.to_string(), file: name, ..event });
            return Ok(true);
        }
    }
    Ok(false)
}

/// Revokes a request that the dispatcher has begun. Its agent is stopped if it works on nothing else. `false` if nobody
/// has begun it, or not the dispatcher.
pub(super) fn revoke(post: &Post, me: &Me, to: &MailboxId, id: &MessageId, why: &str) -> Result<bool> {
    post.room().may_write()?;
    let mailbox = post.mailbox(to)?;
    for token in mailbox.tokens()? {
        let Some(terms) = mailbox.terms(token)?.filter(|terms| !terms.run.is_empty()) else { continue };
        let header = post.header(&mailbox, Folder::Claimed(token), &terms.file).ok().flatten();
        let is_it = |e: &Envelope| e.id == *id && e.from.is(&me.id);
        if header.is_some_and(|header| is_it(&header.envelope)) {
            return match post.give_up(me, &Held { token, terms, mailbox }, why) {
                // It was finished at this moment.
                Err(Error::NoClaim { .. }) => Ok(false),
                other => other.map(|()| true),
            };
        }
    }
    Ok(false)
}

/// In a tree a failed step blocks all later steps. It is set aside once the run goes on without it.
pub(super) fn put_failed_away(post: &Post, to: &MailboxId, id: &MessageId) -> Result<()> {
    let mailbox = post.mailbox(to)?;
    for name in mailbox.twins(Folder::Failed, id)? {
        mailbox.set_aside(&name)?;
    }
    Ok(())
}

/// The answer from one mailbox to a message of another, if it has arrived. Opens only mail since a given time.
pub(super) fn answer_to(
    post: &Post,
    asked: &MessageId,
    asker: &MailboxId,
    by: &MailboxId,
    since: Option<Timestamp>,
) -> Result<Option<Message>> {
    let mailbox = post.mailbox(asker)?;
    let since = since.unwrap_or_else(|| Timestamp::from_parts(0, 0));
    let mut folders = mailbox.folders()?;
    folders.retain(|folder| *folder != Folder::Quarantine);
    for folder in folders {
        for name in mailbox.since(folder, since)? {
            let header = match post.header(&mailbox, folder, &name) {
                Ok(Some(header)) => header,
                Err(broken) if broken.transient => return Err(Error::Failing { why: broken.why }),
                _ => continue,
            };
            if header.envelope.reply_to.as_ref() == Some(asked) && header.envelope.from.is(by) {
                let read = post.message(&mailbox, folder, &name);
                return Ok(read.ok().flatten().map(|(message, _)| message));
            }
        }
    }
    Ok(None)
}
