//! The output of an agent program, read as it comes: the final text, the session, the cost, what failed, what was denied,
//! whether its provider is out of reach, and what it is doing now. Memory is bounded, however much is printed and however long a line is.

use std::collections::VecDeque;

use serde_json::Value;

use super::outage::{Outage, Reach};
use super::presets::{Preset, Rule, fits};
use super::tail::Tail;
use super::transcript::{Event, Tokens, Transcript};

/// The longest line that is read as JSON; of a longer one nothing is taken.
const LINE: usize = 8 * 1024 * 1024;

/// The longest text that is kept.
const TEXT: usize = 1024 * 1024;

/// How many calls of tools are remembered, how many refusals are kept, and how long their names may be.
const CALLS: usize = 256;
const DENIALS: usize = 1000;
const NAME: usize = 100;

/// How much of the end is kept as it was printed.
const TAIL: usize = 4 * 1024;

/// What was read so far.
#[derive(Debug)]
pub struct Reading {
    preset: Preset,
    line: Vec<u8>,
    skipping: bool,
    raw_tail: Vec<u8>,
    tail: Tail,
    found: AgentOutput,
    /// The tools of the latest calls, by the ids of the calls.
    calls: VecDeque<(String, String)>,
    transcript: Transcript,
    last_text: Option<String>,
}

/// What an output says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentOutput {
    pub text: String,
    pub session: Option<String>,
    pub cost: Option<f64>,
    pub failure: Option<String>,
    /// The tool call in progress, else the last text.
    pub activity: Option<String>,
    /// The outage that it reported last, unless it went on since.
    pub outage: Option<Outage>,
    /// The tools that were refused, one for each refusal.
    pub denied: Vec<String>,
    /// How many events were read, and how many of them say that the model works on it.
    pub lines: usize,
    pub progress: usize,
    pub tokens: Option<Tokens>,
}

/// What was read of an output that has ended.
#[derive(Debug)]
pub struct ReadOutput {
    /// `Err`: it is not what the preset expects.
    pub found: Result<AgentOutput, String>,
    /// Its last lines, for people: of a stream of events as the transcript shows them.
    pub tail: String,
}

impl Reading {
    pub fn new(preset: &Preset) -> Self {
        let preset = preset.clone();
        let found = AgentOutput::default();
        let transcript = Transcript::of(&preset.program);
        Self {
            preset,
            line: vec![],
            skipping: false,
            raw_tail: vec![],
            tail: Tail::default(),
            found,
            calls: VecDeque::new(),
            transcript,
            last_text: None,
        }
    }

    /// Takes the next bytes of standard output.
    pub fn take(&mut self, bytes: &[u8]) {
        keep_tail(&mut self.raw_tail, bytes);
        if self.preset.plain {
            self.tail.take(bytes);
            let room = TEXT.saturating_sub(self.line.len());
            self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
            return;
        }
        for piece in bytes.split_inclusive(|b| *b == b'\n') {
            let ended = piece.ends_with(b"\n");
            if !self.skipping {
                if self.line.len() + piece.len() > LINE {
                    let line = std::mem::take(&mut self.line);
                    self.not_understood(&line);
                    self.skipping = true;
                } else {
                    self.line.extend_from_slice(piece);
                }
            }
            if ended {
                self.read_line();
                self.skipping = false;
            }
        }
    }

    /// What is known now.
    pub fn found(&self) -> &AgentOutput {
        &self.found
    }

    /// The end of the output as it was printed.
    pub fn raw_tail(&self) -> String {
        String::from_utf8_lossy(&self.raw_tail).into_owned()
    }

    /// Everything, once the output has ended.
    pub fn end(mut self) -> ReadOutput {
        if self.preset.plain {
            self.found.text = String::from_utf8_lossy(&self.line).trim().to_owned();
            return ReadOutput { tail: self.tail.text(), found: Ok(self.found) };
        }
        self.read_line();
        self.transcript.end().iter().for_each(|event| self.tail.see(event));
        let tail = self.tail.text();
        if self.found.lines == 0 && !self.raw_tail.is_empty() {
            let found = Err("its output is not the JSON that its preset expects".to_owned());
            return ReadOutput { found, tail };
        }
        self.found.text = self.found.text.trim().to_owned();
        ReadOutput { found: Ok(self.found), tail }
    }

