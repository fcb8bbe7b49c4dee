//! Tasks: how a message reaches an agent of a `.claude` tree. How its answer leaves it is in responses.rs.
//!
//! A message is filed in the agent's inbox under the next id of the day, and noted by whoever asked, so that an answer that
//! a hand writes is found:
//!
//! `<root>/<id>/.mailbox/asked/<digits>`: one note for each open request, with the tree, the agent and the request's id.

use std::collections::HashSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::places::WORKSPACE;
use super::{Error, Found, Letter, Me, Post, Result};
use crate::journal::Event;
use crate::mailbox::once::Once;
use crate::mailbox::tree::{Agent, Facts, Filed, How, Tray, Tree};
use crate::mailbox::{Dir, Folder, Mailbox};
use crate::message::tree::Status;
use crate::message::{Envelope, any};
use crate::name::{MailboxId, MessageId};

pub(super) const ASKED: &str = "asked";

/// What was asked of an agent in a tree.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) v: u32,
    /// The `.claude` directory.
    pub(super) tree: String,
    pub(super) agent: String,
    /// Empty while it is being filed.
    pub(super) id: String,
    /// The id of the message that was filed.
    #[serde(default)]
    pub(super) message: String,
}

impl Post {
    /// Files a message in the inbox of an agent.
    pub(super) fn file_task(
        &self,
        from: Option<&MailboxId>,
        letter: &Letter,
        to: &Mailbox,
        agent: &Agent,
        envelope: &Envelope,
        retry: bool,
    ) -> Result<Once> {
        let _turn = to.dir().lock(".deliver.lock")?;
        if retry && let Some(found) = self.filed_before(to, envelope, &letter.body)? {
            return Ok(found);
        }
        let sender = from.and_then(|from| self.name_in_tree(agent.tree(), from));
        let inside = sender.is_some();
        let answered = letter.back.as_ref().map(|back| back.request.clone());
        let answered = answered.or_else(|| envelope.reply_to.as_ref().map(ToString::to_string));
        let addressed = Envelope {
            from: sender.unwrap_or_else(|| envelope.from.clone()),
            to: agent.id().to_string(),
            ..envelope.clone()
        };
        let mut task = any::to_task(&addressed, &letter.body, answered);
        let asker = from.filter(|_| !inside && envelope.reply_to.is_none());
        let asker = asker.map(|from| self.mailbox(from)).transpose()?;
        // Noted before it is filed: whoever is interrupted in between still finds the answer to what was filed.
        if let Some(asker) = &asker {
            note_asked(asker, agent, "", &envelope.id)?;
        }
        let (name, how) = agent.file(&mut task, self.now()).map_err(tree_error)?;
        if let Some(asker) = &asker {
            note_asked(asker, agent, &task.id, &envelope.id)?;
        }
        Ok(Once::Delivered { how, name })
    }

    fn filed_before(&self, to: &Mailbox, envelope: &Envelope, body: &str) -> Result<Option<Once>> {
        for folder in to.folders()? {
            for name in to.twins(folder, &envelope.id)? {
                let Ok(Some((found, _))) = to.message(folder, &name, self.room.limits().body_bytes) else {
                    continue;
                };
                let same = found.body == body && found.envelope.subject == envelope.subject;
                return Ok(Some(match same {
                    true => Once::Already { folder, name },
                    false => Once::Taken { path: to.path(folder, &name) },
                }));
            }
        }
        Ok(None)
    }

    /// What a mailbox is called in a tree that it is an agent of.
    pub(super) fn name_in_tree(&self, tree: &Tree, id: &MailboxId) -> Option<String> {
        let entry = self.registry.as_ref().ok()?.by_id(id)?;
        let inbox = Path::new(&entry.inbox);
        (inbox.parent()? == tree.path().join("inboxes"))
            .then(|| inbox.file_name()?.to_str().map(str::to_owned))?
    }

    /// The mailbox of an agent of a tree, by its name there.
    pub(super) fn agent_in_tree(&self, inboxes: &Path, name: &str) -> Option<MailboxId> {
        let entries = &self.registry.as_ref().ok()?.entries;
        let inbox = inboxes.join(MailboxId::parse(name).ok()?.as_str());
        entries.iter().find(|entry| Path::new(&entry.inbox) == inbox).map(|entry| entry.id.clone())
    }

