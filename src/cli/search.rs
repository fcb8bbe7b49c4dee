//! `postroom search`.

use std::time::Duration;

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::header;
use super::output::{BOLD, CYAN, Output, PLAIN};
use crate::clock::Timestamp;
use crate::hint::Hint;
use crate::message::visible;
use crate::post::{Hit, Line, Post, Query};
use crate::span;
use crate::view;

/// Search the text of all mail in the room
///
/// Searches for the literal words, or with --regex for a regular expression. A query without capitals finds capitals and
/// small letters; one with a capital finds exactly that. Newest mail of each mailbox first, with the matching lines.
/// Nothing found: exits 1.
#[derive(Debug, Args)]
pub(super) struct Search {
    /// The text to find, in subjects and bodies
    #[arg(allow_hyphen_values = true)]
    query: String,
    /// The query is a regular expression
    #[arg(long)]
    regex: bool,
    /// Only mail from this sender
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// Only mail in this mailbox
    #[arg(long, value_name = "NAME")]
    mailbox: Option<String>,
    /// Only mail younger than this (12h, 7d)
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    since: Option<Duration>,
    /// At most this many messages
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

impl Verb for Search {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let post = context.post()?;
        let mut query = Query::new(&self.query, self.regex)?;
        query.from = self.from.as_deref().map(|name| post.addressee(name)).transpose()?;
        query.mailbox = self.mailbox.as_deref().map(|name| post.addressee(name)).transpose()?;
        let now = context.clock().now();
        query.since = self
            .since
            .map(|span| Timestamp::from_parts(now.seconds() - i64::try_from(span.as_secs()).unwrap_or(0), 0));
        let mut hits: Vec<Hit> = vec![];
        let mut more = false;
        post.search(&query, |hit| {
            more = hits.len() >= self.limit;
            if !more {
                hits.push(hit);
            }
            !more
        })?;
        let document = view::trace::Search::of(post, &hits, more);
        let now = context.clock().now();
        context.output.list(&document, &hits, |output, hit| show(output, post, now, hit));
        if more && !context.output.json {
            let more = context.hint(self.with_limit(self.limit.saturating_mul(5)));
            context.output.line(&format!("… more: {more}"));
        }
        if hits.is_empty() { Err(context.nothing("nothing found")) } else { Ok(()) }
    }
}

impl Search {
    /// This search with another limit.
    fn with_limit(&self, limit: usize) -> Hint {
        let (limit, since) = (limit.to_string(), self.since.map(|span| span.as_secs().to_string()));
        let mut words = vec!["search", &self.query];
        words.extend(self.regex.then_some("--regex"));
        for (option, value) in [("--from", &self.from), ("--mailbox", &self.mailbox), ("--since", &since)] {
            words.extend(value.iter().flat_map(|value| [option, value.as_str()]));
        }
        words.extend(["--limit", &limit]);
        Hint::run(&words).into()
    }
}

fn show(output: &mut Output, post: &Post, now: Timestamp, hit: &Hit) {
    let place = format!("{}/{}", post.name_of(hit.copy.mailbox.as_str()), hit.copy.folder.as_str());
    let line = format!("{} {}", header::plain(post, &hit.copy.header), visible::line(&format!("({place})")));
    let mut cells = header::cells(post, &hit.copy.header, now);
    cells.insert(cells.len() - 1, (PLAIN, place));
    output.entry(&cells, &line);
    let width = output.width();
    for line in &hit.lines {
        let number = output.paint(CYAN, &format!("  {}:", line.number));
        let around = (width / 2).saturating_sub(10).clamp(8, 60);
        let Window { before, found, after } = window(line, around);
        let found = visible::clip(found, width.saturating_sub(2 * around + 12).max(8));
        let painted = output.paint(BOLD, &found);
        output.line(&format!("{number} {}{painted}{}", visible::line(&before), visible::line(&after)));
    }
}

/// A match with the text around it, and an ellipsis where a long line was cut.
struct Window<'a> {
    before: String,
    found: &'a str,
    after: String,
}

fn window(line: &Line, around: usize) -> Window<'_> {
    let (start, end) =
        (line.text.floor_char_boundary(line.found.start), line.text.ceil_char_boundary(line.found.end));
    let (left, found, right) = (&line.text[..start], &line.text[start..end], &line.text[end..]);
    let from = left.char_indices().rev().nth(around - 1).map_or(0, |(at, _)| at);
    let to = right.char_indices().nth(around).map_or(right.len(), |(at, _)| at);
    let before = if from == 0 { left.trim_start().to_owned() } else { format!("…{}", &left[from..]) };
    let after = if to == right.len() { right.trim_end().to_owned() } else { format!("{}…", &right[..to]) };
    Window { before, found, after }
}
