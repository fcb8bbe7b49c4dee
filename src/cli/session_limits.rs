//! The limits of a session: what postroom refuses to an agent. Plain calls of postroom may run outside of the sandbox of the
//! agent's program, so they must not do what the sandbox forbids: change its settings, or make directories and files anywhere.
//! Mail goes everywhere.

use std::path::{Path, PathBuf};

use super::context::Context;
use super::fail::Fail;
use super::surroundings::ThisProcess;
use crate::os;
use crate::room::Room;
use crate::rooms::Located;
use crate::session::running;
use crate::surroundings::{Environment, ROOT, project_around, project_dir, rooms, sessions};

impl Context {
    /// Whether this command runs in the session of an agent: its environment says so, or a process above it.
    fn is_in_session(&self) -> bool {
        let above = || sessions(&ThisProcess).and_then(|sessions| running::above(&sessions));
        self.surroundings.by_agent || above().is_some()
    }

    /// Refuses what would let an agent do more than its program allows it.
    pub(super) fn must_not_be_in_session(&self, verb: &str) -> Result<(), Fail> {
        if !self.is_in_session() {
            return Ok(());
        }
        let why =
            format!("this is the session of an agent, and `{verb}` would change what its program allows it");
        Err(Fail::refused(why, "a person runs it, in a terminal of their own"))
    }

    /// Refuses an agent a file at a path that it chooses. `instead`: what it can do within its sandbox.
    pub(super) fn must_not_write_in_session(&self, option: &str, instead: &'static str) -> Result<(), Fail> {
        if !self.is_in_session() {
            return Ok(());
        }
        let why =
            format!("this is the session of an agent, and `{option}` may write where its program does not");
        Err(Fail::refused(why, instead))
    }

    /// Refuses an agent a new room outside of the directory of rooms.
    pub(super) fn may_use_root(&self, located: &Located) -> Result<(), Fail> {
        let is_known = || {
            let is_room = match Room::is_vacant(&located.root) {
                Ok(vacant) => !vacant,
                // What cannot be read is reported when it is opened.
                Err(_) => located.root.symlink_metadata().is_ok(),
            };
            // The person started the program with it.
            let is_given = ThisProcess.directory(ROOT).is_some_and(|root| root == located.root);
            is_room
                || is_given
                || rooms(&ThisProcess).is_ok_and(|rooms| located.root.starts_with(rooms.dir()))
        };
        if self.globals.root.is_none() || self.by_settings || is_known() || !self.is_in_session() {
            return Ok(());
        }
        let why = format!("there is no room at {}, and an agent makes none there", located.root.display());
        Err(Fail::refused(why, "leave out --root, or a person runs `postroom setup` there first"))
    }

    /// Refuses an agent a new mailbox directory outside of the project it works in. `kept`: what is there already if a
    /// person has made one.
    pub(super) fn may_make_in(&self, dir: &Path, kept: &Path) -> Result<(), Fail> {
        if dir.join(kept).is_dir() || !self.is_in_session() {
            return Ok(());
        }
        let project = project_of_session()?;
        // Everything is below the root of the disk, so an agent that works there has no project.
        if project.parent().is_some() && dir.starts_with(&project) {
            return Ok(());
        }
        let why = format!(
            "{} is outside of this session's project, {}, and an agent makes no mailbox there",
            dir.display(),
            project.display()
        );
        Err(Fail::refused(why, "name a directory in the project, or a person runs it first"))
    }
}

/// The project that the agent works in. A command can be run in any directory, so that of its program counts, if the
/// program is known.
fn project_of_session() -> Result<PathBuf, Fail> {
    let program = sessions(&ThisProcess).and_then(|sessions| running::process_above(&sessions));
    match program.and_then(|program| os::directory_of(program.pid)) {
        Some(dir) => Ok(project_around(&dir)),
        None => Ok(project_dir(&ThisProcess)?),
    }
}
