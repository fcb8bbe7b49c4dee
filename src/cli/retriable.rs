//! What can be retried: the dead letters and the parked messages of a mailbox, and which mailbox has the one that an id
//! names. The caller's own mailbox comes first; an id that it does not have is looked up in the whole room.

use super::context::Context;
use super::fail::Fail;
use super::failed;
use crate::dispatch::parked::Parked;
use crate::dispatch::runs::Runs;
use crate::hint::Hint;
use crate::mailbox::Folder;
use crate::message::visible;
use crate::post::{DeadLetter, Error, Failure, Me, Post};

/// What a mailbox has that can be retried.
pub(super) struct Retriable {
    pub(super) me: Me,
    pub(super) letters: Vec<DeadLetter>,
    pub(super) parked: Vec<Parked>,
}

/// A message that an id names. `parked`: why it is.
pub(super) struct Found {
    pub(super) name: String,
    pub(super) parked: Option<String>,
}

impl Retriable {
    pub(super) fn of(post: &Post, me: Me) -> Result<Self, Fail> {
        let letters = post.dead_letters(&me)?;
        let parked = parked_of(post, &me)?;
        Ok(Self { me, letters, parked })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.letters.is_empty() && self.parked.is_empty()
    }

    /// One line each, with the name of the mailbox if several are shown.
    pub(super) fn show(&self, context: &mut Context, post: &Post, mailbox: Option<&str>) -> Result<(), Fail> {
        self.letters.iter().for_each(|letter| failed::show(&mut context.output, mailbox, letter));
        for parked in &self.parked {
            let subject = post.open_in(&self.me, &parked.file, Folder::Inbox)?.message.envelope.subject;
            let words = ["parked".to_owned(), "parked".to_owned()];
            failed::entry(
                &mut context.output,
                mailbox,
                failed::called(&parked.file),
                words,
                (&parked.why, &subject),
            );
        }
        Ok(())
    }

    /// What an id names among these.
    fn find(&self, post: &Post, id: &str) -> Result<Option<Found>, Fail> {
        if !self.parked.is_empty()
            && let Ok(opened) = post.open_in(&self.me, id, Folder::Inbox)
            && let Some(parked) = self.parked.iter().find(|parked| parked.file == opened.name)
        {
            return Ok(Some(Found { name: opened.name, parked: Some(parked.why.clone()) }));
        }
        match post.open_in(&self.me, id, Folder::Failed) {
            Ok(opened) => Ok(Some(Found { name: opened.name, parked: None })),
            Err(Error::NoMessage { .. }) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }
}

/// The mailboxes that an id is looked up in: that of the caller first, and all others if it is not there.
pub(super) struct Mailboxes {
    pub(super) looked_at: Vec<Retriable>,
    /// Whether the others are still to be looked at.
    everywhere: bool,
    /// How many were looked at first.
    first: usize,
    /// The error of a mailbox that could not be read.
    error: Option<Fail>,
}

impl Mailboxes {
    /// That of an agent alone, else that of the caller, and all others if needed.
    pub(super) fn of(context: &mut Context, agent: Option<&str>) -> Result<(&'static Post, Self), Fail> {
        let (post, me) = match agent {
            Some(name) => {
                let post = context.post()?;
                (post, Some(post.other(&post.addressee(name)?)?))
            }
            None => context.post_and_maybe_me()?,
        };
        let looked_at: Vec<_> = me.map(|me| Retriable::of(post, me)).transpose()?.into_iter().collect();
        let (everywhere, first) = (agent.is_none(), looked_at.len());
        Ok((post, Self { looked_at, everywhere, first, error: None }))
    }

    /// The mailbox that has what an id names. `verb`: of `failed`, for a hint.
    pub(super) fn find(&mut self, post: &Post, id: &str, verb: &str) -> Result<(usize, Found), Fail> {
        let mut found = self.find_among(post, id, 0..self.first)?;
        if found.is_empty() {
            self.open_others(post)?;
            found = self.find_among(post, id, self.first..self.looked_at.len())?;
        }
        if found.len() > 1 {
            let names: Vec<&str> = found.iter().map(|(at, _)| self.looked_at[*at].me.shown()).collect();
            let hint = |name: &&str| Hint::run(&["failed", verb, id, "--agent", name]).into();
            let what = format!("several mailboxes have `{}`: {}", visible::clip(id, 80), names.join(", "));
            return Err(Fail::Told(Failure::Refused, what, names.iter().map(hint).collect()));
        }
        if let Some(found) = found.pop() {
            return Ok(found);
        }
        // It may be in the mailbox that could not be read.
        Err(self.error.take().unwrap_or_else(|| {
            let what =
                format!("no dead letter and no parked message begins with `{}`", visible::clip(id, 80));
            Fail::unknown(what, Hint::run(&["failed", "list", "--all"]))
        }))
    }

    fn find_among(
        &mut self,
        post: &Post,
        id: &str,
        mailboxes: std::ops::Range<usize>,
    ) -> Result<Vec<(usize, Found)>, Fail> {
        let mut found = vec![];
        for at in mailboxes {
            match self.looked_at[at].find(post, id) {
                Ok(one) => found.extend(one.map(|one| (at, one))),
                // The id itself is wrong, whichever mailbox is looked at.
                Err(e @ Fail::Post(Error::ShortReference { .. })) => return Err(e),
                Err(e) if at < self.first => return Err(e),
                Err(e) => self.error = Some(e),
            }
        }
        Ok(found)
    }

    /// Adds all other mailboxes, once.
    fn open_others(&mut self, post: &Post) -> Result<(), Fail> {
        if !std::mem::take(&mut self.everywhere) {
            return Ok(());
        }
        let own = self.looked_at.first().map(|own| own.me.id.clone());
        for entry in post.registry()?.entries.iter().filter(|entry| Some(&entry.id) != own.as_ref()) {
            match post.other(&entry.id).map_err(Fail::from).and_then(|me| Retriable::of(post, me)) {
                Ok(other) => self.looked_at.push(other),
                Err(e) => self.error = Some(e),
            }
        }
        Ok(())
    }
}

/// The parked messages of a mailbox. One that is no longer unread is forgotten.
fn parked_of(post: &Post, me: &Me) -> Result<Vec<Parked>, Fail> {
    let Some(runs) = Runs::existing(post.room())? else { return Ok(vec![]) };
    let mut parked = runs.parked()?;
    parked.retain(|parked| parked.mailbox == me.id.as_str());
    if parked.is_empty() {
        return Ok(parked);
    }
    let unread = post.unread_files(me)?;
    let (parked, gone): (Vec<_>, Vec<_>) = parked.into_iter().partition(|one| unread.contains(&one.file));
    for one in gone {
        // A run may hold it just now.
        if !matches!(post.lies_in(me, &one.file)?, Some(Folder::Claimed(_))) {
            runs.forget_parked(&one.mailbox, &one.file)?;
        }
    }
    Ok(parked)
}
