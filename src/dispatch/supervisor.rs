//! One run: claim a message, start an agent for it, and send the agent's last words as the answer.
//!
//! A supervisor is a separate process. It holds the locks of its run, renews its lease while the agent lives, and
//! finishes the message, whatever happens to the dispatcher that started it. If it is killed, its lock is free, and the
//! first process that notices finishes the run (recovery.rs).
//!
//! A run has one message, or up to `batch` messages that wait from one sender in one channel. The agent's last words
//! answer the first message that it has not answered itself; the answers to the others refer to that one.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::guards;
use super::project::ProjectOf;
use super::recovery::recover;
use super::runs::{Run, RunState, Runs, key};
use super::stages::Stages;
use super::work::{Job, Work, needs_no_answer};
use super::workplace::StillTrusted;
use super::worktree::RunWorktree;
use crate::mailbox::Folder;
use crate::message::Envelope;
use crate::post::{Error, Me, Post, Result};
use crate::process::marked;
use crate::process::presets::Preset;
use crate::settings::agents::{AgentSettings, DispatchSettings};

/// The duration of a lease; it is renewed while the agent lives.
pub(super) const LEASE: Duration = Duration::from_secs(60);

/// An agent that can be started.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    pub name: String,
    pub settings: Arc<AgentSettings>,
    pub preset: Arc<Preset>,
    pub cwd: Arc<Path>,
    /// The project whose settings define it. `None`: the room's own, or those of a tree.
    pub project: Option<Arc<Path>>,
    /// The whole environment of the process.
    pub environment: Vec<(OsString, OsString)>,
}

/// What a supervisor asks of its caller, because it knows neither workflows nor trust.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "functions have no text")]
pub struct Checks<'a> {
    pub project_of: ProjectOf,
    pub is_trusted: StillTrusted<'a>,
}

/// The outcome of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Another process has it, or all places are taken.
    NotNow,
    Ran(Box<Run>),
}

impl Agent {
    /// The program to start, and its arguments before those of the preset.
    pub fn program(&self) -> Option<(&str, &[String])> {
        match self.settings.command.split_first() {
            Some((program, rest)) => Some((program, rest)),
            None if self.preset.program.is_empty() => None,
            None => Some((&self.preset.program, &[])),
        }
    }
}

/// Gives one message to an agent, and sees it to its end. `tell` gets the run when it begins and at each progress.
pub fn supervise(
    post: &Post,
    me: &Me,
    agent: &Agent,
    settings: &DispatchSettings,
    checks: Checks<'_>,
    file: &str,
    tell: &dyn Fn(&Run),
) -> Result<Outcome> {
    marked::stand_alone();
    let runs = Runs::open(post.room())?;
    let id = me.id.as_str();
    let Some(slot) = runs.slot(id, agent.settings.places())? else { return Ok(Outcome::NotNow) };
    // A place may be free because its supervisor was killed; finish that run before this one begins.
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
        also: vec![],
        thread: String::new(),
        attempt: 0,
        retries: agent.settings.retries,
        started: post.room().clock().now().precise(),
        started_ms: u64::try_from(post.room().clock().boot().as_millis()).unwrap_or(0),
        // Without a boot id, it may have begun at any time.
        boot: post.room().clock().boot_id().unwrap_or_default(),
        ended: String::new(),
        state: RunState::Running,
        why: String::new(),
        activity: String::new(),
        session: String::new(),
        cost: None,
        denied: vec![],
        preset: agent.settings.preset.clone(),
        tokens: None,
        worktree: None,
        is_interrupted: false,
    };
    // Before the claim, which names the run: from then on any process can finish it.
    runs.record(&open.dir, &run)?;
    let first = match post.claim_for_run(me, file, LEASE, &open.id) {
        Ok(Some(claimed)) => Work::new(post, me, claimed, right)?,
        Ok(None) | Err(Error::NoMessage { .. } | Error::NotUnread { .. }) => {
            runs.discard(open);
            return Ok(Outcome::NotNow);
        }
        Err(e) => {
            runs.discard(open);
            return Err(e);
        }
    };
    let envelope = first.envelope();
    run.message = envelope.id.to_string();
    run.from = post.sender_shown(envelope);
    run.thread = guards::thread(envelope);
    run.attempt = first.claimed.terms.attempt;
    let Checks { project_of, is_trusted } = checks;
    let job =
        Job { post, me, agent, settings, project_of, is_trusted, runs: &runs, open: &open, worktree: None };
    let mut work = vec![first];
    take_more(&job, &mut work)?;
    run.also = work[1..].iter().map(|work| work.file().to_owned()).collect();
    let stages = Stages { job: &job, work: &work, tell };
    match stages.see_through(&mut run) {
        Ok(Some(ending)) => {
            (run.state, run.why) = (ending.state, ending.why);
            if run.why.is_empty() {
                run.why = run.worktree.as_ref().and_then(RunWorktree::complaint).unwrap_or_default();
            }
        }
        Ok(None) => {
            drop(work);
            runs.discard(open);
            return Ok(Outcome::NotNow);
        }
        Err(e) => {
            // So that recovery knows why it has to finish this run.
            run.why = format!("its supervisor stopped: {e}");
            if runs.record(&open.dir, &run).is_err() {
                runs.note_reason(&open, &run.why);
            }
            return Err(e);
        }
    }
    run.ended = post.room().clock().now().precise();
    runs.record(&open.dir, &run)?;
    drop(work);
    runs.close(open);
    drop(slot);
    runs.tidy_up(&run.id, post.room().clock().now());
    Ok(Outcome::Ran(Box::new(run)))
}

/// Claims messages that can be handled together with the run's first one: waiting, same sender, same channel.
fn take_more(job: &Job<'_>, work: &mut Vec<Work>) -> Result<()> {
    let most = job.agent.settings.batch;
    if most < 2 {
        return Ok(());
    }
    let (postponed, parked, suspects) = (job.runs.postponed()?, job.runs.parked()?, job.runs.suspects()?);
    let mailbox = job.me.id.as_str();
    // What may have met an outage of its own is tried alone, so that it takes no other with it.
    let is_suspect =
        |file: &str| suspects.iter().any(|suspect| suspect.mailbox == mailbox && suspect.file == file);
    if is_suspect(work[0].file()) {
        return Ok(());
    }
    for file in job.me.mailbox.next(usize::MAX)?.names {
        if work.len() >= most {
            break;
        }
        let name = key(mailbox, &file);
        if postponed.iter().any(|(other, later)| *other == name && later.until > job.now())
            || parked.iter().any(|parked| parked.mailbox == mailbox && parked.file == file)
            || is_suspect(&file)
            || !belongs(job, work[0].envelope(), &file)
        {
            continue;
        }
        let Some(right) = job.runs.message(mailbox, &file)? else { continue };
        match job.post.claim_for_run(job.me, &file, LEASE, &job.open.id) {
            Ok(Some(claimed)) => work.push(Work::new(job.post, job.me, claimed, right)?),
            Ok(None) | Err(Error::NoMessage { .. } | Error::NotUnread { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Whether a waiting message has the same sender and channel, and is answered in the same way.
fn belongs(job: &Job<'_>, one: &Envelope, file: &str) -> bool {
    let limit = job.post.room().limits().body_bytes;
    let Ok(Some(header)) = job.me.mailbox.header(Folder::Inbox, file, limit) else { return false };
    let other = &header.envelope;
    one.from == other.from && one.channel == other.channel && needs_no_answer(one) == needs_no_answer(other)
}
