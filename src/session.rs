//! Sessions: which mailbox an agent's session is bound to, in `<root>/.sessions/<hash>`.
//!
//! A binding is recorded by `setup` (and by hooks) and looked up when neither a flag nor the environment
//! says who a command acts as. The file repeats program and session id, and a file that says another
//! session is no binding.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::mailbox::Error;
use crate::name::MailboxId;
use crate::room::Room;

const FOLDER: &str = ".sessions";

/// One session of one agent program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The program's word: `claude`, `codex`, `copilot`.
    pub program: String,
    /// What the program calls the session; never trusted as a path.
    pub id: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Binding {
    v: u32,
    program: String,
    session: String,
    mailbox: String,
}

impl Session {
    fn file(&self) -> String {
        use std::fmt::Write as _;
        let digest =
            Sha256::new().chain_update(&self.program).chain_update([0]).chain_update(&self.id).finalize();
        digest.iter().take(16).fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    /// The mailbox this session is bound to.
    pub fn mailbox(&self, room: &Room) -> Result<Option<MailboxId>, Error> {
        let folder = match room.root().sub(FOLDER) {
            Err(e) if e.is_missing() => return Ok(None),
            other => other?,
        };
        let Some(bytes) = folder.read(&self.file(), 1024 * 1024)? else {
            return Ok(None);
        };
        let binding: Option<Binding> = serde_json::from_slice(&bytes).ok();
        Ok(binding
            .filter(|b| b.program == self.program && b.session == self.id)
            .and_then(|b| MailboxId::parse(&b.mailbox).ok()))
    }

    /// Binds this session to a mailbox; durable on return.
    pub fn bind(&self, room: &Room, mailbox: &MailboxId) -> Result<(), Error> {
        let folder = match room.root().sub(FOLDER) {
            Err(e) if e.is_missing() => {
                let made = room.root().make_sub(FOLDER)?;
                room.root().sync()?;
                made
            }
            other => other?,
        };
        let binding = Binding {
            v: 1,
            program: self.program.clone(),
            session: self.id.clone(),
            mailbox: mailbox.to_string(),
        };
        let text = serde_json::to_vec(&binding).unwrap_or_default();
        folder.replace(&self.file(), &text)
    }
}
