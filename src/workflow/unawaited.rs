//! Requests that no run waits for any more, so that nobody works on them again.
//!
//! A request that failed has its answer: the failure. Its run ended, or asked again under another id. So a dead letter of a
//! run is never retried alone; `workflow retry` asks again for what failed. A parked request is released only while its
//! run is in progress and waits for it.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::carrier::look_at;
use super::runs::Runs;
use crate::clock::Timestamp;
use crate::dispatch::retriable::Retriable;
use crate::mailbox::Folder;
use crate::message::{Envelope, visible};
use crate::name::MessageId;
use crate::post::line::counted;
use crate::post::{DeadLetter, Post, Result};

/// Requests of one run that are left alone.
#[derive(Debug, PartialEq, Eq)]
pub struct LeftAlone {
    pub run: String,
    pub messages: usize,
    /// Whether the run failed, so that it can be retried as a whole.
    pub can_retry: bool,
    /// The mailboxes that have dead letters of it.
    pub mailboxes: Vec<String>,
}

/// The runs that failed and were not retried since. Their dead letters still wait for a decision.
#[derive(Debug)]
pub struct FailedRuns(HashSet<String>);

impl FailedRuns {
    pub fn look(post: &Post) -> Result<Self> {
        let long_ago = Timestamp::from_parts(0, 0);
        let failed = Runs::existing(post.room())?.map(|runs| runs.failed_since(long_ago)).transpose()?;
        Ok(Self(failed.unwrap_or_default().into_iter().map(|failed| failed.run).collect()))
    }

    /// Whether somebody may want this dead letter: no run sent it, or the run can be retried.
    pub fn may_want(&self, letter: &DeadLetter) -> bool {
        let run = letter.envelope.as_ref().ok().and_then(run_of);
        run.is_none_or(|run| self.0.contains(run))
    }
}

impl fmt::Display for LeftAlone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (messages, run) = (counted(self.messages, "message"), visible::line(&self.run));
        let them = if self.messages == 1 { "it" } else { "them" };
        write!(f, "{messages} of the run {run} left alone: it no longer waits for {them}")
    }
}

/// Leaves out of what is to be retried the requests that no run waits for. Returns them, by run.
pub fn leave_out(post: &Post, chosen: &mut [Retriable]) -> Result<Vec<LeftAlone>> {
    let failed = FailedRuns::look(post)?;
    let mut found: Vec<LeftAlone> = vec![];
    // `mailbox`: that of a dead letter.
    let mut note = |run: &str, mailbox: Option<&str>| {
        let at = found.iter().position(|left| left.run == run).unwrap_or_else(|| {
            let (run, can_retry) = (run.to_owned(), failed.0.contains(run));
            found.push(LeftAlone { run, messages: 0, can_retry, mailboxes: vec![] });
            found.len() - 1
        });
        found[at].messages += 1;
        let known = &mut found[at].mailboxes;
        known.extend(mailbox.filter(|name| !known.iter().any(|known| known == name)).map(str::to_owned));
    };
    let mut open: HashMap<String, Option<HashSet<MessageId>>> = HashMap::new();
    for Retriable { me, letters, parked } in chosen {
        letters.retain(|letter| match letter.envelope.as_ref().ok().and_then(run_of) {
            Some(run) => {
                note(run, Some(me.shown()));
                false
            }
            None => true,
        });
        let mut kept = vec![];
        for one in std::mem::take(parked) {
            let envelope = post.open_in(me, &one.file, Folder::Inbox)?.message.envelope;
            match run_of(&envelope).filter(|run| !is_awaited(post, run, &envelope.id, &mut open)) {
                Some(run) => note(run, None),
                None => kept.push(one),
            }
        }
        *parked = kept;
    }
    Ok(found)
}

/// The run whose request this is.
fn run_of(envelope: &Envelope) -> Option<&str> {
    envelope.extra("workflow").filter(|run| *run == envelope.from.as_str())
}

/// Whether a run waits for the answer to this request. One that cannot be computed may.
fn is_awaited(
    post: &Post,
    run: &str,
    id: &MessageId,
    open: &mut HashMap<String, Option<HashSet<MessageId>>>,
) -> bool {
    let asked = open.entry(run.to_owned()).or_insert_with(|| {
        let runs = Runs::existing(post.room()).ok()??;
        if !runs.is_open(run) {
            return Some(HashSet::new());
        }
        let engine = look_at(post, &runs, run).ok()?;
        Some(engine.open().values().map(|ask| ask.id.clone()).collect())
    });
    asked.as_ref().is_none_or(|asked| asked.contains(id))
}
