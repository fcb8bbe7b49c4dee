//! Trace: where a message is and what happened to it, from the files first and the journal second. Without either it
//! reports *no evidence*, never a guess.

use std::collections::HashSet;

use super::claim::{BOUNCE, is_bounce};
use super::locate::Copy;
use super::{Error, Me, Post, Result};
use crate::journal::{self, Event};
use crate::mailbox::claim::{Attempt, Terms};
use crate::mailbox::place::Evidence;
use crate::mailbox::{Folder, Mailbox};
use crate::name::MessageId;

/// All facts about one message.
#[derive(Debug)]
pub struct Trace {
    pub id: MessageId,
    pub subject: String,
    pub from: String,
    pub copies: Vec<Located>,
    /// The journal's events, oldest first.
    pub events: Vec<Event>,
    pub answers: Vec<GivenAnswer>,
}

/// An answer to a message, from the journal or a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GivenAnswer {
    pub id: String,
    /// The mailbox it came from.
    pub from: String,
    pub time: String,
}

/// One copy, and its state.
#[derive(Debug)]
pub struct Located {
    /// The address of its mailbox, if that is in another room.
    pub address: Option<String>,
    pub copy: Copy,
    pub state: MessageState,
    pub attempts: Vec<Attempt>,
}

/// The state of one copy, as far as there is evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageState {
    Queued,
    Claimed(Box<Terms>),
    /// In progress by its own status, without a claim.
    Working,
    Shown(String),
    Done(String),
    Answered(String),
    Filed(String),
    Failed(String),
    /// In the archive, without evidence how it came there.
    NoEvidence,
    /// For a room of another machine: not with the server yet.
    WaitsForNetwork,
    /// With the server of the network since this time, if that is known.
    Carried(String),
    /// In the mailbox of the recipient, says its room.
    Delivered(String),
}

impl MessageState {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Claimed(_) => "claimed",
            Self::Working => "in progress",
            Self::Shown(_) => "shown",
            Self::Done(_) => "done",
            Self::Answered(_) => "answered",
            Self::Filed(_) => "filed",
            Self::Failed(_) => "failed",
            Self::NoEvidence => "archived, no evidence how",
            Self::WaitsForNetwork => "waits for network",
            Self::Carried(_) => "carried",
            Self::Delivered(_) => "delivered",
        }
    }
}

impl Post {
    /// All facts about the message that `reference` names.
    pub fn trace(&self, me: Option<&Me>, reference: &str) -> Result<Trace> {
        let located = self.locate(me, reference);
        let (id, copies) = match located {
            Ok(found) => found,
            Err(Error::NoMessage { .. }) => match self.remembered(reference) {
                Err(e @ Error::NoMessage { .. }) => {
                    let id = me.and_then(|me| self.called(me, reference)).ok_or(e)?;
                    self.locate(me, id.as_str())?
                }
                other => (other?, vec![]),
            },
            Err(e) => return Err(e),
        };
        let events = self.history(&id)?;
        let sent = events.iter().find(|e| e.event == "sent" && e.id == id.as_str());
        let envelope = copies.first().map(|copy| &copy.header.envelope);
        let told =
            envelope.map(|e| (&e.subject, e.from.as_str())).or(sent.map(|e| (&e.subject, e.by.as_str())));
        let (subject, from) =
            told.map(|(subject, from)| (subject.clone(), from.to_owned())).unwrap_or_default();
        let answers = self.answers(&id, &from, &events)?;
        let mut copies = copies
            .into_iter()
            .map(|copy| self.located(copy, &events, &answers))
            .collect::<Result<Vec<_>>>()?;
        let addresses =
            events.iter().filter(|e| e.event == "sent" && e.id == id.as_str() && e.to.contains('@'));
        for event in addresses {
            copies.extend(self.located_elsewhere(&id, &event.to)?);
        }
        Ok(Trace { id, subject, from, copies, events, answers })
    }

