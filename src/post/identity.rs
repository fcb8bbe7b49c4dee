//! The identity of a command: from the flag, else the binding of this agent session, else the environment, else the
//! binding of this terminal in this room.
//!
//! It is never guessed, never created by accident, and never read from text that a model wrote.

use super::error::Typist;
use super::{Error, Post, Result};
use crate::mailbox::reading::mtime;
use crate::mailbox::workspace::MAILBOX;
use crate::mailbox::{Folder, Mailbox};
use crate::name::{MailboxId, Name};
use crate::person::{self, Seat};
use crate::registry::Entry;
use crate::session::Session;

/// The program in the binding of a terminal.
pub(super) const TERMINAL: &str = "terminal";

/// How many names are suggested to a command without identity, and how many are looked at for that.
const NAMED: usize = 5;
const LOOKED_AT: usize = 200;

/// The mailbox a command acts as.
#[derive(Debug)]
pub struct Me {
    pub id: MailboxId,
    /// Its friendly name, if it has one.
    pub name: Option<String>,
    pub why: Why,
    pub mailbox: Mailbox,
}

/// The source of an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    Flag,
    Environment,
    Session,
    Terminal,
    /// The caller gave an id itself: the seed's shell interface, and reads of other mailboxes.
    Id,
}

impl Why {
    pub fn as_str(self) -> &'static str {
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
    /// The display name of this mailbox.
    pub fn shown(&self) -> &str {
        self.name.as_deref().unwrap_or(self.id.as_str())
    }
}

impl Post {
    /// The mailbox this command acts as; updates its last-seen time.
    pub fn me(&self) -> Result<Me> {
        let (id, why) = self.my_id()?.ok_or_else(|| {
            let (names, more) = self.last_used();
            let likely = names.iter().find(|name| !self.is_named(name)).cloned();
            let typist = match self.caller.by_agent || self.caller.session.is_some() {
                true => Typist::Agent,
                false if self.seems_attended() => Typist::Person,
                false => Typist::Unknown,
            };
            Error::WhoAmI { names, more, likely, typist }
        })?;
        self.me_as(&id, why)
    }

    /// The mailbox this command acts as, if it has an identity. A binding outlives its mailbox, and `undo` has to work in the
    /// terminal of a pruned one.
    pub fn maybe_me(&self) -> Result<Option<Me>> {
        let Some((id, why)) = self.my_id()? else { return Ok(None) };
        match self.me_as(&id, why) {
            Err(Error::NoMailbox { .. }) if matches!(why, Why::Session | Why::Terminal) => Ok(None),
            me => me.map(Some),
        }
    }

    /// A few names of this room, the most recently used first, and the number of the others. Only a person is `user`, and that
    /// before all others.
    fn last_used(&self) -> (Vec<String>, usize) {
        let Ok(registry) = self.registered() else { return (vec![], 0) };
        let seen = |entry: &&Entry| {
            let stat = self.room.root().stat(&format!("{}/seen", entry.id)).ok();
            std::cmp::Reverse(stat.map(|stat| mtime(&stat)))
        };
        let is_person = person::look(self.caller.by_agent).is_ok();
        let known = registry.entries.iter().filter(|entry| is_person || !self.is_persons(&entry.id));
        let known: Vec<&Entry> = known.collect();
        let mut looked_at: Vec<&Entry> = known.iter().take(LOOKED_AT).copied().collect();
        looked_at.sort_by_key(|entry| (!self.is_persons(&entry.id), seen(entry)));
        let named: Vec<String> = looked_at.iter().take(NAMED).map(|entry| entry.name.clone()).collect();
        let more = known.len() - named.len();
        (named, more)
    }

    /// Whether the command names this mailbox, as a recipient for example: then nobody is advised to act as it.
    fn is_named(&self, name: &str) -> bool {
        let Ok(registry) = self.registered() else { return false };
        let id = |name: &str| registry.lookup(name).ok().flatten().map(|entry| &entry.id);
        self.caller
            .words
            .iter()
            .any(|word| word == name || id(word).is_some_and(|named| Some(named) == id(name)))
    }

