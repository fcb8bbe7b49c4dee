//! Check: the headers of unread mail, most urgent first, then in order of arrival. Consumes nothing, reads no
//! body, and opens no more messages than it shows.

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

/// Which messages are meant. Empty means all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub from: Option<MailboxId>,
    pub channel: Option<String>,
    pub reply_to: Option<MessageId>,
}

impl Filter {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn fits(&self, header: &Header) -> bool {
        self.fits_envelope(&header.envelope)
    }

    pub fn fits_envelope(&self, envelope: &Envelope) -> bool {
        self.from.as_ref().is_none_or(|from| envelope.from == from.as_str())
            && self.channel.as_ref().is_none_or(|channel| envelope.channel.as_ref() == Some(channel))
            && self.reply_to.as_ref().is_none_or(|id| {
                envelope.reply_to.as_ref().is_some_and(|answered| answered.is_called(id.as_str()))
            })
    }
}

/// What a look into the inbox found.
#[derive(Debug, Default)]
pub struct Checked {
    pub headers: Vec<Header>,
    /// How many messages are unread (with a filter: how many fit).
    pub total: usize,
    /// How many of them are not among the headers.
    pub more: usize,
    /// What lies there and cannot be read; left where it is.
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
        // A filter asks for what only the envelope says, so then every name is a candidate.
        let ordered = me.mailbox.lists_in_order() && filter.is_empty();
        let mut walk = Walk::new(if ordered { limit } else { usize::MAX }, |ask| me.mailbox.arrivals(ask));
        let mut checked = Checked::default();
        let (mut broken_names, mut healed) = (0, 0);
        while let Some(listing) = walk.more()? {
            for (name, what) in listing.strange {
                let name = name.to_string_lossy().into_owned();
                let left_alone = !me.mailbox.has_quarantine();
                checked.unreadable.push(Unreadable::strange(name, what, left_alone));
            }
            let broken = listing.broken.into_iter().map(|name| (name, false));
            for (name, is_message) in broken.chain(listing.names.into_iter().map(|name| (name, true))) {
                match self.header(&me.mailbox, Folder::Inbox, &name) {
                    Ok(Some(header)) if filter.fits(&header) => {
                        // If it was broken, the disk failed a moment ago.
                        healed += usize::from(!is_message);
                        checked.headers.push(header);
                    }
                    Ok(_) => {}
                    Err(broken) => {
                        broken_names += usize::from(is_message);
                        if broken.passing || broken.is_settled(self.now()) {
                            checked.unreadable.push(broken);
                        }
                    }
                }
            }
            checked.total = match filter.is_empty() {
                true => (listing.total + healed).saturating_sub(broken_names),
                false => checked.headers.len(),
            };
            // Unreadable files among the first must not hide good mail behind them.
            if checked.headers.len() >= limit {
                break;
            }
        }
        checked.headers = me.mailbox.arrange(checked.headers)?;
        checked.headers.truncate(limit);
        checked.more = checked.total.saturating_sub(checked.headers.len());
        Ok(checked)
    }

    /// How many messages are unread, as `check` without a limit lists them.
    pub fn count(&self, me: &Me) -> Result<usize> {
        let checked = self.unread_mail(me, &Filter::default(), usize::MAX)?;
        match checked.unreadable.into_iter().find(|broken| broken.passing) {
            Some(broken) => Err(super::Error::Failing { why: broken.why }),
            None => Ok(checked.total),
        }
    }
}

/// How many headers `check` shows if it is not told.
pub const HEADERS: usize = 50;

/// How much mail waits for the same id in another room: the seed's own root, say. A room that is none counts as nothing,
/// but not one that cannot be looked into this time.
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
        Err(Error::Disk(e) | Error::Room(room::Error::Disk(e))) if e.is_passing() => Err(e.into()),
        other => Ok(other.unwrap_or(0)),
    }
}
