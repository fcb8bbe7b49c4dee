//! What a shell may offer to complete a word: values with a description. A look leaves no trace: nothing is marked as seen,
//! collected, registered or made, and nothing is asked. What cannot be read is not offered.

use super::{Me, Post, Why};
use crate::groups::ALL;
use crate::mailbox::{Folder, Maildir};

/// A value and its description.
pub type Offer = (String, String);

/// How many messages are opened.
const LIMIT: usize = 50;

impl Post {
    /// Every name and alias, with what its agent can do.
    pub fn offered_names(&self) -> Vec<Offer> {
        let entries = self.registry().map(|registry| registry.entries.as_slice()).unwrap_or_default();
        let of = |about: Option<&str>, name: &str| (name.to_owned(), about.unwrap_or_default().to_owned());
        entries.iter().flat_map(|entry| entry.names().map(|name| of(entry.text("about"), name))).collect()
    }

    /// Every group, with its members.
    pub fn offered_groups(&self) -> Vec<Offer> {
        let groups = self.groups().unwrap_or_default();
        let named = groups.into_iter().map(|(name, members)| (format!("@{name}"), members.join(", ")));
        named.chain([(format!("@{ALL}"), "everyone".to_owned())]).collect()
    }

    /// The caller's messages in these folders, newest first, with their subjects.
    pub fn offered_messages(&self, folders: &[Folder]) -> Vec<Offer> {
        let Some(me) = self.looked_at() else { return vec![] };
        let mut offers = vec![];
        for folder in folders {
            let mut names =
                me.mailbox.list(*folder, usize::MAX).map(|listing| listing.names).unwrap_or_default();
            names.sort_by(|a, b| b.cmp(a));
            let headers = names
                .into_iter()
                .take(LIMIT)
                .filter_map(|name| self.header(&me.mailbox, *folder, &name).ok()?);
            offers.extend(
                headers.map(|header| (header.envelope.called(&header.name), header.envelope.subject)),
            );
        }
        offers
    }

    /// The messages that the caller's mailbox has claimed, in any mailbox, with their subjects.
    pub fn offered_claims(&self) -> Vec<Offer> {
        let Some(me) = self.looked_at() else { return vec![] };
        let mut offers = vec![];
        for id in self.mailbox_ids().unwrap_or_default() {
            let Some(mailbox) =
                Maildir::open(self.room.root(), &id).ok().and_then(|home| self.placed(home).ok())
            else {
                continue;
            };
            let offer = |token| {
                let terms = mailbox.terms(token).ok()?.filter(|terms| terms.owner == me.id.as_str())?;
                let header = self.header(&mailbox, Folder::Claimed(token), &terms.file).ok()??;
                let by_hand = terms.run.is_empty() && !terms.is_over(self.room.clock()).ok()?;
                by_hand.then(|| (header.envelope.called(&header.name), header.envelope.subject))
            };
            offers.extend(mailbox.tokens().unwrap_or_default().into_iter().filter_map(offer));
        }
        offers
    }

    /// The caller's mailbox, as it is. The person's only for a person.
    fn looked_at(&self) -> Option<Me> {
        let id = match &self.caller.flag {
            Some(name) => self.resolve(name).ok()??,
            None => self.my_id().ok()??.0,
        };
        if self.is_persons(&id) && !self.seems_attended() {
            return None;
        }
        let mailbox = self.placed(Maildir::open(self.room.root(), &id).ok()?).ok()?;
        Some(Me { id, name: None, why: Why::Id, mailbox })
    }
}
