//! Places: where the messages of a mailbox lie, whose inbox a path is, and which paths a reply may go to.
//!
//! An entry of the registry with a `protocol` says that its messages lie where its `inbox` is; every other mailbox
//! lies in the room. A path that a message names is hostile until [`Post::destination`] has accepted it.

use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Stat};

use super::{Error, Post, Result};
use crate::mailbox::{Dir, Folder, Mailbox, Maildir};
use crate::message::workspace::Kind;
use crate::message::{Envelope, Native, Protocol};
use crate::name::MailboxId;

/// The directory of a workspace, and of a mailbox that writes to workspaces.
pub(super) const WORKSPACE: &str = ".mailbox";

/// The directory of a tree of agents in a project.
pub(super) const TREE: &str = ".claude";

/// Where the messages of a workspace lie.
pub(super) fn inbox_of_workspace(workspace: &Path) -> PathBuf {
    workspace.join(WORKSPACE).join(Folder::Inbox.word())
}

fn is_link(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Symlink
}

impl Post {
    /// A mailbox with its home open: its messages lie there, or where the registry says.
    pub(super) fn placed(&self, home: Maildir) -> Result<Mailbox> {
        let entry = self.registry.as_ref().ok().and_then(|registry| registry.by_id(home.id()));
        let Some((entry, protocol)) = entry.and_then(|e| Some((e, Protocol::parse(e.text("protocol")?)?)))
        else {
            return Ok(Mailbox::native(home));
        };
        match Mailbox::elsewhere(home, protocol, Path::new(&entry.inbox)) {
            Err(e) if e.is_missing() => {
                Err(Error::NoPlace { name: entry.name.clone(), path: entry.inbox.clone() })
            }
            other => Ok(other?),
        }
    }

    /// The protocol of a mailbox, as the registry tells it.
    pub(super) fn protocol_of(&self, id: &MailboxId) -> Protocol {
        let entry = self.registry.as_ref().ok().and_then(|registry| registry.by_id(id));
        entry.and_then(|entry| Protocol::parse(entry.text("protocol")?)).unwrap_or(Protocol::Maildir)
    }

    /// The directory in which replies to a mailbox arrive that come from a workspace.
    pub(super) fn reply_inbox(&self, mailbox: &Mailbox) -> PathBuf {
        match mailbox.protocol() {
            Protocol::Workspace => mailbox.path(Folder::Inbox, ""),
            _ => mailbox.dir().path().join(WORKSPACE).join("inbox"),
        }
    }

    /// The mailbox in whose inbox a path lies, or whose inbox it is.
    pub(super) fn owner_of(&self, path: &str) -> Option<MailboxId> {
        let path = Path::new(path);
        let dir = if path.ends_with("inbox") { path } else { path.parent()? };
        if let Ok(below) = dir.strip_prefix(self.room.path()) {
            let mut parts = below.components();
            let id = parts.next()?.as_os_str().to_str()?;
            let rest = parts.as_path();
            if rest == Path::new(".mailbox/inbox") || rest == Path::new("inbox") {
                return self.existing_id(id);
            }
        }
        let entries = &self.registry.as_ref().ok()?.entries;
        entries.iter().find(|entry| Path::new(&entry.inbox) == dir).map(|entry| entry.id.clone())
    }

    /// Puts ids in the place of what a protocol says instead: the sender of a request is whose inbox its reply goes
    /// to, and whoever has a message is whom it is for.
    pub(super) fn know_sender(&self, reader: &MailboxId, envelope: &mut Envelope) {
        let (kind, receiver, reply) = match &mut envelope.native {
            Native::Maildir => return,
            Native::Tree { .. } => return self.know_agents(reader, envelope),
            Native::Workspace { kind, receiver, reply, .. } => (kind, receiver, reply),
        };
        // In the form of the seed that copies both paths, a reply names the reader's own inbox. The paths change places,
        // so that another round goes to whom it came from.
        if *kind == Kind::Reply
            && let Some(own) = reply.as_mut()
            && self.owner_of(own).as_ref() == Some(reader)
        {
            std::mem::swap(own, receiver);
        }
        let path = reply.as_deref().unwrap_or_default();
        envelope.from = match self.owner_of(path) {
            Some(id) => id.to_string(),
            None => path.split("/.mailbox/").next().unwrap_or_default().to_owned(),
        };
        envelope.to = reader.to_string();
    }

    /// Agents of a tree are called by their names there; everybody else by id, or by name where it was written by hand.
    fn know_agents(&self, reader: &MailboxId, envelope: &mut Envelope) {
        let entry = self.registry.as_ref().ok().and_then(|registry| registry.by_id(reader));
        let inboxes = entry.and_then(|entry| Path::new(&entry.inbox).parent().map(Path::to_owned));
        let inside = inboxes.as_deref().and_then(|inboxes| self.agent_in_tree(inboxes, &envelope.from));
        if let Some(id) = inside.or_else(|| self.resolve(&envelope.from).ok().flatten()) {
            envelope.from = id.to_string();
        }
        envelope.to = reader.to_string();
    }

    /// The directory and the name of the file that a reply is delivered as: a direct child of an inbox that may be
    /// one, reached without links.
    pub(super) fn destination(&self, path: &str, request: &str) -> Result<(Dir, String)> {
        let refuse = |why: &str| Error::Destination { path: path.to_owned(), why: why.to_owned() };
        let given = Path::new(path);
        let plain = given.components().all(|c| matches!(c, Component::RootDir | Component::Normal(_)));
        if !given.is_absolute() || !plain || path.split('/').any(|part| part == "." || part == "..") {
            return Err(refuse("it is not an absolute path without `.` and `..`"));
        }
        // A path that names the inbox itself means the request's own file in it.
        let is_inbox = given.ends_with("inbox") && given.parent().is_some_and(|p| p.ends_with(WORKSPACE));
        let (dir, name) = match (is_inbox || self.allows(given), given.parent(), given.file_name()) {
            (true, ..) => (given, request),
            (false, Some(dir), Some(name)) => (dir, name.to_str().unwrap_or_default()),
            _ => return Err(refuse("it has no directory")),
        };
        MailboxId::parse(name).map_err(|why| refuse(&format!("its last part: {why}")))?;
        let in_workspace = dir.ends_with("inbox") && dir.parent().is_some_and(|p| p.ends_with(WORKSPACE));
        let is_known = || {
            let entries = self.registry.as_ref().map(|r| r.entries.as_slice()).unwrap_or_default();
            entries.iter().any(|entry| Path::new(&entry.inbox) == dir)
        };
        if !in_workspace && !is_known() && !self.allows(dir) {
            return Err(refuse(
                "it is in no inbox of a .mailbox, of the registry, or of `reply_destinations`",
            ));
        }
        match Dir::outside(dir) {
            Ok(dir) if dir.stat(name).is_ok_and(|stat| is_link(&stat)) => {
                Err(refuse("it is a symbolic link"))
            }
            Ok(dir) => Ok((dir, name.to_owned())),
            Err(e) if e.is_missing() => Err(refuse("there is no such directory")),
            Err(e) => Err(refuse(&e.to_string())),
        }
    }

    fn allows(&self, dir: &Path) -> bool {
        self.room.settings().reply_destinations.iter().any(|allowed| allowed == dir)
    }
}
