//! Parked messages: unread mail that starts no agent until a person releases it.
//!
//! ```text
//! .dispatch/parked/<name>   {"v":1,"mailbox":…,"file":…,"thread":…,"why":…,"since":…}
//! ```
//!
//! The message stays in its inbox, so nothing about the mail itself changes, and its sender is not told that it failed.
//! The file is durable: a message that a person stopped does not start again after a power cut. A file whose message
//! has left the inbox means nothing and is removed by the next retry.

use serde::{Deserialize, Serialize};

use super::paused::PauseKind;
use super::runs::{Runs, key};
use crate::clock::Timestamp;
use crate::mailbox::IfAny;
use crate::mailbox::fault::Result;

const FOLDER: &str = "parked";
const LIMIT: u64 = 64 * 1024;

/// A message that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    pub v: u32,
    pub mailbox: String,
    pub file: String,
    /// Its thread, whose runs are counted anew when it is released.
    pub thread: String,
    pub why: String,
    pub since: String,
}

/// How the reason of a message begins that somebody stopped, and that an agent did.
pub(super) const STOPPED: &str = "stopped: ";
pub(super) const STOPPED_BY_AGENT: &str = "stopped by an agent: ";

impl Parked {
    /// Whether a person stopped it, who knows that it waits.
    pub fn is_by_person(&self) -> bool {
        self.why.starts_with(STOPPED)
    }
}

impl Runs {
    /// Parks an unread message. Durable on return.
    pub fn park(&self, mailbox: &str, file: &str, thread: &str, why: &str, now: Timestamp) -> Result<()> {
        let parked = Parked {
            v: 1,
            mailbox: mailbox.to_owned(),
            file: file.to_owned(),
            thread: thread.to_owned(),
            why: crate::message::visible::clip(why, 1000),
            since: now.to_string(),
        };
        let text = serde_json::to_vec(&parked).unwrap_or_default();
        self.dir.create_dir_synced(FOLDER)?.replace_synced(&key(mailbox, file), &text)
    }

    /// All parked messages, oldest first.
    pub fn parked(&self) -> Result<Vec<Parked>> {
        let names = self.names(FOLDER)?;
        if names.is_empty() {
            return Ok(vec![]);
        }
        let dir = self.dir.sub(FOLDER)?;
        let mut parked = vec![];
        for name in names {
            let bytes = dir.read(&name, LIMIT)?;
            parked.extend(bytes.and_then(|bytes| serde_json::from_slice::<Parked>(&bytes).ok()));
        }
        parked.sort_by(|one, other| (&one.since, &one.file).cmp(&(&other.since, &other.file)));
        Ok(parked)
    }

    /// Why no agent may start for this message until a person says so: it is parked, or its agent is paused.
    pub(super) fn held_by_person(&self, mailbox: &str, file: &str) -> Result<Option<String>> {
        let read = self.dir.sub(FOLDER).and_then(|dir| dir.read(&key(mailbox, file), LIMIT));
        let parked = read.if_any()?.flatten().and_then(|bytes| serde_json::from_slice::<Parked>(&bytes).ok());
        match parked {
            Some(parked) => Ok(Some(parked.why)),
            None => Ok(self.pause_of(mailbox, PauseKind::Person)?.map(|pause| pause.why)),
        }
    }

    /// Lets a parked message start its agent again, with a new count of runs for its thread.
    pub fn unpark(&self, parked: &Parked) -> Result<()> {
        self.forget_thread(&parked.thread)?;
        self.forget_parked(&parked.mailbox, &parked.file)
    }

    /// Removes the note that a message is parked; the message is no longer unread.
    pub fn forget_parked(&self, mailbox: &str, file: &str) -> Result<()> {
        let removed = self.dir.sub(FOLDER).and_then(|dir| {
            dir.remove(&key(mailbox, file))?;
            dir.sync()
        });
        removed.if_any().map(drop)
    }
}
