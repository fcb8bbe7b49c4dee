//! Who a command acts as: the flag, else what this agent session is bound to, else the environment, else what this terminal is
//! bound to in this room.
//!
//! Never guessed, never minted by accident, and never read out of text that a model produced.

use super::{Error, Post, Result};
use crate::mailbox::workspace::MAILBOX;
use crate::mailbox::{Folder, Mailbox};
use crate::name::{MailboxId, Name};
use crate::person::Seat;
use crate::session::Session;

/// The program of a binding that is a terminal's.
pub(super) const TERMINAL: &str = "terminal";

/// The mailbox a command acts as.
#[derive(Debug)]
pub struct Me {
    pub id: MailboxId,
    /// Its friendly name, if it has one.
    pub name: Option<String>,
    pub why: Why,
    pub mailbox: Mailbox,
}

/// What said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    Flag,
    Environment,
    Session,
    Terminal,
    /// The caller named an id itself: the seed's shell interface, and looks into other mailboxes.
    Id,
}

impl Why {
    pub fn word(self) -> &'static str {
        match self {
            Self::Flag => "--as",
            Self::Environment => "AGENT_MAILBOX_ID",
            Self::Session => "the binding of this agent session",
            Self::Terminal => "the binding of this terminal",
            Self::Id => "the id",
        }
    }
}

impl Me {
    /// What people call this mailbox.
    pub fn shown(&self) -> &str {
        self.name.as_deref().unwrap_or(self.id.as_str())
    }
}

impl Post {
    /// The mailbox this command acts as; its time of last sight is set.
    pub fn me(&self) -> Result<Me> {
        let (id, why) = self.my_id()?.ok_or(Error::WhoAmI)?;
        let mailbox = self.mailbox(&id)?;
        // A room of a newer format is only looked at.
        if self.room.may_write().is_ok() {
            mailbox.home().mark_seen();
        }
        let name = self.registered().ok().and_then(|r| r.by_id(&id)).map(|e| e.name.clone());
        Ok(Me { id, name, why, mailbox })
    }

    /// The mailbox of an agent that this command works for.
    pub fn act_as(&self, name: &str) -> Result<Me> {
        self.other(&self.addressee(name)?)
    }

    /// Whether nothing waits in the home of a mailbox, nothing is claimed there, and nothing is carried over to it. Told
    /// at a glance, for whoever looks after many; whether its messages lie elsewhere is for the caller to know.
    pub fn is_still(&self, id: &MailboxId) -> bool {
        let root = self.room.root();
        if !root.is_empty_at(&format!("{id}/{}", Folder::Inbox.word())).unwrap_or(false) {
            return false;
        }
        // Three directories are always there (format.md §2.2). Where they are all, others need not be looked for, and to
        // look for what is not there costs most.
        if root.dirs_at(id.as_str()) == Some(3) {
            return true;
        }
        root.dirs_at(&format!("{id}/claimed")) == Some(0)
            && root.stat(&format!("{id}/{MAILBOX}")).is_err_and(|e| e.is_missing())
    }

    /// Another mailbox, looked into as if one were it.
    pub fn other(&self, id: &MailboxId) -> Result<Me> {
        let name = self.registered().ok().and_then(|r| r.by_id(id)).map(|e| e.name.clone());
        Ok(Me { id: id.clone(), name, why: Why::Id, mailbox: self.mailbox(id)? })
    }

    /// Which id this command acts as, if anything says so, whether or not there is such a mailbox.
    pub(super) fn my_id(&self) -> Result<Option<(MailboxId, Why)>> {
        if let Some(name) = &self.caller.flag {
            let id = self.resolve_or_adopt(name)?.ok_or_else(|| self.not_me(Why::Flag, name))?;
            return Ok(Some((id, Why::Flag)));
        }
        if let Some(session) = &self.caller.session
            && let Some(id) = session.mailbox(&self.room)?
        {
            self.check_holder(session, &id)?;
            return Ok(Some((id, Why::Session)));
        }
        if let Some(text) = &self.caller.environment {
            return self
                .own_id_by_text(text)?
                .map(|id| Some((id, Why::Environment)))
                .ok_or_else(|| self.not_me(Why::Environment, text));
        }
        let Some((terminal, seat)) = self.terminal()? else { return Ok(None) };
        let id = terminal.mailbox(&self.room)?.filter(|_| seat.is_a_persons());
        Ok(id.map(|id| (id, Why::Terminal)))
    }

    /// The terminal of this command, as a session in this room.
    fn terminal(&self) -> Result<Option<(Session, Seat)>> {
        if !self.caller.terminal || self.room.sessions().is_none() {
            return Ok(None);
        }
        let Some(seat) = Seat::of_this_command() else { return Ok(None) };
        let boot = crate::mailbox::claim::boot_of(self.room.clock())?;
        let id = format!("{} {}", seat.shown(&boot), self.room.path().display());
        Ok(Some((Session { program: TERMINAL.to_owned(), id }, seat)))
    }

    /// Lets the commands that are typed in this terminal act as a mailbox. `false`: no person is at one.
    pub(super) fn bind_terminal(&self, id: &MailboxId) -> Result<bool> {
        let Some((terminal, seat)) = self.terminal()?.filter(|(_, seat)| seat.is_a_persons()) else {
            return Ok(false);
        };
        terminal.record(&self.room, id, seat.leader, false)?;
        Ok(true)
    }

    /// A name, else the id of a mailbox that is there.
    pub(super) fn resolve(&self, text: &str) -> Result<Option<MailboxId>> {
        match self.registered() {
            Ok(registry) => match registry.lookup(text)? {
                Some(entry) => Ok(Some(entry.id.clone())),
                None => self.existing_id(text),
            },
            // Without a registry a plain id still names its directory.
            Err(_) => match self.existing_id(text)? {
                Some(id) => Ok(Some(id)),
                None => self.registry().map(|_| None),
            },
        }
    }

    /// The same for a name that a person typed: it may be that of an inbox that was made by hand a moment ago.
    fn resolve_or_adopt(&self, text: &str) -> Result<Option<MailboxId>> {
        match self.resolve(text)? {
            None if self.adopt_new_inboxes()? => self.resolve(text),
            other => Ok(other),
        }
    }

    /// The mailbox of a recipient or of a filter: named, never guessed.
    pub fn addressee(&self, name: &str) -> Result<MailboxId> {
        self.resolve_or_adopt(name)?.ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> Error {
        if let (Err(why), Err(_)) = (Name::parse(name), MailboxId::parse(name)) {
            return Error::BadName { what: "the name", text: name.to_owned(), why };
        }
        let registry = self.registered().ok();
        Error::UnknownName {
            name: crate::message::visible::clip(name, 80),
            nearest: registry.map(|r| r.nearest(name)).unwrap_or_default(),
            all: registry.map(|r| r.entries.iter().map(|e| e.name.clone()).collect()).unwrap_or_default(),
        }
    }

    pub(super) fn not_me(&self, why: Why, name: &str) -> Error {
        if let (Err(bad), Err(_)) = (Name::parse(name), MailboxId::parse(name)) {
            return Error::BadName { what: why.word(), text: name.to_owned(), why: bad };
        }
        let nearest = self.registered().map(|r| r.nearest(name)).unwrap_or_default();
        Error::NotMe { source_of_name: why.word(), name: crate::message::visible::clip(name, 80), nearest }
    }
}
