//! Stopping runs: ends an agent with everything that it started, and says what becomes of its messages.
//!
//! ```text
//! .dispatch/runs/<run>/stop   {"v":1,"why":…,"then":"park"}: somebody wants this run to end
//! ```
//!
//! The supervisor of the run sees the file, ends its agent, and ends each message as the request says. If the supervisor is
//! dead, recovery does both. If it does not answer, the agent's processes are ended from here, and the supervisor
//! finishes its messages when it goes on. An answer that was sent before counts. A message that was not started yet is
//! parked.

use std::collections::HashSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use thiserror::Error as ThisError;

use super::guards;
use super::parked::{STOPPED, STOPPED_BY_AGENT};
use super::recovery::recover;
use super::runs::{Run, RunState, Runs};
use crate::clock::Timestamp;
use crate::mailbox::fault::Result as DiskResult;
use crate::mailbox::reading::Header;
use crate::mailbox::{Dir, Folder, pause};
use crate::message::visible;
use crate::name::MailboxId;
use crate::os::Supervisor;
use crate::post::{self, Answered, Failure, Opened, Post, Result};
use crate::process::marked;

const FILE: &str = "stop";
const LIMIT: u64 = 64 * 1024;

/// The shortest part of an id that names a run or a message.
const SHORTEST: usize = 4;

/// How long a supervisor may take to end its agent before the agent is ended from here, and afterwards.
const PATIENCE: Duration = Duration::from_secs(12);
const AFTERWARDS: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(20);

/// What becomes of the messages of a stopped run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// They are parked for a person.
    Park,
    /// They are taken back for the sender, who wanted the stop.
    GiveUp,
}

/// The wish that a run ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopRequest {
    v: u32,
    pub why: String,
    pub then: Then,
    /// An agent wanted it, so no person knows that the messages wait.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    by_agent: bool,
}

impl StopRequest {
    pub fn new(why: &str, then: Then) -> Self {
        Self { v: 1, why: visible::clip(why, 400), then, by_agent: false }
    }

    /// Why the messages are parked or taken back.
    pub(super) fn reason(&self) -> String {
        format!("{}{}", if self.by_agent { STOPPED_BY_AGENT } else { STOPPED }, self.why)
    }

