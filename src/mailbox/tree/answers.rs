//! Answers in a tree: a response in the outbox of the agent that answered, written once, by command or by hand. It
//! reaches the asker under an id that does not depend on the process that delivers it.
//!
//! ```text
//! outboxes/<agent>/<id>-response.md    what the agent said; kept, and never replaced
//! inboxes/<asker>/<YYYY-MM-DD-NNN>.md  a copy for an asker in a tree: completed from the start, because it is not a task
//! ```

use std::collections::{HashMap, HashSet};

use super::Tree;
use super::agent::{Agent, TaskFile, folder_of};
use super::facts::{Seen, TaskFacts, Tray};
use super::filing::Response;
use crate::mailbox::attachments::Owners;
use crate::mailbox::delivery::{Delivery, DeliveryOutcome};
use crate::mailbox::fault::{Durability, Result};
use crate::mailbox::folder::Folder;
use crate::mailbox::place::{AnswerDraft, KeptAnswer};
use crate::mailbox::reading::{is_stable, mtime};
use crate::message::tree::{Status, Task};
use crate::message::{Attachment, Envelope, Origin, Priority, Protocol, ProtocolFields, any};
use crate::name::{MailboxId, MessageId};

impl Agent {
    /// Files a message: a task, or an answer, which is not a task. Only once, if it may be a retry.
    pub(super) fn file_message(&self, delivery: &Delivery<'_>) -> Result<DeliveryOutcome> {
        let held = self.tree().hold()?;
        // Whether this call or another process files it, the kept look is stale.
        self.forget_fresh();
        if delivery.retry
            && let Some(found) = self.filed_before(delivery)?
        {
            drop(held);
            self.end_carried(delivery)?;
            return Ok(found);
        }
        let Delivery { envelope, body, now, .. } = *delivery;
        let inside = delivery.sender.and_then(|sender| sender.tree());
        let inside = inside.filter(|agent| agent.tree().path() == self.tree().path());
        let (request, inbox) = answered(delivery);
        // Agents of a tree are called by their names there, others as in the question.
        let outside = || inbox.clone().unwrap_or_else(|| envelope.from.to_string());
        let from = inside.map_or_else(outside, |agent| agent.id().to_string());
        let mut addressed =
            Envelope { from: Origin::agent(from), to: self.id().to_string(), ..envelope.clone() };
        addressed.extra.extend(delivery.inherited.iter().cloned());
        let mut task = any::to_task(&addressed, body, request.clone().filter(|_| delivery.is_answer));
        if delivery.is_answer {
            // Information holds up no step and is not a task (protocols: tree §3.4).
            (task.status, task.workflow, task.step) = (Status::Completed, None, None);
        }
        let asker = delivery.sender.filter(|_| inside.is_none() && !delivery.is_answer);
        // Recorded before it is filed: a sender interrupted in between still finds the answer.
        if let Some(asker) = asker {
            asker.note_asked(self, "", &envelope.id)?;
        }
        let (name, how) = self.file(&held, &mut task, now)?;
        // From here on it is delivered, whatever fails. Without its number the note is slower to follow, but leads to
        // the same file.
        if let Some(asker) = asker {
            let _ = asker.note_asked(self, &task.id, &envelope.id);
        }
        drop(held);
        let how = match self.end_carried(delivery) {
            Ok(()) => how,
            Err(e) => Durability::Unproven(e),
        };
        Ok(DeliveryOutcome::Delivered { how, name, beside: false })
    }

    /// Ends the question that came from an inbox of this tree and waits there for its answer.
    fn end_carried(&self, delivery: &Delivery<'_>) -> Result<()> {
        let (Some(request), Some(inbox)) = answered(delivery) else { return Ok(()) };
        if delivery.is_answer && self.tree().has_inbox(&inbox)? {
            let failed = delivery.envelope.extra("bounce").is_some();
            self.tree().end_outside(&inbox, &request, failed)?;
        }
        Ok(())
    }

    /// Finds this message, or another one under its id, in any state. Under the tree's lock no command moves it meanwhile.
    fn filed_before(&self, delivery: &Delivery<'_>) -> Result<Option<DeliveryOutcome>> {
        let id = delivery.envelope.id.as_str();
        for tray in [Tray::Inbox, Tray::ArchivedInbox] {
            let seen = self.facts(tray)?;
            let twin = seen.readable().find(|(_, facts)| facts.msg_id.as_deref() == Some(id));
            let Some((name, facts)) = twin else {
                // It may be a file that could not be read.
                match seen.failing {
                    Some(e) => return Err(e),
                    None => continue,
                }
            };
            let folder = match tray {
                Tray::Inbox if facts.is_unread_answer() => Folder::Inbox,
                Tray::Inbox => folder_of(facts.status),
                _ => Folder::Archive,
            };
            let Some(dir) = self.tree().tray(tray, self.id())? else { continue };
            let Some(found) = super::agent::read(&dir, name, super::LIMIT)? else { continue };
            let found = any::of_task(found.task);
            let said = |envelope: &Envelope| (envelope.subject.clone(), Attachment::all(envelope));
            let same = found.body == delivery.body && said(&found.envelope) == said(delivery.envelope);
            return Ok(Some(match same {
                true => DeliveryOutcome::Already { folder, name: name.to_owned() },
                false => DeliveryOutcome::Taken { path: dir.path().join(name) },
            }));
        }
        Ok(None)
    }