    /// Archives a request that is named by its whole id: what it takes is one look at it and one change. `None`: the name
    /// is not that of a file in the inbox, so others have to be looked at.
    pub(super) fn file_in_tree(&self, me: &Me, reference: &str, to: Folder) -> Result<Option<(Found, bool)>> {
        let (Some(agent), Folder::Archive) = (me.mailbox.agent(), to) else { return Ok(None) };
        let name = format!("{}.md", reference.strip_suffix(".md").unwrap_or(reference));
        if MailboxId::parse(&name).is_err() {
            return Ok(None);
        }
        let Some(Filed { task, how }) = agent.file_as(&name, Status::Completed).map_err(tree_error)? else {
            return Ok(None);
        };
        if how == How::Claimed {
            return Err(Error::NotUnread { reference: reference.to_owned(), folder: "claimed" });
        }
        if how == How::Done {
            let id = any::of_task(task).envelope.id;
            self.record_move("archived", me, id.as_str(), &name);
        }
        Ok(Some((Found { folder: to, name }, how == How::Done)))
    }

    /// Notes that a request was shown: it is in progress until it is answered, or its lease is over.
    pub(super) fn begin_task(&self, me: &Me, name: &str, envelope: &Envelope) -> Result<()> {
        let Some(agent) = me.mailbox.agent() else { return Ok(()) };
        if envelope.reply_to.is_some() {
            // An answer needs none: with its showing it is done.
            if agent.set_status(name, Status::Pending, Status::InProgress, None).map_err(tree_error)? {
                agent.set_status(name, Status::InProgress, Status::Completed, None).map_err(tree_error)?;
            }
        } else {
            let attempt = me.mailbox.tries(name)? + 1;
            let clock = self.room.clock();
            let terms = crate::mailbox::claim::Terms::new(me.id.as_str(), name, attempt, super::LEASE, clock);
            me.mailbox.claim(name, &terms)?;
        }
        self.record(Event {
            id: envelope.id.to_string(),
            file: name.to_owned(),
            ..Event::new("shown", me.id.as_str())
        });
        Ok(())
    }
}

/// Notes what a mailbox asked of an agent; `id` is empty until the request is filed.
pub(super) fn note_asked(asker: &Mailbox, agent: &Agent, id: &str, message: &MessageId) -> Result<()> {
    let note = Asked {
        v: 1,
        tree: agent.tree().path().display().to_string(),
        agent: agent.id().to_string(),
        id: id.to_owned(),
        message: message.to_string(),
    };
    let notes = asker.dir().made_sub(WORKSPACE)?.made_sub(ASKED)?;
    Ok(notes.replace(&message.request(), &serde_json::to_vec(&note).unwrap_or_default())?)
}

/// The id under which a request was filed, by that of the message it is.
pub(super) fn filed_as(agent: &Agent, message: &str) -> Option<String> {
    [Tray::Inbox, Tray::ArchivedInbox].into_iter().find_map(|tray| {
        let seen = agent.facts(tray).ok()?;
        seen.readable()
            .find(|(_, facts)| facts.msg_id.as_deref() == Some(message))
            .map(|(_, facts)| facts.id.clone())
    })
}

/// The id of an answer, which is the same whoever carries it and however often. A failure may be followed by another
/// try and its answer, so each failure has an id of its own.
pub(super) fn answer_id(tree: &Tree, agent: &MailboxId, request: &str, response: &Facts) -> MessageId {
    let mut route = format!("response {} {agent} {request}", tree.path().display());
    if response.status == Status::Failed {
        let why = response.error.as_deref().unwrap_or_default();
        route.push_str(&format!(" failed {} {why}", response.created));
    }
    MessageId::derived(route.as_bytes())
}

/// The ids of all mail that an agent has or had.
pub(super) fn message_ids(agent: &Agent) -> Result<HashSet<String>> {
    let mut ids = HashSet::new();
    for tray in [Tray::Inbox, Tray::ArchivedInbox] {
        ids.extend(agent.facts(tray)?.readable().filter_map(|(_, facts)| facts.msg_id.clone()));
    }
    Ok(ids)
}

pub(super) fn asked(notes: &Dir) -> Result<Vec<(String, Asked)>> {
    let mut names = vec![];
    notes.scan(|name, _| {
        names.extend(str::from_utf8(name).ok().filter(|n| !n.starts_with('.')).map(str::to_owned))
    })?;
    let read = |name: String| {
        let bytes = notes.read(&name, 64 * 1024).ok()??;
        Some((name, serde_json::from_slice(&bytes).ok()?))
    };
    Ok(names.into_iter().filter_map(read).collect())
}

pub(super) fn tree_error(e: crate::mailbox::tree::Error) -> Error {
    Error::Disk(e.into())
}
