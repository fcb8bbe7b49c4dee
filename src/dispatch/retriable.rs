//! What can be retried: the dead letters and the parked messages of a mailbox, and which mailbox has the one that an id
//! names. The caller's own mailbox comes first; an id that it does not have is looked up in the whole room.
//!
//! A dead letter becomes unread again. A parked message is released, which only a person may do: a limit that agents could
//! lift would limit nobody.

use thiserror::Error as ThisError;

use super::parked::Parked;
use super::runs::Runs;
use crate::mailbox::Folder;
use crate::message::visible;
use crate::post::{self, DeadLetter, Failure, Me, Post, Result};

/// What a mailbox has that can be retried.
#[derive(Debug)]
pub struct Retriable {
    pub me: Me,
    pub letters: Vec<DeadLetter>,
    pub parked: Vec<Parked>,
}

/// A message that an id names. `parked`: why it is.
#[derive(Debug)]
pub struct FoundRetriable {
    pub name: String,
    pub parked: Option<String>,
}

/// A message that is tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retried {
    pub id: String,
    pub file: String,
    /// It was parked; else it was a dead letter.
    pub was_parked: bool,
}

#[derive(Debug, ThisError)]
pub enum Error {
    #[error("several mailboxes have `{}`: {}", visible::clip(.id, 80), .names.join(", "))]
    Several { id: String, names: Vec<String> },
    #[error("no dead letter and no parked message begins with `{}`", visible::clip(.id, 80))]
    Unknown { id: String },
    #[error(transparent)]
    Post(#[from] post::Error),
}

impl Error {
    pub fn code(&self) -> Failure {
        match self {
            Self::Several { .. } => Failure::Refused,
            Self::Unknown { .. } => Failure::Unknown,
            Self::Post(e) => e.code(),
        }
    }
}

/// Tries all of these again.
pub fn retry(post: &Post, chosen: &[Retriable]) -> Result<Vec<Retried>> {
    if chosen.iter().any(|one| !one.parked.is_empty()) {
        post.person("retry")?;
    }
    let runs = Runs::existing(post.room())?;
    let mut again = vec![];
    for Retriable { me, letters, parked } in chosen {
        if let Some(runs) = &runs {
            forget_gone(post, runs, me)?;
        }
        for letter in letters {
            let (id, file) = (post.retry(me, &letter.name)?, letter.name.clone());
            again.push(Retried { id, file, was_parked: false });
        }
        for one in parked {
            if let Some(runs) = &runs {
                runs.unpark(one)?;
                runs.hurry(&one.mailbox, &one.file);
            }
            let id = post.open_in(me, &one.file, Folder::Inbox)?.message.envelope.id.to_string();
            again.push(Retried { id, file: one.file.clone(), was_parked: true });
        }
    }
    Ok(again)
}

/// Leaves out parked messages if no person is there to release them; returns how many.
pub fn leave_parked(post: &Post, chosen: &mut [Retriable]) -> Result<usize> {
    match post.person("retry") {
        Err(post::Error::NoPerson(_)) => {}
        other => return other.map(|_| 0),
    }
    Ok(chosen.iter_mut().map(|one| std::mem::take(&mut one.parked).len()).sum())
}

impl Retriable {
    pub fn of(post: &Post, me: Me) -> Result<Self> {
        Ok(Self::newest_of(post, me, usize::MAX)?.0)
    }

    /// What a mailbox has, with no more than its newest dead letters; and the number of all of these.
    pub fn newest_of(post: &Post, me: Me, limit: usize) -> Result<(Self, usize)> {
        let (letters, total) = post.newest_dead_letters(&me, limit)?;
        let parked = match Runs::existing(post.room())? {
            Some(runs) => parked_of(&runs, &me)?.0,
            None => vec![],
        };
        Ok((Self { me, letters, parked }, total))
    }

    pub fn is_empty(&self) -> bool {
        self.letters.is_empty() && self.parked.is_empty()
    }

    /// What the mailboxes of a room have, except for the person's. One that cannot be read is an error.
    pub fn of_agents(post: &Post) -> Result<Vec<Self>> {
        let ids = post.registry()?.entries.iter().map(|entry| &entry.id);
        ids.filter(|id| !post.is_persons(id)).map(|id| Self::of(post, post.other(id)?)).collect()
    }

    /// Leaves out what was given up or parked for other reasons.
    pub fn keep_reason(&mut self, text: &str) {
        self.letters.retain(|letter| letter.reason().contains(text));
        self.parked.retain(|parked| parked.why.contains(text));
    }

