//! The end of a claim: the message is done, returned, or given up, and its sender gets the result.

use super::claim::{BOUNCE, is_bounce};
use super::held::Held;
use super::line::counted;
use super::reply::answered_before;
use super::{Error, FoundMessage, HOPS, Letter, Me, Outcome, Post, Receipt, Result};
use crate::journal::Event;
use crate::mailbox::Folder;
use crate::mailbox::claim::Attempt;
use crate::mailbox::lock::Lock;
use crate::message::Envelope;
use crate::name::MessageId;

/// Whether the sender was notified of a failure.
#[derive(Debug)]
pub enum Told {
    Sent(Receipt),
    /// There is no sender to notify.
    Nobody,
    /// The sender cannot be notified; a retry would not help.
    CannotBe(Error),
}

impl Post {
    /// Finishes a claimed message. Its sender gets an answer, if one is given or its protocol keeps one. The answer is
    /// durable before the message is done.
    pub fn done(&self, me: &Me, held: &Held, answer: Option<Letter>) -> Result<Option<Receipt>> {
        self.room.may_write()?;
        let (asked, _turn) = self.begin_end(held)?;
        let (receipt, failed) = match (answer, &asked) {
            (Some(letter), asked) => {
                self.check_letter(&letter)?;
                let asked = asked.as_ref().ok_or_else(|| self.unreadable(held))?;
                match self.keep_answer(&held.mailbox, &found(held), asked, &letter, None)? {
                    Some(kept) if kept.is_older => return Err(answered_before(asked, &kept)),
                    Some(kept) => (Some(self.carry_answer(&held.mailbox, asked, &kept)?), None),
                    None => (Some(self.answer_claim(me, held, asked, letter)?), None),
                }
            }
            (None, Some(asked)) => match held.mailbox.kept_answer(asked)? {
                Some(kept) => (Some(self.carry_answer(&held.mailbox, asked, &kept)?), kept.failed),
                None => (None, None),
            },
            (None, None) => (None, None),
        };
        // An answer that may not survive a power cut is recognised when this runs again.
        if let Some(Receipt { outcome: Outcome::Failed(_) | Outcome::Unproven(_), .. }) = &receipt {
            return Ok(receipt);
        }
        match failed {
            // An answer that says `failed` fails its question, even if the command was `done`.
            Some(why) => self.settle(me, held, asked.as_ref(), Folder::Failed, ("failed", &why))?,
            None => self.settle(me, held, asked.as_ref(), Folder::Archive, ("done", ""))?,
        }
        Ok(receipt)
    }

    /// Returns a claimed message at once, without counting it as a failure.
    pub fn release(&self, me: &Me, held: &Held, why: &str) -> Result<()> {
        self.room.may_write()?;
        let (asked, _turn) = self.begin_end(held)?;
        self.note_end(held, "released", why)?;
        self.settle(me, held, asked.as_ref(), Folder::Inbox, ("released", why))
    }

    /// Returns a claimed message after a failure: the attempt counts, and it may be tried again.
    pub fn give_back(&self, me: &Me, held: &Held, why: &str) -> Result<()> {
        self.room.may_write()?;
        let (asked, _turn) = self.begin_end(held)?;
        self.note_end(held, "failed", why)?;
        self.settle(me, held, asked.as_ref(), Folder::Inbox, ("again", why))
    }

    /// Gives a claimed message up: notifies its sender, then moves it to `failed/`. A bounce is never bounced, and the
    /// sender of an unreadable message is unknown. If the notice fails for now, that is an error, and the message stays
    /// claimed.
    pub fn fail(&self, me: &Me, held: &Held, why: &str) -> Result<Told> {
        self.room.may_write()?;
        let (asked, _turn) = self.begin_end(held)?;
        let told = match asked.as_ref().filter(|asked| !is_bounce(asked)) {
            Some(asked) => self.tell_failure(held, asked, why)?,
            None => Told::Nobody,
        };
        self.note_end(held, "failed", why)?;
        self.settle(me, held, asked.as_ref(), Folder::Failed, ("failed", why))?;
        Ok(told)
    }

    /// Notifies the sender of a message that it failed; the agent's own text, if any, is the notice.
    fn tell_failure(&self, held: &Held, asked: &Envelope, why: &str) -> Result<Told> {
        let letter = Letter { body: format!("{why}\n"), extra: one_hop_more(asked), ..Letter::default() };
        let told = match self.keep_answer(&held.mailbox, &found(held), asked, &letter, Some(why))? {
            Some(kept) => self.carry_answer(&held.mailbox, asked, &kept),
            None => self.bounce(held, asked, why),
        };
        match told {
            Ok(Receipt { outcome: Outcome::Failed(e), .. }) | Err(e) if !is_final(&e) => Err(e),
            Ok(Receipt { outcome: Outcome::Failed(e), .. }) | Err(e) => Ok(Told::CannotBe(e)),
            Ok(Receipt { outcome: Outcome::Unproven(why), .. }) => Err(Error::Unproven { why }),
            Ok(receipt) => Ok(Told::Sent(receipt)),
        }
    }

    /// Gives a claimed message up without a notice to its sender, who knows.
    pub(crate) fn give_up(&self, me: &Me, held: &Held, why: &str) -> Result<()> {
        let (asked, _turn) = self.begin_end(held)?;
        self.note_end(held, "failed", why)?;
        self.settle(me, held, asked.as_ref(), Folder::Failed, ("failed", why))
    }