    /// Every answer to a message of `from`, each once.
    fn answers(&self, id: &MessageId, from: &str, events: &[Event]) -> Result<Vec<GivenAnswer>> {
        let answers = |e: &&Event| e.event == "sent" && e.reply_to == id.as_str() && e.note != BOUNCE;
        let given = |e: &Event| GivenAnswer { id: e.id.clone(), from: e.by.clone(), time: e.time.clone() };
        let mut found: Vec<GivenAnswer> = events.iter().filter(answers).map(given).collect();
        // The journal is not complete: answers written by hand are in the sender's mailbox.
        let journalled: HashSet<String> = journal::files_to(&self.room, from)?;
        found.extend(self.answers_in_files(from, id, &journalled)?);
        found.sort();
        found.dedup_by(|one, other| (&one.id, &one.from) == (&other.id, &other.from));
        Ok(found)
    }

    /// A copy of a message in another room; `None` if the room or the copy is gone.
    fn located_elsewhere(&self, id: &MessageId, address: &str) -> Result<Option<Located>> {
        let (post, to) = match self.elsewhere(address) {
            Ok(Some(other)) => (other.post, other.id),
            Err(e) if e.hides_mail() => return Err(e),
            _ => match self.formerly(address)? {
                Some(found) => found,
                None => return Ok(None),
            },
        };
        let Some(copy) = post.copy_of(id, &to)? else { return Ok(None) };
        let events = post.history(id)?;
        let located = post.located(copy, &events, &[])?;
        Ok(Some(Located { address: Some(address.to_owned()), ..located }))
    }

    /// The state of a message in one mailbox.
    pub(crate) fn state_of(&self, id: &str, mailbox: &str) -> Result<Option<MessageState>> {
        match self.elsewhere(mailbox) {
            Ok(Some(other)) => return other.post.state_of(id, other.id.as_str()),
            Ok(None) => {}
            // The name, or the room, is gone since.
            Err(Error::UnknownName { .. } | Error::UnknownRoom { .. }) => {
                let Some((post, to)) = self.formerly(mailbox)? else { return Ok(None) };
                return post.state_of(id, to.as_str());
            }
            Err(e) => return Err(e),
        }
        let Some(copy) = self.copy_in(id, mailbox)? else { return Ok(None) };
        let envelope = &copy.header.envelope;
        let events = self.history(&envelope.id)?;
        let answers = self.answers(&envelope.id, envelope.from.as_str(), &events)?;
        Ok(Some(self.located(copy, &events, &answers)?.state))
    }

    /// The id of the message that `check` shows under this name in the caller's own mailbox: a reply has the name of its request.
    fn called(&self, me: &Me, reference: &str) -> Option<MessageId> {
        let found = self.find(me, reference).ok()?;
        Some(self.header(&me.mailbox, found.folder, &found.name).ok()??.envelope.id)
    }

    /// The state of one copy of a message with these answers.
    pub(super) fn located(&self, copy: Copy, events: &[Event], answers: &[GivenAnswer]) -> Result<Located> {
        let mailbox = self.mailbox(&copy.mailbox)?;
        let attempts = mailbox.attempts(&copy.header.name)?;
        let state = match copy.folder {
            Folder::Inbox if self.is_on_network() => MessageState::WaitsForNetwork,
            Folder::Carried => {
                let carried = events.iter().rev().find(|e| e.event == "carried");
                MessageState::Carried(carried.map(|e| e.time.clone()).unwrap_or_default())
            }
            Folder::Inbox | Folder::Quarantine => MessageState::Queued,
            Folder::Working => MessageState::Working,
            Folder::Claimed(token) => mailbox
                .terms(token)?
                .map_or(MessageState::Queued, |terms| MessageState::Claimed(Box::new(terms))),
            Folder::Failed => {
                let why = attempts.iter().rev().find(|a| a.how == "failed").map(|a| a.why.clone());
                MessageState::Failed(why.unwrap_or_default())
            }
            Folder::Archive => self.archived(&mailbox, &copy, events, answers),
        };
        Ok(Located { address: None, copy, state, attempts })
    }

