//! The life of a message in a tree: filed in an inbox, in progress under a claim, answered in the outbox, completed or
//! failed. Its field `status` is its state (protocols: tree §3.3).

use std::path::PathBuf;

use super::LIMIT;
use super::agent::{Agent, folder_of, status_of};
use super::answers::answer_id;
use super::facts::{TaskFacts, Tray};
use crate::clock::{Clock, Timestamp};
use crate::mailbox::attachments::Owners;
use crate::mailbox::claim::{Attempt, Terms};
use crate::mailbox::delivery::{DOUBT, Delivery, DeliveryOutcome};
use crate::mailbox::disk::Dir;
use crate::mailbox::fault::Result;
use crate::mailbox::folder::{Folder, Token};
use crate::mailbox::lock::Lock;
use crate::mailbox::maildir::APART;
use crate::mailbox::place::{
    AnswerDraft, Archived, ByHand, Evidence, KeptAnswer, Listing, Place, PlaceFault, Reading, Urgency,
};
use crate::mailbox::reading::{Header, if_message, is_stable, mtime};
use crate::message::tree::Status;
use crate::message::{Envelope, Message, Protocol, ProtocolFields, any, file_name};
use crate::name::{MailboxId, MessageId};

impl Place for Agent {
    fn protocol(&self) -> Protocol {
        Protocol::Tree
    }

    fn inbox(&self) -> PathBuf {
        self.dir().path().to_owned()
    }

    fn path(&self, folder: Folder, name: &str) -> PathBuf {
        if folder == Folder::Archive && self.dir().stat(name).is_err_and(|e| e.is_missing()) {
            return self.tree().tray_path(Tray::ArchivedInbox, self.id()).join(name);
        }
        self.dir().path().join(name)
    }

    fn folders(&self) -> Result<Vec<Folder>> {
        let claimed = self.tokens()?.into_iter().map(Folder::Claimed);
        let open = [Folder::Inbox, Folder::Working].into_iter().chain(claimed);
        Ok(open.chain([Folder::Failed, Folder::Archive]).collect())
    }

    /// The inbox, where a field is the state, and the archive.
    fn search_dirs(&self) -> Result<Vec<(Folder, Dir)>> {
        let mut dirs = vec![];
        for (tray, folder) in [(Tray::Inbox, Folder::Inbox), (Tray::ArchivedInbox, Folder::Archive)] {
            dirs.extend(self.tree().tray(tray, self.id())?.map(|dir| (folder, dir)));
        }
        Ok(dirs)
    }

    fn folder_of(&self, found: Folder, envelope: &Envelope) -> Folder {
        match &envelope.native {
            ProtocolFields::Tree { status, .. } if found == Folder::Inbox => folder_of(*status),
            _ => found,
        }
    }

    fn is_message(&self, name: &[u8]) -> bool {
        file_name::is_message(name)
    }

    fn list(&self, folder: Folder, limit: usize) -> Result<Listing> {
        Self::list(self, folder, limit)
    }

    /// A list of a tree is already in order. A step that waits for another is marked.
    fn arrange(&self, mut headers: Vec<Header>) -> Result<Vec<Header>> {
        // Only a step of a run can be held back.
        if !headers.iter().any(|header| header.envelope.extra("workflow").is_some()) {
            return Ok(headers);
        }
        let mut held_back = self.held_back()?;
        for header in &mut headers {
            header.remarks.extend(held_back.remove(&header.name));
        }
        Ok(headers)
    }

    fn unseen(&self, limit: usize) -> Result<Listing> {
        self.ready(limit)
    }

    /// A step waits for earlier steps, and is not the next message until they are completed.
    fn next(&self, limit: usize) -> Result<Listing> {
        self.ready(limit)
    }

    fn unread(&self) -> Result<(usize, Option<Timestamp>)> {
        let seen = self.facts(Tray::Inbox)?.certain()?;
        let unread = || seen.readable().filter(|(_, facts)| facts.is_unread());
        Ok((unread().count(), unread().filter_map(|(_, facts)| facts.time()).min()))
    }

    fn header(&self, folder: Folder, name: &str, limit: u64) -> Reading<Header> {
        let read = self.message(folder, name, limit)?;
        Ok(read.map(|(message, time)| Header::of(name, message.envelope, time, message.body.len() as u64)))
    }

    fn message(&self, folder: Folder, name: &str, limit: u64) -> Reading<(Message, Timestamp)> {
        let read = self.read_task(folder, name, limit).map_err(|e| self.unreadable(name, &e))?;
        Ok(read.map(|found| {
            let time = Timestamp::parse(&found.task.created).unwrap_or_else(|| mtime(&found.stat));
            (any::of_task(found.task), time)
        }))
    }

