//! Wait: blocks until matching mail is there, or a timeout. Returns at once if there is some already.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use super::{Checked, Error, Filter, Me, Post, Result};
use crate::mailbox::Folder;
use crate::room::Extent;
use crate::wait::{Stop, Watch, Woken};

/// How a wait ended.
#[derive(Debug)]
pub enum Awaited {
    Mail(Checked),
    /// With the unreadable files.
    TimedOut(Checked),
}

/// How a wait spends the time between two looks.
#[derive(Debug, Clone, Copy)]
enum Sleep<'a> {
    Polling(Duration),
    Watching(Option<&'a Stop>),
}

impl Sleep<'_> {
    fn watch(self, dirs: &[PathBuf]) -> Watch {
        match self {
            Self::Polling(interval) => Watch::polling(interval),
            Self::Watching(None) => Watch::on(dirs),
            Self::Watching(Some(stop)) => Watch::on(dirs).until(stop),
        }
    }

    fn is_over(self) -> bool {
        matches!(self, Self::Watching(Some(stop)) if stop.is_now())
    }
}

impl Post {
    /// Waits for mail of this mailbox. `interval`: poll after this time instead of watching.
    pub fn wait(
        &self,
        me: &Me,
        filter: &Filter,
        limit: usize,
        timeout: Duration,
        interval: Option<Duration>,
    ) -> Result<Awaited> {
        let sleep = interval.map_or(Sleep::Watching(None), Sleep::Polling);
        self.wait_or_stop(me, filter, limit, timeout, sleep, || Ok(false))
    }

    /// As [`Post::wait`], for a thread: ends as if timed out when it is stopped.
    pub fn wait_until_stopped(
        &self,
        me: &Me,
        filter: &Filter,
        limit: usize,
        timeout: Duration,
        stop: &Stop,
    ) -> Result<Awaited> {
        self.wait_or_stop(me, filter, limit, timeout, Sleep::Watching(Some(stop)), || Ok(false))
    }

    /// Waits for one message. `is_taken` is asked after each look without success, and ends the wait: another command
    /// of this mailbox may have taken the message meanwhile.
    pub(super) fn wait_or_taken(
        &self,
        me: &Me,
        filter: &Filter,
        timeout: Duration,
        stop: Option<&Stop>,
        is_taken: impl FnMut() -> Result<bool>,
    ) -> Result<Awaited> {
        self.wait_or_stop(me, filter, 1, timeout, Sleep::Watching(stop), is_taken)
    }

    fn wait_or_stop(
        &self,
        me: &Me,
        filter: &Filter,
        limit: usize,
        timeout: Duration,
        sleep: Sleep<'_>,
        mut is_taken: impl FnMut() -> Result<bool>,
    ) -> Result<Awaited> {
        // Held while this process waits: the agent is alive, whatever its last command was.
        let _alive = self.room.may_write().ok().and_then(|()| me.mailbox.home().stay_alive());
        let start = self.room.clock().boot();
        // Looks first: if mail is there, no watch is needed, which costs more than the look.
        let mut watching: Option<(Watch, Vec<PathBuf>)> = None;
        let mut known = HashSet::new();
        loop {
            self.refresh(&me.mailbox)?;
            if self.has_mail(me, filter, &mut known).map_err(|e| removed(me, e))? {
                let checked = self.check(me, filter, limit)?;
                if !checked.headers.is_empty() {
                    self.close_later(watching.map(|(watch, _)| watch));
                    return Ok(Awaited::Mail(checked));
                }
            }
            // A directory that was moved or unmounted can still be listed, but no sender finds it.
            if !me.mailbox.dir().is_in_place()? {
                return Err(no_mailbox(me));
            }
            let waited = self.room.clock().boot().saturating_sub(start);
            if waited >= timeout || sleep.is_over() || is_taken()? {
                let mut left = self.check(me, filter, limit)?;
                left.headers.clear();
                return Ok(Awaited::TimedOut(left));
            }
            let Some((watch, dirs)) = &mut watching else {
                let dirs = self.watched(me)?;
                watching = Some((sleep.watch(&dirs), dirs));
                continue;
            };
            if watch.sleep(timeout - waited) == Woken::Gone {
                // A waiter makes nothing: a missing part may be about to be removed.
                if self.room.extent(&me.id) != Extent::Whole {
                    return Err(no_mailbox(me));
                }
                // The directory that this process holds open is no longer the mailbox, if one still exists.
                let there = self.mailbox(&me.id)?.list(Folder::Inbox, 0);
                there.map_err(|_| no_mailbox(me))?;
                *watch = sleep.watch(dirs);
            }
        }
    }

    /// Closing a watch takes the kernel milliseconds, and the reader of the mail must not wait for that: it is closed
    /// with the room.
    fn close_later(&self, watch: Option<Watch>) {
        if let Ok(mut last) = self.last_watch.lock() {
            *last = watch;
        }
    }

    /// Whether there may be matching mail. Opens each message at most once.
    pub(super) fn has_mail(&self, me: &Me, filter: &Filter, known: &mut HashSet<String>) -> Result<bool> {
        if filter.is_empty() {
            return Ok(me.mailbox.unseen(0)?.total > 0);
        }
        let names = me.mailbox.unseen(usize::MAX)?.names;
        for name in names {
            if known.contains(&name) {
                continue;
            }
            match self.header(&me.mailbox, Folder::Inbox, &name) {
                Ok(Some(header)) if filter.fits(&name, &header.envelope) => return Ok(true),
                Ok(Some(_)) => {
                    known.insert(name);
                }
                // It may still be growing: the next look reads it again.
                Ok(None) | Err(_) => {}
            }
        }
        Ok(false)
    }
}

/// A mailbox that is removed while a process waits is missing, whichever call notices it first.
fn removed(me: &Me, e: Error) -> Error {
    match e {
        Error::Disk(e) if e.is_missing() => no_mailbox(me),
        e => e,
    }
}

fn no_mailbox(me: &Me) -> Error {
    Error::NoMailbox { id: me.id.to_string(), name: me.shown().to_owned() }
}
