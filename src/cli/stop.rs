//! `postroom stop`, `postroom pause` and `postroom resume`.

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::staff;
use crate::dispatch::guards;
use crate::dispatch::paused::{Pause as Record, PauseKind};
use crate::dispatch::runs::{Run, RunState, Runs};
use crate::dispatch::stop::{StopRequest, Stopped, Then, stop};
use crate::hint::Hint;
use crate::mailbox::Folder;
use crate::message::visible;
use crate::name::MailboxId;
use crate::post::{Error, Failure, Post};
use crate::view::stop as view;

/// Stop what an agent is doing
///
/// Ends the agent with everything that it started. Its message is parked: it stays unread and starts no agent until a
/// person says `postroom failed retry`. A message that was not started yet is parked too.
#[derive(Debug, Args)]
pub(super) struct Stop {
    /// A run or a message, by its id, or an agent
    #[arg(value_name = "RUN|MESSAGE|AGENT")]
    what: String,
    /// Why, for the record
    #[arg(long, short = 'm', value_name = "TEXT", default_value = "by hand")]
    why: String,
}

impl Verb for Stop {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let post = context.project_post()?;
        let agents = agents(post)?;
        let request = StopRequest::new(&self.why, Then::Park);
        let running = Runs::open(post.room())?.running()?;
        let wanted = |run: &Run| self.is_meant(run, &agents);
        let waiting = match running.iter().any(wanted) {
            true => vec![],
            false => self.park_waiting(post, &agents)?,
        };
        let stopped = stop(post, wanted, &request)?;
        if stopped.is_empty() && waiting.is_empty() {
            let is_agent = agents.iter().any(|(name, _)| *name == self.what);
            if is_agent {
                return Err(context.nothing(&format!("{} does nothing", visible::line(&self.what))));
            }
            let why = format!("no run, message or agent is called `{}`", visible::clip(&self.what, 60));
            return Err(Fail::unknown(why, Hint::run(&["runs"]).to("lists runs")));
        }
        context.done = true;
        let unanswered = stopped.iter().filter(|stopped| stopped.is_unanswered);
        let document = view::Stopped {
            runs: stopped.iter().map(|stopped| (&stopped.run).into()).collect(),
            unanswered: unanswered.map(|stopped| stopped.run.id.as_str()).collect(),
            parked: &waiting,
        };
        let lines = stopped.iter().map(line).chain(waiting.iter().map(|file| {
            format!(
                "parked {}: it had not been started; postroom failed retry releases it",
                visible::line(file)
            )
        }));
        context.output.receipt(&document, lines);
        if stopped.iter().any(|stopped| stopped.is_unanswered) {
            return Err(Fail::Code(Failure::NotDone));
        }
        Ok(())
    }
}

impl Stop {
    fn is_meant(&self, run: &Run, agents: &[(String, MailboxId)]) -> bool {
        let what = self.what.as_str();
        let is_agent = agents.iter().any(|(name, id)| name == what && id.as_str() == run.mailbox);
        // Ids of runs begin with the time, so only their ends tell them apart; a message is called by its beginning.
        let is_message = what.len() >= 4 && run.message.starts_with(what);
        is_agent
            || run.agent == what
            || run.id.ends_with(what) && what.len() >= 4
            || is_message
            || run.id == what
    }

    /// Parks a message of this id that waits for an agent; returns its file.
    fn park_waiting(&self, post: &Post, agents: &[(String, MailboxId)]) -> Result<Vec<String>, Fail> {
        let runs = Runs::open(post.room())?;
        let mut parked = vec![];
        for (name, id) in agents {
            if *name == self.what {
                return Ok(vec![]);
            }
            let me = post.other(id)?;
            let found = match post.open_in(&me, &self.what, Folder::Inbox) {
                Ok(found) => found,
                Err(e @ (Error::Disk(_) | Error::Failing { .. } | Error::Room(_))) => return Err(e.into()),
                Err(_) => continue,
            };
            let thread = guards::thread(&found.message.envelope);
            let why = format!("stopped: {}", visible::clip(&self.why, 400));
            runs.park(id.as_str(), &found.name, &thread, &why, post.room().clock().now())?;
            parked.push(found.name);
        }
        Ok(parked)
    }
}

