//! Claims in a tree: messages in progress, and their terms.
//!
//! ```text
//! .postroom/claims/<agent>/claimed/<token>/claim.json   the terms, durable before the status says in_progress
//!                         /attempts/<message>           one line per attempt that did not end well
//! ```
//!
//! The claims of an agent are those of a [`Maildir`] without a message in them: the message stays in place, and its
//! status says that it is taken. Every step is made under the tree's lock, in an order that is safe against a kill:
//! terms, then `in_progress`; another status, then no terms. So terms of a message that is not in progress are left
//! over from a kill and have no effect; the next process that holds the lock clears them. A message in progress without
//! terms was started by another program, which alone knows its progress ([`Folder::Working`]).

use super::Held;
use super::agent::{Agent, TaskFile, is_answer, status_of};
use crate::clock::Clock;
use crate::mailbox::claim::{Attempt, TERMS, Terms};
use crate::mailbox::fault::{Error, Result};
use crate::mailbox::folder::{Folder, Token};
use crate::mailbox::maildir::Maildir;
use crate::mailbox::place::Place;
use crate::message::tree::Status;

/// The status of a message that is returned.
fn unread(terms: &Terms) -> Status {
    if terms.of_answer { Status::Completed } else { Status::Pending }
}

impl Agent {
    /// Claims an unread message under terms; `None` if it is no longer unread.
    pub fn claim(&self, name: &str, terms: &Terms) -> Result<Option<Token>> {
        let held = self.tree().hold()?;
        let Some(TaskFile { task, .. }) =
            self.task(name)?.filter(|found| found.task.status == Status::Pending || is_answer(&found.task))
        else {
            return Ok(None);
        };
        let claims = self.made_claims(&held)?;
        // The message is unread, so all existing terms for it are left over from a kill.
        for (token, file) in self.claimed()? {
            if file == name {
                claims.clear(token)?;
            }
        }
        let token = Token::fresh();
        let claimed = claims.made_folder("claimed")?;
        let own = claimed.make_new(&token.to_string())?;
        let begun = (|| {
            let terms = Terms { file: name.to_owned(), of_answer: is_answer(&task), ..terms.clone() };
            own.stage(TERMS, &serde_json::to_vec(&terms).unwrap_or_default())?;
            own.sync()?;
            claimed.sync()?;
            self.change(&held, name, task.status, Status::InProgress, None)
        })();
        let in_force = match &begun {
            Ok(done) => *done,
            // A sync fails after the change. If the change may exist, the terms must stay: they bring the message back.
            Err(_) => !matches!(self.status(name), Ok(now) if now != Some(Status::InProgress)),
        };
        if !in_force {
            let _ = claims.clear(token);
        }
        Ok(begun?.then_some(token))
    }

    /// Replaces the terms. `false` if the claim ended, or its message is no longer in progress.
    pub fn renew(&self, token: Token, terms: &Terms) -> Result<bool> {
        let _held = self.tree().hold()?;
        let Some(claims) = self.claims()? else { return Ok(false) };
        if claims.terms(token)?.is_none() {
            return Ok(false);
        }
        if self.status(&terms.file)? != Some(Status::InProgress) {
            claims.clear(token)?;
            return Ok(false);
        }
        // Durable, unlike in a maildir: if a power cut removed the terms, the message would stay in progress forever.
        let own = claims.folder(Folder::Claimed(token))?;
        own.replace_synced(TERMS, &serde_json::to_vec(terms).unwrap_or_default())?;
        Ok(true)
    }

    /// Ends a claim: its message is unread again, completed, or failed with the reason. `None` if the claim or the
    /// message has changed: another process has decided. Durable on return.
    pub fn settle(&self, token: Token, name: &str, to: Folder, why: &str) -> Result<Option<String>> {
        let held = self.tree().hold()?;
        let Some(claims) = self.claims()? else { return Ok(None) };
        let Some(terms) = claims.terms(token)?.filter(|terms| terms.file == name) else { return Ok(None) };
        let status = match status_of(to) {
            None | Some(Status::InProgress) => return Ok(None),
            Some(Status::Pending) => unread(&terms),
            Some(other) => other,
        };
        let why = Some(why).filter(|why| status == Status::Failed && !why.is_empty());
        // A reply to an answer is a question; completed, it would look like an unread answer.
        let mut task = self.task(name)?.map(|found| found.task);
        let before = task.as_mut().map(|task| std::mem::replace(&mut task.status, status));
        let goes_away = to == Folder::Archive && task.as_ref().is_some_and(is_answer);
        // Completed under this claim: an earlier run was interrupted before it was put away.
        let done = goes_away && before == Some(status)
            || self.change(&held, name, Status::InProgress, status, why)?;
        if done && goes_away {
            self.put_away_held(&held, name)?;
        }
        // Terms of a message that is not in progress have no effect.
        let _ = claims.clear(token);
        Ok(done.then(|| name.to_owned()))
    }

    /// Returns every message whose lease has expired, counts the attempt, and returns their names. Clears claims on
    /// messages that are no longer in progress.
    pub fn return_expired(&self, clock: &dyn Clock) -> Result<Vec<String>> {
        // Without claims, no lock is taken and nothing is made.
        if self.tokens()?.is_empty() {
            return Ok(vec![]);
        }
        let held = self.tree().hold()?;
        let Some(claims) = self.claims()? else { return Ok(vec![]) };
        let mut returned = vec![];
        for token in claims.tokens()? {
            let Some(terms) = claims.terms(token)? else {
                // Terms are durable before the status changes: these never took effect.
                claims.clear(token)?;
                continue;
            };
            match self.status(&terms.file) {
                Ok(Some(Status::InProgress)) if terms.is_over(clock)? => {}
                Ok(Some(Status::InProgress)) => continue,
                Ok(_) => {
                    claims.clear(token)?;
                    continue;
                }
                Err(e @ Error::Io { .. }) => return Err(e),
                // Its writer may repair the broken file; until then its state is unknown.
                Err(_) => continue,
            }
            // Its owner may be ending it now.
            let Some(_turn) = claims.folder(Folder::Claimed(token))?.try_hold()? else { continue };
            claims.note_attempt(&terms.file, &Attempt::of(token, &terms, "expired", "", clock))?;
            if self.change(&held, &terms.file, Status::InProgress, unread(&terms), None)? {
                returned.push(terms.file);
            }
            claims.clear(token)?;
        }
        Ok(returned)
    }

    /// The claims and their messages.
    pub(super) fn claimed(&self) -> Result<Vec<(Token, String)>> {
        let Some(claims) = self.claims()? else { return Ok(vec![]) };
        let mut found = vec![];
        for token in claims.tokens()? {
            found.extend(claims.terms(token)?.map(|terms| (token, terms.file)));
        }
        Ok(found)
    }

    /// The directory of terms and attempts, if it exists.
    pub(super) fn claims(&self) -> Result<Option<Maildir>> {
        let dir = self.tree().walk(&[".postroom", "claims", self.id().as_str()])?;
        Ok(dir.map(|dir| Maildir::at(dir, self.id())))
    }

    /// The directory of terms and attempts, made if missing, and durable.
    pub(super) fn made_claims(&self, held: &Held) -> Result<Maildir> {
        if let Some(claims) = self.claims()? {
            return Ok(claims);
        }
        let dir = held.own.create_dir_synced("claims")?.create_dir_synced(self.id().as_str())?;
        Ok(Maildir::at(dir, self.id()))
    }
}

#[cfg(test)]
#[path = "claim_tests.rs"]
mod tests;