    fn archived(
        &self,
        mailbox: &Mailbox,
        copy: &Copy,
        events: &[Event],
        answers: &[GivenAnswer],
    ) -> MessageState {
        let here = |e: &&Event| {
            e.file == copy.header.name
                && (e.by == copy.mailbox.as_str() || e.mailbox == copy.mailbox.as_str())
        };
        let mut states = events.iter().rev().filter(here).filter_map(|e| match e.event.as_str() {
            "shown" => Some(MessageState::Shown(e.time.clone())),
            "done" => Some(MessageState::Done(e.time.clone())),
            "archived" => Some(MessageState::Filed(e.time.clone())),
            "answered" => Some(MessageState::Answered(e.time.clone())),
            "delivered" => Some(MessageState::Delivered(e.time.clone())),
            _ => None,
        });
        // Receipts come in any order; the one that says most counts.
        let last = match self.is_on_network() {
            true => states.max_by_key(|state| match state {
                MessageState::Answered(_) => 3,
                MessageState::Done(_) => 2,
                MessageState::Shown(_) => 1,
                _ => 0,
            }),
            false => states.next(),
        };
        let answer = answers.iter().filter(|answer| answer.from == copy.mailbox.as_str());
        match (last, answer.map(|answer| &answer.time).min()) {
            (Some(state @ (MessageState::Done(_) | MessageState::Answered(_))), _) => state,
            // Whether it was read or archived before says less.
            (_, Some(time)) => MessageState::Answered(time.clone()),
            (Some(state), None) => state,
            // A status written by hand is evidence too.
            (None, None) => match mailbox.evidence(&copy.header.envelope) {
                Some(Evidence::Answered(time)) => MessageState::Answered(time),
                Some(Evidence::Done) => MessageState::Done("by its status".to_owned()),
                None => MessageState::NoEvidence,
            },
        }
    }

    /// The events that name a message, or answer it.
    pub(super) fn history(&self, id: &MessageId) -> Result<Vec<Event>> {
        let mut found = journal::mentions(&self.room, &[id.as_str()])?;
        found.retain(|e| e.id == id.as_str() || e.reply_to == id.as_str());
        Ok(found)
    }

    /// A message that is only left in the journal.
    fn remembered(&self, reference: &str) -> Result<MessageId> {
        let wanted = reference.to_ascii_lowercase();
        let mut ids: Vec<String> = vec![];
        for day in journal::days(&self.room)? {
            journal::each(&self.room, &day, |event| {
                if !event.id.is_empty() && event.id.to_ascii_lowercase().starts_with(&wanted) {
                    ids.push(event.id.into_owned());
                }
            })?;
        }
        ids.sort();
        ids.dedup();
        let reference = crate::message::visible::clip(reference, 80);
        match ids.len() {
            1 => MessageId::parse_lenient(&ids[0]).map_err(|_| Error::NoMessage { reference }),
            0 => Err(Error::NoMessage { reference }),
            _ => Err(Error::AmbiguousMessage { reference, matches: ids.into_iter().take(8).collect() }),
        }
    }

    /// Answers in the sender's own mailbox whose delivery the journal did not record.
    fn answers_in_files(
        &self,
        from: &str,
        id: &MessageId,
        known: &HashSet<String>,
    ) -> Result<Vec<GivenAnswer>> {
        let Some(sender) = self.existing_id(from)? else { return Ok(vec![]) };
        let mailbox = self.mailbox(&sender)?;
        let mut answers = vec![];
        for folder in mailbox.folders()? {
            for name in mailbox.list(folder, usize::MAX)?.names {
                if known.contains(&name) {
                    continue;
                }
                if let Some(header) = self.header_if_message(&mailbox, folder, &name)?
                    && header.envelope.reply_to.as_ref() == Some(id)
                    && !is_bounce(&header.envelope)
                {
                    let (id, time) = (header.envelope.id.to_string(), header.time.precise());
                    answers.push(GivenAnswer { id, from: header.envelope.from.to_string(), time });
                }
            }
        }
        Ok(answers)
    }
}
