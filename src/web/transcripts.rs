//! The transcripts that pages show: the last parts of what a run printed, read on from where the last look ended.
//!
//! A run may print for hours. A page shows a window of parts, and a look reads only what came since; what is kept for that is
//! bounded, and is forgotten first for the run that was looked at longest ago. Earlier parts are read again from the beginning,
//! piece by piece, when somebody asks for them.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use super::markdown;
use crate::dispatch::runs::{Run, RunState, Runs};
use crate::mailbox::IfAny;
use crate::mailbox::fault::Result;
use crate::message::visible;
use crate::process::transcript::{CallOutcome, Event, Transcript, about, edits};

/// The most parts of a window, and the most bytes of their texts.
const PARTS: usize = 300;
const BYTES: usize = 512 * 1024;

/// How much of the output of a tool is shown.
const PART: usize = 4000;

/// How much output is read at once.
const PIECE: usize = 64 * 1024;

/// How many runs are remembered.
const KEPT: usize = 8;

/// One part of a transcript.
#[derive(Debug, Clone)]
pub(super) enum Part {
    /// Markdown, then HTML.
    Said(String),
    Thought(String),
    Called {
        call: String,
        tool: String,
        about: String,
        diff: Vec<(&'static str, String)>,
        end: Option<(&'static str, String)>,
    },
    Remarked(String),
    Ended(String),
}

impl Part {
    fn size(&self) -> usize {
        match self {
            Self::Said(text) | Self::Thought(text) | Self::Remarked(text) | Self::Ended(text) => text.len(),
            Self::Called { about, diff, end, .. } => {
                let diff: usize = diff.iter().map(|(_, line)| line.len()).sum();
                about.len() + diff + end.as_ref().map_or(0, |(_, output)| output.len())
            }
        }
    }
}

/// A window of a transcript.
#[derive(Debug, Clone, Default)]
pub(super) struct Window {
    pub(super) model: String,
    pub(super) parts: VecDeque<Part>,
    /// How many parts are before the window.
    pub(super) earlier: usize,
    /// Lines that were not understood.
    pub(super) skipped: usize,
    bytes: usize,
    /// What the agent said last.
    last: String,
    /// The number of the first part that is left out.
    end: Option<usize>,
}

/// A run in the reading.
#[derive(Debug)]
struct Reading {
    run: String,
    transcript: Transcript,
    seen: u64,
    window: Window,
}

/// The runs that pages looked at, the last one last.
#[derive(Debug, Default)]
pub(super) struct Transcripts(Mutex<VecDeque<Reading>>);

impl Transcripts {
    /// The last parts of a run.
    pub(super) fn latest(&self, runs: &Runs, run: &Run) -> Result<Window> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().position(|one| one.run == run.id).and_then(|at| kept.remove(at));
        // Not held while it is read: the first look at a long run takes its time.
        drop(kept);
        let mut reading = known.unwrap_or_else(|| Reading::of(run));
        reading.go_on(runs, usize::MAX)?;
        let window = reading.so_far(run.state != RunState::Running);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|one| one.run != run.id);
        kept.push_back(reading);
        if kept.len() > KEPT {
            kept.pop_front();
        }
        Ok(window)
    }

    /// The parts before the one of this number, counted from the first.
    pub(super) fn before(runs: &Runs, run: &Run, number: usize) -> Result<Window> {
        let mut reading = Reading::of(run);
        reading.window.end = Some(number);
        reading.go_on(runs, number)?;
        Ok(reading.window.shown())
    }
}

impl Reading {
    fn of(run: &Run) -> Self {
        let transcript = Transcript::of(&run.preset);
        Self { run: run.id.clone(), transcript, seen: 0, window: Window::default() }
    }

    /// Reads what came since, at least until there are so many parts.
    fn go_on(&mut self, runs: &Runs, parts: usize) -> Result<()> {
        let dir = runs.dir_of(&self.run)?;
        // In this order: when a second start has begun, the output of the first does not grow any more.
        let mut again = dir.open_file("out-again").if_any()?;
        let Some(mut first) = dir.open_file("out").if_any()? else { return Ok(()) };
        let end = u64::try_from(first.stat.st_size).unwrap_or(0);
        while self.window.earlier + self.window.parts.len() < parts {
            let bytes = match (self.seen < end, &mut again) {
                (true, _) => first.piece(self.seen, PIECE)?,
                (false, Some(again)) => again.piece(self.seen - end, PIECE)?,
                (false, None) => vec![],
            };
            if bytes.is_empty() {
                break;
            }
            self.seen += bytes.len() as u64;
            let events = self.transcript.take(&bytes);
            events.into_iter().for_each(|event| self.window.add(event));
        }
        Ok(())
    }

    /// The window with the text that is not complete yet, which stays so for the next look.
    fn so_far(&self, has_ended: bool) -> Window {
        let mut window = self.window.clone();
        window.skipped = self.transcript.skipped();
        let mut transcript = self.transcript.clone();
        transcript.end().into_iter().for_each(|event| window.add(event));
        if has_ended {
            window.skipped = transcript.skipped();
        }
        window.shown()
    }
}

impl Window {
    /// With texts as HTML. Most parts of a long run are never shown, so they are not made before.
    fn shown(mut self) -> Self {
        for part in &mut self.parts {
            if let Part::Said(text) = part {
                *text = markdown::render(text);
            }
        }
        self
    }

