//! Collecting: finds mail in the places where a sender that knows only one protocol puts it (format.md §9.3).
//!
//! ```text
//! <root>/<id>/inbox/           of a mailbox whose messages lie elsewhere: seed 001's engine delivers here
//!            /.mailbox/inbox/  of a mailbox that wrote to a workspace: what is copied here is its mail
//! <tree>/inboxes/<name>/       of a name outside that tree: an agent there wrote to it by hand
//! ```
//!
//! A [`Stray`] is delivered in the mailbox's own protocol, under an id that a second run finds again, and only then put away.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::Mailbox;
use super::delivery::{DOUBT, REPLY_PATH, REQUEST, TREE_INBOX, restore};
use super::directory::Directory;
use super::fault::{Error, IfAny, Result};
use super::folder::Folder;
use super::maildir::Maildir;
use super::place::{ByHand, Place, Reading, Stray};
use super::reading::{Header, Unreadable, if_message, is_stable, mtime};
use super::tree::Tree;
use super::workspace::MAILBOX;
use crate::clock::{Clock, Timestamp};
use crate::message::envelope::subject_of;
use crate::message::{Envelope, Message, Origin, ProtocolFields, any};
use crate::name::{MailboxId, MessageId};

impl Mailbox {
    /// Mail written by hand: mail of this mailbox in places of other protocols, and answers to its open questions.
    pub fn by_hand<'a>(&'a self, directory: &dyn Directory, clock: &dyn Clock) -> Result<ByHand<'a>> {
        let mut found = vec![];
        if !self.is_home() {
            self.strays_in(self.shared_home(), directory, clock, &mut found)?;
        }
        if let Some(own) = self.dir().sub_if_any(MAILBOX)? {
            let own = Arc::new(Maildir::workspace(own, self.id()));
            self.strays_in(own, directory, clock, &mut found)?;
        }
        self.strays_in_trees(directory, &mut found)?;
        // Its own place comes last, so that mail collected by others meanwhile is seen there.
        let ByHand { strays, answered } = self.collect(directory.limit(), clock.now())?;
        for Stray { message, put_away } in strays {
            found.push(Stray { message: self.at_home(message, directory)?, put_away });
        }
        Ok(ByHand { strays: found, answered })
    }

    fn strays_in<'a>(
        &'a self,
        source: Arc<Maildir>,
        directory: &dyn Directory,
        clock: &dyn Clock,
        found: &mut Vec<Stray<'a>>,
    ) -> Result<()> {
        let listing = source.list(Folder::Inbox, usize::MAX).if_any()?.unwrap_or_default();
        for name in listing.names {
            if !is_stable(&source.folder(Folder::Inbox)?, &name)? {
                continue;
            }
            // Unreadable files stay in place; the doctor reports them.
            let read = source.message(Folder::Inbox, &name, directory.limit());
            let read = or_bare(read, clock.now(), || Place::text(&*source, Folder::Inbox, &name));
            let read = if_message(read).map_err(|e| e.failure(&source.path(Folder::Inbox, &name)))?;
            let Some((message, _)) = read else { continue };
            let message = self.at_home(of_its_own(message, &source, &name)?, directory)?;
            let source = Arc::clone(&source);
            let put_away = move || source.shift(&name, Folder::Inbox, Folder::Archive).map(drop);
            found.push(Stray { message, put_away: Box::new(put_away) });
        }
        Ok(())
    }

    /// Mail that agents of trees wrote by hand to a name of this mailbox, which is not in such a tree.
    fn strays_in_trees<'a>(&'a self, directory: &dyn Directory, found: &mut Vec<Stray<'a>>) -> Result<()> {
        // Agents of several trees may share a name, and the mail of one is not the other's.
        for path in directory.trees().into_iter().filter(|_| self.tree().is_none()) {
            for name in directory.names_of(self.id()) {
                let Ok(agent) = MailboxId::parse(&name) else { continue };
                let inbox = path.join("inboxes").join(&name);
                if !is_dir(&inbox)? || directory.owner_of(&inbox.display().to_string())?.is_some() {
                    continue;
                }
                let tree = match Tree::open(&path) {
                    // One broken project stops nobody else; the doctor reports it.
                    Err(e) if !matches!(e, Error::Io { .. }) => break,
                    other => other?,
                };
                let agent = tree.agent(&agent)?;
                for file in agent.ready(usize::MAX)?.names {
                    if !is_stable(agent.dir(), &file)? {
                        continue;
                    }
                    let read = if_message(agent.message(Folder::Inbox, &file, directory.limit()));
                    let read = read.map_err(|e| e.failure(&agent.path(Folder::Inbox, &file)))?;
                    let Some((message, _)) = read else { continue };
                    // A response that an orchestrator copied here is collected from its outbox.
                    if tree.has_response(message.envelope.reply_to.as_ref())? {
                        agent.put_away(&file)?;
                        continue;
                    }
                    let message = from_tree(message, &path, &name, directory)?;
                    let inbox = tree.agent(agent.id())?;
                    let put_away = move || match inbox.begin(&file)? {
                        // It stays there, in progress, so that later steps wait until it is answered.
                        true => Ok(()),
                        // An answer is not a task, and nothing waits for it.
                        false => inbox.put_away(&file),
                    };
                    found.push(Stray { message, put_away: Box::new(put_away) });
                }
            }
        }
        Ok(())
    }

    /// A stray as this mailbox knows it: with sender, question and reply route.
    fn at_home(&self, message: Message, directory: &dyn Directory) -> Result<Message> {
        let Message { mut envelope, body } = message;
        self.identify(&mut envelope, directory)?;
        // By hand, a name is easily written in place of an id.
        if let Some(id) = directory.resolve(envelope.from.as_str())? {
            envelope.from = Origin::mailbox(id.to_string());
        }
        let untitled = envelope.subject == subject_of(&body);
        match envelope.native.clone() {
            ProtocolFields::Workspace { request, reply, .. } => {
                if let Some(asked) = self.draft(&request)? {
                    restore(&asked, &mut envelope, untitled);
                    envelope.reply_to = envelope.reply_to.map(|_| asked.id);
                }
                // The exchange keeps its id over any number of rounds.
                if envelope.id.request() != request {
                    envelope.extra.push((REQUEST.to_owned(), request));
                }
                // The reply route to a sender that the room does not know.
                let known = directory.resolve(envelope.from.as_str())?.is_some();
                envelope.extra.extend(reply.filter(|_| !known).map(|path| (REPLY_PATH.to_owned(), path)));
            }
            // The writer of a task knows it only by this id.
            ProtocolFields::Tree { id, .. } => envelope.extra.push((REQUEST.to_owned(), id)),
            ProtocolFields::Maildir => self.restore_from_draft(&mut envelope, untitled)?,
        }
        Ok(Message { envelope, body })
    }

    fn restore_from_draft(&self, envelope: &mut Envelope, untitled: bool) -> Result<()> {
        if let Some(id) = &envelope.reply_to
            && let Some(asked) = self.draft(&id.request())?
        {
            restore(&asked, envelope, untitled);
        }
        Ok(())
    }

    /// Reads the envelope of a message, completed from this room.
    pub fn read_header(
        &self,
        folder: Folder,
        name: &str,
        directory: &dyn Directory,
        now: Timestamp,
    ) -> Reading<Header> {
        let read = match self.header(folder, name, directory.limit()) {
            Err(broken) if broken.is_bare => {
                let read = self.message(folder, name, directory.limit());
                let bare =
                    or_bare(read, now, || self.text(folder, name)).map_err(|broken| self.alone(broken))?;
                bare.map(|(m, time)| Header::of(name, m.envelope, time, m.body.len() as u64))
            }
            other => other.map_err(|broken| self.alone(broken))?,
        };
        read.map(|mut header| {
            self.know(&mut header.envelope, directory).map_err(|e| Unreadable::transient(name, &e))?;
            if let Some(doubt) = header.envelope.doubts.first() {
                // One doubt is enough for care, and leaves space for the subject.
                let more = header.envelope.doubts.len() - 1;
                let more = if more > 0 { format!(" (+{more})") } else { String::new() };
                header.remarks.push(format!("doubtful: {doubt}{more}"));
            }
            Ok(header)
        })
        .transpose()
    }

    /// Reads a whole message, completed from this room.
    pub fn read_message(
        &self,
        folder: Folder,
        name: &str,
        directory: &dyn Directory,
        now: Timestamp,
    ) -> Reading<(Message, Timestamp)> {
        let whole =
            folder != Folder::Inbox || self.is_whole(name).map_err(|e| Unreadable::transient(name, &e))?;
        let read = self.message(folder, name, directory.limit());
        let read = or_bare(read, now, || self.text(folder, name)).map_err(|broken| self.alone(broken))?;
        if !whole && read.is_some() {
            let young = Unreadable {
                transient: false,
                time: Some(now),
                ..Unreadable::failing(name, "it is being written".to_owned())
            };
            return Err(self.alone(young));
        }
        read.map(|(mut message, time)| {
            self.know(&mut message.envelope, directory).map_err(|e| Unreadable::transient(name, &e))?;
            Ok((message, time))
        })
        .transpose()
    }

    fn alone(&self, broken: Unreadable) -> Unreadable {
        Unreadable { not_quarantined: !self.has_quarantine(), ..broken }
    }

    /// Completes a message from the room: its sender, and fields left out by hand.
    pub fn know(&self, envelope: &mut Envelope, directory: &dyn Directory) -> Result<()> {
        self.identify(envelope, directory)?;
        if let Some(at) = envelope.extra.iter().position(|(key, _)| key == DOUBT) {
            envelope.doubts.push(envelope.extra.remove(at).1);
        }
        self.complete(envelope)
    }
}

