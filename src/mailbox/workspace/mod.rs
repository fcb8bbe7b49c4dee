//! A workspace: a mailbox of the workspace protocol (format.md §10).
//!
//! ```text
//! <workspace>/.mailbox/inbox/<id>      unread, and unanswered; the name has no extension, the time of the file orders
//!                     /scratch/<id>    drafts and the sender's own copies (drafts.rs)
//!                     /archive/<id>    what was read and needs no reply, or was answered
//!                     /claimed/, failed/, attempts/   as in a maildir
//! <root>/<mailbox>/shown/<id>.<time>   empty: the request was shown and waits for its answer (shown.rs)
//! ```
//!
//! A message stays in the inbox until it is answered, because the protocol requires that. An answer is a copy of a
//! draft, delivered as the file that the request names (deliver.rs, destination.rs).

mod deliver;
mod destination;
mod drafts;
mod shown;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use deliver::deliver_to_path;

use super::claim::{Attempt, Terms};
use super::delivery::{Delivery, DeliveryOutcome};
use super::disk::Dir;
use super::fault::{IfAny, Result};
use super::folder::{Folder, Token, by_folders};
use super::maildir::{APART, Maildir};
use super::place::{Listing, Place, PlaceFault, Reading, Urgency};
use super::reading::{Header, is_stable, mtime, unreadable_faults};
use crate::clock::{Clock, Timestamp};
use crate::message::role::Role;
use crate::message::workspace::Kind;
use crate::message::{Envelope, Message, Priority, Protocol, ProtocolFields};
use crate::name::{MailboxId, MessageId};

/// The directory of a workspace, and of a mailbox that writes to workspaces.
pub const MAILBOX: &str = ".mailbox";

/// The inbox of a workspace.
pub fn inbox_of(workspace: &Path) -> PathBuf {
    workspace.join(MAILBOX).join(Folder::Inbox.as_str())
}

/// Makes the `.mailbox` of a workspace; durable on return.
pub fn make(workspace: &Path) -> Result<()> {
    let mailbox = Dir::outside(workspace)?.create_dir_synced(MAILBOX)?;
    for folder in ["inbox", "scratch", "archive"] {
        mailbox.create_dir_synced(folder)?;
    }
    Ok(())
}

/// The unreadable files in the directory where workspaces answer a mailbox of the room.
pub fn faults_at(dir: Dir, id: &MailboxId, limit: u64, now: Timestamp) -> Result<Vec<PlaceFault>> {
    Ok(unreadable_faults(&Maildir::workspace(dir, id), limit, now).if_any()?.unwrap_or_default())
}

/// The longest message that is opened for its priority.
const LOOKED_AT: u64 = 16 * 1024 * 1024;

/// One workspace, open.
#[derive(Debug)]
pub struct Workspace {
    folders: Maildir,
    home: Arc<Maildir>,
}

impl Workspace {
    /// The `.mailbox` directory of a workspace, for the mailbox with this home.
    pub(super) fn at(dir: Dir, home: Arc<Maildir>) -> Self {
        Self { folders: Maildir::workspace(dir, home.id()), home }
    }

    pub(super) fn dir(&self) -> &Dir {
        self.folders.dir()
    }

    /// The first of a list by time, ordered by the priority in each file.
    fn in_order(&self, mut listing: Listing, limit: usize) -> Listing {
        let priority = |name: &String| match self.folders.header(Folder::Inbox, name, LOOKED_AT) {
            Ok(Some(header)) => header.envelope.priority,
            _ => Priority::Normal,
        };
        if limit > 0 && listing.names.len() > 1 {
            listing.names.sort_by_cached_key(priority);
        }
        listing.names.truncate(limit);
        listing
    }
}

/// Whether a message is a request that wants a reply.
fn is_request(envelope: &Envelope) -> bool {
    matches!(&envelope.native, ProtocolFields::Workspace { kind: Kind::New, reply: Some(_), .. })
}

impl Place for Workspace {
    by_folders!(self => &self.folders);

    fn protocol(&self) -> Protocol {
        Protocol::Workspace
    }

    fn inbox(&self) -> PathBuf {
        self.dir().path().join(Folder::Inbox.as_str())
    }

    fn lists_in_order(&self) -> bool {
        false
    }

    /// By priority and time. Messages of one channel stand together, and all but a sender's newest request in it are superseded.
    fn arrange(&self, mut headers: Vec<Header>) -> Result<Vec<Header>> {
        headers.sort_by_key(|header| header.envelope.priority);
        shown::mark_superseded(&mut headers);
        Ok(shown::together(headers))
    }

    fn unseen(&self, limit: usize) -> Result<Listing> {
        let mut listing = self.folders.list(Folder::Inbox, usize::MAX)?;
        listing.names = self.not_shown(listing.names)?;
        listing.total = listing.names.len();
        listing.names.truncate(limit);
        Ok(listing)
    }

    fn next(&self, limit: usize) -> Result<Listing> {
        Ok(self.in_order(self.folders.list(Folder::Inbox, usize::MAX)?, limit))
    }

    fn next_unseen(&self, limit: usize) -> Result<Listing> {
        Ok(self.in_order(self.unseen(usize::MAX)?, limit))
    }

    fn unread(&self) -> Result<(usize, Option<Timestamp>)> {
        let listing = self.folders.list(Folder::Inbox, 1)?;
        let inbox = self.folders.folder(Folder::Inbox)?;
        let oldest = listing.names.first().map(|name| inbox.stat(name).if_any()).transpose()?.flatten();
        Ok((listing.total, oldest.map(|stat| mtime(&stat))))
    }

    fn since(&self, folder: Folder, since: Timestamp) -> Result<Vec<String>> {
        let mut names = self.folders.list(folder, usize::MAX)?.names;
        let Some(dir) = self.folders.folder_if_any(folder)? else { return Ok(vec![]) };
        names.retain(|name| !dir.stat(name).is_ok_and(|stat| mtime(&stat) < since.minus(APART)));
        Ok(names)
    }

    fn urgency(&self, name: &str) -> Result<Option<Urgency>> {
        let urgency = Place::urgency(&self.folders, name)?;
        let header = self.folders.header(Folder::Inbox, name, LOOKED_AT).ok().flatten();
        let (priority, role) = header.map_or((Priority::Normal, Role::Request), |header| {
            (header.envelope.priority, header.envelope.role())
        });
        Ok(urgency.map(|urgency| Urgency { priority, role, ..urgency }))
    }

    fn is_whole(&self, name: &str) -> Result<bool> {
        is_stable(&self.folders.folder(Folder::Inbox)?, name)
    }

    fn deliver(&self, delivery: &Delivery<'_>) -> Result<DeliveryOutcome> {
        self.copy_in(delivery)
    }

    fn awaits_answer(&self, envelope: &Envelope) -> bool {
        is_request(envelope)
    }

    fn consume(&self, name: &str, envelope: &Envelope, _terms: &Terms) -> Result<Option<String>> {
        if is_request(envelope) {
            self.note_shown(name)?;
            return Ok(Some(name.to_owned()));
        }
        self.folders.shift(name, Folder::Inbox, Folder::Archive)
    }

    fn faults(&self, limit: u64, now: Timestamp) -> Result<Vec<PlaceFault>> {
        unreadable_faults(self, limit, now)
    }
}
