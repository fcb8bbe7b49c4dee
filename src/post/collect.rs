//! Collecting: brings a mailbox up to date before it is read. Expired claims return, mail in a place of another
//! protocol is delivered in the mailbox's own, and answers written by hand reach their askers. A second run delivers
//! nothing twice.

use super::{Error, Letter, Me, Outcome, Post, Result};
use crate::journal::Event;
use crate::mailbox::collect::is_dir;
use crate::mailbox::delivery::{DOUBT, REQUEST, TREE_INBOX, restore};
use crate::mailbox::directory::Directory;
use crate::mailbox::place::{ByHand, Stray};
use crate::mailbox::tree::Tree;
use crate::mailbox::{Delivery, DeliveryOutcome, Folder, Mailbox};
use crate::message::{Envelope, Message, any};
use crate::name::MessageId;

impl Post {
    /// Collects for a caller that reads a mailbox outside of the verbs.
    pub fn look_into(&self, me: &Me) -> Result<()> {
        self.refresh(&me.mailbox)
    }

    pub(super) fn refresh(&self, mailbox: &Mailbox) -> Result<()> {
        if self.room.may_write().is_err() {
            return Ok(());
        }
        self.return_expired(mailbox)?;
        for request in mailbox.pending_requests(self.now())? {
            let inbox = request.inbox.display().to_string();
            let worker = match self.owner_of(&inbox)? {
                // An inbox made by hand gets its name now.
                None if self.adopt_new_inboxes()? => self.owner_of(&inbox)?,
                owner => owner,
            };
            let Some(worker) = worker else { continue };
            let worker = match self.mailbox(&worker) {
                // An agent whose inbox is gone answers nothing.
                Err(Error::NoPlace { .. } | Error::NoMailbox { .. }) => continue,
                other => other?,
            };
            let mut brought = false;
            for folder in worker.folders()? {
                match worker.header(folder, &request.file, self.limit()) {
                    Ok(Some(_)) => {
                        brought = self.bring(&worker, folder, &request.file)?;
                        break;
                    }
                    Err(broken) if broken.transient => return Err(Error::Failing { why: broken.why }),
                    _ => {}
                }
            }
            if brought {
                mailbox.answered(&request)?;
            }
        }
        // Last, because the list that follows continues from its result.
        let ByHand { strays, answered } = mailbox.by_hand(self, self.room.clock())?;
        for stray in strays {
            self.take_in(mailbox, stray)?;
        }
        for (folder, file) in answered {
            self.bring(mailbox, folder, &file)?;
        }
        Ok(())
    }

    /// Delivers an answer written by hand to its asker, and ends the request. `false` if there is no answer yet, or it
    /// has to wait.
    fn bring(&self, worker: &Mailbox, folder: Folder, file: &str) -> Result<bool> {
        let Some(header) = self.header_if_message(worker, folder, file)? else { return Ok(false) };
        let asked = header.envelope;
        let answer = match worker.kept_answer(&asked) {
            Ok(Some(answer)) => answer,
            // The doctor and `tree status` report an unreadable file; it stops nobody.
            Ok(None) | Err(crate::mailbox::Error::Unparsed { .. }) => return Ok(false),
            Err(e) => return Err(e.into()),
        };
        match self.carry_answer(worker, &asked, &answer).map(|receipt| receipt.outcome) {
            Ok(Outcome::Failed(e)) | Err(e) => match e {
                Error::Disk(_) | Error::Failing { .. } | Error::Room(_) => return Err(e),
                // Too long, or the mailbox is full: the answer waits in its outbox, and does not hold up other mail.
                _ => return Ok(false),
            },
            // It is delivered, and the next run recognises it; until then its question is not finished.
            Ok(Outcome::Unproven(why)) => return Err(Error::Failing { why }),
            Ok(Outcome::Queued | Outcome::Already(_)) => {}
        }
        if matches!(folder, Folder::Inbox | Folder::Working)
            && worker.finish(folder, file, answer.failed.as_deref())?
        {
            let event = if answer.failed.is_some() { "failed" } else { "answered" };
            let by = Event::new(event, worker.id().as_str());
            self.record(Event { id: asked.id.to_string(), file: file.to_owned(), ..by });
        }
        Ok(true)
    }

