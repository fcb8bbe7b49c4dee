//! Runs of agents: the events of `dispatch`, and the records of `runs`.

use serde::Serialize;

use super::Versioned;
use crate::clock::Timestamp;
use crate::dispatch::dispatcher;
use crate::dispatch::runs;
use crate::dispatch::worktree::RunWorktree;
use crate::workflow::carrier;

/// One start of an agent. Unknown texts are empty.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Run<'a> {
    /// The id of the run.
    pub id: &'a str,
    /// The mailbox it works for.
    pub mailbox: &'a str,
    /// The name of the agent.
    pub agent: &'a str,
    /// The id of the message that it worked on.
    pub message: &'a str,
    /// The file of that message.
    pub file: &'a str,
    /// The sender of that message.
    pub from: &'a str,
    /// Files of messages that were handled together with it; left out if there are none.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub also: &'a [String],
    /// The id of the thread that the message belongs to.
    pub thread: &'a str,
    /// Which attempt this is, counted from 1.
    pub attempt: u32,
    /// How often the message may be retried.
    pub retries: u32,
    /// When it began.
    pub started: &'a str,
    /// When it began, in milliseconds since the boot of the machine.
    pub started_ms: u64,
    /// The id of that boot.
    pub boot: &'a str,
    /// When it ended; empty while it runs.
    pub ended: &'a str,
    /// `running`; `interrupted`: its supervisor was killed, and the next dispatch finishes it; `done`; `again`: the message
    /// will be tried again; `parked`: it waits for a person; or `failed`.
    #[cfg_attr(test, schemars(extend("enum" = ["running", "interrupted", "done", "again", "parked", "failed"])))]
    pub state: &'static str,
    /// Why it failed.
    pub why: &'a str,
    /// Its last known activity.
    pub activity: &'a str,
    /// The session of the agent program.
    pub session: &'a str,
    /// Its cost in dollars; left out if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The tools that its program refused to the agent, one for each refusal; left out if there are none.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub denied: &'a [String],
    /// The preset that its program was started with.
    pub preset: &'a str,
    /// How many seconds it took, or has taken so far; left out if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// The tokens that its program reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// The git worktree that it works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree<'a>>,
}

/// Tokens that a program reported.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tokens {
    /// Tokens that the model read, cached ones included.
    pub input: u64,
    /// How many of these were cached.
    pub cached: u64,
    /// Tokens that the model wrote.
    pub output: u64,
}

/// The git worktree of a run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Worktree<'a> {
    /// The branch of the run.
    pub branch: &'a str,
    /// The directory of the worktree.
    pub path: &'a str,
    /// The commit where the run began.
    pub base: &'a str,
    /// The last commit of the branch; left out while the run goes on.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub head: &'a str,
    /// How many files differ between the two.
    pub files: u64,
    /// How many lines were added.
    pub added: u64,
    /// How many lines were removed.
    pub removed: u64,
    /// Whether the worktree was removed, because nothing was changed.
    pub gone: bool,
    /// Why what the agent left could not be committed; left out if it was.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub fault: &'a str,
}

impl<'a> From<&'a RunWorktree> for Worktree<'a> {
    fn from(of: &'a RunWorktree) -> Self {
        let RunWorktree { branch, path, base, head, files, added, removed, gone, fault } = of;
        let (files, added, removed, gone) = (*files, *added, *removed, *gone);
        Self { branch, path, base, head, files, added, removed, gone, fault }
    }
}

impl<'a> Run<'a> {
    /// A run at this time, which counts while it goes on.
    pub fn at(run: &'a runs::Run, now: Timestamp) -> Self {
        Self { seconds: run.took(now).map(|took| took.as_secs()), ..run.into() }
    }
}

impl<'a> From<&'a runs::Run> for Run<'a> {
    fn from(run: &'a runs::Run) -> Self {
        Self {
            id: &run.id,
            mailbox: &run.mailbox,
            agent: &run.agent,
            message: &run.message,
            file: &run.file,
            from: &run.from,
            also: &run.also,
            thread: &run.thread,
            attempt: run.attempt,
            retries: run.retries,
            started: &run.started,
            started_ms: run.started_ms,
            boot: &run.boot,
            ended: &run.ended,
            state: run.state_word(),
            why: &run.why,
            activity: &run.activity,
            session: &run.session,
            cost: run.cost,
            denied: &run.denied,
            preset: &run.preset,
            seconds: Timestamp::parse(&run.ended).and_then(|end| run.took(end)).map(|took| took.as_secs()),
            tokens: run.tokens.map(|tokens| Tokens {
                input: tokens.input,
                cached: tokens.cached,
                output: tokens.output,
            }),
            worktree: run.worktree.as_ref().map(Worktree::from),
        }
    }
}

