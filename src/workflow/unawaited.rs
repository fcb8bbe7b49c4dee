//! Requests that no run waits for any more, so that nobody works on them again.
//!
//! A request that failed has its answer: the failure. Its run ended, or asked again under another id. So a dead letter of a
//! run is never retried alone; `workflow retry` asks again for what failed. A parked request is released only while its
//! run is in progress and waits for it.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::carrier::look_at;
use super::runs::Runs;
use crate::dispatch::retriable::Retriable;
use crate::mailbox::Folder;
use crate::message::{Envelope, visible};
use crate::name::MessageId;
use crate::post::line::counted;
use crate::post::{Post, Result};

/// Requests of one run that are left alone.
#[derive(Debug, PartialEq, Eq)]
pub struct LeftAlone {
    pub run: String,
    pub messages: usize,
    /// Whether the run has ended and can be retried as a whole.
    pub can_retry: bool,
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
    let mut found: Vec<(String, usize)> = vec![];
    let mut note = |run: &str| match found.iter_mut().find(|(known, _)| known == run) {
        Some((_, messages)) => *messages += 1,
        None => found.push((run.to_owned(), 1)),
    };
    let mut open: HashMap<String, Option<HashSet<MessageId>>> = HashMap::new();
    for Retriable { me, letters, parked } in chosen {
        letters.retain(|letter| match letter.envelope.as_ref().ok().and_then(run_of) {
            Some(run) => {
                note(run);
                false
            }
            None => true,
        });
        let mut kept = vec![];
        for one in std::mem::take(parked) {
            let envelope = post.open_in(me, &one.file, Folder::Inbox)?.message.envelope;
            match run_of(&envelope).filter(|run| !is_awaited(post, run, &envelope.id, &mut open)) {
                Some(run) => note(run),
                None => kept.push(one),
            }
        }
        *parked = kept;
    }
    let runs = Runs::existing(post.room())?;
    let can_retry = |run: &str| {
        runs.as_ref().is_some_and(|runs| !runs.is_open(run) && matches!(runs.is_kept(run), Ok(true)))
    };
    let left = |(run, messages): (String, usize)| LeftAlone { can_retry: can_retry(&run), run, messages };
    Ok(found.into_iter().map(left).collect())
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
