//! One run: a message is claimed, an agent is started for it, and what the agent said becomes the answer.
//!
//! A supervisor is a process of its own. It holds the locks of its run, renews its lease while the agent lives, and
//! finishes the message, whatever becomes of the dispatcher that started it. Killed itself, it leaves a free lock, and
//! whoever sees that first finishes the run for it (recovery.rs).

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::config::{AgentSettings, DispatchSettings};
use super::guards;
use super::presets::Preset;
use super::processes;
use super::recovery::{recover, state_of};
use super::runs::{Open, Run, Runs, State};
use crate::clock::Timestamp;
use crate::name::MessageId;
use crate::post::{
    Answered, Claimed, Error, HOPS, Held, Letter, Me, Outcome as Delivery, Post, Receipt, Result,
};
use crate::random;

/// How long a lease lasts, and how often it is renewed while the agent lives.
const LEASE: Duration = Duration::from_secs(60);
const RENEWAL: Duration = Duration::from_secs(20);

/// An agent that can be started.
#[derive(Debug, Clone)]
pub struct Agent {
    pub name: String,
    pub settings: AgentSettings,
    pub preset: Arc<Preset>,
    pub cwd: PathBuf,
    /// The whole environment of the process.
    pub environment: Vec<(OsString, OsString)>,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Somebody else has it, or all places are taken.
    NotNow,
    Ran(Box<Run>),
}

impl Agent {
    /// The program that is started, and what it is started with before the preset's arguments.
    pub fn program(&self) -> Option<(&str, &[String])> {
        match self.settings.command.split_first() {
            Some((program, rest)) => Some((program, rest)),
            None if self.preset.program.is_empty() => None,
            None => Some((&self.preset.program, &[])),
        }
    }
}

/// Gives one message to an agent, to its end. `tell` hears of the run when it begins and whenever it gets on.
pub fn supervise(
    post: &Post,
    me: &Me,
    agent: &Agent,
    settings: &DispatchSettings,
    file: &str,
    tell: &dyn Fn(&Run),
) -> Result<Outcome> {
    let runs = Runs::open(post.room())?;
    let id = me.id.as_str();
    let Some(slot) = runs.slot(id, agent.settings.places())? else { return Ok(Outcome::NotNow) };
    // A place may be free because its supervisor was killed; then what it left is ended before anything is begun here.
    let recovered = recover(post, &runs, Some(id))?;
    if recovered.stuck || !recovered.faults.is_empty() {
        return Ok(Outcome::NotNow);
    }
    let Some(right) = runs.message(id, file)? else { return Ok(Outcome::NotNow) };
    let open = runs.begin(post.room().clock().now())?;
    let mut run = Run {
        v: 1,
        id: open.id.clone(),
        mailbox: id.to_owned(),
        agent: agent.name.clone(),
        message: String::new(),
        file: file.to_owned(),
        from: String::new(),
        thread: String::new(),
        attempt: 0,
        retries: agent.settings.retries,
        started: post.room().clock().now().precise(),
        ended: String::new(),
        state: State::Running,
        why: String::new(),
        activity: String::new(),
        session: String::new(),
        cost: None,
    };
    // Before the claim, which names the run: from then on anyone can finish what is begun here.
    runs.record(&open.dir, &run)?;
    let claimed = match post.claim_for_run(me, file, LEASE, &open.id) {
        Ok(Some(claimed)) => claimed,
        Ok(None) | Err(Error::NoMessage { .. } | Error::NotUnread { .. }) => {
            runs.discard(open);
            return Ok(Outcome::NotNow);
        }
        Err(e) => {
            runs.discard(open);
            return Err(e);
        }
    };
    let held = post.held(me, &claimed.token.to_string())?;
    let envelope = &claimed.opened.message.envelope;
    run.message = envelope.id.to_string();
    run.from = post.name_of(&envelope.from).to_owned();
    run.thread = guards::thread(envelope);
    run.attempt = claimed.terms.attempt;
    let supervisor = Supervisor { post, me, agent, settings, runs: &runs, open: &open, held, claimed, tell };
    let ended = supervisor.run(&mut run);
    (run.state, run.why) = match ended {
        // The agent finished the message itself, or the lease ended meanwhile and it is somebody else's.
        Err(Error::NoClaim { .. }) => {
            state_of(post, me, file, "its lease ended, and somebody else took the message")
        }
        other => other?,
    };
    run.ended = post.room().clock().now().precise();
    runs.record(&open.dir, &run)?;
    if run.state != State::Again {
        runs.forget_message(id, file);
    }
    runs.close(open);
    drop((slot, right));
    let _ = runs.prune();
    let _ = runs.prune_threads(post.room().clock().now());
    Ok(Outcome::Ran(Box::new(run)))
}

/// What it takes to see one run through.
pub(super) struct Supervisor<'a> {
    pub(super) post: &'a Post,
    pub(super) me: &'a Me,
    pub(super) agent: &'a Agent,
    settings: &'a DispatchSettings,
    pub(super) runs: &'a Runs,
    pub(super) open: &'a Open,
    held: Held,
    pub(super) claimed: Claimed,
    tell: &'a dyn Fn(&Run),
}

