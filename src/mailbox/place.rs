//! A place: where the messages of a mailbox lie, and the whole life of a message there in one protocol.
//!
//! [`Maildir`](super::Maildir), [`Workspace`](super::workspace::Workspace) and [`Agent`](super::tree::Agent) are places. Everything
//! above composes these methods and never asks which of the three it has. Where a protocol has no such thing, the method's
//! default says so.

use std::ffi::OsString;
use std::path::PathBuf;

use super::claim::{Attempt, Terms};
use super::delivery::{Delivery, DeliveryOutcome};
use super::disk::Dir;
use super::fault::Result;
use super::folder::{Folder, Token};
use super::lock::Lock;
use super::reading::{Header, Unreadable};
use super::trash::Bag;
use crate::clock::{Clock, Timestamp};
use crate::message::{Envelope, Message, Priority, Protocol};
use crate::name::MessageId;

/// The outcome of a look into a folder: the first names in order, and how many there are in all.
#[derive(Debug, Default)]
pub struct Listing {
    pub names: Vec<String>,
    pub total: usize,
    /// Entries called like a message that are no regular files, or whose names are not UTF-8.
    pub strange: Vec<(OsString, &'static str)>,
    /// What is known to be no message, where a look into the file came before the list.
    pub broken: Vec<String>,
    /// Which of the names are answers that were routed here for information.
    pub answers: Vec<String>,
    /// Messages that may not be begun yet, and what each waits for.
    pub held_back: Vec<(String, String)>,
}

/// How soon a waiting message is due.
#[derive(Debug, Clone, Copy)]
pub struct Urgency {
    pub priority: Priority,
    pub since: Timestamp,
    /// Waiting raises its priority.
    pub ages: bool,
    /// Its reader had to guess at something, so no agent is started for it.
    pub is_doubtful: bool,
}

/// An answer that is kept where it was given, before it is carried to its asker.
#[derive(Debug, Clone)]
pub struct KeptAnswer {
    /// The same for everyone who carries it, and each time.
    pub id: MessageId,
    pub message: Message,
    /// The answer says that the question failed, and why.
    pub failed: Option<String>,
    /// Whether it was there before, in other words.
    pub is_older: bool,
    pub path: PathBuf,
    /// Who it is for, as it says.
    pub to: String,
}

/// What is wrong with a file, for the doctor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceFault {
    pub path: PathBuf,
    pub why: String,
    pub rule: &'static str,
    /// Left over from an interrupted change; it may be all that is left of somebody's file.
    pub is_litter: bool,
}

/// One message of another protocol that has to be filed in this mailbox's own, and the way to put it aside then.
pub struct Stray<'a> {
    pub message: Message,
    pub put_away: Box<dyn FnOnce() -> Result<()> + 'a>,
}

/// What was written into a mailbox by hand.
#[derive(Debug, Default)]
pub struct ByHand<'a> {
    /// Messages of other protocols, which have to be filed as its own.
    pub strays: Vec<Stray<'a>>,
    /// Questions that are open although their answer lies here.
    pub answered: Vec<(Folder, String)>,
}

/// An inbox that is longer is not opened message by message for what only envelopes tell.
const SHORT: usize = 64;

/// What a file says, or why it cannot be read; `None`: it has gone meanwhile.
pub type Reading<T> = std::result::Result<Option<T>, Unreadable>;

pub trait Place: std::fmt::Debug {
    fn protocol(&self) -> Protocol;

    // Where things are.

    /// The directory of unread mail.
    fn inbox(&self) -> PathBuf;
    fn path(&self, folder: Folder, name: &str) -> PathBuf;
    /// Every folder that may hold messages now, claims included, in the order in which mail moves through them.
    fn folders(&self) -> Result<Vec<Folder>>;
    /// Directories whose files are to be searched, each with the folder it stands for.
    fn search_dirs(&self) -> Result<Vec<(Folder, Dir)>>;
    /// The folder of a message that was found in one of those directories.
    fn folder_of(&self, found: Folder, _envelope: &Envelope) -> Folder {
        found
    }
    /// Whether a file of this name is a message.
    fn is_message(&self, name: &[u8]) -> bool;

    // Looking.

