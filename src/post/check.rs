//! Check: the headers of unread mail, most urgent first, then in order of arrival. Consumes nothing, reads no
//! body, and opens no more messages than it shows.

use std::path::Path;
use std::sync::Arc;

use super::{Me, Post, Result};
use crate::mailbox::Folder;
use crate::mailbox::Maildir;
use crate::mailbox::reading::{Header, Unreadable};
use crate::message::workspace::Kind;
use crate::message::{Envelope, Native, Protocol, file_name};
use crate::name::{MailboxId, MessageId};
use crate::room::Room;

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
                envelope.reply_to.as_ref().is_some_and(|r| r.as_str().starts_with(id.as_str()))
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
    /// The files of requests that a newer one of the same sender and channel made superfluous.
    pub superseded: Vec<String>,
}

impl Post {
    /// The first `limit` headers that fit.
    pub fn check(&self, me: &Me, filter: &Filter, limit: usize) -> Result<Checked> {
        self.refresh(&me.mailbox)?;
        // A filter asks for what only the envelope says, so then every name is a candidate.
        let named = me.mailbox.protocol() == Protocol::Maildir;
        // A list of a tree is in its order already, so what is not shown need not be opened there either.
        let ordered = named || me.mailbox.agent().is_some();
        let mut ask = if ordered && filter.is_empty() { limit } else { usize::MAX };
        loop {
            let listing = match named {
                true => me.mailbox.arrivals(Folder::Inbox, ask)?,
                false => me.mailbox.list(Folder::Inbox, ask)?,
            };
            if self.carry_in_tree(&me.mailbox, &listing.broken)? {
                continue;
            }
            let listed = listing.names.len();
            let mut checked = Checked { total: listing.total, ..Checked::default() };
            let (mut fitting, mut broken_names) = (0, 0);
            for (name, what) in listing.strange {
                checked.unreadable.push(Unreadable {
                    name: name.to_string_lossy().into_owned(),
                    why: format!("it is {what}"),
                    time: None,
                    passing: false,
                    left_alone: !me.mailbox.has_quarantine(),
                });
            }
            for name in listing.broken {
                if let Err(broken) = self.header(&me.mailbox, Folder::Inbox, &name)
                    && (broken.passing || broken.is_settled(self.now()))
                {
                    checked.unreadable.push(broken);
                }
            }
            for name in listing.names {
                match self.header(&me.mailbox, Folder::Inbox, &name) {
                    Ok(Some(header)) if filter.fits(&header) => {
                        fitting += 1;
                        // Elsewhere names do not tell the priority, so all are put into order first.
                        if checked.headers.len() < limit || !named {
                            checked.headers.push(header);
                        }
                    }
                    Ok(_) => {}
                    Err(broken) => {
                        broken_names += 1;
                        if broken.passing || broken.is_settled(self.now()) {
                            checked.unreadable.push(broken);
                        }
                    }
                }
            }
            if !filter.is_empty() {
                checked.total = fitting;
            }
            let fit = if filter.is_empty() { listing.total - broken_names } else { fitting };
            // Unreadable files among the first must not hide good mail behind them.
            if checked.headers.len() < limit && listed < checked.total && listed == ask {
                ask = ask.saturating_mul(2).saturating_add(16);
                continue;
            }
            match named {
                true => in_order_of_arrival(&mut checked.headers),
                false => checked.headers.sort_by_key(|header| header.envelope.priority),
            }
            if me.mailbox.protocol() == Protocol::Workspace {
                checked.superseded = superseded(&checked.headers);
                checked.headers = together(checked.headers);
            }
            checked.headers.truncate(limit);
            checked.more = fit.saturating_sub(checked.headers.len());
            self.note_told(me, &checked.headers);
            return Ok(checked);
        }
    }

    /// How many messages are unread, told by names alone.
    pub fn count(&self, me: &Me) -> Result<usize> {
        self.refresh(&me.mailbox)?;
        Ok(me.mailbox.list(Folder::Inbox, 0)?.total)
    }
}

/// The files of requests to which a newer one of the same sender and channel has come.
pub(super) fn superseded(headers: &[Header]) -> Vec<String> {
    let is_new = |h: &&Header| matches!(&h.envelope.native, Native::Workspace { kind: Kind::New, .. });
    let new: Vec<&Header> = headers.iter().filter(is_new).filter(|h| h.envelope.channel.is_some()).collect();
    let key = |h: &Header| (h.envelope.channel.clone(), h.envelope.from.clone());
    let newer =
        |old: &Header| new.iter().any(|h| key(h) == key(old) && (h.time, &h.name) > (old.time, &old.name));
    new.iter().filter(|h| newer(h)).map(|h| h.name.clone()).collect()
}

/// Messages of one channel stand together, where the first of them stood.
fn together(headers: Vec<Header>) -> Vec<Header> {
    let mut groups: Vec<Vec<Header>> = vec![];
    for header in headers {
        let channel = &header.envelope.channel;
        let same = |group: &&mut Vec<Header>| channel.is_some() && group[0].envelope.channel == *channel;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(header),
            None => groups.push(vec![header]),
        }
    }
    groups.into_iter().flatten().collect()
}

/// A name orders to the second; within one, the file's own time does.
fn in_order_of_arrival(headers: &mut [Header]) {
    headers.sort_by(|a, b| {
        let key = |h: &Header| {
            (file_name::priority(h.name.as_bytes()), file_name::second(&h.name).to_owned(), h.time)
        };
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
    });
}

/// How much mail waits for the same id in another room: the seed's own root, say. Nothing is an answer,
/// so whatever is wrong with that room counts as nothing.
pub fn waiting_elsewhere(
    id: &MailboxId,
    here: &Path,
    other: &Path,
    clock: Arc<dyn crate::clock::Clock>,
) -> usize {
    if here == other {
        return 0;
    }
    let count = || -> Option<usize> {
        let room = Room::open(other, clock).ok()?;
        let mailbox = Maildir::open(room.root(), id).ok()?;
        mailbox.list(Folder::Inbox, 0).ok().map(|listing| listing.total)
    };
    count().unwrap_or(0)
}
