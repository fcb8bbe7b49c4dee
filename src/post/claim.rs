//! Claims: take a message with a lease. A claim is found again in held.rs, and ends in finish_claim.rs.
//!
//! Many agents may claim from one mailbox, which makes it a work queue. The token of a claim is its fence: a stale
//! owner finds nothing under it. Every look at a mailbox returns expired claims ([`Post::return_expired`]).

use std::time::Duration;

use super::held::Held;
use super::walk::Walk;
use super::{Error, Filter, Me, Opened, Post, Result};
use crate::journal::Event;
use crate::mailbox::claim::{Attempt, Terms};
use crate::mailbox::reading::Unreadable;
use crate::mailbox::{Folder, Mailbox, Token};
use crate::message::Envelope;
use crate::name::MailboxId;

/// The lease of the command line's claims.
pub const LEASE: Duration = Duration::from_secs(30 * 60);

/// How many messages a walk lists first.
pub(super) const FIRST: usize = 16;

pub use crate::message::role::BOUNCE;

/// A claimed message.
#[derive(Debug)]
pub struct Claimed {
    pub token: Token,
    pub terms: Terms,
    /// The mailbox it was claimed from.
    pub queue: MailboxId,
    pub opened: Opened,
}

/// A message that was given up.
#[derive(Debug)]
pub struct DeadLetter {
    pub name: String,
    /// The error, if it cannot be read.
    pub envelope: std::result::Result<Envelope, String>,
    pub attempts: Vec<Attempt>,
    /// Number of failed attempts.
    pub tries: u32,
}

impl DeadLetter {
    /// The last reason given.
    pub fn reason(&self) -> &str {
        let given = self.attempts.iter().rev().find(|attempt| !attempt.why.is_empty());
        given.map_or("no reason given", |attempt| attempt.why.as_str())
    }
}

impl Post {
    /// Returns the messages of a mailbox whose leases have expired. A room of a newer format is left alone.
    pub(super) fn return_expired(&self, mailbox: &Mailbox) -> Result<()> {
        if self.room.may_write().is_err() {
            return Ok(());
        }
        for name in mailbox.return_expired(self.room.clock())? {
            let id = self.id_of(mailbox, Folder::Inbox, &name);
            self.record(Event { id, file: name, ..Event::new("expired", mailbox.id().as_str()) });
        }
        Ok(())
    }

    /// Claims the next message that fits, or the one that `reference` names; `None` if there is none.
    pub fn claim(
        &self,
        me: &Me,
        queue: Option<&str>,
        reference: Option<&str>,
        filter: &Filter,
        lease: Duration,
    ) -> Result<(Option<Claimed>, Vec<Unreadable>)> {
        self.room.may_write()?;
        let other = queue.map(|name| self.other(&self.addressee(name)?)).transpose()?;
        let from = other.as_ref().unwrap_or(me);
        self.may_open(&from.id)?;
        self.refresh(&from.mailbox)?;
        let mut put_away = vec![];
        if let Some(reference) = reference {
            let found = self.readable(from, self.find(from, reference)?)?;
            if found.folder != Folder::Inbox {
                return Err(Error::NotUnread {
                    reference: reference.to_owned(),
                    folder: found.folder.as_str(),
                });
            }
            return Ok((self.take(me, from, &found.name, filter, (lease, ""), &mut put_away)?, put_away));
        }
        let mut failing = None;
        let mut walk = Walk::new(FIRST, |ask| from.mailbox.next(ask));
        while let Some(listing) = walk.more()? {
            for (name, what) in listing.strange {
                put_away.push(self.quarantine(from, &name, format!("it is {what}"))?);
            }
            for name in listing.broken.iter().chain(&listing.names) {
                match self.take(me, from, name, filter, (lease, ""), &mut put_away) {
                    Ok(Some(claimed)) => return Ok((Some(claimed), put_away)),
                    Ok(None) => {}
                    // One message on a bad block must not hide those behind it.
                    Err(e @ Error::Failing { .. }) => failing = Some(e),
                    Err(e) => return Err(e),
                }
            }
        }
        failing.map_or(Ok((None, put_away)), Err)
    }

    /// Claims one waiting message for a run of the dispatcher, by its file; `None` if it no longer waits.
    pub fn claim_for_run(&self, me: &Me, file: &str, lease: Duration, run: &str) -> Result<Option<Claimed>> {
        self.room.may_write()?;
        self.refresh(&me.mailbox)?;
        self.take(me, me, file, &Filter::default(), (lease, run), &mut vec![])
    }

