//! `postroom stop`, `postroom pause` and `postroom resume`.

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::failed::called;
use super::staff;
use crate::dispatch::pausing::{self, Resumed};
use crate::dispatch::queue::{self, Crew};
use crate::dispatch::runs::RunState;
use crate::dispatch::stop::{self, Halted, Stopped};
use crate::hint::{Command, Hint};
use crate::message::visible;
use crate::post::Failure;
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
        let staff = staff::gather(post)?;
        let settings = staff.settings.clone();
        let agents: Vec<_> = staff.agents.into_iter().filter_map(|(agent, id)| Some((agent, id?))).collect();
        let names: Vec<_> = agents.iter().map(|(agent, id)| (agent.name.clone(), id.clone())).collect();
        let Halted { runs: stopped, parked: waiting, already } =
            match stop::stop_meant(post, &names, None, &self.what, &self.why) {
                Err(idle @ stop::Error::Idle { .. }) => return Err(context.nothing(&idle.to_string())),
                Err(over @ stop::Error::Finished { .. }) => {
                    return Err(Fail::Told(over.code(), over.to_string(), vec![]));
                }
                other => other?,
            };
        context.done = true;
        let unanswered = stopped.iter().filter(|stopped| stopped.is_unanswered);
        let document = view::Stopped {
            runs: stopped.iter().map(|stopped| (&stopped.run).into()).collect(),
            unanswered: unanswered.map(|stopped| stopped.run.id.as_str()).collect(),
            parked: &waiting,
        };
        let mut lines = vec![];
        for stopped in &stopped {
            lines.push(line(stopped));
            lines.extend(release(stopped).map(|release| format!("  {}", context.hint(release))));
        }
        for file in &waiting {
            let word = if already.contains(file) { "already parked" } else { "parked" };
            lines.push(format!("{word} {}: nobody works on it now", called(file)));
            lines.push(format!("  {}", context.hint(released(file))));
        }
        context.output.receipt(&document, lines);
        let agent = agents.into_iter().filter(|(agent, _)| agent.name == self.what).collect();
        self.tell_next(
            context,
            queue::look(post, Crew { agents: agent, vacant: vec![], settings })?.messages.len(),
        );
        if stopped.iter().any(|stopped| stopped.is_unanswered) {
            return Err(Fail::Code(Failure::NotDone));
        }
        Ok(())
    }
}

impl Stop {
    /// Says how many messages of a stopped agent can be started next.
    fn tell_next(&self, context: &Context, next: usize) {
        if next > 0 {
            let verb = if next == 1 { "waits" } else { "wait" };
            let hint = Hint::run(&["pause", &self.what]).to("keeps them waiting");
            context.warn(&format!("{next} more {verb} for {}", visible::line(&self.what)), hint);
        }
    }
}

impl From<stop::Error> for Fail {
    fn from(e: stop::Error) -> Self {
        match e {
            stop::Error::Post(e) => Self::Post(e),
            stop::Error::Idle { .. } | stop::Error::Finished { .. } | stop::Error::Unknown { .. } => {
                Self::told(e.code(), e.to_string(), Hint::run(&["runs"]).to("lists runs"))
            }
        }
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
            let also = match run.also.len() {
                0 => "is".to_owned(),
                more => format!("and {more} more are"),
            };
            format!("its message {} {also} parked", called(&run.file))
        }
        RunState::Done => "its message was answered before".to_owned(),
        RunState::Again => format!("its message waits for another attempt: {}", visible::line(&run.why)),
        RunState::Failed => format!("its message failed: {}", visible::line(&run.why)),
        RunState::Running => "it still runs".to_owned(),
    };
    format!("stopped {} ({}): {what}", run.id, visible::line(&run.agent))
}

/// The command that releases the parked message of a run.
pub(super) fn release(stopped: &Stopped) -> Option<Command> {
    let is_parked = stopped.run.state == RunState::Parked && !stopped.is_unanswered;
    is_parked.then(|| released(&stopped.run.file))
}

fn released(file: &str) -> Command {
    Hint::run(&["failed", "retry", &called(file)]).to("starts it again")
}

/// Keep an agent from being started
///
/// What runs goes on, and mail waits until `postroom resume AGENT`.
#[derive(Debug, Args)]
pub(super) struct Pause {
    agent: String,
    /// Why, for those who wonder; an agent that is paused already keeps its reason unless one is given
    #[arg(long, short = 'm', value_name = "TEXT")]
    why: Option<String>,
}

impl Verb for Pause {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let post = context.project_post()?;
        let pauses = pausing::pause(post, &self.agent, self.why.as_deref().unwrap_or_default())?;
        context.done = true;
        let name = visible::line(&self.agent);
        let resume = context.hint(Hint::run(&["resume", &self.agent]).to("starts it again"));
        let lines = [format!("paused {name}: its mail waits"), format!("  {resume}")];
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
        let Resumed { was_paused: was, left: pauses } = pausing::resume(post, &self.agent)?;
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