    fn text(&self, _folder: Folder, name: &str) -> Option<String> {
        let bytes = self.dir().read(name, LIMIT).ok()??;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn twins(&self, folder: Folder, id: &MessageId) -> Result<Vec<String>> {
        Self::twins(self, folder, id)
    }

    fn since(&self, folder: Folder, since: Timestamp) -> Result<Vec<String>> {
        let mut names = Self::list(self, folder, usize::MAX)?.names;
        let old = |name: &String| self.dir().stat(name).is_ok_and(|stat| mtime(&stat) < since.minus(APART));
        names.retain(|name| !old(name));
        Ok(names)
    }

    fn of_run(&self, run: &str, _limit: u64) -> Result<Vec<Envelope>> {
        let mut found = vec![];
        let seen = self.facts(Tray::Inbox)?.certain()?;
        let of_run = |facts: &TaskFacts| facts.workflow.as_deref() == Some(run) && facts.request_id.is_none();
        for (name, _) in seen.readable().filter(|(_, facts)| of_run(facts)) {
            found.extend(self.task(name)?.map(|found| any::of_task(found.task).envelope));
        }
        Ok(found)
    }

    /// In a tree priority is strict, without ageing.
    fn urgency(&self, name: &str) -> Result<Option<Urgency>> {
        let read = if_message(self.header(Folder::Inbox, name, LIMIT));
        let header = read.map_err(|e| e.failure(&self.dir().path().join(name)))?;
        Ok(header.map(|Header { envelope, time: since, .. }| {
            let is_doubtful = !envelope.doubts.is_empty() || envelope.extra(DOUBT).is_some();
            Urgency { priority: envelope.priority, since, ages: false, is_doubtful, role: envelope.role() }
        }))
    }

    fn is_whole(&self, name: &str) -> Result<bool> {
        is_stable(self.dir(), name)
    }

    fn deliver(&self, delivery: &Delivery<'_>) -> Result<DeliveryOutcome> {
        if let Some(sender) = delivery.sender {
            sender.keep_copy(delivery, &self.inbox())?;
        }
        self.file_message(delivery)
    }

    fn collect(&self, limit: u64, now: Timestamp) -> Result<ByHand<'_>> {
        let seen = self.facts(Tray::Inbox)?;
        let found = ByHand {
            strays: self.foreign_messages(&seen, limit, now)?,
            answered: self.open_with_response(&seen)?,
        };
        // Nothing will change, so the list that follows need not look again.
        if found.strays.is_empty() && found.answered.is_empty() {
            self.keep_fresh(seen);
        }
        Ok(found)
    }

    /// A task that was shown is in progress until it is answered, or its lease expires; an answer is then done.
    fn consume(&self, name: &str, _envelope: &Envelope, terms: &Terms) -> Result<Option<String>> {
        // A reply to an answer is a new question.
        if self.is_unread_answer(name)? {
            self.put_away(name)?;
            return Ok(Some(name.to_owned()));
        }
        let terms = Terms { attempt: self.tries(name)? + 1, ..terms.clone() };
        Ok(Self::claim(self, name, &terms)?.map(|_| name.to_owned()))
    }

    fn archive_named(&self, reference: &str) -> Result<Option<Archived>> {
        let name = format!("{}.md", reference.strip_suffix(".md").unwrap_or(reference));
        if MailboxId::parse(&name).is_err() {
            return Ok(None);
        }
        let Some((task, how)) = self.archive_as(&name, Status::Completed)? else { return Ok(None) };
        Ok(Some(Archived { id: any::of_task(task).envelope.id, name, how }))
    }

    fn shift(&self, name: &str, from: Folder, to: Folder) -> Result<Option<String>> {
        Self::shift(self, name, from, to)
    }

    /// A withdrawn message is not done, so it fails, and moves to where it holds back no step.
    fn withdraw(&self, name: &str) -> Result<bool> {
        let begun = self.set_status(name, Status::Pending, Status::InProgress, None)?;
        let taken = begun && self.set_status(name, Status::InProgress, Status::Failed, Some("withdrawn"))?;
        if taken {
            self.put_away(name)?;
        }
        Ok(taken)
    }

    /// Here the archive means that it is done.
    fn withdrawn_to(&self) -> Folder {
        Folder::Failed
    }

    fn sync_moved(&self, _folder: Folder, name: &str) -> Result<()> {
        self.dir().sync_all_moved(&[name])
    }

    fn claim(&self, name: &str, terms: &Terms) -> Result<Option<Token>> {
        Self::claim(self, name, terms)
    }

