//! The ledger: records what was put into the user's files, so that it can be removed again to the byte.
//!
//! ```text
//! <state>/.installed/<hash of the path>.json      the installed text, its programs, and the former text; a file
//!                                                outside of the project it is for has one for each project
//!                   /lock                         held while files are put in place or taken out
//! ```
//!
//! A record is durable before the file changes, and is removed after it, so an interrupted command can simply be run
//! again. If the file is still as we left it, uninstalling restores its former bytes, or removes it. If somebody
//! changed it since, only our part is removed, and what was in its place is restored.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use thiserror::Error as ThisError;

use super::change::{self, FileState};
use super::file_on_disk::{FileOnDisk, LIMIT};
use super::install_files::{Form, Piece};
pub use super::record::InstallOptions;
use super::record::{Record, digest, name};
use crate::mailbox::lock::Lock;
use crate::mailbox::{self, Dir, IfAny};

const FOLDER: &str = ".installed";
const LOCK: &str = "lock";

/// Why a file is not touched.
#[derive(Debug, ThisError)]
pub enum Error {
    #[error(transparent)]
    Disk(#[from] mailbox::Error),
    #[error("{}: {source}", .path.display())]
    Settings { path: PathBuf, source: change::Error },
    #[error("{} is not text in UTF-8", .path.display())]
    NotText { path: PathBuf },
    #[error("{} is read-only", .path.display())]
    ReadOnly { path: PathBuf },
    #[error("{} is there already and is not postroom's", .path.display())]
    NotOurs { path: PathBuf },
    #[error("cannot resolve {}: {source}", .path.display())]
    Path { path: PathBuf, source: std::io::Error },
    #[error("the record {} cannot be read", .path.display())]
    Record { path: PathBuf },
}

pub(super) type Result<T> = std::result::Result<T, Error>;

/// The program and project that a file is for.
#[derive(Debug, Clone, Copy)]
pub struct Cause<'a> {
    pub program: &'a str,
    pub project: Option<&'a Path>,
    pub with: &'a InstallOptions,
}

/// The outcome for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    Written,
    AsItWas,
    /// It is gone: there was none before the installation.
    Removed,
    /// It is as it was before the installation, byte for byte.
    Restored,
    /// Our part was removed; somebody had changed the rest.
    TakenOut,
    /// Another program still uses it.
    Kept,
    /// It was changed by hand, so it stays.
    Left,
}

impl Done {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::AsItWas => "in place",
            Self::Removed => "removed",
            Self::Restored => "restored",
            Self::TakenOut => "removed from",
            Self::Kept => "kept",
            Self::Left => "left, changed by hand:",
        }
    }
}

/// A file as it is, and as a command would leave it. `None`: no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    pub path: PathBuf,
    pub now: Option<String>,
    pub then: Option<String>,
}

/// The records of one user.
#[derive(Debug)]
pub struct Ledger {
    pub(super) dir: Dir,
}

/// A file before and after a change.
struct Outlook {
    before: Option<String>,
    after: String,
}

fn outlook(known: Option<&Record>, piece: &Piece, found: &FileOnDisk, replace: bool) -> Result<Outlook> {
    let settings = |source| Error::Settings { path: found.path.clone(), source };
    let before = match (found.text(), known, &piece.form) {
        (None, ..) => None,
        (Some(now), Some(record), _) if record.is_ours(&digest(now)) => record.before.clone(),
        (Some(now), Some(record), Form::Settings(..)) => Some(record.taken_out(now).map_err(settings)?),
        (Some(now), None, Form::Settings(..)) => Some(now.to_owned()),
        (Some(now), Some(record), Form::Whole(wanted)) if now == wanted => record.before.clone(),
        (Some(now), _, Form::Whole(wanted)) if now == wanted || replace => Some(now.to_owned()),
        (Some(_), _, Form::Whole(_)) => return Err(Error::NotOurs { path: found.path.clone() }),
    };
    let after = match &piece.form {
        Form::Settings(language, changes) => language.apply(before.as_deref().unwrap_or_default(), changes),
        Form::Whole(text) => Ok(text.clone()),
    };
    Ok(Outlook { after: after.map_err(settings)?, before })
}

