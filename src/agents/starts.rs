//! Starts: which programs run with a mailbox that `postroom claude` gave them, and the files of each.
//!
//! ```text
//! <state>/starts/<pid>-<started>-<space>/start.json    the program, and the mailbox with its room
//!                                       /kit/          what the program reads: hooks, skill, server
//!               /lock                                  held while a start begins or is cleared away
//! ```
//!
//! A start is a process: the command becomes the program, so its number stays. What a program has to find in its own
//! directories is put there by the ledger, in the name of the start, and stays while a start that uses it runs. When the
//! process is gone, the next process clears both away: the keeper that waited for it, the next start, or `doctor`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::install_files::Piece;
use super::launch;
use super::ledger::{self, Cause, InstallOptions, Ledger};
use crate::mailbox::lock::Lock;
use crate::mailbox::{Dir, IfAny};
use crate::process::Process;

const FOLDER: &str = "starts";
const LOCK: &str = "lock";
const RECORD: &str = "start.json";
const KIT: &str = "kit";
const LIMIT: u64 = 64 * 1024;

/// How the ledger names a start among programs.
const PREFIX: &str = "start ";

pub type Result<T> = std::result::Result<T, ledger::Error>;

/// The record of a start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    pub v: u32,
    pub program: String,
    /// The directory of the room.
    pub root: PathBuf,
    /// The id of the mailbox; absent if the session has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mailbox: Option<String>,
}

/// The starts of one user.
#[derive(Debug)]
pub struct Starts {
    dir: Dir,
    state: PathBuf,
}

impl Starts {
    pub fn open(state: &Path) -> Result<Self> {
        Ok(Self { dir: Dir::make(&state.join(FOLDER))?, state: state.to_owned() })
    }

    /// The starts, if there was one. Creates nothing.
    pub fn look(state: &Path) -> Result<Option<Self>> {
        let dir = Dir::look(&state.join(FOLDER)).if_any()?;
        Ok(dir.map(|dir| Self { dir, state: state.to_owned() }))
    }

    /// Lets no other start begin meanwhile.
    pub fn lock(&self) -> Result<Lock> {
        Ok(self.dir.lock(LOCK)?)
    }

    /// The running start of a mailbox, if there is one.
    pub fn running(&self, root: &Path, mailbox: &str) -> Result<Option<Start>> {
        for name in self.names()? {
            let is_running = process(&name).is_some_and(|process| !process.is_gone());
            let start = if is_running { self.read(&name)? } else { None };
            let is_it = |start: &Start| start.root == root && start.mailbox.as_deref() == Some(mailbox);
            if let Some(start) = start.filter(is_it) {
                return Ok(Some(start));
            }
        }
        Ok(None)
    }

    /// Records a start, and returns the directory for its files. A start of the same process is replaced.
    pub fn begin(&self, process: Process, start: &Start) -> Result<PathBuf> {
        let name = name(process);
        if self.dir.sub_if_any(&name)?.is_some() {
            self.dir.remove_tree(&name)?;
        }
        let dir = self.dir.create_dir(&name)?;
        dir.replace(RECORD, &serde_json::to_vec(start).unwrap_or_default())?;
        Ok(dir.path().join(KIT))
    }

    /// Writes the files of a start into its directory, and others through the ledger. Those that cannot be put there,
    /// because somebody has such a file, are returned with the reason; then none of them is there.
    pub fn equip(&self, process: Process, own: &[Piece], others: &[Piece]) -> Result<Option<ledger::Error>> {
        for piece in own {
            let (Some(above), Some(file)) = (piece.path.parent(), piece.path.file_name()) else { continue };
            let settings = |source| ledger::Error::Settings { path: piece.path.clone(), source };
            let text = launch::text(piece).map_err(settings)?;
            Dir::make(above)?.replace(&file.to_string_lossy(), text.as_bytes())?;
        }
        if others.is_empty() {
            return Ok(None);
        }
        let ledger = Ledger::open(&self.state)?;
        let _lock = ledger.lock()?;
        if let Some(e) = others.iter().find_map(|piece| ledger.examine(piece, None, false).err()) {
            return Ok(Some(e));
        }
        let key = key(process);
        let with = InstallOptions::default();
        let cause = Cause { program: &key, project: None, with: &with };
        others.iter().try_for_each(|piece| ledger.put(piece, cause, false).map(|_| ()))?;
        Ok(None)
    }

    /// Clears away what starts have left whose process is gone. Returns how many there were.
    pub fn sweep(&self) -> Result<usize> {
        if let Some(ledger) = Ledger::look(&self.state)? {
            let _lock = ledger.lock()?;
            for key in ledger.programs()?.into_iter().filter(|key| is_over(key.strip_prefix(PREFIX))) {
                ledger.take_out(&key, None)?;
            }
        }
        let over: Vec<String> = self.names()?.into_iter().filter(|name| is_over(Some(name))).collect();
        over.iter().try_for_each(|name| self.dir.remove_tree(name))?;
        Ok(over.len())
    }

    fn names(&self) -> Result<Vec<String>> {
        Ok(self.dir.names(|name, _| process(name).is_some())?)
    }

    /// A record that cannot be read says nothing; its files go with it.
    fn read(&self, name: &str) -> Result<Option<Start>> {
        let Some(dir) = self.dir.sub_if_any(name)? else { return Ok(None) };
        Ok(dir.read(RECORD, LIMIT)?.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }
}

/// Whether a start of this name is known to be over.
fn is_over(name: Option<&str>) -> bool {
    name.and_then(process).is_some_and(Process::is_gone)
}

fn name(Process { pid, started, space }: Process) -> String {
    format!("{pid}-{started}-{space}")
}

fn key(process: Process) -> String {
    format!("{PREFIX}{}", name(process))
}

fn process(name: &str) -> Option<Process> {
    let mut parts = name.splitn(3, '-').map(|part| part.parse().ok());
    Some(Process { pid: parts.next()??, started: parts.next()??, space: parts.next()?? })
}
