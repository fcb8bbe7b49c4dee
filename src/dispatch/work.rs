//! One message of a run: claimed for it, and ended on its own, whatever happens to the others.
//!
//! ```text
//! claimed ──before──► Step ──perform──► Ending
//!    └──► its agent works ──after──► Step ──perform──► Ending
//! ```
//!
//! [`Work::before`] and [`Work::after`] decide, and change only the counts of the guards; only [`Work::perform`] acts.
//! A message whose claim has ended meanwhile ends in the state it is found in.

use super::ending::Ending;
use super::guards;
use super::project::{self, ProjectOf};
use super::recovery::state_of;
use super::runs::{Open, RunState, Runs};
use super::supervisor::Agent;
use crate::clock::Timestamp;
use crate::mailbox::Folder;
use crate::mailbox::lock::Lock;
use crate::message::{Envelope, visible};
use crate::name::MessageId;
use crate::post::{Answered, Claimed, Error, HOPS, Held, Letter, Me, Outcome, Post, Receipt, Result};
use crate::random;
use crate::settings::agents::DispatchSettings;

/// The context of a run: the room, the mailbox it works for, the agent, and its records.
pub(super) struct Job<'a> {
    pub(super) post: &'a Post,
    pub(super) me: &'a Me,
    pub(super) agent: &'a Agent,
    pub(super) settings: &'a DispatchSettings,
    pub(super) project_of: ProjectOf,
    pub(super) runs: &'a Runs,
    pub(super) open: &'a Open,
}

impl Job<'_> {
    pub(super) fn now(&self) -> Timestamp {
        self.post.room().clock().now()
    }
}

/// One claimed message.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) held: Held,
    pub(super) claimed: Claimed,
    /// The lock of the message, which keeps other runs away.
    _right: Lock,
}

/// How to end a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// It has its answer, or needs none.
    Finish,
    /// Its sender gets this text.
    Answer(String),
    /// It waits for another attempt, or is given up after the last.
    Retry(String),
    /// Its sender gets the reason.
    GiveUp(String),
}

impl Step {
    fn for_answered(answered: Answered) -> Option<Self> {
        match answered {
            Answered::No => None,
            Answered::Yes => Some(Self::Finish),
            Answered::Failed(why) => Some(Self::GiveUp(why)),
        }
    }
}

/// The outcome of an answer.
enum Sending {
    /// It counts as answered, with a remark if no recipient was reached.
    Settled(String),
    /// Another attempt has to send it.
    Failed(String),
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

    /// Decides before the agent is started. `None`: the agent has to work on the message.
    pub(super) fn before(&self, job: &Job<'_>) -> Result<Option<Step>> {
        let envelope = self.envelope();
        if self.attempt() > 1 {
            // An earlier attempt may have been killed after sending its answer; the clock may have changed since.
            let answered = job.post.is_answered(job.me, envelope, Timestamp::from_parts(0, 0))?;
            if let Some(step) = Step::for_answered(answered) {
                return Ok(Some(step));
            }
        }
        if self.attempt() > job.agent.settings.retries.saturating_add(1) {
            let unseen = || {
                let times = self.attempt().saturating_sub(1);
                format!("it was tried {times} times, and nobody saw how the last attempt ended")
            };
            let last = job.me.mailbox.attempts(self.file())?.pop().filter(|last| last.how == "failed");
            return Ok(Some(Step::GiveUp(last.map_or_else(unseen, |last| last.why))));
        }
        if let Some(text) = job.runs.kept_answer(job.me.id.as_str(), self.file())? {
            return Ok(Some(Step::Answer(text)));
        }
        if let Some(why) = project::refuse(job.post, job.agent, job.project_of, envelope)? {
            return Ok(Some(Step::GiveUp(why)));
        }
        let thread = guards::thread(envelope);
        let refused = job.runs.count(job.me.id.as_str(), &thread, job.now(), |counted| {
            guards::refuse(job.settings, &job.agent.settings.from, counted, envelope)
        })?;
        Ok(refused.map(Step::GiveUp))
    }

    /// Decides after the agent ended. `verdict`: its last words, or why they are not an answer; `other`: the message of
    /// this run that this text has already answered.
    pub(super) fn after(
        &self,
        job: &Job<'_>,
        since: Timestamp,
        verdict: &std::result::Result<String, String>,
        other: Option<&Self>,
    ) -> Result<Step> {
        if let Some(step) = Step::for_answered(job.post.is_answered(job.me, self.envelope(), since)?) {
            return Ok(step);
        }
        Ok(match (verdict, other) {
            (Err(why), _) => Step::Retry(why.clone()),
            (Ok(_), _) if self.held.terms.of_answer || needs_no_answer(self.envelope()) => Step::Finish,
            (Ok(text), None) => Step::Answer(text.clone()),
            (Ok(_), Some(other)) => Step::Answer(format!(
                "This was worked on together with the message {} ({}), whose answer is the answer to both.",
                other.envelope().id,
                visible::clip(&other.envelope().subject, 120)
            )),
        })
    }

    /// Ends the message. The agent may have ended it itself, or its lease is over and another process has it.
    pub(super) fn perform(&self, job: &Job<'_>, step: Step) -> Result<Ending> {
        let ended = match step {
            Step::Finish => job.post.done(job.me, &self.held, None).map(|_| Ending::done("")),
            Step::Answer(text) => self.answer(job, &text),
            Step::Retry(why) => self.retry(job, why),
            Step::GiveUp(why) => self.give_up(job, why),
        };
        let ending = match ended {
            Err(Error::NoClaim { .. }) => self.as_found(job)?,
            other => other?,
        };
        if ending.state != RunState::Again {
            // Nobody will work on this message again.
            job.runs.forget_message(job.me.id.as_str(), self.file());
        }
        Ok(ending)
    }