    fn tokens(&self) -> Result<Vec<Token>> {
        self.claims()?.map_or(Ok(vec![]), |claims| claims.tokens())
    }

    fn terms(&self, token: Token) -> Result<Option<Terms>> {
        self.claims()?.map_or(Ok(None), |claims| claims.terms(token))
    }

    fn renew(&self, token: Token, terms: &Terms) -> Result<bool> {
        Self::renew(self, token, terms)
    }

    fn hold_claim(&self, token: Token) -> Result<Option<Lock>> {
        self.claims()?.map_or(Ok(None), |claims| claims.hold_claim(token))
    }

    fn settle(&self, token: Token, name: &str, to: Folder, why: &str) -> Result<Option<String>> {
        let settled = Self::settle(self, token, name, to, why)?;
        if settled.is_some() {
            self.tell_session(name, to);
        }
        Ok(settled)
    }

    fn return_expired(&self, clock: &dyn Clock) -> Result<Vec<String>> {
        Self::return_expired(self, clock)
    }

    fn note_attempt(&self, name: &str, attempt: &Attempt) -> Result<()> {
        let held = self.tree().hold()?;
        self.made_claims(&held)?.note_attempt(name, attempt)
    }

    fn attempts(&self, name: &str) -> Result<Vec<Attempt>> {
        self.claims()?.map_or(Ok(vec![]), |claims| claims.attempts(name))
    }

    fn tries(&self, name: &str) -> Result<u32> {
        self.claims()?.map_or(Ok(0), |claims| claims.tries(name))
    }

    fn end_of(&self, token: Token) -> Result<Option<Attempt>> {
        self.claims()?.map_or(Ok(None), |claims| claims.end_of(token))
    }

    fn keeps_answers(&self) -> bool {
        true
    }

    fn answer_id(&self, asked: &Envelope, failed: Option<&str>, now: Timestamp) -> Option<MessageId> {
        let ProtocolFields::Tree { id, .. } = &asked.native else { return None };
        Some(answer_id(self.tree(), self.id(), id, &now.to_string(), failed.map(str::trim)))
    }

    fn owners(&self, owners: &mut Owners) -> Result<()> {
        owners.add_all(self)?;
        self.own_responses(owners)
    }

    fn keep_answer(
        &self,
        name: &str,
        asked: &Envelope,
        answer: &AnswerDraft<'_>,
    ) -> Result<Option<KeptAnswer>> {
        self.respond_to(name, asked, answer)
    }

    fn kept_answer(&self, asked: &Envelope) -> Result<Option<KeptAnswer>> {
        let ProtocolFields::Tree { id, .. } = &asked.native else { return Ok(None) };
        Ok(self.response(id)?.map(|(response, _)| self.kept(id, response, false)))
    }

    fn finish(&self, folder: Folder, name: &str, failed: Option<&str>) -> Result<bool> {
        let to = if failed.is_some() { Folder::Failed } else { Folder::Archive };
        let done = match folder {
            Folder::Claimed(token) => {
                return Ok(Place::settle(self, token, name, to, failed.unwrap_or_default())?.is_some());
            }
            Folder::Inbox if self.is_unread_answer(name)? => {
                self.put_away(name)?;
                return Ok(true);
            }
            Folder::Inbox | Folder::Working => {
                let Some(status) = status_of(to) else { return Ok(false) };
                // A reader may have started it meanwhile; it has an answer now.
                self.set_status(name, Status::Pending, Status::InProgress, None)?;
                self.set_status(name, Status::InProgress, status, failed)?
            }
            _ => false,
        };
        if done {
            self.tell_session(name, to);
        }
        Ok(done)
    }

    /// A failed step holds back all later ones: once a run continues without it, it is put away.
    fn set_aside(&self, name: &str) -> Result<()> {
        self.put_failure_away(name.strip_suffix(".md").unwrap_or(name))?;
        self.put_away(name)
    }

    fn evidence(&self, envelope: &Envelope) -> Option<Evidence> {
        let ProtocolFields::Tree { id, .. } = &envelope.native else { return None };
        Some(match self.response(id) {
            Ok(Some((response, _))) => Evidence::Answered(response.created),
            _ => Evidence::Done,
        })
    }

    fn faults(&self, _limit: u64, _now: Timestamp) -> Result<Vec<PlaceFault>> {
        let (inbox, outbox) = (self.facts(Tray::Inbox)?, self.facts(Tray::Outbox)?);
        let mut found = self.tree().faults(self.id(), &inbox, &outbox);
        found.extend(self.left_over()?);
        Ok(found)
    }
}
