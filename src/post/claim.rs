//! Claims: take a message with a lease, and finish it, give it back, or give it up.
//!
//! Many agents may claim from one mailbox, which makes it a work queue. The token of a claim is its fence:
//! a stale owner finds nothing under it. Every look at a mailbox returns what is over ([`Post::return_expired`]).

use std::time::Duration;

use super::carry::fields_of_answer;
use super::{Error, Filter, Found, HOPS, Letter, Me, Opened, Outcome, Post, Receipt, Result};
use crate::journal::Event;
use crate::mailbox::claim::{Attempt, Terms};
use crate::mailbox::reading::Unreadable;
use crate::mailbox::{Folder, Mailbox, Token};
use crate::message::Envelope;
use crate::message::workflow::Status;
use crate::name::{MailboxId, MessageId};

/// How long the command line claims for.
pub const LEASE: Duration = Duration::from_secs(30 * 60);

/// How many messages are looked at before more are asked for.
const FIRST: usize = 16;

/// The field that marks a bounce, so that no bounce is ever bounced.
pub const BOUNCE: &str = "bounce";

/// A message that was taken.
#[derive(Debug)]
pub struct Claimed {
    pub token: Token,
    pub terms: Terms,
    /// The mailbox it was taken from.
    pub queue: MailboxId,
    pub opened: Opened,
}

/// A claim that is still held.
#[derive(Debug)]
pub struct Held {
    pub token: Token,
    pub terms: Terms,
    pub mailbox: Mailbox,
}

/// A message that was given up.
#[derive(Debug)]
pub struct DeadLetter {
    pub name: String,
    pub envelope: Option<Envelope>,
    pub attempts: Vec<Attempt>,
    /// How often it was tried in vain.
    pub tries: u32,
}

impl Post {
    /// Gives back the messages of a mailbox whose leases are over. A room of a newer format is left alone.
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

