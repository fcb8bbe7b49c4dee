//! Reading the transcript of a run piece by piece while it goes on, or going on from where a reader was before.
//!
//! A place in the output is a number of bytes, which never changes its meaning: output only grows, and that of a second start
//! follows that of the first. Events that are told in several lines belong to the place where they are complete, so a
//! reader that goes on there hears each event once.

use super::runs::{Run, RunState, Runs};
use crate::mailbox::IfAny;
use crate::mailbox::fault::Result;
use crate::process::transcript::{Event, Transcript};

/// How much output is read at once.
const LIMIT: usize = 64 * 1024 * 1024;

/// A transcript in the reading.
#[derive(Debug)]
pub struct RunReader {
    run: Run,
    transcript: Transcript,
    seen: u64,
}

/// What came since the last look.
#[derive(Debug)]
pub struct Piece {
    /// The run as it is now. One whose supervisor is dead has not ended: the next dispatch ends it.
    pub run: Run,
    pub events: Vec<Event>,
    /// Whether nothing will follow.
    pub has_ended: bool,
}

impl RunReader {
    /// Reads from the beginning.
    pub fn of(run: &Run) -> Self {
        Self { run: run.clone(), transcript: Transcript::of(&run.preset), seen: 0 }
    }

    /// Goes on where another reader of this run was ([`RunReader::seen`]).
    pub fn from(runs: &Runs, run: &Run, seen: u64) -> Result<Self> {
        let mut reader = Self::of(run);
        while reader.seen < seen {
            let wanted = usize::try_from(seen - reader.seen).unwrap_or(LIMIT).min(LIMIT);
            let bytes = runs.output_from(&run.id, reader.seen, wanted)?;
            if bytes.is_empty() {
                break;
            }
            reader.seen += bytes.len() as u64;
            reader.transcript.take(&bytes);
        }
        Ok(reader)
    }

    /// What came since. A run that has ended also ends the text that was not complete.
    pub fn next(&mut self, runs: &Runs) -> Result<Piece> {
        // In this order: what was printed before the end is in the output.
        let run = runs.seen(&self.run.id)?.unwrap_or_else(|| self.run.clone());
        let bytes = runs.output_from(&run.id, self.seen, LIMIT)?;
        self.seen += bytes.len() as u64;
        let mut events = self.transcript.take(&bytes);
        let has_ended = run.state != RunState::Running && bytes.len() < LIMIT;
        if has_ended {
            events.extend(self.transcript.end());
        }
        Ok(Piece { run, events, has_ended })
    }

    /// Ends the text of a run that goes on, for a reader that does not.
    pub fn end(&mut self) -> Vec<Event> {
        self.transcript.end()
    }

    /// How many bytes of the output were read.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// How many lines were not understood.
    pub fn skipped(&self) -> usize {
        self.transcript.skipped()
    }
}

impl Runs {
    /// The standard output of a run from a place on, including its second start.
    fn output_from(&self, id: &str, from: u64, limit: usize) -> Result<Vec<u8>> {
        let dir = self.dir_of(id)?;
        // In this order: when a second start has begun, the output of the first does not grow any more.
        let again = dir.open_file("out-again").if_any()?;
        let Some(mut first) = dir.open_file("out").if_any()? else { return Ok(vec![]) };
        let end = u64::try_from(first.stat.st_size).unwrap_or(0);
        let mut bytes = first.piece(from, limit)?;
        if let Some(mut again) = again
            && bytes.len() < limit
        {
            bytes.extend(again.piece(from.saturating_sub(end), limit - bytes.len())?);
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, SystemClock};
    use crate::room::Room;

    fn said(events: &[Event]) -> Vec<&str> {
        let mut texts = vec![];
        for event in events {
            let Event::Said { text } = event else { panic!("{event:?}") };
            texts.push(text.trim_end());
        }
        texts
    }

    #[test]
    fn a_reader_hears_each_event_once_and_goes_on_where_another_was() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("room");
        let runs = Runs::open(&Room::open_or_make(&path, std::sync::Arc::new(SystemClock)).unwrap()).unwrap();
        let open = runs.begin(SystemClock.now()).unwrap();
        let record = serde_json::json!({"v": 1, "id": open.id, "mailbox": "m", "agent": "a", "message": "x", "file": "f",
            "from": "u", "thread": "t", "attempt": 1, "started": "s", "state": "running", "preset": "codex"});
        let mut run: Run = serde_json::from_value(record).unwrap();
        runs.record(&open.dir, &run).unwrap();
        let line = |text: &str| {
            let item = serde_json::json!({"id": "i", "type": "agent_message", "text": text});
            serde_json::json!({"type": "item.completed", "item": item}).to_string()
        };
        let mut reader = RunReader::of(&run);
        assert!(reader.next(&runs).unwrap().events.is_empty(), "it has printed nothing");

        let (one, two) = (line("one"), line("two"));
        open.dir.append("out", format!("{one}\n{}", &two[..9]).as_bytes()).unwrap();
        assert_eq!(said(&reader.next(&runs).unwrap().events), ["one"]);
        let place = reader.seen();
        assert_eq!(place, (one.len() + 1 + 9) as u64);
        open.dir.append("out", format!("{}\n", &two[9..]).as_bytes()).unwrap();
        open.dir.append("out-again", format!("{}\n", line("three")).as_bytes()).unwrap();
        assert_eq!(said(&reader.next(&runs).unwrap().events), ["two", "three"]);
        assert!(reader.next(&runs).unwrap().events.is_empty());

        let mut other = RunReader::from(&runs, &run, place).unwrap();
        assert_eq!(said(&other.next(&runs).unwrap().events), ["two", "three"]);
        let mut other = RunReader::from(&runs, &run, reader.seen() + 99).unwrap();
        assert_eq!(other.seen(), reader.seen());
        assert!(!other.next(&runs).unwrap().run.is_interrupted, "its supervisor lives");
        run.state = RunState::Done;
        runs.record(&open.dir, &run).unwrap();
        let piece = other.next(&runs).unwrap();
        assert!(piece.has_ended && piece.events.is_empty() && other.skipped() == 0, "{piece:?}");
        runs.close(open);
    }

    #[test]
    fn a_run_whose_supervisor_is_dead_is_interrupted() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("room");
        let runs = Runs::open(&Room::open_or_make(&path, std::sync::Arc::new(SystemClock)).unwrap()).unwrap();
        let open = runs.begin(SystemClock.now()).unwrap();
        let record = serde_json::json!({"v": 1, "id": open.id, "mailbox": "m", "agent": "a", "message": "x", "file": "f",
            "from": "u", "thread": "t", "attempt": 1, "started": "s", "state": "running", "preset": "codex"});
        let run: Run = serde_json::from_value(record).unwrap();
        runs.record(&open.dir, &run).unwrap();
        drop(open);
        let piece = RunReader::of(&run).next(&runs).unwrap();
        assert!(piece.run.is_interrupted && !piece.has_ended, "{piece:?}");
    }
}
