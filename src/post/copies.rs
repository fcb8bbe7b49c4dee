//! Copies: how a message reaches a workspace. The whole of it is composed in the sender's scratch directory, then
//! copied to where it goes; the copy never shows a part and never takes the place of another message.

use std::collections::BTreeSet;

use super::places::WORKSPACE;
use super::{Error, Letter, Post, Result};
use crate::mailbox::fault;
use crate::mailbox::maildir::{Delivered, Layout};
use crate::mailbox::once::Once;
use crate::mailbox::{Dir, Mailbox};
use crate::message::{Envelope, any, workspace};
use crate::name::MessageId;

/// What the message that is answered says about the way back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Back {
    /// Kept through the whole exchange.
    pub request: String,
    /// The file that the reply is delivered as; absent: the request's own in the inbox of whom it goes to.
    pub path: Option<String>,
}

/// How many messages may be called by one request id in one inbox.
const NUMBERED: usize = 1000;

impl Post {
    /// Delivers a copy of a message to a workspace: that of `to`, or the file that the way back names.
    pub(super) fn copy(
        &self,
        sender: Option<&Mailbox>,
        (envelope, body): (&Envelope, &str),
        back: Option<&Back>,
        to: Option<&Mailbox>,
        retry: bool,
    ) -> Result<Once> {
        let asked = envelope.reply_to.as_ref().unwrap_or(&envelope.id);
        let request = back.map_or_else(|| asked.request(), |back| back.request.clone());
        let file = workspace::file_name_of(&request);
        let receiver = match (back.and_then(|back| back.path.clone()), to) {
            (Some(path), _) => path,
            (None, Some(to)) => self.reply_inbox(to).join(&file).display().to_string(),
            (None, None) => return Err(Error::EmptyBody),
        };
        let reply = sender.map(|sender| self.reply_inbox(sender).join(&file).display().to_string());
        let message = any::to_request(envelope, body, &request, &receiver, reply.as_deref());
        let bytes = workspace::render(&message)?;
        if let Some(sender) = sender {
            self.keep_in_scratch(sender, &request, bytes.as_bytes())?;
        }
        let (inbox, name) = self.destination(&receiver, &file)?;
        if let Some(place) = to.filter(|_| retry).and_then(Mailbox::maildir)
            && let Some(found) =
                place.find_twin(&envelope.id, bytes.as_bytes(), &mut BTreeSet::new(), None)?
        {
            return Ok(found);
        }
        place(&inbox, &name, bytes.as_bytes())
    }

    /// The sender's own copy, whole before anybody else sees any of it.
    pub(super) fn keep_in_scratch(&self, sender: &Mailbox, request: &str, bytes: &[u8]) -> Result<()> {
        // What others wrote as the id of a request becomes the name of a file here.
        let file = workspace::file_name_of(request);
        let scratch = match sender.maildir().filter(|place| place.layout() == Layout::Workspace) {
            Some(place) => place.dir().made_sub("scratch")?,
            None => {
                let own = sender.dir().made_sub(WORKSPACE)?;
                // Whoever answers by hand needs the directory that the message names.
                own.made_sub("inbox")?;
                own.made_sub("scratch")?
            }
        };
        Ok(scratch.replace(&file, bytes)?)
    }
}

/// Puts a copy into an inbox: under its name, or beside what has that name. The same bytes again are success.
fn place(inbox: &Dir, name: &str, bytes: &[u8]) -> Result<Once> {
    let mut last = fault::Error::Exists { path: inbox.path().join(name) };
    for number in 1..NUMBERED {
        let name = if number == 1 { name.to_owned() } else { format!("{name}.{number}") };
        match inbox.put(&name, bytes) {
            Ok(()) => {
                let how = match inbox.sync() {
                    Ok(()) => Delivered::Durable,
                    Err(e) => Delivered::Unproven(e),
                };
                return Ok(Once::Delivered { how, name });
            }
            Err(e @ fault::Error::Exists { .. }) => last = e,
            Err(e) => return Err(e.into()),
        }
        if inbox.read(&name, bytes.len() as u64 + 1).is_ok_and(|found| found.as_deref() == Some(bytes)) {
            // Whoever put it there may have been interrupted before it was durable.
            inbox.sync()?;
            return Ok(Once::Already { folder: crate::mailbox::Folder::Inbox, name });
        }
    }
    Err(last.into())
}

/// Whether a file in a workspace has a number after the name it was to have.
pub(super) fn is_beside(letter: &Letter, id: &MessageId, file: &str) -> bool {
    let wanted = match &letter.back {
        Some(Back { path: Some(path), request }) => {
            path.rsplit('/').next().into_iter().chain([request.as_str()]).collect()
        }
        Some(Back { path: None, request }) => vec![request.as_str()],
        None => vec![],
    };
    let fresh = id.request();
    let mut names = wanted.into_iter().chain([fresh.as_str()]);
    names.any(|name| {
        let number = file.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    })
}
