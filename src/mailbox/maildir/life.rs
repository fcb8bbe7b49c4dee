//! The life of a message in the native protocol: delivered into `inbox/`, shown or claimed out of it, answered by a message
//! to its sender, finished in `archive/` or `failed/`. Every step is a rename (format.md §4, §5).

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use rustix::fs::FileType;

use super::Maildir;
use crate::clock::{Clock, Timestamp};
use crate::mailbox::claim::{Attempt, Terms};
use crate::mailbox::delivery::{Delivery, DeliveryOutcome, REQUEST};
use crate::mailbox::disk::{Dir, DirState};
use crate::mailbox::fault::{IfAny, Result};
use crate::mailbox::folder::{Folder, Token, by_folders};
use crate::mailbox::place::{Listing, Place, PlaceFault, Reading, Urgency};
use crate::mailbox::reading::{Header, is_doubtful, is_stable, mtime, unreadable_faults};
use crate::message::role::Role;
use crate::message::{Envelope, FileName, Message, Protocol, any, file_name, maildir};
use crate::name::MessageId;

impl Place for Maildir {
    by_folders!(self => self);

    fn protocol(&self) -> Protocol {
        Protocol::Maildir
    }

    fn inbox(&self) -> PathBuf {
        self.dir().path().join(Folder::Inbox.as_str())
    }

    fn arrivals(&self, limit: usize) -> Result<Listing> {
        Self::arrivals(self, limit)
    }

    fn arrange(&self, mut headers: Vec<Header>) -> Result<Vec<Header>> {
        // Names order to the second; within one second, the file's time does.
        headers.sort_by(|a, b| {
            let key = |h: &Header| {
                (file_name::priority(h.name.as_bytes()), file_name::second(&h.name).to_owned(), h.time)
            };
            key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
        });
        Ok(headers)
    }

    fn unseen(&self, limit: usize) -> Result<Listing> {
        Self::list(self, Folder::Inbox, limit)
    }

    fn next(&self, limit: usize) -> Result<Listing> {
        Self::arrivals(self, limit)
    }

    /// Uses names, and reads the time of one file.
    fn unread(&self) -> Result<(usize, Option<Timestamp>)> {
        let inbox = self.folder(Folder::Inbox)?;
        let (mut count, mut oldest) = (0, Vec::new());
        inbox.scan(|name, kind| {
            if kind == FileType::RegularFile && file_name::is_message(name) {
                count += 1;
                if oldest.is_empty() || name < oldest.as_slice() {
                    oldest = name.to_vec();
                }
            }
        })?;
        let name = str::from_utf8(&oldest).ok().filter(|name| !name.is_empty());
        let oldest = name.map(|name| inbox.stat(name).if_any()).transpose()?.flatten();
        Ok((count, oldest.map(|stat| mtime(&stat))))
    }

    fn unread_state(&self) -> Result<Option<DirState>> {
        self.folder(Folder::Inbox)?.state().map(Some)
    }

    fn since(&self, folder: Folder, since: Timestamp) -> Result<Vec<String>> {
        Self::since(self, folder, since)
    }

    fn urgency(&self, name: &str) -> Result<Option<Urgency>> {
        let Some(stat) = self.folder(Folder::Inbox)?.stat(name).if_any()? else { return Ok(None) };
        let (is_doubtful, role) = match Self::header(self, Folder::Inbox, name, u64::MAX / 2) {
            Err(broken) if broken.transient => {
                return Err(broken.failure(&Self::path(self, Folder::Inbox, name)));
            }
            read => {
                let role = |header: &Header| header.envelope.role();
                (is_doubtful(&read), read.ok().flatten().as_ref().map_or(Role::Request, role))
            }
        };
        let priority = file_name::priority(name.as_bytes());
        Ok(Some(Urgency { priority, since: mtime(&stat), ages: true, is_doubtful, role }))
    }

    fn is_whole(&self, name: &str) -> Result<bool> {
        is_stable(&self.folder(Folder::Inbox)?, name)
    }

    fn deliver(&self, delivery: &Delivery<'_>) -> Result<DeliveryOutcome> {
        if let Some(sender) = delivery.sender {
            sender.keep_copy(delivery, &self.inbox())?;
        }
        let mut envelope = delivery.envelope.clone();
        envelope.extra.extend(delivery.inherited.iter().cloned());
        // An answer from a workspace names its exchange, because its own id does not.
        if let Some(route) = delivery.route.filter(|route| route.path.is_some()) {
            envelope.extra.extend(route.request.clone().map(|request| (REQUEST.to_owned(), request)));
        }
        let envelope = any::to_maildir(&envelope);
        let bytes = maildir::render(&envelope, delivery.body)?;
        // A checked id has eight hex digits; the fallback only avoids a panic.
        let short = envelope.id.short().unwrap_or_else(|| "00000000".to_owned());
        let name = FileName::new(delivery.now, &short, &envelope.subject, envelope.priority);
        if !delivery.retry {
            return self.deliver_beside(&name, bytes.as_bytes(), &BTreeSet::new());
        }
        let names = delivery.question.and_then(|question| name.since(question));
        self.deliver_once(&envelope.id, &name, bytes.as_bytes(), names.as_deref())
    }

    fn consume(&self, name: &str, _envelope: &Envelope, _terms: &Terms) -> Result<Option<String>> {
        Self::shift(self, name, Folder::Inbox, Folder::Archive)
    }

    fn quarantine(&self, name: &OsString) -> Result<bool> {
        Self::quarantine(self, name).map(|()| true)
    }

    fn has_quarantine(&self) -> bool {
        true
    }

    fn faults(&self, limit: u64, now: Timestamp) -> Result<Vec<PlaceFault>> {
        unreadable_faults(self, limit, now)
    }
}
