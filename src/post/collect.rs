//! Collecting: brings a mailbox up to date before it is looked into. Claims whose lease is over come back, mail that lies in a place
//! of another protocol is delivered in the mailbox's own, and answers that were written by hand reach their askers. Doing it twice
//! delivers nothing twice.

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
    /// The same for a caller that looks into a mailbox without a verb of its own.
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
                // An inbox that was made by hand gets its name now.
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
                    Err(broken) if broken.passing => return Err(Error::Failing { why: broken.why }),
                    _ => {}
                }
            }
            if brought {
                mailbox.answered(&request)?;
            }
        }
        // Last, because the list that follows goes on from what this has seen.
        let ByHand { strays, answered } = mailbox.by_hand(self, self.room.clock())?;
        for stray in strays {
            self.take_in(mailbox, stray)?;
        }
        for (folder, file) in answered {
            self.bring(mailbox, folder, &file)?;
        }
        Ok(())
    }

    /// Carries the answer that was written by hand to a request to its asker, and ends the request. `false`: there is none yet, or it
    /// has to wait.
    fn bring(&self, worker: &Mailbox, folder: Folder, file: &str) -> Result<bool> {
        let asked = match self.header(worker, folder, file) {
            Ok(Some(header)) => header.envelope,
            Ok(None) => return Ok(false),
            Err(broken) if broken.passing => return Err(Error::Failing { why: broken.why }),
            Err(_) => return Ok(false),
        };
        let answer = match worker.kept_answer(&asked) {
            Ok(Some(answer)) => answer,
            // What cannot be read is reported by the doctor and `tree status`, and stops nobody.
            Ok(None) | Err(crate::mailbox::Error::Content { .. }) => return Ok(false),
            Err(e) => return Err(e.into()),
        };
        match self.carry_answer(worker, &asked, &answer).map(|receipt| receipt.outcome) {
            Ok(Outcome::Failed(e)) | Err(e) => match e {
                Error::Disk(_) | Error::Failing { .. } | Error::Room(_) => return Err(e),
                // Too long, or the mailbox is full: it waits in its outbox, and keeps nobody from the rest of their mail.
                _ => return Ok(false),
            },
            // It is there, and finds itself when it is carried again; until then its question is not finished.
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

    /// Ends the task in a tree that a message was carried out of, when the message ends without an answer. Comes before that end:
    /// what fails here is tried again with it.
    pub(super) fn end_source(&self, mailbox: &Mailbox, asked: &Envelope, failed: bool) -> Result<()> {
        let (Some(inbox), Some(request)) = (asked.extra(TREE_INBOX), asked.extra(REQUEST)) else {
            return Ok(());
        };
        // Anybody can write these fields; only a message of this mailbox was carried out of an inbox of its name.
        if !self.names_of(mailbox.id()).iter().any(|name| name == inbox) {
            return Ok(());
        }
        for path in self.known_trees() {
            let inbox_path = path.join("inboxes").join(inbox);
            if is_dir(&inbox_path)? && self.owner_of(&inbox_path.display().to_string())?.is_none() {
                match Tree::open(&path).and_then(|tree| Ok(tree.end_outside(inbox, request, failed)?)) {
                    Err(e) if e.is_passing() => return Err(e.into()),
                    // A tree that is not what it was, or a task that somebody broke, stops nobody; `tree status` shows it.
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Delivers one message in the protocol of its mailbox, then puts it aside where it lay.
    fn take_in(&self, mailbox: &Mailbox, stray: Stray<'_>) -> Result<()> {
        let Message { mut envelope, body } = stray.message;
        self.complete_answer(&mut envelope, &body)?;
        envelope.to = mailbox.id().to_string();
        // What its reader had to guess is said wherever it goes.
        if !envelope.doubts.is_empty() {
            envelope.extra.push((DOUBT.to_owned(), envelope.doubts.join("; ")));
        }
        let mut envelope = any::to_maildir(&envelope);
        let sender = self.resolve(&envelope.from)?.map(|from| self.mailbox(&from)).transpose()?;
        let mut put = self.put_stray(mailbox, sender.as_ref(), &envelope, &body)?;
        if matches!(put, DeliveryOutcome::Taken { .. }) {
            // Another message under an id that was used before: by hand that is easily done, and no reason to lose it.
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
                ..Event::new("sent", &envelope.from)
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

    /// Completes an answer that was written by hand and has nothing beyond its protocol, from its question, which lies with the one
    /// who answered. That takes a look at all names there, so it is not done for a list.
    pub(super) fn complete_answer(&self, envelope: &mut Envelope, body: &str) -> Result<()> {
        let Some(id) = envelope.reply_to.clone().filter(|_| envelope.is_plain_answer()) else {
            return Ok(());
        };
        if let Some(asked) = self.copy_in(id.as_str(), &envelope.from)? {
            let untitled =
                envelope.subject.is_empty() || envelope.subject == crate::message::envelope::subject_of(body);
            restore(&asked.header.envelope, envelope, untitled);
        }
        Ok(())
    }
}

/// The extra fields of an answer: its own, and of its question those that it does not set itself.
pub(super) fn inherited(own: &Letter, asked: &Envelope) -> Vec<(String, String)> {
    let is_own = |key: &str| own.extra.iter().any(|(k, _)| k == key);
    crate::mailbox::delivery::inherited(asked).filter(|(key, _)| !is_own(key)).collect()
}
