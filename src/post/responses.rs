//! Responses: how the answer of an agent of a `.claude` tree leaves it.
//!
//! An answer is a response in the agent's outbox; the request is then completed, and the response is carried to whoever
//! asked, in the protocol of that mailbox, under an id that is the same whoever carries it and however often. What an
//! agent wrote into its outbox by hand is carried in the same way, when whoever asked next acts: an agent of the tree
//! finds it there, everybody else by a note of what was asked (tasks.rs).

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::carry::restore;
use super::places::WORKSPACE;
use super::reply::{REPLY_PATH, REQUEST, Target};
use super::tasks::{ASKED, answer_id, asked, filed_as, message_ids, tree_error};
use super::{BOUNCE, Back, Error, Found, Letter, Me, Outcome, Post, Receipt, Result};
use crate::mailbox::tree::{Agent, Facts, Response, Tray, Tree};
use crate::mailbox::{Dir, Folder, Mailbox};
use crate::message::envelope::{check_value, subject_of, subject_of_answer};
use crate::message::tree::{Status, Task};
use crate::message::{Envelope, Native, Priority, Protocol, any};
use crate::name::{MailboxId, MessageId};

impl Post {
    /// Answers a request as the agent it was for: the response goes into the outbox, the request is finished, and whoever
    /// asked is told. The letter has all the fields that the response is to have.
    pub(super) fn respond(
        &self,
        me: &Me,
        mailbox: &Mailbox,
        found: &Found,
        asked: &Envelope,
        letter: &Letter,
        status: Status,
    ) -> Result<Receipt> {
        let (Some(agent), Native::Tree { id, created, .. }) = (mailbox.agent(), &asked.native) else {
            return Err(Error::NoMailbox { id: mailbox.id().to_string(), name: me.shown().to_owned() });
        };
        // Whose it is decides before anything is written: a response cannot be taken back.
        if let Folder::Claimed(token) = found.folder
            && let Some(terms) = mailbox.terms(token)?.filter(|terms| terms.owner != me.id.as_str())
        {
            let owner = self.name_of(&terms.owner).to_owned();
            return Err(Error::ForeignClaim { token: token.to_string(), owner });
        }
        let requester = match agent.read_task(found.folder, &found.name, u64::MAX / 2).map_err(tree_error)? {
            Some((task, ..)) => task.from,
            None => return Err(Error::NoMessage { reference: found.name.clone() }),
        };
        let since =
            crate::clock::Timestamp::parse(created).map(|created| self.now().since(created).as_secs());
        let field = |key: &str| letter.extra.iter().find(|(k, _)| k == key).map(|(_, value)| value);
        let says = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let step = field("step").and_then(|step| step.parse().ok());
        let has_place = |key: &str| key == "workflow" || key == "step" && step.is_some();
        let rest: Vec<_> = letter.extra.iter().filter(|(key, _)| !has_place(key)).cloned().collect();
        let mut extra = any::foreign(&rest, Protocol::Tree);
        let channel = letter.channel.clone().or_else(|| asked.channel.clone());
        extra.extend(channel.map(|channel| ("channel".to_owned(), channel)));
        let response = Task {
            id: format!("{id}-response"),
            from: agent.id().to_string(),
            to: requester,
            status,
            created: self.now().to_string(),
            priority: if letter.priority == Priority::Normal { asked.priority } else { letter.priority },
            context: letter.subject.as_deref().and_then(says),
            workflow: field("workflow").and_then(|run| says(run)),
            step,
            request_id: Some(id.clone()),
            duration_seconds: since,
            error: says(&letter.body).filter(|_| status == Status::Failed),
            extra,
            body: letter.body.clone(),
            doubts: vec![],
        };
        let response = match agent.respond(id, &response).map_err(tree_error)? {
            Response::Written { .. } => response,
            // What is carried is what lies there, so that it is the same whoever carries it.
            Response::Same { found, .. } => *found,
            Response::Taken { path } => {
                return Err(Error::Answered { id: id.clone(), path: path.display().to_string() });
            }
        };
        self.finish(mailbox, found, status, response.error.as_deref())?;
        self.route(mailbox, agent, asked, &response)
    }