impl Ledger {
    /// Opens the ledger below the state directory of this user.
    pub fn open(state: &Path) -> Result<Self> {
        let dir = Dir::make(&state.join(FOLDER))?;
        dir.sync_parents()?;
        Ok(Self { dir })
    }

    /// The ledger, if there is one. Creates nothing and changes nothing.
    pub fn look(state: &Path) -> Result<Option<Self>> {
        Ok(Dir::look(&state.join(FOLDER)).if_any()?.map(|dir| Self { dir }))
    }

    /// Prevents concurrent installations.
    pub fn lock(&self) -> Result<Lock> {
        Ok(self.dir.lock(LOCK)?)
    }

    /// Puts a piece in its place. `replace`: also over something that is not ours; uninstalling restores it.
    pub fn put(&self, piece: &Piece, cause: Cause<'_>, replace: bool) -> Result<Done> {
        let found = FileOnDisk::look(&piece.path)?;
        let known = self.record(&found.path, cause.project)?;
        let Outlook { before, after } = outlook(known.as_ref(), piece, &found, replace)?;
        let is_there = found.text() == Some(after.as_str());
        if !is_there {
            found.is_writable()?;
        }
        let now = found.text().map(digest);
        let earlier = match &known {
            Some(record) if is_there => record.earlier.clone(),
            Some(record) => now.filter(|now| record.is_ours(now)),
            None => None,
        };
        let (mut programs, mut made) =
            known.as_ref().map(|r| (r.programs.clone(), r.made.clone())).unwrap_or_default();
        programs.insert(cause.program.to_owned(), cause.with.clone());
        made.extend(found.missing.iter().cloned());
        made.sort();
        made.dedup();
        let record = Record {
            v: 1,
            path: found.path.clone(),
            project: cause.project.map(Path::to_owned),
            programs,
            before,
            after: digest(&after),
            earlier,
            made,
            form: piece.form.kept(),
        };
        if known.as_ref() != Some(&record) {
            self.write(&record)?;
        }
        if !is_there {
            found.write(Some(&after))?;
        }
        // Also the leftovers of an interrupted run of another version.
        found.tidy(|left| record.wrote(left) || known.as_ref().is_some_and(|known| known.wrote(left)))?;
        Ok(if is_there { Done::AsItWas } else { Done::Written })
    }

    /// Checks whether a piece could be put in its place. Changes nothing.
    pub fn examine(&self, piece: &Piece, project: Option<&Path>, replace: bool) -> Result<()> {
        Self::plan(Some(self), piece, project, replace).map(drop)
    }

    /// What installing a piece would do. Fails if it could not be done. Changes nothing.
    pub fn plan(
        ledger: Option<&Self>,
        piece: &Piece,
        project: Option<&Path>,
        replace: bool,
    ) -> Result<Planned> {
        let found = FileOnDisk::look(&piece.path)?;
        let known = ledger.map(|ledger| ledger.record(&found.path, project)).transpose()?.flatten();
        let then = outlook(known.as_ref(), piece, &found, replace)?.after;
        let now = found.text().map(str::to_owned);
        if now.as_ref() != Some(&then) {
            found.is_writable()?;
        }
        Ok(Planned { path: found.path, now, then: Some(then) })
    }

    /// Everything in whose name files were put in place: programs, and starts of programs.
    pub fn programs(&self) -> Result<BTreeSet<String>> {
        Ok(self.all()?.into_iter().flat_map(|record| record.programs.into_keys()).collect())
    }

