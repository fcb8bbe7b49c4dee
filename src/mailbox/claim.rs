//! Claims: a message taken with a lease (format.md §5.5).
//!
//! ```text
//! <id>/claimed/<token>/claim.json   the terms: owner, host, boot, end of the lease, attempt
//!                     /<message>    moved here from inbox/ by the one rename that decides who has it
//!     /attempts/<message>           one line per attempt that did not end well
//! ```
//!
//! The token is the fence. The process that moves the message out of `claimed/<token>/` decides its fate: the owner
//! that finishes it, or any process that finds the lease expired and returns it. The other one finds nothing.

use std::collections::HashSet;
use std::time::Duration;

use rustix::fs::FileType;
use serde::{Deserialize, Serialize};

use super::fault::{Error, IfAny, Result};
use super::folder::{Folder, Token};
use super::lock::Lock;
use super::maildir::Maildir;
use super::reading::mtime;
use crate::clock::{Clock, Timestamp};
use crate::os;

const FOLDER: &str = "claimed";
pub(super) const TERMS: &str = "claim.json";
pub const ATTEMPTS: &str = "attempts";

/// The longest terms that are read, and the most bytes of attempts, from the end.
pub const LIMIT: u64 = 1024 * 1024;

/// The most bytes of a reason: it is for people, and it is read at every claim of the message.
const REASON: usize = 4000;

/// A claim without a message that is this old is abandoned: its owner is no longer between two steps.
const ABANDONED: Duration = Duration::from_secs(60);

/// The terms of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    pub v: u32,
    /// The mailbox that claimed.
    pub owner: String,
    pub host: String,
    /// The boot of that host: after a reboot the owner is gone.
    pub boot: String,
    /// The end of the lease in milliseconds since that boot, a clock that nobody can set back.
    pub until_ms: u64,
    /// The end of the lease in wall time: for people, and for other hosts on a shared disk.
    pub ends: String,
    /// Counted from 1.
    pub attempt: u32,
    /// The name of the message.
    pub file: String,
    /// The dispatcher's run that works on it; empty for a claim made by hand.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// In a tree: the message is an answer, and becomes one again when the claim ends without success.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_answer: bool,
}

impl Terms {
    pub fn new(owner: &str, file: &str, attempt: u32, lease: Duration, clock: &dyn Clock) -> Result<Self> {
        let mut terms = Self {
            v: 1,
            owner: owner.to_owned(),
            host: clock.host(),
            boot: boot_of(clock)?,
            until_ms: 0,
            ends: String::new(),
            attempt,
            file: file.to_owned(),
            run: String::new(),
            of_answer: false,
        };
        terms.extend(lease, clock);
        Ok(terms)
    }

    /// Sets the end of the lease to this long from now.
    pub fn extend(&mut self, lease: Duration, clock: &dyn Clock) {
        let end = clock.boot() + lease;
        self.until_ms = u64::try_from(end.as_millis()).unwrap_or(u64::MAX);
        let seconds = i64::try_from(lease.as_secs()).unwrap_or(i64::MAX);
        self.ends = Timestamp::from_parts(clock.now().seconds().saturating_add(seconds), 0).to_string();
    }

    pub fn is_over(&self, clock: &dyn Clock) -> Result<bool> {
        if self.host != clock.host() {
            // The boot of another machine means nothing here; use its wall clock.
            return Ok(Timestamp::parse(&self.ends).is_none_or(|end| end < clock.now()));
        }
        // Where no boot has an id, its clock may have begun anew, and then wall time must do. `ends` is cut to seconds twice.
        let wall = |end: Timestamp| self.boot.is_empty() && end.plus(Duration::from_secs(2)) < clock.now();
        Ok(self.boot != boot_of(clock)?
            || clock.boot().as_millis() >= u128::from(self.until_ms)
            || Timestamp::parse(&self.ends).is_some_and(wall))
    }
}

/// An error must not count as another boot: every claim would be expired.
pub fn boot_of(clock: &dyn Clock) -> Result<String> {
    clock.boot_id().map_err(|e| Error::std("read", os::BOOT_ID.as_ref(), e))
}

/// The end of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub v: u32,
    pub time: String,
    pub token: String,
    pub owner: String,
    /// `expired`, `failed`, `released` or `retried`.
    pub how: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Attempt {
    /// The end of an attempt under these terms.
    pub fn of(token: Token, terms: &Terms, how: &str, why: &str, clock: &dyn Clock) -> Self {
        Self {
            v: 1,
            time: clock.now().to_string(),
            token: token.to_string(),
            owner: terms.owner.clone(),
            how: how.to_owned(),
            why: why[..why.floor_char_boundary(REASON)].to_owned(),
        }
    }
}

