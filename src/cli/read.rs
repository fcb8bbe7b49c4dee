//! `postroom read`.

use clap::Parser;
use serde_json::{Value, json};

use super::context::Context;
use super::fail::Fail;
use super::output::note;
use super::{Globals, Verb};
use crate::mailbox::maildir::Folder;
use crate::mailbox::reading::Unreadable;
use crate::message::fence::{self, Extent, Facts};
use crate::message::visible;
use crate::post::{Failure, Me, Opened, Post};
use crate::random;

/// Show messages and archive each once it was written out
///
/// Without an ID it is the next one, in the order of `check`. An archived message is shown again.
/// The body stands between two lines that carry the same random number; nothing between them is
/// Postroom speaking. A body over 16 KiB is cut where there is no terminal, with the path of the whole.
#[derive(Debug, Parser)]
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
    #[command(flatten)]
    globals: Globals,
}

/// What is shown of a body without a terminal; agents' tools cut what is longer.
const LONG: usize = 16 * 1024;

impl Verb for Read {
    fn globals(&self) -> &Globals {
        &self.globals
    }

    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_me()?;
        if !self.keep && context.output.goes_nowhere() {
            return Err(Fail::told(
                Failure::NotDone,
                "standard output is closed or /dev/null, so nothing can be shown",
                "postroom archive ID files mail away unread",
            ));
        }
        let mut all = vec![];
        if self.ids.is_empty() {
            let next = post.open_next(&me, self.keep)?;
            for broken in &next.put_away {
                tell("unreadable, now in quarantine", broken);
            }
            next.skipped.iter().for_each(|broken| tell("cannot be read now", broken));
            match next.opened {
                Some(opened) => all.push(opened),
                None if !next.skipped.is_empty() => return Err(Fail::Code(Failure::NotDone)),
                None => {
                    super::check::mention_elsewhere(context, &me);
                    if context.output.json {
                        let document = document(context, &me, vec![]);
                        context.output.json(&document);
                        return Err(Fail::Code(Failure::Nothing));
                    }
                    return Err(context.nothing(&format!("no unread mail for {}", me.shown())));
                }
            }
        }
        // All are opened before the first is shown: a mistyped id shows nothing and archives nothing.
        for id in &self.ids {
            all.push(post.open_message(&me, id, self.keep)?);
        }
        if context.output.json {
            let messages: Vec<Value> = all.iter().map(|o| self.json(&post, o)).collect();
            let document = document(context, &me, messages);
            context.output.json(&document);
            context.output.flush().map_err(Fail::Output)?;
            return all.iter().try_for_each(|opened| self.consume(&post, &me, opened));
        }
        for (index, opened) in all.iter().enumerate() {
            if index > 0 {
                context.output.line("");
            }
            let text = self.text(context, &post, &me, opened);
            context.output.text(&text);
            context.output.flush().map_err(Fail::Output)?;
            self.consume(&post, &me, opened)?;
        }
        Ok(())
    }
}

fn document(context: &Context, me: &Me, messages: Vec<Value>) -> Value {
    let root = context.root.display().to_string();
    json!({"v": 1, "room": context.room, "root": root, "mailbox": me.id.as_str(), "messages": messages})
}

fn tell(what: &str, broken: &Unreadable) {
    note(&format!("postroom: {what}: {}: {}", visible::line(&broken.name), visible::line(&broken.why)));
}

impl Read {
    fn consume(&self, post: &Post, me: &Me, opened: &Opened) -> Result<(), Fail> {
        if self.keep { Ok(()) } else { Ok(post.shown(me, opened)?) }
    }

    /// Where the file will be when the reader looks for it.
    fn path(&self, me: &Me, opened: &Opened) -> String {
        let folder = if self.keep { opened.folder } else { Folder::Archive };
        me.mailbox.path(folder, &opened.name).display().to_string()
    }

    fn text(&self, context: &Context, post: &Post, me: &Me, opened: &Opened) -> String {
        let envelope = &opened.message.envelope;
        let body = &opened.message.body;
        let mut remarks = vec![];
        if opened.folder == Folder::Archive {
            remarks.push("it lay in the archive".to_owned());
        }
        if !envelope.to.is_empty() && envelope.to != me.id.as_str() {
            remarks.push(format!("it is addressed to {}, not to this mailbox", envelope.to));
        }
        let short = crate::message::file_name::short(&opened.name).unwrap_or(envelope.id.as_str());
        let facts = Facts {
            envelope,
            sender: post.name_of(&envelope.from),
            time: opened.time,
            remarks: &remarks,
            short,
        };
        let path = self.path(me, opened);
        let extent = if body.len() > LONG && !self.full && !context.output.terminal {
            Extent::Head { bytes: LONG, path: &path }
        } else {
            Extent::Whole
        };
        fence::render(&facts, body, &fence::nonce(body, random::number), extent, context.output.terminal)
    }

    fn json(&self, post: &Post, opened: &Opened) -> Value {
        let envelope = &opened.message.envelope;
        json!({
            "id": envelope.id.as_str(),
            "from": {"id": envelope.from, "name": post.name_of(&envelope.from), "verified": false},
            "to": envelope.to,
            "subject": envelope.subject,
            "time": opened.time.to_string(),
            "priority": envelope.priority.word(),
            "channel": envelope.channel,
            "reply_to": envelope.reply_to.as_ref().map(|id| id.as_str()),
            "extra": envelope.extra.iter().map(|(k, v)| (k.clone(), Value::from(v.as_str()))).collect::<serde_json::Map<_, _>>(),
            "was": opened.folder.word(),
            "file": opened.name,
            "body": opened.message.body,
        })
    }
}
