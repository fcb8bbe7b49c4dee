//! One message of a run: claimed for it, and ended on its own, whatever happens to the others.
//!
//! ```text
//! claimed ──before──► Step ──perform──► Ending
//!    └──► its agent works ──after──► Step ──perform──► Ending
//! ```
//!
//! [`Work::before`] and [`Work::after`] decide, and change only the counts of the guards; only [`Work::perform`] acts.
//! A message whose lease ended while its supervisor was held up is claimed again, because its lock kept every other run
//! away. If somebody else has decided about it, it ends in the state it is found in.

use std::cell::RefCell;

use super::ending::Ending;
use super::guards::{self, Refusal};
use super::judgement::Verdict;
use super::project::{self, ProjectOf};
use super::recovery::state_of;
use super::runs::{Open, RunState, Runs};
use super::stop::Then;
use super::supervisor::{Agent, LEASE};
use super::workplace::StillTrusted;
use super::worktree::RunWorktree;
use crate::clock::Timestamp;
use crate::mailbox::Folder;
use crate::mailbox::lock::Lock;
use crate::message::role::Role;
use crate::message::{Envelope, visible};
use crate::post::{Answered, Claimed, Error, Held, Me, Post, Result};
use crate::settings::agents::DispatchSettings;

/// The context of a run: the room, the mailbox it works for, the agent, and its records.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) post: &'a Post,
    pub(super) me: &'a Me,
    pub(super) agent: &'a Agent,
    pub(super) settings: &'a DispatchSettings,
    pub(super) project_of: ProjectOf,
    pub(super) is_trusted: StillTrusted<'a>,
    pub(super) runs: &'a Runs,
    pub(super) open: &'a Open,
    /// Where the run works, if it is a worktree of its own.
    pub(super) worktree: Option<&'a RunWorktree>,
}

impl Job<'_> {
    pub(super) fn now(&self) -> Timestamp {
        self.post.room().clock().now()
    }
}

/// One claimed message.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) held: RefCell<Held>,
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
    /// It waits as its agent does, or as somebody decided before, and this attempt does not count.
    Wait(String),
    /// It waits for a person.
    Park(String),
    /// Its sender gets the reason.
    GiveUp(String),
    /// Its sender takes it back.
    Revoke(String),
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

impl Work {
    pub(super) fn new(post: &Post, me: &Me, claimed: Claimed, right: Lock) -> Result<Self> {
        let held = RefCell::new(post.held(me, &claimed.token.to_string())?);
        Ok(Self { held, claimed, _right: right })
    }

    pub(super) fn envelope(&self) -> &Envelope {
        &self.claimed.opened.message.envelope
    }

    pub(super) fn file(&self) -> &str {
        &self.claimed.terms.file
    }

    pub(super) fn attempt(&self) -> u32 {
        self.held.borrow().terms.attempt
    }