    /// Brings a request that was answered into its last state, whichever it was in.
    fn finish(&self, mailbox: &Mailbox, found: &Found, status: Status, error: Option<&str>) -> Result<()> {
        let Some(agent) = mailbox.agent() else { return Ok(()) };
        let to = if status == Status::Failed { Folder::Failed } else { Folder::Archive };
        match found.folder {
            Folder::Claimed(token) => {
                mailbox.settle(token, &found.name, to, error.unwrap_or_default())?;
            }
            Folder::Inbox => {
                let begun = agent.set_status(&found.name, Status::Pending, Status::InProgress, None);
                if begun.map_err(tree_error)? {
                    agent.set_status(&found.name, Status::InProgress, status, error).map_err(tree_error)?;
                }
            }
            Folder::Working => {
                agent.set_status(&found.name, Status::InProgress, status, error).map_err(tree_error)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Carries a response to whoever asked.
    fn route(&self, mailbox: &Mailbox, agent: &Agent, asked: &Envelope, response: &Task) -> Result<Receipt> {
        let Native::Tree { id, .. } = &asked.native else { return Err(Error::NoReplyWanted) };
        let mut answer = any::of_task(response.clone()).envelope;
        answer.reply_to = Some(asked.id.clone());
        let untitled = answer.subject == subject_of(&response.body);
        restore(asked, &mut answer, untitled);
        // What an agent wrote by hand may be of several lines, or longer than a subject is.
        let subject = match &response.context {
            Some(context) if check_value(context).is_ok() => context.clone(),
            Some(context) => subject_of(context),
            None => subject_of_answer(&asked.subject),
        };
        let message = answer_id(agent.tree(), agent.id(), id, &Facts::of(response));
        let request = self.request_for(agent, asked, id);
        let (to, back) = match (asked.extra(REPLY_PATH), self.existing_id(&asked.from)) {
            (Some(path), _) => self.way_back(path, &request),
            (None, Some(to)) => (Target::Mailbox(to), Back { request, path: None }),
            (None, None) => return self.left_in_outbox(message, subject, id, response),
        };
        let mut extra: Vec<_> = answer.extra.into_iter().filter(|(key, _)| key != BOUNCE).collect();
        if response.status == Status::Failed {
            extra.push((BOUNCE.to_owned(), "1".to_owned()));
        }
        let letter = Letter {
            subject: Some(subject),
            body: response.body.clone(),
            priority: answer.priority,
            channel: answer.channel,
            reply_to: answer.reply_to,
            allow_secrets: true,
            allow_empty: true,
            extra,
            back: Some(back),
            ..Letter::default()
        };
        let receipt = self.send_back(mailbox.id(), &letter, &to, &message, true)?;
        // Written by hand and then by a command, or changed since: what was carried first is what counts.
        Ok(match receipt.outcome {
            Outcome::Failed(Error::IdTaken { .. }) => {
                Receipt { outcome: Outcome::Already(Folder::Inbox), ..receipt }
            }
            _ => receipt,
        })
    }

    /// What the request is called where the answer goes: an agent of the same tree knows its id, the others their own.
    fn request_for(&self, agent: &Agent, asked: &Envelope, id: &str) -> String {
        let asker = self.existing_id(&asked.from);
        match (asked.extra(REQUEST), asker.and_then(|asker| self.name_in_tree(agent.tree(), &asker))) {
            (Some(request), _) => request.to_owned(),
            (None, Some(_)) => id.to_owned(),
            (None, None) => asked.id.request(),
        }
    }

    /// `user`, and whoever else has no mailbox, reads a response in the outbox.
    fn left_in_outbox(
        &self,
        id: MessageId,
        subject: String,
        request: &str,
        response: &Task,
    ) -> Result<Receipt> {
        let to = MailboxId::parse("user").map_err(|_| Error::EmptyBody)?;
        let (name, file) = (response.to.clone(), format!("{request}-response.md"));
        Ok(Receipt { id, to, name, subject, file, is_beside: false, outcome: Outcome::Queued })
    }

    /// The response that lies in the outbox for a request, if there is one.
    pub(super) fn response_to(&self, mailbox: &Mailbox, asked: &Envelope) -> Result<Option<Task>> {
        let (Some(agent), Native::Tree { id, .. }) = (mailbox.agent(), &asked.native) else {
            return Ok(None);
        };
        Ok(agent.response_here(id).map_err(tree_error)?.map(|(response, _)| response))
    }

    /// Before another try: the response that said that the last one failed is no answer to the request any more.
    pub(super) fn make_way(&self, me: &Me, found: &Found) -> Result<()> {
        let Some(agent) = me.mailbox.agent() else { return Ok(()) };
        let task = agent.read_task(found.folder, &found.name, self.room.limits().body_bytes);
        if let Some((task, ..)) = task.map_err(tree_error)? {
            agent.put_failure_away(&task.id).map_err(tree_error)?;
        }
        Ok(())
    }

    /// Carries it to whoever asked; for `done` without a text.
    pub(super) fn route_response(&self, mailbox: &Mailbox, asked: &Envelope) -> Result<Option<Receipt>> {
        match (mailbox.agent(), self.response_to(mailbox, asked)?) {
            (Some(agent), Some(response)) => self.route(mailbox, agent, asked, &response).map(Some),
            _ => Ok(None),
        }
    }

    /// Carries over what other agents of the tree answered by hand.
    pub(super) fn collect_in_tree(&self, mailbox: &Mailbox) -> Result<()> {
        let Some(me) = mailbox.agent() else { return Ok(()) };
        // What was carried is known by its id, so that no response is opened again for ever after.
        let mut carried: Option<HashSet<String>> = None;
        for other in me.tree().agents()? {
            for (name, facts) in me.tree().facts(Tray::Outbox, &other)?.readable() {
                let request = facts.request_id.as_deref().or_else(|| name.strip_suffix("-response.md"));
                let Some(request) = request.filter(|_| facts.to == me.id().as_str()) else { continue };
                let carried = match &mut carried {
                    Some(carried) => carried,
                    none => none.insert(message_ids(me)?),
                };
                let id = answer_id(me.tree(), &other, request, facts);
                if !carried.contains(id.as_str()) {
                    self.collect(mailbox, me.tree(), &other, request)?;
                }
            }
        }
        Ok(())
    }

    /// Carries over what agents answered to the questions of a mailbox that is in no tree.
    pub(super) fn collect_asked(&self, own: &Dir, mailbox: &Mailbox) -> Result<()> {
        let notes = match own.sub(ASKED) {
            Err(e) if e.is_missing() => return Ok(()),
            other => other?,
        };
        for (name, note) in asked(&notes)? {
            // A tree that is gone answers nothing; its note goes with the next clean-up of the mailbox.
            let (Ok(tree), Ok(agent)) = (Tree::open(Path::new(&note.tree)), MailboxId::parse(&note.agent))
            else {
                continue;
            };
            let filed = Some(note.id.clone()).filter(|id| !id.is_empty());
            let filed = filed.or_else(|| filed_as(&tree.agent(&agent).ok()?, &note.message));
            let Some(id) = filed else { continue };
            if self.collect(mailbox, &tree, &agent, &id)? {
                let _ = notes.remove(&name);
            }
        }
        Ok(())
    }

    /// The outboxes in which answers to the questions of a mailbox will lie.
    pub(super) fn outboxes(&self, mailbox: &Mailbox) -> Vec<PathBuf> {
        let outbox = |tree: &Path, agent: &str| tree.join("outboxes").join(agent);
        if let Some(me) = mailbox.agent() {
            let agents = me.tree().agents().unwrap_or_default();
            return agents.iter().map(|agent| outbox(me.tree().path(), agent.as_str())).collect();
        }
        let notes = mailbox.dir().sub(WORKSPACE).and_then(|own| own.sub(ASKED));
        let notes = notes.map(|notes| asked(&notes).unwrap_or_default()).unwrap_or_default();
        let mut found: Vec<_> =
            notes.iter().map(|(_, note)| outbox(Path::new(&note.tree), &note.agent)).collect();
        found.sort();
        found.dedup();
        found.retain(|dir| dir.symlink_metadata().is_ok());
        found
    }

    /// Carries over the answer of one agent to one request; `false`: there is none yet.
    fn collect(&self, mailbox: &Mailbox, tree: &Tree, agent: &MailboxId, request: &str) -> Result<bool> {
        let Ok(agent) = tree.agent(agent) else { return Ok(false) };
        let Ok(Some((response, _))) = agent.response(request) else { return Ok(false) };
        let name = format!("{request}.md");
        let mut asked = None;
        for folder in agent.folders().map_err(tree_error)? {
            if let Ok(Some((message, _))) = agent.message(folder, &name, self.room.limits().body_bytes) {
                asked = Some(message.envelope);
                break;
            }
        }
        // A response without its request answers nothing; the doctor tells of it.
        let Some(mut asked) = asked else { return Ok(false) };
        let Some(from) = self.agent_in_tree(&tree.path().join("inboxes"), agent.id().as_str()) else {
            return Ok(false);
        };
        self.know_sender(&from, &mut asked);
        if asked.from != mailbox.id().as_str() {
            return Ok(false);
        }
        let answering = self.mailbox(&from)?;
        let failed = match self.route(&answering, &agent, &asked, &response).map(|receipt| receipt.outcome) {
            Ok(Outcome::Failed(e)) | Err(e) => e,
            Ok(_) => return Ok(true),
        };
        match failed {
            Error::Disk(_) | Error::Failing { .. } | Error::Room(_) => Err(failed),
            // Too long, or the mailbox is full: it waits in its outbox, and keeps nobody from the rest of their mail.
            _ => Ok(false),
        }
    }
}
