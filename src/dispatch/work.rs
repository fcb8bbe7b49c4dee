//! The messages of a run: each claimed for it, and each finished by itself, whatever became of the others.
//!
//! A run has one message, or as many as its agent asked for (`batch`): those of one sender in one channel that wait beside
//! it. What the agent says last answers the first that it has not answered itself; the others are told where to find it.

use super::guards;
use super::project;
use super::recovery::state_of;
use super::runs::{State, key};
use super::supervisor::{LEASE, Supervisor};
use crate::clock::Timestamp;
use crate::mailbox::Folder;
use crate::mailbox::lock::Lock;
use crate::message::Envelope;
use crate::name::MessageId;
use crate::post::{Answered, Claimed, Error, HOPS, Held, Letter, Me, Outcome, Post, Receipt, Result};
use crate::random;

/// One claimed message.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) held: Held,
    pub(super) claimed: Claimed,
    /// The right to work on it, which nobody else has meanwhile.
    _right: Lock,
}

impl Work {
    pub(super) fn new(post: &Post, me: &Me, claimed: Claimed, right: Lock) -> Result<Self> {
        Ok(Self { held: post.held(me, &claimed.token.to_string())?, claimed, _right: right })
    }

    pub(super) fn envelope(&self) -> &Envelope {
        &self.claimed.opened.message.envelope
    }

    pub(super) fn file(&self) -> &str {
        &self.claimed.terms.file
    }

    fn attempt(&self) -> u32 {
        self.claimed.terms.attempt
    }
}

/// How a message ended.
type End = (State, String);

