//! The person's mailbox, `user`, and the person's decision about a request.
//!
//! Only a person opens or answers the mail of `user` ([`crate::person`]); messages that an agent sends as `user` have
//! the field `via`. A decision counts for a gate only if a person's command recorded it in `<approvals>/<hash of the
//! request's id>`. That is outside of every room, so agents in a sandbox cannot write there. A record is made once and
//! never changes, because a run that is computed again must reach the same end.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::{Error, Post, Result};
use crate::hex;
use crate::mailbox::{self, Dir, IfAny};
use crate::name::{MailboxId, MessageId};
use crate::person::{self, Person};

/// The name of the person's mailbox.
pub const USER: &str = "user";

/// The field that names the agent that sent a message as `user`.
pub const VIA: &str = "via";

/// A person's decision about a request, and its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub v: u32,
    pub request: String,
    pub run: String,
    /// The whole answer; its first line decides.
    pub answer: String,
    pub by: String,
    pub at: String,
    pub terminal: String,
}

impl Post {
    /// Whether this is the mailbox of the person. If the registry cannot be read, any mailbox that may be counts.
    pub fn is_persons(&self, id: &MailboxId) -> bool {
        let is_user = |name: &str| name.eq_ignore_ascii_case(USER);
        is_user(id.as_str())
            || match self.registered() {
                Ok(registry) => registry.by_id(id).is_some_and(|entry| entry.names().any(is_user)),
                Err(_) => id.as_str().starts_with("user-"),
            }
    }

    /// Whether a gate addressed to this name asks the person.
    pub fn asks_person(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case(USER) || self.addressee(name).is_ok_and(|id| self.is_persons(&id))
    }

    /// Whether a person was already seen at this. Looks at nothing and asks nobody.
    pub fn is_attended(&self) -> bool {
        self.person.get().is_some()
    }

    /// Whether the environment has the mark of an agent, and no person was verified.
    pub fn is_by_agent(&self) -> bool {
        self.person.get().is_none() && self.caller.by_agent
    }

    /// The person at this command: already verified, or types `name` if needed.
    pub fn person(&self, name: &str) -> Result<&Person> {
        if let Some(person) = self.person.get() {
            return Ok(person);
        }
        if self.caller.started_without_person {
            return Err(person::NoPerson::NotAtStart.into());
        }
        let typed = |name: &str| self.caller.typed.is_some_and(|typed| typed(name));
        let person = person::at_hand(self.caller.by_agent, name, typed)?;
        Ok(self.person.get_or_init(|| person))
    }

    /// Takes a person who was verified before. A process that lives longer than one request verifies its person once, and
    /// opens a post with this proof for each.
    #[must_use]
    pub fn attended_by(self, person: Person) -> Self {
        Self { person: OnceLock::from(person), ..self }
    }

    /// Whether a person seems to be here: verified, or seen without a question.
    pub(super) fn seems_attended(&self) -> bool {
        let is_seen = || !self.caller.started_without_person && person::look(self.caller.by_agent).is_ok();
        self.person.get().is_some() || is_seen()
    }

    /// Refuses the person's mail to all other callers.
    pub(super) fn may_open(&self, id: &MailboxId) -> Result<()> {
        if self.is_persons(id) { self.person(USER).map(drop) } else { Ok(()) }
    }

    /// The agent that sends as `user`, if the sender is not the person.
    pub(super) fn via(&self) -> Option<String> {
        if self.seems_attended() {
            return None;
        }
        let bound =
            self.caller.session.as_ref().and_then(|session| session.mailbox(&self.room).ok().flatten());
        Some(bound.map_or_else(|| self.caller.harness.clone(), |id| self.name_of(id.as_str()).to_owned()))
    }

    /// The person's decision about a request.
    pub fn said(&self, request: &MessageId) -> Result<Option<Said>> {
        let Some(place) = &self.caller.approvals else { return Ok(None) };
        let Some(dir) = Dir::open(place).if_any()? else { return Ok(None) };
        let limit = self.room.limits().body_bytes.saturating_mul(6).saturating_add(4096);
        let Some(bytes) = dir.read(&file_of(request), limit)? else { return Ok(None) };
        let said: Said = serde_json::from_slice(&bytes).map_err(|e| Error::Unreadable {
            path: place.join(file_of(request)).display().to_string(),
            why: e.to_string(),
        })?;
        Ok(Some(said).filter(|said| said.request == request.as_str()))
    }

    /// Records the person's decision; durable on return. A different later decision is refused.
    pub fn say(&self, request: &MessageId, run: &str, answer: &str) -> Result<()> {
        let terminal = self.person(run)?.terminal().to_owned();
        let said = Said {
            v: 1,
            request: request.to_string(),
            run: run.to_owned(),
            answer: answer.to_owned(),
            by: USER.to_owned(),
            at: self.now().to_string(),
            terminal,
        };
        let Some(place) = &self.caller.approvals else { return Err(Error::NoSettings) };
        let dir = Dir::make(place)?;
        match dir.create_synced(&file_of(request), &serde_json::to_vec(&said).unwrap_or_default()) {
            Err(mailbox::Error::Exists { .. }) => match self.said(request)? {
                // The command that wrote it may have been interrupted before the sync.
                Some(before) if before.answer == answer => dir.sync()?,
                _ => return Err(Error::SaidBefore { id: request.to_string(), run: run.to_owned() }),
            },
            other => other?,
        }
        Ok(dir.sync_parents()?)
    }
}

fn file_of(request: &MessageId) -> String {
    hex::digest(request.as_str(), 16)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::SystemClock;
    use crate::person::NoPerson;
    use crate::post::{Caller, NewMailbox};

    /// A verified person stays one where nothing else says so, also in a newer look at the room.
    #[test]
    fn a_verified_person_goes_with_the_post() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let caller = Caller { by_agent: true, approvals: Some(base.join("approvals")), ..Caller::default() };
        let open = || Post::open_or_make(&base.join("room"), caller.clone(), Arc::new(SystemClock)).unwrap();
        let user = || NewMailbox { name: Some(USER.to_owned()), ..NewMailbox::default() };
        let request = MessageId::parse_strict("0f9e3d1c-1111-4222-8333-444455556666").unwrap();
        assert!(matches!(open().person("run"), Err(Error::NoPerson(NoPerson::Session))));
        assert!(open().setup(&user()).is_err() && open().say(&request, "run", "approve").is_err());

        let attended = open().attended_by(Person::of_test());
        attended.setup(&user()).unwrap();
        let attended = attended.again().unwrap();
        let id = attended.addressee(USER).unwrap();
        attended.may_open(&id).unwrap();
        assert_eq!(attended.via(), None);
        attended.say(&request, "run", "approve").unwrap();
        assert_eq!(attended.said(&request).unwrap().unwrap().terminal, "/dev/test");
        assert!(open().may_open(&id).is_err() && open().via().is_some());
    }

    /// A page that was started in the background is still for looking only when it has the terminal later.
    #[test]
    fn what_was_started_without_a_person_never_looks_for_one_again() {
        let temp = tempfile::tempdir().unwrap();
        let room = temp.path().canonicalize().unwrap().join("room");
        let agrees: fn(&str) -> bool = |_| true;
        let caller = Caller { started_without_person: true, typed: Some(agrees), ..Caller::default() };
        let post = Post::open_or_make(&room, caller, Arc::new(SystemClock)).unwrap();
        assert!(matches!(post.person("run"), Err(Error::NoPerson(NoPerson::NotAtStart))));
        assert!(post.via().is_some() && !post.is_attended());
    }
}