impl Supervisor<'_> {
    fn run(&self, run: &mut Run) -> Result<(State, String)> {
        let envelope = &self.claimed.opened.message.envelope;
        if run.attempt > 1 {
            // An attempt before this one may have been killed between its answer and its end.
            match self.post.is_answered(self.me, envelope, self.claimed.opened.time)? {
                Answered::No => {}
                answered => return self.answered(answered),
            }
        }
        if run.attempt > self.agent.settings.retries + 1 {
            let why = format!(
                "it was tried {} times, and nobody saw how the last attempt ended",
                run.attempt.saturating_sub(1)
            );
            return self.give_up(why);
        }
        let refused = self.runs.count(self.me.id.as_str(), &run.thread, self.now(), |counted| {
            guards::refuse(self.settings, counted, envelope)
        })?;
        if let Some(why) = refused {
            return self.give_up(why);
        }
        self.runs.record(&self.open.dir, run)?;
        (self.tell)(run);
        let told = self.start(run);
        // Whatever the agent left behind, wherever it went, is no part of the next run.
        processes::end(&self.open.id, processes::WAITED_FOR);
        if let Some(cost) = run.cost {
            let _ = self.runs.count_cost(self.me.id.as_str(), self.now(), cost);
        }
        match self.post.is_answered(
            self.me,
            envelope,
            Timestamp::parse(&run.started).unwrap_or(self.now()),
        )? {
            Answered::No => {}
            answered => return self.answered(answered),
        }
        let told = told.and_then(|ended| self.judge(&ended));
        let why = match told {
            // An answer needs no answer: two agents would thank each other for ever.
            Ok(_) if envelope.reply_to.is_some() => {
                self.post.done(self.me, &self.held, None)?;
                return Ok((State::Done, String::new()));
            }
            Ok(text) => match self.answer(&text)? {
                Ok(remark) => return Ok((State::Done, remark)),
                Err(why) => why,
            },
            Err(why) => why,
        };
        if run.attempt > self.agent.settings.retries {
            return self.give_up(why);
        }
        let doubled = self.settings.back_off * 2u32.saturating_pow(run.attempt.saturating_sub(1).min(10));
        let wait = doubled + doubled.mul_f64((random::number() % 1000) as f64 / 2000.0);
        self.runs.postpone(self.me.id.as_str(), &run.file, self.now().plus(wait))?;
        self.post.give_back(self.me, &self.held, &why)?;
        Ok((State::Again, why))
    }

    pub(super) fn now(&self) -> Timestamp {
        self.post.room().clock().now()
    }

    /// Ends a run whose message has its answer already.
    fn answered(&self, answered: Answered) -> Result<(State, String)> {
        match answered {
            Answered::Failed(why) => self.give_up(why),
            _ => {
                self.post.done(self.me, &self.held, None)?;
                Ok((State::Done, String::new()))
            }
        }
    }

    fn give_up(&self, why: String) -> Result<(State, String)> {
        self.post.fail(self.me, &self.held, &why)?;
        Ok((State::Failed, why))
    }

    /// Sends the answer and ends the message; a remark if nobody could be told, or why it is not done.
    fn answer(&self, text: &str) -> Result<std::result::Result<String, String>> {
        let envelope = &self.claimed.opened.message.envelope;
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
        let letter = Letter { body, extra, id: Some(id), allow_secrets: true, ..Letter::default() };
        match self.post.done(self.me, &self.held, Some(letter)) {
            Ok(Some(Receipt { outcome: Delivery::Failed(Error::IdTaken { .. }), .. }))
            | Err(Error::IdTaken { .. }) => {
                self.post.done(self.me, &self.held, None)?;
                Ok(Ok(String::new()))
            }
            // In a tree the message is done by then, and its answer lies in the outbox.
            Ok(Some(Receipt { outcome: Delivery::Failed(e), .. })) if self.me.mailbox.agent().is_some() => {
                Ok(Ok(format!("its answer lies in the outbox: {e}")))
            }
            Ok(Some(Receipt { outcome: Delivery::Failed(e), .. })) => {
                Ok(Err(format!("its answer could not be delivered: {e}")))
            }
            Ok(_) => Ok(Ok(String::new())),
            Err(
                e @ (Error::NoReplyWanted
                | Error::NoSender { .. }
                | Error::NoMailbox { .. }
                | Error::UnknownName { .. }
                | Error::BadName { .. }),
            ) => {
                self.post.done(self.me, &self.held, None)?;
                Ok(Ok(format!("nobody could be answered: {e}")))
            }
            Err(e @ Error::NoClaim { .. }) => Err(e),
            Err(e) => Ok(Err(format!("its answer could not be delivered: {e}"))),
        }
    }

    /// Called while the agent lives: keeps the record and the lease up to date; `false`: the message is not its own any more.
    pub(super) fn keep_up(&self, run: &mut Run, activity: Option<&str>, renewed: &mut Duration) -> bool {
        if let Some(activity) = activity {
            let activity = crate::message::visible::clip(activity, 200);
            if activity != run.activity {
                run.activity = activity;
                let _ = self.runs.record(&self.open.dir, run);
                (self.tell)(run);
            }
        }
        let now = self.post.room().clock().boot();
        if now.saturating_sub(*renewed) < RENEWAL {
            return true;
        }
        *renewed = now;
        !matches!(self.post.renew(&self.held, LEASE), Err(Error::NoClaim { .. }))
    }
}
