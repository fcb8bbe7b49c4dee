//! The configuration of agents: which program works for which mailbox, and how far it may go. Pure; whoever finds the
//! files hands their text in.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};

use crate::span;

/// What a program may do beside writing mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    Read,
    #[default]
    Edit,
    Full,
}

impl Access {
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Full => "full",
        }
    }
}

/// What an answer does to the agent that asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answers {
    Start,
    /// It is kept until the agent looks.
    Keep,
}

/// `[agents.NAME]`: who works for the mailbox of that name.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentSettings {
    pub preset: String,
    /// The program and its arguments, for the preset `command`; else the program in the place of the preset's.
    pub command: Vec<String>,
    /// Relative to the file that says so.
    pub cwd: Option<PathBuf>,
    pub access: Access,
    pub model: Option<String>,
    #[serde(deserialize_with = "span_of")]
    pub time_limit: Duration,
    /// How often a message is tried again after it failed.
    pub retries: u32,
    /// How many runs at once; one, if it keeps its conversation.
    pub concurrency: usize,
    /// Variables of the environment that the program gets beside the usual ones.
    pub env: Vec<String>,
    pub about: Option<String>,
    /// Whether it keeps its conversation from one message to the next.
    pub session: bool,
    /// The definition that the program itself has of this agent, in its own files.
    #[serde(skip)]
    pub described: Option<String>,
    /// Whether an answer to what it asked starts it; left out: if it keeps its conversation, because else it has forgotten what it
    /// asked.
    pub answers: Option<Answers>,
    /// How many messages of one sender and channel that wait together are given to one run.
    pub batch: usize,
    /// Other rooms whose mail starts it too.
    pub from: Vec<String>,
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
        }
    }
}

impl AgentSettings {
    /// Whether an answer starts it.
    pub fn starts_for_answers(&self) -> bool {
        self.answers.map_or(self.session, |answers| answers == Answers::Start)
    }

    /// How many runs it may have at once. Two in one conversation would each see half of it.
    pub fn places(&self) -> usize {
        if self.session { 1 } else { self.concurrency.max(1) }
    }
}

/// `[dispatch]`: what holds for all agents.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DispatchSettings {
    /// How many runs at once, over all agents.
    pub parallel: usize,
    /// How many automatic answers may follow each other in one thread.
    pub hops: u32,
    /// How many runs one thread may have.
    pub thread_runs: usize,
    /// How many runs one agent may have in an hour.
    pub hour_runs: usize,
    /// How long a message waits after its first failure; twice as long after each further one.
    #[serde(deserialize_with = "span_of")]
    pub back_off: Duration,
    /// How much one agent may spend in a day, in dollars, where its program says what it spent.
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
            day_cost: None,
        }
    }
}

/// All agents of a file.
pub type Agents = BTreeMap<String, Arc<AgentSettings>>;

fn span_of<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
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
