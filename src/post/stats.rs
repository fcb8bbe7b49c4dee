//! Stats: per mailbox, how much mail it gets, how long that waits and how long the work takes, within a span. They come
//! from the journal, and are as complete as it is.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::{Post, Result};
use crate::clock::Timestamp;
use crate::journal::{self, Event};

/// Number of steps of a sparkline.
pub const STEPS: usize = 24;

/// The figures of one mailbox.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    pub mailbox: String,
    pub received: usize,
    pub sent: usize,
    pub finished: usize,
    pub failed: usize,
    /// From queued to shown or claimed, sorted.
    pub waiting: Vec<Duration>,
    /// From claimed to done or failed, sorted.
    pub processing: Vec<Duration>,
    /// Messages received in each step of the span, oldest first.
    pub arrivals: [usize; STEPS],
}

/// The value below which this share of the sorted durations falls.
pub fn quantile(sorted: &[Duration], share: f64) -> Option<Duration> {
    let at = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
    sorted.get(at).copied()
}

impl Post {
    /// The figures of every mailbox that was active within the span, sorted by id.
    pub fn stats(&self, span: Duration) -> Result<Vec<Figures>> {
        let now = self.now();
        let seconds = i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
        let start = Timestamp::from_parts(now.seconds().saturating_sub(seconds), 0);
        let mut counted = MailCounts::new(start, span);
        for day in journal::days(&self.room)? {
            // Earlier days tell when something that ended within the span began.
            for event in journal::events(&self.room, &day, 0)?.0 {
                if let Some(time) = Timestamp::parse(&event.time) {
                    counted.take(&event, time);
                }
            }
        }
        let mut all: Vec<Figures> = counted.figures.into_values().collect();
        for figures in &mut all {
            figures.waiting.sort();
            figures.processing.sort();
        }
        Ok(all)
    }
}

struct MailCounts {
    start: Timestamp,
    span: Duration,
    figures: BTreeMap<String, Figures>,
    queued: HashMap<(String, String), Timestamp>,
    claimed: HashMap<(String, String), Timestamp>,
}

impl MailCounts {
    fn new(start: Timestamp, span: Duration) -> Self {
        Self { start, span, figures: BTreeMap::new(), queued: HashMap::new(), claimed: HashMap::new() }
    }

    fn of(&mut self, mailbox: &str) -> &mut Figures {
        self.figures
            .entry(mailbox.to_owned())
            .or_insert_with(|| Figures { mailbox: mailbox.to_owned(), ..Figures::default() })
    }

    fn take(&mut self, event: &Event, time: Timestamp) {
        let within = time >= self.start;
        let at = if event.mailbox.is_empty() { &event.by } else { &event.mailbox };
        let key = (at.clone(), event.id.clone());
        match event.event.as_str() {
            "sent" => {
                self.queued.insert((event.to.clone(), event.id.clone()), time);
                if within {
                    let step = self.step(time);
                    // An answer to a file outside of the room has no receiving mailbox.
                    if !event.to.is_empty() {
                        let received = self.of(&event.to);
                        received.received += 1;
                        received.arrivals[step] += 1;
                    }
                    self.of(&event.by).sent += 1;
                }
            }
            "shown" | "answered" | "claimed" => {
                if event.event == "claimed" {
                    self.claimed.insert(key.clone(), time);
                }
                let waited = self.queued.remove(&key).map(|since| time.since(since));
                if within {
                    let finished = usize::from(event.event != "claimed");
                    let figures = self.of(&key.0);
                    figures.finished += finished;
                    figures.waiting.extend(waited);
                }
            }
            "done" | "failed" => {
                let worked = self.claimed.remove(&key).map(|since| time.since(since));
                if within {
                    let failed = event.event == "failed";
                    let figures = self.of(&key.0);
                    figures.processing.extend(worked);
                    if failed { figures.failed += 1 } else { figures.finished += 1 }
                }
            }
            _ => {}
        }
    }

    fn step(&self, time: Timestamp) -> usize {
        let share = time.since(self.start).as_secs_f64() / self.span.as_secs_f64().max(1.0);
        ((share * STEPS as f64) as usize).min(STEPS - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_few_values() {
        let values: Vec<Duration> = [1, 2, 3, 4].map(Duration::from_secs).to_vec();
        assert_eq!(quantile(&values, 0.5), Some(Duration::from_secs(2)));
        assert_eq!(quantile(&values, 0.9), Some(Duration::from_secs(4)));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn waiting_ends_when_shown_and_work_when_done() {
        let at = |s: i64| Timestamp::from_parts(s, 0);
        let mut counted = MailCounts::new(at(0), Duration::from_secs(240));
        let event = |what: &str, by: &str, to: &str, mailbox: &str| Event {
            id: "m".into(),
            to: to.into(),
            mailbox: mailbox.into(),
            ..Event::new(what, by)
        };
        counted.take(&event("sent", "a", "q", ""), at(10));
        counted.take(&event("claimed", "w", "", "q"), at(15));
        counted.take(&event("done", "w", "", "q"), at(35));
        let queue = &counted.figures["q"];
        assert_eq!((queue.received, queue.finished, queue.arrivals[1]), (1, 1, 1));
        assert_eq!(queue.waiting, [Duration::from_secs(5)]);
        assert_eq!(queue.processing, [Duration::from_secs(20)]);
        assert_eq!(counted.figures["a"].sent, 1);
    }
}