    /// The first `limit` names of a folder, in the order in which they would be shown.
    fn list(&self, folder: Folder, limit: usize) -> Result<Listing>;
    /// Unread mail in order of arrival, as far as names tell.
    fn arrivals(&self, limit: usize) -> Result<Listing> {
        self.list(Folder::Inbox, limit)
    }
    /// Whether the first names of [`Place::arrivals`] are the first to be shown; else all have to be opened for that.
    fn lists_in_order(&self) -> bool {
        true
    }
    /// Unread headers in their final order, with remarks.
    fn arrange(&self, headers: Vec<Header>) -> Result<Vec<Header>>;
    /// Unread mail that nobody was shown and that may be begun, in no particular order.
    fn unseen(&self, limit: usize) -> Result<Listing>;
    /// Unread mail that may be begun, in the order in which it is to be taken.
    fn next(&self, limit: usize) -> Result<Listing>;
    /// The same without what was shown and waits for its answer.
    fn next_unseen(&self, limit: usize) -> Result<Listing> {
        self.next(limit)
    }
    /// How many messages are unread, and when the oldest came.
    fn unread(&self) -> Result<(usize, Option<Timestamp>)>;
    fn header(&self, folder: Folder, name: &str, limit: u64) -> Reading<Header>;
    /// A whole message, and when it was written.
    fn message(&self, folder: Folder, name: &str, limit: u64) -> Reading<(Message, Timestamp)>;
    /// A whole file as text, however it is written; for saying what is wrong with it.
    fn text(&self, folder: Folder, name: &str) -> Option<String>;
    /// The files of a folder that may hold the message with this id.
    fn twins(&self, folder: Folder, id: &MessageId) -> Result<Vec<String>>;
    /// The messages of a folder that may have come since a time.
    fn since(&self, folder: Folder, since: Timestamp) -> Result<Vec<String>>;
    /// The envelopes of requests here that belong to a run of a workflow.
    fn of_run(&self, run: &str, limit: u64) -> Result<Vec<Envelope>> {
        let listing = self.list(Folder::Inbox, SHORT)?;
        let mut found = vec![];
        for name in listing.names.iter().filter(|_| listing.total <= SHORT) {
            match self.header(Folder::Inbox, name, limit) {
                Err(broken) if broken.passing => {
                    return Err(broken.failure(&self.path(Folder::Inbox, name)));
                }
                read => found.extend(read.ok().flatten().map(|header| header.envelope)),
            }
        }
        found.retain(|envelope| envelope.extra("workflow") == Some(run));
        Ok(found)
    }
    /// How soon a waiting message is due; `None`: it has gone, or is no message.
    fn urgency(&self, name: &str) -> Result<Option<Urgency>>;
    /// Waits for somebody who may be writing to an unread file. `false`: it is still growing.
    fn is_whole(&self, name: &str) -> Result<bool>;

    // Into the mailbox.

    /// Delivers a message; once, if it may be a retry.
    fn deliver(&self, delivery: &Delivery<'_>) -> Result<DeliveryOutcome>;
    /// What was written here by hand and has to be worked in.
    fn collect(&self, _limit: u64, _now: Timestamp) -> Result<ByHand<'_>> {
        Ok(ByHand::default())
    }

    // Out of the inbox.

    /// Whether a message stays unread until it is answered.
    fn awaits_answer(&self, _envelope: &Envelope) -> bool {
        false
    }
    /// Notes that a message was shown, which ends it where nothing more is due. The name it has then; `None`: it is gone.
    fn consume(&self, name: &str, envelope: &Envelope, terms: &Terms) -> Result<Option<String>>;
    /// Archives a message that is named by its whole id with one look and one change. `None`: look for it otherwise.
    fn archive_named(&self, _reference: &str) -> Result<Option<Archived>> {
        Ok(None)
    }
    /// Moves a message to another folder and gives its name there; `None` if it is no longer where it was. Durable.
    fn shift(&self, name: &str, from: Folder, to: Folder) -> Result<Option<String>>;
    /// Takes back a message that nobody has begun; `false`: it is not unread any more.
    fn withdraw(&self, name: &str) -> Result<bool> {
        Ok(self.shift(name, Folder::Inbox, Folder::Archive)?.is_some())
    }
    /// Finished mail that came to its folder before a time; a place that cleans up otherwise has none.
    fn older(&self, _folder: Folder, _than: Timestamp) -> Result<Vec<String>> {
        Ok(vec![])
    }
    /// Moves finished mail of one folder, with its attempts, into the trash. Durable on return.
    fn throw_away(&self, _folder: Folder, _names: &[&str], _bag: &Bag) -> Result<()> {
        Ok(())
    }
    /// Moves what the trash has of one folder back. Durable on return.
    fn bring_back(&self, _folder: &str, _names: &[String], _bag: &Bag) -> Result<()> {
        Ok(())
    }
    /// Makes the move of a message to this folder survive a power cut.
    fn sync_moved(&self, folder: Folder, name: &str) -> Result<()>;
    /// Puts away what cannot be read; `false`: it is left alone, because quarantine is for rooms.
    fn quarantine(&self, _name: &OsString) -> Result<bool> {
        Ok(false)
    }
    fn has_quarantine(&self) -> bool {
        false
    }

