//! Ask: sends a question once, waits for the answer, and reports the state of the question if none came. Also waits for
//! the fate of a sent message.

use std::collections::HashSet;
use std::time::Duration;

use super::claim::is_bounce;
use super::trace::MessageState;
use super::{Awaited, Destination, Error, Filter, Letter, Me, Opened, Outcome, Post, Receipt, Result};
use crate::clock::Timestamp;
use crate::mailbox::Folder;
use crate::message::{Envelope, envelope};
use crate::name::MailboxId;
use crate::wait::{Stop, Watch};

/// A question that was sent.
#[derive(Debug)]
pub struct Question {
    pub receipt: Receipt,
    /// It was sent by an earlier command and is not answered yet, so it was not sent again.
    pub is_old: bool,
}

/// How a question ended.
#[derive(Debug)]
pub struct Asked {
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
    /// Sends a question to one name. The same question is not sent twice within `wait`, which is how long its asker
    /// means to wait: an earlier command may have been interrupted.
    pub fn ask(&self, me: &Me, letter: &Letter, wait: Duration) -> Result<Question> {
        let [name] = letter.to.as_slice() else { return Err(Error::AskOne) };
        if name.starts_with('@') {
            return Err(Error::AskOne);
        }
        self.may_open(&me.id)?;
        if let Some(receipt) = self.asked_before(me, letter, name, wait)? {
            return Ok(Question { receipt, is_old: true });
        }
        let Some(receipt) = self.send(me, letter)?.pop() else { return Err(Error::AskOne) };
        Ok(Question { receipt, is_old: false })
    }

    /// Waits for the answer to a question. `stop` ends it as if the time were over.
    pub fn await_asked(&self, me: &Me, question: &Receipt, timeout: Duration, stop: &Stop) -> Result<Asked> {
        // The worker of a queue answers in its own name, so an answer from any sender counts.
        let answer = self.await_answer(me, question, None, timeout, Some(stop))?;
        let state = match answer {
            Some(_) => None,
            None => self.state_of_sent(question)?,
        };
        let bounced = answer.as_ref().is_some_and(|a| is_bounce(&a.message.envelope));
        Ok(Asked { answer, bounced, state })
    }

    /// The open question with this text that `me` sent to `name` at most `within` ago. The mailboxes tell: it is there,
    /// nobody has finished it, and no answer was read.
    fn asked_before(
        &self,
        me: &Me,
        letter: &Letter,
        name: &str,
        within: Duration,
    ) -> Result<Option<Receipt>> {
        // An id of the caller's choice says itself what is sent twice.
        if letter.id.is_some() {
            return Ok(None);
        }
        self.check_letter(letter)?;
        let other = self.elsewhere(name)?;
        let (post, id) = match &other {
            Some(other) => (&other.post, other.id.clone()),
            None => (self, self.addressee(name)?),
        };
        let oldest = self.now().minus(within);
        let mailbox = match post.mailbox(&id) {
            // Sending reports it.
            Err(Error::NoMailbox { .. }) => return Ok(None),
            other => other?,
        };
        for folder in mailbox.folders()? {
            for file in mailbox.since(folder, oldest)? {
                let Some(header) = post.header_if_message(&mailbox, folder, &file)? else { continue };
                let envelope = &header.envelope;
                if header.time < oldest || !envelope.from.is(&me.id) || !is_same(letter, envelope) {
                    continue;
                }
                let body = post.message(&mailbox, folder, &file).ok().flatten().map(|(m, _)| m.body);
                if body.is_none_or(|body| body.trim() != letter.body.trim()) {
                    continue;
                }
                let to = match &other {
                    Some(other) => Destination::Elsewhere { id: id.clone(), room: other.room.clone() },
                    None => Destination::Here(id.clone()),
                };
                let receipt = Receipt {
                    id: envelope.id.clone(),
                    name: name.to_owned(),
                    subject: envelope.subject.clone(),
                    to,
                    file,
                    is_beside: false,
                    outcome: Outcome::Already(folder),
                };
                if self.is_open(me, &receipt)? {
                    return Ok(Some(receipt));
                }
            }
        }
        Ok(None)
    }

    /// Whether an answer to a question can still come, or has come and is unread.
    fn is_open(&self, me: &Me, question: &Receipt) -> Result<bool> {
        use MessageState::{Answered, Carried, Claimed, Delivered, Queued, Shown, WaitsForNetwork, Working};
        match self.state_of_sent(question)? {
            Some(Queued | Claimed(_) | Working | Shown(_)) => Ok(true),
            Some(WaitsForNetwork | Carried(_) | Delivered(_)) => Ok(true),
            Some(Answered(_)) => {
                self.refresh(&me.mailbox)?;
                let filter = Filter { reply_to: Some(question.id.clone()), ..Filter::default() };
                self.has_mail(me, &filter, &mut HashSet::new())
            }
            _ => Ok(false),
        }
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
        stop: Option<&Stop>,
    ) -> Result<Option<Opened>> {
        let filter = Filter { reply_to: Some(receipt.id.clone()), from, ..Filter::default() };
        let start = self.now();
        let mut read = None;
        let is_read = || {
            read = self.read_since(me, &filter, start)?;
            Ok(read.is_some())
        };
        if let Awaited::Mail(checked) = self.wait_or_taken(me, &filter, timeout, stop, is_read)? {
            for header in checked.headers {
                let message = self.message(&me.mailbox, Folder::Inbox, &header.name);
                if let Ok(Some((message, time))) = message {
                    return Ok(Some(self.opened(me, Folder::Inbox, &header.name, message, time)));
                }
            }
            read = self.read_since(me, &filter, start)?;
        }
        Ok(read)
    }

    /// The message that fits and that another command of this mailbox has read since `start`.
    fn read_since(&self, me: &Me, filter: &Filter, start: Timestamp) -> Result<Option<Opened>> {
        for name in me.mailbox.since(Folder::Archive, start)? {
            let header = self.header_if_message(&me.mailbox, Folder::Archive, &name)?;
            if header.is_none_or(|header| !filter.fits(&name, &header.envelope)) {
                continue;
            }
            if let Ok(Some((message, time))) = self.message(&me.mailbox, Folder::Archive, &name) {
                return Ok(Some(self.opened(me, Folder::Archive, &name, message, time)));
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
            return Ok(match self.await_answer(me, receipt, from, timeout, None)? {
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
                Some(MessageState::Carried(_) | MessageState::Delivered(_)) => {
                    watch = Watch::polling(Duration::from_secs(1))
                }
                Some(MessageState::Queued | MessageState::WaitsForNetwork) | None => {}
            }
            if waited >= timeout {
                return Ok(Fate::TimedOut(now));
            }
            watch.sleep(timeout - waited);
        }
    }
}

/// Whether a letter would have this envelope, but for what is made anew for each.
fn is_same(letter: &Letter, sent: &Envelope) -> bool {
    let subject = letter.subject.clone().unwrap_or_else(|| envelope::subject_of(&letter.body));
    sent.subject == subject
        && sent.priority == letter.priority
        && sent.channel == letter.channel
        && letter.extra.iter().all(|(key, value)| sent.extra(key) == Some(value))
}

/// How long after a move the journal may still record the reason.
const GRACE: Duration = Duration::from_secs(2);

fn reached(state: Option<MessageState>) -> Fate {
    Fate::Reached(state.unwrap_or(MessageState::NoEvidence))
}
