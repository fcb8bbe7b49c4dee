//! Agents: which agent works for which mailbox, and which session was woken.

use serde::Serialize;

use super::stop::Pause;
use crate::dispatch::supervisor;
use crate::name::MailboxId;

/// An agent that can be started.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Agent<'a> {
    /// Its name.
    pub name: &'a str,
    /// The preset that starts it.
    pub preset: &'a str,
    /// The program.
    pub program: String,
    /// Whether the program is installed.
    pub found: bool,
    /// The version that the program reports; left out if it reports none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The id of its mailbox; left out if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mailbox: Option<&'a str>,
    /// The directory in which it works.
    pub cwd: String,
    /// Its access: `read`, `edit` or `full`.
    #[cfg_attr(test, schemars(extend("enum" = ["read", "edit", "full"])))]
    pub access: &'static str,
    /// The model to use; left out for its own choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<&'a str>,
    /// The time limit of a run, in seconds.
    pub time_limit: u64,
    /// How often a message is retried.
    pub retries: u32,
    /// How many runs it may have at once.
    pub concurrency: usize,
    /// What it can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<&'a str>,
    /// What keeps it from being started now; left out if nothing does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paused: Vec<Pause>,
}

impl<'a> Agent<'a> {
    pub fn of(
        agent: &'a supervisor::Agent,
        id: Option<&'a MailboxId>,
        program: String,
        found: bool,
        version: Option<String>,
    ) -> Self {
        let settings = &agent.settings;
        Self {
            name: &agent.name,
            preset: &settings.preset,
            program,
            found,
            version,
            mailbox: id.map(MailboxId::as_str),
            cwd: agent.cwd.display().to_string(),
            access: settings.access.as_str(),
            model: settings.model.as_deref(),
            time_limit: settings.time_limit.as_secs(),
            retries: settings.retries,
            concurrency: settings.concurrency,
            about: settings.about.as_deref(),
            paused: vec![],
        }
    }
}

/// An agent that is skipped until a person has reviewed it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Untrusted<'a> {
    /// Its name for `trust`.
    pub item: String,
    /// The agent.
    pub agent: &'a str,
    /// The repository or the room that would run it.
    pub directory: String,
}

/// The agents and their mailboxes, printed by `agents`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Agents<'a> {
    /// Agents that can be started.
    pub agents: Vec<Agent<'a>>,
    /// Agents that are skipped until a person has reviewed them.
    pub untrusted: Vec<Untrusted<'a>>,
}
