//! Transcripts: what an agent did, read out of the events that its program prints, line by line.
//!
//! Each program has a parser of its own, which is pure and knows one line. Here its finds become [`Event`]s: parts of a text
//! are joined, a result is put to its call. Reading is liberal: a line that is not understood is skipped and counted, and
//! memory is bounded. Texts are as the program printed them; the caller makes them harmless (`message::visible`).

mod claude;
mod codex;
mod copilot;
mod edits;
mod gemini;
mod opencode;

pub use edits::{Edit, edits};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest line that is read.
const LINE: usize = 8 * 1024 * 1024;

/// The most calls that are remembered until their results come.
const CALLS: usize = 10_000;

/// The number of tokens that a program reported. Parts that it reported as cached are in `input` too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tokens {
    pub input: u64,
    pub cached: u64,
    pub output: u64,
}

/// How a call of a tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    Done,
    Failed,
    /// The program did not let the agent use the tool.
    Denied,
}

/// One thing that happened in a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Began {
        session: Option<String>,
        model: Option<String>,
    },
    Said {
        text: String,
    },
    Thought {
        text: String,
    },
    /// A tool was called.
    Called {
        call: String,
        tool: String,
        input: Value,
    },
    /// A call ended.
    Returned {
        call: String,
        tool: String,
        outcome: CallOutcome,
        output: String,
    },
    /// A warning or an error of the program that need not end the run.
    Remarked {
        text: String,
    },
    /// The program said how the run ended, and its last words or the reason.
    Ended {
        is_ok: bool,
        text: Option<String>,
    },
}

/// What a parser finds in a line.
#[derive(Debug, Clone, PartialEq)]
enum Found {
    Event(Event),
    /// A part of a text, which goes on in the next line.
    Part(String),
    /// A call, unless it is known already.
    Call {
        call: String,
        tool: String,
        input: Value,
    },
    /// The end of a call.
    Return {
        call: String,
        outcome: CallOutcome,
        output: String,
    },
    /// A call that is denied: its result tells what the agent was told.
    Denial {
        call: String,
        tool: String,
    },
    /// Tokens and dollars, which add to those before.
    Used(Tokens, Option<f64>),
}

/// The finds of one line. `None`: it is not understood.
type Parse = fn(&Value) -> Option<Vec<Found>>;

/// A tool call that has not returned.
#[derive(Debug, Clone)]
struct OpenCall {
    call: String,
    tool: String,
    input: Value,
}

/// A transcript in the reading.
#[derive(Debug, Clone)]
pub struct Transcript {
    /// `None`: the program prints text.
    parse: Option<Parse>,
    line: Vec<u8>,
    is_too_long: bool,
    part: String,
    has_begun: bool,
    open: Vec<OpenCall>,
    denied: Vec<(String, String)>,
    skipped: usize,
    tokens: Option<Tokens>,
    cost: Option<f64>,
}

impl Transcript {
    /// For the output of a preset.
    pub fn of(preset: &str) -> Self {
        let parse: Option<Parse> = match preset {
            "claude" => Some(claude::parse),
            "codex" => Some(codex::parse),
            "gemini" => Some(gemini::parse),
            "opencode" => Some(opencode::parse),
            "copilot" => Some(copilot::parse),
            _ => None,
        };
        Self {
            parse,
            line: vec![],
            is_too_long: false,
            part: String::new(),
            has_begun: false,
            open: vec![],
            denied: vec![],
            skipped: 0,
            tokens: None,
            cost: None,
        }
    }

