//! Names: who exists, and what waits for each of them.

use super::{Post, Result};
use crate::clock::Timestamp;
use crate::mailbox::presence::Presence;
use crate::name::MailboxId;

/// One line of the list of names.
#[derive(Debug)]
pub struct Listed {
    pub name: String,
    pub aliases: Vec<String>,
    pub id: MailboxId,
    pub protocol: String,
    pub harness: String,
    pub about: Option<String>,
    /// Its unread mail and the time of the oldest; `None` if its directory cannot be looked into.
    pub unread: Option<(usize, Option<Timestamp>)>,
    pub presence: Presence,
}

impl Post {
    /// Everyone in the registry, in its order. Costs one look into each mailbox and opens no message.
    pub fn names(&self) -> Result<Vec<Listed>> {
        let registry = self.registry()?;
        Ok(registry
            .entries
            .iter()
            .map(|entry| {
                let mailbox = self.mailbox(&entry.id).ok();
                Listed {
                    name: entry.name.clone(),
                    aliases: entry.aliases().map(str::to_owned).collect(),
                    id: entry.id.clone(),
                    protocol: entry.text("protocol").unwrap_or("maildir").to_owned(),
                    harness: entry.harness.clone(),
                    about: entry.text("about").map(str::to_owned),
                    unread: mailbox.as_ref().and_then(|m| m.unread().ok()),
                    presence: mailbox.map_or(Presence::NeverSeen, |m| m.home().presence(self.now())),
                }
            })
            .collect())
    }
}
