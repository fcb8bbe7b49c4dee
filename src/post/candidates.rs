//! Candidates of a search: the files of all mailboxes, given to workers in batches.
//!
//! A worker that finds no files lists the next mailbox itself, and the others share its result. So in a room of any
//! size, memory holds the names of at most one mailbox per worker, and at most as many folders are open.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::fs::FileType;

use super::{Post, Result};
use crate::mailbox::{Dir, Folder, Mailbox};
use crate::name::MailboxId;

/// How many files a worker takes at once.
const BATCH: usize = 128;

/// One folder of a mailbox.
pub(super) struct SearchedFolder {
    pub(super) dir: Dir,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) folder: Folder,
}

/// Some files of one mailbox.
pub(super) struct Batch {
    pub(super) turn: Turn,
    places: Arc<Vec<SearchedFolder>>,
    files: Vec<File>,
}

/// The position of a batch: the number of its mailbox, its number in that mailbox, and whether it is the last one there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Turn {
    mailbox: usize,
    part: usize,
    is_last: bool,
}

/// A file, and the number of its folder.
struct File {
    name: String,
    place: usize,
}

/// The remaining files of a mailbox.
struct Listed {
    turn: Turn,
    places: Arc<Vec<SearchedFolder>>,
    /// Oldest first, because they are taken from the end.
    files: Vec<File>,
}

pub(super) struct Candidates<'a> {
    post: &'a Post,
    state: Mutex<Progress>,
    changed: Condvar,
}

struct Progress {
    mailboxes: std::iter::Enumerate<std::vec::IntoIter<MailboxId>>,
    ready: VecDeque<Listed>,
    /// How many workers are listing a mailbox.
    listing: usize,
}

impl Turn {
    /// Both numbers, to compare with the next one due.
    pub(super) fn place(self) -> (usize, usize) {
        (self.mailbox, self.part)
    }

    /// The position of the next batch.
    pub(super) fn next(self) -> (usize, usize) {
        if self.is_last { (self.mailbox + 1, 0) } else { (self.mailbox, self.part + 1) }
    }
}

impl Batch {
    /// The files, newest first.
    pub(super) fn files(&self) -> impl Iterator<Item = (&SearchedFolder, &str)> {
        self.files.iter().rev().map(|file| (&self.places[file.place], file.name.as_str()))
    }
}

impl<'a> Candidates<'a> {
    pub(super) fn new(post: &'a Post, mailboxes: Vec<MailboxId>) -> Self {
        let mailboxes = mailboxes.into_iter().enumerate();
        let state = Mutex::new(Progress { mailboxes, ready: VecDeque::new(), listing: 0 });
        Self { post, state, changed: Condvar::new() }
    }

    /// The next batch; `None` when there are no more.
    pub(super) fn next(&self) -> Result<Option<Batch>> {
        let mut state = self.lock();
        loop {
            if let Some(batch) = state.take() {
                return Ok(Some(batch));
            }
            let Some((number, id)) = state.mailboxes.next() else {
                if state.listing == 0 {
                    return Ok(None);
                }
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.listing += 1;
            drop(state);
            let listed = list(self.post, number, &id);
            state = self.lock();
            state.listing -= 1;
            self.changed.notify_all();
            state.ready.push_back(listed?);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        // A worker that panicked ends the search anyway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    fn take(&mut self) -> Option<Batch> {
        let listed = self.ready.front_mut()?;
        let files = listed.files.split_off(listed.files.len().saturating_sub(BATCH));
        let turn = Turn { is_last: listed.files.is_empty(), ..listed.turn };
        let batch = Batch { turn, places: Arc::clone(&listed.places), files };
        listed.turn.part += 1;
        if turn.is_last {
            self.ready.pop_front();
        }
        Some(batch)
    }
}

/// Lists a mailbox by name, which is by time. A mailbox that is gone has no files.
fn list(post: &Post, number: usize, id: &MailboxId) -> Result<Listed> {
    let (mut places, mut files) = (vec![], vec![]);
    let mailbox = match post.mailbox(id) {
        Err(e) if e.hides_mail() => return Err(e),
        other => other.ok(),
    };
    if let Some(mailbox) = mailbox {
        let mailbox = Arc::new(mailbox);
        for (folder, dir) in mailbox.search_dirs()? {
            dir.scan(|name, kind| {
                if kind == FileType::RegularFile
                    && mailbox.is_message(name)
                    && let Ok(name) = str::from_utf8(name)
                {
                    files.push(File { name: name.to_owned(), place: places.len() });
                }
            })?;
            places.push(SearchedFolder { dir, mailbox: Arc::clone(&mailbox), folder });
        }
    }
    files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let turn = Turn { mailbox: number, ..Turn::default() };
    Ok(Listed { turn, places: Arc::new(places), files })
}
