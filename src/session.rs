//! Sessions: the mailbox and room that an agent's session is bound to, in `…/postroom/sessions/<hash>`.
//!
//! `setup` and hooks record a binding. It takes precedence over the environment and the working directory, so an agent
//! that changes directory keeps its identity. The file repeats program and session id; a file of another session is not
//! a binding. Beside it, [`told::Told`] records which mail that session has seen, and `running` what is known while it
//! runs.

pub mod alive;
pub mod running;
pub mod told;
pub mod window;

use std::path::{Path, PathBuf};

use crate::hex;
use serde::{Deserialize, Serialize};

use self::alive::Life;
use crate::clock::Timestamp;
use crate::mailbox::disk::glimpse;
use crate::mailbox::reading::mtime;
use crate::mailbox::{Dir, Error, IfAny};
use crate::name::MailboxId;
use crate::process::Process;
use crate::room::Room;

const LIMIT: u64 = 1024 * 1024;

/// One session of one agent program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The program's short name: `claude`, `codex`, `copilot`.
    pub program: String,
    /// The program's id for the session; never trusted as a path.
    pub id: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Binding {
    v: u32,
    program: String,
    session: String,
    root: PathBuf,
    mailbox: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    pid: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    started: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    space: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ended: bool,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A session and its record.
#[derive(Debug)]
pub struct Bound {
    pub session: Session,
    /// The directory of the room.
    pub root: PathBuf,
    pub mailbox: MailboxId,
    pub process: Process,
    /// Its program reported that it ended.
    pub ended: bool,
}

impl Bound {
    /// Whether the session has ended, or its process is seen to be gone.
    pub fn is_over(&self) -> bool {
        self.ended || self.process.is_gone()
    }

    /// What can be said of its process.
    pub fn life(&self, room: &Room) -> Result<Life, Error> {
        room.sessions().map_or(Ok(Life::Unknown), |sessions| alive::look(sessions, self.process))
    }
}

impl Session {
    fn file(&self) -> String {
        hex::digest_of_two(&self.program, &self.id, 16)
    }

    /// The mailbox this session is bound to.
    pub fn mailbox(&self, room: &Room) -> Result<Option<MailboxId>, Error> {
        Ok(self.bound(room)?.map(|bound| bound.mailbox))
    }

    /// The record of this session in a room.
    pub fn bound(&self, room: &Room) -> Result<Option<Bound>, Error> {
        let Some(sessions) = room.sessions() else { return Ok(None) };
        Ok(self.binding(sessions)?.filter(|bound| bound.root == room.path()))
    }

    /// The record of this session in any room; costs three system calls.
    pub fn binding(&self, sessions: &Path) -> Result<Option<Bound>, Error> {
        let bytes = glimpse(&sessions.join(self.file()))?;
        Ok(bytes.and_then(|bytes| parse(&bytes)).filter(|bound| bound.session == *self))
    }

    /// Binds this session to a mailbox; durable on return. A command makes this binding, so its process is looked up.
    pub fn bind(&self, room: &Room, mailbox: &MailboxId) -> Result<(), Error> {
        let known = self.bound(room)?.map(|bound| bound.process).filter(|process| process.is_running());
        let process = known.or_else(|| running::process(room.sessions()?, self)).unwrap_or_default();
        self.record(room, mailbox, process, false)
    }

    /// Binds this session, and records the process that a hook saw and whether the session ended.
    pub fn record(
        &self,
        room: &Room,
        mailbox: &MailboxId,
        process: Process,
        ended: bool,
    ) -> Result<(), Error> {
        let folder = made(room)?;
        let binding = Binding {
            v: 1,
            program: self.program.clone(),
            session: self.id.clone(),
            root: room.path().to_owned(),
            mailbox: mailbox.to_string(),
            pid: process.pid,
            started: process.started,
            space: process.space,
            ended,
        };
        let text = serde_json::to_vec(&binding).unwrap_or_default();
        folder.replace_synced(&self.file(), &text)
    }

    /// Removes the record of this session.
    pub fn forget(&self, room: &Room) -> Result<(), Error> {
        let Some(folder) = folder(room)? else { return Ok(()) };
        self.leave_nothing(&folder)?;
        for name in [told::file(self), self.file()] {
            folder.remove(&name).if_any()?;
        }
        Ok(())
    }
}

/// All recorded sessions of a program in a room.
pub fn all(room: &Room, program: &str) -> Result<Vec<Bound>, Error> {
    let mut all = recorded(room, |_| true)?;
    all.retain(|bound| bound.session.program == program);
    Ok(all)
}

/// The session of a program that was bound to a mailbox last.
pub fn latest(room: &Room, program: &str, mailbox: &MailboxId) -> Result<Option<Session>, Error> {
    let Some(folder) = folder(room)? else { return Ok(None) };
    let mut all = all(room, program)?;
    all.retain(|bound| bound.mailbox == *mailbox);
    let written = |bound: &Bound| folder.stat(&bound.session.file()).ok().map(|stat| mtime(&stat));
    all.sort_by_key(written);
    Ok(all.pop().map(|bound| bound.session))
}

/// The sessions of a room whose process exists.
pub fn live(room: &Room) -> Result<Vec<Bound>, Error> {
    let mut all = recorded(room, |_| true)?;
    all.retain(|bound| !bound.ended && matches!(bound.life(room), Ok(Life::Running)));
    Ok(all)
}

/// Sessions whose binding and notices were not written for so many seconds.
pub fn silent(room: &Room, now: Timestamp, seconds: i64) -> Result<Vec<Bound>, Error> {
    let Some(folder) = folder(room)? else { return Ok(vec![]) };
    let is_old = |name: &str| folder.stat(name).map_or(true, |stat| now.seconds() - stat.st_mtime > seconds);
    recorded(room, |name| is_old(name) && is_old(&format!("{name}.told")))
}

fn recorded(room: &Room, wanted: impl Fn(&str) -> bool) -> Result<Vec<Bound>, Error> {
    let Some(folder) = folder(room)? else { return Ok(vec![]) };
    let is_session = |name: &str| name.len() == 32 && name.bytes().all(|b| b.is_ascii_hexdigit());
    let names = folder.names(|name, _| is_session(name) && wanted(name))?;
    let all = names.iter().filter_map(|name| parse(&folder.read(name, LIMIT).ok()??));
    Ok(all.filter(|bound| bound.root == room.path()).collect())
}

fn folder(room: &Room) -> Result<Option<Dir>, Error> {
    room.sessions().map_or(Ok(None), |path| Dir::open(path).if_any())
}

/// Makes the records durable.
pub fn sync(room: &Room) -> Result<(), Error> {
    made(room)?.sync()
}

/// The directory of the sessions, made if missing, and durable.
fn made(room: &Room) -> Result<Dir, Error> {
    let path = room.sessions().unwrap_or(room.path());
    let folder = Dir::make(path)?;
    // The command that made it may have been interrupted before the sync.
    folder.sync_parents()?;
    Ok(folder)
}

fn parse(bytes: &[u8]) -> Option<Bound> {
    let binding: Binding = serde_json::from_slice(bytes).ok()?;
    Some(Bound {
        root: binding.root,
        mailbox: MailboxId::parse(&binding.mailbox).ok()?,
        process: Process { pid: binding.pid, started: binding.started, space: binding.space },
        ended: binding.ended,
        session: Session { program: binding.program, id: binding.session },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_without_the_newer_fields_is_read() {
        let old = br#"{"v":1,"program":"claude","session":"s","root":"/r","mailbox":"bob-1"}"#;
        let bound = parse(old).unwrap();
        assert_eq!((bound.mailbox.as_str(), bound.ended), ("bob-1", false));
        assert!(parse(b"[]").is_none());
    }
}