    /// Writes the response to a request, unless there is one. `None` if this is not a request of this protocol.
    pub(super) fn respond_to(
        &self,
        name: &str,
        asked: &Envelope,
        answer: &AnswerDraft<'_>,
    ) -> Result<Option<KeptAnswer>> {
        let ProtocolFields::Tree { id, .. } = &asked.native else { return Ok(None) };
        let Some(TaskFile { task, stat, .. }) = self.task(name)?.or(self.archived(name)?) else {
            return Ok(None);
        };
        // A request in progress shows its start by the time of its file.
        let since = match task.status {
            Status::InProgress => answer.now.since(mtime(&stat)).as_secs(),
            _ => 0,
        };
        let field = |key: &str| answer.extra.iter().find(|(k, _)| k == key).map(|(_, value)| value.clone());
        let step = field("step").and_then(|step| step.parse().ok());
        let has_place = |key: &str| key == "workflow" || key == "step" && step.is_some();
        let own: Vec<_> = answer.extra.iter().filter(|(key, _)| !has_place(key)).cloned().collect();
        let mut extra = any::foreign(&own, Protocol::Tree);
        let channel = answer.channel.map(str::to_owned).or_else(|| asked.channel.clone());
        extra.extend(channel.map(|channel| ("channel".to_owned(), channel)));
        let failed = answer.failed.is_some();
        let response = Task {
            id: format!("{id}-response"),
            from: self.id().to_string(),
            to: task.from,
            status: if failed { Status::Failed } else { Status::Completed },
            created: answer.now.to_string(),
            priority: if answer.priority == Priority::Normal { asked.priority } else { answer.priority },
            context: answer.subject.map(str::to_owned),
            workflow: field("workflow"),
            step,
            request_id: Some(id.clone()),
            duration_seconds: Some(since),
            error: answer.failed.map(|why| why.trim().to_owned()),
            extra,
            body: answer.body.to_owned(),
            doubts: vec![],
        };
        Ok(Some(match self.respond(id, &response)? {
            Response::Written => self.kept(id, response, false),
            Response::Same(found) => self.kept(id, found, false),
            Response::Other(found) => self.kept(id, found, true),
        }))
    }

    /// Adds the responses of this agent to the owners of attachments.
    pub(super) fn own_responses(&self, owners: &mut Owners) -> Result<()> {
        for tray in [Tray::Outbox, Tray::ArchivedOutbox] {
            let Some(dir) = self.tree().tray(tray, self.id())? else { continue };
            let seen = self.facts(tray)?.certain()?;
            owners.is_incomplete |= !seen.broken().is_empty();
            for (name, facts) in seen.readable() {
                let task = super::agent::read(&dir, name, super::LIMIT)?.map(|found| found.task);
                if let (Some(request), Some(task)) = (request_of(name, facts), task) {
                    let answer = self.kept(request, task, false);
                    owners.add(&answer.id, &answer.message.envelope);
                }
            }
        }
        Ok(())
    }

    /// A response as an answer for delivery.
    pub(super) fn kept(&self, request: &str, response: Task, is_older: bool) -> KeptAnswer {
        let failed = failure(response.status, response.error.as_deref());
        let id = answer_id(self.tree(), self.id(), request, &response.created, failed);
        let why = || response.error.clone().unwrap_or_else(|| response.body.trim().to_owned());
        let failed = (response.status == Status::Failed).then(why);
        let outbox = self.tree().tray_path(Tray::Outbox, self.id());
        let path = outbox.join(format!("{request}-response.md"));
        let to = response.to.clone();
        let context = response.context.clone();
        let mut message = any::of_task(response);
        // Without its own title it gets that of its question.
        message.envelope.subject = context.unwrap_or_default();
        KeptAnswer { id, message, failed, is_older, path, to }
    }

    /// Open requests with a complete response in the outbox. Claimed ones are left to their owners.
    pub(super) fn open_with_response(&self, inbox: &Seen) -> Result<Vec<(Folder, String)>> {
        let mut open: HashMap<&str, (&str, Status)> = inbox
            .readable()
            .filter(|(_, facts)| facts.is_open())
            .map(|(name, facts)| (facts.id.as_str(), (name, facts.status)))
            .collect();
        if open.is_empty() {
            return Ok(vec![]);
        }
        let claimed = self.claimed()?;
        let mut found = vec![];
        for (name, facts) in self.facts(Tray::Outbox)?.certain()?.readable() {
            let Some(request) = request_of(name, facts) else { continue };
            if let Some((file, status)) = open.remove(request)
                && !claimed.iter().any(|(_, claimed)| claimed == file)
                && self.is_said(name)?
            {
                found.push((folder_of(status), file.to_owned()));
            }
        }
        Ok(found)
    }

