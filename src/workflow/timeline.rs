//! The timeline of a run: when each item of a step was asked, when work on it began, and when its answer came. It is read from
//! the mail of the run and its notes; what neither tells is left out.

use std::time::Duration;

use super::engine::{AskKind, Engine};
use super::runs::Runs;
use crate::clock::Timestamp;
use crate::dispatch::chosen::RunFilter;
use crate::dispatch::runs::Run as Work;
use crate::mailbox::Folder;
use crate::name::{MailboxId, MessageId};
use crate::post::{Post, Result};

/// One item of a step, in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    pub step: usize,
    pub item: usize,
    pub agent: String,
    /// The message that asked.
    pub request: MessageId,
    pub asked: Timestamp,
    /// When an agent began to work on it.
    pub began: Option<Timestamp>,
    /// `None` while it is open.
    pub ended: Option<Timestamp>,
    pub has_failed: bool,
}

impl Bar {
    /// How long it waited until work on it began. If nobody saw that, it waited until its end.
    pub fn waited(&self, now: Timestamp) -> Duration {
        let end = self.ended.unwrap_or(now);
        self.began.unwrap_or(end).min(end).since(self.asked)
    }

    /// How long it was worked on. `None` if nobody saw the work begin.
    pub fn worked(&self, now: Timestamp) -> Option<Duration> {
        Some(self.ended.unwrap_or(now).since(self.began?.max(self.asked)))
    }
}

/// The newest runs of agents among which those for a run of a workflow are looked for.
const WORKS: usize = 200;

/// The runs of agents since a run of a workflow was started.
pub fn works_since(post: &Post, since: Option<Timestamp>) -> Result<Vec<Work>> {
    let filter = RunFilter { agent: None, failed: false, since, before: None, limit: WORKS };
    let works = crate::dispatch::runs::Runs::existing(post.room())?.map(|works| works.chosen(&filter));
    Ok(works.transpose()?.unwrap_or_default())
}

/// The last run of an agent for a step.
pub fn last_work(post: &Post, runs: &Runs, run: &str, engine: &Engine, step: usize) -> Result<Option<Work>> {
    let since = runs.record(run).and_then(|record| Timestamp::parse(&record.started));
    let requests = engine.last_requests(step);
    let is_for_it = |work: &Work| requests.iter().any(|request| request.as_str() == work.message);
    Ok(works_since(post, since)?.into_iter().rev().find(is_for_it))
}

/// The bars of a run, in order of time. `works`: runs of agents among which those for this run may be; they tell when work
/// began, which the run itself notes only for steps with a time limit.
pub fn timeline(post: &Post, runs: &Runs, run: &str, engine: &Engine, works: &[Work]) -> Result<Vec<Bar>> {
    let (sent, noted) = (runs.sent(run)?, runs.begun(run)?);
    let began = |id: &MessageId| {
        // The last attempt is the one that was answered.
        let work = works.iter().rev().find(|work| work.message == id.as_str());
        noted.get(id).copied().or_else(|| Timestamp::parse(&work?.started))
    };
    let mut bars = vec![];
    for ask in engine.open().values() {
        if let Some(asked) = sent.get(&ask.id) {
            let items = &engine.steps()[ask.step].items;
            bars.push(Bar {
                step: ask.step,
                item: ask.item,
                agent: match &ask.kind {
                    AskKind::Approval { by, .. } => by.clone(),
                    AskKind::Work { .. } | AskKind::Command { .. } => {
                        items.get(ask.item).map(|item| item.agent.clone()).unwrap_or_default()
                    }
                },
                request: ask.id.clone(),
                asked: *asked,
                began: began(&ask.id),
                ended: None,
                has_failed: false,
            });
        }
    }
    let Ok(id) = MailboxId::parse(run) else { return Ok(bars) };
    let me = post.other(&id)?;
    for (step, state) in engine.steps().iter().enumerate() {
        for (index, item) in state.items.iter().enumerate().filter(|(_, item)| !item.file.is_empty()) {
            let Some(header) = post.header_if_message(&me.mailbox, Folder::Archive, &item.file)? else {
                continue;
            };
            let asked = header.envelope.reply_to.as_ref();
            let Some((asked, id)) = asked.and_then(|id| Some((*sent.get(id)?, id))) else { continue };
            bars.push(Bar {
                step,
                item: index,
                agent: item.agent.clone(),
                request: id.clone(),
                asked,
                began: began(id),
                ended: Some(header.time.max(asked)),
                has_failed: matches!(item.outcome, Some(Err(_))),
            });
        }
    }
    bars.sort_by_key(|bar| (bar.asked, bar.step, bar.item));
    Ok(bars)
}