    /// Ends the task in a tree that a message came from, when the message ends without an answer. Runs before that end,
    /// so a failure here is retried with it.
    pub(super) fn end_source(&self, mailbox: &Mailbox, asked: &Envelope, failed: bool) -> Result<()> {
        let (Some(inbox), Some(request)) = (asked.extra(TREE_INBOX), asked.extra(REQUEST)) else {
            return Ok(());
        };
        // Anybody can write these fields; only a message of this mailbox came from an inbox of its name.
        if !self.names_of(mailbox.id()).iter().any(|name| name == inbox) {
            return Ok(());
        }
        for path in self.known_trees() {
            let inbox_path = path.join("inboxes").join(inbox);
            if is_dir(&inbox_path)? && self.owner_of(&inbox_path.display().to_string())?.is_none() {
                match Tree::open(&path).and_then(|tree| tree.end_outside(inbox, request, failed)) {
                    Err(e) if e.is_transient() => return Err(e.into()),
                    // A replaced tree or a broken task stops nobody; `tree status` shows it.
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Delivers one message in the protocol of its mailbox, then moves the original aside.
    fn take_in(&self, mailbox: &Mailbox, stray: Stray<'_>) -> Result<()> {
        let Message { mut envelope, body } = stray.message;
        self.complete_answer(&mut envelope, &body)?;
        envelope.to = mailbox.id().to_string();
        // The doubts of the reader go with the message.
        if !envelope.doubts.is_empty() {
            envelope.extra.push((DOUBT.to_owned(), envelope.doubts.join("; ")));
        }
        let mut envelope = any::to_maildir(&envelope);
        let sender = self.resolve(envelope.from.as_str())?.map(|from| self.mailbox(&from)).transpose()?;
        let mut put = self.put_stray(mailbox, sender.as_ref(), &envelope, &body)?;
        if matches!(put, DeliveryOutcome::Taken { .. }) {
            // Another message under a used id: that happens easily by hand, and is not a reason to lose it.
            envelope.id = MessageId::derived(format!("{} {body}", envelope.id).as_bytes());
            put = self.put_stray(mailbox, sender.as_ref(), &envelope, &body)?;
        }
        if let DeliveryOutcome::Taken { path } = put {
            let (id, path) = (envelope.id.to_string(), path.display().to_string());
            return Err(Error::IdTaken { id, path });
        }
        if let DeliveryOutcome::Delivered { how: crate::mailbox::Durability::Unproven(e), .. } = put {
            return Err(e.into());
        }
        (stray.put_away)()?;
        if let DeliveryOutcome::Delivered { name, .. } = put {
            self.record(Event {
                id: envelope.id.to_string(),
                to: mailbox.id().to_string(),
                subject: envelope.subject,
                reply_to: envelope.reply_to.map(|id| id.to_string()).unwrap_or_default(),
                file: name,
                note: "carried over".to_owned(),
                ..Event::new("sent", envelope.from.as_str())
            });
        }
        Ok(())
    }

    fn put_stray(
        &self,
        mailbox: &Mailbox,
        sender: Option<&Mailbox>,
        envelope: &Envelope,
        body: &str,
    ) -> Result<DeliveryOutcome> {
        let delivery = Delivery {
            envelope,
            body,
            sender,
            route: None,
            is_answer: envelope.reply_to.is_some(),
            inherited: &[],
            retry: true,
            question: None,
            now: self.now(),
        };
        Ok(mailbox.deliver(&delivery)?)
    }

    /// Completes an answer that was written by hand with only the fields of its protocol, from its question in the
    /// mailbox of the answerer. This lists all names there, so it is not done for a list.
    pub(super) fn complete_answer(&self, envelope: &mut Envelope, body: &str) -> Result<()> {
        let Some(id) = envelope.reply_to.clone().filter(|_| envelope.is_plain_answer()) else {
            return Ok(());
        };
        if let Some(asked) = self.copy_in(id.as_str(), envelope.from.as_str())? {
            let untitled =
                envelope.subject.is_empty() || envelope.subject == crate::message::envelope::subject_of(body);
            restore(&asked.header.envelope, envelope, untitled);
        }
        Ok(())
    }
}

/// The extra fields of an answer: its own, and those of its question that it does not set itself.
pub(super) fn inherited(own: &Letter, asked: &Envelope) -> Vec<(String, String)> {
    let is_own = |key: &str| own.extra.iter().any(|(k, _)| k == key);
    crate::mailbox::delivery::inherited(asked).filter(|(key, _)| !is_own(key)).collect()
}