    /// The options that a program was installed with.
    pub fn installed_with(&self, program: &str, project: Option<&Path>) -> Result<Option<InstallOptions>> {
        let all = self.all()?;
        let mut here = all.into_iter().filter(|record| record.project.as_deref() == project);
        Ok(here.find_map(|mut record| record.programs.remove(program)))
    }

    /// Whether a program was installed for the user, and all that was put in is still there.
    pub fn is_in_place(&self, program: &str) -> Result<bool> {
        let all = self.all()?;
        let mut own =
            all.iter().filter(|r| r.project.is_none() && r.programs.contains_key(program)).peekable();
        if own.peek().is_none() {
            return Ok(false);
        }
        for record in own {
            let found = FileOnDisk::look(&record.path)?;
            if !found.text().is_some_and(|text| record.is_in(text)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The file that keeps the former text of a path.
    pub fn backup(&self, path: &Path, project: Option<&Path>) -> Option<PathBuf> {
        let real = std::fs::canonicalize(path).ok()?;
        let record = self.record(&real, project).ok()??;
        record.before.map(|_| self.dir.path().join(name(&real, project)))
    }

    pub(super) fn record(&self, path: &Path, project: Option<&Path>) -> Result<Option<Record>> {
        Ok(self.read(&name(path, project))?.filter(|record| record.path == path))
    }

    /// An unreadable record is an error: its backup would be lost silently.
    fn read(&self, name: &str) -> Result<Option<Record>> {
        let Some(bytes) = self.dir.read(name, 4 * LIMIT)? else { return Ok(None) };
        let bad = |_| Error::Record { path: self.dir.path().join(name) };
        serde_json::from_slice(&bytes).map(Some).map_err(bad)
    }

    pub(super) fn write(&self, record: &Record) -> Result<()> {
        // JSON fails only for a path that is not text.
        let bytes = serde_json::to_vec(record).map_err(|_| Error::NotText { path: record.path.clone() })?;
        Ok(self.dir.replace_synced(&name(&record.path, record.project.as_deref()), &bytes)?)
    }

    pub(super) fn all(&self) -> Result<Vec<Record>> {
        let names = self.dir.names(|name, _| name.ends_with(".json") && !name.starts_with('.'))?;
        names.iter().filter_map(|name| self.read(name).transpose()).collect()
    }
}

/// The settings of these pieces that somebody else has written since they were last installed. Their program may not
/// load them.
pub fn unknown_settings<'p>(
    ledger: Option<&Ledger>,
    pieces: &'p [Piece],
    project: Option<&Path>,
) -> Result<Vec<&'p Piece>> {
    let is_unknown = |piece: &Piece| {
        let found = FileOnDisk::look(&piece.path)?;
        let Some(now) = found.text().filter(|_| matches!(piece.form, Form::Settings(..))) else {
            return Ok(false);
        };
        let known = ledger.map(|ledger| ledger.record(&found.path, project)).transpose()?.flatten();
        Ok(!known.is_some_and(|record| record.is_ours(&digest(now))))
    };
    pieces.iter().filter_map(|piece| is_unknown(piece).map(|is| is.then_some(piece)).transpose()).collect()
}

/// The state of a piece in its file now.
pub fn state(piece: &Piece) -> Result<FileState> {
    let found = FileOnDisk::look(&piece.path)?;
    let Some(text) = found.text() else { return Ok(FileState::Missing) };
    let (language, changes) = match &piece.form {
        Form::Whole(wanted) if text == *wanted => return Ok(FileState::Current),
        Form::Whole(_) => return Ok(FileState::Drifted),
        Form::Settings(language, changes) => (language, changes),
    };
    let value =
        language.value(text).map_err(|source| Error::Settings { path: piece.path.clone(), source })?;
    let states: Vec<FileState> = changes.iter().map(|change| change.state(&value)).collect();
    Ok(match () {
        () if states.iter().all(|state| *state == FileState::Current) => FileState::Current,
        () if states.iter().all(|state| *state == FileState::Missing) => FileState::Missing,
        () => FileState::Drifted,
    })
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
