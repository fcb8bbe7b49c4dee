//! `postroom names`.

use clap::Args;

use super::context::Context;
use super::fail::Fail;
use super::header::age;
use super::output::{BOLD, DIM, GREEN, PLAIN, YELLOW};
use super::{Verb, everywhere};
use crate::mailbox::presence::Presence;
use crate::message::visible;
use crate::post::{self, Listed, line};
use crate::view;

/// Show who exists, what waits for them, and who is there
///
/// One line each: NAME PROTOCOL HARNESS unread=N, whether it is there, and what it can do. A name may be a pattern: in
/// 'org.engineering.*' the star stands for one level, in 'org.**' for all below.
#[derive(Debug, Args)]
pub(super) struct Names {
    /// Only these; * and ? stand for anything but a dot, ** for anything
    #[arg(value_name = "NAME")]
    patterns: Vec<String>,
    /// Only mailboxes that can do this: all these words are in the description or name
    #[arg(long, value_name = "TEXT")]
    about: Option<String>,
    /// The names of all rooms, as NAME@ROOM
    #[arg(long, conflicts_with_all = ["root", "room"])]
    all: bool,
}

impl Verb for Names {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let which = post::Names { patterns: self.patterns, about: self.about };
        if self.all {
            return everywhere::names(context, &which);
        }
        let post = context.post()?;
        let narrowed = !which.patterns.is_empty() || which.about.is_some();
        let names = post.names(&which)?;
        if context.output.json {
            context.output.json(&view::names::Names::of(context.place(), &names));
        } else {
            show(context, &names);
        }
        let sentence = if narrowed { "nobody here fits" } else { "nobody has a mailbox here" };
        if names.is_empty() { Err(context.nothing(sentence)) } else { Ok(()) }
    }
}

/// Shows names: as a table on a terminal, else as lines.
pub(super) fn show(context: &mut Context, names: &[Listed]) {
    let now = context.clock().now();
    let output = &mut context.output;
    if !output.terminal || names.is_empty() {
        return names.iter().for_each(|listed| output.line(&line::of_name(listed, now)));
    }
    let widest = |text: fn(&Listed) -> &str, title: usize| {
        names.iter().map(|listed| visible::columns(text(listed))).max().unwrap_or(0).max(title)
    };
    let name_width = widest(|l| &l.name, 4).min(32);
    let harness_width = widest(|l| &l.harness, 7).min(12);
    let titles = ["name", "unread", "oldest", "there", "protocol", "harness", "about"];
    let widths = [name_width, 6, 6, 15, 9, harness_width, 5];
    output.row(&titles.iter().zip(widths).map(|(t, w)| (DIM, visible::pad(t, w))).collect::<Vec<_>>());
    for listed in names {
        let (unread, oldest) = match listed.unread {
            Some((count, oldest)) => (count.to_string(), oldest.map_or(String::new(), |time| age(now, time))),
            None => ("?".to_owned(), String::new()),
        };
        let style = match listed.presence {
            _ if listed.in_session => GREEN,
            Some(Presence::Waiting | Presence::Recent(_)) => PLAIN,
            Some(Presence::SilentSince(_)) => YELLOW,
            Some(Presence::NeverSeen) | None => DIM,
        };
        let there = line::of_presence(listed, now);
        output.row(&[
            (BOLD, visible::pad(&listed.name, name_width)),
            (PLAIN, format!("{unread:>6}")),
            (PLAIN, format!("{oldest:>6}")),
            (style, visible::pad(&there, 15)),
            (PLAIN, visible::pad(&listed.protocol, 9)),
            (PLAIN, visible::pad(&listed.harness, harness_width)),
            (PLAIN, listed.about.clone().unwrap_or_default()),
        ]);
    }
}