/// Accepts a file without frontmatter that has not changed for a while as a note from an unknown sender.
fn or_bare(
    read: Reading<(Message, Timestamp)>,
    now: Timestamp,
    text: impl FnOnce() -> Option<String>,
) -> Reading<(Message, Timestamp)> {
    match read {
        Err(broken) if broken.is_bare && broken.is_quiescent(now) => {
            let time = broken.time.unwrap_or(now);
            // Two notes with the same text are two messages.
            let about = format!("{} {}", broken.name, time.precise());
            let note = text().and_then(|text| any::note(text.as_bytes(), &about).ok());
            note.map(|message| Some((message, time))).ok_or(broken)
        }
        other => other,
    }
}

/// A person may write the same text twice, so a message without an id gets one from its text and its file.
fn of_its_own(mut message: Message, source: &Maildir, name: &str) -> Result<Message> {
    let inbox = source.folder(Folder::Inbox)?;
    let Some(bytes) = inbox.read(name, u64::MAX / 2)? else { return Ok(message) };
    if message.envelope.id == MessageId::derived(&bytes) {
        let about = format!("{name} {}\n", mtime(&inbox.stat(name)?).precise());
        message.envelope.id = MessageId::derived(&[about.as_bytes(), &bytes].concat());
    }
    Ok(message)
}

/// Whether this is a directory; `false` if it is missing, and an error if it cannot be read.
pub fn is_dir(path: &Path) -> Result<bool> {
    match path.symlink_metadata() {
        Ok(found) => Ok(found.is_dir()),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
        Err(e) => Err(Error::std("look at", path, e)),
    }
}

/// A task that an agent wrote to the inbox of a name outside its tree.
fn from_tree(message: Message, tree: &Path, inbox: &str, directory: &dyn Directory) -> Result<Message> {
    let Message { mut envelope, body } = message;
    let sender = tree.join("inboxes").join(envelope.from.as_str()).display().to_string();
    let known = match directory.owner_of(&sender)? {
        None => directory.resolve(envelope.from.as_str())?,
        inside => inside,
    };
    if let Some(id) = known {
        envelope.from = Origin::mailbox(id.to_string());
    }
    if let ProtocolFields::Tree { id, .. } = &envelope.native {
        envelope.extra.push((REQUEST.to_owned(), id.clone()));
    }
    envelope.extra.push((TREE_INBOX.to_owned(), inbox.to_owned()));
    Ok(Message { envelope, body })
}
