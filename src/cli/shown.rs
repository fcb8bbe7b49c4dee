//! A message as the command line shows it: fenced text.

use std::path::PathBuf;

use super::context::Context;
use super::output::note;
use super::{approve, failed};
use crate::hint::Hint;
use crate::mailbox::attachments::FoundFile;
use crate::mailbox::reading::Unreadable;
use crate::mailbox::{Folder, Token};
use crate::message::fence::{self, Extent, ShownMessage};
use crate::message::visible;
use crate::name::MailboxId;
use crate::notify::is_gate;
use crate::post::{Opened, Post};
use crate::random;

/// How much of a body is shown without a terminal; agents' tools cut longer output.
const LONG: usize = 16 * 1024;

/// The form in which a message is shown.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// All of a long body.
    pub(super) full: bool,
    /// A claim, which is finished instead of answered.
    pub(super) claim: Option<Token>,
    pub(super) remark: Option<String>,
    /// A request that is unread until it is answered.
    pub(super) stays: bool,
    /// The path of the file after this command.
    pub(super) path: PathBuf,
}

impl Shown {
    /// The text of a message in the mailbox `id`.
    pub(super) fn text(&self, context: &Context, post: &Post, id: &MailboxId, opened: &Opened) -> String {
        let envelope = &opened.message.envelope;
        let body = &opened.message.body;
        let mut remarks: Vec<String> = self.remark.iter().cloned().collect();
        if opened.folder == Folder::Archive {
            remarks.push("it lay in the archive".to_owned());
        }
        if opened.folder == Folder::Inbox && self.stays {
            remarks.push("it stays in the inbox until it is answered".to_owned());
        }
        if !envelope.to.is_empty() && envelope.to != id.as_str() {
            remarks.push(format!("it is addressed to {}, not to this mailbox", envelope.to));
        }
        let short = envelope.called(&opened.name);
        let next = match self.claim {
            Some(token) => {
                let done = Hint::run(&["done", &token.to_string()]).to("-m TEXT answers it");
                Some(("to finish", context.hint(done)))
            }
            // An agent knows it from the help or the skill, and pays for the line each time.
            None if !context.output.terminal => None,
            None if is_gate(envelope) && post.is_persons(id) => {
                Some(("to answer", context.hint(approve::command(&short))))
            }
            None => Some(match failed::retry_of(post, id, envelope) {
                Some(retry) => ("to try again", context.hint(retry)),
                None => ("to answer", context.hint(Hint::run(&["reply", &short]))),
            }),
        };
        let sender = &post.sender_shown(envelope);
        let attachments: Vec<String> = opened.files.iter().map(FoundFile::line).collect();
        let facts = ShownMessage {
            envelope,
            called: &short,
            sender,
            age: &post.age(opened.time),
            remarks: &remarks,
            attachments: &attachments,
            next: next.as_ref().map(|(heading, next)| (*heading, next.as_str())),
        };
        let path = self.path.display().to_string();
        let extent = if body.len() > LONG && !self.full && !context.output.terminal {
            Extent::Head { bytes: LONG, path: &path }
        } else {
            Extent::Whole
        };
        let nonce = fence::nonce(body, random::number);
        // Only the head is folded: a command in the body can be copied, and its fence counts its bytes.
        let head = context.output.folded(fence::head(&facts));
        head + &fence::fenced(body, &nonce, extent, context.output.terminal)
    }
}

/// Reports that a file is unreadable and was set aside, or left where nothing is set aside.
pub(super) fn tell_put_away(broken: &Unreadable) {
    tell(
        if broken.not_quarantined { "unreadable, left alone" } else { "unreadable, now in quarantine" },
        broken,
    );
}

/// Reports that a file is unreadable, and what happened to it.
pub(super) fn tell(what: &str, broken: &Unreadable) {
    note(&format!("postroom: {what}: {}: {}", visible::line(&broken.name), visible::line(&broken.why)));
}
