//! Prune: moves named mailboxes, old finished mail, and whole workflow runs into the trash of the room.
//!
//! It first shows a plan, and never touches unread mail unless asked to. A sender that has a mailbox open while it is
//! pruned must not report a delivery: see [`Maildir::publish`]. After an interruption at any point, each mailbox is in
//! its place or in the trash, where the next command that needs it finds it ([`trash::return_unfinished`]).

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;

use super::{Error, Me, Post, Result};
use crate::clock::Timestamp;
use crate::groups::Groups;
use crate::journal::Event;
use crate::mailbox::trash::{self, Bag, Trash};
use crate::mailbox::{Folder, Maildir};
use crate::name::MailboxId;
use crate::registry::{Editing, Registry};

/// How many messages are moved between two reports of progress.
const AT_ONCE: usize = 500;

/// The functions of workflow runs that a prune needs. Runs are built on mail, so they are passed in.
pub trait RunsToPrune {
    /// The mailboxes of the room that belong to runs.
    fn mailboxes(&self, post: &Post) -> Result<BTreeSet<String>>;
    /// When a run ended, and its number of messages. An error if it is in progress, or its state is unknown.
    fn over(&self, post: &Post, run: &str) -> Result<(Timestamp, usize)>;
    /// Moves a finished run into the trash; `mailbox` moves its mailbox.
    fn remove(
        &self,
        post: &Post,
        run: &str,
        bag: &Bag,
        mailbox: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()>;
    /// Restores the stored runs in a bag.
    fn bring_back(&self, post: &Post, bag: &Bag) -> Result<()>;
}

/// Selects what to prune.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Mailboxes, by name.
    pub mailboxes: Vec<String>,
    /// Archived mail older than this.
    pub archived: Option<Duration>,
    /// Dead letters older than this.
    pub failed: Option<Duration>,
    /// Only look for old mail in this mailbox; `None`: in all.
    pub only: Option<String>,
    /// Also prune mailboxes with unread mail.
    pub unread: bool,
}

/// One item of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doomed {
    Mailbox {
        id: MailboxId,
        name: String,
        unread: usize,
        messages: usize,
    },
    /// A whole finished workflow run.
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

impl Doomed {
    fn id(&self) -> &MailboxId {
        match self {
            Self::Mailbox { id, .. } | Self::Run { id, .. } | Self::Message { id, .. } => id,
        }
    }

    /// Whether both are messages of one folder.
    fn goes_with(&self, other: &Self) -> bool {
        let folder = |doomed: &Self| match doomed {
            Self::Message { id, folder, .. } => Some((id.clone(), *folder)),
            _ => None,
        };
        folder(self).is_some() && folder(self) == folder(other)
    }

    fn message(&self) -> Option<&str> {
        match self {
            Self::Message { name, .. } => Some(name),
            _ => None,
        }
    }
}

