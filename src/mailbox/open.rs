//! A mailbox: its home in the room, and the place of its messages.
//!
//! Every name of a room has a home `<root>/<id>/`. It holds the last-seen time, the session that holds the mailbox,
//! locks, an inbox for senders that know no other protocol, and in `.mailbox/` the data for answers by hand in the
//! other two (format.md §9). The messages of a native mailbox are there too; those of a workspace are in its
//! `.mailbox`, those of an agent in its `.claude` tree, those of another room in that room. A mailbox is used as its
//! [`Place`].

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::Dir;
use super::fault::{Error, Result};
use super::folder::Folder;
use super::maildir::Maildir;
use super::place::Place;
use super::tree::{Agent, Tree};
use super::workspace::{MAILBOX, Workspace};
use crate::message::Protocol;
use crate::name::MailboxId;

/// One mailbox, open.
#[derive(Debug)]
pub struct Mailbox {
    home: Arc<Maildir>,
    lies: Lies,
}

#[derive(Debug)]
enum Lies {
    AtHome,
    InRoom(Maildir),
    InWorkspace(Workspace),
    InTree(Agent),
}

impl Mailbox {
    /// A mailbox with its messages at its home.
    pub fn native(home: Maildir) -> Self {
        Self { home: Arc::new(home), lies: Lies::AtHome }
    }

    /// A mailbox with its messages in an inbox elsewhere, in the layout of its protocol. A missing inbox is an error
    /// that says so.
    pub fn elsewhere(home: Maildir, protocol: Protocol, inbox: &Path) -> Result<Self> {
        let wrong = || Error::NotADirectory { path: inbox.to_owned(), what: "no inbox of its protocol" };
        let above = inbox.parent().ok_or_else(wrong)?;
        let home = Arc::new(home);
        let lies = match protocol {
            Protocol::Maildir if inbox.ends_with("inbox") => {
                Lies::InRoom(Maildir::at(Dir::outside(above)?, home.id()))
            }
            Protocol::Workspace if inbox.ends_with(".mailbox/inbox") => {
                Lies::InWorkspace(Workspace::at(Dir::outside(above)?, Arc::clone(&home)))
            }
            Protocol::Tree if above.ends_with(".claude/inboxes") => {
                let name = inbox.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                let agent = MailboxId::parse(name).map_err(|_| wrong())?;
                let tree = Tree::open(above.parent().ok_or_else(wrong)?)?;
                Lies::InTree(tree.agent(&agent)?)
            }
            _ => return Err(wrong()),
        };
        Ok(Self { home, lies })
    }

    pub fn id(&self) -> &MailboxId {
        self.home.id()
    }

    pub fn home(&self) -> &Maildir {
        &self.home
    }

    /// The home with its attachments: in the room that its messages are in, if that is another one.
    pub(super) fn keeper(&self) -> &Maildir {
        match &self.lies {
            Lies::InRoom(maildir) => maildir,
            Lies::AtHome | Lies::InWorkspace(_) | Lies::InTree(_) => &self.home,
        }
    }

    pub(super) fn shared_home(&self) -> Arc<Maildir> {
        Arc::clone(&self.home)
    }

    /// The directory of its home.
    pub fn dir(&self) -> &Dir {
        self.home.dir()
    }

    /// Whether its messages are at its home.
    pub(super) fn is_home(&self) -> bool {
        matches!(self.lies, Lies::AtHome)
    }

    pub(super) fn tree(&self) -> Option<&Agent> {
        match &self.lies {
            Lies::InTree(agent) => Some(agent),
            _ => None,
        }
    }

    pub(super) fn workspace(&self) -> Option<&Workspace> {
        match &self.lies {
            Lies::InWorkspace(workspace) => Some(workspace),
            _ => None,
        }
    }

    /// Whether both are agents of one tree.
    pub(super) fn shares_tree(&self, other: &Self) -> bool {
        let path = |mailbox: &Self| mailbox.tree().map(|agent| agent.tree().path().to_owned());
        path(self).is_some() && path(self) == path(other)
    }

    /// The project whose shared files show the progress of its work, if it has one.
    pub fn desk(&self) -> Option<PathBuf> {
        self.tree().map(|agent| agent.tree().path().to_owned())
    }

    /// The directories where its mail arrives, including answers by hand.
    pub fn arrival_dirs(&self) -> Result<Vec<PathBuf>> {
        let mut dirs = vec![self.inbox()];
        if !self.is_home() {
            dirs.push(self.home.dir().path().join(Folder::Inbox.as_str()));
        }
        let own = self.home.dir().path().join(MAILBOX).join(Folder::Inbox.as_str());
        if own.symlink_metadata().is_ok() {
            dirs.push(own);
        }
        dirs.extend(self.outboxes()?);
        Ok(dirs)
    }
}

impl Deref for Mailbox {
    type Target = dyn Place;

    fn deref(&self) -> &Self::Target {
        match &self.lies {
            Lies::AtHome => self.home.as_ref(),
            Lies::InRoom(maildir) => maildir,
            Lies::InWorkspace(workspace) => workspace,
            Lies::InTree(agent) => agent,
        }
    }
}
