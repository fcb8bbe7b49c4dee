//! `postroom check`.

use std::path::Path;

use clap::Args;

use super::context::Context;
use super::fail::Fail;
use super::{Verb, everywhere, header};
use crate::dispatch::waits;
use crate::hint::Hint;
use crate::message::visible;
use crate::name::MessageId;
use crate::post::{self, Error, Failure, Filter, Me, Post, Why};
use crate::rooms::SEED_ROOT;
use crate::view;

/// Show the headers of unread mail; consumes nothing
///
/// Most urgent first, then in order of arrival, one line each: ID AGE FROM [MARKS]: SUBJECT.
/// Nothing unread: prints nothing and exits 1. `postroom read ID` shows a message and archives it.
#[derive(Debug, Args)]
pub(super) struct Check {
    /// At most this many headers
    #[arg(long, value_name = "N", default_value_t = post::HEADERS)]
    limit: usize,
    /// Only print how many messages are unread
    #[arg(long)]
    count: bool,
    /// Your mail in all rooms: that of --as, else of this session or terminal, and of `user`
    #[arg(long, conflicts_with_all = ["root", "room"])]
    all: bool,
    #[command(flatten)]
    which: Which,
}

/// A filter for messages.
#[derive(Debug, Clone, Args)]
pub(super) struct Which {
    /// Only from this sender
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// Only in this channel
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// Only answers to this message
    #[arg(long, value_name = "ID")]
    reply_to: Option<String>,
}

impl Which {
    pub(super) fn filter(&self, post: &Post) -> post::Result<Filter> {
        let reply_to = self.reply_to.as_deref().map(|id| {
            let bad = |why| Error::BadName { what: "--reply-to", text: id.to_owned(), why };
            MessageId::parse_lenient(id).map_err(bad)
        });
        Ok(Filter {
            from: self.from.as_deref().map(|name| post.addressee(name)).transpose()?,
            channel: self.channel.clone(),
            reply_to: reply_to.transpose()?,
            ..Filter::default()
        })
    }
}

impl Which {
    /// What is asked for, in words.
    pub(super) fn spoken(&self, new: bool) -> String {
        let mut what = if new { "new mail" } else { "mail" }.to_owned();
        let parts =
            [(" from ", &self.from), (" in channel ", &self.channel), (" that answers ", &self.reply_to)];
        for (word, value) in parts {
            value.iter().for_each(|value| what.push_str(&format!("{word}{}", visible::clip(value, 60))));
        }
        what
    }
}

impl Verb for Check {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        if self.all {
            let limit = if self.count { 0 } else { self.limit };
            return everywhere::check(context, &self.which, limit, self.count);
        }
        let (post, me) = context.post_and_me()?;
        let filter = self.which.filter(post)?;
        let (count, checked) = if self.count && filter.is_empty() {
            (post.count(&me)?, post::Checked::default())
        } else {
            let mut checked = post.check(&me, &filter, if self.count { 0 } else { self.limit })?;
            waits::remark(post, &me, &mut checked.headers)?;
            (checked.total, checked)
        };
        if context.output.json {
            context.output.json(&view::check::Check::of(context.place(), post, &me, count, &checked));
        } else if self.count {
            context.output.line(&count.to_string());
        } else {
            header::show(context, post, &checked, None);
        }
        if checked.headers.is_empty() && checked.unreadable.iter().any(|broken| broken.transient) {
            return Err(Fail::Code(Failure::NotDone));
        }
        // A file that may still be growing is counted by name, but is not mail yet.
        let told = !checked.headers.is_empty() || !checked.unreadable.is_empty();
        if told || count > 0 && (self.count || self.limit == 0) {
            return Ok(());
        }
        mention_elsewhere(context, &me)?;
        if self.count {
            return Err(Fail::Code(Failure::Nothing));
        }
        Err(context.nothing(&format!("no unread mail for {}", me.shown())))
    }
}

/// Mail that a hand-written sender left in the seed's own root must not look like an empty inbox.
pub(super) fn mention_elsewhere(context: &Context, me: &Me) -> Result<(), Fail> {
    let other = Path::new(SEED_ROOT);
    let count = post::waiting_elsewhere(&me.id, &context.root, other, context.clock())?;
    if count > 0 {
        let there = Hint::run(&["check"]).in_room("tmp");
        // Its name may be another one there.
        let there = if me.why == Why::Flag { there.by(me.id.as_str()) } else { there };
        context.warn(&format!("{count} unread for {} in the room `tmp`", me.shown()), there);
    }
    Ok(())
}
