//! Reply: an answer to the sender, in its thread; then the answered message is archived.
//!
//! A reply that is interrupted and run again is not delivered twice: before it delivers, it leaves an empty
//! file in `answering/` whose name holds the answered message and the id of the answer, and a later run
//! finds that id there (format.md §5.4). Replies of one mailbox take turns.

use sha2::{Digest, Sha256};

use super::carry::fields_of_answer;
use super::{Back, Error, Found, Letter, Me, Outcome, Post, Receipt, Result};
use crate::mailbox::Dir;
use crate::mailbox::Folder;
use crate::message::envelope::subject_of_answer;
use crate::message::tree::Status;
use crate::message::{Envelope, Native, Priority, Protocol};
use crate::name::{MailboxId, MessageId, Name};

/// Where an answer goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    Mailbox(MailboxId),
    /// A file in an inbox of no mailbox of the room.
    Path(String),
}

/// The fields in which a message of another protocol keeps the way back to a workspace.
pub(super) const REPLY_PATH: &str = "reply_path";
pub(super) const REQUEST: &str = "request";

const FOLDER: &str = "answering";
const LOCK: &str = ".answer.lock";

/// What came of a reply.
#[derive(Debug)]
pub struct Answer {
    pub receipt: Receipt,
    /// The id of the message that was answered, and whether it left the inbox with that.
    pub answered: MessageId,
    pub archived: bool,
}

impl Post {
    /// Answers the message that `reference` names. The letter's recipients are ignored.
    pub fn reply(&self, me: &Me, reference: &str, letter: Letter) -> Result<Answer> {
        self.room.may_write()?;
        let found = self.find(me, reference)?;
        let header = match self.header(&me.mailbox, found.folder, &found.name) {
            Ok(Some(header)) => header,
            Ok(None) => {
                return Err(Error::NoMessage { reference: reference.to_owned() });
            }
            Err(broken) if broken.passing => return Err(Error::Failing { why: broken.why }),
            Err(broken) => {
                return Err(Error::Unreadable {
                    path: me.mailbox.path(found.folder, &found.name).display().to_string(),
                    why: broken.why,
                });
            }
        };
        let asked = header.envelope;
        if me.mailbox.agent().is_some() {
            return self.reply_as_agent(me, &found, &asked, letter);
        }
        let (to, letter) = self.letter_back(&asked, letter).map_err(|e| self.at_field(me, &found, e))?;
        self.check_letter(&letter)?;
        let receipt = self.answer(me, &asked.id, &to, &letter).map_err(|e| self.at_field(me, &found, e))?;
        let receipt =
            Receipt { outcome: receipt.outcome.map_failure(|e| self.at_field(me, &found, e)), ..receipt };
        let delivered = !matches!(receipt.outcome, Outcome::Failed(_));
        let archived =
            delivered && found.folder == Folder::Inbox && self.put_away_answered(me, &asked, &found.name)?;
        if found.folder == Folder::Archive && matches!(receipt.outcome, Outcome::Already(_)) {
            // The run that moved it may have been interrupted before that was durable.
            me.mailbox.sync(Folder::Archive)?;
        }
        Ok(Answer { receipt, answered: asked.id, archived })
    }

    fn reply_as_agent(&self, me: &Me, found: &Found, asked: &Envelope, letter: Letter) -> Result<Answer> {
        self.check_letter(&letter)?;
        let extra = fields_of_answer(&letter.extra, asked);
        let receipt =
            self.respond(me, &me.mailbox, found, asked, &Letter { extra, ..letter }, Status::Completed)?;
        self.record_move("answered", me, asked.id.as_str(), &found.name);
        Ok(Answer { receipt, answered: asked.id.clone(), archived: true })
    }

    /// Takes an answered message out of the inbox: to the archive, or away where the protocol has it so.
    fn put_away_answered(&self, me: &Me, asked: &Envelope, name: &str) -> Result<bool> {
        let gone = match me.mailbox.protocol() {
            Protocol::Workspace => match me.mailbox.remove(Folder::Inbox, name) {
                Err(e) if e.is_missing() => None,
                other => {
                    other?;
                    me.mailbox.sync(Folder::Inbox)?;
                    Some(name.to_owned())
                }
            },
            _ => me.mailbox.shift(name, Folder::Inbox, Folder::Archive)?,
        };
        if let Some(name) = &gone {
            self.record_move("answered", me, asked.id.as_str(), name);
        }
        Ok(gone.is_some())
    }

    /// A letter that answers: to the sender, in the same thread and channel.
    pub(super) fn letter_back(&self, asked: &Envelope, letter: Letter) -> Result<(Target, Letter)> {
        let (to, back) = match &asked.native {
            Native::Workspace { request, reply, .. } => {
                let path = reply.as_deref().ok_or(Error::NoReplyWanted)?;
                let (to, back) = self.way_back(path, request);
                // An agent that wrote by hand knows its task by an id that only an extra field has a place for.
                let known = asked.extra(REQUEST).filter(|_| self.is_agent(&to));
                (to, Some(Back { request: known.map_or(back.request, str::to_owned), ..back }))
            }
            Native::Tree { id, .. } => {
                let back = Back { request: id.clone(), path: None };
                let to = Target::Mailbox(self.sender_of(&asked.from)?);
                let back = Some(back).filter(|_| self.is_agent(&to));
                (to, back)
            }
            Native::Maildir => match (asked.extra(REPLY_PATH), asked.extra(REQUEST)) {
                (Some(path), request) => {
                    let request = request.map_or_else(|| asked.id.request(), str::to_owned);
                    let (to, back) = self.way_back(path, &request);
                    (to, Some(back))
                }
                (None, Some(request)) => {
                    let back = Back { request: request.to_owned(), path: None };
                    (Target::Mailbox(self.sender_of(&asked.from)?), Some(back))
                }
                _ => (Target::Mailbox(self.sender_of(&asked.from)?), None),
            },
        };
        let letter = Letter {
            subject: Some(letter.subject.clone().unwrap_or_else(|| subject_of_answer(&asked.subject))),
            channel: letter.channel.clone().or_else(|| asked.channel.clone()),
            reply_to: Some(asked.id.clone()),
            priority: if letter.priority == Priority::Normal { asked.priority } else { letter.priority },
            extra: fields_of_answer(&letter.extra, asked),
            back,
            ..letter
        };
        Ok((to, letter))
    }

