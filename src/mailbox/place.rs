//! A place: the storage of a mailbox's messages, and the whole life of a message there in one protocol.
//!
//! [`Maildir`](super::Maildir), [`Workspace`](super::workspace::Workspace) and [`Agent`](super::tree::Agent) are
//! places. The code above composes these methods and never asks which of the three it has. If a protocol lacks a
//! feature, the method's default says so.

use std::ffi::OsString;
use std::path::PathBuf;

use super::attachments::Owners;
use super::claim::{Attempt, Terms};
use super::delivery::{Delivery, DeliveryOutcome};
use super::disk::{Dir, DirState};
use super::fault::Result;
use super::folder::{Folder, Token};
use super::lock::Lock;
use super::reading::{Header, Unreadable, if_message};
use super::trash::Bag;
use crate::clock::{Clock, Timestamp};
use crate::message::role::Role;
use crate::message::{Envelope, Message, Priority, Protocol};
use crate::name::MessageId;

/// A listing of a folder: the first names in order, and the total number.
#[derive(Debug, Default)]
pub struct Listing {
    pub names: Vec<String>,
    pub total: usize,
    /// Entries named like a message that are not regular files, or whose names are not UTF-8.
    pub strange: Vec<(OsString, &'static str)>,
    /// Files that are known not to be messages, if the listing opened them.
    pub broken: Vec<String>,
    /// The names that are answers routed here for information.
    pub answers: Vec<String>,
    /// Messages that may not be started yet, and what each waits for.
    pub held_back: Vec<(String, String)>,
}

/// How soon a waiting message is due.
#[derive(Debug, Clone, Copy)]
pub struct Urgency {
    pub priority: Priority,
    pub since: Timestamp,
    /// Waiting raises its priority.
    pub ages: bool,
    /// Its reader had to guess something, so no agent is started for it.
    pub is_doubtful: bool,
    pub role: Role,
}

/// An answer that is stored with its question, before it is delivered to its asker.
#[derive(Debug, Clone)]
pub struct KeptAnswer {
    /// Does not depend on the process that delivers it, nor on the time.
    pub id: MessageId,
    pub message: Message,
    /// The answer says that the question failed, and why.
    pub failed: Option<String>,
    /// Whether it existed before, with another text.
    pub is_older: bool,
    pub path: PathBuf,
    /// The recipient, as the answer names it.
    pub to: String,
}

/// A fault of a file, for the doctor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceFault {
    pub path: PathBuf,
    pub why: String,
    pub rule: &'static str,
    /// Left over from an interrupted change; it may be the only copy of a user's file.
    pub is_litter: bool,
}

/// A message of another protocol that must be delivered in this mailbox's own, and the way to put it aside afterwards.
pub struct Stray<'a> {
    pub message: Message,
    pub put_away: Box<dyn FnOnce() -> Result<()> + 'a>,
}

/// Mail written into a mailbox by hand.
#[derive(Debug, Default)]
pub struct ByHand<'a> {
    /// Messages of other protocols, to be delivered in its own.
    pub strays: Vec<Stray<'a>>,
    /// Open questions whose answer is here.
    pub answered: Vec<(Folder, String)>,
}

/// In a longer inbox, messages are not opened one by one for facts that only envelopes have.
const SHORT: usize = 64;

/// The content of a file, or why it cannot be read; `None` if it has gone meanwhile.
pub type Reading<T> = std::result::Result<Option<T>, Unreadable>;

pub trait Place: std::fmt::Debug {
    fn protocol(&self) -> Protocol;

    // Locations.

    /// The directory of unread mail.
    fn inbox(&self) -> PathBuf;
    fn path(&self, folder: Folder, name: &str) -> PathBuf;
    /// Every folder that may hold messages now, claims included, in the order in which mail moves through them.
    fn folders(&self) -> Result<Vec<Folder>>;
    /// Directories to search, each with the folder it stands for.
    fn search_dirs(&self) -> Result<Vec<(Folder, Dir)>>;
    /// The folder of a message that was found in one of those directories.
    fn folder_of(&self, found: Folder, _envelope: &Envelope) -> Folder {
        found
    }
    /// Whether a file of this name is a message.
    fn is_message(&self, name: &[u8]) -> bool;

