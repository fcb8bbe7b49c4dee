//! Postponed messages, and answers that could not be delivered yet.
//!
//! ```text
//! .dispatch/later/<name>     the time from which a message may be tried again, a space, and why it waits
//!          /answers/<name>   an agent's answer; the next attempt only delivers it
//! ```

use super::runs::{Runs, key};
use crate::clock::Timestamp;
use crate::mailbox::fault::Result;
use crate::mailbox::{Dir, IfAny};
use crate::message::visible;

/// The longest note that is read.
const LIMIT: u64 = 4096;

/// Until when a message waits, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Later {
    pub until: Timestamp,
    pub why: String,
}

impl Later {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let text = str::from_utf8(bytes).ok()?.trim_end();
        let (until, why) = text.split_once(' ').unwrap_or((text, ""));
        Some(Self { until: Timestamp::parse(until)?, why: why.to_owned() })
    }
}

impl Runs {
    /// Postpones a message until this time.
    pub fn postpone(&self, mailbox: &str, file: &str, until: Timestamp, why: &str) -> Result<()> {
        let why = visible::clip(why.lines().next().unwrap_or_default(), 400);
        let text = format!("{} {}", until.precise(), why.trim_end_matches("; it ended with:"));
        self.dir.create_dir_synced("later")?.replace(&key(mailbox, file), text.trim_end().as_bytes())
    }

    /// A person wants the message now.
    pub fn hurry(&self, mailbox: &str, file: &str) {
        let _ = self.dir.sub("later").and_then(|dir| dir.remove(&key(mailbox, file)));
    }

    pub(super) fn forget_later(&self, mailbox: &str, file: &str) {
        for folder in ["later", "answers", "suspects"] {
            let _ = self.dir.sub(folder).and_then(|dir| dir.remove(&key(mailbox, file)));
        }
    }

    /// The postponed messages, by key.
    pub fn postponed(&self) -> Result<Vec<(String, Later)>> {
        let names = self.names("later")?;
        if names.is_empty() {
            return Ok(vec![]);
        }
        let later = self.dir.sub("later")?;
        let read = |name: String| {
            let found = Later::parse(&later.read(&name, LIMIT).ok()??)?;
            Some((name, found))
        };
        Ok(names.into_iter().filter_map(read).collect())
    }

    /// Whether and why one message waits.
    pub fn later(&self, mailbox: &str, file: &str, now: Timestamp) -> Option<Later> {
        let bytes = self.dir.sub("later").ok()?.read(&key(mailbox, file), LIMIT).ok()??;
        Later::parse(&bytes).filter(|later| later.until > now)
    }

    /// Keeps an agent's answer until it can be delivered.
    pub fn keep_answer(&self, mailbox: &str, file: &str, text: &str) -> Result<()> {
        self.dir.create_dir_synced("answers")?.replace(&key(mailbox, file), text.as_bytes())
    }

    pub fn kept_answer(&self, mailbox: &str, file: &str) -> Result<Option<String>> {
        let read = |dir: Dir| dir.read(&key(mailbox, file), u64::MAX / 2);
        let bytes = self.dir.sub("answers").and_then(read).if_any()?.flatten();
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
    }
}