impl Supervisor<'_> {
    /// Claims what may be worked on together with the message of the run.
    pub(super) fn take_more(&mut self) -> Result<()> {
        let most = self.agent.settings.batch;
        if most < 2 {
            return Ok(());
        }
        let postponed = self.runs.postponed()?;
        let mailbox = self.me.id.as_str();
        for file in self.me.mailbox.next(usize::MAX)?.names {
            if self.work.len() >= most {
                break;
            }
            let name = key(mailbox, &file);
            if postponed.iter().any(|(other, until)| *other == name && *until > self.now())
                || !self.belongs(&file)
            {
                continue;
            }
            let Some(right) = self.runs.message(mailbox, &file)? else { continue };
            match self.post.claim_for_run(self.me, &file, LEASE, &self.open.id) {
                Ok(Some(claimed)) => self.work.push(Work::new(self.post, self.me, claimed, right)?),
                Ok(None) | Err(Error::NoMessage { .. } | Error::NotUnread { .. }) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Whether a message that waits is of the same sender and channel, and answered alike.
    fn belongs(&self, file: &str) -> bool {
        let limit = self.post.room().limits().body_bytes;
        let Ok(Some(header)) = self.me.mailbox.header(Folder::Inbox, file, limit) else { return false };
        let (one, other) = (self.work[0].envelope(), &header.envelope);
        one.from == other.from
            && one.channel == other.channel
            && self.needs_no_answer(one) == self.needs_no_answer(other)
    }

    /// Before the agent is started: ends a message that is not to be worked on.
    pub(super) fn before(&self, work: &Work) -> Result<Option<End>> {
        let envelope = work.envelope();
        if work.attempt() > 1 {
            // An attempt before this one may have been killed between its answer and its end, whatever the clock said then.
            match self.post.is_answered(self.me, envelope, Timestamp::from_parts(0, 0))? {
                Answered::No => {}
                answered => {
                    let end = self.answered(work, answered);
                    return self.unless_overtaken(work, end).map(Some);
                }
            }
        }
        if work.attempt() > self.agent.settings.retries.saturating_add(1) {
            let unseen = || {
                let times = work.attempt().saturating_sub(1);
                format!("it was tried {times} times, and nobody saw how the last attempt ended")
            };
            let last = self.me.mailbox.attempts(work.file())?.pop().filter(|last| last.how == "failed");
            let why = last.map_or_else(unseen, |last| last.why);
            return self.unless_overtaken(work, self.give_up(work, why)).map(Some);
        }
        if let Some(text) = self.runs.kept_answer(self.me.id.as_str(), work.file())? {
            let end = match self.answer(work, &text) {
                Ok(Ok(remark)) => {
                    self.forget(work);
                    Ok((State::Done, remark))
                }
                Ok(Err(why)) => self.again(work, why),
                Err(e) => Err(e),
            };
            return self.unless_overtaken(work, end).map(Some);
        }
        if let Some(why) = project::refuse(self.post, self.agent, envelope)? {
            return self.unless_overtaken(work, self.give_up(work, why)).map(Some);
        }
        let thread = guards::thread(envelope);
        let refused = self.runs.count(self.me.id.as_str(), &thread, self.now(), |counted| {
            guards::refuse(self.settings, &self.agent.settings.from, counted, envelope)
        })?;
        match refused {
            Some(why) => self.unless_overtaken(work, self.give_up(work, why)).map(Some),
            None => Ok(None),
        }
    }

    /// After the agent ended: answers a message that it has not answered itself, or lets it wait for the next attempt.
    pub(super) fn after(
        &self,
        work: &Work,
        told: &std::result::Result<String, String>,
        answered: Option<&Work>,
    ) -> Result<End> {
        let why = match told {
            Ok(_) if work.held.terms.of_answer || self.needs_no_answer(work.envelope()) => {
                return self.finish(work);
            }
            Ok(text) => {
                let text = match answered {
                    Some(other) => format!(
                        "This was worked on together with the message {} ({}), whose answer is the answer to both.",
                        other.envelope().id,
                        crate::message::visible::clip(&other.envelope().subject, 120)
                    ),
                    None => text.clone(),
                };
                match self.answer(work, &text)? {
                    Ok(remark) => {
                        self.forget(work);
                        return Ok((State::Done, remark));
                    }
                    Err(why) => {
                        // What the agent said was dear; the next attempt only has to deliver it.
                        self.runs.keep_answer(self.me.id.as_str(), work.file(), &text)?;
                        why
                    }
                }
            }
            Err(why) => why.clone(),
        };
        self.again(work, why)
    }

    /// Lets a message wait for its next attempt, or gives it up after the last.
    fn again(&self, work: &Work, why: String) -> Result<End> {
        if work.attempt() > self.agent.settings.retries {
            return self.give_up(work, why);
        }
        self.postpone(work)?;
        self.post.give_back(self.me, &work.held, &why)?;
        Ok((State::Again, why))
    }

    /// Lets a message wait, twice as long after each attempt.
    fn postpone(&self, work: &Work) -> Result<()> {
        let doubled = self.settings.back_off * 2u32.saturating_pow(work.attempt().saturating_sub(1).min(10));
        let wait = doubled + doubled.mul_f64((random::number() % 1000) as f64 / 2000.0);
        Ok(self.runs.postpone(self.me.id.as_str(), work.file(), self.now().plus(wait))?)
    }

    /// An answer needs no answer: two agents would thank each other for ever. But who comes back to what an agent said in
    /// a run asks it again: that has the number of its thread, and no steps, because somebody thought.
    pub(super) fn needs_no_answer(&self, envelope: &Envelope) -> bool {
        let asks_again = guards::hops(envelope) == 0 && envelope.extra(guards::THREAD).is_some();
        envelope.reply_to.is_some() && !asks_again
    }

    /// Ends a message that has its answer already.
    pub(super) fn answered(&self, work: &Work, answered: Answered) -> Result<End> {
        match answered {
            Answered::Failed(why) => self.give_up(work, why),
            _ => self.finish(work),
        }
    }

    fn finish(&self, work: &Work) -> Result<End> {
        self.post.done(self.me, &work.held, None)?;
        self.forget(work);
        Ok((State::Done, String::new()))
    }

    /// Gives a message up. While its sender cannot be told it waits, and is given up without another run.
    fn give_up(&self, work: &Work, why: String) -> Result<End> {
        match self.post.fail(self.me, &work.held, &why) {
            Ok(_) => {}
            Err(e @ Error::NoClaim { .. }) => return Err(e),
            Err(e) => {
                self.postpone(work)?;
                self.post.give_back(self.me, &work.held, &why)?;
                return Ok((State::Again, format!("{why}; its sender could not be told yet: {e}")));
            }
        }
        self.forget(work);
        Ok((State::Failed, why))
    }

    /// Nobody will work on this message any more.
    fn forget(&self, work: &Work) {
        self.runs.forget_message(self.me.id.as_str(), work.file());
    }

    /// Whether somebody gave the message up while its agent works: then nobody waits for it. An agent that finished its
    /// message itself may have more to say.
    pub(super) fn is_given_up(&self, work: &Work) -> bool {
        matches!(work.held.mailbox.terms(work.held.token), Ok(None))
            && matches!(self.post.lies_in(self.me, work.file()), Ok(Some(Folder::Failed)))
    }

    /// The agent may have finished the message itself, or its lease ended meanwhile and it is somebody else's.
    pub(super) fn unless_overtaken(&self, work: &Work, end: Result<End>) -> Result<End> {
        match end {
            Err(Error::NoClaim { .. }) => {
                let last = self.me.mailbox.attempts(work.file()).ok().and_then(|mut tried| tried.pop());
                let why = match last.filter(|last| last.token == work.held.token.to_string()) {
                    Some(last) => last.why,
                    None => "its lease ended, and somebody else took the message".to_owned(),
                };
                let end = state_of(self.post, self.me, work.file(), &why)?;
                if end.0 != State::Again {
                    self.forget(work);
                }
                Ok(end)
            }
            other => other,
        }
    }

    /// Sends the answer and ends the message; a remark if nobody could be told, or why it is not done.
    fn answer(&self, work: &Work, text: &str) -> Result<std::result::Result<String, String>> {
        let envelope = work.envelope();
        let limit = usize::try_from(self.post.room().limits().body_bytes).unwrap_or(usize::MAX);
        let mut body = format!("{text}\n");
        if body.len() > limit {
            let cut = format!("\n[cut: postroom runs {} shows all of it]\n", self.open.id);
            body.truncate(body.floor_char_boundary(limit.saturating_sub(cut.len())));
            body.push_str(&cut);
        }
        let extra = vec![
            (HOPS.to_owned(), (guards::hops(envelope) + 1).to_string()),
            (guards::THREAD.to_owned(), guards::thread(envelope)),
        ];
        // One message has one answer of its agent, whichever attempt gets that far.
        let id = MessageId::derived(format!("answer of {} to {}", self.me.id, envelope.id).as_bytes());
        // A run of a workflow asks each question once, and counts one answer to it whatever comes; so its archive, which
        // grows with every step, need not be searched. After an attempt that failed it is searched all the same.
        let of_run = envelope.extra("workflow") == Some(envelope.from.as_str()) && work.attempt() == 1;
        let question = of_run.then(|| work.file().to_owned());
        let letter = Letter { body, extra, id: Some(id), question, allow_secrets: true, ..Letter::default() };
        match self.post.done(self.me, &work.held, Some(letter)) {
            Ok(Some(Receipt { outcome: Outcome::Failed(Error::IdTaken { .. }), .. }))
            | Err(Error::IdTaken { .. } | Error::Answered { .. }) => {
                self.post.done(self.me, &work.held, None)?;
                Ok(Ok("it had an answer before, so this one was not sent".to_owned()))
            }
            Ok(Some(Receipt { outcome: Outcome::Failed(e), .. })) => {
                Ok(Err(format!("its answer could not be delivered: {e}")))
            }
            // The next attempt finds it where it is.
            Ok(Some(Receipt { outcome: Outcome::Unproven(why), .. })) => {
                Ok(Err(format!("its answer may not survive a power cut: {why}")))
            }
            Ok(_) => Ok(Ok(String::new())),
            Err(
                e @ (Error::NoReplyWanted
                | Error::NoSender { .. }
                | Error::NoMailbox { .. }
                | Error::UnknownName { .. }
                | Error::BadName { .. }),
            ) => {
                self.post.done(self.me, &work.held, None)?;
                Ok(Ok(format!("nobody could be answered: {e}")))
            }
            Err(e @ Error::NoClaim { .. }) => Err(e),
            Err(e) => Ok(Err(format!("its answer could not be delivered: {e}"))),
        }
    }
}
