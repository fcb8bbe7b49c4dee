//! A user's file as found on the disk: with links resolved, its text, and the missing directories above it. Looking
//! changes nothing. A new link never leads a write to another place, another owner's file is never changed, and a
//! concurrent edit is never overwritten.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Stat, access};
use rustix::io::Errno;

use super::ledger::{Error, Result};
use super::record::digest;
use crate::mailbox::disk::Swapped;
use crate::mailbox::{self, Dir};

/// The largest file that is read.
pub(super) const LIMIT: u64 = 16 * 1024 * 1024;

/// A file, or the path where one would be.
pub(super) struct FileOnDisk {
    /// Its path without links. The user's links are kept; their target is changed.
    pub(super) path: PathBuf,
    /// Missing directories on the path, outermost first.
    pub(super) missing: Vec<PathBuf>,
    now: Option<(String, Stat)>,
}

impl FileOnDisk {
    pub(super) fn look(path: &Path) -> Result<Self> {
        let fault = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::Path { path, source }
        };
        let mut nearest = path;
        // Only a path that is known not to exist is missing; below a file nothing is.
        while let Err(e) = nearest.symlink_metadata() {
            nearest = match (e.kind(), nearest.parent()) {
                (ErrorKind::NotFound | ErrorKind::NotADirectory, Some(above)) => above,
                _ => return Err(fault(nearest)(e)),
            };
        }
        let mut real = std::fs::canonicalize(nearest).map_err(fault(nearest))?;
        let mut missing = vec![];
        for step in path.strip_prefix(nearest).into_iter().flat_map(Path::components) {
            missing.push(real.clone());
            real.push(step);
        }
        // The first of them exists.
        missing = missing.split_off(missing.len().min(1));
        let mut found = Self { path: real, missing, now: None };
        if found.missing.is_empty() {
            found.now = found.read()?;
        }
        Ok(found)
    }

    fn read(&self) -> Result<Option<(String, Stat)>> {
        let path = || self.path.clone();
        let Some((bytes, stat)) = self.dir()?.read_known(&self.name()?, LIMIT)? else { return Ok(None) };
        Ok(Some((String::from_utf8(bytes).map_err(|_| Error::NotText { path: path() })?, stat)))
    }

    pub(super) fn text(&self) -> Option<&str> {
        self.now.as_ref().map(|(text, _)| text.as_str())
    }

    /// Checks that it can be written, so that nothing is left half done.
    pub(super) fn is_writable(&self) -> Result<()> {
        if self.now.as_ref().is_some_and(|(_, stat)| stat.st_mode & 0o200 == 0) {
            return Err(Error::ReadOnly { path: self.path.clone() });
        }
        let first = self.missing.first().unwrap_or(&self.path);
        let above = first.parent().unwrap_or(first);
        match access(above, Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) => Dir::outside(above).map(|_| ()).map_err(Into::into),
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => Err(Error::ReadOnly { path: above.to_owned() }),
            Err(e) => Err(Error::Path { path: above.to_owned(), source: e.into() }),
        }
    }

    /// Writes a text, or removes the file.
    pub(super) fn write(&self, text: Option<&str>) -> Result<()> {
        let name = self.name()?;
        match (&self.now, text) {
            (None, None) => Ok(()),
            (None, Some(text)) => match self.made_dir()?.create_synced(&name, text.as_bytes()) {
                Err(mailbox::Error::Exists { .. }) => self.kept_for(Swapped::Changed),
                other => Ok(other?),
            },
            (Some((was, stat)), None) => {
                self.kept_for(self.dir()?.remove_read(&name, (was.as_bytes(), stat))?)
            }
            (Some((was, stat)), Some(text)) => {
                self.kept_for(self.dir()?.compare_and_swap(&name, text.as_bytes(), (was.as_bytes(), stat))?)
            }
        }
    }

    /// A concurrent edit is kept, and is an error here.
    fn kept_for(&self, swapped: Swapped) -> Result<()> {
        match swapped {
            Swapped::Done => Ok(()),
            Swapped::Changed => Err(mailbox::Error::Busy { path: self.path.clone() }.into()),
        }
    }

    /// Removes what an interrupted write left beside it: files with the name of such a write that are empty or hold one
    /// of these texts, and never another's text.
    pub(super) fn tidy(&self, is_ours: impl Fn(&str) -> bool) -> Result<()> {
        if !self.missing.is_empty() {
            return Ok(());
        }
        let (dir, start) = (self.dir()?, format!(".{}.", self.name()?));
        let is_staged = |end: &str| end.len() == 16 && end.bytes().all(|digit| digit.is_ascii_hexdigit());
        for name in dir.names(|name, _| name.strip_prefix(&start).is_some_and(is_staged))? {
            let bytes = match dir.read(&name, LIMIT) {
                Err(e) if e.errno().is_some() => return Err(e.into()),
                // A link, a directory or another owner's file.
                other => other.ok().flatten(),
            };
            let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            if text.is_some_and(|text| text.is_empty() || is_ours(&digest(&text))) {
                dir.remove(&name)?;
            }
        }
        Ok(())
    }

    fn name(&self) -> Result<String> {
        let name = self.path.file_name().and_then(|name| name.to_str());
        name.map(str::to_owned).ok_or_else(|| Error::NotText { path: self.path.clone() })
    }

    fn dir(&self) -> Result<Dir> {
        Ok(Dir::outside(self.path.parent().unwrap_or(&self.path))?)
    }

    /// Its directory, created if missing.
    fn made_dir(&self) -> Result<Dir> {
        let Some(there) = self.missing.first().and_then(|dir| dir.parent()) else { return self.dir() };
        let mut dir = Dir::outside(there)?;
        for step in &self.missing {
            let name = step.file_name().and_then(|name| name.to_str());
            dir = dir.create_dir_synced(name.ok_or_else(|| Error::NotText { path: step.clone() })?)?;
        }
        Ok(dir)
    }
}
