//! A walk over unread mail, for all verbs that search it: check (and with it wait), read and claim.
//!
//! An inbox may hold 100,000 messages, and most searches need only the first. So a walk lists few names, and more only
//! while the caller has too few: because messages cannot be read, do not fit, or were taken by others. It returns each
//! name once.

use std::collections::HashSet;

use crate::mailbox::fault::Result;
use crate::mailbox::place::Listing;

/// The least number of names per listing after the first.
const MORE: usize = 16;

pub(super) struct Walk<L> {
    list: L,
    /// How many names the next listing asks for; `None` if all were returned.
    ask: Option<usize>,
    has_begun: bool,
    given: HashSet<String>,
}

impl<L: Fn(usize) -> Result<Listing>> Walk<L> {
    /// A walk that begins with so many names.
    pub(super) fn new(first: usize, list: L) -> Self {
        Self { list, ask: Some(first), has_begun: false, given: HashSet::new() }
    }

    /// The next names; the first call also returns files that are not messages. `None` if there are no more.
    pub(super) fn more(&mut self) -> Result<Option<Listing>> {
        let Some(ask) = self.ask else { return Ok(None) };
        let mut listing = (self.list)(ask)?;
        self.ask = (listing.names.len() >= ask).then(|| ask.saturating_mul(4).max(MORE));
        if std::mem::replace(&mut self.has_begun, true) {
            listing.names.retain(|name| !self.given.contains(name));
            listing.strange.clear();
            listing.broken.clear();
        }
        if self.ask.is_some() {
            self.given.extend(listing.names.iter().cloned());
        }
        Ok(Some(listing))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn each_name_is_given_once_and_no_more_is_listed_than_is_asked_for() {
        let (asked, there) = (Cell::new(0), Cell::new(70));
        let list = |ask: usize| {
            asked.set(ask);
            let names = (0..there.get()).take(ask).map(|number| format!("{number:03}")).collect();
            let strange = vec![("d.md".into(), "a directory")];
            Ok(Listing {
                names,
                total: there.get(),
                strange,
                broken: vec!["bad.md".into()],
                ..Listing::default()
            })
        };
        let mut walk = Walk::new(2, list);
        let first = walk.more().unwrap().unwrap();
        assert_eq!((asked.get(), first.names.len(), first.strange.len(), first.broken.len()), (2, 2, 1, 1));
        let second = walk.more().unwrap().unwrap();
        assert_eq!(
            (asked.get(), second.names.len(), second.strange.len(), second.broken.len()),
            (16, 14, 0, 0)
        );
        // One arrived in front meanwhile, and one left: nothing is returned twice, and nothing that is left is missed.
        there.set(69);
        let mut rest: Vec<String> = vec![];
        while let Some(more) = walk.more().unwrap() {
            rest.extend(more.names);
        }
        assert_eq!(rest.first().map(String::as_str), Some("016"));
        assert_eq!(rest.len(), 53);
    }
}
