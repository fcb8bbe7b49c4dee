//! Counts of mail over time, for [`Post::stats`](super::Post::stats): events go in, one by one and oldest first, and the figures of
//! each mailbox come out.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use super::links::digest;
use super::stats::Figures;
use super::symbols::Symbols;
use crate::clock::Timestamp;
use crate::journal::EventLine;

/// Messages that came to a mailbox, less those that left it, before the span and in each step.
#[derive(Default)]
struct Flux {
    before: i64,
    steps: BTreeMap<usize, i64>,
}

pub(super) struct MailCounts {
    start: Timestamp,
    span: Duration,
    steps: usize,
    figures: BTreeMap<String, Figures>,
    mailboxes: Symbols,
    queued: HashMap<Key, Timestamp>,
    claimed: HashMap<Key, Timestamp>,
    /// What waits, and how that changed.
    inside: HashSet<Key>,
    flux: HashMap<u32, Flux>,
}

/// A mailbox, and the digest of the id of a message: no id is needed again.
type Key = (u32, u64);

impl MailCounts {
    pub(super) fn new(start: Timestamp, span: Duration, steps: usize) -> Self {
        Self {
            start,
            span,
            steps,
            figures: BTreeMap::new(),
            mailboxes: Symbols::default(),
            queued: HashMap::new(),
            claimed: HashMap::new(),
            inside: HashSet::new(),
            flux: HashMap::new(),
        }
    }

    fn of(&mut self, mailbox: &str) -> &mut Figures {
        let steps = self.steps;
        self.figures.entry(mailbox.to_owned()).or_insert_with(|| Figures::new(mailbox, steps))
    }

    pub(super) fn take(&mut self, event: &EventLine<'_>, time: Timestamp) {
        let within = time >= self.start;
        let step = self.step(time);
        let at = if event.mailbox.is_empty() { &event.by } else { &event.mailbox };
        let key = (self.mailboxes.number(at), digest(&event.id, ""));
        match &*event.event {
            "sent" => {
                let received = (self.mailboxes.number(&event.to), key.1);
                // An answer waits for nobody.
                if event.reply_to.is_empty() {
                    self.move_one(received, 1, time);
                }
                self.queued.insert(received, time);
                if within {
                    // An answer to a file outside of the room has no receiving mailbox.
                    if !event.to.is_empty() {
                        let received = self.of(&event.to);
                        received.received += 1;
                        received.steps[step].received += 1;
                    }
                    self.of(&event.by).sent += 1;
                }
            }
            "shown" | "answered" | "claimed" => {
                if event.event == "claimed" {
                    self.claimed.insert(key, time);
                }
                self.move_one(key, -1, time);
                let waited = self.queued.remove(&key).map(|since| time.since(since));
                if within {
                    let finished = usize::from(event.event != "claimed");
                    let figures = self.of(at);
                    figures.finished += finished;
                    figures.waiting.extend(waited);
                    figures.steps[step].finished += finished;
                    figures.steps[step].waiting.extend(waited);
                }
            }
            "done" | "failed" => {
                self.move_one(key, -1, time);
                let worked = self.claimed.remove(&key).map(|since| time.since(since));
                if within {
                    let failed = usize::from(event.event == "failed");
                    let figures = self.of(at);
                    figures.processing.extend(worked);
                    figures.failed += failed;
                    figures.finished += 1 - failed;
                    let step = &mut figures.steps[step];
                    step.processing.extend(worked);
                    step.failed += failed;
                    step.finished += 1 - failed;
                }
            }
            "released" | "expired" | "retried" | "unarchived" => self.move_one(key, 1, time),
            "archived" | "withdrawn" | "quarantined" => self.move_one(key, -1, time),
            _ => {}
        }
    }

    /// Notes that a message came to wait (1), or does not wait any more (-1). What is known already changes nothing.
    fn move_one(&mut self, key: Key, by: i64, time: Timestamp) {
        let is_new = if by > 0 { self.inside.insert(key) } else { self.inside.remove(&key) };
        if !is_new || self.mailboxes.word(key.0).is_empty() {
            return;
        }
        let (step, within) = (self.step(time), time >= self.start);
        let flux = self.flux.entry(key.0).or_default();
        match within {
            true => *flux.steps.entry(step).or_default() += by,
            false => flux.before += by,
        }
    }

    fn step(&self, time: Timestamp) -> usize {
        let share = time.since(self.start).as_secs_f64() / self.span.as_secs_f64().max(1.0);
        ((share * self.steps as f64) as usize).min(self.steps - 1)
    }

