//! Notices: news of its mail that a session gets without asking. A session is notified once of each message, kept from
//! stopping once and woken once (`session::told`). Nothing here reads a body, and an empty inbox costs one look.
//!
//! A session gets its mailbox from the environment, from its binding, or from the standing name that the person gave
//! its program. A name that another living session holds stays with that session.

use super::identity::TERMINAL;
use super::{Error, Me, Post, Result, Why};
use crate::mailbox::reading::Header;
use crate::mailbox::{Directory, Folder};
use crate::process::Process;
use crate::session::told::{Mark, Told};
use crate::session::{self, Session};

/// Headers that one notice reads; the rest is counted.
const HEADERS: usize = 8;

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

/// Mail that is new to a session.
#[derive(Debug)]
pub struct News {
    /// Headers of the first of them.
    pub headers: Vec<Header>,
    /// How many there are.
    pub count: usize,
    /// Their files.
    pub names: Vec<String>,
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
            Ok(None) => match name {
                Some(name) => self.addressee(name)?,
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
        let id = match (self.my_id()?, name) {
            (Some((id, _)), _) => id,
            (None, Some(name)) => self.addressee(name)?,
            (None, None) => return Ok(Attached::Nobody),
        };
        Ok(Attached::Mailbox(Box::new(self.me_as(&id, Why::Id)?)))
    }

    /// Completes a binding: one made by a command has no process yet, and a session that continues has not ended.
    fn refresh_binding(&self, session: &Session, me: &Me, process: Option<Process>) -> Result<()> {
        let Some(process) = process.filter(|_| self.room.may_write().is_ok()) else { return Ok(()) };
        let bound = session.bound(&self.room)?;
        if bound.is_some_and(|bound| bound.process != process || bound.ended) {
            session.record(&self.room, &me.id, process, false)?;
        }
        Ok(())
    }

    /// Whether a session may have a mailbox: it has no holder, or its holder is gone.
    fn is_free(&self, session: &Session, me: &Me) -> Result<bool> {
        let Some(holder) = self.holder_of(me)? else { return Ok(true) };
        if holder == *session {
            return Ok(true);
        }
        let is_silent = !me.mailbox.home().presence(self.now())?.is_alive();
        if holder.id.is_empty() {
            return Ok(is_silent);
        }
        let bound = holder.bound(&self.room)?.filter(|bound| bound.mailbox == me.id);
        Ok(bound.is_none_or(|b| b.ended || b.process.is_gone() || b.process.pid == 0 && is_silent))
    }

    /// Records the end of the caller's session; its mailbox is free for the next.
    pub fn detach(&self) -> Result<()> {
        let Some(session) = &self.caller.session else { return Ok(()) };
        self.room.may_write()?;
        if let Some(bound) = session.bound(&self.room)?.filter(|bound| !bound.ended) {
            session.record(&self.room, &bound.mailbox, bound.process, true)?;
        }
        Ok(())
    }

    /// Mail that is new to the caller's session. Returned mail is recorded as known.
    pub fn news(&self, me: &Me, mark: Mark) -> Result<Option<News>> {
        match &self.caller.session {
            Some(session) => self.news_for(me, session, mark),
            None => Ok(None),
        }
    }

    /// As [`Post::news`], for the given session of this mailbox.
    pub fn news_for(&self, me: &Me, session: &Session, mark: Mark) -> Result<Option<News>> {
        // News that cannot be recorded is not given: it would be repeated each time.
        if self.room.may_write().is_err() {
            return Ok(None);
        }
        self.refresh(&me.mailbox)?;
        if self.unheard(me, session, mark)?.0.is_empty() || me.mailbox.home().is_waited_on()? {
            return Ok(None);
        }
        let _lock = Told::lock(&self.room)?;
        let (fresh, unread, mut told) = self.unheard(me, session, mark)?;
        if fresh.is_empty() || mark == Mark::Woken && !told.wake(self.now().seconds()) {
            return Ok(None);
        }
        let mut headers = vec![];
        for name in fresh.iter().take(HEADERS).filter(|_| mark != Mark::Woken) {
            headers.extend(self.header(&me.mailbox, Folder::Inbox, name).ok().flatten());
        }
        for name in &fresh {
            told.set(name, mark);
            if mark == Mark::Held {
                told.set(name, Mark::Told);
            }
        }
        told.write(&self.room, session, &unread)?;
        Ok(Some(News { headers, count: fresh.len(), names: fresh }))
    }