    fn push(&mut self, part: Part) {
        if self.end.is_some_and(|end| self.earlier + self.parts.len() >= end) {
            return;
        }
        self.bytes += part.size();
        self.parts.push_back(part);
        while self.parts.len() > PARTS || self.bytes > BYTES && self.parts.len() > 1 {
            if let Some(part) = self.parts.pop_front() {
                self.bytes = self.bytes.saturating_sub(part.size());
                self.earlier += 1;
            }
        }
    }

    /// Adds what happened; a call and its end are one part.
    fn add(&mut self, event: Event) {
        match event {
            Event::Began { model, .. } => {
                if let Some(model) = model {
                    self.model = visible::line(&model);
                }
            }
            Event::Said { text } => {
                self.push(Part::Said(text.clone()));
                self.last = text;
            }
            Event::Thought { text } => self.push(Part::Thought(clip(&text))),
            Event::Called { call, tool, input } => self.push(Part::Called {
                diff: diff(&tool, &input),
                tool: visible::line(&tool),
                about: visible::clip(&about(&input), 400),
                end: None,
                call,
            }),
            Event::Returned { call: ended, outcome, output, tool } => {
                let word = match outcome {
                    CallOutcome::Done => "ok",
                    CallOutcome::Failed => "failed",
                    CallOutcome::Denied => "denied",
                };
                let output = clip(&output);
                let open = self.parts.iter_mut().rev().find_map(|part| match part {
                    Part::Called { call, end: end @ None, .. } if *call == ended => Some(end),
                    _ => None,
                });
                match open {
                    Some(end) => {
                        self.bytes += output.len();
                        *end = Some((word, output));
                    }
                    None => self.push(Part::Called {
                        call: ended,
                        tool: visible::line(&tool),
                        about: String::new(),
                        diff: vec![],
                        end: Some((word, output)),
                    }),
                }
            }
            Event::Remarked { text } => self.push(Part::Remarked(clip(&text))),
            Event::Ended { is_ok: true, text } => {
                if let Some(text) = text.filter(|text| text.trim() != self.last.trim()) {
                    self.push(Part::Said(text));
                }
            }
            Event::Ended { is_ok: false, text } => {
                self.push(Part::Ended(clip(text.as_deref().unwrap_or("no reason is given"))));
            }
        }
    }
}

/// What a call changes, as lines with a sign and a colour.
fn diff(tool: &str, input: &serde_json::Value) -> Vec<(&'static str, String)> {
    let mut lines = vec![];
    for edit in edits(tool, input) {
        let side = |kind, sign: char, text: &str| {
            clip(text).lines().map(|line| (kind, format!("{sign} {line}"))).collect::<Vec<_>>()
        };
        lines.extend(side("del", '-', &edit.old));
        lines.extend(side("add", '+', &edit.new));
    }
    lines
}

/// The beginning of a text, without anything that a screen would obey.
pub(super) fn clip(text: &str) -> String {
    visible::beginning(text, PART)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::{Clock, SystemClock};
    use crate::post::{Caller, Post};

    fn texts(window: &Window) -> Vec<String> {
        let text = |part: &Part| match part {
            Part::Said(html) => html.replace("<p>", "").replace("</p>", "").trim().to_owned(),
            other => format!("{other:?}"),
        };
        window.parts.iter().map(text).collect()
    }

    #[test]
    fn a_window_is_bounded_grows_and_can_be_moved_back() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("room");
        let post = Post::open_or_make(&path, Caller::default(), Arc::new(SystemClock)).unwrap();
        let runs = Runs::open(post.room()).unwrap();
        let open = runs.begin(SystemClock.now()).unwrap();
        let record = serde_json::json!({"v": 1, "id": open.id, "mailbox": "m", "agent": "a", "message": "m", "file": "f",
            "from": "b", "thread": "t", "attempt": 1, "started": "2026-11-18T10:00:00Z", "state": "running", "preset": "claude"});
        let run: Run = serde_json::from_value(record).unwrap();
        let line = |number: usize| {
            let text = serde_json::json!([{"type": "text", "text": format!("part {number}")}]);
            format!("{}\n", serde_json::json!({"type": "assistant", "message": {"content": text}}))
        };
        let out = path.join(".dispatch/runs").join(&open.id).join("out");
        let lines = |range: std::ops::Range<usize>| range.map(line).collect::<String>();
        std::fs::write(&out, lines(0..1000)).unwrap();
        let all = Transcripts::default();
        let window = all.latest(&runs, &run).unwrap();
        assert_eq!((window.parts.len(), window.earlier), (PARTS, 700));
        assert_eq!(texts(&window).last().unwrap(), "part 999");
        std::fs::write(&out, lines(0..1002)).unwrap();
        let window = all.latest(&runs, &run).unwrap();
        assert_eq!((window.parts.len(), window.earlier), (PARTS, 702));
        assert_eq!(texts(&window)[PARTS - 2..], ["part 1000", "part 1001"]);
        let window = Transcripts::before(&runs, &run, 702).unwrap();
        assert_eq!(
            (texts(&window).first().unwrap().as_str(), texts(&window).last().unwrap().as_str()),
            ("part 402", "part 701")
        );
        let long = "x".repeat(40_000) + "\n";
        std::fs::write(&out, long.repeat(100)).unwrap();
        let text = Run { preset: "command".into(), id: run.id.clone(), ..run };
        let window = Transcripts::default().latest(&runs, &text).unwrap();
        let bytes: usize = window.parts.iter().map(Part::size).sum();
        assert!(bytes <= BYTES && window.earlier > 0, "{bytes}");
    }
}
