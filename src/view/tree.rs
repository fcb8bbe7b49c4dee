//! A `.claude` tree as a whole.

use serde::Serialize;

use super::message::{BadFile, Pairs};
use crate::mailbox::tree::{AgentStatus, Latest};
use crate::message::tree::Status;
use crate::post::{Chain, TreeStatus as Tree};

/// One agent of a tree.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Agent<'a> {
    /// Its name.
    pub agent: &'a str,
    /// How many messages it has, by their state.
    pub messages: Pairs<'static, usize>,
    /// How many responses it has written.
    pub responses: usize,
    /// The median time until its answers, in seconds; left out if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_seconds: Option<u64>,
    /// When its oldest pending message was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_pending: Option<String>,
    /// Whether it has more waiting messages than any other agent, and more than one.
    pub piles_up: bool,
}

impl<'a> Agent<'a> {
    fn of(agent: &'a AgentStatus) -> Self {
        Self {
            agent: &agent.agent,
            messages: Pairs(Status::ALL.iter().zip(agent.counts).map(|(s, n)| (s.as_str(), n)).collect()),
            responses: agent.responses,
            median_seconds: agent.median,
            oldest_pending: agent.oldest.map(|time| time.to_string()),
            piles_up: agent.piles_up,
        }
    }
}

/// One message of a tree.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TreeMessage<'a> {
    /// The agent that has it.
    pub agent: &'a str,
    /// Its id.
    pub id: &'a str,
    /// Its sender.
    pub from: &'a str,
    /// Its state.
    #[cfg_attr(test, schemars(extend("enum" = Status::ALL.map(Status::as_str))))]
    pub status: &'static str,
    /// Its subject.
    pub subject: &'a str,
    /// When it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// How long its answer took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_seconds: Option<u64>,
    /// `waits for step N of WORKFLOW`; left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<&'a str>,
}

impl<'a> TreeMessage<'a> {
    fn of(message: &'a Latest) -> Self {
        Self {
            agent: &message.agent,
            id: &message.id,
            from: &message.from,
            status: message.status.as_str(),
            subject: &message.subject,
            time: message.time.map(|time| time.to_string()),
            duration_seconds: message.duration,
            waits: message.waits.as_deref(),
        }
    }
}

/// A tree, printed by `tree status`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TreeStatus<'a> {
    /// The `.claude` directory.
    pub tree: String,
    /// Its agents.
    pub agents: Vec<Agent<'a>>,
    /// Its newest messages, newest first.
    pub latest: Vec<TreeMessage<'a>>,
    /// The fields of each shared file.
    pub shared: Pairs<'a, Pairs<'a, &'a str>>,
    /// Files that cannot be read or do not fit together; then the exit code is 4.
    pub faults: Vec<BadFile<'a>>,
}

impl<'a> TreeStatus<'a> {
    pub fn of(tree: String, status: &'a Tree) -> Self {
        Self {
            tree,
            agents: status.agents.iter().map(Agent::of).collect(),
            latest: status.latest.iter().map(TreeMessage::of).collect(),
            shared: Pairs(
                status.shared.iter().map(|(file, fields)| (file.as_str(), Pairs::of(fields))).collect(),
            ),
            faults: status.faults.iter().map(|(file, why)| BadFile { file, why }).collect(),
        }
    }
}

/// A request with its responses.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ArchivedChain<'a> {
    /// The agent that was asked.
    pub agent: &'a str,
    /// The id of the request.
    pub id: &'a str,
    /// The file of the request.
    pub request: &'a str,
    /// The files of the responses. Routed answers go too and are not listed.
    pub responses: &'a [String],
}

/// The finished chains, printed by `tree cleanup`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TreeCleanup<'a> {
    /// True if it only shows what it would archive.
    pub dry_run: bool,
    /// The chains that are archived, or would be.
    pub archived: Vec<ArchivedChain<'a>>,
}

impl<'a> TreeCleanup<'a> {
    pub fn of(dry_run: bool, chains: &'a [Chain]) -> Self {
        let chain = |Chain { agent, id, request, responses }: &'a Chain| ArchivedChain {
            agent: agent.as_str(),
            id,
            request,
            responses,
        };
        Self { dry_run, archived: chains.iter().map(chain).collect() }
    }
}

/// The names of the shared files, printed by `tree shared get`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SharedFiles<'a> {
    /// The names.
    pub files: &'a [String],
}

/// A shared file or a part of it, printed by `tree shared get FILE`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SharedText<'a> {
    /// The file as given.
    pub file: &'a str,
    /// The part as given; left out for the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<&'a str>,
    /// The text.
    pub text: &'a str,
}

/// A shared file was changed, printed by `tree shared set` and `append`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SharedDone {
    /// Always true.
    pub done: bool,
}
