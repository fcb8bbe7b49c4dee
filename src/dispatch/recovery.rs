//! Recovery: the first process that notices a killed supervisor finishes its run.
//!
//! The lock of the run in `open/` is free although its record says that it runs, so nobody waits for its agent. First
//! every process of that run is ended, so that no second copy ever runs beside it. If its message was answered, it is
//! done. If somebody wanted the run to end, it is ended as that request says. Otherwise it goes back at once with its
//! attempt counted, or is given up after the last attempt. Only a claim
//! whose terms name the run is touched, never one that somebody made by hand. If a recovery is killed, the next one
//! repeats it.

use super::ending::Ending;
use super::guards;
use super::parked::STOPPED;
use super::runs::{Run, RunState, Runs};
use super::stop::{StopRequest, Then};
use super::supervisor::LEASE;
use super::worktree;
use crate::mailbox::Folder;
use crate::mailbox::lock::Hold;
use crate::os::Supervisor;
use crate::post::{Answered, Error, Held, Me, Post, Result, SET_BACK};
use crate::process::marked;

/// The reason recorded for a run whose end nobody saw.
const KILLED: &str = "its supervisor was killed";

/// Held by the process that looks for dead supervisors.
const TURN: &str = "recovery.lock";

/// The result of a recovery.
#[derive(Debug, Default)]
pub struct Recovered {
    pub runs: Vec<Run>,
    /// A process cannot be ended, so its agent's place is still taken.
    pub stuck: bool,
    /// Agents whose run could not be finished now, and why; the next recovery tries again.
    pub faults: Vec<(String, String)>,
}

/// Finishes all runs whose supervisors are dead, or those of one mailbox.
pub fn recover(post: &Post, runs: &Runs, mailbox: Option<&str>) -> Result<Recovered> {
    let mut recovered = Recovered::default();
    // One at a time: a lock held by another recovery would look like a living supervisor, and the agent would get a
    // second run beside the one being ended. A caller with a message to start waits for the lock; one that only looks
    // skips the recovery.
    let _turn = match mailbox {
        Some(_) => runs.dir.lock(TURN)?,
        None => match runs.dir.try_lock(TURN, Hold::Alone)? {
            Some(turn) => turn,
            None => return Ok(recovered),
        },
    };
    for id in runs.open_ids()? {
        let Some(lock) = runs.dir.sub("open")?.try_left_lock(&id)? else { continue };
        let Some(mut run) = runs.get(&id)? else {
            // It was killed before it recorded anything, or its record was deleted by hand while its agent worked. Nobody
            // knows whose agent that is.
            match marked::end(&id, Supervisor::Dead, || runs.dir_of(&id)) {
                true => runs.forget_open(&id),
                false => recovered.stuck = true,
            }
            continue;
        };
        if mailbox.is_some_and(|mailbox| mailbox != run.mailbox) {
            continue;
        }
        if run.state == RunState::Running {
            if run.why.is_empty() {
                run.why = runs.noted_reason(&id).unwrap_or_default();
            }
            if !marked::end(&id, Supervisor::Dead, || runs.dir_of(&id)) {
                recovered.stuck = true;
                continue;
            }
            match finish(post, runs, &run) {
                Ok(ending) => (run.state, run.why) = (ending.state, ending.why),
                Err(e) => {
                    recovered.faults.push((run.agent, e.to_string()));
                    continue;
                }
            }
            settle(post, &mut run);
            run.ended = post.room().clock().now().precise();
            if let Err(e) = runs.dir_of(&id).and_then(|dir| runs.record(&dir, &run)) {
                recovered.faults.push((run.agent, e.to_string()));
                continue;
            }
            recovered.runs.push(run);
        }
        runs.forget_open(&id);
        drop(lock);
    }
    Ok(recovered)
}

/// Commits what the agent of a dead run left in its worktree, or removes it. It is never a reason not to finish the run.
fn settle(post: &Post, run: &mut Run) {
    let (Some(state), clock) = (post.worktrees(), post.room().clock()) else { return };
    let settled = worktree::settle_left(state, run.worktree.as_ref(), &run.id, clock);
    run.worktree = settled.or_else(|| run.worktree.take());
}

/// Moves the messages of a dead run to the state they belong in.
fn finish(post: &Post, runs: &Runs, run: &Run) -> Result<Ending> {
    let me = match post.act_as(&run.mailbox) {
        Err(Error::UnknownName { .. } | Error::NoMailbox { .. } | Error::NoPlace { .. }) => {
            return Ok(Ending::failed(format!("{}, and its mailbox is gone", reason(run))));
        }
        other => other?,
    };
    let stop = StopRequest::of(&runs.dir_of(&run.id)?)?;
    let (mut ends, mut held) = (vec![], claims_of(post, &me, &run.id)?);
    if stop.is_some() {
        for file in [&run.file].into_iter().chain(&run.also) {
            if !held.iter().any(|held| held.terms.file == *file) {
                held.extend(claim_again(post, runs, &me, file, run)?);
            }
        }
    }
    for held in &held {
        ends.push(finish_one(post, runs, &me, held, run, stop.as_ref())?);
    }
    if ends.is_empty() {
        // It was killed after its message got its final state, or its lease had ended before.
        ends.push(state_of(post, &me, &run.file, reason(run))?);
    }
    Ok(Ending::of_run(ends))
}