    /// Takes a claimed message back for its sender, who no longer wants it. It is no dead letter: nobody is to retry it.
    pub(crate) fn take_back(&self, me: &Me, held: &Held, why: &str) -> Result<()> {
        let (asked, _turn) = self.begin_end(held)?;
        self.note_end(held, "failed", why)?;
        self.settle(me, held, asked.as_ref(), held.mailbox.withdrawn_to(), ("withdrawn", why))
    }

    /// Begins to end a claim. From here on no other process can end it, so the sender may be notified before the message moves.
    fn begin_end(&self, held: &Held) -> Result<(Option<Envelope>, Lock)> {
        let turn = held.mailbox.hold_claim(held.token)?.ok_or_else(|| self.gone(held))?;
        Ok((self.asked(held)?, turn))
    }

    /// The envelope of a claimed message; `None` if it cannot be read.
    fn asked(&self, held: &Held) -> Result<Option<Envelope>> {
        match self.header(&held.mailbox, Folder::Claimed(held.token), &held.terms.file) {
            Ok(Some(header)) => Ok(Some(header.envelope)),
            Ok(None) => Err(self.gone(held)),
            // The disk failed, not the file: its sender can be notified later.
            Err(broken) if broken.transient => Err(Error::Failing { why: broken.why }),
            Err(_) => Ok(None),
        }
    }

    fn unreadable(&self, held: &Held) -> Error {
        let path = held.mailbox.path(Folder::Claimed(held.token), &held.terms.file).display().to_string();
        Error::Unreadable { path, why: "its sender is unknown".to_owned() }
    }

    fn bounce(&self, held: &Held, envelope: &Envelope, why: &str) -> Result<Receipt> {
        let origin = self.origin(envelope)?;
        let home = origin.as_ref().unwrap_or(self);
        let back = home.letter_back(&held.mailbox, envelope, Letter::default())?;
        let from = held.mailbox.id();
        let mut extra = vec![(BOUNCE.to_owned(), "1".to_owned())];
        extra.extend(one_hop_more(envelope));
        let letter = Letter {
            subject: Some(crate::message::envelope::subject_with("failed: ", &envelope.subject)),
            body: format!(
                "Your message {} to {} was given up after {}.\nReason: {why}\n",
                envelope.id,
                self.name_of(from.as_str()),
                counted(held.terms.attempt as usize, "attempt"),
            ),
            allow_secrets: true,
            extra,
            inherited: vec![],
            asks_again: false,
            ..back
        };
        let id = MessageId::derived(format!("bounce {}", held.token).as_bytes());
        home.send_back(&self.sender(&held.mailbox, origin.as_ref()), &letter, &id, true)
    }

    fn answer_claim(&self, me: &Me, held: &Held, asked: &Envelope, letter: Letter) -> Result<Receipt> {
        let origin = self.origin(asked)?;
        let home = origin.as_ref().unwrap_or(self);
        let letter = home.letter_back(&held.mailbox, asked, letter)?;
        // One claim has one answer: a second run after an interruption recognises it by this id.
        let derived = || MessageId::derived(format!("answer {}", held.token).as_bytes());
        let id = letter.id.clone().unwrap_or_else(derived);
        let receipt = home.send_back(&self.sender(&me.mailbox, origin.as_ref()), &letter, &id, true)?;
        self.note_answer_there(origin.as_ref(), &me.id, &asked.id, &receipt);
        Ok(receipt)
    }

    fn note_end(&self, held: &Held, how: &str, why: &str) -> Result<()> {
        let attempt = Attempt::of(held.token, &held.terms, how, why, self.room.clock());
        Ok(held.mailbox.note_attempt(&held.terms.file, &attempt)?)
    }

    fn settle(
        &self,
        me: &Me,
        held: &Held,
        asked: Option<&Envelope>,
        to: Folder,
        (event, why): (&str, &str),
    ) -> Result<()> {
        if let Some(asked) = asked.filter(|_| to != Folder::Inbox) {
            self.end_source(&held.mailbox, asked, to == Folder::Failed)?;
        }
        let Some(file) = held.mailbox.settle(held.token, &held.terms.file, to, why)? else {
            return Err(self.gone(held));
        };
        let id = asked.map(|asked| asked.id.to_string()).unwrap_or_default();
        let (note, mailbox) = (why.to_owned(), held.mailbox.id().to_string());
        self.record(Event { id, file, note, mailbox, ..Event::new(event, me.id.as_str()) });
        Ok(())
    }

    pub(super) fn gone(&self, held: &Held) -> Error {
        Error::NoClaim {
            token: held.token.to_string(),
            why: Some("its lease ended and the message went back, or it was finished already".to_owned()),
        }
    }
}

/// An automatic answer is one hop further than its question.
fn one_hop_more(asked: &Envelope) -> Vec<(String, String)> {
    let hops = asked.extra(HOPS).and_then(|hops| hops.parse::<u32>().ok());
    hops.map(|hops| (HOPS.to_owned(), hops.saturating_add(1).to_string())).into_iter().collect()
}

fn found(held: &Held) -> FoundMessage {
    FoundMessage { folder: Folder::Claimed(held.token), name: held.terms.file.clone() }
}

/// Whether an error is permanent: there is nobody to notify.
fn is_final(e: &Error) -> bool {
    use crate::mailbox::Error as Disk;
    if let Error::Disk(e) = e {
        return !matches!(e, Disk::Io { .. } | Disk::Locked { .. } | Disk::Busy { .. });
    }
    matches!(
        e,
        Error::NoSender { .. }
            | Error::NoReplyWanted
            | Error::NoMailbox { .. }
            | Error::NoPlace { .. }
            | Error::UnknownRoom { .. }
            | Error::BadName { .. }
            | Error::UnknownName { .. }
            | Error::IdTaken { .. }
    )
}