    /// Keeps the beginning of a line for people.
    fn not_understood(&mut self, line: &[u8]) {
        self.tail.take(line);
        self.tail.take(b"\n");
    }

    fn read_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let Ok(value) = serde_json::from_slice::<Value>(&line) else { return self.not_understood(&line) };
        self.read_calls(&value);
        let found = &mut self.found;
        found.lines += 1;
        for rule in &self.preset.text {
            if let Some(text) = rule.find(&value) {
                if !rule.join {
                    found.text.clear();
                }
                found.text.push_str(&text);
                found.text.truncate(found.text.floor_char_boundary(TEXT));
            }
        }
        let last = |rules: &[Rule]| rules.iter().find_map(|rule| rule.find(&value));
        found.session = last(&self.preset.session).filter(|s| is_session(s)).or(found.session.take());
        found.failure = last(&self.preset.failure).or(found.failure.take());
        let skipped = self.transcript.skipped();
        let events = self.transcript.see(&value);
        events.iter().for_each(|event| self.tail.see(event));
        if self.transcript.skipped() > skipped {
            self.tail.take(&line);
            self.tail.take(b"\n");
        }
        let text = events.into_iter().rev().find_map(|event| match event {
            Event::Said { text } => Some(text),
            _ => None,
        });
        self.last_text = text.or(self.last_text.take());
        found.activity =
            self.transcript.in_progress().or_else(|| self.last_text.clone()).or(Some(String::new()));
        found.tokens = self.transcript.tokens();
        found.cost = self.transcript.cost();
        match self.preset.outage.iter().find_map(|rule| rule.find(&value, found.outage)) {
            Some(Reach::Out(outage)) => found.outage = Some(outage),
            Some(Reach::Works) => found.outage = None,
            None if last(&self.preset.progress).is_some() => {
                found.progress += 1;
                found.outage = None;
            }
            None => {}
        }
    }

    /// Remembers which tool a call is for, and notes calls that were refused.
    fn read_calls(&mut self, value: &Value) {
        let id_of = |rule: &Rule| text_of(walk(value, rule.id.as_deref()?)?);
        for rule in &self.preset.calls {
            if let (Some(name), Some(id)) = (rule.find(value), id_of(rule)) {
                self.calls.truncate(CALLS - 1);
                self.calls.push_front((id, name));
            }
        }
        for rule in &self.preset.denied {
            for found in rule.find_all(value) {
                let called = id_of(rule).and_then(|id| self.calls.iter().find(|(call, _)| *call == id));
                let name = called.map_or(found, |(_, name)| name.clone());
                if self.found.denied.len() < DENIALS {
                    self.found.denied.push(name.chars().take(NAME).collect());
                }
            }
        }
    }
}

/// A session id becomes an argument of the program that gave it, so it is one plain word.
pub fn is_session(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    !text.is_empty() && text.len() <= 128 && !text.starts_with('-') && text.bytes().all(plain)
}

fn keep_tail(tail: &mut Vec<u8>, bytes: &[u8]) {
    tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL)..]);
    if tail.len() > TAIL {
        tail.drain(..tail.len() - TAIL);
    }
}

impl Rule {
    /// What stands in a line at this place, as text.
    fn find(&self, line: &Value) -> Option<String> {
        self.find_all(line).pop()
    }

