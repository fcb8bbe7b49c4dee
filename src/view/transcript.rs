//! The transcript of a run: what its agent did, event by event.

use serde::Serialize;
use serde_json::Value;

use super::run::Run;
use crate::process::transcript::{self, CallOutcome};

/// The longest text in a document; the output of the run has all of it.
const TEXT: usize = 64 * 1024;

/// One event. `call` joins the two events of a call of a tool.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<'a> {
    /// The program began.
    Began {
        /// Its session.
        #[serde(skip_serializing_if = "Option::is_none")]
        session: Option<&'a str>,
        /// The model that it uses.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<&'a str>,
    },
    /// The agent said something.
    Said {
        /// The text, at most 64 KiB of it.
        text: &'a str,
    },
    /// The agent thought something that it did not say.
    Thought {
        /// The text, at most 64 KiB of it.
        text: &'a str,
    },
    /// The agent called a tool.
    Called {
        /// The id of the call.
        call: &'a str,
        /// The name of the tool, as the program knows it.
        tool: &'a str,
        /// What the call is about: a command, a file, or all of its input.
        about: String,
        /// The input of the tool, of any shape; left out if it is longer than 64 KiB.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(test, schemars(extend("additionalProperties" = true, "items" = true)))]
        input: Option<&'a Value>,
    },
    /// A call ended.
    Returned {
        /// The id of the call.
        call: &'a str,
        /// The name of the tool; empty if the call was not seen.
        tool: &'a str,
        /// How it ended.
        outcome: Outcomes,
        /// What the agent was told, at most 64 KiB of it.
        output: &'a str,
    },
    /// The program warned, or met an error.
    Remarked {
        /// The text, at most 64 KiB of it.
        text: &'a str,
    },
    /// The program said how the run ended.
    Ended {
        /// Whether it ended well.
        ok: bool,
        /// Its last words, or the reason.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<&'a str>,
    },
}

/// How a call of a tool ended.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcomes {
    Done,
    Failed,
    /// The program did not let the agent use the tool.
    Denied,
}

impl<'a> Event<'a> {
    pub fn of(event: &'a transcript::Event) -> Self {
        use transcript::Event as E;
        match event {
            E::Began { session, model } => {
                Self::Began { session: session.as_deref(), model: model.as_deref() }
            }
            E::Said { text } => Self::Said { text: cut(text) },
            E::Thought { text } => Self::Thought { text: cut(text) },
            E::Called { call, tool, input } => {
                let about = cut(&transcript::about(input)).to_owned();
                let is_short = !input.is_null() && input.to_string().len() <= TEXT;
                Self::Called { call, tool, about, input: is_short.then_some(input) }
            }
            E::Returned { call, tool, outcome, output } => {
                let outcome = match outcome {
                    CallOutcome::Done => Outcomes::Done,
                    CallOutcome::Failed => Outcomes::Failed,
                    CallOutcome::Denied => Outcomes::Denied,
                };
                Self::Returned { call, tool, outcome, output: cut(output) }
            }
            E::Remarked { text } => Self::Remarked { text: cut(text) },
            E::Ended { is_ok, text } => Self::Ended { ok: *is_ok, text: text.as_deref().map(cut) },
        }
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT)]
}

/// An event of a run that goes on, printed by `runs --follow`, one document per line.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Followed<'a> {
    /// The id of the run.
    pub run: &'a str,
    #[serde(flatten)]
    pub event: Event<'a>,
}

/// One run with what its agent did, printed by `runs` with an id.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunTranscript<'a> {
    #[serde(flatten)]
    pub run: Run<'a>,
    /// What happened, in order.
    pub events: Vec<Event<'a>>,
    /// How many lines of its output were not understood.
    pub skipped: usize,
    /// Its standard error, at most the last 64 KiB.
    pub err: &'a str,
}

impl<'a> RunTranscript<'a> {
    pub fn of(run: Run<'a>, events: &'a [transcript::Event], skipped: usize, err: &'a str) -> Self {
        let from = err.len().saturating_sub(TEXT);
        let err = &err[err.ceil_char_boundary(from)..];
        Self { run, events: events.iter().map(Event::of).collect(), skipped, err }
    }
}
