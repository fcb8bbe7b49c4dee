//! The doctor: checks every rule of docs/reference/format.md on a live directory, and repairs what it can.
//!
//! A check changes nothing. With `fix`, the doctor removes old staging files, moves unreadable files to quarantine,
//! tightens modes, makes missing directories, and rebuilds a lost or broken registry from the cards. It never removes
//! anything that could be a message. Every test of Postroom ends with a check by the doctor.

mod attachments;
mod groups;
mod mailbox;
mod registry;
mod rooms;
mod workflows;

use std::path::Path;
use std::time::Duration;

use rustix::fs::{FileType, Stat};

use crate::clock::Timestamp;
use crate::mailbox::reading::mtime;
use crate::mailbox::{Dir, Error, IfAny};
use crate::room::Room;

/// A younger staging file may belong to a sender that is still at work.
const LITTER: Duration = Duration::from_secs(36 * 3600);

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// Left by an interrupted process; removed once it is old.
    Litter,
    /// Worth knowing; nothing is broken.
    Note,
    /// A rule of the format is broken.
    Fault,
}

impl Grade {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Litter => "litter",
            Self::Note => "note",
            Self::Fault => "fault",
        }
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub grade: Grade,
    /// The section of docs/reference/format.md that it refers to.
    pub rule: &'static str,
    pub path: String,
    pub what: String,
    pub fixed: bool,
}

/// One check of a room.
#[derive(Debug)]
pub struct Doctor<'a> {
    room: &'a Room,
    fix: bool,
    findings: Vec<Finding>,
    /// Findings that are repaired when the registry is written.
    to_commit: Vec<usize>,
}

/// Checks a whole room. Calls `progress` with each mailbox's name before it checks that mailbox.
pub fn examine(room: &Room, fix: bool, mut progress: impl FnMut(&str)) -> Result<Vec<Finding>, Error> {
    let mut doctor =
        Doctor { room, fix: fix && room.may_write().is_ok(), findings: vec![], to_commit: vec![] };
    let mailboxes = doctor.room_itself()?;
    doctor.registry(&mailboxes)?;
    doctor.groups(&mailboxes)?;
    for id in &mailboxes {
        progress(id.as_str());
        let before = doctor.findings.len();
        doctor.mailbox(id)?;
        // Pruned meanwhile: its findings no longer apply.
        if doctor.findings.len() > before && room.root().stat(id.as_str()).if_any()?.is_none() {
            doctor.findings.truncate(before);
        }
    }
    Ok(doctor.findings)
}

impl Doctor<'_> {
    fn now(&self) -> Timestamp {
        self.room.clock().now()
    }

    fn find(
        &mut self,
        grade: Grade,
        rule: &'static str,
        path: impl AsRef<Path>,
        what: impl Into<String>,
    ) -> &mut Finding {
        let path = path.as_ref().display().to_string();
        self.findings.push(Finding { grade, rule, path, what: what.into(), fixed: false });
        // Just pushed, so there is a last one.
        let last = self.findings.len() - 1;
        &mut self.findings[last]
    }

    /// Records a finding, and repairs it if `fix` is set and the repair works.
    fn repair(
        &mut self,
        grade: Grade,
        rule: &'static str,
        path: impl AsRef<Path>,
        what: impl Into<String>,
        cure: impl FnOnce() -> Result<(), Error>,
    ) {
        let fix = self.fix;
        let finding = self.find(grade, rule, path, what);
        if fix {
            match cure() {
                Ok(()) => finding.fixed = true,
                Err(e) => finding.what = format!("{} (not repaired: {e})", finding.what),
            }
        }
    }

    /// Checks owner and mode of one entry (format.md §1.2).
    fn modes(&mut self, dir: &Dir, name: &str, stat: &Stat) {
        let path = dir.path().join(name);
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            self.find(Grade::Fault, "§1.2", path, format!("belongs to another user (uid {})", stat.st_uid));
            return;
        }
        let wanted = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => 0o700,
            FileType::RegularFile => 0o600,
            _ => return,
        };
        let mode = stat.st_mode & 0o7777;
        if mode != wanted {
            // A file written by hand has the mode of its writer's umask; the directory around it keeps it private.
            let grade = if wanted == 0o600 && mode & 0o600 == 0o600 { Grade::Note } else { Grade::Fault };
            self.repair(grade, "§1.2", path, format!("has mode {mode:04o}, not {wanted:04o}"), || {
                dir.tighten(name, stat)
            });
        }
    }

    /// Checks owner and mode of one entry, if it is still there.
    fn modes_of(&mut self, dir: &Dir, name: &str) -> Result<(), Error> {
        if let Some(stat) = dir.stat(name).if_any()? {
            self.modes(dir, name, &stat);
        }
        Ok(())
    }

    /// Reports everything in a directory as litter.
    fn all_litter(&mut self, dir: &Dir) -> Result<(), Error> {
        for (name, _) in entries(dir)? {
            self.litter(dir, &name);
        }
        Ok(())
    }

    /// Reports a staging file or directory as litter, and removes it once it is old.
    fn litter(&mut self, dir: &Dir, name: &str) {
        let path = dir.path().join(name);
        let stat = match dir.stat(name).if_any() {
            Ok(Some(stat)) => stat,
            Ok(None) => return,
            Err(e) => {
                self.find(Grade::Fault, "§4.5", path, e.to_string());
                return;
            }
        };
        let age = self.now().since(mtime(&stat));
        if age < LITTER {
            self.find(Grade::Litter, "§4.5", path, "is staged, or was left by an interrupted command");
            return;
        }
        let what = format!("was staged {} h ago and never published", age.as_secs() / 3600);
        self.repair(Grade::Fault, "§4.5", path, what, || {
            let is_dir = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            let removed = if is_dir { dir.remove_tree(name) } else { dir.remove(name) };
            // Another doctor may have been faster.
            removed.if_any().map(drop)
        });
    }
}

/// The entries of a directory, sorted; names that are not UTF-8 are shown lossily.
fn entries(dir: &Dir) -> Result<Vec<(String, FileType)>, Error> {
    let mut all = vec![];
    dir.scan(|name, kind| all.push((String::from_utf8_lossy(name).into_owned(), kind)))?;
    all.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(all)
}