    pub(super) fn figures(mut self, now: Timestamp) -> Vec<Figures> {
        for key in std::mem::take(&mut self.inside) {
            let mailbox = self.mailboxes.word(key.0).to_owned();
            let since = self.queued.get(&key).copied().filter(|_| !mailbox.is_empty());
            if let Some(since) = since {
                let waited = now.since(since.max(self.start));
                self.of(&mailbox).still_waiting.push(waited);
            }
        }
        for (mailbox, flux) in std::mem::take(&mut self.flux) {
            let Some(figures) = self.figures.get_mut(self.mailboxes.word(mailbox)) else { continue };
            let mut depth = flux.before;
            for (number, step) in figures.steps.iter_mut().enumerate() {
                depth += flux.steps.get(&number).copied().unwrap_or_default();
                step.depth = usize::try_from(depth).unwrap_or(0);
            }
        }
        let mut all: Vec<Figures> = self.figures.into_values().collect();
        all.iter_mut().for_each(Figures::sort);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::post::{Bottleneck, STEPS};

    #[test]
    fn waiting_ends_when_shown_and_work_when_done() {
        let at = |s: i64| Timestamp::from_parts(s, 0);
        let mut counted = MailCounts::new(at(0), Duration::from_secs(240), STEPS);
        let event =
            |what: &'static str, by: &'static str, to: &'static str, mailbox: &'static str| EventLine {
                event: what.into(),
                by: by.into(),
                id: "m".into(),
                to: to.into(),
                mailbox: mailbox.into(),
                ..EventLine::default()
            };
        counted.take(&event("sent", "a", "q", ""), at(10));
        counted.take(&event("claimed", "w", "", "q"), at(15));
        counted.take(&event("done", "w", "", "q"), at(35));
        let queue = &counted.figures["q"];
        assert_eq!((queue.received, queue.finished, queue.arrivals()[1]), (1, 1, 1));
        assert_eq!(queue.waiting, [Duration::from_secs(5)]);
        assert_eq!(queue.processing, [Duration::from_secs(20)]);
        assert_eq!(counted.figures["a"].sent, 1);
    }

    #[test]
    fn a_queue_grows_and_shrinks_step_by_step_and_the_longest_waiting_is_the_bottleneck() {
        let at = |s: i64| Timestamp::from_parts(s, 0);
        let mut counted = MailCounts::new(at(1000), Duration::from_secs(100), 4);
        let mut take = |second: i64, what: &str, id: &str, mailbox: &str| {
            let event =
                EventLine { event: what.into(), by: "a".into(), id: id.into(), ..EventLine::default() };
            let event = match what {
                "sent" => EventLine { to: mailbox.into(), ..event },
                _ => EventLine { mailbox: mailbox.into(), ..event },
            };
            counted.take(&event, at(second));
        };
        take(900, "sent", "old", "q");
        take(910, "sent", "gone", "q");
        take(920, "archived", "gone", "q");
        take(1010, "sent", "one", "q");
        take(1030, "claimed", "old", "q");
        take(1040, "sent", "two", "q");
        take(1051, "failed", "old", "q");
        take(1055, "retried", "old", "q");
        take(1060, "sent", "x", "fast");
        take(1061, "shown", "x", "fast");
        take(1080, "claimed", "one", "q");
        take(1090, "done", "one", "q");
        let all = counted.figures(at(1100));
        let queue = all.iter().find(|one| one.mailbox == "q").unwrap();
        assert_eq!(queue.steps.iter().map(|step| step.depth).collect::<Vec<_>>(), [2, 2, 3, 2]);
        assert_eq!(queue.arrivals(), [1, 1, 0, 0]);
        assert_eq!(
            queue.steps.iter().map(|step| (step.finished, step.failed)).collect::<Vec<_>>(),
            [(0, 0), (0, 0), (0, 1), (1, 0)]
        );
        let seconds = |list: &[Duration]| list.iter().map(Duration::as_secs).collect::<Vec<_>>();
        assert_eq!((seconds(&queue.waiting), seconds(&queue.steps[1].waiting)), (vec![70, 130], vec![130]));
        assert_eq!(seconds(&queue.still_waiting), [60], "the one that was retried was claimed before");

        let room = Figures::of_all(&all);
        assert_eq!((room.received, room.steps[2].received, room.steps[3].depth), (3, 1, 2));
        assert_eq!(seconds(&room.waiting), [1, 70, 130]);
        let slow = Bottleneck::of(&all).unwrap();
        assert_eq!((slow.mailbox.as_str(), slow.messages, slow.still_waiting), ("q", 3, 1));
        assert_eq!(
            slow.sentence("reviewer"),
            "the bottleneck is reviewer: 3 messages waited 1 min on average and 1 still waits, while it worked 15 s on each"
        );
        assert_eq!(Bottleneck::of(&[]), None);
    }
}
