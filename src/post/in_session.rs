//! A session and its mailbox: how it gets one, keeps it, and leaves it.
//!
//! A session gets its mailbox from the environment, from its binding, or from the standing name that the person gave
//! its program. A name that another living session holds stays with that session. A session that is cleared hands its
//! mailbox on to the one that goes on in the same process; one that ends leaves it to the next who asks.

use super::identity::TERMINAL;
use super::takeover::holder;
use super::{Error, Me, Post, Result, Why};
use crate::mailbox::Maildir;
use crate::name::MailboxId;
use crate::process::Process;
use crate::session::alive::Life;
use crate::session::running::{self, Work};
use crate::session::told::Told;
use crate::session::{self, Session};

/// A session that holds no mailbox is forgotten after so many seconds of silence: thirty days.
const FORGOTTEN: i64 = 30 * 24 * 3600;

/// The mailbox of a session.
#[derive(Debug)]
pub enum Attached {
    Mailbox(Box<Me>),
    /// Another session holds the name that it would have.
    Held {
        name: String,
    },
    /// It has no identity.
    Nobody,
}

impl Post {
    /// The mailbox of the caller's session, which is bound if needed. `name` is used if nothing else identifies it.
    pub fn attach(&self, name: Option<&str>, process: Option<Process>) -> Result<Attached> {
        let Some(session) = &self.caller.session else { return self.attach_without_session(name) };
        let wanted = match self.my_id() {
            Ok(Some((id, Why::Session))) => {
                let me = self.me_as(&id, Why::Session)?;
                self.refresh_binding(session, &me, process)?;
                return Ok(Attached::Mailbox(Box::new(me)));
            }
            Ok(Some((id, _))) => id,
            // A session that lost its mailbox to another does not get it back through a hook.
            Err(Error::TakenOver { name, .. }) => return Ok(Attached::Held { name }),
            Ok(None) => match name.map(|name| self.standing(name)).transpose()?.flatten() {
                Some(id) => id,
                None => return Ok(Attached::Nobody),
            },
            Err(e) => return Err(e),
        };
        // A spawned session gives its identity at every hook; it is bound once.
        if session.mailbox(&self.room)?.as_ref() == Some(&wanted) {
            match self.check_holder(session, &wanted) {
                Ok(()) => {
                    let me = self.me_as(&wanted, Why::Session)?;
                    self.refresh_binding(session, &me, process)?;
                    return Ok(Attached::Mailbox(Box::new(me)));
                }
                Err(Error::TakenOver { .. }) => {}
                Err(e) => return Err(e),
            }
        }
        self.room.may_write()?;
        self.home(&wanted)?;
        let _lock = self.room.root().lock(crate::registry::LOCK)?;
        let me = Me { why: Why::Session, ..self.other(&wanted)? };
        if !self.is_free(session, &me)? {
            return Ok(Attached::Held { name: me.shown().to_owned() });
        }
        session.record(&self.room, &me.id, process.unwrap_or_default(), false)?;
        self.forget_old_sessions();
        self.hold(me.mailbox.home(), Some(session))?;
        me.mailbox.home().mark_seen();
        Ok(Attached::Mailbox(Box::new(me)))
    }

    fn attach_without_session(&self, name: Option<&str>) -> Result<Attached> {
        let id = match self.my_id()? {
            Some((id, _)) => Some(id),
            None => name.map(|name| self.standing(name)).transpose()?.flatten(),
        };
        let Some(id) = id else { return Ok(Attached::Nobody) };
        Ok(Attached::Mailbox(Box::new(self.me_as(&id, Why::Id)?)))
    }

