//! Wait: blocks until fitting mail is there, at most as long as it is told. Ends at once if it is there already.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use super::places::WORKSPACE;
use super::{Checked, Error, Filter, Me, Post, Result};
use crate::mailbox::Folder;
use crate::message::Protocol;
use crate::wait::{Stop, Watch, Woken};

/// How a wait ended.
#[derive(Debug)]
pub enum Awaited {
    Mail(Checked),
    /// With what lies there and cannot be read.
    TimedOut(Checked),
}

/// How the time between two looks is spent.
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
    /// Waits for mail of this mailbox. `interval`: look again after this time instead of watching.
    pub fn wait(
        &self,
        me: &Me,
        filter: &Filter,
        limit: usize,
        timeout: Duration,
        interval: Option<Duration>,
    ) -> Result<Awaited> {
        self.wait_or_stop(me, filter, limit, timeout, interval.map_or(Sleep::Watching(None), Sleep::Polling))
    }

    /// The same for a thread of a process that does other things, too: ends as if timed out when it is stopped.
    pub fn wait_until_stopped(
        &self,
        me: &Me,
        filter: &Filter,
        limit: usize,
        timeout: Duration,
        stop: &Stop,
    ) -> Result<Awaited> {
        self.wait_or_stop(me, filter, limit, timeout, Sleep::Watching(Some(stop)))
    }

    fn wait_or_stop(
        &self,
        me: &Me,
        filter: &Filter,
        limit: usize,
        timeout: Duration,
        sleep: Sleep<'_>,
    ) -> Result<Awaited> {
        // Held for as long as this process waits: the agent is there, whatever its last command was.
        let _alive = self.room.may_write().ok().and_then(|()| me.mailbox.home().stay_alive());
        let start = self.room.clock().boot();
        let dirs = self.arrival_dirs(me);
        let mut watch = sleep.watch(&dirs);
        let mut known = HashSet::new();
        loop {
            self.refresh(&me.mailbox)?;
            if self.has_mail(me, filter, &mut known).map_err(|e| removed(me, e))? {
                let checked = self.check(me, filter, limit)?;
                if !checked.headers.is_empty() {
                    return Ok(Awaited::Mail(checked));
                }
            }
            // A directory that was moved or unmounted can be listed for ever, but no sender finds it.
            if !me.mailbox.dir().is_in_place()? {
                return Err(Error::NoMailbox { id: me.id.to_string(), name: me.shown().to_owned() });
            }
            let waited = self.room.clock().boot().saturating_sub(start);
            if waited >= timeout || sleep.is_over() {
                let mut left = self.check(me, filter, limit)?;
                left.headers.clear();
                return Ok(Awaited::TimedOut(left));
            }
            if watch.sleep(timeout - waited) == Woken::Gone {
                // The directory this process holds open is no longer the mailbox, if there still is one.
                let there = self.mailbox(&me.id)?.list(Folder::Inbox, 0);
                there.map_err(|_| Error::NoMailbox { id: me.id.to_string(), name: me.shown().to_owned() })?;
                watch = sleep.watch(&dirs);
            }
        }
    }

    /// The directories in which mail of a mailbox may arrive, in whatever protocol.
    pub fn arrival_dirs(&self, me: &Me) -> Vec<PathBuf> {
        let mut dirs = me.mailbox.arrival_dirs();
        let own = me.mailbox.dir().path().join(WORKSPACE).join(Folder::Inbox.word());
        if own.symlink_metadata().is_ok() {
            dirs.push(own);
        }
        dirs.extend(self.outboxes(&me.mailbox));
        dirs
    }

    /// Whether there may be fitting mail, opening each message once at most.
    fn has_mail(&self, me: &Me, filter: &Filter, known: &mut HashSet<String>) -> Result<bool> {
        // A step of a run that waits for another one is no mail yet: `read` would not give it.
        let list = |most| match me.mailbox.agent() {
            Some(_) => me.mailbox.arrivals(Folder::Inbox, most),
            None => me.mailbox.list(Folder::Inbox, most),
        };
        // A request that was shown and waits for its answer is nothing to wait for.
        let in_workspace = me.mailbox.protocol() == Protocol::Workspace;
        if filter.is_empty() && !in_workspace {
            let listing = list(0)?;
            return Ok(listing.total > 0 || self.carry_in_tree(&me.mailbox, &listing.broken)?);
        }
        let names = self.not_shown(&me.mailbox, list(usize::MAX)?.names)?;
        if filter.is_empty() {
            return Ok(!names.is_empty());
        }
        for name in names {
            if known.contains(&name) {
                continue;
            }
            match self.header(&me.mailbox, Folder::Inbox, &name) {
                Ok(Some(header)) if filter.fits(&header) => return Ok(true),
                Ok(Some(_)) => {
                    known.insert(name);
                }
                // It may be growing still: it is looked at again.
                Ok(None) | Err(_) => {}
            }
        }
        Ok(false)
    }
}

/// A mailbox that is removed under its waiter is missing, whichever call notices it first.
fn removed(me: &Me, e: Error) -> Error {
    match e {
        Error::Disk(e) if e.is_missing() => {
            Error::NoMailbox { id: me.id.to_string(), name: me.shown().to_owned() }
        }
        e => e,
    }
}
