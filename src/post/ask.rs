//! Ask: send, wait for the answer, and say where the question is when none came. And waiting for what becomes of
//! a message that was sent.

use std::time::Duration;

use super::trace::State;
use super::{Awaited, Error, Filter, Letter, Me, Opened, Outcome, Post, Receipt, Result};
use crate::mailbox::Folder;
use crate::wait::Watch;

/// How a question ended.
#[derive(Debug)]
pub struct Asked {
    pub receipt: Receipt,
    pub answer: Option<Opened>,
    /// Where the question was when the time was over.
    pub state: Option<State>,
}

/// What a sender may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    Shown,
    Done,
    Reply,
}

/// How a wait for the fate of a message ended.
#[derive(Debug)]
pub enum Fate {
    Reached(State),
    /// It can no longer come to that: it failed, or was filed away unread.
    Missed(State),
    TimedOut(Option<State>),
}

impl Post {
    /// Sends a question to one name and waits for its answer.
    pub fn ask(&self, me: &Me, letter: &Letter, timeout: Duration) -> Result<Asked> {
        let [name] = letter.to.as_slice() else { return Err(Error::AskOne) };
        if name.starts_with('@') {
            return Err(Error::AskOne);
        }
        let Some(receipt) = self.send(me, letter)?.pop() else { return Err(Error::AskOne) };
        if matches!(receipt.outcome, Outcome::Failed(_)) {
            return Ok(Asked { receipt, answer: None, state: None });
        }
        let answer = self.await_answer(me, &receipt, timeout)?;
        let state = match answer {
            Some(_) => None,
            None => self.state_of(receipt.id.as_str(), receipt.to.as_str())?,
        };
        Ok(Asked { receipt, answer, state })
    }

    fn await_answer(&self, me: &Me, receipt: &Receipt, timeout: Duration) -> Result<Option<Opened>> {
        let filter = Filter { reply_to: Some(receipt.id.clone()), ..Filter::default() };
        let Awaited::Mail(checked) = self.wait(me, &filter, 1, timeout, None)? else { return Ok(None) };
        for header in checked.headers {
            let read = me.mailbox.message(Folder::Inbox, &header.name, self.room.limits().body_bytes);
            if let Ok(Some((message, time))) = read {
                let path = me.mailbox.path(Folder::Archive, &header.name);
                return Ok(Some(Opened { folder: Folder::Inbox, name: header.name, message, time, path }));
            }
        }
        Ok(None)
    }

    /// Blocks until a message that was sent has come so far.
    pub fn await_fate(&self, me: &Me, receipt: &Receipt, until: Until, timeout: Duration) -> Result<Fate> {
        if until == Until::Reply {
            return Ok(match self.await_answer(me, receipt, timeout)? {
                Some(answer) => Fate::Reached(State::Done(answer.time.to_string())),
                None => Fate::TimedOut(self.state_of(receipt.id.as_str(), receipt.to.as_str())?),
            });
        }
        let start = self.room.clock().boot();
        let mailbox = self.mailbox(&receipt.to)?;
        // The folders a message can come to; one that is not there yet appears in the mailbox itself.
        let folders = ["inbox", "archive", "claimed", "failed"].map(|f| mailbox.dir().path().join(f));
        loop {
            let there: Vec<_> =
                folders.iter().filter(|f| mailbox.dir().stat(&name_of(f)).is_ok()).cloned().collect();
            let mut watch = Watch::on(there.iter().chain([&mailbox.dir().path().to_path_buf()]));
            let state = self.state_of(receipt.id.as_str(), receipt.to.as_str())?;
            match &state {
                Some(State::Shown(_) | State::Done(_) | State::NoEvidence) => {
                    return Ok(Fate::Reached(state.unwrap_or(State::NoEvidence)));
                }
                Some(State::Claimed(_)) if until == Until::Shown => {
                    return Ok(Fate::Reached(state.unwrap_or(State::Queued)));
                }
                Some(State::Filed(_) | State::Failed(_)) => {
                    return Ok(Fate::Missed(state.unwrap_or(State::Queued)));
                }
                _ => {}
            }
            let waited = self.room.clock().boot().saturating_sub(start);
            if waited >= timeout {
                return Ok(Fate::TimedOut(state));
            }
            watch.sleep(timeout - waited);
        }
    }
}

fn name_of(path: &std::path::Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