    /// The mailbox with the standing name of a program, which may be in other rooms only.
    fn standing(&self, name: &str) -> Result<Option<MailboxId>> {
        match self.addressee(name) {
            Err(Error::UnknownName { .. }) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Completes a binding: one made by a command has no process yet, and a session that continues has not ended.
    fn refresh_binding(&self, session: &Session, me: &Me, process: Option<Process>) -> Result<()> {
        let Some(bound) = session.bound(&self.room)?.filter(|_| self.room.may_write().is_ok()) else {
            return Ok(());
        };
        let process = process.unwrap_or(bound.process);
        if bound.process != process || bound.ended {
            session.record(&self.room, &me.id, process, false)?;
        }
        Ok(())
    }

    /// Whether a session may have a mailbox: it has no holder, or its holder is not there.
    fn is_free(&self, session: &Session, me: &Me) -> Result<bool> {
        match self.holder_of(me)? {
            Some(holder) if holder != *session => Ok(!self.is_held(me.mailbox.home())?),
            _ => Ok(true),
        }
    }

    /// Whether the holder of a mailbox is there: its process exists, or a process waits for its mail. A recent sign
    /// counts if nobody recorded a process, or if neither it nor its lock can be seen from here.
    pub(super) fn is_held(&self, mailbox: &Maildir) -> Result<bool> {
        if mailbox.is_waited_on()? {
            return Ok(true);
        }
        let has_sign = || Ok(mailbox.presence(self.now())?.is_alive());
        let Some(holder) = holder(mailbox)?.map(|holder| holder.session()).filter(|s| !s.id.is_empty())
        else {
            return has_sign();
        };
        match holder.bound(&self.room)?.filter(|bound| bound.mailbox == *mailbox.id()) {
            None => Ok(false),
            Some(bound) if bound.ended => Ok(false),
            Some(bound) => match bound.life(&self.room)? {
                Life::Running => Ok(true),
                Life::Gone => Ok(false),
                Life::Unknown => has_sign(),
            },
        }
    }

    /// Hands the mailbox of the caller's session on to the one that goes on in its process.
    pub fn hand_on(&self, to: &Session, process: Process) -> Result<()> {
        let Some(from) = self.caller.session.as_ref().filter(|from| *from != to) else { return Ok(()) };
        self.room.may_write()?;
        let _lock = self.room.root().lock(crate::registry::LOCK)?;
        let Some(bound) = from.bound(&self.room)? else { return Ok(()) };
        // What another session took over is not this one's to give.
        if to.bound(&self.room)?.is_some() || self.check_holder(from, &bound.mailbox).is_err() {
            return Ok(());
        }
        to.record(&self.room, &bound.mailbox, process, false)?;
        // What it was told is still known to the person, who cleared it.
        Told::read(&self.room, from)?.note(&self.room, to)?;
        self.hold(&self.home(&bound.mailbox)?, Some(to))?;
        from.record(&self.room, &bound.mailbox, bound.process, true)?;
        Ok(from.leave(&self.room, bound.process, true)?)
    }

    /// Records the end of the caller's session; its mailbox is free for the next. `stays`: its process goes on with
    /// another session.
    pub fn detach(&self, process: Option<Process>, stays: bool) -> Result<()> {
        let Some(session) = &self.caller.session else { return Ok(()) };
        self.room.may_write()?;
        let bound = session.bound(&self.room)?;
        if let Some(bound) = bound.filter(|bound| !bound.ended) {
            session.record(&self.room, &bound.mailbox, bound.process, true)?;
        }
        Ok(session.leave(&self.room, process.unwrap_or_default(), stays)?)
    }

    /// Whether the caller's session has ended in a process that goes on.
    pub fn is_left_behind(&self) -> Result<bool> {
        let Some(session) = &self.caller.session else { return Ok(false) };
        Ok(session.bound(&self.room)?.is_some_and(|bound| bound.ended && bound.process.is_running()))
    }

    /// Records what the caller's session does, for those who would wake it.
    pub fn works(&self, work: Work) -> Result<()> {
        match &self.caller.session {
            Some(session) if self.room.may_write().is_ok() => Ok(session.works(&self.room, work)?),
            _ => Ok(()),
        }
    }

    /// The directory by which the caller's session hears that it has another mailbox.
    pub fn own_dir(&self) -> Result<Option<std::path::PathBuf>> {
        match &self.caller.session {
            Some(session) if self.room.may_write().is_ok() && self.room.sessions().is_some() => {
                Ok(Some(session.watched(&self.room)?))
            }
            _ => Ok(None),
        }
    }

    /// Sessions of a program that have not ended and hold their mailbox, with the mailbox.
    pub fn sessions(&self, program: &str) -> Result<Vec<(Session, Me)>> {
        let mut found = vec![];
        for bound in session::all(&self.room, program)?.into_iter().filter(|bound| !bound.ended) {
            if let Ok(me) = self.other(&bound.mailbox)
                && self.holder_of(&me)?.is_some_and(|holder| holder == bound.session)
            {
                found.push((bound.session, me));
            }
        }
        Ok(found)
    }

    /// Removes the records of sessions that were silent for long and hold no mailbox: each run of a program is a
    /// session, so the records would grow without end. A session that still holds a mailbox may return at any time.
    pub(super) fn forget_old_sessions(&self) {
        let _ = running::sweep(&self.room, self.now(), FORGOTTEN);
        let Ok(old) = session::silent(&self.room, self.now(), FORGOTTEN) else { return };
        // A terminal holds no mailbox, and may stay open for long.
        let is_open = |bound: &session::Bound| bound.session.program == TERMINAL && !bound.process.is_gone();
        for bound in old.into_iter().filter(|bound| !is_open(bound)) {
            let holder = match self.other(&bound.mailbox) {
                Ok(me) => self.holder_of(&me),
                Err(Error::NoMailbox { .. } | Error::NoPlace { .. }) => Ok(None),
                Err(e) => Err(e),
            };
            // A mailbox that cannot be read may be held.
            if holder.is_ok_and(|holder| holder.is_none_or(|holder| holder != bound.session)) {
                let _ = bound.session.forget(&self.room);
            }
        }
    }
}