/// The newest runs, oldest first, printed by `runs`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Runs<'a> {
    /// The runs.
    pub runs: Vec<Versioned<Run<'a>>>,
}

impl<'a> Runs<'a> {
    pub fn of(runs: &'a [runs::Run], now: Timestamp) -> Self {
        Self { runs: runs.iter().map(|run| Versioned::of(Run::at(run, now))).collect() }
    }
}

/// One run with its whole output, printed by `runs --raw`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunOutput<'a> {
    #[serde(flatten)]
    pub run: Run<'a>,
    /// Its standard output.
    pub out: &'a str,
    /// Its standard error.
    pub err: &'a str,
}

/// A step whose state changed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Change<'a> {
    /// The step.
    pub step: &'a str,
    /// Its state, in words.
    pub how: &'a str,
}

/// A workflow run that was carried.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Carried<'a> {
    /// The id of the run.
    pub run: &'a str,
    /// `in_progress`, `completed`, `failed` or `cancelled`.
    pub status: &'static str,
    /// How many steps have ended.
    pub settled: usize,
    /// How many steps there are.
    pub total: usize,
    /// Steps whose state changed.
    pub changes: Vec<Change<'a>>,
    /// Remarks for a person.
    pub remarks: &'a [String],
}

/// The end of a run of an agent.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ended<'a> {
    #[serde(flatten)]
    pub run: Run<'a>,
    /// The kind of event.
    pub event: EndedWord,
}

/// The tag of [`Ended`]; it comes after the run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum EndedWord {
    Ended,
}

/// An event of a dispatcher, other than the end of a run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Happened<'a> {
    /// An agent was started.
    Started {
        /// The agent.
        agent: &'a str,
        /// The file of the message.
        file: &'a str,
        /// How many messages wait for agents, this one included.
        waiting: usize,
    },
    /// An agent would be started, with `--dry-run`.
    WouldStart {
        /// The agent.
        agent: &'a str,
        /// The file of the message.
        file: &'a str,
    },
    /// A start that led to no run.
    Nothing {
        /// The agent.
        agent: &'a str,
        /// The reason; left out if another process was faster.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<&'a str>,
    },
    /// A message starts no agent, because it is doubtful, cannot be read, or waits for an earlier step. With
    /// `messages`, so many wait because the agent is paused, a limit is reached, or a person has to decide.
    Waits {
        /// The agent.
        agent: &'a str,
        /// The reason.
        why: &'a str,
        /// Until when they wait; left out if a person decides.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<String>,
        /// How many messages wait.
        #[serde(skip_serializing_if = "Option::is_none")]
        messages: Option<usize>,
    },
    /// The settings changed and were read again.
    Reread {
        /// How many agents can be started now.
        agents: usize,
    },
    /// A workflow run was carried.
    Carried(Carried<'a>),
}

/// An event of a dispatcher, printed by `dispatch` and `workflow run --follow`, one document per line.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Dispatch<'a> {
    Happened(Happened<'a>),
    Ended(Box<Ended<'a>>),
}

impl<'a> Dispatch<'a> {
    /// The document of an event. `None` for progress.
    pub fn of(event: &dispatcher::Event<'a, carrier::Carried>) -> Option<Self> {
        use dispatcher::Event;
        let happened = match *event {
            Event::Started { agent, file, waiting } => Happened::Started { agent, file, waiting },
            Event::Nothing { agent, why } => Happened::Nothing { agent, why },
            Event::Waits { agent, why } => Happened::Waits { agent, why, until: None, messages: None },
            Event::Delayed { delay } => Happened::Waits {
                agent: &delay.agent,
                why: &delay.why,
                until: delay.until.map(|until| until.to_string()),
                messages: Some(delay.messages),
            },
            Event::Reread { agents, .. } => Happened::Reread { agents },
            Event::Background { news } => return Some(Self::carried(news)),
            Event::Ended { run } => {
                return Some(Self::Ended(Box::new(Ended { run: run.into(), event: EndedWord::Ended })));
            }
            Event::Going { .. } => return None,
        };
        Some(Self::Happened(happened))
    }

    pub fn would_start(agent: &'a str, file: &'a str) -> Self {
        Self::Happened(Happened::WouldStart { agent, file })
    }

    pub fn carried(carried: &'a carrier::Carried) -> Self {
        let carrier::Carried { run, status, settled, total, changes, remarks, .. } = carried;
        let changes = changes.iter().map(|(step, how)| Change { step, how }).collect();
        let (settled, total) = (*settled, *total);
        Self::Happened(Happened::Carried(Carried {
            run,
            status: status.as_str(),
            settled,
            total,
            changes,
            remarks,
        }))
    }
}
