//! Read: opens a whole message, and archives it once it was shown.
//!
//! Opening consumes nothing. The view writes the text out, checks that the write succeeded, and only then calls
//! [`Post::shown`], which archives. Unreadable files are put into quarantine and reported.

use std::ffi::OsString;
use std::path::PathBuf;

use super::claim::FIRST;
use super::walk::Walk;
use super::{Error, FoundMessage, Me, Post, Result};
use crate::clock::Timestamp;
use crate::journal::Event;
use crate::mailbox::Folder;
use crate::mailbox::attachments::FoundFile;
use crate::mailbox::claim::Terms;
use crate::mailbox::place::{Archived, ArchivedHow};
use crate::mailbox::reading::Unreadable;
use crate::message::Message;

/// A message, ready to be shown.
#[derive(Debug)]
pub struct Opened {
    pub folder: Folder,
    pub name: String,
    pub message: Message,
    pub time: Timestamp,
    /// Its path once it was shown.
    pub path: PathBuf,
    /// Its attachments, each compared with its file.
    pub files: Vec<FoundFile>,
}

/// The result of a search for the next message.
#[derive(Debug, Default)]
pub struct Next {
    pub opened: Option<Opened>,
    /// Now in quarantine; without a quarantine, left in place.
    pub put_away: Vec<Unreadable>,
    /// The disk failed on these; they stay in place.
    pub skipped: Vec<Unreadable>,
}

impl Post {
    /// The next unread message, in the order of `check`, and the unreadable files before it. With `peek` nothing is
    /// moved, not even a broken file.
    pub fn open_next(&self, me: &Me, peek: bool) -> Result<Next> {
        self.may_open(&me.id)?;
        if !peek {
            self.refresh(&me.mailbox)?;
        }
        let mut next = Next::default();
        let mut walk = Walk::new(FIRST, |ask| me.mailbox.next_unseen(ask));
        while let Some(listing) = walk.more()? {
            for (name, what) in listing.strange.iter().filter(|_| !peek) {
                next.put_away.push(self.quarantine(me, name, format!("it is {what}"))?);
            }
            // Files known to be broken are reported too, and never returned.
            let broken = listing.broken.iter().map(|name| (name, false));
            for (name, is_message) in broken.chain(listing.names.iter().map(|name| (name, true))) {
                match self.message(&me.mailbox, Folder::Inbox, name) {
                    Ok(Some((message, time))) if is_message => {
                        next.opened = Some(self.opened(me, Folder::Inbox, name, message, time));
                        return Ok(next);
                    }
                    Ok(_) => {}
                    Err(broken) if broken.is_quiescent(self.now()) && !peek => {
                        next.put_away.push(self.quarantine(me, &OsString::from(&broken.name), broken.why)?);
                    }
                    Err(broken) if broken.transient || peek && broken.is_quiescent(self.now()) => {
                        next.skipped.push(broken);
                    }
                    Err(_) => {}
                }
            }
        }
        Ok(next)
    }

    /// The message that `reference` names, anywhere in this mailbox.
    pub fn open_message(&self, me: &Me, reference: &str, peek: bool) -> Result<Opened> {
        self.refresh(&me.mailbox)?;
        self.open_found(me, reference, peek, self.find(me, reference)?)
    }

    /// The message that `reference` names in one folder.
    pub fn open_in(&self, me: &Me, reference: &str, folder: Folder) -> Result<Opened> {
        self.open_found(me, reference, true, self.find_in(me, reference, folder)?)
    }

    fn open_found(&self, me: &Me, reference: &str, peek: bool, found: FoundMessage) -> Result<Opened> {
        self.may_open(&me.id)?;
        let FoundMessage { folder, name } = found;
        match self.message(&me.mailbox, folder, &name) {
            Ok(Some((message, time))) => Ok(self.opened(me, folder, &name, message, time)),
            // Another process archived it between the look and the opening; the archive has it.
            Ok(None) if folder == Folder::Inbox => match self.message(&me.mailbox, Folder::Archive, &name) {
                Ok(Some((message, time))) => Ok(self.opened(me, Folder::Archive, &name, message, time)),
                Err(broken) if broken.transient => Err(Error::Failing { why: broken.why }),
                _ => Err(Error::NoMessage { reference: reference.to_owned() }),
            },
            Ok(None) => Err(Error::NoMessage { reference: reference.to_owned() }),
            Err(broken) => {
                let mut path = me.mailbox.path(folder, &name).display().to_string();
                if folder == Folder::Inbox && broken.is_quiescent(self.now()) && !peek {
                    let put_away = self.quarantine(me, &OsString::from(&name), broken.why.clone())?;
                    path.push_str(if put_away.not_quarantined { "" } else { " (now in quarantine)" });
                }
                if broken.transient {
                    return Err(Error::Failing { why: broken.why });
                }
                Err(Error::Unreadable { path, why: broken.why })
            }
        }
    }

    pub(super) fn opened(
        &self,
        me: &Me,
        folder: Folder,
        name: &str,
        message: Message,
        time: Timestamp,
    ) -> Opened {
        let (path, files) = (me.mailbox.path(Folder::Archive, name), me.mailbox.files_of(&message.envelope));
        Opened { folder, name: name.to_owned(), message, time, path, files }
    }

