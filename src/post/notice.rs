//! Notices: news of its mail that a session gets without asking. A session is notified once of each message, by
//! the hook that comes first (`session::told`). Nothing here reads a body, and an empty inbox costs one look.

use std::collections::HashSet;
use std::time::Duration;

use super::{Me, Opened, Post, Result, Why};
use crate::mailbox::reading::Header;
use crate::mailbox::{Directory, Folder};
use crate::session::Session;
use crate::session::running::Work;
use crate::session::told::{Mark, Told};
use crate::wait::Watch;

const BOTH: [Mark; 2] = [Mark::Told, Mark::Woken];

/// Headers that one notice has; the rest is counted.
const HEADERS: usize = 8;

/// Headers that are read to find the first, where names do not tell the order.
const SORTED: usize = 200;

/// How long a session that was woken may take to its first step before mail that came since wakes it again. A line
/// that waits behind a question to the person is not repeated before.
const ANSWER: Duration = Duration::from_secs(600);

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

/// What a session has not heard of.
struct Unheard {
    /// The unread messages without certain marks.
    fresh: Vec<String>,
    /// All unread messages.
    unread: Vec<String>,
    told: Told,
}

/// Why a process that would wake a session waits no longer.
enum Waited {
    /// The session is idle, or has worked for long.
    Due,
    /// The session heard of its mail in another way.
    Heard,
    /// The session has ended.
    Over,
}

impl Post {
    /// Mail that is new to the caller's session. Returned mail is recorded as known.
    pub fn news(&self, me: &Me, mark: Mark) -> Result<Option<News>> {
        match &self.caller.session {
            Some(session) => self.news_for(me, session, mark),
            None => Ok(None),
        }
    }

    /// As [`Post::news`], without mail for which a line that nobody can take back wakes the session.
    pub fn news_unless_woken(&self, me: &Me) -> Result<Option<News>> {
        match &self.caller.session {
            Some(session) => self.news_besides(me, session, Mark::Told, &BOTH),
            None => Ok(None),
        }
    }

    /// As [`Post::news`], for the given session of this mailbox. A session that was told is not woken; a line on its way
    /// has told it nothing yet.
    pub fn news_for(&self, me: &Me, session: &Session, mark: Mark) -> Result<Option<News>> {
        self.news_besides(me, session, mark, if mark == Mark::Told { &BOTH[..1] } else { &BOTH })
    }

    /// News without messages that have one of the `known` marks.
    fn news_besides(&self, me: &Me, session: &Session, mark: Mark, known: &[Mark]) -> Result<Option<News>> {
        // News that cannot be recorded is not given: it would be repeated each time.
        if self.room.may_write().is_err() {
            return Ok(None);
        }
        self.refresh(&me.mailbox)?;
        if self.unheard(me, session, known)?.fresh.is_empty() || me.mailbox.home().is_waited_on()? {
            return Ok(None);
        }
        let _lock = Told::lock(&self.room)?;
        let Unheard { fresh, unread, mut told } = self.unheard(me, session, known)?;
        if fresh.is_empty() || mark != Mark::Told && !told.wake(self.now().seconds()) {
            return Ok(None);
        }
        let headers = if mark == Mark::Told { self.first_headers(me, &fresh)? } else { vec![] };
        fresh.iter().for_each(|name| told.set(name, mark));
        told.write(&self.room, session, &unread)?;
        Ok(Some(News { headers, count: fresh.len(), names: fresh }))
    }

    /// The messages of these news whose bodies have at most `most` bytes, ready to be shown.
    pub fn open_news(&self, me: &Me, news: &News, most: usize) -> Vec<Opened> {
        if self.may_open(&me.id).is_err() {
            return vec![];
        }
        let open = |header: &Header| {
            let (message, time) = self.message(&me.mailbox, Folder::Inbox, &header.name).ok()??;
            let is_short = message.body.len() <= most;
            is_short.then(|| self.opened(me, Folder::Inbox, &header.name, message, time))
        };
        news.headers.iter().filter_map(open).collect()
    }

    /// The headers of the first of these messages, in the order of `check`.
    fn first_headers(&self, me: &Me, fresh: &[String]) -> Result<Vec<Header>> {
        let fresh: HashSet<&str> = fresh.iter().map(String::as_str).collect();
        let ordered = me.mailbox.lists_in_order();
        let arrived = me.mailbox.arrivals(if ordered { usize::MAX } else { SORTED })?.names;
        let mut headers = vec![];
        for name in arrived.iter().filter(|name| fresh.contains(name.as_str())) {
            headers.extend(self.header(&me.mailbox, Folder::Inbox, name).ok().flatten());
            if ordered && headers.len() == HEADERS {
                break;
            }
        }
        let mut headers = me.mailbox.arrange(headers)?;
        headers.truncate(HEADERS);
        Ok(headers)
    }