    /// Takes the next message that fits, or the one that `reference` names; `None` if there is none to take.
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
        self.refresh(&from.mailbox)?;
        let mut put_away = vec![];
        if let Some(reference) = reference {
            let found = self.readable(from, self.find(from, reference)?)?;
            if found.folder != Folder::Inbox {
                return Err(Error::NotUnread {
                    reference: reference.to_owned(),
                    folder: found.folder.word(),
                });
            }
            return Ok((self.take(me, from, &found.name, filter, (lease, ""), &mut put_away)?, put_away));
        }
        let mut ask = FIRST;
        loop {
            let listing = from.mailbox.arrivals(Folder::Inbox, ask)?;
            if self.carry_in_tree(&from.mailbox, &listing.broken)? {
                continue;
            }
            for (name, what) in listing.strange {
                let found = self.quarantine(from, &name, format!("it is {what}"))?;
                // What is left alone is there again when the list is asked for more.
                if !put_away.iter().any(|known| known.name == found.name) {
                    put_away.push(found);
                }
            }
            let mut failing = None;
            let broken = listing.broken.iter().filter(|_| ask == FIRST);
            for name in broken.chain(&listing.names) {
                match self.take(me, from, name, filter, (lease, ""), &mut put_away) {
                    Ok(Some(claimed)) => return Ok((Some(claimed), put_away)),
                    Ok(None) => {}
                    // One message on a bad block must not hide those behind it.
                    Err(e @ Error::Failing { .. }) => failing = Some(e),
                    Err(e) => return Err(e),
                }
            }
            // Others may have been quicker with all of these; behind them there may be more.
            if listing.names.len() < ask {
                return failing.map_or(Ok((None, put_away)), Err);
            }
            ask *= 4;
        }
    }

    /// Takes one waiting message for a run of the dispatcher, by its file; `None` if it does not wait any more.
    pub fn claim_for_run(&self, me: &Me, file: &str, lease: Duration, run: &str) -> Result<Option<Claimed>> {
        self.room.may_write()?;
        self.refresh(&me.mailbox)?;
        self.take(me, me, file, &Filter::default(), (lease, run), &mut vec![])
    }

    /// Takes one message, if it can be read, fits, and is still there.
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
            Err(broken) if broken.passing => return Err(Error::Failing { why: broken.why }),
            Err(broken) => {
                if broken.is_settled(self.now()) {
                    put_away.push(self.quarantine(from, &broken.name.into(), broken.why)?);
                }
                return Ok(None);
            }
        };
        if !filter.fits_envelope(&message.envelope) {
            return Ok(None);
        }
        let attempt = from.mailbox.tries(name)? + 1;
        let mut terms = Terms::new(me.id.as_str(), name, attempt, lease, self.room.clock());
        run.clone_into(&mut terms.run);
        let Some(token) = from.mailbox.claim(name, &terms)? else { return Ok(None) };
        // Between the look and the claim another message may have come under the same name: what counts is what
        // was taken.
        let (message, time) = match self.message(&from.mailbox, Folder::Claimed(token), name) {
            Ok(Some((taken, at))) if taken.envelope.id == message.envelope.id => (taken, at),
            Err(broken) if broken.passing => {
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
        let opened = Opened { folder: Folder::Claimed(token), name: name.to_owned(), message, time, path };
        Ok(Some(Claimed { token, terms, queue: from.id.clone(), opened }))
    }

    /// The claim under a token, wherever in the room it is: one's own mailbox first.
    pub fn held(&self, me: &Me, token: &str) -> Result<Held> {
        let lost =
            |why: Option<String>| Error::NoClaim { token: crate::message::visible::clip(token, 40), why };
        let token = Token::parse(token).ok_or_else(|| lost(None))?;
        // Nearly always it is one's own, and then nobody asks who else there is.
        if let Some(terms) = me.mailbox.terms(token)? {
            return self.own_claim(me, self.mailbox(&me.id)?, token, terms);
        }
        for mailbox in self.all_mailboxes(Some(me))? {
            let mailbox = mailbox?;
            if let Some(terms) = mailbox.terms(token)? {
                return self.own_claim(me, mailbox, token, terms);
            }
        }
        // Only whoever lost a claim pays for the look at how it ended.
        for mailbox in self.all_mailboxes(Some(me))? {
            if let Some(end) = mailbox?.end_of(token)? {
                return Err(lost(Some(format!("it ended at {}: {}", end.time, end.how))));
            }
        }
        Err(lost(None))
    }

    fn own_claim(&self, me: &Me, mailbox: Mailbox, token: Token, terms: Terms) -> Result<Held> {
        if terms.owner != me.id.as_str() {
            let owner = self.name_of(&terms.owner).to_owned();
            return Err(Error::ForeignClaim { token: token.to_string(), owner });
        }
        Ok(Held { token, terms, mailbox })
    }

    /// Lets a lease last longer.
    pub fn renew(&self, held: &Held, lease: Duration) -> Result<Terms> {
        self.room.may_write()?;
        let mut terms = held.terms.clone();
        terms.extend(lease, self.room.clock());
        match held.mailbox.renew(held.token, &terms) {
            Err(e) if e.is_missing() => Err(self.gone(held)),
            other => Ok(other.map(|()| terms)?),
        }
    }

    /// Finishes a claimed message, with an answer to its sender if there is one.
    pub fn done(&self, me: &Me, held: &Held, answer: Option<Letter>) -> Result<Option<Receipt>> {
        self.room.may_write()?;
        if held.mailbox.agent().is_some() {
            return self.done_as_agent(me, held, answer);
        }
        let receipt = match answer {
            Some(letter) => Some(self.answer_claim(me, held, letter)?),
            None => None,
        };
        if let Some(Receipt { outcome: Outcome::Failed(_), .. }) = &receipt {
            return Ok(receipt);
        }
        self.settle(me, held, Folder::Archive, "done", "")?;
        Ok(receipt)
    }

    /// The same in a tree, where the answer is a response: one that is given, or one that lies in the outbox.
    fn done_as_agent(&self, me: &Me, held: &Held, answer: Option<Letter>) -> Result<Option<Receipt>> {
        let found = Found { folder: Folder::Claimed(held.token), name: held.terms.file.clone() };
        let asked = match self.header(&held.mailbox, found.folder, &found.name) {
            Ok(Some(header)) => header.envelope,
            Ok(None) => return Err(self.gone(held)),
            Err(broken) => return Err(Error::Failing { why: broken.why }),
        };
        if let Some(letter) = answer {
            self.check_letter(&letter)?;
            let extra = fields_of_answer(&letter.extra, &asked);
            let letter = Letter { extra, ..letter };
            let receipt = self.respond(me, &held.mailbox, &found, &asked, &letter, Status::Completed)?;
            self.record_done(me, held, &asked, "done", "");
            return Ok(Some(receipt));
        }
        // A response that says `failed` fails its request, whoever calls it done.
        match self.response_to(&held.mailbox, &asked)?.filter(|response| response.status == Status::Failed) {
            Some(response) => {
                let why = response.error.as_deref().unwrap_or("its response says so");
                self.settle(me, held, Folder::Failed, "failed", why)?;
            }
            None => self.settle(me, held, Folder::Archive, "done", "")?,
        }
        self.route_response(&held.mailbox, &asked)
    }

    /// Gives a claimed message back, at once and without counting it as a failure.
    pub fn release(&self, me: &Me, held: &Held, why: &str) -> Result<()> {
        self.room.may_write()?;
        self.note_end(held, "released", why)?;
        self.settle(me, held, Folder::Inbox, "released", why)
    }

    /// Gives a claimed message back after it failed: the attempt counts, and it may be tried again.
    pub fn give_back(&self, me: &Me, held: &Held, why: &str) -> Result<()> {
        self.room.may_write()?;
        self.note_end(held, "failed", why)?;
        self.settle(me, held, Folder::Inbox, "again", why)
    }

    /// Gives a claimed message up: it goes to `failed/`, and its sender is told.
    /// What comes back tells how telling went; `None`: a bounce is never bounced.
    pub fn fail(&self, me: &Me, held: &Held, why: &str) -> Result<Option<Result<Receipt>>> {
        self.room.may_write()?;
        let envelope = match self.header(&held.mailbox, Folder::Claimed(held.token), &held.terms.file) {
            Ok(Some(header)) => Some(header.envelope),
            Ok(None) => return Err(self.gone(held)),
            // The disk failed, not the file: its sender can be told another time.
            Err(broken) if broken.passing => return Err(Error::Failing { why: broken.why }),
            Err(_) => None,
        };
        self.note_end(held, "failed", why)?;
        if let (Some(_), Some(asked)) = (held.mailbox.agent(), &envelope) {
            let found = Found { folder: Folder::Claimed(held.token), name: held.terms.file.clone() };
            let extra = fields_of_answer(&[], asked);
            let letter = Letter { body: format!("{why}\n"), extra, ..Letter::default() };
            let told = match self.respond(me, &held.mailbox, &found, asked, &letter, Status::Failed) {
                // What the agent wrote itself is what whoever asked is told.
                Err(Error::IdTaken { id, path }) => self
                    .route_response(&held.mailbox, asked)
                    .and_then(|sent| sent.ok_or(Error::IdTaken { id, path })),
                other => other,
            };
            // A response that was written by hand stays; the request fails all the same.
            if held.mailbox.terms(held.token)?.is_some() {
                held.mailbox.settle(held.token, &held.terms.file, Folder::Failed, why)?;
            }
            self.record_done(me, held, asked, "failed", why);
            return Ok(Some(told));
        }
        // The bounce goes first, under an id that a second run would find again. It cannot stop the rest.
        let told = envelope.filter(|e| !is_bounce(e)).map(|envelope| self.bounce(held, &envelope, why));
        self.settle(me, held, Folder::Failed, "failed", why)?;
        Ok(told)
    }

    fn bounce(&self, held: &Held, envelope: &Envelope, why: &str) -> Result<Receipt> {
        let (to, back) = self.letter_back(envelope, Letter::default())?;
        let from = held.mailbox.id();
        let mut extra = vec![(BOUNCE.to_owned(), "1".to_owned())];
        if let Some(hops) = envelope.extra(HOPS).and_then(|hops| hops.parse::<u32>().ok()) {
            extra.push((HOPS.to_owned(), hops.saturating_add(1).to_string()));
        }
        let letter = Letter {
            subject: Some(crate::message::envelope::subject_with("failed: ", &envelope.subject)),
            body: format!(
                "Your message {} to {} was given up after {} attempt(s).\nReason: {why}\n",
                envelope.id,
                self.name_of(from.as_str()),
                held.terms.attempt,
            ),
            channel: envelope.channel.clone(),
            reply_to: Some(envelope.id.clone()),
            allow_secrets: true,
            extra,
            ..back
        };
        let id = MessageId::derived(format!("bounce {}", held.token).as_bytes());
        self.send_back(from, &letter, &to, &id, true)
    }

    fn answer_claim(&self, me: &Me, held: &Held, letter: Letter) -> Result<Receipt> {
        let asked = match self.header(&held.mailbox, Folder::Claimed(held.token), &held.terms.file) {
            Ok(Some(header)) => header.envelope,
            Ok(None) => return Err(self.gone(held)),
            Err(broken) => return Err(Error::Failing { why: broken.why }),
        };
        let (to, letter) = self.letter_back(&asked, letter)?;
        // One claim has one answer: run again after an interruption, it finds itself.
        let id = letter
            .id
            .clone()
            .unwrap_or_else(|| MessageId::derived(format!("answer {}", held.token).as_bytes()));
        self.send_back(&me.id, &letter, &to, &id, true)
    }

    fn note_end(&self, held: &Held, how: &str, why: &str) -> Result<()> {
        let attempt = Attempt::of(held.token, &held.terms, how, why, self.room.clock());
        Ok(held.mailbox.note_attempt(&held.terms.file, &attempt)?)
    }

    fn settle(&self, me: &Me, held: &Held, to: Folder, event: &str, why: &str) -> Result<()> {
        let Some(file) = held.mailbox.settle(held.token, &held.terms.file, to, why)? else {
            return Err(self.gone(held));
        };
        let id = self.id_of(&held.mailbox, to, &file);
        let queue = held.mailbox.id().to_string();
        let note = why.to_owned();
        self.record(Event { id, file, note, mailbox: queue, ..Event::new(event, me.id.as_str()) });
        Ok(())
    }

    fn record_done(&self, me: &Me, held: &Held, asked: &Envelope, event: &str, why: &str) {
        let (id, file) = (asked.id.to_string(), held.terms.file.clone());
        let (note, queue) = (why.to_owned(), held.mailbox.id().to_string());
        self.record(Event { id, file, note, mailbox: queue, ..Event::new(event, me.id.as_str()) });
    }

    fn gone(&self, held: &Held) -> Error {
        Error::NoClaim {
            token: held.token.to_string(),
            why: Some("its lease ended and the message went back, or it was finished already".to_owned()),
        }
    }

    pub(super) fn id_of(&self, mailbox: &Mailbox, folder: Folder, name: &str) -> String {
        match self.header(mailbox, folder, name) {
            Ok(Some(header)) => header.envelope.id.to_string(),
            _ => String::new(),
        }
    }

    /// What this mailbox gave up, oldest first.
    pub fn dead_letters(&self, me: &Me) -> Result<Vec<DeadLetter>> {
        let mut names = me.mailbox.list(Folder::Failed, usize::MAX)?.names;
        names.sort();
        names
            .into_iter()
            .map(|name| {
                let envelope =
                    self.header(&me.mailbox, Folder::Failed, &name).ok().flatten().map(|h| h.envelope);
                let (attempts, tries) = (me.mailbox.attempts(&name)?, me.mailbox.tries(&name)?);
                Ok(DeadLetter { attempts, tries, envelope, name })
            })
            .collect()
    }

    /// Puts a dead letter back among the unread, its tries counted anew.
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
        self.make_way(me, &found)?;
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

/// Whether a message only says that another was given up.
pub(super) fn is_bounce(envelope: &Envelope) -> bool {
    envelope.extra.iter().any(|(key, _)| key == BOUNCE)
}