    /// The request in the directory of a run, if there is one.
    pub(super) fn of(dir: &Dir) -> DiskResult<Option<Self>> {
        Ok(dir.read(FILE, LIMIT)?.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }
}

/// A run that was asked to end.
#[derive(Debug)]
pub struct Stopped {
    /// As it is recorded now: how it ended, and why.
    pub run: Run,
    /// Its agent is ended, but its supervisor does not answer, so its message has no final state yet.
    pub is_unanswered: bool,
}

/// What [`stop_meant`] stopped.
#[derive(Debug)]
pub struct Halted {
    pub runs: Vec<Stopped>,
    /// Files of messages that were waiting and are parked.
    pub parked: Vec<String>,
    /// Those of them that were parked before; they keep their reason.
    pub already: Vec<String>,
}

/// Why nothing was stopped.
#[derive(Debug, ThisError)]
pub enum Error {
    #[error("{} does nothing", visible::line(.agent))]
    Idle { agent: String },
    #[error("the message `{}` {how}", visible::clip(.what, 60))]
    Finished { what: String, how: &'static str },
    #[error("no run, message or agent is called `{}`", visible::clip(.what, 60))]
    Unknown { what: String },
    #[error(transparent)]
    Post(#[from] post::Error),
}

impl Error {
    pub fn code(&self) -> Failure {
        match self {
            Self::Idle { .. } | Self::Finished { .. } => Failure::Nothing,
            Self::Unknown { .. } => Failure::Unknown,
            Self::Post(e) => e.code(),
        }
    }
}

/// Stops what is called so: a run by the end of its id, a message by the beginning of its id, or an agent. A message that
/// waits for one of these agents is parked. `mailbox`: only what is done or waits there, because a message to several
/// mailboxes has one id in all of them.
pub fn stop_meant(
    post: &Post,
    agents: &[(String, MailboxId)],
    mailbox: Option<&MailboxId>,
    what: &str,
    why: &str,
) -> std::result::Result<Halted, Error> {
    let runs = Runs::open(post.room()).map_err(post::Error::from)?;
    let agents: Vec<(String, MailboxId)> =
        agents.iter().filter(|(_, id)| mailbox.is_none_or(|mailbox| mailbox == id)).cloned().collect();
    let agents = agents.as_slice();
    let meant = || {
        let mut running = runs.running()?;
        running.retain(|run| mailbox.is_none_or(|mailbox| mailbox.as_str() == run.mailbox));
        meant(post, &running, agents, what)
    };
    let request = StopRequest { by_agent: post.is_by_agent(), ..StopRequest::new(why, Then::Park) };
    let (mut parked, mut already) = (vec![], vec![]);
    if meant()?.is_empty() {
        (parked, already) = park_waiting(post, &runs, agents, what, &request)?;
    }
    // Once more, because a run may have taken the message meanwhile.
    let wanted = meant()?;
    let stopped = stop(post, |run| wanted.contains(&run.id), &request)?;
    if !stopped.is_empty() || !parked.is_empty() {
        return Ok(Halted { runs: stopped, parked, already });
    }
    let how = finished(post, agents, what)?;
    let what = what.to_owned();
    Err(match how {
        _ if agents.iter().any(|(name, _)| *name == what) => Error::Idle { agent: what },
        Some(how) => Error::Finished { what, how },
        None => Error::Unknown { what },
    })
}

/// The ids of the runs that are meant.
fn meant(
    post: &Post,
    running: &[Run],
    agents: &[(String, MailboxId)],
    what: &str,
) -> Result<HashSet<String>> {
    let mut found: HashSet<String> =
        running.iter().filter(|run| is_meant(run, what, agents)).map(|run| run.id.clone()).collect();
    // A later message of a batch is known by its file alone, and so is that of a run that has just claimed it.
    let is_unnamed = |run: &&Run| !run.also.is_empty() || run.message.is_empty();
    for run in running.iter().filter(|run| is_unnamed(run) && what.len() >= SHORTEST) {
        let Ok(id) = MailboxId::parse(&run.mailbox) else { continue };
        let mailbox = post.mailbox(&id)?;
        for token in mailbox.tokens()? {
            let Some(terms) = mailbox.terms(token)?.filter(|terms| terms.run == run.id) else { continue };
            let header = post.header(&mailbox, Folder::Claimed(token), &terms.file).ok().flatten();
            let is_it = |header: Header| header.envelope.id.as_str().starts_with(what);
            if terms.file == what || header.is_some_and(is_it) {
                found.insert(run.id.clone());
            }
        }
    }
    Ok(found)
}

fn is_meant(run: &Run, what: &str, agents: &[(String, MailboxId)]) -> bool {
    let is_agent = agents.iter().any(|(name, id)| name == what && id.as_str() == run.mailbox);
    // Ids of runs begin with the time, so only their ends tell them apart; a message is called by its beginning.
    let is_long = what.len() >= SHORTEST;
    let is_message = is_long && run.message.starts_with(what) || run.file == what;
    is_agent || run.agent == what || run.id.ends_with(what) && is_long || is_message || run.id == what
}

/// How a message of this id ended, in words. `None` if there is none.
fn finished(post: &Post, agents: &[(String, MailboxId)], what: &str) -> Result<Option<&'static str>> {
    for (_, id) in agents {
        let me = post.other(id)?;
        if let Some(found) = unless_unknown(post.open_in(&me, what, Folder::Archive))? {
            let long_ago = Timestamp::from_parts(0, 0);
            let answered = post.is_answered(&me, &found.message.envelope, long_ago)?;
            return Ok(Some(if answered == Answered::Yes {
                "is already answered"
            } else {
                "is already done"
            }));
        }
        if unless_unknown(post.open_in(&me, what, Folder::Failed))?.is_some() {
            return Ok(Some("was already given up"));
        }
    }
    Ok(None)
}

/// What was found; `None` if nothing is called so. An error of the disk is an error.
fn unless_unknown(found: Result<Opened>) -> Result<Option<Opened>> {
    match found {
        Err(e @ (post::Error::Disk(_) | post::Error::Failing { .. } | post::Error::Room(_))) => Err(e),
        other => Ok(other.ok()),
    }
}

/// Parks a message of this id that waits for an agent. Returns its file, and the file again if it was parked before.
fn park_waiting(
    post: &Post,
    runs: &Runs,
    agents: &[(String, MailboxId)],
    what: &str,
    request: &StopRequest,
) -> Result<(Vec<String>, Vec<String>)> {
    let (mut parked, mut already) = (vec![], vec![]);
    if agents.iter().any(|(name, _)| name == what) {
        return Ok((parked, already));
    }
    let known = runs.parked()?;
    for (_, id) in agents {
        let me = post.other(id)?;
        let Some(found) = unless_unknown(post.open_in(&me, what, Folder::Inbox))? else { continue };
        if known.iter().any(|one| one.mailbox == id.as_str() && one.file == found.name) {
            already.push(found.name.clone());
        } else {
            let thread = guards::thread(&found.message.envelope);
            runs.park(id.as_str(), &found.name, &thread, &request.reason(), post.room().clock().now())?;
        }
        parked.push(found.name);
    }
    Ok((parked, already))
}

/// Stops every run that is wanted, and waits until each has ended.
pub fn stop(post: &Post, wanted: impl Fn(&Run) -> bool, request: &StopRequest) -> Result<Vec<Stopped>> {
    let asked = ask(post, wanted, request)?;
    let Some(runs) = Runs::existing(post.room())? else { return Ok(vec![]) };
    asked.into_iter().map(|run| see_end(post, &runs, run)).collect()
}

/// Asks every run that is wanted to end, and does not wait: for a caller that has other work to do. Returns those runs.
pub fn ask(post: &Post, wanted: impl Fn(&Run) -> bool, request: &StopRequest) -> Result<Vec<Run>> {
    post.room().may_write()?;
    let Some(runs) = Runs::existing(post.room())? else { return Ok(vec![]) };
    let mut asked = vec![];
    for run in runs.running()? {
        if wanted(&run) {
            let text = serde_json::to_vec(request).unwrap_or_default();
            runs.dir_of(&run.id)?.replace(FILE, &text)?;
            asked.push(run);
        }
    }
    Ok(asked)
}

fn see_end(post: &Post, runs: &Runs, mut run: Run) -> Result<Stopped> {
    let clock = post.room().clock();
    let (start, mut looked, mut ended_here) = (clock.boot(), Duration::ZERO, false);
    loop {
        match runs.get(&run.id)? {
            Some(now) => run = now,
            // Its record was removed as one of too many.
            None => return Ok(Stopped { run, is_unanswered: false }),
        }
        if run.state != RunState::Running {
            return Ok(Stopped { run, is_unanswered: false });
        }
        let waited = clock.boot().saturating_sub(start);
        if waited >= looked {
            // Its supervisor may be dead.
            recover(post, runs, Some(&run.mailbox))?;
            looked = waited + Duration::from_secs(1);
        }
        if waited >= PATIENCE && !ended_here {
            marked::end(&run.id, Supervisor::Lives, || runs.dir_of(&run.id));
            ended_here = true;
        }
        if waited >= PATIENCE + AFTERWARDS {
            return Ok(Stopped { run, is_unanswered: true });
        }
        pause(STEP);
    }
}

impl Runs {
    /// The runs that have not ended, as far as their records say.
    pub fn running(&self) -> DiskResult<Vec<Run>> {
        let mut running = vec![];
        for id in self.open_ids()? {
            running.extend(self.get(&id)?.filter(|run| run.state == RunState::Running));
        }
        running.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(running)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::SystemClock;
    use crate::post::{Caller, Letter, NewMailbox};

    #[test]
    fn a_waiting_message_is_parked_and_who_does_nothing_is_told_so() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("room");
        let open = |caller| Post::open_or_make(&path, caller, Arc::new(SystemClock)).unwrap();
        for name in ["alice", "coder"] {
            let wanted = NewMailbox { name: Some(name.into()), ..NewMailbox::default() };
            open(Caller::default()).setup(&wanted).unwrap();
        }
        let post = open(Caller { flag: Some("alice".into()), ..Caller::default() });
        let agents = [("coder".to_owned(), post.addressee("coder").unwrap())];
        let letter = Letter { to: vec!["coder".into()], body: "x".into(), ..Letter::default() };
        let sent = post.send(&post.me().unwrap(), &letter).unwrap();
        let stop = |what: &str| stop_meant(&post, &agents, None, what, "enough");

        assert!(matches!(stop("coder"), Err(Error::Idle { agent }) if agent == "coder"));
        assert!(matches!(stop("f00dface"), Err(Error::Unknown { .. })));
        let halted = stop(&sent[0].id.as_str()[..8]).unwrap();
        assert!(halted.runs.is_empty() && halted.already.is_empty());
        let parked = Runs::open(post.room()).unwrap().parked().unwrap();
        let parked: Vec<(&str, &str)> =
            parked.iter().map(|one| (one.file.as_str(), one.why.as_str())).collect();
        assert_eq!(parked, [(halted.parked[0].as_str(), "stopped: enough")]);
        let again = stop_meant(&post, &agents, None, &sent[0].id.as_str()[..8], "again").unwrap();
        assert_eq!((&again.parked, &again.already), (&halted.parked, &halted.parked));
        assert_eq!(Runs::open(post.room()).unwrap().parked().unwrap()[0].why, "stopped: enough");

        let coder = post.other(&agents[0].1).unwrap();
        let filter = post::Filter::default();
        let claimed = post.claim(&coder, None, None, &filter, post::LEASE).unwrap().0.unwrap();
        let held = post.held(&coder, &claimed.token.to_string()).unwrap();
        let reply = Letter { body: "y".into(), ..Letter::default() };
        post.done(&coder, &held, Some(reply)).unwrap();
        let how = stop(&sent[0].id.as_str()[..8]).unwrap_err().to_string();
        assert!(how.ends_with("is already answered"), "{how}");
    }

    #[test]
    fn of_a_message_to_several_mailboxes_one_copy_is_parked() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("room");
        let open = |caller| Post::open_or_make(&path, caller, Arc::new(SystemClock)).unwrap();
        for name in ["alice", "coder", "tester"] {
            let wanted = NewMailbox { name: Some(name.into()), ..NewMailbox::default() };
            open(Caller::default()).setup(&wanted).unwrap();
        }
        let post = open(Caller { flag: Some("alice".into()), ..Caller::default() });
        let agents = ["coder", "tester"].map(|name| (name.to_owned(), post.addressee(name).unwrap()));
        let to = vec!["coder".into(), "tester".into()];
        let sent =
            post.send(&post.me().unwrap(), &Letter { to, body: "x".into(), ..Letter::default() }).unwrap();
        stop_meant(&post, &agents, Some(&agents[1].1), sent[0].id.as_str(), "enough").unwrap();
        let parked = Runs::open(post.room()).unwrap().parked().unwrap();
        let parked: Vec<&str> = parked.iter().map(|one| one.mailbox.as_str()).collect();
        assert_eq!(parked, [agents[1].1.as_str()]);
    }
}
