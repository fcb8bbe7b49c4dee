//! Delivery to a workspace: a copy of the sender's draft, under the name of the exchange. The copy is never visible in
//! part and never replaces another message; if its name is taken, it gets a number.

use std::collections::BTreeSet;
use std::path::Path;

use super::Workspace;
use super::destination::destination;
use crate::mailbox::delivery::{Delivery, DeliveryOutcome};
use crate::mailbox::directory::Directory;
use crate::mailbox::disk::Dir;
use crate::mailbox::fault::{Error, Result};
use crate::mailbox::folder::Folder;
use crate::mailbox::place::Place;
use crate::message::any;
use crate::message::workspace::{self, file_name_of};
use crate::name::MailboxId;

/// The most messages with one request id in one inbox.
const NUMBERED: usize = 1000;

impl Workspace {
    pub(super) fn copy_in(&self, delivery: &Delivery<'_>) -> Result<DeliveryOutcome> {
        let request = delivery.request();
        let inbox = self.inbox();
        // The reply route may name its own file in this inbox.
        let named = delivery.route.and_then(|route| route.path.as_deref()).map(Path::new);
        let named =
            named.filter(|path| path.parent() == Some(&inbox)).and_then(|path| path.file_name()?.to_str());
        let name = named.filter(|name| MailboxId::parse(name).is_ok());
        let name = name.map_or_else(|| file_name_of(&request), str::to_owned);
        let bytes = draft(delivery, &request, &inbox.join(&name))?;
        let _turn = delivery.retry.then(|| self.home.dir().lock(".deliver.lock")).transpose()?;
        if delivery.retry
            && let Some(found) = self.folders.find_twin(
                &delivery.envelope.id,
                bytes.as_bytes(),
                &mut BTreeSet::new(),
                None,
                &self.home,
            )?
        {
            return Ok(found);
        }
        place(&self.folders.folder(Folder::Inbox)?, &name, bytes.as_bytes())
    }
}

/// Delivers an answer as a file in an inbox that the room does not know.
pub fn deliver_to_path(
    path: &str,
    delivery: &Delivery<'_>,
    directory: &dyn Directory,
) -> Result<DeliveryOutcome> {
    let request = delivery.request();
    // The draft stays with its sender even if the path is refused.
    let bytes = draft(delivery, &request, Path::new(path))?;
    let (inbox, name) = destination(path, &request, directory)?;
    place(&inbox, &name, bytes.as_bytes())
}

/// The bytes of a message, kept by its sender before they are visible to others.
fn draft(delivery: &Delivery<'_>, request: &str, receiver: &Path) -> Result<String> {
    let reply = delivery.sender.map(|sender| sender.reply_file(request).display().to_string());
    let receiver = receiver.display().to_string();
    let message = any::to_request(delivery.envelope, delivery.body, request, &receiver, reply.as_deref());
    let bytes = workspace::render(&message)?;
    if let Some(sender) = delivery.sender {
        sender.keep_draft(request, bytes.as_bytes())?;
    }
    Ok(bytes)
}

/// Puts a copy into an inbox: under its name, or under a number if that is taken. The same bytes again are success.
fn place(inbox: &Dir, name: &str, bytes: &[u8]) -> Result<DeliveryOutcome> {
    let mut last = Error::Exists { path: inbox.path().join(name) };
    for number in 1..NUMBERED {
        let name = if number == 1 { name.to_owned() } else { format!("{name}.{number}") };
        match inbox.create(&name, bytes) {
            Ok(how) => return Ok(DeliveryOutcome::Delivered { how, name, beside: number > 1 }),
            Err(e @ Error::Exists { .. }) => last = e,
            Err(e) => return Err(e),
        }
        match inbox.read(&name, bytes.len() as u64) {
            Ok(Some(found)) if found == bytes => {
                // An earlier run may have been interrupted before the sync.
                inbox.sync()?;
                return Ok(DeliveryOutcome::Already { folder: Folder::Inbox, name });
            }
            // Another message, or one that went away meanwhile: try the next name.
            Ok(_) | Err(Error::TooLarge { .. } | Error::Link { .. } | Error::NotAFile { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    Err(last)
}
