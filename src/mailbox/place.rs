//! A mailbox of any protocol: its home in the room, and the place where its messages lie.
//!
//! Every name of a room has a home `<root>/<id>/`: who was seen, whose session it is, locks, and an inbox for
//! senders who know no other protocol. The messages of a mailbox of the native protocol lie there too; those of
//! a workspace lie in its `.mailbox`, those of another room in that room (format.md §9). Verbs see no difference.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::fs::Stat;

use super::claim::{Attempt, Terms};
use super::disk::Dir;
use super::fault::{Error, Result};
use super::folder::{Folder, Token};
use super::maildir::{Layout, Listing, Maildir};
use super::reading::{Header, Unreadable};
use crate::clock::{Clock, Timestamp};
use crate::message::{Message, Protocol};
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
}

impl Mailbox {
    /// A mailbox whose messages lie at its home.
    pub fn native(home: Maildir) -> Self {
        Self { home, place: Place::Home }
    }

    /// A mailbox whose messages lie in an inbox elsewhere, in the layout of its protocol. Missing: nothing is there.
    pub fn elsewhere(home: Maildir, protocol: Protocol, inbox: &Path) -> Result<Self> {
        let place = match (protocol, inbox.parent()) {
            (Protocol::Maildir, Some(above)) if inbox.ends_with("inbox") => {
                Maildir::at(Dir::outside(above)?, home.id())
            }
            (Protocol::Workspace, Some(above)) if inbox.ends_with(".mailbox/inbox") => {
                Maildir::workspace(Dir::outside(above)?, home.id())
            }
            _ => {
                return Err(Error::NotADirectory {
                    path: inbox.to_owned(),
                    what: "no inbox of its protocol",
                });
            }
        };
        Ok(Self { home, place: Place::Elsewhere(place) })
    }

    pub fn id(&self) -> &MailboxId {
        self.home.id()
    }

    pub fn protocol(&self) -> Protocol {
        match self.maildir().layout() {
            Layout::Native => Protocol::Maildir,
            Layout::Workspace => Protocol::Workspace,
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

    /// Where its messages lie.
    pub fn maildir(&self) -> &Maildir {
        match &self.place {
            Place::Home => &self.home,
            Place::Elsewhere(place) => place,
        }
    }

    /// The directories in which its mail arrives.
    pub fn arrival_dirs(&self) -> Vec<PathBuf> {
        let mut dirs = vec![self.maildir().dir().path().join(Folder::Inbox.word())];
        if !self.is_home() {
            dirs.push(self.home.dir().path().join(Folder::Inbox.word()));
        }
        dirs
    }

    pub fn list(&self, folder: Folder, limit: usize) -> Result<Listing> {
        self.maildir().list(folder, limit)
    }

    pub fn arrivals(&self, folder: Folder, limit: usize) -> Result<Listing> {
        self.maildir().arrivals(folder, limit)
    }

    pub fn unread(&self) -> Result<(usize, Option<Timestamp>)> {
        self.maildir().unread()
    }

    pub fn header(
        &self,
        folder: Folder,
        name: &str,
        limit: u64,
    ) -> std::result::Result<Option<Header>, Unreadable> {
        self.maildir().header(folder, name, limit)
    }

    pub fn message(
        &self,
        folder: Folder,
        name: &str,
        limit: u64,
    ) -> std::result::Result<Option<(Message, Timestamp)>, Unreadable> {
        self.maildir().message(folder, name, limit)
    }

    /// A whole file as text, however it is written; for saying what is wrong with it.
    pub fn text(&self, folder: Folder, name: &str) -> Option<String> {
        let bytes = self.maildir().folder(folder).ok()?.read(name, TEXT_LIMIT).ok()??;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub fn path(&self, folder: Folder, name: &str) -> PathBuf {
        self.maildir().path(folder, name)
    }

    pub fn folders(&self) -> Result<Vec<Folder>> {
        self.maildir().folders()
    }

    pub fn tokens(&self) -> Result<Vec<Token>> {
        self.maildir().tokens()
    }

    /// The files of a folder that may hold the message with this id.
    pub fn twins(&self, folder: Folder, id: &MessageId) -> Result<Vec<String>> {
        self.maildir().twins(folder, id)
    }

    /// Whether a file of this name is a message.
    pub fn is_message(&self, name: &[u8]) -> bool {
        self.maildir().is_message(name)
    }

    /// The directory of a folder, if there is one.
    pub fn folder_if_any(&self, folder: Folder) -> Result<Option<Dir>> {
        self.maildir().folder_if_any(folder)
    }

    /// What is known of a file without opening it.
    pub fn stat(&self, folder: Folder, name: &str) -> Result<Stat> {
        self.maildir().folder(folder)?.stat(name)
    }

    /// Makes the moves into a folder survive a power cut.
    pub fn sync(&self, folder: Folder) -> Result<()> {
        self.maildir().folder(folder)?.sync()
    }

    pub fn remove(&self, folder: Folder, name: &str) -> Result<()> {
        self.maildir().folder(folder)?.remove(name)
    }

    pub fn shift(&self, name: &str, from: Folder, to: Folder) -> Result<Option<String>> {
        self.maildir().shift(name, from, to)
    }

    /// Puts away what cannot be read; `false`: here it is left alone, because quarantine is for rooms.
    pub fn quarantine(&self, name: &OsString) -> Result<bool> {
        match self.protocol() {
            Protocol::Maildir => self.maildir().quarantine(name).map(|()| true),
            _ => Ok(false),
        }
    }

    pub fn claim(&self, name: &str, terms: &Terms) -> Result<Option<Token>> {
        self.maildir().claim(name, terms)
    }

    pub fn terms(&self, token: Token) -> Result<Option<Terms>> {
        self.maildir().terms(token)
    }

    pub fn renew(&self, token: Token, terms: &Terms) -> Result<()> {
        self.maildir().renew(token, terms)
    }

    pub fn settle(&self, token: Token, name: &str, to: Folder) -> Result<Option<String>> {
        self.maildir().settle(token, name, to)
    }

    pub fn return_expired(&self, clock: &dyn Clock) -> Result<Vec<String>> {
        self.maildir().return_expired(clock)
    }

    pub fn note_attempt(&self, name: &str, attempt: &Attempt) -> Result<()> {
        self.maildir().note_attempt(name, attempt)
    }

    pub fn attempts(&self, name: &str) -> Result<Vec<Attempt>> {
        self.maildir().attempts(name)
    }

    pub fn tries(&self, name: &str) -> Result<u32> {
        self.maildir().tries(name)
    }

    pub fn end_of(&self, token: Token) -> Result<Option<Attempt>> {
        self.maildir().end_of(token)
    }

    pub fn carry_attempts(&self, name: &str, new: &str) -> Result<()> {
        self.maildir().carry_attempts(name, new)
    }

    pub fn forget_attempts(&self, name: &str) -> Result<()> {
        self.maildir().forget_attempts(name)
    }
}
