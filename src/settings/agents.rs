//! The configuration of agents: which program works for which mailbox, and what it may do. Pure; the caller finds the
//! files and passes their text.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};

use super::worktree::Worktree;
use crate::span;

/// What a program may do besides writing mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    Read,
    #[default]
    Edit,
    Full,
}

impl Access {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Full => "full",
        }
    }
}

/// What an answer does for the agent that asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answers {
    Start,
    /// The answer is kept until the agent checks its mail.
    Keep,
}

/// What becomes of a run whose program refused a tool to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDenied {
    /// Its answer counts, and the refusal is shown.
    #[default]
    Show,
    Fail,
}

/// `[agents.NAME]`: the program that works for the mailbox of that name.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentSettings {
    pub preset: String,
    /// The program and its arguments, for the preset `command`; for other presets, the program to use instead.
    pub command: Vec<String>,
    /// Relative to the file that contains it. May contain words that stand for the run.
    pub cwd: Option<PathBuf>,
    pub access: Access,
    pub model: Option<String>,
    #[serde(deserialize_with = "span_of")]
    pub time_limit: Duration,
    /// How often a failed message is retried.
    pub retries: u32,
    /// The most concurrent runs; one, if it keeps its conversation.
    pub concurrency: usize,
    /// Environment variables that the program gets besides the usual ones.
    pub env: Vec<String>,
    pub about: Option<String>,
    /// Whether it keeps its conversation from one message to the next.
    pub session: bool,
    /// The program's own definition of this agent, from its own files.
    #[serde(skip)]
    pub described: Option<String>,
    /// Whether an answer to its question starts it. Default: only if it keeps its conversation, because otherwise it
    /// has forgotten the question.
    pub answers: Option<Answers>,
    /// How many waiting messages of one sender and channel are given to one run.
    pub batch: usize,
    /// Other rooms whose mail also starts it.
    pub from: Vec<String>,
    pub on_denied: OnDenied,
    /// Whether each run works in a git worktree of its own.
    pub worktree: Worktree,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            preset: String::new(),
            command: vec![],
            cwd: None,
            access: Access::default(),
            model: None,
            time_limit: Duration::from_secs(30 * 60),
            retries: 2,
            concurrency: 1,
            env: vec![],
            about: None,
            session: false,
            described: None,
            answers: None,
            batch: 1,
            from: vec![],
            on_denied: OnDenied::default(),
            worktree: Worktree::No,
        }
    }
}

impl AgentSettings {
    /// Whether an answer starts it.
    pub fn starts_for_answers(&self) -> bool {
        self.answers.map_or(self.session, |answers| answers == Answers::Start)
    }

    /// The most concurrent runs. Two runs in one conversation would each see half of it.
    pub fn places(&self) -> usize {
        if self.session { 1 } else { self.concurrency.max(1) }
    }
}

/// `[dispatch]`: settings for all agents.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DispatchSettings {
    /// The most concurrent runs of all agents together.
    pub parallel: usize,
    /// The most automatic answers in a row in one thread.
    pub hops: u32,
    /// The most runs of one thread.
    pub thread_runs: usize,
    /// The most runs of one agent in an hour.
    pub hour_runs: usize,
    /// The delay after a message's first failure; doubled after each further one.
    #[serde(deserialize_with = "span_of")]
    pub back_off: Duration,
    /// The delay before a paused agent is probed after an outage; doubled after each further one.
    #[serde(deserialize_with = "span_of")]
    pub probe: Duration,
    /// The most that one agent may spend in a day, in dollars, if its program reports the cost.
    pub day_cost: Option<f64>,
}

impl Default for DispatchSettings {
    fn default() -> Self {
        Self {
            parallel: 4,
            hops: 8,
            thread_runs: 30,
            hour_runs: 60,
            back_off: Duration::from_secs(10),
            probe: Duration::from_secs(60),
            day_cost: None,
        }
    }
}

/// All agents of a file.
pub type Agents = BTreeMap<String, Arc<AgentSettings>>;

pub(super) fn span_of<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    struct Given;

    impl Visitor<'_> for Given {
        type Value = Duration;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a number of seconds, or a text such as \"90s\", \"30m\" or \"2h\"")
        }

        fn visit_i64<E: serde::de::Error>(self, seconds: i64) -> Result<Duration, E> {
            let seconds = u64::try_from(seconds);
            seconds.map(Duration::from_secs).map_err(|_| E::custom("a span is not negative"))
        }

        fn visit_u64<E: serde::de::Error>(self, seconds: u64) -> Result<Duration, E> {
            Ok(Duration::from_secs(seconds))
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Duration, E> {
            span::parse(text).map_err(E::custom)
        }
    }

    from.deserialize_any(Given)
}
