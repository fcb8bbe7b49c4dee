//! One agent of a tree: its inbox, where the state of a message is its field `status`.
//!
//! ```text
//! pending       Folder::Inbox, and so is an answer that was routed here and not read yet
//! in_progress   Folder::Claimed(token) under a claim of ours, else Folder::Working
//! completed     Folder::Archive, with everything in .claude/archive/inboxes/<agent>/
//! failed        Folder::Failed
//! (unreadable)  Folder::Quarantine; nothing is moved there, it is what cannot be read now
//! ```
//!
//! A change of state rewrites that one field and leaves every other byte as it was. It is made under the tree's lock,
//! and only if the file is still as it was read, because people and agents change these files too.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use rustix::fs::Stat;

use super::facts::{Seen, TaskFacts, Tray, is_unread_answer};
use super::{Held, LIMIT, Tree, steps};
use crate::mailbox::disk::{Dir, Swapped};
use crate::mailbox::fault::{Error, IfAny, Result};
use crate::mailbox::folder::{Folder, Token};
use crate::mailbox::place::{ArchivedHow, Listing};
use crate::message::tree::{self, Status, Task};
use crate::message::{file_name, frontmatter};
use crate::name::MailboxId;

/// The mailbox of one agent, open.
#[derive(Debug)]
pub struct Agent {
    tree: Tree,
    id: MailboxId,
    inbox: Dir,
    /// The result of the last look for mail by hand, for the list that follows it. Used once.
    fresh: Mutex<Option<Seen>>,
}

impl Agent {
    pub(super) fn new(tree: Tree, id: MailboxId, inbox: Dir) -> Self {
        Self { tree, id, inbox, fresh: Mutex::new(None) }
    }

    pub fn id(&self) -> &MailboxId {
        &self.id
    }

    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The inbox itself, for watchers.
    pub fn dir(&self) -> &Dir {
        &self.inbox
    }

    /// Keeps a look at the inbox for the list that follows.
    pub(super) fn keep_fresh(&self, seen: Seen) {
        *self.fresh.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
    }

