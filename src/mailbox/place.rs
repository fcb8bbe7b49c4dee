//! A mailbox of any protocol: its home in the room, and the place where its messages lie.
//!
//! Every name of a room has a home `<root>/<id>/`: who was seen, whose session it is, locks, and an inbox for
//! senders who know no other protocol. The messages of a mailbox of the native protocol lie there too; those of
//! a workspace lie in its `.mailbox`, those of an agent in its `.claude` tree, those of another room in that room
//! (format.md §9). Verbs see no difference.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::fs::Stat;

use super::claim::{Attempt, Terms};
use super::disk::Dir;
use super::fault::{Error, Result};
use super::folder::{Folder, Token};
use super::maildir::{Layout, Listing, Maildir};
use super::reading::{Header, Unreadable};
use super::tree::{Agent, Tree};
use crate::clock::{Clock, Timestamp};
use crate::message::{Message, Protocol, file_name};
use crate::name::{MailboxId, MessageId};

/// The longest file that is looked at again to say what is wrong with it.
const TEXT_LIMIT: u64 = 16 * 1024 * 1024;

/// One mailbox, open.
#[derive(Debug)]
pub struct Mailbox {
    home: Maildir,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Home,
    Elsewhere(Maildir),
    Tree(Box<Agent>),
}

/// Where the messages are: in directories that say their state, or in an inbox where a field does.
enum At<'a> {
    Folders(&'a Maildir),
    Tree(&'a Agent),
}

impl Mailbox {
    /// A mailbox whose messages lie at its home.
    pub fn native(home: Maildir) -> Self {
        Self { home, place: Place::Home }
    }

    /// A mailbox whose messages lie in an inbox elsewhere, in the layout of its protocol. Missing: nothing is there.
    pub fn elsewhere(home: Maildir, protocol: Protocol, inbox: &Path) -> Result<Self> {
        let wrong = || Error::NotADirectory { path: inbox.to_owned(), what: "no inbox of its protocol" };
        let above = inbox.parent().ok_or_else(wrong)?;
        let place = match protocol {
            Protocol::Maildir if inbox.ends_with("inbox") => {
                Place::Elsewhere(Maildir::at(Dir::outside(above)?, home.id()))
            }
            Protocol::Workspace if inbox.ends_with(".mailbox/inbox") => {
                Place::Elsewhere(Maildir::workspace(Dir::outside(above)?, home.id()))
            }
            Protocol::Tree if above.ends_with(".claude/inboxes") => {
                let name = inbox.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                let agent = MailboxId::parse(name).map_err(|_| wrong())?;
                let tree = Tree::open(above.parent().ok_or_else(wrong)?)?;
                Place::Tree(Box::new(tree.agent(&agent)?))
            }
            _ => return Err(wrong()),
        };
        Ok(Self { home, place })
    }

    pub fn id(&self) -> &MailboxId {
        self.home.id()
    }

    pub fn protocol(&self) -> Protocol {
        match self.at() {
            At::Folders(maildir) if maildir.layout() == Layout::Native => Protocol::Maildir,
            At::Folders(_) => Protocol::Workspace,
            At::Tree(_) => Protocol::Tree,
        }
    }

    /// Whether its messages lie at its home.
    pub fn is_home(&self) -> bool {
        matches!(self.place, Place::Home)
    }

    pub fn home(&self) -> &Maildir {
        &self.home
    }

    /// The directory of its home.
    pub fn dir(&self) -> &Dir {
        self.home.dir()
    }

    /// The directories that hold its messages, if directories say their state.
    pub fn maildir(&self) -> Option<&Maildir> {
        match self.at() {
            At::Folders(maildir) => Some(maildir),
            At::Tree(_) => None,
        }
    }

    /// The agent it is in a `.claude` tree.
    pub fn agent(&self) -> Option<&Agent> {
        match self.at() {
            At::Folders(_) => None,
            At::Tree(agent) => Some(agent),
        }
    }

    fn at(&self) -> At<'_> {
        match &self.place {
            Place::Home => At::Folders(&self.home),
            Place::Elsewhere(place) => At::Folders(place),
            Place::Tree(agent) => At::Tree(agent),
        }
    }

    /// The directories in which its mail arrives.
    pub fn arrival_dirs(&self) -> Vec<PathBuf> {
        let mut dirs = vec![self.inbox()];
        if !self.is_home() {
            dirs.push(self.home.dir().path().join(Folder::Inbox.word()));
        }
        dirs
    }

    /// The directory of its unread mail.
    pub fn inbox(&self) -> PathBuf {
        match self.at() {
            At::Folders(maildir) => maildir.dir().path().join(Folder::Inbox.word()),
            At::Tree(agent) => agent.dir().path().to_owned(),
        }
    }

    pub fn list(&self, folder: Folder, limit: usize) -> Result<Listing> {
        match self.at() {
            At::Folders(maildir) => maildir.list(folder, limit),
            At::Tree(agent) => Ok(agent.list(folder, limit)?),
        }
    }

    pub fn arrivals(&self, folder: Folder, limit: usize) -> Result<Listing> {
        match self.at() {
            At::Folders(maildir) => maildir.arrivals(folder, limit),
            // A step waits for the steps before it, and is nobody's next message until then.
            At::Tree(agent) if folder == Folder::Inbox => Ok(agent.ready(limit)?),
            At::Tree(agent) => Ok(agent.list(folder, limit)?),
        }
    }

    pub fn unread(&self) -> Result<(usize, Option<Timestamp>)> {
        match self.at() {
            At::Folders(maildir) => maildir.unread(),
            At::Tree(agent) => Ok(agent.unread()?),
        }
    }

    pub fn header(
        &self,
        folder: Folder,
        name: &str,
        limit: u64,
    ) -> std::result::Result<Option<Header>, Unreadable> {
        match self.at() {
            At::Folders(maildir) => maildir.header(folder, name, limit),
            At::Tree(agent) => agent.header(folder, name, limit),
        }
    }

    pub fn message(
        &self,
        folder: Folder,
        name: &str,
        limit: u64,
    ) -> std::result::Result<Option<(Message, Timestamp)>, Unreadable> {
        match self.at() {
            At::Folders(maildir) => maildir.message(folder, name, limit),
            At::Tree(agent) => agent.message(folder, name, limit),
        }
    }

    /// A whole file as text, however it is written; for saying what is wrong with it.
    pub fn text(&self, folder: Folder, name: &str) -> Option<String> {
        let bytes = match self.at() {
            At::Folders(maildir) => maildir.folder(folder).ok()?.read(name, TEXT_LIMIT).ok()??,
            At::Tree(agent) => agent.dir().read(name, TEXT_LIMIT).ok()??,
        };
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub fn path(&self, folder: Folder, name: &str) -> PathBuf {
        match self.at() {
            At::Folders(maildir) => maildir.path(folder, name),
            At::Tree(agent) => agent.path(folder, name),
        }
    }

    pub fn folders(&self) -> Result<Vec<Folder>> {
        match self.at() {
            At::Folders(maildir) => maildir.folders(),
            At::Tree(agent) => Ok(agent.folders()?),
        }
    }

    pub fn tokens(&self) -> Result<Vec<Token>> {
        match self.at() {
            At::Folders(maildir) => maildir.tokens(),
            At::Tree(agent) => agent.tokens(),
        }
    }

    /// The files of a folder that may hold the message with this id.
    pub fn twins(&self, folder: Folder, id: &MessageId) -> Result<Vec<String>> {
        match self.at() {
            At::Folders(maildir) => maildir.twins(folder, id),
            At::Tree(agent) => Ok(agent.twins(folder, id)?),
        }
    }

    /// Directories whose files are to be searched, each with the folder it stands for; a field may say another.
    pub fn search_dirs(&self) -> Result<Vec<(Folder, Dir)>> {
        let mut dirs = vec![];
        match self.at() {
            At::Folders(maildir) => {
                for folder in maildir.folders()? {
                    dirs.extend(maildir.folder_if_any(folder)?.map(|dir| (folder, dir)));
                }
            }
            At::Tree(agent) => dirs = agent.search_dirs()?,
        }
        Ok(dirs)
    }

    /// Whether a file of this name is a message.
    pub fn is_message(&self, name: &[u8]) -> bool {
        match self.at() {
            At::Folders(maildir) => maildir.is_message(name),
            At::Tree(_) => file_name::is_message(name),
        }
    }

    /// What is known of a file without opening it.
    pub fn stat(&self, folder: Folder, name: &str) -> Result<Stat> {
        match self.at() {
            At::Folders(maildir) => maildir.folder(folder)?.stat(name),
            At::Tree(agent) => agent.dir().stat(name),
        }
    }

    /// Makes the moves into a folder survive a power cut.
    pub fn sync(&self, folder: Folder) -> Result<()> {
        match self.at() {
            At::Folders(maildir) => maildir.folder(folder)?.sync(),
            At::Tree(agent) => agent.dir().sync(),
        }
    }

    pub fn remove(&self, folder: Folder, name: &str) -> Result<()> {
        match self.at() {
            At::Folders(maildir) => maildir.folder(folder)?.remove(name),
            At::Tree(agent) => Ok(agent.remove(folder, name).map(|_| ())?),
        }
    }

    pub fn shift(&self, name: &str, from: Folder, to: Folder) -> Result<Option<String>> {
        match self.at() {
            At::Folders(maildir) => maildir.shift(name, from, to),
            At::Tree(agent) => Ok(agent.shift(name, from, to)?),
        }
    }

    /// Whether what cannot be read is put away; elsewhere it is left alone, because quarantine is for rooms.
    pub fn has_quarantine(&self) -> bool {
        matches!(self.at(), At::Folders(maildir) if maildir.layout() == Layout::Native)
    }

    /// Puts away what cannot be read; `false`: here it is left alone.
    pub fn quarantine(&self, name: &OsString) -> Result<bool> {
        match self.at() {
            At::Folders(maildir) if self.has_quarantine() => maildir.quarantine(name).map(|()| true),
            _ => Ok(false),
        }
    }

    pub fn claim(&self, name: &str, terms: &Terms) -> Result<Option<Token>> {
        match self.at() {
            At::Folders(maildir) => maildir.claim(name, terms),
            At::Tree(agent) => Ok(agent.claim(name, terms)?),
        }
    }

    pub fn terms(&self, token: Token) -> Result<Option<Terms>> {
        match self.at() {
            At::Folders(maildir) => maildir.terms(token),
            At::Tree(agent) => agent.terms(token),
        }
    }

    pub fn renew(&self, token: Token, terms: &Terms) -> Result<()> {
        match self.at() {
            At::Folders(maildir) => maildir.renew(token, terms),
            At::Tree(agent) => agent.renew(token, terms),
        }
    }

    /// Ends a claim; `why` is written where the protocol has a place for it.
    pub fn settle(&self, token: Token, name: &str, to: Folder, why: &str) -> Result<Option<String>> {
        match self.at() {
            At::Folders(maildir) => maildir.settle(token, name, to),
            At::Tree(agent) => {
                let error = (to == Folder::Failed && !why.is_empty()).then_some(why);
                Ok(agent.settle_with(token, name, to, error)?)
            }
        }
    }

    pub fn return_expired(&self, clock: &dyn Clock) -> Result<Vec<String>> {
        match self.at() {
            At::Folders(maildir) => maildir.return_expired(clock),
            At::Tree(agent) => Ok(agent.return_expired(clock)?),
        }
    }

    pub fn note_attempt(&self, name: &str, attempt: &Attempt) -> Result<()> {
        match self.at() {
            At::Folders(maildir) => maildir.note_attempt(name, attempt),
            At::Tree(agent) => agent.note_attempt(name, attempt),
        }
    }

    pub fn attempts(&self, name: &str) -> Result<Vec<Attempt>> {
        match self.at() {
            At::Folders(maildir) => maildir.attempts(name),
            At::Tree(agent) => agent.attempts(name),
        }
    }

    pub fn tries(&self, name: &str) -> Result<u32> {
        match self.at() {
            At::Folders(maildir) => maildir.tries(name),
            At::Tree(agent) => agent.tries(name),
        }
    }

    pub fn end_of(&self, token: Token) -> Result<Option<Attempt>> {
        match self.at() {
            At::Folders(maildir) => maildir.end_of(token),
            At::Tree(agent) => agent.end_of(token),
        }
    }

    /// Attempts go with their message when its name changes, which only happens between directories.
    pub fn carry_attempts(&self, name: &str, new: &str) -> Result<()> {
        self.maildir().map_or(Ok(()), |maildir| maildir.carry_attempts(name, new))
    }

    pub fn forget_attempts(&self, name: &str) -> Result<()> {
        match self.at() {
            At::Folders(maildir) => maildir.forget_attempts(name),
            At::Tree(agent) => agent.forget_attempts(name),
        }
    }
}
