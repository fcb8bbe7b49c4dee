//! Stats: per mailbox, how much mail it gets, how long that waits and how long the work takes, within a span and in each of
//! its steps; and the bottleneck, the mailbox in which mail waited longest. They come from the journal, and are as complete
//! as it is.

use std::time::Duration;

use super::line::counted;
use super::mail_counts::MailCounts;
use super::{Post, Result};
use crate::clock::Timestamp;
use crate::journal;
use crate::span;

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
    /// How long messages have waited within the span that still wait.
    pub still_waiting: Vec<Duration>,
    /// The equal parts of the span, oldest first.
    pub steps: Vec<StepFigures>,
}

/// The figures of one mailbox in one step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepFigures {
    pub received: usize,
    pub finished: usize,
    pub failed: usize,
    /// The messages that waited at its end.
    pub depth: usize,
    /// Of messages whose waiting ended in this step, sorted.
    pub waiting: Vec<Duration>,
    /// Of messages whose processing ended in this step, sorted.
    pub processing: Vec<Duration>,
}

impl Figures {
    pub(super) fn new(mailbox: &str, steps: usize) -> Self {
        let steps = vec![StepFigures::default(); steps];
        Self { mailbox: mailbox.to_owned(), steps, ..Self::default() }
    }

    /// Messages received in each step.
    pub fn arrivals(&self) -> Vec<usize> {
        self.steps.iter().map(|step| step.received).collect()
    }

    /// The figures of all mailboxes together. Its name is empty.
    pub fn of_all(all: &[Self]) -> Self {
        let mut sum = Self::new("", all.iter().map(|one| one.steps.len()).max().unwrap_or(0));
        for one in all {
            sum.received += one.received;
            sum.sent += one.sent;
            sum.finished += one.finished;
            sum.failed += one.failed;
            sum.waiting.extend(&one.waiting);
            sum.processing.extend(&one.processing);
            sum.still_waiting.extend(&one.still_waiting);
            for (sum, step) in sum.steps.iter_mut().zip(&one.steps) {
                sum.received += step.received;
                sum.finished += step.finished;
                sum.failed += step.failed;
                sum.depth += step.depth;
                sum.waiting.extend(&step.waiting);
                sum.processing.extend(&step.processing);
            }
        }
        sum.sort();
        sum
    }

    pub(super) fn sort(&mut self) {
        let steps = self.steps.iter_mut().flat_map(|step| [&mut step.waiting, &mut step.processing]);
        [&mut self.waiting, &mut self.processing, &mut self.still_waiting]
            .into_iter()
            .chain(steps)
            .for_each(|durations| durations.sort());
    }
}

/// The mailbox in which mail waited longest within the span, all messages together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bottleneck {
    pub mailbox: String,
    /// How many messages waited, and how many of them still do.
    pub messages: usize,
    pub still_waiting: usize,
    /// How long each of them waited on average.
    pub waited: Duration,
    /// How long the work on a message took on average; `None` if none was finished.
    pub worked: Option<Duration>,
}

impl Bottleneck {
    /// `None` if no mail waited.
    pub fn of(all: &[Figures]) -> Option<Self> {
        let total = |one: &&Figures| -> Duration { one.waiting.iter().chain(&one.still_waiting).sum() };
        let most = all.iter().filter(|one| !total(one).is_zero()).max_by_key(total)?;
        let mean = |sum: Duration, count: usize| sum / u32::try_from(count).unwrap_or(u32::MAX).max(1);
        let messages = most.waiting.len() + most.still_waiting.len();
        let worked = mean(most.processing.iter().sum(), most.processing.len());
        Some(Self {
            mailbox: most.mailbox.clone(),
            messages,
            still_waiting: most.still_waiting.len(),
            waited: mean(total(&most), messages),
            worked: (!most.processing.is_empty()).then_some(worked),
        })
    }

    /// One sentence for people; `name`: of the mailbox.
    pub fn sentence(&self, name: &str) -> String {
        let waited =
            format!("{} waited {} on average", counted(self.messages, "message"), span::spoken(self.waited));
        let still = match self.still_waiting {
            0 => String::new(),
            still => format!(" and {still} still {}", if still == 1 { "waits" } else { "wait" }),
        };
        let worked = self.worked.map(|worked| format!(", while it worked {} on each", span::spoken(worked)));
        format!("the bottleneck is {name}: {waited}{still}{}", worked.unwrap_or_default())
    }
}

/// The value below which this share of the sorted durations falls.
pub fn quantile(sorted: &[Duration], share: f64) -> Option<Duration> {
    let at = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
    sorted.get(at).copied()
}

impl Post {
    /// The figures of every mailbox that was active within the span, sorted by id.
    pub fn stats(&self, span: Duration) -> Result<Vec<Figures>> {
        self.stats_in_steps(span, STEPS)
    }

    /// [`Post::stats`] with another number of steps.
    pub fn stats_in_steps(&self, span: Duration, steps: usize) -> Result<Vec<Figures>> {
        let now = self.now();
        let seconds = i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
        let start = Timestamp::from_parts(now.seconds().saturating_sub(seconds), 0);
        let mut counted = MailCounts::new(start, span, steps.max(1));
        for day in journal::days(&self.room)? {
            // Earlier days tell when something that ended within the span began.
            journal::each(&self.room, &day, |event| {
                if let Some(time) = Timestamp::parse(&event.time) {
                    counted.take(&event, time);
                }
            })?;
        }
        Ok(counted.figures(now))
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
}