impl Maildir {
    /// Moves a message out of the inbox into a claim; `None` if another process was faster.
    pub fn claim(&self, name: &str, terms: &Terms) -> Result<Option<Token>> {
        let inbox = self.folder(Folder::Inbox)?;
        let Some(file) = inbox.to_move(name).if_any()? else { return Ok(None) };
        let token = Token::fresh();
        let claimed = self.made_folder(FOLDER)?;
        let own = claimed.make_new(&token.to_string())?;
        own.write_new(TERMS, &json(terms))?;
        // The directory must be durable before a message may be in it.
        claimed.sync()?;
        match inbox.publish(name, &own, name) {
            Ok(()) => {
                own.sync_moved(&file)?;
                Ok(Some(token))
            }
            Err(e) if e.is_missing() => {
                self.clear(token)?;
                Ok(None)
            }
            Err(e) => {
                let _ = self.clear(token);
                Err(e)
            }
        }
    }

    /// The terms of a claim; `None` if there is no such claim, or it has no terms.
    pub fn terms(&self, token: Token) -> Result<Option<Terms>> {
        let Some(own) = self.folder_if_any(Folder::Claimed(token))? else { return Ok(None) };
        Ok(own.read(TERMS, LIMIT)?.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Replaces the terms. `false` if the message is no longer in the claim: another process has decided its fate.
    pub fn renew(&self, token: Token, terms: &Terms) -> Result<bool> {
        let Some(_turn) = self.hold_claim(token)? else { return Ok(false) };
        let Some(own) = self.folder_if_any(Folder::Claimed(token))? else { return Ok(false) };
        match own.stat(&terms.file) {
            Err(e) if e.is_missing() => self.clear(token).map(|()| false),
            other => other.and_then(|_| own.replace(TERMS, &json(terms))).map(|()| true),
        }
    }

    /// Keeps all other processes from renewing or ending a claim. `None` if there is no such claim. A claim may end
    /// only under this lock, so its holder can first notify others of the end.
    pub fn hold_claim(&self, token: Token) -> Result<Option<Lock>> {
        self.folder_if_any(Folder::Claimed(token))?.map(|own| own.hold()).transpose()
    }

    /// Moves a claimed message on and ends the claim; returns its new name. `None` if it is gone: another process has
    /// decided its fate. Durable on return.
    pub fn settle(&self, token: Token, name: &str, to: Folder) -> Result<Option<String>> {
        let moved = self.shift(name, Folder::Claimed(token), to).if_any()?.flatten();
        if let Some(new) = moved.as_deref().filter(|new| *new != name) {
            self.carry_attempts(name, new)?;
        }
        match self.clear(token) {
            // The fate is decided; the next look clears the rest.
            Err(e) if moved.is_none() => Err(e),
            _ => Ok(moved),
        }
    }

    /// Moves the attempts along when their message is renamed.
    pub fn carry_attempts(&self, name: &str, new: &str) -> Result<()> {
        let Some(folder) = self.dir().sub_if_any(ATTEMPTS)? else { return Ok(()) };
        folder.publish(name, &folder, new).if_any().map(drop)
    }

    /// Returns every message whose lease has expired to the inbox; returns their names.
    pub fn return_expired(&self, clock: &dyn Clock) -> Result<Vec<String>> {
        let mut returned = vec![];
        for token in self.tokens()? {
            match self.terms(token)? {
                Some(terms) if !terms.is_over(clock)? => {}
                Some(_) => returned.extend(self.return_over(token, clock)?),
                None => returned.extend(self.return_without_terms(token, clock)?),
            }
        }
        Ok(returned)
    }

    /// Returns a message, unless its owner is just renewing or ending the claim.
    fn return_over(&self, token: Token, clock: &dyn Clock) -> Result<Option<String>> {
        let Some(own) = self.folder_if_any(Folder::Claimed(token))? else { return Ok(None) };
        let Some(_turn) = own.try_hold()? else { return Ok(None) };
        let Some(terms) = self.terms(token)? else { return Ok(None) };
        if !terms.is_over(clock)? {
            return Ok(None);
        }
        self.note_attempt(&terms.file, &Attempt::of(token, &terms, "expired", "", clock))?;
        self.settle(token, &terms.file, Folder::Inbox)
    }

    /// A claim whose terms did not survive a power cut: its owner did not survive it either.
    fn return_without_terms(&self, token: Token, clock: &dyn Clock) -> Result<Vec<String>> {
        let Some(own) = self.folder_if_any(Folder::Claimed(token))? else { return Ok(vec![]) };
        let names =
            own.names(|name, kind| kind == FileType::RegularFile && self.is_message(name.as_bytes()))?;
        // Terms are written before the message moves in. If the first look came before both, the terms are there now, and
        // the claimer is at work.
        if self.terms(token)?.is_some() {
            return Ok(vec![]);
        }
        let age =
            self.dir().sub(FOLDER)?.stat(&token.to_string()).map(|stat| clock.now().since(mtime(&stat)));
        let mut returned = vec![];
        for name in &names {
            returned.extend(self.shift(name, Folder::Claimed(token), Folder::Inbox)?);
        }
        if !names.is_empty() || age.is_ok_and(|age| age > ABANDONED) {
            self.clear(token)?;
        }
        Ok(returned)
    }

    /// Removes the rest of a claim. Other processes may be doing the same.
    pub(super) fn clear(&self, token: Token) -> Result<()> {
        let Some(claimed) = self.dir().sub_if_any(FOLDER)? else { return Ok(()) };
        claimed.sub(&token.to_string()).and_then(|own| own.remove(TERMS)).if_any()?;
        match claimed.remove_dir(&token.to_string()) {
            // It still contains something, which matters more than a tidy directory.
            Err(e) if e.is_not_empty() => Ok(()),
            other => other.if_any().map(drop),
        }
    }

    /// Appends to the attempts of a message; durable on return. Each claim counts once, however often its end is recorded.
    pub fn note_attempt(&self, name: &str, attempt: &Attempt) -> Result<()> {
        let mut line = json(attempt);
        line.push(b'\n');
        let folder = self.made_folder(ATTEMPTS)?;
        // A full disk may have cut off the last line; start a new one.
        if folder.tail(name, 1)?.is_some_and(|last| last.last().is_some_and(|byte| *byte != b'\n')) {
            line.insert(0, b'\n');
        }
        folder.append(name, &line)?;
        folder.sync_file(name)?;
        folder.sync()
    }

    /// The attempts of a message so far, each claim once. If there are very many, only the last ones.
    pub fn attempts(&self, name: &str) -> Result<Vec<Attempt>> {
        let Some(folder) = self.dir().sub_if_any(ATTEMPTS)? else { return Ok(vec![]) };
        let Some(bytes) = folder.tail(name, LIMIT)? else { return Ok(vec![]) };
        let mut attempts: Vec<Attempt> = vec![];
        for attempt in
            bytes.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice::<Attempt>(line).ok())
        {
            if !attempts.iter().any(|a| a.token == attempt.token && a.how == attempt.how) {
                attempts.push(attempt);
            }
        }
        Ok(attempts)
    }

    /// How the claim with this token ended, if that was recorded.
    pub fn end_of(&self, token: Token) -> Result<Option<Attempt>> {
        let Some(folder) = self.dir().sub_if_any(ATTEMPTS)? else { return Ok(None) };
        let wanted = token.to_string();
        for name in folder.names(|_, _| true)? {
            if let Some(attempt) = self.attempts(&name)?.into_iter().find(|a| a.token == wanted) {
                return Ok(Some(attempt));
            }
        }
        Ok(None)
    }

    /// The number of failed tries since the last explicit retry.
    pub fn tries(&self, name: &str) -> Result<u32> {
        let attempts = self.attempts(name)?;
        let since = attempts.iter().rposition(|a| a.how == "retried").map_or(0, |at| at + 1);
        let vain = attempts[since..].iter().filter(|a| a.how == "expired" || a.how == "failed");
        let tokens: HashSet<&str> = vain.map(|a| a.token.as_str()).collect();
        Ok(u32::try_from(tokens.len()).unwrap_or(u32::MAX))
    }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    // Flat structures of strings and numbers always serialise.
    serde_json::to_vec(value).unwrap_or_default()
}

impl Error {
    fn is_not_empty(&self) -> bool {
        matches!(self.errno(), Some(rustix::io::Errno::NOTEMPTY | rustix::io::Errno::EXIST))
    }
}

#[cfg(test)]
#[path = "claim_tests.rs"]
mod tests;
