//! Life: whether the process of a session exists, also where its number means nothing here.
//!
//! ```text
//! sessions/<pid>-<started>-<space>.alive   locked while the process of a private PID namespace exists
//! ```
//!
//! The keeper of that process holds the lock, in the same namespace; the kernel releases it when either ends. The file
//! stays: without a lock it says that the process is gone, and a missing file says nothing.

use std::path::Path;

use crate::mailbox::lock::Lock;
use crate::mailbox::{Dir, Error, IfAny};
use crate::process::Process;

/// What can be said of a process from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    Running,
    Gone,
    /// Nobody recorded it, or it is in another namespace and has no lock.
    Unknown,
}

/// The end of the names of these files.
pub(super) const END: &str = "alive";

fn file(Process { pid, started, space }: Process) -> String {
    format!("{pid}-{started}-{space}.{END}")
}

/// Says that a process runs for as long as the lock is held. Who looks at it holds it for a moment, so this waits.
pub fn hold(sessions: &Path, process: Process) -> Result<Lock, Error> {
    Dir::make(sessions)?.lock(&file(process))
}

/// Looks at a process: at itself where it can be seen, else at its lock.
pub fn look(sessions: &Path, process: Process) -> Result<Life, Error> {
    if process.is_visible() {
        return Ok(if process.is_running() { Life::Running } else { Life::Gone });
    }
    told(sessions, process)
}

/// What the lock of a process says.
pub fn told(sessions: &Path, process: Process) -> Result<Life, Error> {
    let Some(dir) = Dir::look(sessions).if_any()? else { return Ok(Life::Unknown) };
    let name = file(process);
    if process.pid == 0 || dir.stat(&name).if_any()?.is_none() {
        return Ok(Life::Unknown);
    }
    Ok(if dir.try_left_lock(&name)?.is_some() { Life::Gone } else { Life::Running })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_cannot_be_seen_is_known_by_its_lock() {
        let temp = tempfile::tempdir().unwrap();
        let sessions = temp.path().canonicalize().unwrap().join("sessions");
        let me = Process::of(u64::from(std::process::id())).unwrap();
        let hidden = Process { space: me.space + 1, ..me };
        assert_eq!(look(&sessions, hidden).unwrap(), Life::Unknown);
        let held = hold(&sessions, hidden).unwrap();
        assert_eq!(look(&sessions, hidden).unwrap(), Life::Running);
        assert_eq!(look(&sessions, Process { started: me.started + 1, ..hidden }).unwrap(), Life::Unknown);
        drop(held);
        assert_eq!(look(&sessions, hidden).unwrap(), Life::Gone);
        assert_eq!(look(&sessions, me).unwrap(), Life::Running, "one that can be seen needs no lock");
        assert_eq!(look(&sessions, Process::default()).unwrap(), Life::Unknown);
    }
}
