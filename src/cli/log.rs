//! `postroom log`.

use std::time::Duration;

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::output::{BOLD, Output, PLAIN};
use crate::journal::{self, Event};
use crate::message::visible;
use crate::post::Post;
use crate::post::line::second;
use crate::view;
use crate::wait::Watch;

/// Show what happened in the room
///
/// The journal is for people: nothing depends on it, and it may be incomplete.
#[derive(Debug, Args)]
pub(super) struct Log {
    /// At most this many events, the newest
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Keep showing new events
    #[arg(long)]
    follow: bool,
}

impl Verb for Log {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let post = context.post()?;
        post.names_are_known()?;
        let room = post.room();
        // The position to continue from is fixed before the first look, so that no event is missed.
        let mut day = room.clock().now().day();
        let (_, mut at) = journal::events(room, &day, 0)?;
        let latest = journal::latest(room, self.limit)?;
        latest.iter().for_each(|event| show(&mut context.output, post, event));
        context.output.flush().map_err(Fail::Output)?;
        if !self.follow {
            return if latest.is_empty() { Err(context.nothing("nothing is recorded")) } else { Ok(()) };
        }
        let mut watch = Watch::polling(Duration::from_millis(500));
        loop {
            watch.sleep(Duration::from_secs(60));
            let today = room.clock().now().day();
            let (events, end) = journal::events(room, &day, at)?;
            at = end;
            if today != day && events.is_empty() {
                (day, at) = (today, 0);
            }
            events.iter().for_each(|event| show(&mut context.output, post, event));
            context.output.flush().map_err(Fail::Output)?;
        }
    }
}

/// One event on one line.
pub(super) fn show(output: &mut Output, post: &Post, event: &Event) {
    if output.json {
        return output.json(&view::trace::Event::of(event));
    }
    let short = crate::name::MessageId::parse_lenient(&event.id).ok().and_then(|id| id.short());
    let what =
        short.unwrap_or_else(|| if event.id.is_empty() { event.file.clone() } else { event.id.clone() });
    let (who, time) = (post.name_of(&event.by), &event.time);
    let mut line = visible::line(&event.event);
    if !what.is_empty() {
        line.push_str(&format!(" {}", visible::line(&what)));
    }
    if !event.to.is_empty() && event.to != who {
        line.push_str(&format!(" to {}", visible::line(post.name_of(&event.to))));
    }
    if !event.mailbox.is_empty() && event.mailbox != event.by {
        line.push_str(&format!(" in {}", visible::line(post.name_of(&event.mailbox))));
    }
    for text in [&event.subject, &event.note] {
        if !text.is_empty() {
            line.push_str(&format!(": {}", visible::line(text)));
        }
    }
    let plain = format!("{} {} {line}", visible::line(time), visible::line(who));
    let cells = [(PLAIN, moment(post, time)), (BOLD, who.to_owned()), (PLAIN, line)];
    output.entry(&cells, &plain);
}

/// A time for people: of today, without the day.
pub(super) fn moment(post: &Post, time: &str) -> String {
    let today = post.room().clock().now().day();
    let whole = second(time);
    let of_day = whole.strip_prefix(today.as_str()).and_then(|rest| rest.strip_prefix('T'));
    of_day.map(str::to_owned).unwrap_or(whole)
}
