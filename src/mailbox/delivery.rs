//! Delivery: one message on its way into one mailbox, in whichever protocol that mailbox has.
//!
//! The message is an [`Envelope`] and a body that know no protocol. The recipient's protocol decides what is written and
//! where ([`super::Place::deliver`]); the sender's mailbox keeps what it needs to find an answer that is written by hand.

use std::path::PathBuf;

use super::Mailbox;
use super::directory::Directory;
use super::fault::{Durability, Result};
use super::folder::Folder;
use crate::clock::Timestamp;
use crate::message::liberal::UNKNOWN;
use crate::message::{Envelope, Native, any};
use crate::name::MailboxId;

/// Fields in which a message of another protocol keeps the way back to its asker.
pub const REPLY_PATH: &str = "reply_path";
pub const REQUEST: &str = "request";
/// The inbox of a tree that a message for somebody outside it was put into.
pub const TREE_INBOX: &str = "tree_inbox";

/// The field that names the room of a sender, if that is another than the recipient's.
pub const FROM_ROOM: &str = "from_room";

/// What the reader of a message had to guess, when it is carried over into another protocol.
pub const DOUBT: &str = "doubt";

/// What is to be delivered.
#[derive(Debug, Clone, Copy)]
pub struct Delivery<'a> {
    pub envelope: &'a Envelope,
    pub body: &'a str,
    /// Whose mailbox an answer goes to; none: no answer can come.
    pub sender: Option<&'a Mailbox>,
    /// For an answer: the way back that its question named.
    pub route: Option<&'a ReplyRoute>,
    /// It answers a question; what comes back to an answer is another question.
    pub is_answer: bool,
    /// Fields of the question that its answer has too, where its protocol does not restore them when it is read.
    pub inherited: &'a [(String, String)],
    /// The id may have been delivered before, so the mailbox is searched for it first.
    pub retry: bool,
    /// For an answer that nobody can have sent before its question, nor under another subject: the file of the question.
    /// Then the archive is searched by the names the answer can have instead of being listed.
    pub question: Option<&'a str>,
    pub now: Timestamp,
}

impl Delivery<'_> {
    /// What the exchange is called in the workspace protocol.
    pub(super) fn request(&self) -> String {
        let first = self.envelope.reply_to.as_ref().unwrap_or(&self.envelope.id);
        let known = self.route.and_then(|route| route.request.clone());
        known.unwrap_or_else(|| first.request())
    }
}

/// What became of a delivery that was not refused.
#[derive(Debug)]
pub enum DeliveryOutcome {
    /// It lies in the inbox now, under this name; `beside`: with a number, because its own is taken.
    Delivered { how: Durability, name: String, beside: bool },
    /// The same message was there already.
    Already { folder: Folder, name: String },
    /// The id is taken by another message.
    Taken { path: PathBuf },
}

/// Where an answer goes, and what its exchange is called there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyRoute {
    pub to: ReplyTarget,
    /// Absent: derived from the question's id.
    pub request: Option<String>,
    /// The file the answer is delivered as; absent: the request's own in the recipient's inbox.
    pub path: Option<String>,
    /// The inbox in the asker's tree that the question was carried out of.
    pub inbox: Option<String>,
}

/// Who is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyTarget {
    Mailbox(MailboxId),
    /// A file in an inbox of no mailbox of the room.
    Path(String),
}

impl ReplyRoute {
    /// The way back from a question that lies in `worker`. `None`: its sender has no mailbox here.
    pub fn of(asked: &Envelope, worker: &Mailbox, directory: &dyn Directory) -> Result<Option<Self>> {
        let kept = asked.extra(REQUEST).map(str::to_owned);
        let inbox = asked.extra(TREE_INBOX).map(str::to_owned);
        let (path, own) = match &asked.native {
            Native::Workspace { request, reply, .. } => (reply.as_deref(), Some(request.clone())),
            Native::Tree { .. } | Native::Maildir => (asked.extra(REPLY_PATH), None),
        };
        if let Some(path) = path {
            let request = own.or(kept.clone()).unwrap_or_else(|| asked.id.request());
            let Some(owner) = directory.owner_of(path)? else {
                let to = ReplyTarget::Path(path.to_owned());
                return Ok(Some(Self { to, request: Some(request), path: Some(path.to_owned()), inbox }));
            };
            // An agent that wrote by hand knows its task by an id that only an extra field has a place for.
            let in_tree = directory.open(&owner)?.tree().is_some();
            let request = kept.filter(|_| in_tree).unwrap_or(request);
            let path = Some(path.to_owned());
            return Ok(Some(Self { to: ReplyTarget::Mailbox(owner), request: Some(request), path, inbox }));
        }
        // Nobody is called so, even if somebody took the name by hand.
        if asked.from == UNKNOWN {
            return Ok(None);
        }
        let Some(asker) = directory.resolve(&asked.from)? else { return Ok(None) };
        let request = match (&asked.native, kept) {
            (Native::Tree { id, .. }, None) if directory.open(&asker)?.shares_tree(worker) => {
                Some(id.clone())
            }
            (_, kept) => kept,
        };
        let inbox = match inbox {
            Some(inbox) if is_outside(&inbox, worker.id(), &asker, directory)? => Some(inbox),
            _ => None,
        };
        Ok(Some(Self { to: ReplyTarget::Mailbox(asker), request, path: None, inbox }))
    }
}

/// Whether an inbox in the asker's tree was emptied for a mailbox outside the tree: it is nobody's, and called like that mailbox.
fn is_outside(inbox: &str, worker: &MailboxId, asker: &MailboxId, directory: &dyn Directory) -> Result<bool> {
    if !directory.names_of(worker).iter().any(|name| name == inbox) {
        return Ok(false);
    }
    let asker = directory.open(asker)?;
    let Some(agent) = asker.tree() else { return Ok(false) };
    let path = agent.tree().inbox_path(inbox).display().to_string();
    Ok(directory.owner_of(&path)?.is_none())
}

/// The extra fields of a question that its answer has too.
pub fn inherited(asked: &Envelope) -> impl Iterator<Item = (String, String)> {
    // How many automatic steps there were is counted anew by each answer; the rest is about the question alone.
    const OWN: [&str; 9] =
        ["bounce", "hops", DOUBT, REQUEST, REPLY_PATH, TREE_INBOX, FROM_ROOM, "error", "duration_seconds"];
    asked.extra.iter().filter(|(key, _)| !OWN.contains(&key.as_str())).cloned()
}

/// Gives an answer what its protocol has no place for, from the question it answers. `untitled`: its subject is no more than
/// its first line.
pub fn restore(asked: &Envelope, answer: &mut Envelope, untitled: bool) {
    if untitled {
        answer.subject = crate::message::envelope::subject_of_answer(&asked.subject);
    }
    if answer.priority == crate::message::Priority::Normal {
        answer.priority = asked.priority;
    }
    if answer.channel.is_none() {
        answer.channel.clone_from(&asked.channel);
    }
    for (key, value) in inherited(asked) {
        if answer.extra(&key).is_none() {
            answer.extra.push((key, value));
        }
    }
}

/// The envelope of a file, whichever protocol it is written in; `None` if it is no message.
pub(super) fn envelope_in(bytes: &[u8]) -> Option<Envelope> {
    any::parse(bytes).ok().map(|message| message.envelope)
}