fn finish_one(
    post: &Post,
    runs: &Runs,
    me: &Me,
    held: &Held,
    run: &Run,
    stop: Option<&StopRequest>,
) -> Result<Ending> {
    let ended = end_claim(post, runs, me, held, run, stop);
    if stop.is_some()
        && matches!(ended, Err(Error::NoClaim { .. }))
        && let Some(held) = claim_again(post, runs, me, &held.terms.file, run)?
    {
        return end_claim(post, runs, me, &held, run, stop);
    }
    match ended {
        // Its lease ended meanwhile, and another process released it.
        Err(Error::NoClaim { .. }) => state_of(post, me, &held.terms.file, reason(run)),
        other => other,
    }
}

/// Claims a message again whose lease ended, because somebody wanted that it is not tried again. `None` if somebody else has
/// decided about it since.
fn claim_again(post: &Post, runs: &Runs, me: &Me, file: &str, run: &Run) -> Result<Option<Held>> {
    let has_expired = me.mailbox.attempts(file)?.pop().is_some_and(|last| last.how == "expired");
    if !has_expired || post.folder_of(me, file)? != Some(Folder::Inbox) {
        return Ok(None);
    }
    let Some(_right) = runs.message(me.id.as_str(), file)? else { return Ok(None) };
    match post.claim_for_run(me, file, LEASE, &run.id) {
        Ok(Some(claimed)) => post.held(me, &claimed.token.to_string()).map(Some),
        Ok(None) | Err(Error::NoMessage { .. } | Error::NotUnread { .. }) => Ok(None),
        Err(e) => Err(e),
    }
}

fn end_claim(
    post: &Post,
    runs: &Runs,
    me: &Me,
    held: &Held,
    run: &Run,
    stop: Option<&StopRequest>,
) -> Result<Ending> {
    match post.envelope_of(held) {
        Ok(asked) => match post.is_answered(me, &asked, run.began(post.room().clock()).minus(SET_BACK))? {
            Answered::Yes => post.done(me, held, None).map(|_| Ending::done("")),
            Answered::Failed(why) => post.fail(me, held, &why).map(|_| Ending::failed(why)),
            Answered::No => match stop {
                Some(stop) => stopped(post, runs, me, held, &guards::thread(&asked), stop),
                None => again(post, me, held, run),
            },
        },
        Err(e @ Error::Failing { .. }) => Err(e),
        Err(_) => again(post, me, held, run),
    }
}

/// Why a run did not finish: the reason its supervisor recorded, else that it was killed.
fn reason(run: &Run) -> &str {
    if run.why.is_empty() { KILLED } else { &run.why }
}

/// The state of a message whose claim is over, by the folder it is in; `why` if it is not done.
pub(super) fn state_of(post: &Post, me: &Me, file: &str, why: &str) -> Result<Ending> {
    Ok(match post.folder_of(me, file)? {
        Some(Folder::Inbox | Folder::Claimed(_) | Folder::Working) => Ending::again(why),
        Some(Folder::Failed) => Ending::failed(why),
        // Its sender may have taken it back.
        Some(Folder::Archive) => match me
            .mailbox
            .attempts(file)?
            .pop()
            .filter(|last| last.how == "failed" && last.why.starts_with(STOPPED))
        {
            Some(last) => Ending::failed(last.why),
            None => Ending::done(""),
        },
        _ => Ending::done(""),
    })
}

fn again(post: &Post, me: &Me, held: &Held, run: &Run) -> Result<Ending> {
    if held.terms.attempt <= run.retries {
        post.give_back(me, held, reason(run))?;
        return Ok(Ending::again(reason(run)));
    }
    post.fail(me, held, reason(run))?;
    Ok(Ending::failed(reason(run)))
}

/// Ends a message of a run that somebody stopped.
fn stopped(
    post: &Post,
    runs: &Runs,
    me: &Me,
    held: &Held,
    thread: &str,
    stop: &StopRequest,
) -> Result<Ending> {
    let why = stop.reason();
    match stop.then {
        Then::Park => {
            runs.park(me.id.as_str(), &held.terms.file, thread, &why, post.room().clock().now())?;
            post.release(me, held, &why)?;
            Ok(Ending::parked(why))
        }
        Then::GiveUp => post.take_back(me, held, &why).map(|()| Ending::failed(why)),
    }
}

/// The claims of a run that are still held.
fn claims_of(post: &Post, me: &Me, run: &str) -> Result<Vec<Held>> {
    let mut claims = vec![];
    for token in me.mailbox.tokens()? {
        if me.mailbox.terms(token)?.is_some_and(|terms| terms.run == run) {
            match post.held(me, &token.to_string()) {
                Ok(held) => claims.push(held),
                Err(Error::NoClaim { .. }) => {}
                Err(e) => return Err(e),
            }
        }
    }
    Ok(claims)
}