    /// Reads the next bytes of the output.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = vec![];
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let ends = piece.ends_with(b"\n");
            self.is_too_long |= self.line.len() + piece.len() > LINE;
            if !self.is_too_long {
                self.line.extend_from_slice(piece);
            }
            if ends && self.parse.is_some() {
                self.end_line(&mut events);
            }
        }
        if self.parse.is_none() && self.line.contains(&b'\n') {
            self.end_text(&mut events);
        }
        events
    }

    /// The output has ended.
    pub fn end(&mut self) -> Vec<Event> {
        let mut events = vec![];
        match self.parse {
            None => self.end_text(&mut events),
            Some(_) => self.end_line(&mut events),
        }
        self.end_part(&mut events);
        events
    }

    /// One line that was read as JSON before.
    pub fn see(&mut self, line: &Value) -> Vec<Event> {
        let mut events = vec![];
        match self.parse.and_then(|parse| parse(line)) {
            Some(found) => found.into_iter().for_each(|found| self.add(found, &mut events)),
            None => self.skipped += 1,
        }
        events
    }

    fn end_line(&mut self, events: &mut Vec<Event>) {
        let line = std::mem::take(&mut self.line);
        let is_too_long = std::mem::take(&mut self.is_too_long);
        if line.trim_ascii().is_empty() && !is_too_long {
            return;
        }
        match serde_json::from_slice::<Value>(&line) {
            Ok(value) if !is_too_long => events.extend(self.see(&value)),
            _ => self.skipped += 1,
        }
    }

    /// Plain text up to the last line break.
    fn end_text(&mut self, events: &mut Vec<Event>) {
        let text = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        self.is_too_long = false;
        if !text.trim().is_empty() {
            events.push(Event::Said { text });
        }
    }

    fn end_part(&mut self, events: &mut Vec<Event>) {
        let text = std::mem::take(&mut self.part);
        if !text.is_empty() {
            events.push(Event::Said { text });
        }
    }

    fn add(&mut self, found: Found, events: &mut Vec<Event>) {
        match &found {
            Found::Part(text) => return self.part.push_str(text),
            Found::Used(..) => {}
            _ => self.end_part(events),
        }
        match found {
            // Some programs say it again at each step.
            Found::Event(Event::Began { .. }) if self.has_begun => {}
            Found::Event(event) => {
                self.has_begun |= matches!(event, Event::Began { .. });
                events.push(event);
            }
            Found::Part(_) => {}
            Found::Call { call, tool, input } => {
                if self.open.iter().any(|open| open.call == call) {
                    return;
                }
                if self.open.len() < CALLS {
                    self.open.push(OpenCall { call: call.clone(), tool: tool.clone(), input: input.clone() });
                }
                events.push(Event::Called { call, tool, input });
            }
            Found::Denial { call, tool } => {
                if !self.denied.iter().any(|(known, _)| *known == call) {
                    self.denied.push((call, tool));
                }
            }
            Found::Return { call, outcome, output } => {
                let at = self.open.iter().position(|open| open.call == call);
                let tool = at.map(|at| self.open.remove(at).tool).unwrap_or_default();
                let was_denied = self.denied.iter().any(|(known, _)| *known == call);
                let outcome = if was_denied { CallOutcome::Denied } else { outcome };
                if outcome == CallOutcome::Denied && !was_denied {
                    self.denied.push((call.clone(), tool.clone()));
                }
                events.push(Event::Returned { call, tool, outcome, output });
            }
            Found::Used(tokens, cost) => {
                let sum = self.tokens.get_or_insert_default();
                sum.input = sum.input.saturating_add(tokens.input);
                sum.cached = sum.cached.saturating_add(tokens.cached);
                sum.output = sum.output.saturating_add(tokens.output);
                self.cost = cost.map(|cost| self.cost.unwrap_or(0.0) + cost).or(self.cost);
            }
        }
    }

    /// How many lines were not understood.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    pub fn tokens(&self) -> Option<Tokens> {
        self.tokens
    }

    /// In dollars.
    pub fn cost(&self) -> Option<f64> {
        self.cost
    }

    /// The tools that were denied, once for each call.
    pub fn denied(&self) -> impl Iterator<Item = &str> {
        self.denied.iter().map(|(_, tool)| tool.as_str())
    }

    /// The call that is in progress, the latest of several.
    pub fn in_progress(&self) -> Option<String> {
        self.open.last().map(|open| shown_call(&open.tool, &open.input))
    }
}

/// A call on one line: the tool, and what it is about.
pub fn shown_call(tool: &str, input: &Value) -> String {
    let about = about(input);
    if about.is_empty() { tool.to_owned() } else { format!("{tool}: {about}") }
}

/// What a call is about: its command, its file, or all of its input.
pub fn about(input: &Value) -> String {
    const TELLING: [&str; 9] =
        ["command", "cmd", "file_path", "filePath", "path", "pattern", "query", "url", "description"];
    match input {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Object(fields) if fields.is_empty() => String::new(),
        Value::Object(fields) => {
            let telling = TELLING.iter().find_map(|key| match fields.get(*key)? {
                Value::String(text) => Some(text.clone()),
                Value::Array(words) => Some(words.iter().map(about).collect::<Vec<_>>().join(" ")),
                _ => None,
            });
            telling.unwrap_or_else(|| input.to_string())
        }
        other => other.to_string(),
    }
}

/// A text at a path of keys.
fn text(value: &Value, path: &str) -> Option<String> {
    value.pointer(path)?.as_str().map(str::to_owned)
}

/// A number at a path of keys; 0 if there is none.
fn number(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

/// A value as text: strings as they are, the texts of a list of blocks, else JSON.
fn flat(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let block = |block: &Value| text(block, "/text").unwrap_or_else(|| flat(block));
            blocks.iter().map(block).collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

fn said(text: Option<String>) -> Vec<Found> {
    let text = text.filter(|text| !text.trim().is_empty());
    text.map(|text| Found::Event(Event::Said { text })).into_iter().collect()
}

fn thought(text: Option<String>) -> Vec<Found> {
    let text = text.filter(|text| !text.trim().is_empty());
    text.map(|text| Found::Event(Event::Thought { text })).into_iter().collect()
}

fn remarked(text: Option<String>) -> Vec<Found> {
    text.map(|text| Found::Event(Event::Remarked { text })).into_iter().collect()
}

#[cfg(test)]
mod tests;
