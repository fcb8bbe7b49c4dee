//! `postroom read`.

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::shown::{self, Shown, tell};
use crate::hint::Hint;
use crate::mailbox::Folder;
use crate::post::{Failure, Me, Opened, Post};
use crate::view::check as view;
use crate::view::message::Message;

/// Show messages and archive each once it was written out
///
/// Without an ID it shows the next one, in the order of `check`. An archived message is shown again. The body stands
/// between two lines with the same random number; nothing between them comes from Postroom. Without a terminal, a body
/// over 16 KiB is cut, with the path of the whole. A terminal gets every control character as text, a pipe only ESC, C1 and
/// bidi controls; --raw changes nothing.
#[derive(Debug, Args)]
pub(super) struct Read {
    /// The first digits of a message's id (see `check`)
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Leave the message unread
    #[arg(long)]
    keep: bool,
    /// Show all of a long body
    #[arg(long)]
    full: bool,
    /// Only the bytes of the body, unchanged; not on a terminal
    #[arg(long, conflicts_with_all = ["full", "json"])]
    raw: bool,
}

impl Verb for Read {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_me()?;
        if !self.keep {
            let archive = match self.ids.first() {
                Some(id) => Hint::run(&["archive", id]).to("files mail away unread"),
                None => Hint::run(&["help", "archive"]).to("how to file mail away unread"),
            };
            context.output.must_be_seen(archive)?;
        }
        if self.raw && context.output.terminal {
            let why = "--raw is not for a terminal, which could obey what the message contains";
            return Err(Fail::refused(why, "add `> FILE` to write the bytes into a file"));
        }
        if self.raw && self.ids.len() > 1 {
            return Err(Fail::usage(
                "--raw takes one ID",
                "the bytes would not say where the next message begins",
            ));
        }
        let mut all = vec![];
        if self.ids.is_empty() {
            let next = post.open_next(&me, self.keep)?;
            next.put_away.iter().for_each(shown::tell_put_away);
            next.skipped.iter().for_each(|broken| tell("cannot be read now", broken));
            match next.opened {
                Some(opened) => all.push(opened),
                None if !next.skipped.is_empty() => return Err(Fail::Code(Failure::NotDone)),
                None => {
                    super::check::mention_elsewhere(context, &me)?;
                    if context.output.json {
                        context.output.json(&document(context, post, &me, &[]));
                    }
                    return Err(context.nothing(&format!("no unread mail for {}", me.shown())));
                }
            }
        }
        // Open all before showing the first: a mistyped id shows nothing and archives nothing.
        for id in &self.ids {
            all.push(post.open_message(&me, id, self.keep)?);
        }
        if context.output.json {
            context.output.json(&document(context, post, &me, &all));
            context.output.flush().map_err(Fail::Output)?;
            return all.iter().try_for_each(|opened| self.consume(post, &me, opened));
        }
        for (index, opened) in all.iter().enumerate() {
            if index > 0 {
                context.output.line("");
            }
            match self.raw {
                true => context.output.text(&opened.message.body),
                false => {
                    let text = self.text(context, post, &me, opened);
                    context.output.text(&text);
                }
            }
            context.output.flush().map_err(Fail::Output)?;
            self.consume(post, &me, opened)?;
        }
        Ok(())
    }
}

fn document<'a>(context: &Context, post: &Post, me: &'a Me, all: &'a [Opened]) -> view::Read<'a> {
    let messages = all.iter().map(|opened| Message::of(post, opened)).collect();
    view::Read { place: context.place(), mailbox: me.id.as_str(), messages }
}

impl Read {
    fn consume(&self, post: &Post, me: &Me, opened: &Opened) -> Result<(), Fail> {
        if self.keep { Ok(()) } else { Ok(post.shown(me, opened)?) }
    }

    fn text(&self, context: &Context, post: &Post, me: &Me, opened: &Opened) -> String {
        let stays = me.mailbox.awaits_answer(&opened.message.envelope);
        let left = self.keep || stays || opened.folder != Folder::Inbox;
        let path = me.mailbox.path(if left { opened.folder } else { Folder::Archive }, &opened.name);
        Shown { full: self.full, path, stays, ..Shown::default() }.text(context, post, &me.id, opened)
    }
}