    pub(super) fn me_as(&self, id: &MailboxId, why: Why) -> Result<Me> {
        let me = Me { why, ..self.other(id)? };
        // A room of a newer format is only read.
        if self.room.may_write().is_ok() {
            me.mailbox.home().mark_seen();
        }
        Ok(me)
    }

    /// The mailbox of the agent that this command works for.
    pub fn act_as(&self, name: &str) -> Result<Me> {
        self.other(&self.addressee(name)?)
    }

    /// Whether the home of a mailbox has no unread mail, no claims, and nothing to collect. Cheap, for callers with
    /// many mailboxes. The caller must know whether its messages are elsewhere.
    pub fn is_still(&self, id: &MailboxId) -> bool {
        let root = self.room.root();
        if !root.is_empty_at(&format!("{id}/{}", Folder::Inbox.as_str())).unwrap_or(false) {
            return false;
        }
        // Three directories always exist (format.md §2.2). If there are no more, the others need not be looked up;
        // look-ups of missing names cost most.
        if root.dirs_at(id.as_str()) == Some(3) {
            return true;
        }
        root.dirs_at(&format!("{id}/claimed")) == Some(0)
            && root.stat(&format!("{id}/{MAILBOX}")).is_err_and(|e| e.is_missing())
    }

    /// Another mailbox, opened as if it were the caller's.
    pub fn other(&self, id: &MailboxId) -> Result<Me> {
        let name = self.registered().ok().and_then(|r| r.by_id(id)).map(|e| e.name.clone());
        Ok(Me { id: id.clone(), name, why: Why::Id, mailbox: self.mailbox(id)? })
    }

    /// The id this command acts as, if it has an identity; the mailbox need not exist.
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

    /// The mailbox that this terminal acts as, for a remark: one that cannot be read is none.
    pub(super) fn bound_to_terminal(&self) -> Option<MailboxId> {
        let (terminal, seat) = self.terminal().ok().flatten()?;
        terminal.mailbox(&self.room).ok().flatten().filter(|_| seat.is_a_persons())
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

    /// Binds this terminal to a mailbox, for the commands typed in it. `false` if no person is at a terminal.
    pub(super) fn bind_terminal(&self, id: &MailboxId) -> Result<bool> {
        let Some((terminal, seat)) = self.terminal()?.filter(|(_, seat)| seat.is_a_persons()) else {
            return Ok(false);
        };
        terminal.record(&self.room, id, seat.leader, false)?;
        Ok(true)
    }

    /// Resolves a name, else the id of an existing mailbox.
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

    /// Resolves a name that a person typed: it may be that of an inbox made by hand a moment ago.
    fn resolve_or_adopt(&self, text: &str) -> Result<Option<MailboxId>> {
        match self.resolve(text)? {
            None if self.adopt_new_inboxes()? => self.resolve(text),
            other => Ok(other),
        }
    }

    /// The mailbox of a recipient or a filter: by name, never guessed.
    pub fn addressee(&self, name: &str) -> Result<MailboxId> {
        self.resolve_or_adopt(name)?.ok_or_else(|| self.unknown(name))
    }

    pub(super) fn unknown(&self, name: &str) -> Error {
        if let (Err(why), Err(_)) = (Name::parse(name), MailboxId::parse(name)) {
            return Error::BadName { what: "the name", text: name.to_owned(), why };
        }
        let registry = self.registered().ok();
        Error::UnknownName {
            is_group: self.is_group(name),
            name: crate::message::visible::clip(name, 80),
            nearest: registry.map(|r| r.nearest(name)).unwrap_or_default(),
            all: registry.map(|r| r.entries.iter().map(|e| e.name.clone()).collect()).unwrap_or_default(),
        }
    }

    pub(super) fn not_me(&self, why: Why, name: &str) -> Error {
        if let (Err(bad), Err(_)) = (Name::parse(name), MailboxId::parse(name)) {
            return Error::BadName { what: why.as_str(), text: name.to_owned(), why: bad };
        }
        let mut nearest = self.registered().map(|r| r.nearest(name)).unwrap_or_default();
        nearest.retain(|near| !self.is_named(near));
        let (source_of_name, name) = (why.as_str(), crate::message::visible::clip(name, 80));
        Error::NotMe { source_of_name, name, nearest, names: self.last_used().0 }
    }
}
