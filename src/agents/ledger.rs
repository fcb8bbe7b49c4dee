//! The ledger: what was put into somebody's files, so that it can be taken out again to the byte.
//!
//! ```text
//! <state>/.installed/<hash of the path>.json      what is there, for which programs, and what stood there before
//! ```
//!
//! A record is durable before the file changes. Whoever finds the file as it was left gets back the very bytes that were
//! there before, or no file; if somebody changed it since, only what is ours is taken out. A file is never followed out
//! of its place by a new link, never taken from another owner, and never changed under somebody who writes it meanwhile.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error as ThisError;

use super::change::{self, Change, State};
use super::pieces::{Form, Piece};
use super::{jsonc, tables};
use crate::mailbox::disk::Swapped;
use crate::mailbox::{self, Dir};

const FOLDER: &str = ".installed";
const LIMIT: u64 = 16 * 1024 * 1024;

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
}

type Result<T> = std::result::Result<T, Error>;

/// What is known of one file.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    v: u32,
    path: PathBuf,
    /// The project it is for; absent for the whole user.
    project: Option<PathBuf>,
    programs: Vec<String>,
    root: PathBuf,
    name: Option<String>,
    /// What stood there; absent: there was no file.
    before: Option<String>,
    /// The digest of what was left there.
    after: String,
    /// Directories that were made for it, the outermost first.
    made: Vec<PathBuf>,
    #[serde(flatten)]
    kind: Kind,
}

/// For whom something is put in its place.
#[derive(Debug, Clone, Copy)]
pub struct Cause<'a> {
    pub program: &'a str,
    pub project: Option<&'a Path>,
    /// What a later look has to know to expect the same.
    pub root: &'a Path,
    pub name: Option<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Json(Vec<Change>),
    Toml(Vec<Change>),
    Whole(bool),
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    Written,
    AsItWas,
    /// It is what it was before the installation, byte for byte, or gone.
    Restored,
    /// Ours was taken out; somebody had changed the rest.
    TakenOut,
    /// Another program still uses it.
    Kept,
    /// It was changed by hand and is left.
    Left,
}

/// The records of one person.
#[derive(Debug)]
pub struct Ledger {
    dir: Dir,
}

/// What a file was and will be.
struct Outlook {
    before: Option<String>,
    after: String,
    kind: Kind,
    known: Option<Record>,
}

/// A file as it lies on the disk, links resolved.
struct Place {
    dir: Dir,
    name: String,
    now: Option<(String, rustix::fs::Stat)>,
}

impl Ledger {
    /// Opens the ledger below the directory of this person's rooms.
    pub fn open(state: &Path) -> Result<Self> {
        let dir = Dir::make(&state.join(FOLDER))?;
        dir.sync_parents()?;
        Ok(Self { dir })
    }

    /// Puts a piece in its place. `replace`: also where something stands that is not ours; it comes back later.
    pub fn put(&self, piece: &Piece, cause: Cause<'_>, replace: bool) -> Result<Done> {
        let made = make_way(&piece.path)?;
        let place = look(&piece.path)?;
        let Outlook { before, after, kind, known } = self.outlook(piece, &place, replace)?;
        let mut programs = known.as_ref().map(|record| record.programs.clone()).unwrap_or_default();
        let new_here = !programs.iter().any(|known| known == cause.program);
        programs.extend(new_here.then(|| cause.program.to_owned()));
        let made = known.map_or(made, |record| record.made);
        let is_there = place.text() == Some(after.as_str());
        let (project, name) = (cause.project.map(Path::to_owned), cause.name.map(str::to_owned));
        let (path, root, digest) = (place.path(), cause.root.to_owned(), digest(&after));
        self.write(&Record { v: 1, path, project, programs, root, name, before, after: digest, made, kind })?;
        if is_there {
            return Ok(Done::AsItWas);
        }
        place.write(&after)?;
        Ok(Done::Written)
    }

    /// Whether a piece could be put in its place; changes nothing.
    pub fn examine(&self, piece: &Piece, replace: bool) -> Result<()> {
        if !piece.path.parent().is_some_and(Path::exists) {
            return Ok(());
        }
        self.outlook(piece, &look(&piece.path)?, replace).map(|_| ())
    }