    /// The agents of this tree that answered this one by hand, each with the request, unless the answer is already here.
    pub(super) fn answers_for(&self) -> Result<Vec<(MailboxId, String)>> {
        // Delivered answers are recognised by their ids, so that no response is opened again each time.
        let mut carried: Option<HashSet<(Option<String>, String)>> = None;
        let mut found = vec![];
        for other in self.tree().agents()? {
            for (name, facts) in self.tree().facts(Tray::Outbox, &other)?.certain()?.readable() {
                let Some(request) = request_of(name, facts).filter(|_| facts.to == self.id().as_str()) else {
                    continue;
                };
                let carried = match &mut carried {
                    Some(carried) => carried,
                    none => none.insert(self.message_ids()?),
                };
                let failed = failure(facts.status, facts.error.as_deref());
                let id = answer_id(self.tree(), &other, request, &facts.created, failed);
                // An orchestrator may have routed it by hand.
                let by_hand = (Some(other.to_string()), request.to_owned());
                if !carried.contains(&(None, id.to_string()))
                    && !carried.contains(&by_hand)
                    && self.tree().agent(&other)?.is_said(name)?
                {
                    found.push((other.clone(), request.to_owned()));
                }
            }
        }
        Ok(found)
    }

    /// The current and former mail of this agent: all ids, and for answers put here by hand, their sender and request.
    fn message_ids(&self) -> Result<HashSet<(Option<String>, String)>> {
        let mut ids = HashSet::new();
        for tray in [Tray::Inbox, Tray::ArchivedInbox] {
            for (_, facts) in self.facts(tray)?.readable() {
                match (&facts.msg_id, &facts.request_id) {
                    (Some(id), _) => drop(ids.insert((None, id.clone()))),
                    (None, Some(request)) => drop(ids.insert((Some(facts.from.clone()), request.clone()))),
                    (None, None) => {}
                }
            }
        }
        Ok(ids)
    }

    /// Whether a response is complete.
    fn is_said(&self, name: &str) -> Result<bool> {
        let Some(outbox) = self.tree().tray(Tray::Outbox, self.id())? else { return Ok(false) };
        is_stable(&outbox, name)
    }
}

impl Tree {
    /// Whether there is an inbox of this name, even one made by hand.
    pub(super) fn has_inbox(&self, name: &str) -> Result<bool> {
        let Ok(agent) = MailboxId::parse(name) else { return Ok(false) };
        Ok(self.tray(Tray::Inbox, &agent)?.is_some())
    }

    /// Whether the asked agent's outbox contains the response to a request that was written by hand.
    pub(in crate::mailbox) fn has_response(&self, request: Option<&MessageId>) -> Result<bool> {
        let Some((request, agent)) = request.and_then(|id| id.as_str().split_once('@')) else {
            return Ok(false);
        };
        let Ok(agent) = MailboxId::parse(agent) else { return Ok(false) };
        Ok(self.has_inbox(agent.as_str())? && self.agent(&agent)?.response(request)?.is_some())
    }

    /// Ends a task that was collected from the inbox of a name outside the tree. `false` if it does not wait there.
    pub fn end_outside(&self, inbox: &str, request: &str, failed: bool) -> Result<bool> {
        let Ok(inbox) = MailboxId::parse(inbox) else { return Ok(false) };
        let status = if failed { Status::Failed } else { Status::Completed };
        self.agent(&inbox)?.set_status(&format!("{request}.md"), Status::InProgress, status, None)
    }
}

/// The answered request, as its asker knows it, and the inbox of this tree that it came from.
fn answered(delivery: &Delivery<'_>) -> (Option<String>, Option<String>) {
    let route = delivery.route.and_then(|route| Some((route.request.clone()?, route.inbox.clone())));
    let by_hand = || {
        let id = delivery.envelope.reply_to.as_ref()?.as_str();
        // A task written by hand is known by its id and its inbox.
        Some(match id.split_once('@') {
            Some((id, inbox)) => (id.to_owned(), Some(inbox.to_owned())),
            None => (id.to_owned(), None),
        })
    };
    route.or_else(by_hand).map_or((None, None), |(request, inbox)| (Some(request), inbox))
}

/// The request that a response answers: by its field, else by its name.
fn request_of<'a>(name: &'a str, facts: &'a TaskFacts) -> Option<&'a str> {
    facts.request_id.as_deref().or_else(|| name.strip_suffix("-response.md"))
}

/// Why a response says that its request failed, if it does.
fn failure(status: Status, error: Option<&str>) -> Option<&str> {
    (status == Status::Failed).then(|| error.unwrap_or_default())
}

/// The id of an answer. A failure may be followed by another try, and a person may reuse the id of a request, so the
/// time of the response is part of it.
pub(super) fn answer_id(
    tree: &Tree,
    agent: &MailboxId,
    request: &str,
    created: &str,
    failed: Option<&str>,
) -> MessageId {
    let mut route = format!("response {} {agent} {request} {created}", tree.path().display());
    if let Some(why) = failed {
        route.push_str(&format!(" failed {why}"));
    }
    MessageId::derived(route.as_bytes())
}
