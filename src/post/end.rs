//! The end of a claim: its message is done, given back, or given up, and whoever asked is told.

use super::carry::fields_of_answer;
use super::claim::{BOUNCE, Held, is_bounce};
use super::{Error, Found, HOPS, Letter, Me, Outcome, Post, Receipt, Result};
use crate::journal::Event;
use crate::mailbox::Folder;
use crate::mailbox::claim::Attempt;
use crate::message::Envelope;
use crate::message::tree::Status;
use crate::name::MessageId;

impl Post {
    /// Finishes a claimed message, with an answer to its sender if there is one.
    pub fn done(&self, me: &Me, held: &Held, answer: Option<Letter>) -> Result<Option<Receipt>> {
        self.room.may_write()?;
        if held.mailbox.agent().is_some() {
            return self.done_as_agent(me, held, answer);
        }
        let receipt = match answer {
            Some(letter) => Some(self.answer_claim(me, held, letter)?),
            None => None,
        };
        if let Some(Receipt { outcome: Outcome::Failed(_), .. }) = &receipt {
            return Ok(receipt);
        }
        self.settle(me, held, Folder::Archive, "done", "")?;
        Ok(receipt)
    }

    /// The same in a tree, where the answer is a response: one that is given, or one that lies in the outbox.
    fn done_as_agent(&self, me: &Me, held: &Held, answer: Option<Letter>) -> Result<Option<Receipt>> {
        let found = Found { folder: Folder::Claimed(held.token), name: held.terms.file.clone() };
        let asked = match self.header(&held.mailbox, found.folder, &found.name) {
            Ok(Some(header)) => header.envelope,
            Ok(None) => return Err(self.gone(held)),
            Err(broken) => return Err(Error::Failing { why: broken.why }),
        };
        if let Some(letter) = answer {
            self.check_letter(&letter)?;
            let extra = fields_of_answer(&letter.extra, &asked);
            let letter = Letter { extra, ..letter };
            let receipt = self.respond(me, &held.mailbox, &found, &asked, &letter, Status::Completed)?;
            self.record_done(me, held, &asked, "done", "");
            return Ok(Some(receipt));
        }
        // A response that says `failed` fails its request, whoever calls it done.
        match self.response_to(&held.mailbox, &asked)?.filter(|response| response.status == Status::Failed) {
            Some(response) => {
                let why = response.error.as_deref().unwrap_or("its response says so");
                self.settle(me, held, Folder::Failed, "failed", why)?;
            }
            None => self.settle(me, held, Folder::Archive, "done", "")?,
        }
        self.route_response(&held.mailbox, &asked)
    }

    /// Gives a claimed message back, at once and without counting it as a failure.
    pub fn release(&self, me: &Me, held: &Held, why: &str) -> Result<()> {
        self.room.may_write()?;
        self.note_end(held, "released", why)?;
        self.settle(me, held, Folder::Inbox, "released", why)
    }

    /// Gives a claimed message back after it failed: the attempt counts, and it may be tried again.
    pub fn give_back(&self, me: &Me, held: &Held, why: &str) -> Result<()> {
        self.room.may_write()?;
        self.note_end(held, "failed", why)?;
        self.settle(me, held, Folder::Inbox, "again", why)
    }

    /// Gives a claimed message up: it goes to `failed/`, and its sender is told.
    /// What comes back tells how telling went; `None`: a bounce is never bounced.
    pub fn fail(&self, me: &Me, held: &Held, why: &str) -> Result<Option<Result<Receipt>>> {
        self.room.may_write()?;
        let envelope = match self.header(&held.mailbox, Folder::Claimed(held.token), &held.terms.file) {
            Ok(Some(header)) => Some(header.envelope),
            Ok(None) => return Err(self.gone(held)),
            // The disk failed, not the file: its sender can be told another time.
            Err(broken) if broken.passing => return Err(Error::Failing { why: broken.why }),
            Err(_) => None,
        };
        self.note_end(held, "failed", why)?;
        if let (Some(_), Some(asked)) = (held.mailbox.agent(), &envelope) {
            let found = Found { folder: Folder::Claimed(held.token), name: held.terms.file.clone() };
            let extra = fields_of_answer(&[], asked);
            let letter = Letter { body: format!("{why}\n"), extra, ..Letter::default() };
            let told = match self.respond(me, &held.mailbox, &found, asked, &letter, Status::Failed) {
                // What the agent wrote itself is what whoever asked is told.
                Err(Error::IdTaken { id, path }) => self
                    .route_response(&held.mailbox, asked)
                    .and_then(|sent| sent.ok_or(Error::IdTaken { id, path })),
                other => other,
            };
            // A response that was written by hand stays; the request fails all the same.
            if held.mailbox.terms(held.token)?.is_some() {
                held.mailbox.settle(held.token, &held.terms.file, Folder::Failed, why)?;
            }
            self.record_done(me, held, asked, "failed", why);
            return Ok(Some(told));
        }
        // The bounce goes first, under an id that a second run would find again. It cannot stop the rest.
        let told = envelope.filter(|e| !is_bounce(e)).map(|envelope| self.bounce(held, &envelope, why));
        self.settle(me, held, Folder::Failed, "failed", why)?;
        Ok(told)
    }

