//! Why unread mail waits although an agent works for its mailbox: for `check`, which shows it with each header, and for the
//! steps of workflows.

use super::later::Later;
use super::parked::Parked;
use super::paused::Pause;
use super::runs::{Runs, key};
use crate::clock::Timestamp;
use crate::mailbox::fault;
use crate::mailbox::reading::Header;
use crate::message::file_name;
use crate::post::{Me, MessageState, Post, Result, Sent, line};

/// What keeps messages of a room from being started, as far as records say. Read once for all of them.
#[derive(Debug)]
pub struct Holds {
    parked: Vec<Parked>,
    later: Vec<(String, Later)>,
    /// By mailbox.
    pauses: Vec<(String, Pause)>,
}

impl Holds {
    pub fn look(runs: &Runs, now: Timestamp) -> fault::Result<Self> {
        let (mut later, mut pauses) = (runs.postponed()?, runs.all_pauses()?);
        later.retain(|(_, later)| later.until > now);
        pauses.retain(|(_, pause)| pause.holds(now));
        pauses.sort_by_key(|(_, pause)| pause.kind);
        Ok(Self { parked: runs.parked()?, later, pauses })
    }

    pub fn is_empty(&self) -> bool {
        self.parked.is_empty() && self.later.is_empty() && self.pauses.is_empty()
    }

    /// Why one message waits, in words.
    pub fn of(&self, mailbox: &str, file: &str) -> Vec<String> {
        let parked = self.parked.iter().find(|parked| parked.mailbox == mailbox && parked.file == file);
        let name = key(mailbox, file);
        // Its time means nothing until a person releases it.
        let later = self.later.iter().find(|(other, _)| *other == name).filter(|_| parked.is_none());
        let parked = parked.map(|parked| format!("parked for a person: {}", parked.why));
        let later = later.map(|(_, later)| format!("waits until {}: {}", later.until, later.why));
        let pauses = self.pauses.iter().filter(|(other, _)| other == mailbox).map(|(_, pause)| pause.line());
        parked.into_iter().chain(later).chain(pauses).collect()
    }
}

/// Adds to the header of each waiting message until when it waits, and why.
pub fn remark(post: &Post, me: &Me, headers: &mut [Header]) -> Result<()> {
    if headers.is_empty() {
        return Ok(());
    }
    let Some(runs) = Runs::existing(post.room())? else { return Ok(()) };
    let holds = Holds::look(&runs, post.room().clock().now())?;
    for header in headers {
        header.remarks.extend(holds.of(me.id.as_str(), &header.name));
    }
    Ok(())
}

/// Adds to each sent message that is parked what it waits for.
pub fn remark_sent(post: &Post, sent: &mut [Sent]) -> Result<()> {
    let Some(runs) = Runs::existing(post.room())? else { return Ok(()) };
    let parked = runs.parked()?;
    for one in sent.iter_mut().filter(|one| matches!(one.state, Some(MessageState::Queued))) {
        let id = line::brief(&one.id);
        let is_it = |parked: &&super::parked::Parked| {
            parked.mailbox == one.to && file_name::short(&parked.file) == Some(id.as_str())
        };
        let why = parked.iter().find(is_it).map(|parked| format!("parked for a person: {}", parked.why));
        one.remarks.extend(why);
    }
    Ok(())
}