    fn as_found(&self, job: &Job<'_>) -> Result<Ending> {
        let last = job.me.mailbox.attempts(self.file()).ok().and_then(|mut tried| tried.pop());
        let why = match last.filter(|last| last.token == self.held.token.to_string()) {
            Some(last) => last.why,
            None => "its lease ended, and somebody else took the message".to_owned(),
        };
        state_of(job.post, job.me, self.file(), &why)
    }

    fn retry(&self, job: &Job<'_>, why: String) -> Result<Ending> {
        if self.attempt() > job.agent.settings.retries {
            return self.give_up(job, why);
        }
        self.postpone(job)?;
        job.post.give_back(job.me, &self.held, &why)?;
        Ok(Ending::again(why))
    }

    /// Lets the message wait, twice as long after each attempt.
    fn postpone(&self, job: &Job<'_>) -> Result<()> {
        let doubled = job.settings.back_off * 2u32.saturating_pow(self.attempt().saturating_sub(1).min(10));
        let wait = doubled + doubled.mul_f64((random::number() % 1000) as f64 / 2000.0);
        Ok(job.runs.postpone(job.me.id.as_str(), self.file(), job.now().plus(wait))?)
    }

    /// Gives the message up. While its sender cannot be notified it waits, and is later given up without another run.
    fn give_up(&self, job: &Job<'_>, why: String) -> Result<Ending> {
        match job.post.fail(job.me, &self.held, &why) {
            Ok(_) => Ok(Ending::failed(why)),
            Err(e @ Error::NoClaim { .. }) => Err(e),
            Err(e) => {
                self.postpone(job)?;
                job.post.give_back(job.me, &self.held, &why)?;
                Ok(Ending::again(format!("{why}; its sender could not be told yet: {e}")))
            }
        }
    }

    fn answer(&self, job: &Job<'_>, text: &str) -> Result<Ending> {
        match self.send_answer(job, text)? {
            Sending::Settled(remark) => Ok(Ending::done(remark)),
            Sending::Failed(why) => {
                // The agent's work was expensive; the next attempt only delivers its answer.
                job.runs.keep_answer(job.me.id.as_str(), self.file(), text)?;
                self.retry(job, why)
            }
        }
    }

    fn send_answer(&self, job: &Job<'_>, text: &str) -> Result<Sending> {
        let envelope = self.envelope();
        let limit = usize::try_from(job.post.room().limits().body_bytes).unwrap_or(usize::MAX);
        let mut body = format!("{text}\n");
        if body.len() > limit {
            let cut = format!("\n[cut: postroom runs {} shows all of it]\n", job.open.id);
            body.truncate(body.floor_char_boundary(limit.saturating_sub(cut.len())));
            body.push_str(&cut);
        }
        let extra = vec![
            (HOPS.to_owned(), (guards::hops(envelope) + 1).to_string()),
            (guards::THREAD.to_owned(), guards::thread(envelope)),
        ];
        // A message gets one answer from its agent, whichever attempt sends it.
        let id = MessageId::derived(format!("answer of {} to {}", job.me.id, envelope.id).as_bytes());
        // A workflow run sends each request once and counts one answer to it. So its archive, which grows with every
        // step, is not searched, except after a failed attempt.
        let of_run = envelope.extra("workflow") == Some(envelope.from.as_str()) && self.attempt() == 1;
        let question = of_run.then(|| self.file().to_owned());
        let letter = Letter { body, extra, id: Some(id), question, allow_secrets: true, ..Letter::default() };
        match job.post.done(job.me, &self.held, Some(letter)) {
            Ok(Some(Receipt { outcome: Outcome::Failed(Error::IdTaken { .. }), .. }))
            | Err(Error::IdTaken { .. } | Error::Answered { .. }) => {
                job.post.done(job.me, &self.held, None)?;
                Ok(Sending::Settled("it had an answer before, so this one was not sent".to_owned()))
            }
            // The next attempt finds the delivered answer.
            Ok(Some(Receipt { outcome: Outcome::Unproven(why), .. })) => {
                Ok(Sending::Failed(format!("its answer may not survive a power cut: {why}")))
            }
            Err(
                e @ (Error::NoReplyWanted
                | Error::NoSender { .. }
                | Error::NoMailbox { .. }
                | Error::UnknownName { .. }
                | Error::BadName { .. }),
            ) => {
                job.post.done(job.me, &self.held, None)?;
                Ok(Sending::Settled(format!("nobody could be answered: {e}")))
            }
            Err(e @ Error::NoClaim { .. }) => Err(e),
            Ok(Some(Receipt { outcome: Outcome::Failed(e), .. })) | Err(e) => {
                Ok(Sending::Failed(format!("its answer could not be delivered: {e}")))
            }
            Ok(_) => Ok(Sending::Settled(String::new())),
        }
    }

    /// Whether somebody gave the message up while its agent works: then nobody waits for it. An agent that finished its
    /// message itself may have more to say.
    pub(super) fn is_given_up(&self, job: &Job<'_>) -> bool {
        matches!(self.held.mailbox.terms(self.held.token), Ok(None))
            && matches!(job.post.lies_in(job.me, self.file()), Ok(Some(Folder::Failed)))
    }
}

/// An answer needs no answer, or two agents would thank each other endlessly. But a reply to what an agent said in a
/// run is a new question if it has the thread's id and no automatic steps: a sender decided to write it.
pub(super) fn needs_no_answer(envelope: &Envelope) -> bool {
    let asks_again = guards::hops(envelope) == 0 && envelope.extra(guards::THREAD).is_some();
    envelope.reply_to.is_some() && !asks_again
}