    /// All that stand at this place.
    fn find_all(&self, line: &Value) -> Vec<String> {
        if !fits(&self.when, line) {
            return vec![];
        }
        let Some((list, rest)) = self.at.split_once(".*.") else {
            return walk(line, &self.at).and_then(text_of).into_iter().collect();
        };
        let entries = walk(line, list).and_then(Value::as_array).into_iter().flatten();
        entries.filter_map(|entry| text_of(walk(entry, rest)?)).collect()
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

/// The value at the end of a way of keys and numbers.
pub(super) fn walk<'v>(mut at: &'v Value, way: &str) -> Option<&'v Value> {
    for step in way.split('.') {
        at = match (at, step.parse::<usize>()) {
            (Value::Array(list), Ok(index)) => list.get(index)?,
            _ => at.get(step)?,
        };
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::super::presets;
    use super::*;

    fn read(preset: &str, output: &str) -> Result<AgentOutput, String> {
        let preset = presets::named(preset).unwrap();
        let mut reading = Reading::new(&preset);
        // In pieces that cut lines anywhere.
        output.as_bytes().chunks(7).for_each(|piece| reading.take(piece));
        reading.end().found
    }

    fn tail(preset: &str, output: &str) -> String {
        let mut reading = Reading::new(&presets::named(preset).unwrap());
        reading.take(output.as_bytes());
        reading.end().tail
    }

    #[test]
    fn each_program_s_stream_is_read() {
        let claude = "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"b2-1\"}\n{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"hm\"}]}}\n{\"type\":\"result\",\"is_error\":false,\"result\":\"hello\",\"session_id\":\"b2-1\",\"total_cost_usd\":0.25}\n";
        let found = read("claude", claude).unwrap();
        assert_eq!(
            (found.text.as_str(), found.session.as_deref(), found.cost),
            ("hello", Some("b2-1"), Some(0.25))
        );
        assert_eq!((found.failure, found.activity.as_deref()), (None, Some("hm")));
        let codex = "{\"type\":\"thread.started\",\"thread_id\":\"01a\"}\n{\"type\":\"item.completed\",\"item\":{\"type\":\"error\",\"message\":\"w\"}}\n{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"one\"}}\n{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"two\"}}\n";
        assert_eq!(read("codex", codex).unwrap().text, "two");
        let gemini = "{\"type\":\"init\",\"session_id\":\"g\"}\n{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"a\",\"delta\":true}\n{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"b\"}\n";
        assert_eq!(read("gemini", gemini).unwrap().text, "ab");
        let opencode = "{\"type\":\"step_start\",\"sessionID\":\"ses_1\"}\n{\"type\":\"text\",\"sessionID\":\"ses_1\",\"part\":{\"text\":\"hi\"}}\n";
        let found = read("opencode", opencode).unwrap();
        assert_eq!((found.text.as_str(), found.session.as_deref()), ("hi", Some("ses_1")));
        assert_eq!(read("command", " plain\ntext \n").unwrap().text, "plain\ntext");
    }

    #[test]
    fn failures_are_told() {
        let failed = read("codex", "{\"type\":\"turn.failed\",\"error\":{\"message\":\"no\"}}\n").unwrap();
        assert_eq!(failed.failure.as_deref(), Some("no"));
        let failed =
            read("claude", "{\"type\":\"result\",\"is_error\":true,\"result\":\"bad key\"}").unwrap();
        assert_eq!(failed.failure.as_deref(), Some("bad key"));
        assert!(read("claude", "Segmentation fault\n").is_err());
    }

    #[test]
    fn the_end_of_a_stream_is_shown_as_its_transcript() {
        let claude = include_str!("../../tests/golden/transcripts/claude.jsonl");
        assert_eq!(
            tail("claude", claude),
            "I look first.\n→ Bash: echo hello\n→ Bash: curl http://127.0.0.1:1/\n  denied: This command requires \
             approval\nTwo things are done."
        );
        let gemini = r#"{"type":"message","role":"assistant","content":"I lo","delta":true}
{"type":"message","role":"assistant","content":"ok","delta":true}
"#;
        assert_eq!(tail("gemini", gemini), "I look");
        let odd = format!("Segmentation fault\n{{\"type\":\"novelty\"}}\n{{\"type\":\"{}", "x".repeat(5000));
        let end = tail("claude", &odd);
        let beginning = "Segmentation fault\n{\"type\":\"novelty\"}\n{\"type\":\"xxx";
        assert!(end.starts_with(beginning) && end.ends_with("x…") && end.len() < 1100, "{end}");
    }

    #[test]
    fn a_flood_is_not_kept() {
        for name in ["claude", "command"] {
            let preset = presets::named(name).unwrap();
            let mut reading = Reading::new(&preset);
            let piece = vec![b'x'; 1024 * 1024];
            (0..64).for_each(|_| reading.take(&piece));
            assert!(
                reading.line.capacity() <= LINE + 2 * piece.len() && reading.raw_tail.len() <= TAIL,
                "{name}"
            );
        }
    }

    #[test]
    fn a_hostile_session_is_none() {
        for bad in ["--dangerous", "a b", "", "x;y"] {
            let line = format!("{{\"type\":\"thread.started\",\"thread_id\":\"{bad}\"}}\n");
            assert_eq!(read("codex", &line).unwrap().session, None, "{bad}");
        }
    }
}