    fn outlook(&self, piece: &Piece, place: &Place, replace: bool) -> Result<Outlook> {
        let path = place.path();
        let now = place.text();
        let known = self.record(&path)?;
        let settings = |source| Error::Settings { path: path.clone(), source };
        let untouched = known.as_ref().filter(|record| now.is_some_and(|text| record.after == digest(text)));
        let before = match (untouched, now, &piece.form) {
            (Some(record), ..) => record.before.clone(),
            (None, None, _) => None,
            (None, Some(text), Form::Json(changes)) => Some(jsonc::remove(text, changes).map_err(settings)?),
            (None, Some(text), Form::Toml(changes)) => Some(tables::remove(text, changes).map_err(settings)?),
            (None, Some(text), Form::Whole(wanted)) if text == wanted => {
                known.as_ref().and_then(|r| r.before.clone())
            }
            (None, Some(text), Form::Whole(_)) if replace => Some(text.to_owned()),
            (None, Some(_), Form::Whole(_)) => return Err(Error::NotOurs { path }),
        };
        // Nothing of ours was in it: then it is left as it was, to the byte.
        let before = match (now, before) {
            (Some(now), Some(clean)) if same(&piece.form, now, &clean) => Some(now.to_owned()),
            (_, before) => before,
        };
        let base = before.as_deref();
        let (after, kind) = match &piece.form {
            Form::Json(changes) => {
                let text = jsonc::apply(base.unwrap_or("{}\n"), changes).map_err(settings)?;
                (text, Kind::Json(changes.clone()))
            }
            Form::Toml(changes) => {
                (tables::apply(base.unwrap_or(""), changes).map_err(settings)?, Kind::Toml(changes.clone()))
            }
            Form::Whole(text) => (text.clone(), Kind::Whole(true)),
        };
        Ok(Outlook { before, after, kind, known })
    }

    /// What a file says of a piece now.
    pub fn state(&self, piece: &Piece) -> Result<State> {
        if !piece.path.exists() {
            return Ok(State::Missing);
        }
        let place = look(&piece.path)?;
        let Some((text, _)) = place.now else { return Ok(State::Missing) };
        let settings = |source| Error::Settings { path: piece.path.clone(), source };
        let (value, changes) = match &piece.form {
            Form::Whole(wanted) if text == *wanted => return Ok(State::Current),
            Form::Whole(_) => return Ok(State::Drifted),
            Form::Json(changes) => (jsonc::value(&text).map_err(settings)?, changes),
            Form::Toml(changes) => (tables::value(&text).map_err(settings)?, changes),
        };
        let states: Vec<State> = changes.iter().map(|change| change.state(&value)).collect();
        Ok(match () {
            () if states.iter().all(|state| *state == State::Current) => State::Current,
            () if states.iter().all(|state| *state == State::Missing) => State::Missing,
            () => State::Drifted,
        })
    }

    /// Takes everything of a program out again, in one place.
    pub fn take_out(&self, program: &str, project: Option<&Path>) -> Result<Vec<(PathBuf, Done)>> {
        let (mut done, mut made) = (vec![], vec![]);
        for mut record in self.all()? {
            if record.project.as_deref() != project || !record.programs.iter().any(|p| p == program) {
                continue;
            }
            record.programs.retain(|known| known != program);
            if !record.programs.is_empty() {
                self.write(&record)?;
                done.push((record.path, Done::Kept));
                continue;
            }
            let what = restore(&record)?;
            made.append(&mut record.made);
            match self.dir.remove(&name(&record.path)) {
                Err(e) if !e.is_missing() => return Err(e.into()),
                _ => done.push((record.path, what)),
            }
        }
        self.dir.sync()?;
        self.sweep(made)?;
        Ok(done)
    }

    /// Removes directories that were made and are empty again; what others still use is theirs to remove.
    fn sweep(&self, mut made: Vec<PathBuf>) -> Result<()> {
        made.sort();
        for dir in made.iter().rev() {
            if let (Some(parent), Some(name)) = (dir.parent(), dir.file_name().and_then(|name| name.to_str()))
            {
                let _ = Dir::outside(parent).and_then(|parent| parent.remove_dir(name));
            }
        }
        made.retain(|dir| dir.exists());
        for mut record in self.all()? {
            let inside: Vec<PathBuf> =
                made.iter().filter(|dir| record.path.starts_with(dir)).cloned().collect();
            if !inside.is_empty() {
                made.retain(|dir| !inside.contains(dir));
                record.made.extend(inside);
                self.write(&record)?;
            }
        }
        Ok(())
    }

    /// The room and the standing name that a program was installed with.
    pub fn installed_with(&self, program: &str, project: Option<&Path>) -> Option<(PathBuf, Option<String>)> {
        let fits = |r: &Record| r.project.as_deref() == project && r.programs.iter().any(|p| p == program);
        self.all().ok()?.into_iter().find(fits).map(|record| (record.root, record.name))
    }

    /// The file in which what stood at a path is kept.
    pub fn backup(&self, path: &Path) -> Option<PathBuf> {
        let real = std::fs::canonicalize(path).ok()?;
        let record = self.record(&real).ok()??;
        record.before.map(|_| self.dir.path().join(name(&real)))
    }

    fn record(&self, path: &Path) -> Result<Option<Record>> {
        let bytes = self.dir.read(&name(path), 4 * LIMIT)?;
        let record: Option<Record> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(record.filter(|record| record.path == path))
    }

