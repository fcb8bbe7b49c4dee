//! A session while it runs: its process, whether it works or is idle, and a directory that its program watches.
//!
//! ```text
//! sessions/<pid>.process   the session that runs in a process; written by its hook at the start
//! sessions/<hash>.busy     it works, from a prompt to its stop; not empty: it was woken and has done nothing since
//! sessions/<hash>.here/    a file in it changes when the session gets another mailbox
//! ```
//!
//! A process outlives a session that is cleared, and a command without a session id is known by the process above it.
//! All of it is a hint: what is lost costs a later wake-up, and never mail.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Session, alive, folder, made};
use crate::clock::Timestamp;
use crate::mailbox::disk::glimpse;
use crate::mailbox::lock::{Hold, Lock};
use crate::mailbox::{Dir, Error, IfAny};
use crate::process::Process;
use crate::room::Room;

/// The file that changes in the directory of a session.
const CHANGED: &str = "mailbox";

#[derive(Debug, Serialize, Deserialize)]
struct Running {
    v: u32,
    program: String,
    session: String,
    started: u64,
    #[serde(default)]
    space: u64,
}

/// What a session does, as far as its hooks said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    Idle,
    Busy,
    /// It was woken, and none of its hooks was called since.
    Woken,
}

fn record(pid: u64) -> String {
    format!("{pid}.process")
}

/// Whether a file is in the directory of a session.
pub fn is_own(path: &str) -> bool {
    Path::new(path).parent().is_some_and(|dir| dir.extension().is_some_and(|end| end == "here"))
}

/// Records the session that a process runs.
pub fn note(sessions: &Path, session: &Session, process: Process) -> Result<(), Error> {
    let running = Running {
        v: 1,
        program: session.program.clone(),
        session: session.id.clone(),
        started: process.started,
        space: process.space,
    };
    Dir::make(sessions)?.replace(&record(process.pid), &serde_json::to_vec(&running).unwrap_or_default())
}

/// The session that runs in a process.
pub fn in_process(sessions: &Path, pid: u64) -> Option<Session> {
    recorded(sessions, pid).filter(|(_, process)| process.is_running()).map(|(session, _)| session)
}

fn recorded(sessions: &Path, pid: u64) -> Option<(Session, Process)> {
    let running: Running = serde_json::from_slice(&glimpse(&sessions.join(record(pid))).ok()??).ok()?;
    let process = Process { pid, started: running.started, space: running.space };
    Some((Session { program: running.program, id: running.session }, process))
}

/// The session that runs in the nearest process above this command.
pub fn above(sessions: &Path) -> Option<Session> {
    Process::above().into_iter().find_map(|pid| in_process(sessions, pid))
}

/// The nearest process above this command that runs a session.
pub fn process_above(sessions: &Path) -> Option<Process> {
    Process::above().into_iter().find(|pid| in_process(sessions, *pid).is_some()).and_then(Process::of)
}

/// The process above this command that runs this session.
pub(super) fn process(sessions: &Path, session: &Session) -> Option<Process> {
    let is_it = |pid: &u64| in_process(sessions, *pid).is_some_and(|running| running == *session);
    Process::above().into_iter().find(is_it).and_then(Process::of)
}

impl Session {
    fn busy(&self) -> String {
        format!("{}.busy", self.file())
    }

    fn here(&self) -> String {
        format!("{}.here", self.file())
    }

    pub fn work(&self, room: &Room) -> Result<Work, Error> {
        let Some(folder) = folder(room)? else { return Ok(Work::Idle) };
        Ok(match folder.stat(&self.busy()).if_any()? {
            None => Work::Idle,
            Some(stat) if stat.st_size == 0 => Work::Busy,
            Some(_) => Work::Woken,
        })
    }

    /// Records what it does now; nothing is written if that is known.
    pub fn works(&self, room: &Room, work: Work) -> Result<(), Error> {
        if self.work(room)? == work {
            return Ok(());
        }
        match work {
            Work::Idle => made(room)?.remove(&self.busy()).if_any().map(|_| ()),
            Work::Busy => made(room)?.replace(&self.busy(), b""),
            Work::Woken => made(room)?.replace(&self.busy(), b"woken\n"),
        }
    }

    /// The one process that may wait to wake it; `None` if there is one already.
    pub fn waker(&self, room: &Room) -> Result<Option<Lock>, Error> {
        made(room)?.try_lock(&format!("{}.waker", self.file()), Hold::Alone)
    }

    /// The directory in which a file changes when this session gets another mailbox. It is made if missing.
    pub fn watched(&self, room: &Room) -> Result<PathBuf, Error> {
        Ok(made(room)?.create_dir(&self.here())?.path().to_owned())
    }

    /// That directory, where the session has no room yet.
    pub fn watched_in(&self, sessions: &Path) -> Result<PathBuf, Error> {
        Ok(Dir::make(sessions)?.create_dir(&self.here())?.path().to_owned())
    }

    /// That directory, if somebody watches it.
    pub fn watched_if_any(&self, sessions: &Path) -> Option<PathBuf> {
        Some(sessions.join(self.here())).filter(|dir| dir.is_dir())
    }

    /// Tells its program, or its waker, that it has another mailbox, if one of them watches for that.
    pub fn changed(&self, room: &Room) -> Result<(), Error> {
        let Some(here) = folder(room)?.map(|folder| folder.sub_if_any(&self.here())).transpose()? else {
            return Ok(());
        };
        here.map_or(Ok(()), |here| here.replace(CHANGED, b""))
    }

    /// Removes what was recorded while it ran. `stays`: its process goes on with another session.
    pub fn leave(&self, room: &Room, process: Process, stays: bool) -> Result<(), Error> {
        let Some(folder) = folder(room)? else { return Ok(()) };
        if !stays && in_process(folder.path(), process.pid).is_some_and(|running| running == *self) {
            folder.remove(&record(process.pid)).if_any()?;
        }
        self.leave_nothing(&folder)
    }

    pub(super) fn leave_nothing(&self, folder: &Dir) -> Result<(), Error> {
        folder.remove(&self.busy()).if_any()?;
        folder.remove(&format!("{}.waker", self.file())).if_any()?;
        match folder.stat(&self.here()).if_any()? {
            Some(_) => folder.remove_tree(self.here()),
            None => Ok(()),
        }
    }
}

/// Removes what ended sessions without a mailbox have left: processes that are gone, and the rest after `seconds`.
pub fn sweep(room: &Room, now: Timestamp, seconds: i64) -> Result<(), Error> {
    let Some(folder) = folder(room)? else { return Ok(()) };
    for name in folder.names(|_, _| true)? {
        let Some((stem, end)) = name.split_once('.') else { continue };
        let is_old = || folder.stat(&name).is_ok_and(|stat| now.seconds() - stat.st_mtime > seconds);
        let is_left = match end {
            "process" => {
                let process = stem.parse().ok().and_then(|pid| recorded(folder.path(), pid));
                process.is_none_or(|(_, process)| process.is_gone())
            }
            "told" | "busy" | "waker" | "here" => folder.stat(stem).if_any()?.is_none() && is_old(),
            alive::END => is_old() && folder.try_left_lock(&name)?.is_some(),
            _ => false,
        };
        if is_left && end == "here" {
            folder.remove_tree(&name)?;
        } else if is_left {
            folder.remove(&name).if_any()?;
        }
    }
    Ok(())
}