    pub(super) fn quarantine(&self, me: &Me, name: &OsString, why: String) -> Result<Unreadable> {
        self.room.may_write()?;
        let shown = name.to_string_lossy().into_owned();
        if !me.mailbox.quarantine(name)? {
            return Ok(Unreadable {
                transient: false,
                not_quarantined: true,
                ..Unreadable::failing(&shown, why)
            });
        }
        self.record(Event {
            file: shown.clone(),
            note: why.clone(),
            ..Event::new("quarantined", me.id.as_str())
        });
        Ok(Unreadable { transient: false, ..Unreadable::failing(&shown, why) })
    }

    /// Archives a message after its text was written out. A second call is not an error.
    pub fn shown(&self, me: &Me, opened: &Opened) -> Result<()> {
        if opened.folder != Folder::Inbox {
            return Ok(());
        }
        self.room.may_write()?;
        let envelope = &opened.message.envelope;
        let terms = Terms::new(me.id.as_str(), &opened.name, 1, super::LEASE, self.room.clock())?;
        if let Some(name) = me.mailbox.consume(&opened.name, envelope, &terms)? {
            self.record_move("shown", me, envelope.id.as_str(), &name);
            return Ok(());
        }
        // Another process has archived it meanwhile, or works on it.
        for token in me.mailbox.tokens()? {
            if me.mailbox.terms(token)?.is_some_and(|terms| terms.file == opened.name) {
                return Err(Error::NotUnread { reference: envelope.id.to_string(), folder: "claimed" });
            }
        }
        Ok(())
    }

    /// The found message, unless the file is not a message.
    pub(super) fn readable(&self, me: &Me, found: FoundMessage) -> Result<FoundMessage> {
        if found.folder == Folder::Quarantine
            && let Err(broken) = self.message(&me.mailbox, found.folder, &found.name)
        {
            let path = me.mailbox.path(found.folder, &found.name).display().to_string();
            return Err(Error::Unreadable { path, why: broken.why });
        }
        Ok(found)
    }

    /// The message to be moved to `to`; one that is already there is found last.
    pub fn find_to_file(&self, me: &Me, reference: &str, to: Folder) -> Result<FoundMessage> {
        match to {
            Folder::Inbox => match self.find_first(me, reference, [Folder::Archive, Folder::Inbox]) {
                Err(e @ Error::NoMessage { .. }) => match self.find(me, reference) {
                    Ok(found) if matches!(found.folder, Folder::Archive | Folder::Inbox) => Ok(found),
                    Ok(FoundMessage { folder: Folder::Claimed(_) | Folder::Working, .. }) => {
                        Err(Error::NotUnread { reference: reference.to_owned(), folder: "claimed" })
                    }
                    Err(failing @ Error::Failing { .. }) => Err(failing),
                    _ => Err(e),
                },
                other => other,
            },
            _ => match self.readable(me, self.find(me, reference)?)? {
                FoundMessage { folder: Folder::Claimed(_), .. } => {
                    Err(Error::NotUnread { reference: reference.to_owned(), folder: "claimed" })
                }
                found => Ok(found),
            },
        }
    }

    /// Archives a message unread, or moves it back. `false` if it was already there.
    pub fn move_to(&self, me: &Me, reference: &str, to: Folder) -> Result<(FoundMessage, bool)> {
        self.room.may_write()?;
        if to == Folder::Archive
            && let Some(Archived { name, id, how }) = me.mailbox.archive_named(reference)?
        {
            match how {
                ArchivedHow::Claimed => {
                    return Err(Error::NotUnread { reference: reference.to_owned(), folder: "claimed" });
                }
                ArchivedHow::Now => self.record_move("archived", me, id.as_str(), &name),
                ArchivedHow::Before => {}
            }
            return Ok((FoundMessage { folder: to, name }, how == ArchivedHow::Now));
        }
        // Another process may move it between the look and the move.
        for _ in 0..8 {
            if let Some(filed) = self.file_found(me, self.find_to_file(me, reference, to)?, to)? {
                return Ok(filed);
            }
        }
        Err(Error::NoMessage { reference: reference.to_owned() })
    }

    /// Moves a message that was found. `None` if it is no longer there.
    fn file_found(&self, me: &Me, found: FoundMessage, to: Folder) -> Result<Option<(FoundMessage, bool)>> {
        if found.folder == to {
            // The run that moved it may have been interrupted before the sync.
            me.mailbox.sync_moved(to, &found.name)?;
            return Ok(Some((found, false)));
        }
        // A file that is not a message can also be archived.
        let header = self.header_if_message(&me.mailbox, found.folder, &found.name)?;
        if let Some(header) = header.as_ref().filter(|_| to == Folder::Archive) {
            self.end_source(&me.mailbox, &header.envelope, false)?;
        }
        let id = header.map(|header| header.envelope.id.to_string()).unwrap_or_default();
        let Some(name) = me.mailbox.shift(&found.name, found.folder, to)? else { return Ok(None) };
        let event = if to == Folder::Archive { "archived" } else { "unarchived" };
        self.record_move(event, me, &id, &name);
        Ok(Some((FoundMessage { name, ..found }, true)))
    }

    pub(super) fn record_move(&self, event: &str, me: &Me, id: &str, file: &str) {
        self.record(Event { id: id.to_owned(), file: file.to_owned(), ..Event::new(event, me.id.as_str()) });
    }
}