    // Claims.

    fn claim(&self, name: &str, terms: &Terms) -> Result<Option<Token>>;
    fn tokens(&self) -> Result<Vec<Token>>;
    fn terms(&self, token: Token) -> Result<Option<Terms>>;
    /// Puts new terms in the place of the old. `false`: its message is not in the claim any more.
    fn renew(&self, token: Token, terms: &Terms) -> Result<bool>;
    /// Keeps everybody else from renewing or ending a claim; `None`: there is no such claim.
    fn hold_claim(&self, token: Token) -> Result<Option<Lock>>;
    /// Ends a claim; `why` is written where the protocol has a place for it. `None`: somebody else has decided.
    fn settle(&self, token: Token, name: &str, to: Folder, why: &str) -> Result<Option<String>>;
    fn return_expired(&self, clock: &dyn Clock) -> Result<Vec<String>>;
    fn note_attempt(&self, name: &str, attempt: &Attempt) -> Result<()>;
    fn attempts(&self, name: &str) -> Result<Vec<Attempt>>;
    fn tries(&self, name: &str) -> Result<u32>;
    fn end_of(&self, token: Token) -> Result<Option<Attempt>>;
    fn carry_attempts(&self, _name: &str, _new: &str) -> Result<()> {
        Ok(())
    }

    // Answers.

    /// Whether answers are kept where they are given.
    fn keeps_answers(&self) -> bool {
        false
    }
    /// Keeps an answer where the protocol has a place for it, once. An answer that is there already counts instead.
    fn keep_answer(
        &self,
        _name: &str,
        _asked: &Envelope,
        _answer: &AnswerDraft<'_>,
    ) -> Result<Option<KeptAnswer>> {
        Ok(None)
    }
    /// The answer that lies here for a question, written by hand or before.
    fn kept_answer(&self, _asked: &Envelope) -> Result<Option<KeptAnswer>> {
        Ok(None)
    }
    /// Brings a question that was answered into its last state. `false`: it is not where it was.
    fn finish(&self, folder: Folder, name: &str, failed: Option<&str>) -> Result<bool> {
        let to = if failed.is_some() { Folder::Failed } else { Folder::Archive };
        // An answer on the way does not end a claim.
        Ok(folder == Folder::Inbox && self.shift(name, folder, to)?.is_some())
    }
    /// Puts a failed question aside where it would hold back what comes after it.
    fn set_aside(&self, _name: &str) -> Result<()> {
        Ok(())
    }
    /// When a finished message was answered, or that it is done, as far as this place tells by itself.
    fn evidence(&self, _envelope: &Envelope) -> Option<Evidence> {
        None
    }

    // The doctor.

    /// What cannot be read or does not fit together; everything is left alone.
    fn faults(&self, limit: u64, now: Timestamp) -> Result<Vec<PlaceFault>>;
}

/// What somebody says to a question.
#[derive(Debug, Clone, Copy)]
pub struct AnswerDraft<'a> {
    pub subject: Option<&'a str>,
    pub body: &'a str,
    pub priority: Priority,
    pub channel: Option<&'a str>,
    pub extra: &'a [(String, String)],
    /// It could not be done, and why.
    pub failed: Option<&'a str>,
    pub now: Timestamp,
}

/// What became of a message that was to be archived.
#[derive(Debug)]
pub struct Archived {
    pub name: String,
    pub id: MessageId,
    pub how: ArchivedHow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchivedHow {
    Now,
    Before,
    /// Somebody has it under a claim.
    Claimed,
}

/// What a finished message says about its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    Answered(String),
    Done,
}

impl std::fmt::Debug for Stray<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stray").field("message", &self.message).finish_non_exhaustive()
    }
}
