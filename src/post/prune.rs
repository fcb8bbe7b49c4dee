//! Prune: removes mailboxes that are named, or old finished mail, runs of workflows as a whole. It says first what it would do, never touches
//! unread mail unless told, and may be interrupted at any point: what is left is done by the next run.

use std::time::Duration;

use super::{Error, Me, Post, Result};
use crate::journal::Event;
use crate::mailbox::{Dir, Folder, Maildir};
use crate::name::MailboxId;
use crate::random;
use crate::registry::Editing;
use crate::workflow::pruning;

/// What is to go.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Mailboxes, by name.
    pub mailboxes: Vec<String>,
    /// Archived mail older than this.
    pub archived: Option<Duration>,
    /// Dead letters older than this.
    pub failed: Option<Duration>,
    /// Look for old mail only here; else everywhere.
    pub only: Option<String>,
    /// Mailboxes go even with unread mail in them.
    pub unread: bool,
}

/// One thing that would go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doomed {
    Mailbox {
        id: MailboxId,
        name: String,
        unread: usize,
        messages: usize,
    },
    /// A run of a workflow that is over, as a whole.
    Run {
        id: MailboxId,
        messages: usize,
    },
    Message {
        id: MailboxId,
        folder: Folder,
        name: String,
    },
}

impl Post {
    /// What a prune would remove, in the order it would.
    pub fn prune_plan(&self, me: Option<&Me>, wanted: &Wanted) -> Result<Vec<Doomed>> {
        let mut plan = vec![];
        let runs = pruning::mailboxes(self)?;
        for name in &wanted.mailboxes {
            if let Some(id) = runs.get(name).and_then(|run| MailboxId::parse(run).ok()) {
                let (_, messages) = pruning::over(self, id.as_str())?;
                plan.push(Doomed::Run { id, messages });
                continue;
            }
            let id = self.addressee(name)?;
            if me.is_some_and(|me| me.id == id) {
                return Err(Error::OwnMailbox { name: name.clone() });
            }
            let shown = self.name_of(id.as_str()).to_owned();
            let (mut unread, mut messages) = (0, 0);
            // A mailbox whose directory went in an interrupted run has only its name left.
            if let Ok(mailbox) = Maildir::open(self.room.root(), &id) {
                mailbox.return_expired(self.room.clock())?;
                unread = unfinished(&mailbox)?;
                for folder in mailbox.folders()? {
                    messages += mailbox.list(folder, 0)?.total;
                }
            }
            if unread > 0 && !wanted.unread {
                return Err(Error::UnreadMail { name: shown, unread });
            }
            plan.push(Doomed::Mailbox { id, name: shown, unread, messages });
        }
        let only = wanted.only.as_deref().map(|name| self.addressee(name)).transpose()?;
        for run in runs.iter().filter(|_| wanted.archived.is_some()) {
            let Ok(id) = MailboxId::parse(run) else { continue };
            let named =
                plan.iter().any(|doomed| matches!(doomed, Doomed::Run { id: other, .. } if *other == id));
            if named || only.as_ref().is_some_and(|only| *only != id) {
                continue;
            }
            if let Ok((since, messages)) = pruning::over(self, run)
                && wanted.archived.is_some_and(|age| self.now().since(since) >= age)
            {
                plan.push(Doomed::Run { id, messages });
            }
        }
        for mailbox in self.all_mailboxes(None)? {
            let mailbox = mailbox?;
            if only.as_ref().is_some_and(|only| only != mailbox.id()) {
                continue;
            }
            for (folder, age) in [(Folder::Archive, wanted.archived), (Folder::Failed, wanted.failed)] {
                let Some(age) = age else { continue };
                // What a run has accepted is what it is; that goes with the run.
                if folder == Folder::Archive && runs.contains(mailbox.id().as_str()) {
                    continue;
                }
                for name in mailbox.older(folder, self.now().minus(age))? {
                    plan.push(Doomed::Message { id: mailbox.id().clone(), folder, name });
                }
            }
        }
        Ok(plan)
    }

    /// Removes one thing of the plan. What is gone already is no error.
    pub fn prune_one(&self, by: &str, doomed: &Doomed) -> Result<()> {
        self.room.may_write()?;
        match doomed {
            Doomed::Mailbox { id, name, unread, .. } => self.prune_mailbox(by, id, name, *unread),
            Doomed::Run { id, .. } => {
                // Answers that came too late are unread, and nobody waits for them.
                pruning::remove(self, id.as_str(), || self.prune_mailbox(by, id, id.as_str(), usize::MAX))
            }
            Doomed::Message { id, folder, name } => {
                let mailbox = self.mailbox(id)?;
                match mailbox.remove(*folder, name) {
                    Err(e) if e.is_missing() => {}
                    other => other?,
                }
                Ok(mailbox.forget_attempts(name)?)
            }
        }
    }

    /// The directory disappears in one step, then the name, then what was in it.
    fn prune_mailbox(&self, by: &str, id: &MailboxId, name: &str, planned: usize) -> Result<()> {
        let root = self.room.root();
        let mut editing = Editing::begin(root)?;
        let staging = root.make_sub(".staging")?;
        sweep(&staging)?;
        let doomed = format!("{id}.{}{PRUNED}", random::unique_hex());
        match root.rename_dir(id.as_str(), &staging, &doomed) {
            Err(e) if e.is_missing() => {}
            other => {
                other?;
                // Mail that came after the plan was made was not agreed to.
                let left = Maildir::at(staging.sub(&doomed)?, id);
                let unread = unfinished(&left)?;
                if unread > planned {
                    staging.rename_dir(&doomed, root, id.as_str())?;
                    return Err(Error::UnreadMail { name: name.to_owned(), unread });
                }
                root.sync()?;
            }
        }
        editing.registry.entries.retain(|entry| entry.id != *id);
        self.forget_in_groups(id)?;
        editing.commit()?;
        self.record(Event { note: name.to_owned(), mailbox: id.to_string(), ..Event::new("pruned", by) });
        sweep(&staging)
    }
}

/// How a mailbox in `.staging/` ends whose removal was agreed to, so that the next prune can finish it.
pub(crate) const PRUNED: &str = ".pruned";

/// Removes what is left of pruned mailboxes. The caller holds the registry's lock, or held it when it named them.
fn sweep(staging: &Dir) -> Result<()> {
    let mut left = vec![];
    staging.scan(|name, _| {
        left.extend(str::from_utf8(name).ok().filter(|n| n.ends_with(PRUNED)).map(str::to_owned))
    })?;
    for name in left {
        match staging.remove_tree(&name) {
            Err(e) if !e.is_missing() => return Err(e.into()),
            _ => {}
        }
    }
    Ok(())
}

/// Mail that nobody has finished: unread, or claimed by somebody who is at it.
fn unfinished(mailbox: &Maildir) -> Result<usize> {
    let mut count = mailbox.list(Folder::Inbox, 0)?.total;
    for token in mailbox.tokens()? {
        count += mailbox.list(Folder::Claimed(token), 0)?.total;
    }
    Ok(count)
}
