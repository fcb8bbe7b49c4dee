//! The directory: where each mailbox is, as the room knows it. Two protocols identify mailboxes by their own paths and
//! names, and look up the owners here. A failed look-up is an error, never "nobody".

use std::path::{Path, PathBuf};

use super::Mailbox;
use super::delivery::FROM_ROOM;
use super::fault::Result;
use crate::message::workspace::Kind;
use crate::message::{Envelope, Origin, ProtocolFields};
use crate::name::MailboxId;

/// The questions that a protocol may ask about the room.
pub trait Directory {
    /// Opens a mailbox, wherever its messages are.
    fn open(&self, id: &MailboxId) -> Result<Mailbox>;
    /// The mailbox with this name or id.
    fn resolve(&self, text: &str) -> Result<Option<MailboxId>>;
    /// The mailbox with this inbox, or whose inbox contains this path.
    fn owner_of(&self, path: &str) -> Result<Option<MailboxId>>;
    /// Whether replies may be put into a directory that is not a `.mailbox/inbox`.
    fn may_receive(&self, dir: &Path) -> bool;
    /// The `.claude` directories that contain mailboxes of the room.
    fn trees(&self) -> Vec<PathBuf>;
    /// The name, aliases and id of a mailbox.
    fn names_of(&self, id: &MailboxId) -> Vec<String>;
    /// The longest message that is read.
    fn limit(&self) -> u64;
}

impl Mailbox {
    /// Replaces paths and names by ids in a message of this mailbox: its sender and its recipient.
    pub(super) fn identify(&self, envelope: &mut Envelope, directory: &dyn Directory) -> Result<()> {
        // A sender from another room is not the mailbox of that name here.
        let is_foreign = envelope.extra(FROM_ROOM).is_some();
        match &mut envelope.native {
            ProtocolFields::Tree { .. } if is_foreign => {}
            ProtocolFields::Maildir => return Ok(()),
            ProtocolFields::Tree { .. } => {
                // A tree calls its own agents by name, all others by id or name.
                let near = self.tree().map(|agent| agent.tree().inbox_path(envelope.from.as_str()));
                let inside = match near.as_deref().and_then(Path::to_str) {
                    Some(inbox) => directory.owner_of(inbox)?,
                    None => None,
                };
                let known = match inside {
                    None => directory.resolve(envelope.from.as_str())?,
                    inside => inside,
                };
                if let Some(id) = known {
                    envelope.from = Origin::mailbox(id.to_string());
                }
            }
            ProtocolFields::Workspace { kind, receiver, reply, .. } => {
                // A path may be relative to the workspace.
                for path in reply.iter_mut().chain([&mut *receiver]) {
                    if let Some(whole) = self.whole_path(path) {
                        *path = whole;
                    }
                }
                let owner =
                    |path: &Option<String>| path.as_deref().map_or(Ok(None), |p| directory.owner_of(p));
                // In the seed's form that copies both paths, a reply names the reader's own inbox. The paths are
                // swapped, so that another round goes back to its sender.
                if *kind == Kind::Reply
                    && owner(reply)?.as_ref() == Some(self.id())
                    && let Some(own) = reply.as_mut()
                {
                    std::mem::swap(own, receiver);
                }
                let path = reply.as_deref().unwrap_or_default();
                let stranger = || Origin::workspace(path.split("/.mailbox/").next().unwrap_or_default());
                envelope.from = owner(reply)?.map_or_else(stranger, |id| Origin::mailbox(id.to_string()));
            }
        }
        envelope.to = self.id().to_string();
        Ok(())
    }
}
