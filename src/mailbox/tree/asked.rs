//! Notes of a mailbox's requests to agents of trees outside its own, so that answers written by hand are found.
//!
//! `<root>/<id>/.mailbox/asked/<digits>`: one note for each open request, with the tree, the agent and the request's id.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Agent, Tray, Tree};
use crate::clock::Timestamp;
use crate::mailbox::Mailbox;
use crate::mailbox::disk::Dir;
use crate::mailbox::fault::{IfAny, Result};
use crate::mailbox::reading::mtime;
use crate::mailbox::workspace::MAILBOX;
use crate::name::{MailboxId, MessageId};

const FOLDER: &str = "asked";

/// A note whose request was not filed within this time is dropped: it never will be.
const FILING: Duration = Duration::from_secs(24 * 3600);

/// A request to an agent in a tree.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    v: u32,
    /// The `.claude` directory.
    tree: String,
    agent: String,
    /// Empty while it is being filed.
    id: String,
    /// The id of the message that was filed.
    #[serde(default)]
    message: String,
}

/// A note as it was found.
struct AskedNote {
    name: String,
    note: Note,
    written: Timestamp,
}

/// A request whose answer may be in an outbox.
#[derive(Debug)]
pub struct PendingRequest {
    /// The inbox of the agent that was asked.
    pub inbox: PathBuf,
    /// The file of the request there.
    pub file: String,
    note: Option<String>,
}

impl Mailbox {
    /// Records a request of this mailbox to an agent; `id` is empty until it is filed.
    pub(super) fn note_asked(&self, agent: &Agent, id: &str, message: &MessageId) -> Result<()> {
        let note = Note {
            v: 1,
            tree: agent.tree().path().display().to_string(),
            agent: agent.id().to_string(),
            id: id.to_owned(),
            message: message.to_string(),
        };
        let notes = self.dir().create_dir_synced(MAILBOX)?.create_dir_synced(FOLDER)?;
        // Copies to several agents share one id.
        let name = MessageId::derived(format!("{message} {} {}", note.tree, note.agent).as_bytes()).request();
        notes.replace_synced(&name, &serde_json::to_vec(&note).unwrap_or_default())
    }

    /// The requests of this mailbox to agents of trees that may have been answered by hand.
    pub fn pending_requests(&self, now: Timestamp) -> Result<Vec<PendingRequest>> {
        let mut found = vec![];
        if let Some(agent) = self.tree() {
            for (other, request) in agent.answers_for()? {
                let inbox = agent.tree().inbox_path(other.as_str());
                found.push(PendingRequest { inbox, file: format!("{request}.md"), note: None });
            }
        }
        for AskedNote { name, note, written } in self.asked()? {
            // A tree that is gone answers nothing.
            let Some(tree) = Tree::open(Path::new(&note.tree)).if_any()? else { continue };
            let Ok(agent) = MailboxId::parse(&note.agent) else { continue };
            let id = match note.id.is_empty() {
                false => Some(note.id),
                true => filed_as(&tree, &agent, &note.message)?,
            };
            let inbox = tree.inbox_path(agent.as_str());
            match id {
                Some(id) => {
                    found.push(PendingRequest { inbox, file: format!("{id}.md"), note: Some(name) });
                }
                // Its sender failed or was killed before it was filed. A sender that was only stopped records it again
                // afterwards.
                None if now.since(written) > FILING => self.forget_note(&name)?,
                None => {}
            }
        }
        Ok(found)
    }

    /// Removes the note of a request whose answer was delivered.
    pub fn answered(&self, request: &PendingRequest) -> Result<()> {
        request.note.as_ref().map_or(Ok(()), |note| self.forget_note(note))
    }

    fn forget_note(&self, name: &str) -> Result<()> {
        let Some(notes) = self.notes()? else { return Ok(()) };
        notes.remove(name).if_any().map(|_| ())
    }

    /// The outboxes that may get answers for this mailbox.
    pub(in crate::mailbox) fn outboxes(&self) -> Result<Vec<PathBuf>> {
        let outbox = |tree: &Path, agent: &str| tree.join("outboxes").join(agent);
        let mut found: Vec<_> = self
            .asked()?
            .iter()
            .map(|asked| outbox(Path::new(&asked.note.tree), &asked.note.agent))
            .collect();
        if let Some(own) = self.tree() {
            found.extend(own.tree().agents()?.iter().map(|agent| outbox(own.tree().path(), agent.as_str())));
        }
        found.sort();
        found.dedup();
        found.retain(|dir| dir.symlink_metadata().is_ok());
        Ok(found)
    }

    fn notes(&self) -> Result<Option<Dir>> {
        self.dir().sub(MAILBOX).and_then(|own| own.sub(FOLDER)).if_any()
    }

    /// The notes.
    fn asked(&self) -> Result<Vec<AskedNote>> {
        let Some(notes) = self.notes()? else { return Ok(vec![]) };
        let mut found = vec![];
        for name in notes.names(|name, _| !name.starts_with('.'))? {
            let Some(opened) = notes.open_file(&name).if_any()? else { continue };
            let written = mtime(&opened.stat);
            let bytes = opened.read_all(64 * 1024)?;
            // A file of another program is not a note.
            found.extend(serde_json::from_slice(&bytes).ok().map(|note| AskedNote { name, note, written }));
        }
        Ok(found)
    }
}

/// The id under which a request was filed, by the id of its message.
fn filed_as(tree: &Tree, agent: &MailboxId, message: &str) -> Result<Option<String>> {
    for tray in [Tray::Inbox, Tray::ArchivedInbox] {
        let seen = tree.facts(tray, agent)?;
        let filed = seen.readable().find(|(_, facts)| facts.msg_id.as_deref() == Some(message));
        if let Some((_, facts)) = filed {
            return Ok(Some(facts.id.clone()));
        }
        if let Some(e) = seen.failing {
            return Err(e);
        }
    }
    Ok(None)
}
