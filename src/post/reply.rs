//! Reply: sends an answer to the sender, in its thread, then archives the answered message.
//!
//! A reply that is interrupted and run again is not delivered twice. Before it delivers, it leaves an empty file in
//! `answering/`, whose name holds the answered message and the id of the answer; a later run finds that id there
//! (format.md §5.4). Replies of one mailbox are serialised.

use super::collect::inherited;
use super::{Destination, Error, FoundMessage, Letter, Me, Outcome, Post, Receipt, Result};
use crate::hex;
use crate::journal::Event;
use crate::mailbox::delivery::REPLY_PATH;
use crate::mailbox::lock::Lock;
use crate::mailbox::place::{AnswerDraft, KeptAnswer};
use crate::mailbox::{self, Dir, Folder, Mailbox, ReplyRoute, ReplyTarget};
use crate::message::envelope::{folded, subject_of_answer};
use crate::message::{Envelope, Priority};
use crate::name::{MailboxId, MessageId, Name};

const FOLDER: &str = "answering";
const LOCK: &str = ".answer.lock";

/// The result of a reply.
#[derive(Debug)]
pub struct Answer {
    pub receipt: Receipt,
    /// The id of the answered message, and whether it left the inbox.
    pub answered: MessageId,
    pub archived: bool,
}

/// A message that is about to be answered.
struct Answerable {
    found: FoundMessage,
    asked: Envelope,
    /// While it lives, no other process can end the claim of the message.
    turn: Option<Lock>,
}

impl Post {
    /// Answers the message that `reference` names. The letter's recipients are ignored.
    pub fn reply(&self, me: &Me, reference: &str, letter: Letter) -> Result<Answer> {
        self.room.may_write()?;
        self.may_open(&me.id)?;
        let Answerable { found, asked, turn: _turn } = self.begin_answer(me, reference)?;
        self.check_letter(&letter)?;
        let receipt = match self.keep_answer(&me.mailbox, &found, &asked, &letter, None)? {
            Some(kept) if kept.is_older => return Err(answered_before(&asked, &kept)),
            Some(kept) => self.carry_answer(&me.mailbox, &asked, &kept)?,
            None => {
                let origin = self.origin(&asked)?;
                let letter = origin
                    .as_ref()
                    .unwrap_or(self)
                    .letter_back(&me.mailbox, &asked, letter)
                    .map_err(|e| self.at_field(me, &found, e))?;
                let receipt = self
                    .answer(me, &asked.id, &letter, origin.as_ref())
                    .map_err(|e| self.at_field(me, &found, e))?;
                self.note_answer_there(origin.as_ref(), &me.id, &asked.id, &receipt);
                receipt
            }
        };
        let receipt =
            Receipt { outcome: receipt.outcome.map_failure(|e| self.at_field(me, &found, e)), ..receipt };
        // An answer that may not survive a power cut is recognised when this runs again.
        let archived = !matches!(receipt.outcome, Outcome::Failed(_) | Outcome::Unproven(_))
            && self.finish_answered(me, &found, &asked.id)?;
        if archived {
            self.record_move("answered", me, asked.id.as_str(), &found.name);
        } else if found.folder == Folder::Archive && matches!(receipt.outcome, Outcome::Already(_)) {
            // The run that moved it may have been interrupted before the sync.
            me.mailbox.sync_moved(Folder::Archive, &found.name)?;
        }
        Ok(Answer { receipt, answered: asked.id, archived })
    }