    /// Mail for which the caller's session is woken, once it is idle. Until then its own hooks may tell it, for at most
    /// `patience`. One process waits at a time, for all mail; the others get `None`.
    pub fn news_when_idle(&self, me: &Me, patience: Duration) -> Result<Option<News>> {
        let Some(session) = self.caller.session.as_ref().filter(|_| self.room.may_write().is_ok()) else {
            return Ok(None);
        };
        // A process that holds the lock may have looked for the last time, so it looks once more without it.
        while self.is_news(me, session)? {
            let Some(_only) = session.waker(&self.room)? else { return Ok(None) };
            match self.wait_until_idle(me, session, patience)? {
                Waited::Heard => {}
                Waited::Over => return Ok(None),
                Waited::Due => {
                    let news = self.news_for(me, session, Mark::Woken)?;
                    if news.is_some() {
                        session.works(&self.room, Work::Woken)?;
                    }
                    return Ok(news);
                }
            }
        }
        Ok(None)
    }

    fn wait_until_idle(&self, me: &Me, session: &Session, patience: Duration) -> Result<Waited> {
        let began = self.room.clock().boot();
        // Before the look, so that no event is missed between.
        let mut watch = Watch::on_changes(self.room.sessions());
        loop {
            if session.bound(&self.room)?.is_none_or(|bound| bound.is_over()) {
                return Ok(Waited::Over);
            }
            if !self.is_news(me, session)? {
                return Ok(Waited::Heard);
            }
            let limit = match session.work(&self.room)? {
                Work::Idle => Duration::ZERO,
                Work::Busy => patience,
                Work::Woken => patience.max(ANSWER),
            };
            let left = limit.saturating_sub(self.room.clock().boot().saturating_sub(began));
            if left.is_zero() {
                return Ok(Waited::Due);
            }
            watch.sleep(left);
        }
    }

    /// Whether there is mail that would wake a session.
    pub fn is_news(&self, me: &Me, session: &Session) -> Result<bool> {
        self.refresh(&me.mailbox)?;
        Ok(!self.unheard(me, session, &BOTH)?.fresh.is_empty() && !me.mailbox.home().is_waited_on()?)
    }

    /// Whether this event of the caller's session was answered a moment ago: hooks of the user and of a project are
    /// both called for it. Its input and the process that called tell it from other events.
    pub fn is_twin(&self, event: &str, input: &[u8]) -> Result<bool> {
        let Some(session) = self.caller.session.as_ref().filter(|_| self.room.may_write().is_ok()) else {
            return Ok(false);
        };
        let event = format!("{event} {}", self.caller.pid);
        let event = crate::hex::digest_of_two(&event, &String::from_utf8_lossy(input), 16);
        let _lock = Told::lock(&self.room)?;
        let mut told = Told::read(&self.room, session)?;
        let is_twin = told.is_twin(&event, self.now().seconds());
        if !is_twin {
            told.note(&self.room, session)?;
        }
        Ok(is_twin)
    }

    /// Undoes a notice to the caller's session that was not written.
    pub fn not_told(&self, me: &Me, news: &News) -> Result<()> {
        match &self.caller.session {
            Some(session) => self.unmark(me, session, news, false),
            None => Ok(()),
        }
    }

    /// Undoes a wake-up that did not reach its session.
    pub fn not_woken(&self, me: &Me, session: &Session, news: &News) -> Result<()> {
        self.unmark(me, session, news, true)
    }

    /// Forgets the wake-ups of the caller's session for unread mail: they came to nothing.
    pub fn forget_wakes(&self, me: &Me) -> Result<()> {
        let Some(session) = self.caller.session.as_ref().filter(|_| self.room.may_write().is_ok()) else {
            return Ok(());
        };
        let unread = self.unread(me)?;
        let _lock = Told::lock(&self.room)?;
        let mut told = Told::read(&self.room, session)?;
        unread.iter().for_each(|name| told.clear(name, Mark::Woken));
        Ok(told.write(&self.room, session, &unread)?)
    }

    fn unmark(&self, me: &Me, session: &Session, news: &News, is_wake: bool) -> Result<()> {
        let unread = self.unread(me)?;
        let _lock = Told::lock(&self.room)?;
        let mut told = Told::read(&self.room, session)?;
        news.names.iter().for_each(|name| BOTH.iter().for_each(|mark| told.clear(name, *mark)));
        if is_wake {
            told.unwake();
        }
        Ok(told.write(&self.room, session, &unread)?)
    }

    fn unheard(&self, me: &Me, session: &Session, known: &[Mark]) -> Result<Unheard> {
        let unread = self.unread(me)?;
        if unread.is_empty() {
            return Ok(Unheard { fresh: vec![], unread, told: Told::default() });
        }
        let told = Told::read(&self.room, session)?;
        let heard = |name: &String| known.iter().any(|mark| told.has(name, *mark));
        let fresh = unread.iter().filter(|name| !heard(name)).cloned().collect();
        Ok(Unheard { fresh, unread, told })
    }

    /// The files of unread mail, most urgent first.
    fn unread(&self, me: &Me) -> Result<Vec<String>> {
        Ok(me.mailbox.unseen(usize::MAX)?.names)
    }

    /// The number of unread messages that were announced to the caller's session; another hook announces the rest.
    pub fn known_count(&self, me: &Me) -> Result<usize> {
        let Some(session) = &self.caller.session else { return Ok(0) };
        self.refresh(&me.mailbox)?;
        let found = self.unheard(me, session, &BOTH)?;
        Ok(found.unread.len() - found.fresh.len())
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