impl Post {
    /// The plan of a prune, in its order.
    pub fn prune_plan(
        &self,
        me: Option<&Me>,
        wanted: &Wanted,
        workflows: &dyn RunsToPrune,
    ) -> Result<Vec<Doomed>> {
        let mut plan = vec![];
        let runs = workflows.mailboxes(self)?;
        for name in &wanted.mailboxes {
            if let Some(id) = runs.get(name).and_then(|run| MailboxId::parse(run).ok()) {
                let (_, messages) = workflows.over(self, id.as_str())?;
                plan.push(Doomed::Run { id, messages });
                continue;
            }
            let id = self.addressee(name)?;
            if me.is_some_and(|me| me.id == id) {
                return Err(Error::OwnMailbox { name: name.clone() });
            }
            let shown = self.name_of(id.as_str()).to_owned();
            let (mut unread, mut messages) = (0, 0);
            // An interrupted run removed its directory; only the name is left.
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
            if let Ok((since, messages)) = workflows.over(self, run)
                && wanted.archived.is_some_and(|age| self.now().since(since) >= age)
            {
                plan.push(Doomed::Run { id, messages });
            }
        }
        let whole: Vec<MailboxId> = plan.iter().map(|doomed| doomed.id().clone()).collect();
        for mailbox in self.all_mailboxes(None)? {
            let mailbox = mailbox?;
            if whole.contains(mailbox.id()) || only.as_ref().is_some_and(|only| only != mailbox.id()) {
                continue;
            }
            for (folder, age) in [(Folder::Archive, wanted.archived), (Folder::Failed, wanted.failed)] {
                let Some(age) = age else { continue };
                // The mail that a run accepted is its state; it goes with the run.
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

    /// The plan of a prune of one message. Only a finished one can be pruned, and the mail of a workflow run goes with the
    /// run.
    pub fn prune_plan_of(
        &self,
        me: &Me,
        reference: &str,
        workflows: &dyn RunsToPrune,
    ) -> Result<Vec<Doomed>> {
        self.may_open(&me.id)?;
        let found = self.find(me, reference)?;
        let (id, name) = (me.id.clone(), found.name);
        if !matches!(found.folder, Folder::Archive | Folder::Failed) {
            return Err(Error::UnreadMail { name: me.shown().to_owned(), unread: 1 });
        }
        if workflows.mailboxes(self)?.contains(id.as_str()) {
            let why = "its mail is its state".to_owned();
            return Err(Error::NotOver { run: id.to_string(), why });
        }
        Ok(vec![Doomed::Message { id, folder: found.folder, name }])
    }

    /// Moves the planned items into one bag of the trash, and frees old bags. Returns the id for `undo`; `None` if the
    /// items are deleted. Calls `progress` with the number done.
    pub fn prune(
        &self,
        by: &str,
        plan: &[Doomed],
        workflows: &dyn RunsToPrune,
        forever: bool,
        mut progress: impl FnMut(usize),
    ) -> Result<Option<String>> {
        self.room.may_write()?;
        let trash = Trash::make(self.room.root())?;
        self.return_unfinished(&Editing::begin(self.room.root())?, &trash)?;
        // First, before anything is moved: it may fail, and it frees space.
        trash.expire(self.now())?;
        let bag = trash.new_bag(self.now())?;
        let moved = self.fill(by, &bag, plan, workflows, &mut progress);
        let is_empty = self.trashed_in(&bag).is_ok_and(|what| what.is_empty());
        // After an error the bag may hold a mailbox that was not counted.
        if forever && moved.is_ok() || is_empty {
            trash.remove(&bag)?;
        }
        moved?;
        Ok((!forever && !is_empty).then_some(bag.id))
    }

    /// Restores mailboxes that interrupted prunes left in the trash, and removes their notes: a registered name was not
    /// pruned. None of this may expire.
    pub(super) fn return_unfinished(&self, editing: &Editing<'_>, trash: &Trash) -> Result<()> {
        for bag in trash.bags()? {
            for (id, _) in bag.mailboxes()? {
                if editing.registry.by_id(&id).is_some() {
                    bag.return_mailbox(self.room.root(), &id)?;
                    bag.forget(&id)?;
                }
            }
        }
        Ok(())
    }

    fn fill(
        &self,
        by: &str,
        bag: &Bag,
        plan: &[Doomed],
        workflows: &dyn RunsToPrune,
        progress: &mut impl FnMut(usize),
    ) -> Result<()> {
        let mut done = 0;
        for part in plan.chunk_by(Doomed::goes_with).flat_map(|folder| folder.chunks(AT_ONCE)) {
            match &part[0] {
                Doomed::Mailbox { id, name, unread, .. } => self.prune_mailbox(by, bag, id, name, *unread)?,
                // Any number of unread messages: late answers, for which nobody waits.
                Doomed::Run { id, .. } => workflows.remove(self, id.as_str(), bag, &mut || {
                    self.prune_mailbox(by, bag, id, id.as_str(), usize::MAX)
                })?,
                Doomed::Message { id, folder, .. } => {
                    let names: Vec<&str> = part.iter().filter_map(Doomed::message).collect();
                    let mailbox = self.mailbox(id)?;
                    let with_files = self.with_files(&mailbox, *folder, &names)?;
                    mailbox.throw_away(*folder, &names, bag)?;
                    // After their messages: attachments of a message in the trash are not orphans.
                    mailbox.throw_files_away(&with_files, bag)?;
                }
            }
            done += part.len();
            progress(done);
        }
        Ok(())
    }

    /// Removes the directory in one step, then the name.
    fn prune_mailbox(&self, by: &str, bag: &Bag, id: &MailboxId, name: &str, planned: usize) -> Result<()> {
        let root = self.room.root();
        let mut editing = Editing::begin(root)?;
        let (going, staying) = editing.registry.entries.drain(..).partition(|entry| entry.id == *id);
        editing.registry.entries = staying;
        let going = Registry { entries: going, strange: vec![] };
        if !going.entries.is_empty() {
            // It was renamed since the plan: nobody agreed to remove a mailbox of that name.
            if name != id.as_str() && !going.entries.iter().any(|entry| entry.name == name) {
                return Err(self.again()?.unknown(name));
            }
            // An earlier prune was interrupted before it counted.
            trash::return_unfinished(root, id)?;
        }
        if going.entries.is_empty() && root.stat(id.as_str()).is_err_and(|e| e.is_missing()) {
            // Another prune was faster.
            return Ok(());
        }
        let mut groups = Groups::load(root)?;
        let taken = groups.forget(id.as_str());
        let note = json!({"v": 1, "names": going.render(), "groups": &taken});
        bag.note(id, note.to_string().as_bytes())?;
        if let Some(mailbox) = bag.take_mailbox(root, id)? {
            // Mail that arrived after the plan was not part of the agreement.
            let unread = unfinished(&mailbox)?;
            if unread > planned {
                bag.return_mailbox(root, id)?;
                bag.forget(id)?;
                return Err(Error::UnreadMail { name: name.to_owned(), unread });
            }
        }
        if !taken.is_empty() {
            groups.save(root)?;
        }
        editing.commit()?;
        self.record(Event { note: name.to_owned(), mailbox: id.to_string(), ..Event::new("pruned", by) });
        Ok(())
    }
}

/// Unfinished mail: unread, or claimed under a valid lease.
fn unfinished(mailbox: &Maildir) -> Result<usize> {
    let claimed = || -> Result<usize> {
        let mut count = 0;
        for token in mailbox.tokens()? {
            count += mailbox.list(Folder::Claimed(token), 0)?.total;
        }
        Ok(count)
    };
    // A message that is released or claimed meanwhile is seen in one of the lists.
    let (before, unread, after) = (claimed()?, mailbox.list(Folder::Inbox, 0)?.total, claimed()?);
    Ok(unread + before.max(after))
}
