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
use crate::mailbox::maildir::Layout;
use crate::mailbox::once::Once;
use crate::mailbox::reading::mtime;
use crate::mailbox::{Folder, Mailbox, Maildir};
use crate::message::envelope::{subject_of, subject_of_answer};
use crate::message::frontmatter::HEADER_LIMIT;
use crate::message::workspace::{self, Kind};
use crate::message::{Envelope, Message, Native, Priority, Protocol, any};
use crate::name::MessageId;

/// A file that was put here by hand and not written to for this long is whole.
const SETTLED: Duration = Duration::from_millis(250);

impl Post {
    /// The same for whoever looks into a mailbox without a verb of its own.
    pub fn look_into(&self, me: &super::Me) -> Result<()> {
        self.refresh(&me.mailbox)
    }

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

    /// Files messages of the other protocols that lie in the inbox of an agent as tasks, because without a status nobody
    /// could say where they are.
    /// `broken` are the files that a list could not make out; `true`: some were filed, and another list has them.
    pub(super) fn carry_in_tree(&self, mailbox: &Mailbox, broken: &[String]) -> Result<bool> {
        let (Some(agent), Ok(())) = (mailbox.agent(), self.room.may_write()) else { return Ok(false) };
        let mut carried = false;
        for name in broken {
            let settled = agent.dir().stat(name).is_ok_and(|stat| self.now().since(mtime(&stat)) >= SETTLED);
            let bytes = agent.dir().read(name, self.room.limits().body_bytes + HEADER_LIMIT as u64);
            let Some(message) = bytes.ok().flatten().and_then(|bytes| any::parse(&bytes).ok()) else {
                continue;
            };
            if settled && !matches!(message.envelope.native, Native::Tree { .. }) {
                self.carry(mailbox, mailbox.home(), message)?;
                agent.put_away(name)?;
                carried = true;
            }
        }
        Ok(carried)
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
                let untitled = envelope.subject == subject_of(&body);
                restore(&asked, &mut envelope, untitled);
                if envelope.reply_to.is_some() {
                    envelope.reply_to = Some(asked.id);
                }
            }
            // The way back to whom the room does not know, or to a request whose id is none of ours.
            let known = self.existing_id(&envelope.from).is_some();
            // The exchange keeps its id, however many rounds it has.
            if envelope.id.request() != request {
                envelope.extra.push((REQUEST.to_owned(), request));
            }
            envelope.extra.extend(reply.filter(|_| !known).map(|path| (REPLY_PATH.to_owned(), path)));
        } else if let Some(asked) = self.asked(mailbox, &envelope) {
            let untitled = envelope.subject == subject_of(&body);
            restore(&asked, &mut envelope, untitled);
        }
        if let Native::Tree { id, .. } = &envelope.native {
            // Whoever wrote a task knows it by this, and by nothing else.
            envelope.extra.push((REQUEST.to_owned(), id.clone()));
        }
        envelope.to = mailbox.id().to_string();
        envelope.native = Native::Maildir;
        envelope.extra = any::foreign(&envelope.extra, Protocol::Maildir);
        let letter = Letter { priority: envelope.priority, body, ..Letter::default() };
        let from = self.existing_id(&envelope.from);
        let mut put = self.put(from.as_ref(), &letter, mailbox.id(), &envelope, true)?;
        if matches!(put, Once::Taken { .. }) {
            // Another message under an id that was used before: by hand that is easily done, and no reason to lose it.
            envelope.id = MessageId::derived(format!("{} {}", envelope.id, letter.body).as_bytes());
            put = self.put(from.as_ref(), &letter, mailbox.id(), &envelope, true)?;
        }
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

    /// The message that one of the native protocol answers: as whoever asked kept it, else as it lies with whoever answered.
    fn asked(&self, mailbox: &Mailbox, answer: &Envelope) -> Option<Envelope> {
        let id = answer.reply_to.as_ref()?;
        let own = mailbox.maildir().and_then(|place| self.own_copy(place, &id.request()));
        own.or_else(|| Some(self.copy_in(id.as_str(), &answer.from).ok()??.header.envelope))
    }

    /// Completes an answer that lies in a workspace: what a hand left out is put in whenever it is read.
    pub(super) fn complete(&self, mailbox: &Mailbox, envelope: &mut Envelope) {
        let Native::Workspace { request, kind: Kind::Reply, superseded, titled, .. } = &envelope.native
        else {
            return;
        };
        let place = mailbox.maildir().filter(|place| place.layout() == Layout::Workspace);
        if let Some(asked) = place.and_then(|place| self.own_copy(place, request)) {
            let untitled = !titled && !superseded;
            restore(&asked, envelope, untitled);
        }
    }

    /// The same for one of the native protocol, whose question lies with whoever answered. That takes a look at all
    /// names there, so it is done for a message that is read and has nothing beyond its protocol, not for a list.
    pub(super) fn complete_read(&self, envelope: &mut Envelope, body: &str) {
        let bare = envelope.extra.is_empty() && envelope.channel.is_none();
        if envelope.native != Native::Maildir || !bare || envelope.priority != Priority::Normal {
            return;
        }
        let Some(id) = &envelope.reply_to else { return };
        if let Ok(Some(asked)) = self.copy_in(id.as_str(), &envelope.from) {
            let untitled = envelope.subject.is_empty() || envelope.subject == subject_of(body);
            restore(&asked.header.envelope, envelope, untitled);
        }
    }

    /// The sender's own copy of a request that is answered now.
    fn own_copy(&self, source: &Maildir, request: &str) -> Option<Envelope> {
        let file = workspace::file_name_of(request);
        let bytes =
            source.dir().sub("scratch").ok()?.read(&file, self.room.limits().body_bytes * 2).ok()??;
        any::parse(&bytes).ok().map(|message| message.envelope)
    }
}

/// Gives an answer that was written by hand what its protocol has no place for, from the message it answers.
/// `untitled`: its subject is no more than its first line.
pub(super) fn restore(asked: &Envelope, answer: &mut Envelope, untitled: bool) {
    if untitled {
        answer.subject = subject_of_answer(&asked.subject);
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

/// The extra fields of an answer: its own, and of the message it answers those that it does not set itself.
pub(super) fn fields_of_answer(own: &[(String, String)], asked: &Envelope) -> Vec<(String, String)> {
    let is_own = |key: &str| own.iter().any(|(k, _)| k == key);
    own.iter().cloned().chain(kept(asked).filter(|(key, _)| !is_own(key))).collect()
}

/// The extra fields of a message that its answer has too.
fn kept(asked: &Envelope) -> impl Iterator<Item = (String, String)> {
    // How many automatic steps there were is counted anew by whoever answers: a person's answer is none.
    const OWN: [&str; 6] = [super::BOUNCE, super::HOPS, REQUEST, REPLY_PATH, "error", "duration_seconds"];
    asked.extra.iter().filter(|(key, _)| !OWN.contains(&key.as_str())).cloned()
}