/// What became of a run, in words.
pub(super) fn line(stopped: &Stopped) -> String {
    let run = &stopped.run;
    let what = match run.state {
        _ if stopped.is_unanswered => {
            "its agent is ended; its supervisor does not answer, and ends the message when it does".to_owned()
        }
        RunState::Parked => {
            format!(
                "its message {} is parked; postroom failed retry starts it again",
                visible::line(&run.message)
            )
        }
        RunState::Done => "its message was answered before".to_owned(),
        RunState::Again => format!("its message waits for another attempt: {}", visible::line(&run.why)),
        RunState::Failed => format!("its message failed: {}", visible::line(&run.why)),
        RunState::Running => "it still runs".to_owned(),
    };
    format!("stopped {} ({}): {what}", run.id, visible::line(&run.agent))
}

/// Keep an agent from being started
///
/// What runs goes on, and mail waits until `postroom resume AGENT`.
#[derive(Debug, Args)]
pub(super) struct Pause {
    agent: String,
    /// Why, for those who wonder
    #[arg(long, short = 'm', value_name = "TEXT", default_value = "by hand")]
    why: String,
}

impl Verb for Pause {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let post = context.project_post()?;
        let id = mailbox(post, &self.agent)?;
        post.room().may_write().map_err(Error::from)?;
        let runs = Runs::open(post.room())?;
        let now = post.room().clock().now();
        let why = visible::clip(&self.why, 400);
        runs.pause(id.as_str(), &Record::new(PauseKind::Person, &self.agent, &why, now, None))?;
        context.done = true;
        let pauses = runs.pauses(id.as_str(), now)?;
        let name = visible::line(&self.agent);
        let lines = [format!("paused {name}: its mail waits until postroom resume {name}")];
        context.output.receipt(
            &view::Paused { agent: &self.agent, paused: pauses.iter().map(view::Pause::of).collect() },
            lines,
        );
        Ok(())
    }
}

/// Let a paused agent be started again
///
/// Also tries at once after an outage. A limit (`hour_runs`, `day_cost`) is not lifted.
#[derive(Debug, Args)]
pub(super) struct Resume {
    agent: String,
}

impl Verb for Resume {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let post = context.project_post()?;
        let id = mailbox(post, &self.agent)?;
        post.room().may_write().map_err(Error::from)?;
        let runs = Runs::open(post.room())?;
        let now = post.room().clock().now();
        let by_person = runs.pause_of(id.as_str(), PauseKind::Person)?.is_some();
        if by_person {
            // A person's word is a person's.
            post.person(&self.agent)?;
        }
        let mut was = runs.unpause(id.as_str(), PauseKind::Person)?;
        was |= runs.probe_now(id.as_str(), now)?;
        let pauses = runs.pauses(id.as_str(), now)?;
        context.done = true;
        let name = visible::line(&self.agent);
        let said = if was { format!("resumed {name}") } else { format!("{name} was not paused") };
        let left = pauses.iter().map(|pause| format!("{name} {}", visible::line(&pause.line())));
        let document =
            view::Paused { agent: &self.agent, paused: pauses.iter().map(view::Pause::of).collect() };
        context.output.receipt(&document, [said].into_iter().chain(left));
        Ok(())
    }
}

/// The agents of the room that have a mailbox.
fn agents(post: &Post) -> Result<Vec<(String, MailboxId)>, Fail> {
    let staff = staff::gather(post)?;
    Ok(staff.agents.into_iter().filter_map(|(agent, id)| Some((agent.name, id?))).collect())
}

/// The mailbox of an agent. An agent that is not configured now may be paused too.
fn mailbox(post: &Post, name: &str) -> Result<MailboxId, Fail> {
    Ok(post.addressee(name)?)
}
