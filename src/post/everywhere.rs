//! Everywhere: the person's mail in all rooms of this machine.
//!
//! In each room that is the mailbox of the given name, else those of this terminal and of `user`. The mailbox of an agent's
//! session, or of the environment, is looked at in its own room, which need not have a name. A room that cannot be read is
//! reported beside the results of the others, and never counts as empty. Neither does a caller without a mailbox.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::person::USER;
use super::{Caller, Checked, Error, Filter, Me, Post, Result};
use crate::clock::Clock;
use crate::room::{self, Room};
use crate::rooms::{Located, Rooms};
use crate::wait::Watch;

/// All rooms of a person, as one caller sees them.
#[derive(Debug)]
pub struct Everywhere {
    pub rooms: Rooms,
    pub caller: Caller,
    /// The room in which the caller's session or environment names a mailbox.
    pub own: Option<Located>,
    pub clock: Arc<dyn Clock>,
}

/// A result from one room.
#[derive(Debug)]
pub struct There<T> {
    pub room: Located,
    pub what: T,
}

/// The results from all rooms.
#[derive(Debug)]
pub struct Looked<T> {
    pub found: Vec<There<T>>,
    pub failed: Vec<There<Error>>,
}

/// The person's unread mail in one room, by mailbox.
#[derive(Debug)]
pub struct Unread {
    pub post: Post,
    pub mailboxes: Vec<(Me, Checked)>,
}

impl Unread {
    fn headers(&self) -> usize {
        self.mailboxes.iter().map(|(_, checked)| checked.headers.len()).sum()
    }
}

impl Everywhere {
    /// Opens each room and calls `look`. A directory that may become a room is skipped.
    pub fn look<T>(&self, look: impl Fn(Post) -> Result<T>) -> Result<Looked<T>> {
        self.look_in(self.named()?, look)
    }

    /// All rooms that have a name.
    fn named(&self) -> Result<Vec<Located>> {
        Ok(self.rooms.all()?.iter().map(|name| self.rooms.named(name)).collect())
    }

    /// As [`Self::look`], but also in the caller's own room if that has no name.
    fn look_for_mail<T>(&self, look: impl Fn(Post) -> Result<T>) -> Result<Looked<T>> {
        let mut rooms = self.named()?;
        let is_listed = |own: &&Located| rooms.iter().any(|room| room.root == own.root);
        rooms.extend(self.own.as_ref().filter(|own| !is_listed(own)).cloned());
        self.look_in(rooms, look)
    }

    fn look_in<T>(&self, rooms: Vec<Located>, look: impl Fn(Post) -> Result<T>) -> Result<Looked<T>> {
        let mut looked = Looked { found: vec![], failed: vec![] };
        for room in rooms {
            match Post::open(&room.root, self.caller_in(&room.root), self.clock.clone()).and_then(&look) {
                Ok(what) => looked.found.push(There { room, what }),
                Err(Error::Room(room::Error::NoRoom { .. })) if !self.is_named_in(&room.root) => {}
                Err(what) => looked.failed.push(There { room, what }),
            }
        }
        Ok(looked)
    }

    /// Whether the environment names a mailbox of this room.
    fn is_named_in(&self, root: &Path) -> bool {
        let Caller { flag, environment, .. } = self.caller_in(root);
        flag.is_none() && environment.is_some()
    }

    /// The caller in one room. The mailbox of a session, or of the environment, is in one room only.
    fn caller_in(&self, root: &Path) -> Caller {
        if self.own.as_ref().is_some_and(|own| own.root == root) {
            return self.caller.clone();
        }
        Caller { session: None, environment: None, ..self.caller.clone() }
    }

