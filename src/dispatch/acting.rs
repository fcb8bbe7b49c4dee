//! The end of a message: each [`Step`] carried out. The answer is durable before the message is done; a message that waits
//! is postponed or parked before it is unread again.

use super::ending::Ending;
use super::guards;
use super::work::{Job, Step, Work};
use super::worktree::RunWorktree;
use crate::name::MessageId;
use crate::post::{Error, HOPS, Letter, Outcome, Receipt, Result};
use crate::random;

/// The outcome of an answer.
enum Sending {
    /// It counts as answered, with a remark if no recipient was reached.
    Settled(String),
    /// Another attempt has to send it.
    Failed(String),
}

impl Work {
    /// Ends the message. `NoClaim`: somebody else has decided about it.
    pub(super) fn act(&self, job: &Job<'_>, step: Step) -> Result<Ending> {
        match step {
            Step::Finish => job.post.done(job.me, &self.held.borrow(), None).map(|_| Ending::done("")),
            Step::Answer(text) => self.answer(job, &text),
            Step::Retry(why) => self.retry(job, why),
            Step::Wait(why) => self.wait(job, why),
            Step::Park(why) => self.park(job, why),
            Step::GiveUp(why) => self.give_up(job, why),
            Step::Revoke(why) => {
                job.post.take_back(job.me, &self.held.borrow(), &why).map(|()| Ending::failed(why))
            }
        }
    }

    fn retry(&self, job: &Job<'_>, why: String) -> Result<Ending> {
        if self.attempt() > job.agent.settings.retries {
            return self.give_up(job, why);
        }
        self.postpone(job, &why)?;
        job.post.give_back(job.me, &self.held.borrow(), &why)?;
        Ok(Ending::again(why))
    }

    /// Lets the message wait, twice as long after each attempt.
    fn postpone(&self, job: &Job<'_>, why: &str) -> Result<()> {
        let doubled = job.settings.back_off * 2u32.saturating_pow(self.attempt().saturating_sub(1).min(10));
        let wait = doubled + doubled.mul_f64((random::number() % 1000) as f64 / 2000.0);
        Ok(job.runs.postpone(job.me.id.as_str(), self.file(), job.now().plus(wait), why)?)
    }

    /// Lets the message wait without counting the attempt. It is parked already, or the pause or the limit of its agent says
    /// until when.
    fn wait(&self, job: &Job<'_>, why: String) -> Result<Ending> {
        job.post.release(job.me, &self.held.borrow(), &why)?;
        Ok(Ending::again(why))
    }

    /// Parks the message before it is unread again, so that no dispatcher starts it in between.
    fn park(&self, job: &Job<'_>, why: String) -> Result<Ending> {
        let thread = guards::thread(self.envelope());
        job.runs.park(job.me.id.as_str(), self.file(), &thread, &why, job.now())?;
        job.post.release(job.me, &self.held.borrow(), &why)?;
        Ok(Ending::parked(why))
    }

    /// Gives the message up. While its sender cannot be notified it waits, and is later given up without another run.
    fn give_up(&self, job: &Job<'_>, why: String) -> Result<Ending> {
        let failed = job.post.fail(job.me, &self.held.borrow(), &why);
        match failed {
            Ok(_) => Ok(Ending::failed(why)),
            Err(e @ Error::NoClaim { .. }) => Err(e),
            Err(e) => {
                self.postpone(job, &why)?;
                job.post.give_back(job.me, &self.held.borrow(), &why)?;
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
        let mut extra = vec![
            (HOPS.to_owned(), (guards::hops(envelope) + 1).to_string()),
            (guards::THREAD.to_owned(), guards::thread(envelope)),
        ];
        extra.extend(job.worktree.map(RunWorktree::fields).into_iter().flatten());
        // A message gets one answer from its agent, whichever attempt sends it.
        let id = MessageId::derived(format!("answer of {} to {}", job.me.id, envelope.id).as_bytes());
        // A workflow run sends each request once and counts one answer to it. So its archive, which grows with every
        // step, is not searched, except after a failed attempt.
        let of_run = envelope.extra("workflow") == Some(envelope.from.as_str()) && self.attempt() == 1;
        let question = of_run.then(|| self.file().to_owned());
        let letter = Letter { body, extra, id: Some(id), question, allow_secrets: true, ..Letter::default() };
        let held = self.held.borrow();
        match job.post.done(job.me, &held, Some(letter)) {
            Ok(Some(Receipt { outcome: Outcome::Failed(Error::IdTaken { .. }), .. }))
            | Err(Error::IdTaken { .. } | Error::Answered { .. }) => {
                job.post.done(job.me, &held, None)?;
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
                job.post.done(job.me, &held, None)?;
                Ok(Sending::Settled(format!("nobody could be answered: {e}")))
            }
            Err(e @ Error::NoClaim { .. }) => Err(e),
            Ok(Some(Receipt { outcome: Outcome::Failed(e), .. })) | Err(e) => {
                Ok(Sending::Failed(format!("its answer could not be delivered: {e}")))
            }
            Ok(_) => Ok(Sending::Settled(String::new())),
        }
    }
}
