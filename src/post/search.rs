//! Search: scans the text of all mail. There is no index: with a warm cache, a hundred thousand messages take half a
//! second, and the files are always right.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::Range;
use std::sync::mpsc;
use std::thread;

use regex::bytes::{Regex, RegexBuilder};

use super::candidates::{Candidates, SearchedFolder, Turn};
use super::locate::Copy;
use super::{Error, Post, Result};
use crate::clock::Timestamp;
use crate::mailbox::reading::{GROWING, Header, mtime};
use crate::message::{ParseError, any, frontmatter};
use crate::name::MailboxId;

/// A search query.
#[derive(Debug)]
pub struct Query {
    pattern: Regex,
    pub from: Option<MailboxId>,
    pub since: Option<Timestamp>,
    /// Search only this mailbox.
    pub mailbox: Option<MailboxId>,
}

impl Query {
    /// Literal words, or a regular expression. Without capitals it ignores case.
    pub fn new(text: &str, is_regex: bool) -> Result<Self> {
        let pattern = if is_regex { text.to_owned() } else { regex::escape(text) };
        let pattern = RegexBuilder::new(&pattern)
            .case_insensitive(!has_capital(text, is_regex))
            .multi_line(true)
            .size_limit(4 * 1024 * 1024)
            .build()
            .map_err(|e| Error::BadPattern { why: e.to_string() })?;
        Ok(Self { pattern, from: None, since: None, mailbox: None })
    }
}

/// Whether a query has a capital letter. After a backslash in an expression, a capital names a class.
fn has_capital(text: &str, is_regex: bool) -> bool {
    let mut escaped = false;
    text.chars().any(|c| {
        let counts = c.is_uppercase() && !escaped;
        escaped = is_regex && c == '\\' && !escaped;
        counts
    })
}

/// A message that matches, with its matching lines.
#[derive(Debug)]
pub struct Hit {
    pub copy: Copy,
    /// The matching lines of the body; empty if only the subject matches.
    pub lines: Vec<Line>,
}

/// One matching line.
#[derive(Debug)]
pub struct Line {
    /// Counted from 1.
    pub number: usize,
    pub text: String,
    /// The byte range of the match.
    pub found: Range<usize>,
}

impl Post {
    /// Calls `see` with every hit, newest mail first within a mailbox, until it returns `false`.
    pub fn search(&self, query: &Query, mut see: impl FnMut(Hit) -> bool) -> Result<()> {
        let mailboxes = match &query.mailbox {
            Some(only) => vec![only.clone()],
            None => self.mailbox_ids()?,
        };
        let candidates = Candidates::new(self, mailboxes);
        let limit = self.room.limits().body_bytes + frontmatter::HEADER_LIMIT as u64;
        let workers = thread::available_parallelism().map_or(1, NonZero::get).min(8);
        let (tell, hear) = mpsc::sync_channel(1024);
        thread::scope(|scope| {
            for _ in 0..workers {
                let (tell, candidates) = (tell.clone(), &candidates);
                scope.spawn(move || {
                    let mut buffer = vec![0; SKIMMED];
                    while let Some(batch) = candidates.next().transpose() {
                        let found = batch.map(|batch| {
                            let look = |(place, name): (&SearchedFolder, &str)| {
                                look(self, query, place, name, limit, &mut buffer)
                            };
                            (batch.turn, batch.files().filter_map(look).collect())
                        });
                        // The receiver is gone when enough was found, or when something failed.
                        if tell.send(found).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(tell);
            in_order(hear, &mut see)
        })
    }
}

/// Passes hits on in the order of their batches, which end in any order.
fn in_order(hear: mpsc::Receiver<Result<(Turn, Vec<Hit>)>>, see: &mut impl FnMut(Hit) -> bool) -> Result<()> {
    let (mut waiting, mut due) = (BTreeMap::new(), (0, 0));
    for found in hear {
        let (turn, hits) = found?;
        waiting.insert(turn.place(), (turn, hits));
        while let Some((turn, hits)) = waiting.remove(&due) {
            due = turn.next();
            if !hits.into_iter().all(&mut *see) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Shorter files are read in one piece.
const SKIMMED: usize = 64 * 1024;

/// The most lines shown of one message.
const LINES: usize = 5;

fn look(
    post: &Post,
    query: &Query,
    place: &SearchedFolder,
    name: &str,
    limit: u64,
    buffer: &mut [u8],
) -> Option<Hit> {
    // Most files end here: a file that does not match is neither examined nor parsed.
    if place.dir.skim(name, buffer).is_some_and(|bytes| !query.pattern.is_match(bytes)) {
        return None;
    }
    let opened = place.dir.open_file(name).ok()?;
    let time = mtime(&opened.stat);
    let size = u64::try_from(opened.stat.st_size).unwrap_or(0);
    if query.since.is_some_and(|since| time < since) || opened.stat.st_nlink > 1 {
        return None;
    }
    let bytes = opened.read_all(limit).ok()?;
    if !query.pattern.is_match(&bytes) {
        return None;
    }
    // A file without frontmatter is a note once it stops growing.
    let is_old = post.now().since(time) >= GROWING;
    let mut message = match any::parse_named(&bytes, name) {
        Err(ParseError::NoFrontmatter) if is_old => any::bare(&bytes).ok()?,
        other => other.ok()?,
    };
    place.mailbox.know(&mut message.envelope, post).ok()?;
    if query.from.as_ref().is_some_and(|from| !message.envelope.from.is(from)) {
        return None;
    }
    let matching = message.body.lines().enumerate().filter_map(|(index, line)| {
        let found = query.pattern.find(line.as_bytes())?.range();
        Some(Line { number: index + 1, text: line.to_owned(), found })
    });
    let lines: Vec<Line> = matching.take(LINES).collect();
    // A pattern may match across lines, or only in a field that is not shown.
    let whole = lines.is_empty() && query.pattern.is_match(message.body.as_bytes());
    if lines.is_empty() && !whole && !query.pattern.is_match(message.envelope.subject.as_bytes()) {
        return None;
    }
    let header = Header::of(name, message.envelope, time, size);
    let folder = place.mailbox.folder_of(place.folder, &header.envelope);
    Some(Hit { copy: Copy { mailbox: place.mailbox.id().clone(), folder, header }, lines })
}