    /// The person's unread mail: the first `limit` headers of each mailbox that fit. A sender unknown in a room has
    /// sent nothing there. An error if the caller has no mailbox in any room.
    pub fn check(&self, filter: impl Fn(&Post) -> Result<Filter>, limit: usize) -> Result<Looked<Unread>> {
        let (any_room, known_sender, unknown) = (Cell::new(false), Cell::new(false), RefCell::default());
        let mut looked = self.look_for_mail(|post| {
            any_room.set(true);
            let filter = match filter(&post) {
                Err(Error::UnknownName { name, .. }) => {
                    unknown.replace(name);
                    None
                }
                other => Some(other?),
            };
            known_sender.set(known_sender.get() || filter.is_some());
            let mut mailboxes = vec![];
            for me in post.persons()? {
                let checked =
                    filter.as_ref().map_or(Ok(Checked::default()), |f| post.check(&me, f, limit))?;
                mailboxes.push((me, checked));
            }
            Ok(Unread { post, mailboxes })
        })?;
        let is_stranger = |there: &There<Error>| {
            use Error::{NoMailbox, NotMe, TakenOver};
            let is_missing = matches!(there.what, Error::Room(room::Error::NoRoom { .. }));
            is_missing || matches!(there.what, NotMe { .. } | TakenOver { .. } | NoMailbox { .. })
        };
        if let Some(at) = looked.failed.iter().position(is_stranger) {
            return Err(looked.failed.swap_remove(at).what);
        }
        let nobody = |name: String| Err(Error::NobodyAnywhere { name });
        let has_mailbox = looked.found.iter().any(|there| !there.what.mailboxes.is_empty());
        match &self.caller.flag {
            _ if !looked.failed.is_empty() => Ok(looked),
            Some(name) if !has_mailbox => nobody(crate::message::visible::clip(name, 80)),
            None if !has_mailbox => Err(Error::NowhereKnown),
            _ if any_room.get() && !known_sender.get() => nobody(unknown.take()),
            _ => Ok(looked),
        }
    }

    /// Waits for mail, at most `timeout`; `new`: not for what is there already. After a timeout the result has no headers.
    pub fn wait(
        &self,
        filter: impl Fn(&Post) -> Result<Filter>,
        limit: usize,
        new: bool,
        timeout: Duration,
    ) -> Result<Looked<Unread>> {
        // The name of a file has the time and the id of its message, so one set is enough for all rooms.
        let before = if new { self.unread_files()? } else { BTreeSet::new() };
        let filter = |post: &Post| {
            // A long wait must not be redirected by a user who may move the room away.
            if !timeout.is_zero() {
                Room::check_above(post.room.path())?;
            }
            Ok(Filter { besides: before.clone(), ..filter(post)? })
        };
        let start = self.clock.boot();
        loop {
            // Watched first, then read. Directories made in between are found by the next look, which comes soon.
            let mut watch = Watch::on(self.arrival_dirs()?);
            let looked = self.check(filter, limit)?;
            let waited = self.clock.boot().saturating_sub(start);
            if waited >= timeout || looked.found.iter().any(|there| there.what.headers() > 0) {
                return Ok(looked);
            }
            watch.sleep(timeout - waited);
        }
    }

    /// The files of the person's unread mail.
    fn unread_files(&self) -> Result<BTreeSet<String>> {
        let looked = self.look_for_mail(|post| {
            let mut files = BTreeSet::new();
            for me in post.persons()? {
                files.extend(post.unread_files(&me)?);
            }
            Ok(files)
        })?;
        Ok(looked.found.into_iter().flat_map(|there| there.what).collect())
    }

    /// The directories where the person's mail may arrive, or a room or mailbox may be made.
    fn arrival_dirs(&self) -> Result<Vec<PathBuf>> {
        let looked = self.look_for_mail(|post| {
            let mut dirs = vec![post.room.path().to_owned()];
            for me in post.persons()? {
                dirs.extend(post.watched(&me)?);
            }
            Ok(dirs)
        })?;
        let above = self.rooms.dir().is_dir().then(|| self.rooms.dir().to_owned());
        Ok(above.into_iter().chain(looked.found.into_iter().flat_map(|there| there.what)).collect())
    }
}

impl Post {
    /// The mailboxes of the person in this room: that of the given name, else that of this session, environment
    /// or terminal, and that of `user`.
    fn persons(&self) -> Result<Vec<Me>> {
        let mut ids = vec![];
        match &self.caller.flag {
            Some(name) => ids.extend(self.resolve(name)?),
            None => {
                ids.extend(self.my_id()?.map(|(id, _)| id));
                ids.extend(self.resolve(USER)?);
                ids.dedup();
            }
        }
        ids.iter().map(|id| self.other(id)).collect()
    }
}