    /// Where a reply goes that is to be delivered as the file at `path`.
    pub(super) fn way_back(&self, path: &str, request: &str) -> (Target, Back) {
        let to = self.owner_of(path).map_or_else(|| Target::Path(path.to_owned()), Target::Mailbox);
        (to, Back { request: request.to_owned(), path: Some(path.to_owned()) })
    }

    fn is_agent(&self, to: &Target) -> bool {
        matches!(to, Target::Mailbox(id) if self.protocol_of(id) == Protocol::Tree)
    }

    /// Says in which line of which file the path stands that was refused.
    fn at_field(&self, me: &Me, found: &Found, e: Error) -> Error {
        let (field, why) = match e {
            Error::Destination { path, why } => {
                ("REPLY_INBOX_PATH", format!("{}: {why}", crate::message::visible::clip(&path, 200)))
            }
            Error::NoReplyWanted => ("REPLY_INBOX_PATH", "it is missing, so no reply is wanted".to_owned()),
            e => return e,
        };
        let file = me.mailbox.path(found.folder, &found.name);
        let text = me.mailbox.text(found.folder, &found.name).unwrap_or_default();
        let line_of = |field: &str| text.lines().position(|line| line.starts_with(field)).map(|at| at + 1);
        // What was carried over from a workspace has the same path in a field of ours.
        let (field, line) = match (line_of(field), line_of(REPLY_PATH)) {
            (None, Some(line)) => (REPLY_PATH, line),
            (line, _) => (field, line.unwrap_or(1)),
        };
        Error::Field { file: file.display().to_string(), line, field, why }
    }

    /// The mailbox a message came from. By hand, a name is easily written where an id belongs.
    pub(super) fn sender_of(&self, from: &str) -> Result<MailboxId> {
        if let (Err(why), Err(_)) = (MailboxId::parse(from), Name::parse(from)) {
            return Err(Error::BadName { what: "the sender", text: from.to_owned(), why });
        }
        match self.existing_id(from) {
            Some(id) => Ok(id),
            None => self
                .resolve(from)?
                .ok_or_else(|| Error::NoSender { from: crate::message::visible::clip(from, 80) }),
        }
    }

    /// Ends a reply whose receipt was written out: from here on, running it again is a second answer.
    pub fn answered(&self, me: &Me, answer: &Answer) {
        if matches!(answer.receipt.outcome, Outcome::Queued | Outcome::Already(_)) {
            forget(me, &answer.answered);
        }
    }

    fn answer(&self, me: &Me, asked: &MessageId, to: &Target, letter: &Letter) -> Result<Receipt> {
        let one = |id: &MessageId, retry: bool| self.send_back(&me.id, letter, to, id, retry);
        if let Some(id) = &letter.id {
            return one(id, true);
        }
        let _turn = me.mailbox.dir().lock(LOCK)?;
        let folder = me.mailbox.dir().make_sub(FOLDER)?;
        if let Some(id) = begun(&folder, asked)? {
            let receipt = one(&id, true)?;
            // Other words than last time: the first answer did arrive, and this is a second one.
            if !matches!(receipt.outcome, Outcome::Failed(Error::IdTaken { .. })) {
                return Ok(receipt);
            }
            forget(me, asked);
        }
        if let Target::Mailbox(to) = to {
            self.check_quota(to)?;
        }
        let id = MessageId::fresh();
        folder.touch(&format!("{}.{id}", key(asked)))?;
        let sent = one(&id, false);
        // What certainly did not arrive needs no note; whatever is said next is another answer.
        if sent.as_ref().map_or(true, |receipt| matches!(receipt.outcome, Outcome::Failed(_))) {
            forget(me, asked);
        }
        sent
    }
}

/// The id of an answer that was begun and not finished.
fn begun(folder: &Dir, asked: &MessageId) -> Result<Option<MessageId>> {
    let prefix = format!("{}.", key(asked));
    let mut id = None;
    folder.scan(|name, _| {
        id = id.take().or_else(|| {
            str::from_utf8(name).ok()?.strip_prefix(&prefix).and_then(|id| MessageId::given(id).ok())
        });
    })?;
    Ok(id)
}

/// The answer is delivered; what was noted about it is litter now, and harmless if it stays.
fn forget(me: &Me, asked: &MessageId) {
    let Ok(folder) = me.mailbox.dir().sub(FOLDER) else {
        return;
    };
    while let Ok(Some(id)) = begun(&folder, asked) {
        if folder.remove(&format!("{}.{id}", key(asked))).is_err() {
            return;
        }
    }
}

/// The answered id as a file name, whatever it holds.
fn key(asked: &MessageId) -> String {
    let digest = Sha256::digest(asked.as_str());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
