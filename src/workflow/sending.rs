//! Sends and withdraws requests to agents and questions to people, up to the limit of open ones and until they time
//! out. A message that cannot be sent is recorded as a failed answer in the run's own mail.

use std::collections::VecDeque;
use std::time::Duration;

use super::engine::{Answer, Ask, AskKind};
use super::mail;
use super::request::{self, recipient};
use super::run_mail;
use super::runs::Runs;
use super::turn::Turn;
use crate::clock::Timestamp;
use crate::name::{MailboxId, MessageId};
use crate::post::{Error, Failure, HOPS, Letter, Post, Result};
use crate::span;

impl Turn {
    /// The number of requests that agents have.
    fn outstanding(&self) -> usize {
        let with = |ask: &&Ask| matches!(ask.kind, AskKind::Work { .. });
        self.engine.open().values().filter(with).filter(|ask| self.is_out(&ask.id)).count()
    }

    /// Sends pending asks, up to the limit. `true` if that produced mail for the run.
    pub(super) fn send(&mut self, post: &Post, runs: &Runs) -> Result<bool> {
        let mut learned = false;
        let mut left = self.engine.definition().parallel.saturating_sub(self.outstanding());
        let mut waiting = VecDeque::new();
        while let Some((ask, first)) = self.pending.pop_front() {
            if !self.engine.open().contains_key(&ask.id) || self.sent.contains_key(&ask.id) {
                continue;
            }
            let work = matches!(ask.kind, AskKind::Work { .. });
            if self.adopted.contains_key(&ask.id) || matches!(ask.kind, AskKind::Command { .. }) {
                continue;
            }
            if work && left == 0 {
                waiting.push_back((ask, first));
                continue;
            }
            let letter = self.letter(&ask);
            match self.deliver(post, &ask, &letter, first) {
                Ok(()) => {
                    left -= usize::from(work);
                    let now = post.room().clock().now();
                    runs.note_sent(&self.record.id, &ask.id, now)?;
                    self.sent.insert(ask.id, now);
                }
                // An unknown name or a too long text: a retry would fail in the same way.
                Err(e)
                    if matches!(e.code(), Failure::Unknown | Failure::Refused)
                        && !matches!(e, Error::Full { .. }) =>
                {
                    self.learn(post, &ask, "not sent", &format!("it could not be sent: {e}"))?;
                    learned = true;
                }
                Err(e) => {
                    self.remarks.push(e.to_string());
                    // It may have arrived, so the next attempt searches for it.
                    waiting.push_back((ask, false));
                }
            }
        }
        self.pending = waiting;
        Ok(learned)
    }

    fn letter(&self, ask: &Ask) -> Letter {
        let step = &self.engine.definition().steps[ask.step];
        let (subject, body) = match &ask.kind {
            AskKind::Work { subject, body, .. } | AskKind::Approval { subject, body, .. } => (subject, body),
            AskKind::Command { text, .. } => (&step.name, text),
        };
        let mut extra = vec![
            ("workflow".to_owned(), self.record.id.clone()),
            ("step".to_owned(), step.level.to_string()),
            ("step_name".to_owned(), step.name.clone()),
        ];
        extra.extend(step.foreach.as_ref().map(|_| ("item".to_owned(), (ask.item + 1).to_string())));
        extra.extend(self.record.hops.map(|hops| (HOPS.to_owned(), hops.saturating_add(1).to_string())));
        Letter {
            subject: Some(subject.clone()),
            body: body.clone(),
            channel: Some(self.record.id.clone()),
            allow_secrets: true,
            extra,
            ..Letter::default()
        }
    }

    fn deliver(&self, post: &Post, ask: &Ask, letter: &Letter, first: bool) -> Result<()> {
        let Some(name) = recipient(ask) else { return Ok(()) };
        let now;
        let (post, to) = match post.addressee(name) {
            // The registry may have gained the mailbox since this process began.
            Err(Error::UnknownName { .. }) => {
                now = post.again()?;
                (&now, now.addressee(name)?)
            }
            to => (post, to?),
        };
        run_mail::check_sent(run_mail::send(post, &self.me, &to, letter, &ask.id, first)?)
    }

