//! Ask: sends a question, waits for the answer, and reports the state of the question if none came. Also waits for the
//! fate of a sent message.

use std::time::Duration;

use super::claim::is_bounce;
use super::trace::MessageState;
use super::{Awaited, Destination, Error, Filter, Letter, Me, Opened, Outcome, Post, Receipt, Result};
use crate::mailbox::Folder;
use crate::name::MailboxId;
use crate::wait::Watch;

/// How a question ended.
#[derive(Debug)]
pub struct Asked {
    pub receipt: Receipt,
    pub answer: Option<Opened>,
    /// The answer says that processing of the question was given up.
    pub bounced: bool,
    /// The state of the question at the timeout.
    pub state: Option<MessageState>,
}

/// The event that a sender may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    Shown,
    Done,
    Reply,
}

/// How a wait for the fate of a message ended.
#[derive(Debug)]
pub enum Fate {
    Reached(MessageState),
    /// It cannot happen any more: the message failed, or was archived unread.
    Missed(MessageState),
    TimedOut(Option<MessageState>),
}

impl Post {
    /// Sends a question to one name and waits for its answer.
    pub fn ask(&self, me: &Me, letter: &Letter, timeout: Duration) -> Result<Asked> {
        let [name] = letter.to.as_slice() else { return Err(Error::AskOne) };
        if name.starts_with('@') {
            return Err(Error::AskOne);
        }
        self.may_open(&me.id)?;
        let Some(receipt) = self.send(me, letter)?.pop() else { return Err(Error::AskOne) };
        if matches!(receipt.outcome, Outcome::Failed(_)) {
            return Ok(Asked { receipt, answer: None, bounced: false, state: None });
        }
        // The worker of a queue answers in its own name, so an answer from any sender counts.
        let answer = self.await_answer(me, &receipt, None, timeout)?;
        let state = match answer {
            Some(_) => None,
            None => self.state_of_sent(&receipt)?,
        };
        let bounced = answer.as_ref().is_some_and(|a| is_bounce(&a.message.envelope));
        Ok(Asked { receipt, answer, bounced, state })
    }

    /// The state of a sent message; `None` if it cannot be found.
    fn state_of_sent(&self, receipt: &Receipt) -> Result<Option<MessageState>> {
        match &receipt.to {
            Destination::Here(to) => self.state_of(receipt.id.as_str(), to.as_str()),
            Destination::Elsewhere { id, room } => {
                self.there(room)?.state_of(receipt.id.as_str(), id.as_str())
            }
            Destination::File => Ok(None),
        }
    }

    fn await_answer(
        &self,
        me: &Me,
        receipt: &Receipt,
        from: Option<MailboxId>,
        timeout: Duration,
    ) -> Result<Option<Opened>> {
        let filter = Filter { reply_to: Some(receipt.id.clone()), from, ..Filter::default() };
        let Awaited::Mail(checked) = self.wait(me, &filter, 1, timeout, None)? else { return Ok(None) };
        for header in checked.headers {
            let read = self.message(&me.mailbox, Folder::Inbox, &header.name);
            if let Ok(Some((message, time))) = read {
                return Ok(Some(self.opened(me, Folder::Inbox, &header.name, message, time)));
            }
        }
        Ok(None)
    }

    /// The reason for a bounce that has arrived. The bounce is sent before the message leaves its claim, so the reason
    /// may be recorded a moment later.
    fn given_up(&self, receipt: &Receipt) -> Result<MessageState> {
        let clock = self.room.clock();
        let start = clock.boot();
        while clock.boot().saturating_sub(start) < GRACE {
            if let Some(failed @ MessageState::Failed(_)) = self.state_of_sent(receipt)? {
                return Ok(failed);
            }
            crate::mailbox::pause(Duration::from_millis(20));
        }
        Ok(MessageState::Failed("it was given up; the bounce says why".to_owned()))
    }

    /// Blocks until a sent message has reached this state. `alone`: no other copy was sent, so an answer from anyone is
    /// for this copy.
    pub fn await_fate(
        &self,
        me: &Me,
        receipt: &Receipt,
        until: Until,
        alone: bool,
        timeout: Duration,
    ) -> Result<Fate> {
        let state = || self.state_of_sent(receipt);
        if until == Until::Reply {
            let from = receipt.to.id().filter(|_| !alone).cloned();
            return Ok(match self.await_answer(me, receipt, from, timeout)? {
                Some(answer) if is_bounce(&answer.message.envelope) => Fate::Missed(self.given_up(receipt)?),
                Some(answer) => Fate::Reached(MessageState::Answered(answer.time.to_string())),
                None => Fate::TimedOut(state()?),
            });
        }
        let clock = self.room.clock();
        let start = clock.boot();
        let inbox = match &receipt.to {
            Destination::Here(id) => self.mailbox(id)?.path(Folder::Inbox, ""),
            Destination::Elsewhere { id, room } => self.there(room)?.mailbox(id)?.path(Folder::Inbox, ""),
            Destination::File => return Ok(Fate::TimedOut(None)),
        };
        let mut unexplained = None;
        loop {
            // Every change of its state moves it out of the inbox, the one place where it certainly was.
            let mut watch = Watch::on_leaving(&inbox);
            let now = state()?;
            let waited = clock.boot().saturating_sub(start);
            match now {
                Some(MessageState::Shown(_) | MessageState::Done(_) | MessageState::Answered(_)) => {
                    return Ok(reached(now));
                }
                Some(MessageState::Claimed(_) | MessageState::Working) if until == Until::Shown => {
                    return Ok(reached(now));
                }
                Some(MessageState::Filed(_) | MessageState::Failed(_)) => {
                    return Ok(Fate::Missed(now.unwrap_or(MessageState::NoEvidence)));
                }
                // The journal's line follows the move. After this delay no explanation will come.
                Some(MessageState::NoEvidence)
                    if clock.boot() > *unexplained.get_or_insert(clock.boot()) + GRACE =>
                {
                    return Ok(reached(now));
                }
                Some(MessageState::NoEvidence) => watch = Watch::polling(Duration::from_millis(50)),
                // Claimed and not done: no event tells the end, so the state is polled.
                Some(MessageState::Claimed(_) | MessageState::Working) => {
                    watch = Watch::polling(Duration::from_secs(1))
                }
                Some(MessageState::Queued) | None => {}
            }
            if waited >= timeout {
                return Ok(Fate::TimedOut(now));
            }
            watch.sleep(timeout - waited);
        }
    }
}

/// How long after a move the journal may still record the reason.
const GRACE: Duration = Duration::from_secs(2);

fn reached(state: Option<MessageState>) -> Fate {
    Fate::Reached(state.unwrap_or(MessageState::NoEvidence))
}
