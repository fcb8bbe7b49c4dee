//! Delivery: one message into one mailbox, in the protocol of that mailbox.
//!
//! The message is an [`Envelope`] and a body, which know no protocol. The recipient's protocol decides what is written
//! and where ([`super::Place::deliver`]). The sender's mailbox keeps the data that finds an answer written by hand.

use std::path::PathBuf;

use super::Mailbox;
use super::directory::Directory;
use super::fault::{Durability, Result};
use super::folder::Folder;
use crate::clock::Timestamp;
use crate::message::{Envelope, Origin, ProtocolFields, any, attachment};
use crate::name::MailboxId;

/// The field in which a message of another protocol keeps the reply path of its asker.
pub const REPLY_PATH: &str = "reply_path";
pub const REQUEST: &str = "request";
/// The inbox of a tree that contained a message for a mailbox outside the tree.
pub const TREE_INBOX: &str = "tree_inbox";

/// The field that names the sender's room, if that is not the recipient's.
pub const FROM_ROOM: &str = "from_room";

/// The field that names the network a message came by, if its room is on another machine.
pub const FROM_NETWORK: &str = crate::message::FROM_NETWORK;

/// The doubts of a message's reader, kept when it moves to another protocol.
pub const DOUBT: &str = "doubt";

/// A message to deliver.
#[derive(Debug, Clone, Copy)]
pub struct Delivery<'a> {
    pub envelope: &'a Envelope,
    pub body: &'a str,
    /// The mailbox that an answer goes to; `None` if no answer is possible.
    pub sender: Option<&'a Mailbox>,
    /// For an answer: the reply route from its question.
    pub route: Option<&'a ReplyRoute>,
    /// It answers a question; a reply to an answer is a new question.
    pub is_answer: bool,
    /// Fields copied from the question to its answer, if the answer's protocol does not restore them on reading.
    pub inherited: &'a [(String, String)],
    /// The id may have been delivered before, so the mailbox is searched for it first.
    pub retry: bool,
    /// The file of the question, for an answer that cannot be older than it, nor have had another subject. Then the
    /// archive is searched by the possible names of the answer instead of being listed.
    pub question: Option<&'a str>,
    pub now: Timestamp,
}

impl Delivery<'_> {
    /// The id of the exchange in the workspace protocol.
    pub(super) fn request(&self) -> String {
        let first = self.envelope.reply_to.as_ref().unwrap_or(&self.envelope.id);
        let known = self.route.and_then(|route| route.request.clone());
        known.unwrap_or_else(|| first.request())
    }
}

/// The outcome of a delivery that was not refused.
#[derive(Debug)]
pub enum DeliveryOutcome {
    /// It is in the inbox under this name; `beside`: with a number, because its own name is taken.
    Delivered { how: Durability, name: String, beside: bool },
    /// This message was already there.
    Already { folder: Folder, name: String },
    /// Another message has the id.
    Taken { path: PathBuf },
}

/// The destination of an answer, and the id of its exchange there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyRoute {
    pub to: ReplyTarget,
    /// `None`: derived from the question's id.
    pub request: Option<String>,
    /// The file for the answer; `None`: the request's own in the recipient's inbox.
    pub path: Option<String>,
    /// The inbox in the asker's tree that the question came from.
    pub inbox: Option<String>,
}

/// The recipient of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyTarget {
    Mailbox(MailboxId),
    /// A file in an inbox of no mailbox of this room.
    Path(String),
}

impl ReplyRoute {
    /// The reply route of a question in `worker`. `None` if its sender has no mailbox here.
    pub fn of(asked: &Envelope, worker: &Mailbox, directory: &dyn Directory) -> Result<Option<Self>> {
        let kept = asked.extra(REQUEST).map(str::to_owned);
        let inbox = asked.extra(TREE_INBOX).map(str::to_owned);
        let (path, own) = match &asked.native {
            ProtocolFields::Workspace { request, reply, .. } => (reply.as_deref(), Some(request.clone())),
            ProtocolFields::Tree { .. } | ProtocolFields::Maildir => (asked.extra(REPLY_PATH), None),
        };
        if let Some(path) = path {
            let request = own.or(kept.clone()).unwrap_or_else(|| asked.id.request());
            let Some(owner) = directory.owner_of(path)? else {
                let to = ReplyTarget::Path(path.to_owned());
                return Ok(Some(Self { to, request: Some(request), path: Some(path.to_owned()), inbox }));
            };
            // An agent that wrote by hand knows its task by an id that only an extra field can hold.
            let in_tree = directory.open(&owner)?.tree().is_some();
            let request = kept.filter(|_| in_tree).unwrap_or(request);
            let path = Some(path.to_owned());
            return Ok(Some(Self { to: ReplyTarget::Mailbox(owner), request: Some(request), path, inbox }));
        }
        // No mailbox is called like an unknown sender, even if somebody took the name by hand.
        if asked.from == Origin::Unknown {
            return Ok(None);
        }
        let Some(asker) = directory.resolve(asked.from.as_str())? else { return Ok(None) };
        let request = match (&asked.native, kept) {
            (ProtocolFields::Tree { id, .. }, None) if directory.open(&asker)?.shares_tree(worker) => {
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

/// Whether this inbox in the asker's tree holds mail for a mailbox outside the tree: it has that mailbox's name, and is
/// no agent's.
fn is_outside(inbox: &str, worker: &MailboxId, asker: &MailboxId, directory: &dyn Directory) -> Result<bool> {
    if !directory.names_of(worker).iter().any(|name| name == inbox) {
        return Ok(false);
    }
    let asker = directory.open(asker)?;
    let Some(agent) = asker.tree() else { return Ok(false) };
    let path = agent.tree().inbox_path(inbox).display().to_string();
    Ok(directory.owner_of(&path)?.is_none())
}

/// The extra fields that an answer copies from its question.
pub fn inherited(asked: &Envelope) -> impl Iterator<Item = (String, String)> {
    // Each answer counts the automatic steps anew; the other fields concern only the question.
    const OWN: [&str; 10] = [
        "bounce",
        "hops",
        DOUBT,
        REQUEST,
        REPLY_PATH,
        TREE_INBOX,
        FROM_ROOM,
        FROM_NETWORK,
        "error",
        "duration_seconds",
    ];
    let own = |key: &str| OWN.contains(&key) || attachment::is_key(key);
    asked.extra.iter().filter(move |(key, _)| !own(key)).cloned()
}

/// Restores fields of an answer that its protocol cannot hold, from its question. `untitled`: its subject is only its first line.
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

/// The envelope of a file in any protocol; `None` if it is not a message.
pub(super) fn envelope_in(bytes: &[u8]) -> Option<Envelope> {
    any::parse(bytes).ok().map(|message| message.envelope)
}
