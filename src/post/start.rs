//! The mailbox for a program that is about to start: an existing one that nobody holds, or a new one.
//!
//! A name that a living session holds is refused, with another name; the person's own is never given to a program. The
//! session itself is bound by the program's first hook, because only that knows its id.

use super::setup::{checked_name, not_reserved};
use super::takeover::holder;
use super::{Error, NewMailbox, Post, Result};
use crate::mailbox::Folder;
use crate::message::envelope::check_value;
use crate::name::{MailboxId, Name};
use crate::registry::Editing;
use crate::session::{self, Session};

/// A mailbox that a program may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    pub id: MailboxId,
    pub name: String,
    /// It was made now.
    pub created: bool,
    /// `None` if the inbox could not be read.
    pub unread: Option<usize>,
}

impl Post {
    /// The mailbox called `name`, or a new one; without a name, a new one with a free name.
    pub fn prepare(&self, name: Option<&str>, about: Option<&str>, program: &str) -> Result<Prepared> {
        self.room.may_write()?;
        let known = name.map(|name| self.resolve(name)).transpose()?.flatten();
        if let Some(id) = known {
            return self.prepare_known(id, about);
        }
        if let Some(name) = name {
            not_reserved(checked_name(name)?.as_str()).map_err(|e| {
                match name.eq_ignore_ascii_case(super::USER) {
                    true => Error::PersonsName,
                    false => e,
                }
            })?;
        }
        let setup = self.setup(&NewMailbox {
            name: name.map(str::to_owned),
            about: about.map(str::to_owned),
            child: true,
            program: Some(program.to_owned()),
            ..NewMailbox::default()
        })?;
        Ok(Prepared { id: setup.id, name: setup.name, created: true, unread: setup.unread })
    }

    fn prepare_known(&self, id: MailboxId, about: Option<&str>) -> Result<Prepared> {
        let name = self.name_of(id.as_str()).to_owned();
        if self.is_persons(&id) {
            return Err(Error::PersonsName);
        }
        let mailbox = self.home(&id)?;
        // Without a holder no session has it, whatever was done in it a moment ago.
        if holder(&mailbox)?.is_some_and(|holder| !holder.session().id.is_empty())
            && self.is_held(&mailbox)?
        {
            return Err(self.in_session(&name));
        }
        if let Some(about) = about {
            self.set_about(&id, about)?;
        }
        let unread = self.placed(mailbox).and_then(|mailbox| Ok(mailbox.list(Folder::Inbox, 0)?.total)).ok();
        Ok(Prepared { id, name, created: false, unread })
    }

    /// The error for a name that a session has, with names that are free.
    pub fn in_session(&self, name: &str) -> Error {
        let free =
            |name: &Name| self.registered().map(|registry| registry.suggestions(name)).unwrap_or_default();
        let suggestions = Name::parse(name).map(|name| free(&name)).unwrap_or_default();
        Error::InSession { name: name.to_owned(), suggestions }
    }

    /// Records that the agent of a mailbox is there. Its program may call no hook before its first prompt.
    pub fn mark_started(&self, prepared: &Prepared) {
        if let Ok(home) = self.home(&prepared.id) {
            home.mark_seen();
        }
    }

    fn set_about(&self, id: &MailboxId, about: &str) -> Result<()> {
        check_value(about).map_err(|why| Error::BadValue { field: "--about", why })?;
        let mut editing = Editing::begin(self.room.root())?;
        if let Some(mut entry) = editing.registry.by_id(id).cloned() {
            entry.extra.insert("about".into(), about.into());
            editing.registry.set(entry);
            editing.commit()?;
        }
        Ok(())
    }

    /// The last session of a program with a mailbox.
    pub fn last_session(&self, prepared: &Prepared, program: &str) -> Result<Session> {
        session::latest(&self.room, program, &prepared.id)?
            .ok_or_else(|| Error::NoConversation { name: prepared.name.clone(), program: program.to_owned() })
    }
}