    /// Claims one message, if it can be read, fits, and is still there.
    fn take(
        &self,
        me: &Me,
        from: &Me,
        name: &str,
        filter: &Filter,
        (lease, run): (Duration, &str),
        put_away: &mut Vec<Unreadable>,
    ) -> Result<Option<Claimed>> {
        let (message, _) = match self.message(&from.mailbox, Folder::Inbox, name) {
            Ok(Some(read)) => read,
            Ok(None) => return Ok(None),
            Err(broken) if broken.transient => return Err(Error::Failing { why: broken.why }),
            Err(broken) => {
                if broken.is_quiescent(self.now()) {
                    put_away.push(self.quarantine(from, &broken.name.into(), broken.why)?);
                }
                return Ok(None);
            }
        };
        // A doubtful message needs somebody who can ask back, so it starts no agent.
        if !filter.fits(name, &message.envelope) || !run.is_empty() && !message.envelope.doubts.is_empty() {
            return Ok(None);
        }
        // An error in one message's attempts must not stop the claim of another.
        let tries = from.mailbox.tries(name).map_err(|e| Error::Failing { why: e.to_string() })?;
        let attempt = tries + 1;
        let mut terms = Terms::new(me.id.as_str(), name, attempt, lease, self.room.clock())?;
        run.clone_into(&mut terms.run);
        let Some(token) = from.mailbox.claim(name, &terms)? else { return Ok(None) };
        // Between the look and the claim another message may have arrived under the same name. The claimed one counts.
        let (message, time) = match self.message(&from.mailbox, Folder::Claimed(token), name) {
            Ok(Some((taken, at))) if taken.envelope.id == message.envelope.id => (taken, at),
            Err(broken) if broken.transient => {
                from.mailbox.settle(token, name, Folder::Inbox, "")?;
                return Err(Error::Failing { why: broken.why });
            }
            _ => {
                from.mailbox.settle(token, name, Folder::Inbox, "")?;
                return Ok(None);
            }
        };
        self.record(Event {
            id: message.envelope.id.to_string(),
            file: name.to_owned(),
            mailbox: from.id.to_string(),
            note: format!("attempt {attempt}, until {}", terms.ends),
            ..Event::new("claimed", me.id.as_str())
        });
        let path = from.mailbox.path(Folder::Claimed(token), name);
        let files = from.mailbox.files_of(&message.envelope);
        let opened =
            Opened { folder: Folder::Claimed(token), name: name.to_owned(), message, time, path, files };
        Ok(Some(Claimed { token, terms, queue: from.id.clone(), opened }))
    }

    /// Extends a lease.
    pub fn renew(&self, held: &Held, lease: Duration) -> Result<Terms> {
        self.room.may_write()?;
        let mut terms = held.terms.clone();
        terms.extend(lease, self.room.clock());
        match held.mailbox.renew(held.token, &terms)? {
            true => Ok(terms),
            false => Err(self.gone(held)),
        }
    }

    pub(super) fn id_of(&self, mailbox: &Mailbox, folder: Folder, name: &str) -> String {
        match self.header(mailbox, folder, name) {
            Ok(Some(header)) => header.envelope.id.to_string(),
            _ => String::new(),
        }
    }

    /// The messages that this mailbox gave up, oldest first.
    pub fn dead_letters(&self, me: &Me) -> Result<Vec<DeadLetter>> {
        Ok(self.newest_dead_letters(me, usize::MAX)?.0)
    }

    /// The last messages that this mailbox gave up, oldest first, and the number of all. The others are not opened.
    pub fn newest_dead_letters(&self, me: &Me, limit: usize) -> Result<(Vec<DeadLetter>, usize)> {
        let mut names = me.mailbox.list(Folder::Failed, usize::MAX)?.names;
        names.sort();
        let (mut total, mut letters) = (names.len(), vec![]);
        for name in names.into_iter().rev() {
            if letters.len() == limit {
                break;
            }
            let envelope = match self.header(&me.mailbox, Folder::Failed, &name) {
                Ok(Some(header)) => Ok(header.envelope),
                // It is being retried.
                Ok(None) => {
                    total -= 1;
                    continue;
                }
                Err(broken) if broken.transient => return Err(Error::Failing { why: broken.why }),
                Err(broken) => Err(broken.why),
            };
            let (attempts, tries) = (me.mailbox.attempts(&name)?, me.mailbox.tries(&name)?);
            letters.push(DeadLetter { attempts, tries, envelope, name });
        }
        letters.reverse();
        Ok((letters, total))
    }

    /// Moves a dead letter back to the unread mail, with a new count of tries.
    pub fn retry(&self, me: &Me, reference: &str) -> Result<String> {
        self.room.may_write()?;
        let found = self.find_in(me, reference, Folder::Failed)?;
        let attempt = Attempt {
            v: 1,
            time: self.now().to_string(),
            token: Token::fresh().to_string(),
            owner: me.id.to_string(),
            how: "retried".to_owned(),
            why: String::new(),
        };
        me.mailbox.note_attempt(&found.name, &attempt)?;
        let Some(name) = me.mailbox.shift(&found.name, Folder::Failed, Folder::Inbox)? else {
            return Err(Error::NoMessage { reference: reference.to_owned() });
        };
        if name != found.name {
            me.mailbox.carry_attempts(&found.name, &name)?;
        }
        let id = self.id_of(&me.mailbox, Folder::Inbox, &name);
        self.record(Event { id: id.clone(), file: name, ..Event::new("retried", me.id.as_str()) });
        Ok(id)
    }
}

/// Whether a message only reports that another was given up.
pub(super) fn is_bounce(envelope: &Envelope) -> bool {
    envelope.extra.iter().any(|(key, _)| key == BOUNCE)
}