    fn write(&self, record: &Record) -> Result<()> {
        Ok(self.dir.replace(&name(&record.path), &serde_json::to_vec(record).unwrap_or_default())?)
    }

    fn all(&self) -> Result<Vec<Record>> {
        let mut names = vec![];
        self.dir.scan(|name, _| names.extend(str::from_utf8(name).ok().map(str::to_owned)))?;
        names.sort();
        let read = |name: &String| serde_json::from_slice(&self.dir.read(name, 4 * LIMIT).ok()??).ok();
        Ok(names.iter().filter(|name| name.ends_with(".json")).filter_map(read).collect())
    }
}

/// Whether taking out has changed nothing but the writing.
fn same(form: &Form, now: &str, clean: &str) -> bool {
    match form {
        Form::Json(_) => matches!((jsonc::value(now), jsonc::value(clean)), (Ok(a), Ok(b)) if a == b),
        Form::Toml(_) => matches!((tables::value(now), tables::value(clean)), (Ok(a), Ok(b)) if a == b),
        Form::Whole(_) => false,
    }
}

fn restore(record: &Record) -> Result<Done> {
    if !record.path.exists() {
        return Ok(Done::Restored);
    }
    let place = look(&record.path)?;
    let Some((text, _)) = &place.now else { return Ok(Done::Restored) };
    let settings = |source| Error::Settings { path: record.path.clone(), source };
    let (left, done) = match &record.kind {
        _ if record.after == digest(text) => (record.before.clone(), Done::Restored),
        Kind::Whole(_) => return Ok(Done::Left),
        Kind::Json(changes) => {
            let left = jsonc::remove(text, changes).map_err(settings)?;
            let empty =
                record.before.is_none() && jsonc::value(&left).is_ok_and(|v| v == serde_json::json!({}));
            ((!empty).then_some(left), Done::TakenOut)
        }
        Kind::Toml(changes) => {
            let left = tables::remove(text, changes).map_err(settings)?;
            ((record.before.is_some() || !left.trim().is_empty()).then_some(left), Done::TakenOut)
        }
    };
    match left {
        Some(left) => place.write(&left)?,
        None => {
            place.dir.remove(&place.name)?;
            place.dir.sync()?;
        }
    }
    Ok(done)
}

/// Makes the directories above a file; which ones were missing.
fn make_way(path: &Path) -> Result<Vec<PathBuf>> {
    let parent = path.parent().unwrap_or(path);
    let missing: Vec<PathBuf> =
        parent.ancestors().take_while(|dir| !dir.exists()).map(Path::to_owned).collect();
    let Some(there) = missing.last().and_then(|dir| dir.parent()) else { return Ok(vec![]) };
    let mut dir = Dir::outside(&resolved(there)?)?;
    let mut made = vec![];
    for step in missing.iter().rev() {
        let name = step.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| Error::NotText { path: step.clone() })?;
        dir = dir.made_sub(name)?;
        made.push(dir.path().to_owned());
    }
    Ok(made)
}

fn resolved(path: &Path) -> Result<PathBuf> {
    std::fs::canonicalize(path).map_err(|source| Error::Path { path: path.to_owned(), source })
}

/// The file that a path leads to. A link that the person made is theirs to keep; what it leads to is changed.
fn look(path: &Path) -> Result<Place> {
    let real = match path.symlink_metadata() {
        Ok(_) => resolved(path)?,
        Err(_) => resolved(path.parent().unwrap_or(path))?.join(path.file_name().unwrap_or_default()),
    };
    let name = real.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let dir = Dir::outside(real.parent().unwrap_or(&real))?;
    let now = match dir.open_file(&name) {
        Err(e) if e.is_missing() => None,
        opened => {
            let opened = opened?;
            let stat = opened.stat;
            if stat.st_mode & 0o200 == 0 {
                return Err(Error::ReadOnly { path: real });
            }
            let text = String::from_utf8(opened.read_all(LIMIT)?);
            Some((text.map_err(|_| Error::NotText { path: real.clone() })?, stat))
        }
    };
    Ok(Place { dir, name, now })
}

impl Place {
    fn path(&self) -> PathBuf {
        self.dir.path().join(&self.name)
    }

    fn text(&self) -> Option<&str> {
        self.now.as_ref().map(|(text, _)| text.as_str())
    }

    fn write(&self, text: &str) -> Result<()> {
        let Some((_, stat)) = &self.now else { return Ok(self.dir.place(&self.name, text.as_bytes())?) };
        match self.dir.swap(&self.name, text.as_bytes(), stat)? {
            Swapped::Done => Ok(()),
            Swapped::Changed => Err(mailbox::Error::Busy { path: self.path() }.into()),
        }
    }
}

fn name(path: &Path) -> String {
    format!("{}.json", &digest(&path.to_string_lossy())[..32])
}

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