    /// Gives a claimed message up without a word to its sender, who knows.
    pub(super) fn give_up(&self, me: &Me, held: &Held, why: &str) -> Result<()> {
        self.note_end(held, "failed", why)?;
        self.settle(me, held, Folder::Failed, "failed", why)
    }

    fn bounce(&self, held: &Held, envelope: &Envelope, why: &str) -> Result<Receipt> {
        let (to, back) = self.letter_back(envelope, Letter::default())?;
        let from = held.mailbox.id();
        let mut extra = vec![(BOUNCE.to_owned(), "1".to_owned())];
        if let Some(hops) = envelope.extra(HOPS).and_then(|hops| hops.parse::<u32>().ok()) {
            extra.push((HOPS.to_owned(), hops.saturating_add(1).to_string()));
        }
        let letter = Letter {
            subject: Some(crate::message::envelope::subject_with("failed: ", &envelope.subject)),
            body: format!(
                "Your message {} to {} was given up after {} attempt(s).\nReason: {why}\n",
                envelope.id,
                self.name_of(from.as_str()),
                held.terms.attempt,
            ),
            channel: envelope.channel.clone(),
            reply_to: Some(envelope.id.clone()),
            allow_secrets: true,
            extra,
            ..back
        };
        let id = MessageId::derived(format!("bounce {}", held.token).as_bytes());
        self.send_back(from, &letter, &to, &id, true)
    }

    fn answer_claim(&self, me: &Me, held: &Held, letter: Letter) -> Result<Receipt> {
        let asked = match self.header(&held.mailbox, Folder::Claimed(held.token), &held.terms.file) {
            Ok(Some(header)) => header.envelope,
            Ok(None) => return Err(self.gone(held)),
            Err(broken) => return Err(Error::Failing { why: broken.why }),
        };
        let (to, letter) = self.letter_back(&asked, letter)?;
        // One claim has one answer: run again after an interruption, it finds itself.
        let id = letter
            .id
            .clone()
            .unwrap_or_else(|| MessageId::derived(format!("answer {}", held.token).as_bytes()));
        self.send_back(&me.id, &letter, &to, &id, true)
    }

    fn note_end(&self, held: &Held, how: &str, why: &str) -> Result<()> {
        let attempt = Attempt::of(held.token, &held.terms, how, why, self.room.clock());
        Ok(held.mailbox.note_attempt(&held.terms.file, &attempt)?)
    }

    fn settle(&self, me: &Me, held: &Held, to: Folder, event: &str, why: &str) -> Result<()> {
        let Some(file) = held.mailbox.settle(held.token, &held.terms.file, to, why)? else {
            return Err(self.gone(held));
        };
        let id = self.id_of(&held.mailbox, to, &file);
        let queue = held.mailbox.id().to_string();
        let note = why.to_owned();
        self.record(Event { id, file, note, mailbox: queue, ..Event::new(event, me.id.as_str()) });
        Ok(())
    }

    fn record_done(&self, me: &Me, held: &Held, asked: &Envelope, event: &str, why: &str) {
        let (id, file) = (asked.id.to_string(), held.terms.file.clone());
        let (note, queue) = (why.to_owned(), held.mailbox.id().to_string());
        self.record(Event { id, file, note, mailbox: queue, ..Event::new(event, me.id.as_str()) });
    }

    pub(super) fn gone(&self, held: &Held) -> Error {
        Error::NoClaim {
            token: held.token.to_string(),
            why: Some("its lease ended and the message went back, or it was finished already".to_owned()),
        }
    }
}