    /// Records in the run's mail that an ask failed.
    fn learn(&self, post: &Post, ask: &Ask, what: &str, why: &str) -> Result<()> {
        let step = &self.engine.definition().steps[ask.step].name;
        let id = MessageId::derived(format!("{what} {}", ask.id).as_bytes());
        let note = mail::note(&format!("{step}: {what}"), &ask.id, why, true);
        run_mail::note_to_self(post, &self.me, &note, &id)
    }

    /// Gives up requests whose work takes too long. Also returns the time until the next one will.
    pub(super) fn time_out(&mut self, post: &Post, runs: &Runs) -> Result<(bool, Option<Duration>)> {
        if self.engine.definition().steps.iter().all(|step| step.timeout.is_none()) {
            return Ok((false, None));
        }
        let now = post.room().clock().now();
        let (mut late, mut due): (bool, Option<Duration>) = (false, None);
        let limited = |ask: &&Ask| ask.timeout.is_some() && self.is_out(&ask.id);
        for ask in self.engine.open().values().filter(limited).cloned().collect::<Vec<_>>() {
            let Some(limit) = ask.timeout else { continue };
            let waited = self.begun(post, runs, &ask)?.map_or(Duration::ZERO, |at| now.since(at));
            if waited < limit {
                due = Some(due.map_or(limit - waited, |due| due.min(limit - waited)));
                continue;
            }
            let why = format!("no answer came within {} of the start of its work", span::measured(limit));
            self.take_back(post, &ask, &why);
            self.learn(post, &ask, "timed out", &why)?;
            late = true;
        }
        Ok((late, due))
    }

    /// Whether a request was sent, by the run or by an agent.
    pub(super) fn is_out(&self, id: &MessageId) -> bool {
        self.sent.contains_key(id) || self.adopted.contains_key(id)
    }

    /// When the work on a request began. The note of an attempt that ended without an answer does not count.
    fn begun(&mut self, post: &Post, runs: &Runs, ask: &Ask) -> Result<Option<Timestamp>> {
        let sent_by_agent = self.adopted.get(&ask.id).map(|found| (&found.to, &found.id));
        let (to, id) = match sent_by_agent {
            Some((to, id)) => (MailboxId::parse(to).ok(), MessageId::parse_lenient(id).ok()),
            None => (recipient(ask).and_then(|name| post.addressee(name).ok()), Some(ask.id.clone())),
        };
        let (Some(to), Some(id)) = (to, id) else { return Ok(None) };
        let noted = self.begun.get(&ask.id).copied();
        let at = request::begun(post, &to, &id, noted)?;
        if at != noted {
            // In the file too, because another carrier may continue from there.
            runs.note_begun(&self.record.id, &ask.id, at)?;
            match at {
                Some(at) => self.begun.insert(ask.id.clone(), at),
                None => self.begun.remove(&ask.id),
            };
        }
        Ok(at)
    }

    /// Takes back a request that nobody waits for, begun by the dispatcher or not: its agent would work for nothing,
    /// and block the next attempt. Other requests that the same agent run works on are not touched.
    fn take_back(&self, post: &Post, ask: &Ask, why: &str) {
        self.withdraw(post, ask);
        if let AskKind::Work { to, .. } = &ask.kind
            && let Ok(to) = post.addressee(to)
        {
            let _ = run_mail::revoke(post, &self.me, &to, &ask.id, why);
        }
    }

    /// Withdraws a request that nobody has begun. If somebody has, the answer is ignored.
    pub(super) fn withdraw(&self, post: &Post, ask: &Ask) {
        if let Some(Ok(to)) = recipient(ask).map(|name| post.addressee(name)) {
            let _ = run_mail::withdraw(post, &self.me, &to, &ask.id);
        }
    }

    /// In a tree a failed request would block all later steps of the run, so it is set aside.
    pub(super) fn make_way(&self, post: &Post, id: &MessageId, answer: &Answer) {
        let Some(AskKind::Work { to, .. }) = self.engine.open().get(id).map(|ask| &ask.kind) else { return };
        if answer.failed.is_some()
            && let Ok(to) = post.addressee(to)
        {
            let _ = run_mail::put_failed_away(post, &to, id);
        }
    }
}
