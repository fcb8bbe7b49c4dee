//! Drafts: a sender's copies of its messages in the workspace protocol. Each is composed here in full before others see
//! any of it, and completes an answer written by hand.
//!
//! ```text
//! <workspace>/.mailbox/scratch/<request>         of a workspace, which keeps a copy of everything it sends
//! <root>/<mailbox>/.mailbox/scratch/<request>    of any other mailbox, for what it sends to workspaces
//!                          /inbox/<request>      where a workspace answers it by hand
//! ```

use std::path::{Path, PathBuf};

use super::MAILBOX;
use crate::mailbox::Mailbox;
use crate::mailbox::delivery::{Delivery, envelope_in, restore};
use crate::mailbox::fault::{IfAny, Result};
use crate::message::workspace::{self, Kind, file_name_of};
use crate::message::{Envelope, ProtocolFields, any};

/// The longest draft that is read.
const LIMIT: u64 = 64 * 1024 * 1024;

impl Mailbox {
    /// The file for an answer in the workspace protocol to this mailbox.
    pub(super) fn reply_file(&self, request: &str) -> PathBuf {
        let inbox = match self.workspace() {
            Some(_) => self.inbox(),
            None => self.dir().path().join(MAILBOX).join("inbox"),
        };
        inbox.join(file_name_of(request))
    }

    /// Stores a draft, complete and durable.
    pub(super) fn keep_draft(&self, request: &str, bytes: &[u8]) -> Result<()> {
        let scratch = match self.workspace() {
            Some(place) => place.dir().create_dir_synced("scratch")?,
            None => {
                let own = self.dir().create_dir_synced(MAILBOX)?;
                // A person or agent that answers by hand needs the directory that the message names.
                own.create_dir_synced("inbox")?;
                own.create_dir_synced("scratch")?
            }
        };
        scratch.replace_synced(&file_name_of(request), bytes)
    }

    /// Stores a copy: a workspace keeps one of all it sends, in any protocol.
    pub(in crate::mailbox) fn keep_copy(&self, delivery: &Delivery<'_>, inbox: &Path) -> Result<()> {
        if self.workspace().is_none() {
            return Ok(());
        }
        let request = delivery.request();
        let receiver = inbox.join(file_name_of(&request)).display().to_string();
        let reply = self.reply_file(&request).display().to_string();
        let copy = any::to_request(delivery.envelope, delivery.body, &request, &receiver, Some(&reply));
        self.keep_draft(&request, workspace::render(&copy)?.as_bytes())
    }

    /// The envelope of a message from this mailbox, from its draft.
    pub(in crate::mailbox) fn draft(&self, request: &str) -> Result<Option<Envelope>> {
        let scratch = match self.workspace() {
            Some(place) => place.dir().sub("scratch"),
            None => self.dir().sub(MAILBOX).and_then(|own| own.sub("scratch")),
        };
        let Some(scratch) = scratch.if_any()? else { return Ok(None) };
        Ok(scratch.read(&file_name_of(request), LIMIT)?.and_then(|bytes| envelope_in(&bytes)))
    }

    /// Completes an answer in a workspace: fields left out by hand are added on each read.
    pub(in crate::mailbox) fn complete(&self, envelope: &mut Envelope) -> Result<()> {
        let ProtocolFields::Workspace { request, kind: Kind::Reply, superseded, titled, .. } =
            &envelope.native
        else {
            return Ok(());
        };
        if self.workspace().is_some()
            && let Some(asked) = self.draft(request)?
        {
            let untitled = !titled && !superseded;
            restore(&asked, envelope, untitled);
        }
        Ok(())
    }

    /// A path relative to the workspace of a message, made absolute. `None` if it already is, or leads elsewhere.
    pub(in crate::mailbox) fn whole_path(&self, path: &str) -> Option<String> {
        let workspace = self.workspace()?.dir().path().parent()?;
        let plain = path.strip_prefix("./").unwrap_or(path);
        let inside =
            plain.starts_with(MAILBOX) && plain.split('/').all(|part| !matches!(part, "" | "." | ".."));
        inside.then(|| workspace.join(plain).display().to_string())
    }
}
