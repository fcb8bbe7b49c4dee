//! Check: the headers of unread mail, most urgent first, then in order of arrival. It consumes nothing, reads no body,
//! and opens no more messages than it shows.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::walk::Walk;
use super::{Error, Me, Post, Result};
use crate::mailbox::Folder;
use crate::mailbox::Maildir;
use crate::mailbox::reading::{Header, Unreadable};
use crate::message::Envelope;
use crate::name::{MailboxId, MessageId};
use crate::room::{self, Room};

/// Selects messages. Empty means all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub from: Option<MailboxId>,
    pub channel: Option<String>,
    pub reply_to: Option<MessageId>,
    /// Files that do not count, such as mail that was there before.
    pub besides: BTreeSet<String>,
}

impl Filter {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn fits(&self, file: &str, envelope: &Envelope) -> bool {
        !self.besides.contains(file)
            && self.from.as_ref().is_none_or(|from| envelope.from.is(from))
            && self.channel.as_ref().is_none_or(|channel| envelope.channel.as_ref() == Some(channel))
            && self.reply_to.as_ref().is_none_or(|id| {
                envelope.reply_to.as_ref().is_some_and(|answered| answered.is_called(id.as_str()))
            })
    }
}

/// The result of a check of the inbox.
#[derive(Debug, Default)]
pub struct Checked {
    pub headers: Vec<Header>,
    /// Number of unread messages (with a filter: of those that fit).
    pub total: usize,
    /// Number of unread messages without a header here.
    pub more: usize,
    /// Files that cannot be read; they stay in place.
    pub unreadable: Vec<Unreadable>,
}

impl Post {
    /// The first `limit` headers that fit.
    pub fn check(&self, me: &Me, filter: &Filter, limit: usize) -> Result<Checked> {
        let checked = self.unread_mail(me, filter, limit)?;
        self.note_told(me, &checked.headers);
        Ok(checked)
    }

    fn unread_mail(&self, me: &Me, filter: &Filter, limit: usize) -> Result<Checked> {
        self.refresh(&me.mailbox)?;
        // A filter tests fields of the envelope, so every name is a candidate.
        let ordered = me.mailbox.lists_in_order() && filter.is_empty();
        let mut walk = Walk::new(if ordered { limit } else { usize::MAX }, |ask| me.mailbox.arrivals(ask));
        let mut checked = Checked::default();
        let (mut broken_names, mut healed) = (0, 0);
        while let Some(listing) = walk.more()? {
            for (name, what) in listing.strange {
                let left_alone = !me.mailbox.has_quarantine();
                checked.unreadable.push(Unreadable::strange(&name.to_string_lossy(), what, left_alone));
            }
            let broken = listing.broken.into_iter().map(|name| (name, false));
            for (name, is_message) in broken.chain(listing.names.into_iter().map(|name| (name, true))) {
                match self.header(&me.mailbox, Folder::Inbox, &name) {
                    Ok(Some(header)) if filter.fits(&name, &header.envelope) => {
                        // If it was listed as broken, the disk failed a moment ago.
                        healed += usize::from(!is_message);
                        checked.headers.push(header);
                    }
                    Ok(_) => {}
                    Err(broken) => {
                        broken_names += usize::from(is_message);
                        if broken.transient || broken.is_quiescent(self.now()) {
                            checked.unreadable.push(broken);
                        }
                    }
                }
            }
            checked.total = match filter.is_empty() {
                true => (listing.total + healed).saturating_sub(broken_names),
                false => checked.headers.len(),
            };
            // Unreadable files at the front must not hide good mail behind them.
            if checked.headers.len() >= limit {
                break;
            }
        }
        checked.headers = me.mailbox.arrange(checked.headers)?;
        checked.headers.truncate(limit);
        checked.more = checked.total.saturating_sub(checked.headers.len());
        Ok(checked)
    }

    /// The files of unread mail.
    pub fn unread_files(&self, me: &Me) -> Result<BTreeSet<String>> {
        self.refresh(&me.mailbox)?;
        Ok(me.mailbox.list(Folder::Inbox, usize::MAX)?.names.into_iter().collect())
    }

    /// The number of unread messages, as `check` without a limit lists them.
    pub fn count(&self, me: &Me) -> Result<usize> {
        let checked = self.unread_mail(me, &Filter::default(), usize::MAX)?;
        match checked.unreadable.into_iter().find(|broken| broken.transient) {
            Some(broken) => Err(super::Error::Failing { why: broken.why }),
            None => Ok(checked.total),
        }
    }
}

/// The default number of headers in `check`.
pub const HEADERS: usize = 50;

/// The amount of mail for the same id in another room, for example the seed's own root. A directory that is not a room
/// counts as zero, but a failure to read a room is an error.
pub fn waiting_elsewhere(
    id: &MailboxId,
    here: &Path,
    other: &Path,
    clock: Arc<dyn crate::clock::Clock>,
) -> Result<usize> {
    if here == other {
        return Ok(0);
    }
    let count = || -> Result<usize> {
        let room = Room::open(other, clock)?;
        Ok(Maildir::open(room.root(), id)?.list(Folder::Inbox, 0)?.total)
    };
    match count() {
        Err(Error::Disk(e) | Error::Room(room::Error::Disk(e))) if e.is_transient() => Err(e.into()),
        other => Ok(other.unwrap_or(0)),
    }
}
