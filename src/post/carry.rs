//! Carrying over: mail that was put where a sender who knows only one protocol had to put it.
//!
//! Two places are looked into before a command acts on a mailbox (protocols of others, format.md §9.3): the inbox at
//! the home of a mailbox whose messages lie elsewhere, and the `.mailbox/inbox/` at the home of one that wrote to a
//! workspace. What lies there is delivered in the mailbox's own protocol under an id that a second run finds again,
//! and only then put away.

use std::time::Duration;

use super::places::WORKSPACE;
use super::reply::{REPLY_PATH, REQUEST};
use super::{Letter, Post, Result};
use crate::journal::Event;
use crate::mailbox::once::Once;
use crate::mailbox::reading::mtime;
use crate::mailbox::{Folder, Mailbox, Maildir};
use crate::message::envelope::{subject_of, subject_of_answer};
use crate::message::{Envelope, Message, Native, Priority, any};
use crate::name::MailboxId;

/// A file that was put here by hand and not written to for this long is whole.
const SETTLED: Duration = Duration::from_millis(250);

impl Post {
    /// Brings a mailbox up to date before it is looked into: claims whose lease is over come back, and mail that lies
    /// in a place of another protocol is carried over.
    pub(super) fn refresh(&self, mailbox: &Mailbox) -> Result<()> {
        if self.room.may_write().is_err() {
            return Ok(());
        }
        self.return_expired(mailbox)?;
        if !mailbox.is_home() {
            self.carry_from(mailbox, mailbox.home())?;
        }
        self.collect_in_tree(mailbox)?;
        let own = match mailbox.dir().sub(WORKSPACE) {
            Err(e) if e.is_missing() => return Ok(()),
            other => Maildir::workspace(other?, mailbox.id()),
        };
        self.collect_asked(own.dir(), mailbox)?;
        self.carry_from(mailbox, &own)
    }

    /// Carries everything over that lies in the inbox at `source`.
    fn carry_from(&self, mailbox: &Mailbox, source: &Maildir) -> Result<()> {
        let names = match source.list(Folder::Inbox, usize::MAX) {
            Err(e) if e.is_missing() => return Ok(()),
            other => other?.names,
        };
        for name in names {
            self.let_settle(source, &name);
            // What cannot be read is left where it lies; the doctor tells of it.
            let Ok(Some((message, _))) = source.message(Folder::Inbox, &name, self.room.limits().body_bytes)
            else {
                continue;
            };
            self.carry(mailbox, source, message)?;
            source.shift(&name, Folder::Inbox, Folder::Archive)?;
        }
        Ok(())
    }

    /// Waits until nobody has written to a file for a moment: a copy by hand shows its parts.
    fn let_settle(&self, source: &Maildir, name: &str) {
        for _ in 0..20 {
            let stat = source.folder(Folder::Inbox).and_then(|dir| dir.stat(name));
            let Ok(age) = stat.map(|stat| self.now().since(mtime(&stat))) else { return };
            if age >= SETTLED {
                return;
            }
            crate::mailbox::pause(SETTLED - age);
        }
    }

    /// Delivers one message in the protocol of its mailbox.
    fn carry(&self, mailbox: &Mailbox, source: &Maildir, message: Message) -> Result<()> {
        let Message { mut envelope, body } = message;
        self.know_sender(mailbox.id(), &mut envelope);
        // By hand, a name is easily written where an id belongs.
        if let Some(id) = self.resolve(&envelope.from).ok().flatten() {
            envelope.from = id.to_string();
        }
        if let Native::Workspace { request, reply, .. } = envelope.native.clone() {
            if let Some(asked) = self.own_copy(source, &request) {
                restore(&asked, &mut envelope, &body);
            }
            // The way back to whom the room does not know, or to a request whose id is none of ours.
            let (known, ours) = (self.existing_id(&envelope.from).is_some(), envelope.reply_to.is_some());
            let asked = envelope.reply_to.clone().unwrap_or_else(|| envelope.id.clone());
            if !ours && asked.request() != request {
                envelope.extra.push((REQUEST.to_owned(), request));
            }
            envelope.extra.extend(reply.filter(|_| !known).map(|path| (REPLY_PATH.to_owned(), path)));
        }
        envelope.to = mailbox.id().to_string();
        envelope.native = Native::Maildir;
        envelope.extra = any::foreign(&envelope, &[]).collect();
        let letter = Letter { priority: envelope.priority, body, ..Letter::default() };
        let from = self.existing_id(&envelope.from);
        let put = self.put(from.as_ref(), &letter, mailbox.id(), &envelope, true)?;
        if let Once::Delivered { name, .. } = put {
            self.record(Event {
                id: envelope.id.to_string(),
                to: mailbox.id().to_string(),
                subject: envelope.subject,
                reply_to: envelope.reply_to.map(|id| id.to_string()).unwrap_or_default(),
                file: name,
                note: "carried over".to_owned(),
                ..Event::new("sent", &envelope.from)
            });
        }
        Ok(())
    }

    /// The sender's own copy of a request that is answered now.
    fn own_copy(&self, source: &Maildir, request: &str) -> Option<Envelope> {
        let id = MailboxId::parse(request).ok()?;
        let bytes =
            source.dir().sub("scratch").ok()?.read(id.as_str(), self.room.limits().body_bytes * 2).ok()??;
        any::parse(&bytes).ok().map(|message| message.envelope)
    }
}

/// Gives an answer that was written by hand what its protocol has no place for, from the message it answers.
pub(super) fn restore(asked: &Envelope, answer: &mut Envelope, body: &str) {
    if answer.subject == subject_of(body) {
        answer.subject = subject_of_answer(&asked.subject);
    }
    if answer.reply_to.is_some() {
        answer.reply_to = Some(asked.id.clone());
    }
    if answer.priority == Priority::Normal {
        answer.priority = asked.priority;
    }
    if answer.channel.is_none() {
        answer.channel.clone_from(&asked.channel);
    }
    for (key, value) in kept(asked) {
        if answer.extra(&key).is_none() {
            answer.extra.push((key, value));
        }
    }
}

/// The extra fields of a message that its answer has too.
pub(super) fn kept(asked: &Envelope) -> impl Iterator<Item = (String, String)> {
    const OWN: [&str; 5] = [super::BOUNCE, REQUEST, REPLY_PATH, "error", "duration_seconds"];
    asked.extra.iter().filter(|(key, _)| !OWN.contains(&key.as_str())).cloned()
}