    // Listing and reading.

    /// The first `limit` names of a folder, in the order in which they would be shown.
    fn list(&self, folder: Folder, limit: usize) -> Result<Listing>;
    /// Unread mail in order of arrival, as far as names tell.
    fn arrivals(&self, limit: usize) -> Result<Listing> {
        self.list(Folder::Inbox, limit)
    }
    /// Whether the first names of [`Place::arrivals`] are the first to be shown; if not, all have to be opened to order them.
    fn lists_in_order(&self) -> bool {
        true
    }
    /// Unread headers in their final order, with remarks.
    fn arrange(&self, headers: Vec<Header>) -> Result<Vec<Header>>;
    /// Unread mail that was not shown yet and may be started, in no particular order.
    fn unseen(&self, limit: usize) -> Result<Listing>;
    /// Unread mail that may be started, in the order to take it.
    fn next(&self, limit: usize) -> Result<Listing>;
    /// As [`Place::next`], without mail that was shown and waits for its answer.
    fn next_unseen(&self, limit: usize) -> Result<Listing> {
        self.next(limit)
    }
    /// The number of unread messages, and the time of the oldest.
    fn unread(&self) -> Result<(usize, Option<Timestamp>)>;
    /// What differs whenever the number of unread messages does. `None` if only the messages themselves tell.
    fn unread_state(&self) -> Result<Option<DirState>> {
        Ok(None)
    }
    fn header(&self, folder: Folder, name: &str, limit: u64) -> Reading<Header>;
    /// A whole message, and its time of writing.
    fn message(&self, folder: Folder, name: &str, limit: u64) -> Reading<(Message, Timestamp)>;
    /// A whole file as text, in any format; for explaining its fault.
    fn text(&self, folder: Folder, name: &str) -> Option<String>;
    /// The files of a folder that may hold the message with this id.
    fn twins(&self, folder: Folder, id: &MessageId) -> Result<Vec<String>>;
    /// The messages of a folder that may have arrived since a time.
    fn since(&self, folder: Folder, since: Timestamp) -> Result<Vec<String>>;
    /// The envelopes of requests here that belong to a workflow run.
    fn of_run(&self, run: &str, limit: u64) -> Result<Vec<Envelope>> {
        let listing = self.list(Folder::Inbox, SHORT)?;
        let mut found = vec![];
        for name in listing.names.iter().filter(|_| listing.total <= SHORT) {
            let read = if_message(self.header(Folder::Inbox, name, limit));
            let header = read.map_err(|e| e.failure(&self.path(Folder::Inbox, name)))?;
            found.extend(header.map(|header| header.envelope));
        }
        found.retain(|envelope| envelope.extra("workflow") == Some(run));
        Ok(found)
    }
    /// The urgency of a waiting message; `None` if it has gone, or is not a message.
    fn urgency(&self, name: &str) -> Result<Option<Urgency>>;
    /// Waits for a possible writer of an unread file. `false` if it is still growing.
    fn is_whole(&self, name: &str) -> Result<bool>;

    // Into the mailbox.

    /// Delivers a message; only once, if it may be a retry.
    fn deliver(&self, delivery: &Delivery<'_>) -> Result<DeliveryOutcome>;
    /// Mail written here by hand that must be collected.
    fn collect(&self, _limit: u64, _now: Timestamp) -> Result<ByHand<'_>> {
        Ok(ByHand::default())
    }

    // Out of the inbox.