    /// Leaves out all other files.
    fn keep_files(&mut self, is_wanted: impl Fn(&str) -> bool) {
        self.letters.retain(|letter| is_wanted(&letter.name));
        self.parked.retain(|parked| is_wanted(&parked.file));
    }

    /// What an id names among these.
    fn find(&self, post: &Post, id: &str) -> Result<Option<FoundRetriable>> {
        if !self.parked.is_empty()
            && let Ok(opened) = post.open_in(&self.me, id, Folder::Inbox)
            && let Some(parked) = self.parked.iter().find(|parked| parked.file == opened.name)
        {
            return Ok(Some(FoundRetriable { name: opened.name, parked: Some(parked.why.clone()) }));
        }
        match post.open_in(&self.me, id, Folder::Failed) {
            Ok(opened) => Ok(Some(FoundRetriable { name: opened.name, parked: None })),
            Err(post::Error::NoMessage { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// The mailboxes that an id is looked up in: that of the caller first, and all others if it is not there.
#[derive(Debug)]
pub struct RetriableMailboxes {
    pub looked_at: Vec<Retriable>,
    /// Whether the others are still to be looked at.
    everywhere: bool,
    /// How many were looked at first.
    first: usize,
    /// The error of a mailbox that could not be read.
    error: Option<post::Error>,
}

impl RetriableMailboxes {
    /// This one first, and all others of the room if they are wanted and needed.
    pub fn of(post: &Post, first: Option<Me>, others: bool) -> Result<Self> {
        let looked_at: Vec<_> = first.map(|me| Retriable::of(post, me)).transpose()?.into_iter().collect();
        let first = looked_at.len();
        Ok(Self { looked_at, everywhere: others, first, error: None })
    }

    /// The mailbox that has what an id names.
    pub fn find(&mut self, post: &Post, id: &str) -> std::result::Result<(usize, FoundRetriable), Error> {
        let mut found = self.find_among(post, id, 0..self.first)?;
        if found.is_empty() {
            self.open_others(post)?;
            found = self.find_among(post, id, self.first..self.looked_at.len())?;
        }
        if found.len() > 1 {
            let names = found.iter().map(|(at, _)| self.looked_at[*at].me.shown().to_owned()).collect();
            return Err(Error::Several { id: id.to_owned(), names });
        }
        // It may be in the mailbox that could not be read.
        found.pop().ok_or_else(|| match self.error.take() {
            Some(e) => Error::Post(e),
            None => Error::Unknown { id: id.to_owned() },
        })
    }

    /// Everything that these ids name. Fails if one names nothing.
    pub fn named(mut self, post: &Post, ids: &[String]) -> std::result::Result<Vec<Retriable>, Error> {
        let mut names = vec![];
        for id in ids {
            let (at, found) = self.find(post, id)?;
            names.push((at, found.name));
        }
        for (at, all) in self.looked_at.iter_mut().enumerate() {
            all.keep_files(|file| names.iter().any(|(mailbox, name)| *mailbox == at && name == file));
        }
        Ok(self.looked_at)
    }

    fn find_among(
        &mut self,
        post: &Post,
        id: &str,
        mailboxes: std::ops::Range<usize>,
    ) -> Result<Vec<(usize, FoundRetriable)>> {
        let mut found = vec![];
        for at in mailboxes {
            match self.looked_at[at].find(post, id) {
                Ok(one) => found.extend(one.map(|one| (at, one))),
                // The id itself is wrong, whichever mailbox is looked at.
                Err(e @ post::Error::ShortReference { .. }) => return Err(e),
                Err(e) if at < self.first => return Err(e),
                Err(e) => self.error = Some(e),
            }
        }
        Ok(found)
    }

    /// Adds all other mailboxes, once.
    fn open_others(&mut self, post: &Post) -> Result<()> {
        if !std::mem::take(&mut self.everywhere) {
            return Ok(());
        }
        let own = self.looked_at.first().map(|own| own.me.id.clone());
        for entry in post.registry()?.entries.iter().filter(|entry| Some(&entry.id) != own.as_ref()) {
            match post.other(&entry.id).and_then(|me| Retriable::of(post, me)) {
                Ok(other) => self.looked_at.push(other),
                Err(e) => self.error = Some(e),
            }
        }
        Ok(())
    }
}

/// The parked messages of a mailbox, and the notes about messages that are no longer unread. Changes nothing: pages and
/// lists look here.
fn parked_of(runs: &Runs, me: &Me) -> Result<(Vec<Parked>, Vec<Parked>)> {
    let mut parked = runs.parked()?;
    parked.retain(|parked| parked.mailbox == me.id.as_str());
    if parked.is_empty() {
        return Ok((parked, vec![]));
    }
    // Not `unread_files`, which first returns claims that have expired.
    let unread = me.mailbox.list(Folder::Inbox, usize::MAX)?.names;
    Ok(parked.into_iter().partition(|one| unread.contains(&one.file)))
}

/// Removes the notes about messages of a mailbox that are no longer unread.
fn forget_gone(post: &Post, runs: &Runs, me: &Me) -> Result<()> {
    for one in parked_of(runs, me)?.1 {
        // A run may hold it just now.
        if !matches!(post.folder_of(me, &one.file)?, Some(Folder::Claimed(_))) {
            runs.forget_parked(&one.mailbox, &one.file)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::SystemClock;
    use crate::person::Person;
    use crate::post::{Caller, Filter, LEASE, Letter, NewMailbox};

    /// Bob has a dead letter and a parked message; cyd has the same dead letter.
    #[test]
    fn letters_are_found_by_id_and_only_a_person_releases_what_is_parked() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("room");
        let open = |caller| Post::open_or_make(&path, caller, Arc::new(SystemClock)).unwrap();
        for name in ["alice", "bob", "cyd"] {
            let wanted = NewMailbox { name: Some(name.into()), ..NewMailbox::default() };
            open(Caller::default()).setup(&wanted).unwrap();
        }
        let post = open(Caller { flag: Some("alice".into()), by_agent: true, ..Caller::default() });
        let send = |to: &[&str], body: &str| {
            let to = to.iter().map(|name| (*name).to_owned()).collect();
            post.send(&post.me().unwrap(), &Letter { to, body: body.into(), ..Letter::default() }).unwrap()
        };
        let other = |name: &str| post.other(&post.addressee(name).unwrap()).unwrap();
        let dead = send(&["bob", "cyd"], "dead")[0].id.to_string();
        for name in ["bob", "cyd"] {
            let me = other(name);
            let claimed = post.claim(&me, None, Some(&dead), &Filter::default(), LEASE).unwrap().0.unwrap();
            let held = post.held(&me, &claimed.token.to_string()).unwrap();
            post.fail(&me, &held, "no disk").unwrap();
        }
        let parked = &send(&["bob"], "parked")[0];
        let (bob, runs) = (other("bob"), Runs::open(post.room()).unwrap());
        let park = |file: &str| {
            runs.park(bob.id.as_str(), file, "t", "stopped: x", post.room().clock().now()).unwrap();
        };
        park(&parked.file);
        park("20260101T000000Z-00000000-gone.md");
        let everywhere = || RetriableMailboxes::of(&post, None, true).unwrap();

        assert!(matches!(everywhere().find(&post, "f00dface"), Err(Error::Unknown { .. })));
        let several = everywhere().find(&post, &dead);
        assert!(matches!(several, Err(Error::Several { names, .. }) if names == ["bob", "cyd"]));
        let (_, found) = everywhere().find(&post, parked.id.as_str()).unwrap();
        assert_eq!(found.parked.as_deref(), Some("stopped: x"));

        let mut all = Retriable::of_agents(&post).unwrap();
        all.iter_mut().for_each(|one| one.keep_reason("stopped"));
        let chosen = everywhere().named(&post, &[parked.id.to_string()]).unwrap();
        let counts = |all: &[Retriable]| {
            all.iter().map(|one| (one.letters.len(), one.parked.len())).collect::<Vec<_>>()
        };
        assert_eq!(
            (counts(&all), counts(&chosen)),
            (vec![(0, 0), (0, 1), (0, 0)], vec![(0, 0), (0, 1), (0, 0)])
        );
        assert!(matches!(retry(&post, &chosen), Err(post::Error::NoPerson(_))));
        assert_eq!(runs.parked().unwrap().len(), 2, "a look forgets nothing");
        let attended = post.again().unwrap().attended_by(Person::of_test());
        let again = Retried { id: parked.id.to_string(), file: parked.file.clone(), was_parked: true };
        assert_eq!(retry(&attended, &chosen).unwrap(), [again]);
        assert!(runs.parked().unwrap().is_empty());

        let dead_letters = Retriable::of_agents(&post).unwrap();
        assert_eq!(counts(&dead_letters), [(0, 0), (1, 0), (1, 0)]);
        let retried = retry(&post, &dead_letters).unwrap();
        assert!(retried.iter().all(|one| one.id == dead && !one.was_parked) && retried.len() == 2);
    }
}