    /// Ends an answered question. A failed one may have been moved back to the unread mail meanwhile.
    fn finish_answered(&self, me: &Me, found: &FoundMessage, asked: &MessageId) -> Result<bool> {
        if me.mailbox.finish(found.folder, &found.name, None)? {
            return Ok(true);
        }
        if found.folder != Folder::Failed {
            return Ok(false);
        }
        match self.find(me, asked.as_str()) {
            Ok(now) if now.folder == Folder::Inbox => Ok(me.mailbox.finish(now.folder, &now.name, None)?),
            // The answer is given, whatever happened to the question.
            Ok(_) | Err(Error::NoMessage { .. }) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Finds the message to answer. From here on no other process can end its claim, or return it because its lease expired.
    fn begin_answer(&self, me: &Me, reference: &str) -> Result<Answerable> {
        for _ in 0..=8 {
            let found = self.find(me, reference)?;
            self.check_owner(me, &me.mailbox, &found)?;
            let turn = match found.folder {
                Folder::Claimed(token) => me.mailbox.hold_claim(token)?,
                _ => None,
            };
            match self.header(&me.mailbox, found.folder, &found.name) {
                Ok(Some(header)) => return Ok(Answerable { found, asked: header.envelope, turn }),
                // Another process moved it between the look and the opening.
                Ok(None) => {}
                Err(broken) if broken.transient => return Err(Error::Failing { why: broken.why }),
                Err(broken) => {
                    let path = me.mailbox.path(found.folder, &found.name).display().to_string();
                    return Err(Error::Unreadable { path, why: broken.why });
                }
            }
        }
        Err(Error::NoMessage { reference: reference.to_owned() })
    }

    /// Only its owner may answer a claimed message: an answer cannot be withdrawn.
    fn check_owner(&self, me: &Me, mailbox: &Mailbox, found: &FoundMessage) -> Result<()> {
        if let Folder::Claimed(token) = found.folder
            && let Some(terms) = mailbox.terms(token)?.filter(|terms| terms.owner != me.id.as_str())
        {
            let owner = self.name_of(&terms.owner).to_owned();
            return Err(Error::ForeignClaim { token: token.to_string(), owner });
        }
        Ok(())
    }

    /// Stores an answer with its question, if the protocol has a place for it. `failed`: why the request failed.
    pub(super) fn keep_answer(
        &self,
        mailbox: &Mailbox,
        found: &FoundMessage,
        asked: &Envelope,
        letter: &Letter,
        failed: Option<&str>,
    ) -> Result<Option<KeptAnswer>> {
        let now = self.now();
        let id = mailbox.answer_id(asked, failed, now).filter(|_| !letter.files.is_empty());
        // Its files are durable with the worker before it is, so every process that delivers it finds them.
        let place = |id: MessageId| {
            let is_there = || Ok::<_, Error>(mailbox.kept_answer(asked)?.is_some());
            mailbox.place_files(&id, &letter.files, true, is_there).map(|placed| (id, placed))
        };
        let placed = id.map(place).transpose()?;
        let draft = AnswerDraft {
            subject: letter.subject.as_deref(),
            body: &letter.body,
            priority: letter.priority,
            channel: letter.channel.as_deref(),
            extra: &letter.extra,
            failed,
            now,
        };
        let kept = mailbox.keep_answer(&found.name, asked, &draft);
        if let Some((id, placed)) = placed
            && !matches!(&kept, Ok(Some(kept)) if kept.id == id)
        {
            placed.take_back();
        }
        Ok(kept?)
    }

    /// Delivers a stored answer to its asker. A sender without a mailbox finds it where it is stored.
    pub(super) fn carry_answer(
        &self,
        worker: &Mailbox,
        asked: &Envelope,
        answer: &KeptAnswer,
    ) -> Result<Receipt> {
        let said = &answer.message.envelope;
        let subject = Some(said.subject.clone()).filter(|subject| !subject.is_empty());
        let mut extra: Vec<_> = said.extra.iter().filter(|(key, _)| key != super::BOUNCE).cloned().collect();
        if answer.failed.is_some() {
            extra.push((super::BOUNCE.to_owned(), "1".to_owned()));
        }
        let letter = Letter {
            subject: subject.map(|subject| crate::message::envelope::subject_with("", &subject)),
            body: answer.message.body.clone(),
            priority: said.priority,
            channel: said.channel.as_deref().map(folded),
            allow_secrets: true,
            allow_empty: true,
            extra,
            files: worker.files_to_send(&answer.id, said)?,
            ..Letter::default()
        };
        let origin = self.origin(asked)?;
        let home = origin.as_ref().unwrap_or(self);
        let mut letter = match home.letter_back(worker, asked, letter) {
            Err(Error::NoSender { .. } | Error::BadName { .. }) => {
                return self.left_with_worker(worker, answer);
            }
            other => other?,
        };
        // A failure is information, even if it answers an answer.
        letter.asks_again &= answer.failed.is_none();
        let receipt = home.send_back(&self.sender(worker, origin.as_ref()), &letter, &answer.id, true)?;
        // Written by hand and then by a command, or changed since: the answer that was delivered first counts.
        Ok(match receipt.outcome {
            Outcome::Failed(Error::IdTaken { .. }) => {
                Receipt { outcome: Outcome::Already(Folder::Inbox), ..receipt }
            }
            _ => receipt,
        })
    }

    /// `user`, and any sender without a mailbox, reads an answer where it is stored.
    fn left_with_worker(&self, worker: &Mailbox, answer: &KeptAnswer) -> Result<Receipt> {
        let file = answer.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let subject = answer.message.envelope.subject.clone();
        let (id, name) = (answer.id.clone(), answer.to.clone());
        let to = Destination::Here(worker.id().clone());
        Ok(Receipt { id, to, name, subject, file, is_beside: false, outcome: Outcome::Queued })
    }

    /// A letter that answers: to the sender, in the same thread and channel.
    pub(super) fn letter_back(&self, worker: &Mailbox, asked: &Envelope, letter: Letter) -> Result<Letter> {
        if asked.wants_no_reply() {
            return Err(Error::NoReplyWanted);
        }
        let route = match ReplyRoute::of(asked, worker, self)? {
            // The sender's inbox may have been made by hand.
            None if self.adopt_new_inboxes()? => ReplyRoute::of(asked, worker, self)?,
            route => route,
        };
        let Some(route) = route else { return Err(self.no_sender(asked.from.as_str())) };
        Ok(Letter {
            subject: Some(letter.subject.clone().unwrap_or_else(|| subject_of_answer(&asked.subject))),
            // Fields from other programs need not obey our rules.
            channel: letter.channel.clone().or_else(|| asked.channel.as_deref().map(folded)),
            reply_to: Some(asked.id.clone()),
            priority: if letter.priority == Priority::Normal { asked.priority } else { letter.priority },
            inherited: inherited(&letter, asked),
            asks_again: asked.reply_to.is_some(),
            route: Some(route),
            ..letter
        })
    }

    fn no_sender(&self, from: &str) -> Error {
        match (MailboxId::parse(from), Name::parse(from)) {
            (Err(why), Err(_)) => Error::BadName { what: "the sender", text: from.to_owned(), why },
            _ => Error::NoSender { from: crate::message::visible::clip(from, 80) },
        }
    }

    /// Adds file and line of the refused path to an error.
    fn at_field(&self, me: &Me, found: &FoundMessage, e: Error) -> Error {
        let (field, why) = match e {
            Error::Disk(mailbox::Error::Destination { path, why }) => {
                ("REPLY_INBOX_PATH", format!("{}: {why}", crate::message::visible::clip(&path, 200)))
            }
            Error::NoReplyWanted => ("REPLY_INBOX_PATH", "it is missing, so no reply is wanted".to_owned()),
            e => return e,
        };
        let file = me.mailbox.path(found.folder, &found.name);
        let text = me.mailbox.text(found.folder, &found.name).unwrap_or_default();
        let line_of = |field: &str| text.lines().position(|line| line.starts_with(field)).map(|at| at + 1);
        // A message from a workspace has the same path in a field of ours.
        let (field, line) = match (line_of(field), line_of(REPLY_PATH)) {
            (None, Some(line)) => (REPLY_PATH, line),
            (line, _) => (field, line.unwrap_or(1)),
        };
        Error::Field { file: file.display().to_string(), line, field, why }
    }

    /// Ends a reply whose receipt was written out: from now on a second run is a second answer.
    pub fn answered(&self, me: &Me, answer: &Answer) {
        if matches!(answer.receipt.outcome, Outcome::Queued | Outcome::Already(_)) {
            forget(me, &answer.answered);
        }
    }

    /// Notes an answer that went to another machine, so that this room knows it too.
    pub(super) fn note_answer_there(
        &self,
        origin: Option<&Self>,
        from: &MailboxId,
        asked: &MessageId,
        receipt: &Receipt,
    ) {
        let Some(origin) = origin.filter(|origin| origin.is_on_network()) else { return };
        if !matches!(receipt.outcome, Outcome::Queued | Outcome::Unproven(_)) {
            return;
        }
        let room = origin.room.path().file_name().unwrap_or_default().to_string_lossy();
        self.record(Event {
            id: receipt.id.to_string(),
            to: format!("{}@{room}", receipt.name),
            subject: receipt.subject.clone(),
            reply_to: asked.to_string(),
            ..Event::new("sent", from.as_str())
        });
    }

    /// `origin`: the room in which the answer is delivered, if that is another one.
    fn answer(&self, me: &Me, asked: &MessageId, letter: &Letter, origin: Option<&Self>) -> Result<Receipt> {
        let (home, sender) = (origin.unwrap_or(self), self.sender(&me.mailbox, origin));
        let one = |id: &MessageId, retry: bool| home.send_back(&sender, letter, id, retry);
        if let Some(id) = &letter.id {
            return one(id, true);
        }
        let _turn = me.mailbox.dir().lock(LOCK)?;
        let folder = me.mailbox.dir().create_dir(FOLDER)?;
        // Otherwise a power cut could remove the note and leave the answer. An earlier run may have made the folder.
        let keep = || folder.sync().and_then(|()| me.mailbox.dir().sync());
        if let Some(id) = begun(&folder, asked)? {
            keep()?;
            let receipt = one(&id, true)?;
            // The text differs from the last run: the first answer did arrive, and this is a second one.
            if !matches!(receipt.outcome, Outcome::Failed(Error::IdTaken { .. })) {
                return Ok(receipt);
            }
            forget(me, asked);
        }
        if let Some(ReplyTarget::Mailbox(to)) = letter.route.as_ref().map(|route| &route.to) {
            home.check_quota(to)?;
        }
        let id = MessageId::fresh();
        folder.touch(&format!("{}.{id}", key(asked)))?;
        keep()?;
        let sent = one(&id, false);
        // An answer that certainly did not arrive needs no note; the next text is another answer.
        if sent.as_ref().map_or(true, |receipt| matches!(receipt.outcome, Outcome::Failed(_))) {
            forget(me, asked);
        }
        sent
    }
}

/// The error for a question that already has another answer.
pub(super) fn answered_before(asked: &Envelope, kept: &KeptAnswer) -> Error {
    Error::Answered { id: asked.called(""), path: kept.path.display().to_string() }
}

/// The id of an unfinished answer.
fn begun(folder: &Dir, asked: &MessageId) -> Result<Option<MessageId>> {
    let prefix = format!("{}.", key(asked));
    let mut id = None;
    folder.scan(|name, _| {
        id = id.take().or_else(|| {
            str::from_utf8(name).ok()?.strip_prefix(&prefix).and_then(|id| MessageId::parse_strict(id).ok())
        });
    })?;
    Ok(id)
}

/// Removes the note of a delivered answer; it is harmless if it stays.
fn forget(me: &Me, asked: &MessageId) {
    let Ok(folder) = me.mailbox.dir().sub(FOLDER) else { return };
    while let Ok(Some(id)) = begun(&folder, asked) {
        if folder.remove(&format!("{}.{id}", key(asked))).is_err() {
            return;
        }
    }
}

/// The answered id as a file name, for any content.
fn key(asked: &MessageId) -> String {
    hex::digest(asked.as_str(), 8)
}