    /// Whether a message stays unread until it is answered.
    fn awaits_answer(&self, _envelope: &Envelope) -> bool {
        false
    }
    /// Records that a message was shown, which ends it if nothing more is due. Returns its new name; `None` if it is gone.
    fn consume(&self, name: &str, envelope: &Envelope, terms: &Terms) -> Result<Option<String>>;
    /// Archives a message named by its whole id, with one read and one change. `None`: search for it in another way.
    fn archive_named(&self, _reference: &str) -> Result<Option<Archived>> {
        Ok(None)
    }
    /// Moves a message to another folder and returns its name there; `None` if it is gone. Durable on return.
    fn shift(&self, name: &str, from: Folder, to: Folder) -> Result<Option<String>>;
    /// Withdraws a message that nobody has started; `false` if it is no longer unread.
    fn withdraw(&self, name: &str) -> Result<bool> {
        Ok(self.shift(name, Folder::Inbox, Folder::Archive)?.is_some())
    }
    /// Where a claimed message goes that its sender withdraws.
    fn withdrawn_to(&self) -> Folder {
        Folder::Archive
    }
    /// Finished mail that came to its folder before a time; none, if this place cleans up in another way.
    fn older(&self, _folder: Folder, _than: Timestamp) -> Result<Vec<String>> {
        Ok(vec![])
    }
    /// Moves finished mail of one folder, with its attempts, into the trash. Durable on return.
    fn throw_away(&self, _folder: Folder, _names: &[&str], _bag: &Bag) -> Result<()> {
        Ok(())
    }
    /// Moves mail of one folder back from the trash. Durable on return.
    fn bring_back(&self, _folder: &str, _names: &[String], _bag: &Bag) -> Result<()> {
        Ok(())
    }
    /// Makes the move of a message to this folder durable.
    fn sync_moved(&self, folder: Folder, name: &str) -> Result<()>;
    /// Moves an unreadable file to quarantine; `false` if it stays in place, because only rooms have a quarantine.
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
    /// Replaces the terms. `false` if its message is no longer in the claim.
    fn renew(&self, token: Token, terms: &Terms) -> Result<bool>;
    /// Keeps all other processes from renewing or ending a claim; `None` if there is no such claim.
    fn hold_claim(&self, token: Token) -> Result<Option<Lock>>;
    /// Ends a claim; `why` is written if the protocol has a place for it. `None` if another process has decided.
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

    /// Whether answers are stored with their questions.
    fn keeps_answers(&self) -> bool {
        false
    }
    /// The id of an answer that would be stored now.
    fn answer_id(&self, _asked: &Envelope, _failed: Option<&str>, _now: Timestamp) -> Option<MessageId> {
        None
    }
    /// Stores an answer, if the protocol has a place for it, once. An existing answer counts instead.
    fn keep_answer(
        &self,
        _name: &str,
        _asked: &Envelope,
        _answer: &AnswerDraft<'_>,
    ) -> Result<Option<KeptAnswer>> {
        Ok(None)
    }
    /// The stored answer to a question, written by hand or earlier.
    fn kept_answer(&self, _asked: &Envelope) -> Result<Option<KeptAnswer>> {
        Ok(None)
    }
    /// Brings an answered question into its final state. `false` if it is no longer where it was.
    fn finish(&self, folder: Folder, name: &str, failed: Option<&str>) -> Result<bool> {
        let to = if failed.is_some() { Folder::Failed } else { Folder::Archive };
        // An answer alone does not end a claim.
        Ok(folder == Folder::Inbox && self.shift(name, folder, to)?.is_some())
    }
    /// Puts a failed question aside if it would hold back later ones.
    fn set_aside(&self, _name: &str) -> Result<()> {
        Ok(())
    }
    /// When a finished message was answered, or that it is done, as far as this place knows.
    fn evidence(&self, _envelope: &Envelope) -> Option<Evidence> {
        None
    }

    // The doctor.

    /// Adds every message here to the owners of attachments.
    fn owners(&self, owners: &mut Owners) -> Result<()>;
    /// Unreadable or inconsistent files; everything stays in place.
    fn faults(&self, limit: u64, now: Timestamp) -> Result<Vec<PlaceFault>>;
}

/// An answer to a question.
#[derive(Debug, Clone, Copy)]
pub struct AnswerDraft<'a> {
    pub subject: Option<&'a str>,
    pub body: &'a str,
    pub priority: Priority,
    pub channel: Option<&'a str>,
    pub extra: &'a [(String, String)],
    /// Why the request failed, if it did.
    pub failed: Option<&'a str>,
    pub now: Timestamp,
}

/// The outcome of archiving a message.
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
    /// It is under a claim.
    Claimed,
}

/// Evidence about the end of a finished message.
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
