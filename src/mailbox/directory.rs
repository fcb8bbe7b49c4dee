//! The directory: who is where, as the room knows it. Two protocols name people by paths and by names of their own, and
//! ask here whose those are. An error while looking is an error, never "nobody".

use std::path::{Path, PathBuf};

use super::Mailbox;
use super::delivery::FROM_ROOM;
use super::fault::Result;
use crate::message::liberal::UNKNOWN;
use crate::message::workspace::Kind;
use crate::message::{Envelope, Native};
use crate::name::MailboxId;

/// What a protocol may ask about the room.
pub trait Directory {
    /// Opens a mailbox, wherever its messages lie.
    fn open(&self, id: &MailboxId) -> Result<Mailbox>;
    /// The mailbox with this name or id.
    fn resolve(&self, text: &str) -> Result<Option<MailboxId>>;
    /// The mailbox in whose inbox a path lies, or whose inbox it is.
    fn owner_of(&self, path: &str) -> Result<Option<MailboxId>>;
    /// Whether replies may be put into a directory that is no `.mailbox/inbox`.
    fn may_receive(&self, dir: &Path) -> bool;
    /// The `.claude` directories in which mailboxes of the room lie.
    fn trees(&self) -> Vec<PathBuf>;
    /// What a mailbox is called: its name, aliases and id.
    fn names_of(&self, id: &MailboxId) -> Vec<String>;
    /// The longest message that is read.
    fn limit(&self) -> u64;
}

impl Mailbox {
    /// Puts ids in the place of paths and names in a message of this mailbox: who sent it, and to whom.
    pub(super) fn identify(&self, envelope: &mut Envelope, directory: &dyn Directory) -> Result<()> {
        // A sender from another room is not the mailbox of that name here.
        let is_foreign = envelope.extra(FROM_ROOM).is_some();
        match &mut envelope.native {
            Native::Tree { .. } if is_foreign => {}
            Native::Maildir => return Ok(()),
            Native::Tree { .. } => {
                // Agents of a tree are called by their names there; everybody else by id, or by name.
                let near = self.tree().map(|agent| agent.tree().inbox_path(&envelope.from));
                let inside = match near.as_deref().and_then(Path::to_str) {
                    Some(inbox) => directory.owner_of(inbox)?,
                    None => None,
                };
                let known = match inside {
                    None => directory.resolve(&envelope.from)?,
                    inside => inside,
                };
                envelope.from = known.map_or_else(|| envelope.from.clone(), |id| id.to_string());
            }
            Native::Workspace { kind, receiver, reply, .. } => {
                // A path may be written as it is seen from the workspace.
                for path in reply.iter_mut().chain([&mut *receiver]) {
                    if let Some(whole) = self.whole_path(path) {
                        *path = whole;
                    }
                }
                let owner =
                    |path: &Option<String>| path.as_deref().map_or(Ok(None), |p| directory.owner_of(p));
                // In the form of the seed that copies both paths, a reply names the reader's own inbox. The paths change
                // places, so that another round goes back to its sender.
                if *kind == Kind::Reply
                    && owner(reply)?.as_ref() == Some(self.id())
                    && let Some(own) = reply.as_mut()
                {
                    std::mem::swap(own, receiver);
                }
                let path = reply.as_deref().unwrap_or_default();
                let stranger = || match path.split("/.mailbox/").next().unwrap_or_default() {
                    "" => UNKNOWN.to_owned(),
                    path => path.to_owned(),
                };
                envelope.from = owner(reply)?.map_or_else(stranger, |id| id.to_string());
            }
        }
        envelope.to = self.id().to_string();
        Ok(())
    }
}