    /// Whether there is mail that would wake a session.
    pub fn is_news(&self, me: &Me, session: &Session) -> Result<bool> {
        self.refresh(&me.mailbox)?;
        Ok(!self.unheard(me, session, Mark::Woken)?.0.is_empty() && !me.mailbox.home().is_waited_on()?)
    }

    /// Undoes a wake-up that did not reach its session.
    pub fn not_woken(&self, me: &Me, session: &Session, news: &News) -> Result<()> {
        let unread = self.unread(me)?;
        let _lock = Told::lock(&self.room)?;
        let mut told = Told::read(&self.room, session)?;
        news.names.iter().for_each(|name| told.clear(name, Mark::Woken));
        told.unwake();
        Ok(told.write(&self.room, session, &unread)?)
    }

    /// Unread messages without a mark, all unread ones, and the session's record.
    fn unheard(&self, me: &Me, session: &Session, mark: Mark) -> Result<(Vec<String>, Vec<String>, Told)> {
        let unread = self.unread(me)?;
        if unread.is_empty() {
            return Ok((vec![], unread, Told::default()));
        }
        let told = Told::read(&self.room, session)?;
        // A session that has seen a header need not be woken for it.
        let heard = |name: &String| {
            told.has(name, mark)
                || mark == Mark::Woken && (told.has(name, Mark::Told) || told.has(name, Mark::Held))
        };
        Ok((unread.iter().filter(|name| !heard(name)).cloned().collect(), unread, told))
    }

    /// The files of unread mail, most urgent first.
    fn unread(&self, me: &Me) -> Result<Vec<String>> {
        Ok(me.mailbox.unseen(usize::MAX)?.names)
    }

    /// The number of messages that a notice would mention.
    pub fn unread_count(&self, me: &Me) -> Result<usize> {
        self.refresh(&me.mailbox)?;
        Ok(self.unread(me)?.len())
    }

    /// Marks headers that a command of the session has just shown as known; a failure does no harm.
    pub(super) fn note_told(&self, me: &Me, headers: &[Header]) {
        if me.why == Why::Id || headers.is_empty() || self.room.may_write().is_err() {
            return;
        }
        // If a program's shell does not know its session, the mailbox does.
        let holder = || {
            let holder = self.holder_of(me).ok().flatten();
            holder.filter(|h| h.program == self.caller.harness && !h.id.is_empty())
        };
        let Some(session) = self.caller.session.clone().or_else(holder) else { return };
        let note = || -> Result<()> {
            // Only a session with hooks gets notices.
            if session.bound(&self.room)?.is_none_or(|bound| bound.mailbox != me.id) {
                return Ok(());
            }
            let unread = self.unread(me)?;
            let _lock = Told::lock(&self.room)?;
            let mut told = Told::read(&self.room, &session)?;
            headers.iter().for_each(|header| told.set(&header.name, Mark::Told));
            Ok(told.write(&self.room, &session, &unread)?)
        };
        let _ = note();
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

    /// The directories in which mail of a mailbox may arrive, in any protocol.
    pub fn watched(&self, me: &Me) -> Result<Vec<std::path::PathBuf>> {
        let mut dirs = me.mailbox.arrival_dirs()?;
        // An agent of a tree may write by hand to a mailbox outside of the tree.
        for inboxes in
            self.known_trees().into_iter().map(|tree| tree.join("inboxes")).filter(|dir| dir.is_dir())
        {
            let own = self.names_of(&me.id).into_iter().map(|name| inboxes.join(name));
            dirs.extend(own.filter(|inbox| inbox.is_dir()));
            dirs.push(inboxes);
        }
        dirs.sort();
        dirs.dedup();
        Ok(dirs)
    }
}
