//! Attach: files that go with a letter. They are in the mailbox of the recipient before the message is, and a delivery that
//! fails leaves none of them.

use super::{Error, Letter, Post, Result};
use crate::mailbox::attachments::FileToSend;
use crate::mailbox::{Delivery, DeliveryOutcome, Folder, Mailbox};
use crate::message::{Attachment, secret};
use crate::name::{MailboxId, MessageId};

impl Letter {
    /// Attaches a file. Its name is made safe, and different from those of the other files.
    pub fn attach(&mut self, name: &str, bytes: Vec<u8>) {
        let attachment = Attachment::new(name, &bytes, self.files.iter().map(|file| &file.attachment));
        self.extra.push(attachment.field(&self.extra));
        self.files.push(FileToSend { attachment, bytes: bytes.into() });
    }
}

impl Post {
    /// Refuses files that are too many, too large, or texts with a secret.
    pub(super) fn check_files(&self, letter: &Letter) -> Result<()> {
        let limits = self.room.limits();
        if letter.files.len() > limits.attachments {
            return Err(Error::TooManyFiles { limit: limits.attachments });
        }
        for FileToSend { attachment, bytes } in &letter.files {
            let name = &attachment.name;
            if attachment.size > limits.attachment_bytes {
                return Err(Error::FileTooLarge { name: name.clone(), limit: limits.attachment_bytes });
            }
            let text = str::from_utf8(bytes).ok().filter(|_| !letter.allow_secrets);
            if let Some(found) = text.and_then(secret::find) {
                let place = format!("line {} of {name}", found.line);
                return Err(Error::Secret { what: found.what, place });
            }
        }
        Ok(())
    }

    /// Delivers a message after its files.
    pub(super) fn deliver_with_files(
        &self,
        mailbox: &Mailbox,
        files: &[FileToSend],
        delivery: &Delivery<'_>,
    ) -> Result<DeliveryOutcome> {
        if files.is_empty() {
            return Ok(mailbox.deliver(delivery)?);
        }
        let id = &delivery.envelope.id;
        let is_there = || self.copy_of(id, mailbox.id()).map(|copy| copy.is_some());
        let placed = mailbox.place_files(id, files, delivery.retry, is_there)?;
        let outcome = mailbox.deliver(delivery);
        if !matches!(outcome, Ok(DeliveryOutcome::Delivered { .. })) {
            placed.take_back();
        }
        Ok(outcome?)
    }

    /// The messages among these that have attachments. Opens none if the mailbox has no attachments at all.
    pub(super) fn with_files(
        &self,
        mailbox: &Mailbox,
        folder: Folder,
        names: &[&str],
    ) -> Result<Vec<MessageId>> {
        let Some(all) = mailbox.attachments()? else { return Ok(vec![]) };
        let own = all.names(|name, _| MailboxId::parse(name).is_ok())?;
        let mut found = vec![];
        for name in names.iter().filter(|_| !own.is_empty()) {
            let header = self.header_if_message(mailbox, folder, name)?;
            found.extend(header.map(|header| header.envelope.id));
        }
        found.retain(|id| own.binary_search_by(|name| name.as_str().cmp(id.as_str())).is_ok());
        Ok(found)
    }
}
