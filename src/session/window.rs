//! Windows: which session a program shows to a person now. Only a session with a window is woken from outside.
//!
//! ```text
//! sessions/.open/<pid>-<started>/session   the session that this process shows; its program's hooks write it
//!                               /waker     locked by the process that wakes it
//! ```
//!
//! A process shows one session at a time, and another one after `/clear` or `/new`. The process and its terminal are
//! the proof: without them a window is closed, whatever the files say.

use std::path::{Path, PathBuf};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::Session;
use crate::mailbox::disk::glimpse;
use crate::mailbox::lock::Lock;
use crate::mailbox::{Dir, Error, IfAny, lock::Hold};
use crate::os;
use crate::process::Process;

const FOLDER: &str = ".open";
const SESSION: &str = "session";
const WAKER: &str = "waker";

/// A process that shows a session in a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    pub process: Process,
    pub session: Session,
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    v: u32,
    program: String,
    session: String,
}

impl Window {
    /// The window of a process, if it shows a session.
    pub fn of(sessions: &Path, process: Process) -> Result<Option<Self>, Error> {
        let Some(bytes) = glimpse(&folder(sessions, process).join(SESSION))? else { return Ok(None) };
        let record: Option<Record> = serde_json::from_slice(&bytes).ok();
        let session = |record: Record| Session { program: record.program, id: record.session };
        Ok(record.map(session).map(|session| Self { process, session }))
    }

    /// The open window of a session, if it has one.
    pub fn showing(sessions: &Path, session: &Session) -> Result<Option<Self>, Error> {
        for process in processes(sessions)? {
            let window = Self::of(sessions, process)?.filter(|window| window.session == *session);
            if let Some(window) = window.filter(Self::is_open) {
                return Ok(Some(window));
            }
        }
        Ok(None)
    }

    /// Records it; nothing is written if it is known.
    pub fn record(&self, sessions: &Path) -> Result<(), Error> {
        if Self::of(sessions, self.process)?.as_ref() == Some(self) {
            return Ok(());
        }
        let (program, session) = (self.session.program.clone(), self.session.id.clone());
        let bytes = serde_json::to_vec(&Record { v: 1, program, session }).unwrap_or_default();
        Dir::make(&folder(sessions, self.process))?.replace(SESSION, &bytes)
    }

    /// Whether its process and its terminal are there.
    pub fn is_open(&self) -> bool {
        !self.process.is_gone() && os::terminal_of(self.process.pid).is_some()
    }

    /// The directory that changes when the process shows another session, or none.
    pub fn dir(&self, sessions: &Path) -> PathBuf {
        folder(sessions, self.process)
    }
}

/// Takes the right to wake the sessions of a process; `None` if another process has it.
pub fn waker(sessions: &Path, process: Process) -> Result<Option<Lock>, Error> {
    let Some(dir) = Dir::open(&folder(sessions, process)).if_any()? else { return Ok(None) };
    dir.try_lock(WAKER, Hold::Alone)
}

/// Whether a process wakes the sessions of another one.
pub fn has_waker(sessions: &Path, process: Process) -> Result<bool, Error> {
    let dir = Dir::look(&folder(sessions, process)).if_any()?;
    let is_there = |dir: &Dir| dir.stat(WAKER).if_any().map(|found| found.is_some());
    match dir {
        Some(dir) if is_there(&dir)? => Ok(dir.try_left_lock(WAKER)?.is_none()),
        _ => Ok(false),
    }
}

/// A session has ended: no window shows it any more.
pub fn close(sessions: &Path, session: &Session) -> Result<(), Error> {
    for process in processes(sessions)? {
        if Window::of(sessions, process)?.is_some_and(|window| window.session == *session) {
            Dir::open(&folder(sessions, process))?.remove(SESSION).if_any()?;
        }
    }
    Ok(())
}

/// Removes the record of a window that is closed. Returns whether it is gone: a hook may have opened it again.
pub fn remove(sessions: &Path, process: Process) -> Result<bool, Error> {
    let Some(all) = Dir::open(&sessions.join(FOLDER)).if_any()? else { return Ok(true) };
    if process.is_gone() {
        all.remove_tree(name(process)).if_any()?;
        return Ok(true);
    }
    let Some(dir) = all.sub_if_any(&name(process))? else { return Ok(true) };
    if Window::of(sessions, process)?.is_some_and(|window| !window.is_open()) {
        dir.remove(SESSION).if_any()?;
    }
    dir.remove(WAKER).if_any()?;
    match all.remove_dir(&name(process)) {
        // Only a window that is recorded counts: a killed hook may have left a file that it staged.
        Err(e) if e.errno() == Some(Errno::NOTEMPTY) => Ok(Window::of(sessions, process)?.is_none()),
        other => other.map(|()| true),
    }
}

