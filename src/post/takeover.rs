//! Takeover: become an existing mailbox. Nothing moves. The caller's session is bound to it, and the session that held
//! it is told at its next command (format.md §7.1).

use serde::{Deserialize, Serialize};

use super::{Error, Post, Result, Why};
use crate::journal::Event;
use crate::mailbox::{IfAny, Maildir};
use crate::name::MailboxId;
use crate::session::Session;

const FILE: &str = "holder";

/// The session that holds a mailbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Holder {
    v: u32,
    program: String,
    session: String,
    since: String,
}

/// The result of a takeover.
#[derive(Debug)]
pub struct TakenOver {
    pub id: MailboxId,
    pub name: String,
    /// What acts as it from now on: the agent session or the terminal.
    pub bound: Option<Why>,
}

impl Post {
    /// Gives the mailbox called `name` to this session.
    pub fn takeover(&self, name: &str, force: bool) -> Result<TakenOver> {
        self.room.may_write()?;
        let id = self.addressee(name)?;
        self.home(&id)?;
        // Concurrent takeovers are serialised, and the second finds the first alive.
        let _lock = self.room.root().lock(crate::registry::LOCK)?;
        let mailbox = self.home(&id)?;
        let name = self.name_of(id.as_str()).to_owned();
        let mine = self.caller.session.as_ref();
        let held = holder(&mailbox)?;
        let is_mine = mine.is_some_and(|session| held.is_some_and(|h| h.is(session)));
        if !force && !is_mine && self.is_held(&mailbox)? {
            return Err(Error::HolderAlive { name });
        }
        let bound = match mine {
            Some(session) => session.bind(&self.room, &id).map(|()| Some(Why::Session))?,
            None => self.bind_terminal(&id)?.then_some(Why::Terminal),
        };
        self.hold(&mailbox, mine)?;
        mailbox.mark_seen();
        self.tell_program();
        let note = mine.map_or_else(|| "no session".to_owned(), |s| s.program.clone());
        self.record(Event { note, ..Event::new("takeover", id.as_str()) });
        Ok(TakenOver { id, name, bound })
    }

    /// Records the session that holds a mailbox from now on.
    pub(super) fn hold(&self, mailbox: &Maildir, session: Option<&Session>) -> Result<()> {
        let (program, id) = session
            .map_or((self.caller.harness.clone(), String::new()), |s| (s.program.clone(), s.id.clone()));
        let holder = Holder { v: 1, program, session: id, since: self.now().to_string() };
        Ok(mailbox.dir().replace_synced(FILE, &serde_json::to_vec(&holder).unwrap_or_default())?)
    }

    /// The session that holds a mailbox.
    pub(super) fn holder_of(&self, me: &super::Me) -> Result<Option<Session>> {
        Ok(holder(me.mailbox.home())?.map(|holder| holder.session()))
    }

    /// Tells the program of the caller's session that the session has another mailbox; a failure costs a wake-up.
    pub(super) fn tell_program(&self) {
        let _ = self.caller.session.as_ref().map(|session| session.changed(&self.room));
    }

    /// Refuses a session whose mailbox another session took over.
    pub(super) fn check_holder(&self, session: &Session, id: &MailboxId) -> Result<()> {
        let Some(mailbox) = Maildir::open(self.room.root(), id).if_any()? else { return Ok(()) };
        match holder(&mailbox)? {
            Some(other) if !other.is(session) => Err(Error::TakenOver {
                name: self.name_of(id.as_str()).to_owned(),
                by: other.program,
                since: other.since,
            }),
            _ => Ok(()),
        }
    }
}

impl Holder {
    pub(super) fn session(&self) -> Session {
        Session { program: self.program.clone(), id: self.session.clone() }
    }

    pub(super) fn is(&self, session: &Session) -> bool {
        self.program == session.program && self.session == session.id
    }
}

/// The holder of a mailbox. An unreadable file means no holder; the doctor reports it.
pub(super) fn holder(mailbox: &Maildir) -> Result<Option<Holder>> {
    let bytes = mailbox.dir().read(FILE, 64 * 1024)?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}