    /// Drops the kept look, because something changed here.
    pub(super) fn forget_fresh(&self) {
        *self.fresh.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The inbox from the look just before, else from a new one.
    pub(super) fn inbox_seen(&self) -> Result<Seen> {
        let fresh = self.fresh.lock().unwrap_or_else(PoisonError::into_inner).take();
        fresh.map_or_else(|| self.facts(Tray::Inbox), Ok)
    }

    /// Reads one of its trays.
    pub fn facts(&self, tray: Tray) -> Result<Seen> {
        self.tree.facts(tray, &self.id)
    }

    /// The first `limit` messages of a folder in the order of a poll. Strange or broken files are listed with the inbox
    /// only, because their state is unknown.
    pub fn list(&self, folder: Folder, limit: usize) -> Result<Listing> {
        let held = match folder {
            Folder::Claimed(_) | Folder::Working => self.claimed()?,
            _ => vec![],
        };
        let seen = if folder == Folder::Inbox { self.inbox_seen()? } else { self.facts(Tray::Inbox)? };
        let mut found: Vec<(String, TaskFacts)> = vec![];
        let unread = seen.broken();
        let mut broken = vec![];
        for (name, facts) in seen.facts {
            match facts {
                Ok(facts) if is_in(folder, facts.status, facts.is_unread_answer(), &name, &held) => {
                    found.push((name, facts));
                }
                Err(_) if folder == Folder::Quarantine => broken.push(name),
                _ => {}
            }
        }
        if folder == Folder::Archive {
            let here: HashSet<String> = found.iter().map(|(name, _)| name.clone()).collect();
            let away = self.facts(Tray::ArchivedInbox)?;
            let away = away.facts.into_iter().filter_map(|(name, facts)| Some((name, facts.ok()?)));
            found.extend(away.filter(|(name, _)| !here.contains(name)));
        }
        if found.is_empty()
            && let Some(e) = seen.failing
        {
            return Err(e);
        }
        let found = steps::in_order(found, |(name, facts)| (facts, name.as_str()));
        let total = found.len() + broken.len();
        let names = found.into_iter().map(|(name, _)| name).chain(broken).take(limit).collect();
        let (strange, broken) =
            if folder == Folder::Inbox { (seen.strange, unread) } else { (vec![], vec![]) };
        Ok(Listing { names, total, strange, broken, ..Listing::default() })
    }

    /// Reads a message, with its bytes and file status. `None` if it is no longer in this folder.
    pub fn read_task(&self, folder: Folder, name: &str, limit: u64) -> Result<Option<TaskFile>> {
        let limit = limit.saturating_add(frontmatter::HEADER_LIMIT as u64);
        let held = match folder {
            Folder::Claimed(_) | Folder::Working => self.claimed()?,
            _ => vec![],
        };
        match read(&self.inbox, name, limit)? {
            Some(found) => {
                let is_it = is_in(folder, found.task.status, is_answer(&found.task), name, &held);
                Ok(is_it.then_some(found))
            }
            None if folder == Folder::Archive => match self.tree.tray(Tray::ArchivedInbox, &self.id)? {
                Some(away) => read(&away, name, limit),
                None => Ok(None),
            },
            None => Ok(None),
        }
    }

    /// Changes the state of a message, with the error if there is one. `false` if it is no longer in the state `from`,
    /// or gone. Durable on return.
    pub fn set_status(&self, name: &str, from: Status, to: Status, error: Option<&str>) -> Result<bool> {
        let held = self.tree.hold()?;
        self.change(&held, name, from, to, error)
    }

    /// Marks a pending message as in progress, for a mailbox outside the tree.
    pub(in crate::mailbox) fn begin(&self, name: &str) -> Result<bool> {
        self.set_status(name, Status::Pending, Status::InProgress, None)
    }

    pub(super) fn change(
        &self,
        _held: &Held,
        name: &str,
        from: Status,
        to: Status,
        error: Option<&str>,
    ) -> Result<bool> {
        self.forget_fresh();
        let path = || self.inbox.path().join(name);
        self.tree.persist(path, || {
            let Some(found) = read(&self.inbox, name, LIMIT)? else { return Ok(Some(false)) };
            if found.task.status != from {
                return Ok(Some(false));
            }
            Ok(self.try_change(name, &found, to, error)?.map(|()| true))
        })
    }

    /// Replaces the message that was read by one with another status. `None` if it has changed or is gone.
    fn try_change(
        &self,
        name: &str,
        found: &TaskFile,
        to: Status,
        error: Option<&str>,
    ) -> Result<Option<()>> {
        let wrong = |source| Error::Unparsed { path: self.inbox.path().join(name), source };
        let text = frontmatter::text(&found.bytes).map_err(wrong)?;
        let changed = tree::change(text, to, error).map_err(wrong)?;
        match self.inbox.compare_and_swap(name, changed.as_bytes(), (&found.bytes, &found.stat)) {
            Ok(Swapped::Done) => Ok(Some(())),
            Ok(Swapped::Changed) => Ok(None),
            // Removed between the look and the change.
            Err(e) if e.is_missing() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Brings a message from any state into a final one, with one read and one change. `None` if there is no such
    /// message. A claimed message is left to its owner. Durable on return.
    pub fn archive_as(&self, name: &str, to: Status) -> Result<Option<(Task, ArchivedHow)>> {
        if self.inbox.stat(name).is_err_and(|e| e.is_missing()) {
            return Ok(None);
        }
        let held = self.tree.hold()?;
        let Some(found) = read(&self.inbox, name, LIMIT)? else { return Ok(None) };
        let from = found.task.status;
        let how = match from {
            Status::InProgress if self.claimed()?.iter().any(|(_, file)| file == name) => {
                ArchivedHow::Claimed
            }
            _ if is_answer(&found.task) => {
                self.put_away_held(&held, name)?;
                ArchivedHow::Now
            }
            from if from == to => {
                // The run that changed it may have been interrupted before the sync.
                self.inbox.sync()?;
                ArchivedHow::Before
            }
            _ => match self.try_change(name, &found, to, None)? {
                Some(()) => ArchivedHow::Now,
                // It was changed since the look, so look again.
                None => match self.change(&held, name, from, to, None)? {
                    true => ArchivedHow::Now,
                    false => return Ok(None),
                },
            },
        };
        Ok(Some((found.task, how)))
    }

    /// A message of the inbox, in any state. `None` if there is none of this name.
    pub(super) fn task(&self, name: &str) -> Result<Option<TaskFile>> {
        read(&self.inbox, name, LIMIT)
    }

    /// A message that a clean-up archived, or that was put away.
    pub(super) fn archived(&self, name: &str) -> Result<Option<TaskFile>> {
        match self.tree.tray(Tray::ArchivedInbox, &self.id)? {
            Some(away) => read(&away, name, LIMIT),
            None => Ok(None),
        }
    }

    /// The current state of a message. `None` if there is none of this name.
    pub fn status(&self, name: &str) -> Result<Option<Status>> {
        Ok(read(&self.inbox, name, LIMIT)?.map(|found| found.task.status))
    }

    /// Moves a message from one folder to another, as far as a status can express it; claims have their own methods. An
    /// answer has no such status: it moves to the archive of the tree and back.
    pub fn shift(&self, name: &str, from: Folder, to: Folder) -> Result<Option<String>> {
        let (Some(was), Some(is)) = (status_of(from), status_of(to)) else { return Ok(None) };
        let held = self.tree.hold()?;
        if from == Folder::Archive && self.inbox.stat(name).is_err_and(|e| e.is_missing()) {
            let Some(away) = self.tree.tray(Tray::ArchivedInbox, &self.id)? else { return Ok(None) };
            let Some(file) = away.to_move(name).if_any()? else { return Ok(None) };
            if away.publish(name, &self.inbox, name).if_any()?.is_none() {
                return Ok(None);
            }
            self.inbox.sync_moved(&file)?;
        }
        if let Some(found) = read(&self.inbox, name, LIMIT)?.filter(|found| is_answer(&found.task)) {
            debug_assert!(found.task.status == Status::Completed);
            if from == Folder::Inbox && to == Folder::Archive {
                self.put_away_held(&held, name)?;
            }
            return Ok((to == Folder::Archive || to == Folder::Inbox).then(|| name.to_owned()));
        }
        // In one step with the status: an answer that comes in between would be taken for the failure's.
        if from == Folder::Failed
            && let Some(TaskFile { task, .. }) = read(&self.inbox, name, LIMIT)?
            && task.status == Status::Failed
        {
            self.put_failure_away_held(&held, &task.id)?;
        }
        Ok(self.change(&held, name, was, is, None)?.then(|| name.to_owned()))
    }
}

/// Whether a task is an answer that was routed here and not read yet.
pub(super) fn is_answer(task: &Task) -> bool {
    let msg_id = task.extra.iter().find(|(key, _)| key == "msg_id").map(|(_, id)| id.as_str());
    is_unread_answer(task.status, &task.id, task.request_id.as_deref(), msg_id)
}

/// Whether a message with this status is in a folder; `held` are the claims and their messages.
fn is_in(folder: Folder, status: Status, answer: bool, name: &str, held: &[(Token, String)]) -> bool {
    match folder {
        Folder::Inbox if answer => true,
        Folder::Archive if answer => false,
        Folder::Claimed(token) => {
            status == Status::InProgress && held.iter().any(|(t, file)| *t == token && file == name)
        }
        Folder::Working => status == Status::InProgress && held.iter().all(|(_, file)| file != name),
        other => status_of(other) == Some(status),
    }
}

/// The folder for a status, without regard to claims.
pub(super) fn folder_of(status: Status) -> Folder {
    match status {
        Status::Pending => Folder::Inbox,
        Status::InProgress => Folder::Working,
        Status::Completed => Folder::Archive,
        Status::Failed => Folder::Failed,
    }
}

/// The status for a folder.
pub(super) fn status_of(folder: Folder) -> Option<Status> {
    match folder {
        Folder::Inbox => Some(Status::Pending),
        Folder::Archive => Some(Status::Completed),
        Folder::Failed => Some(Status::Failed),
        Folder::Working | Folder::Claimed(_) => Some(Status::InProgress),
        Folder::Quarantine | Folder::Carried => None,
    }
}

/// A message as it was read.
#[derive(Debug)]
pub struct TaskFile {
    pub task: Task,
    pub bytes: Vec<u8>,
    pub stat: Stat,
}

/// Reads one message from a directory. `None` if there is none of this name.
pub(super) fn read(dir: &Dir, name: &str, limit: u64) -> Result<Option<TaskFile>> {
    // A name comes from a listing or from a person; only a message's name is used as a path.
    if !file_name::is_message(name.as_bytes()) || name.contains('/') {
        return Ok(None);
    }
    let Some((bytes, stat)) = dir.read_known(name, limit)? else { return Ok(None) };
    match tree::parse_named(&bytes, name.strip_suffix(".md").unwrap_or(name)) {
        Ok(task) => Ok(Some(TaskFile { task, bytes, stat })),
        Err(source) => Err(Error::Unparsed { path: dir.path().join(name), source }),
    }
}

#[cfg(test)]
#[path = "agent_tests.rs"]
mod tests;