/// Removes the records of processes that are gone.
pub fn sweep(sessions: &Path) -> Result<(), Error> {
    let Some(all) = Dir::open(&sessions.join(FOLDER)).if_any()? else { return Ok(()) };
    for process in processes(sessions)?.into_iter().filter(|process| process.is_gone()) {
        all.remove_tree(name(process)).if_any()?;
    }
    Ok(())
}

fn processes(sessions: &Path) -> Result<Vec<Process>, Error> {
    let Some(all) = Dir::look(&sessions.join(FOLDER)).if_any()? else { return Ok(vec![]) };
    let parsed = |name: &String| {
        let (pid, started) = name.split_once('-')?;
        Some(Process {
            pid: pid.parse().ok()?,
            started: started.parse().ok()?,
            space: crate::os::pid_space(),
        })
    };
    Ok(all.names(|_, _| true)?.iter().filter_map(parsed).collect())
}

fn folder(sessions: &Path, process: Process) -> PathBuf {
    sessions.join(FOLDER).join(name(process))
}

fn name(process: Process) -> String {
    format!("{}-{}", process.pid, process.started)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(process: Process, id: &str) -> Window {
        Window { process, session: Session { program: "codex".to_owned(), id: id.to_owned() } }
    }

    #[test]
    fn a_process_shows_one_session_at_a_time() {
        let temp = tempfile::tempdir().unwrap();
        let sessions = temp.path().canonicalize().unwrap();
        let me = Process::of(u64::from(std::process::id())).unwrap();
        assert_eq!(Window::of(&sessions, me).unwrap(), None);
        window(me, "one").record(&sessions).unwrap();
        window(me, "two").record(&sessions).unwrap();
        assert_eq!(Window::of(&sessions, me).unwrap(), Some(window(me, "two")));
        close(&sessions, &window(me, "one").session).unwrap();
        assert!(Window::of(&sessions, me).unwrap().is_some());
        close(&sessions, &window(me, "two").session).unwrap();
        assert_eq!(Window::of(&sessions, me).unwrap(), None);
    }

    #[test]
    fn one_process_wakes_and_nothing_is_left_of_those_that_are_gone() {
        let temp = tempfile::tempdir().unwrap();
        let sessions = temp.path().canonicalize().unwrap();
        let me = Process::of(u64::from(std::process::id())).unwrap();
        let gone = Process { started: me.started + 1, ..me };
        for process in [me, gone] {
            window(process, "one").record(&sessions).unwrap();
        }
        assert!(!has_waker(&sessions, me).unwrap());
        let held = waker(&sessions, me).unwrap();
        assert!(
            held.is_some() && has_waker(&sessions, me).unwrap() && waker(&sessions, me).unwrap().is_none()
        );
        drop(held);
        assert!(!has_waker(&sessions, me).unwrap());
        sweep(&sessions).unwrap();
        assert_eq!(processes(&sessions).unwrap(), [me]);
        close(&sessions, &window(me, "one").session).unwrap();
        assert!(remove(&sessions, me).unwrap());
        assert_eq!(processes(&sessions).unwrap(), []);
    }

    #[test]
    fn what_a_killed_hook_left_keeps_no_window_open() {
        let temp = tempfile::tempdir().unwrap();
        let sessions = temp.path().canonicalize().unwrap();
        let me = Process::of(u64::from(std::process::id())).unwrap();
        let gone = Process { started: me.started + 1, ..me };
        for process in [me, gone] {
            window(process, "one").record(&sessions).unwrap();
            std::fs::write(folder(&sessions, process).join(".session.0"), "{").unwrap();
            close(&sessions, &window(process, "one").session).unwrap();
            assert!(remove(&sessions, process).unwrap());
        }
        assert_eq!(processes(&sessions).unwrap(), [me], "of a process that is gone, nothing is left");
        std::fs::write(folder(&sessions, me).join(SESSION), "not a record").unwrap();
        assert!(remove(&sessions, me).unwrap());
        window(me, "two").record(&sessions).unwrap();
        assert_eq!(Window::of(&sessions, me).unwrap(), Some(window(me, "two")), "a hook opens it again");
    }
}