    /// Decides before the agent is started. `None`: the agent has to work on the message. `counted`: the threads for which
    /// this run was counted before.
    pub(super) fn before(&self, job: &Job<'_>, counted: &mut Vec<String>) -> Result<Option<Step>> {
        let envelope = self.envelope();
        if self.attempt() > 1 {
            // An earlier attempt may have been killed after sending its answer; the clock may have changed since.
            let answered = job.post.is_answered(job.me, envelope, Timestamp::from_parts(0, 0))?;
            if let Some(step) = Step::for_answered(answered) {
                return Ok(Some(step));
            }
        }
        // Somebody may have decided while this run was about to claim it.
        if let Some(why) = job.runs.held_by_person(job.me.id.as_str(), self.file())? {
            return Ok(Some(Step::Wait(why)));
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
        let (is_counted, is_thread_counted) = (!counted.is_empty(), counted.contains(&thread));
        let rooms = match job.post.is_from_hidden_room(envelope) {
            true => &[],
            false => job.agent.settings.from.as_slice(),
        };
        let refused = job.runs.count(job.me.id.as_str(), &thread, counted, job.now(), |counts| {
            let refused = guards::refuse(job.settings, rooms, counts, envelope, job.now());
            // This run is within these limits already.
            refused.filter(|refused| match refused {
                Refusal::Fail(_) => true,
                Refusal::Park(_) => !is_thread_counted,
                Refusal::Wait(..) => !is_counted,
            })
        })?;
        if refused.is_none() {
            counted.push(thread);
        }
        Ok(refused.map(|refused| match refused {
            Refusal::Fail(why) => Step::GiveUp(why),
            Refusal::Park(why) => Step::Park(why),
            Refusal::Wait(_, why) => Step::Wait(why),
        }))
    }

    /// Decides after the agent ended. `other`: the message of this run that its text has already answered.
    pub(super) fn after(
        &self,
        job: &Job<'_>,
        since: Timestamp,
        verdict: &Verdict,
        other: Option<&Self>,
    ) -> Result<Step> {
        if let Some(step) = Step::for_answered(job.post.is_answered(job.me, self.envelope(), since)?) {
            return Ok(step);
        }
        let text = match verdict {
            Verdict::Failed(why) => return Ok(Step::Retry(why.clone())),
            Verdict::Outage(why) => return Ok(Step::Wait(why.clone())),
            Verdict::Stopped(request) => {
                let why = request.reason();
                return Ok(if request.then == Then::Park { Step::Park(why) } else { Step::Revoke(why) });
            }
            Verdict::Answer(text) => text,
        };
        let is_answer = self.held.borrow().terms.of_answer || needs_no_answer(self.envelope());
        Ok(match other {
            _ if is_answer => Step::Finish,
            None => Step::Answer(text.clone()),
            Some(other) => Step::Answer(format!(
                "This was worked on together with the message {} ({}), whose answer is the answer to both.",
                other.envelope().id,
                visible::clip(&other.envelope().subject, 120)
            )),
        })
    }

    /// Ends the message. The agent may have ended it itself, or its lease is over and another process has it.
    pub(super) fn perform(&self, job: &Job<'_>, step: Step) -> Result<Ending> {
        let ended = match self.act(job, step.clone()) {
            Err(Error::NoClaim { .. }) if self.take_back(job)? => self.act(job, step),
            other => other,
        };
        let ending = match ended {
            Err(Error::NoClaim { .. }) => self.as_found(job)?,
            other => other?,
        };
        if !matches!(ending.state, RunState::Again | RunState::Parked) {
            // Nobody will work on this message again.
            job.runs.forget_message(job.me.id.as_str(), self.file());
        }
        Ok(ending)
    }

    /// Claims the message again if its lease ended meanwhile and nobody has taken it since.
    fn take_back(&self, job: &Job<'_>) -> Result<bool> {
        let token = self.held.borrow().token.to_string();
        let tried = job.me.mailbox.attempts(self.file())?;
        if !tried.last().is_some_and(|last| last.token == token && last.how == "expired") {
            return Ok(false);
        }
        match job.post.claim_for_run(job.me, self.file(), LEASE, &job.open.id) {
            Ok(Some(claimed)) => {
                let held = job.post.held(job.me, &claimed.token.to_string())?;
                if claimed.opened.message.envelope.id != self.envelope().id {
                    job.post.release(job.me, &held, "it is another message of the same name")?;
                    return Ok(false);
                }
                self.held.replace(held);
                Ok(true)
            }
            Ok(None) | Err(Error::NoMessage { .. } | Error::NotUnread { .. }) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Extends the lease. `false` if somebody else has decided about the message.
    pub(super) fn renew(&self, job: &Job<'_>) -> bool {
        let renewed = job.post.renew(&self.held.borrow(), LEASE);
        match renewed {
            // An error while looking is not a loss: the next renewal tells.
            Err(Error::NoClaim { .. }) => self.take_back(job).unwrap_or(true),
            _ => true,
        }
    }

    fn as_found(&self, job: &Job<'_>) -> Result<Ending> {
        let last = job.me.mailbox.attempts(self.file()).ok().and_then(|mut tried| tried.pop());
        let why = match last.filter(|last| last.token == self.held.borrow().token.to_string()) {
            Some(last) => last.why,
            None => "its lease ended, and somebody else took the message".to_owned(),
        };
        state_of(job.post, job.me, self.file(), &why)
    }

    /// Whether somebody gave the message up while its agent works: then nobody waits for it. An agent that finished its
    /// message itself may have more to say.
    pub(super) fn is_given_up(&self, job: &Job<'_>) -> bool {
        let held = self.held.borrow();
        matches!(held.mailbox.terms(held.token), Ok(None))
            && matches!(job.post.folder_of(job.me, self.file()), Ok(Some(Folder::Failed)))
    }
}

/// Whether nobody waits for the agent's words about a message.
pub(super) fn needs_no_answer(envelope: &Envelope) -> bool {
    envelope.role() != Role::Request
}
