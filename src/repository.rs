//! A git repository: finds the one a directory belongs to. Reads `.git` and `commondir`, and never runs git.
//!
//! Worktrees share the common directory of their repository, and a submodule has that of its superproject. Skipped: a
//! repository of another user, one at the home directory itself (dotfiles) or at `/`, and a `.git` that is not a
//! repository. A `.git` file that leads nowhere is an error, because the repository is then unknown.
#![allow(clippy::disallowed_methods, reason = "only reads, and only what git wrote")]

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use thiserror::Error as ThisError;

use crate::mailbox::disk::glimpse;
use crate::mailbox::fault;

#[derive(Debug, ThisError)]
pub enum Error {
    #[error("{}: {why}", .path.display())]
    Broken { path: PathBuf, why: String },
    #[error("cannot look at {}: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// A repository, by its common directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// With all links resolved.
    pub common: PathBuf,
    pub identity: Identity,
}

/// The identity of a directory: it survives a move within its disk, and a copy does not have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub device: u64,
    pub inode: u64,
    /// Creation time in nanoseconds, if the file system has it: the inode number of a removed directory is reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born: Option<u64>,
}

impl Repository {
    /// The repository that a directory belongs to. `here` is absolute and without links, as the system returns it.
    pub fn around(here: &Path, home: Option<&Path>) -> Result<Option<Self>, Error> {
        for dir in here.ancestors() {
            if dir.parent().is_none() || Some(dir) == home {
                continue;
            }
            let found = match common_of(dir)? {
                Some((common, Some(meta))) => match superproject(dir, home)? {
                    Some(above) => return Self::around(above, home),
                    None => Self::with(common, &meta),
                },
                Some((common, None)) => Self::at(common)?,
                None => None,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The repository with this common directory, unless it belongs to another user.
    fn at(common: PathBuf) -> Result<Option<Self>, Error> {
        let meta = fs::metadata(&common).map_err(|source| Error::Io { path: common.clone(), source })?;
        Ok(Self::with(common, &meta))
    }

    fn with(common: PathBuf, meta: &Metadata) -> Option<Self> {
        if !is_ours(meta) {
            return None;
        }
        let born = meta.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let born = born.and_then(|since| u64::try_from(since.as_nanos()).ok());
        Some(Self { common, identity: Identity { device: meta.dev(), inode: meta.ino(), born } })
    }

    /// Whether there is certainly nothing at a path.
    pub fn is_nothing_at(path: &Path) -> bool {
        path.symlink_metadata().is_err_and(|e| is_missing(&e))
    }

    /// Its display name: the directory around a `.git` or `.bare`, else its own name without `.git`.
    pub fn title(&self) -> &str {
        fn name(path: &Path) -> Option<&str> {
            path.file_name().and_then(OsStr::to_str)
        }
        match name(&self.common).unwrap_or_default() {
            ".git" | ".bare" => self.common.parent().and_then(name).unwrap_or_default(),
            own => own.strip_suffix(".git").unwrap_or(own),
        }
    }
}

/// The common directory of this user's repository whose top is `dir`, with its metadata if known; `None` if there is none.
fn common_of(dir: &Path) -> Result<Option<(PathBuf, Option<Metadata>)>, Error> {
    let git = dir.join(".git");
    let found = match fs::symlink_metadata(&git) {
        Err(e) if is_missing(&e) => return Ok(is_bare(dir).then(|| (dir.to_owned(), None))),
        Err(source) => return Err(Error::Io { path: git, source }),
        Ok(found) => found,
    };
    if !is_ours(&found) {
        return Ok(None);
    }
    if found.is_dir() {
        return Ok(is_git_dir(&git).then_some((git, Some(found))));
    }
    let common = if found.is_symlink() {
        let real = real(&git, &git)?;
        match fs::metadata(&real) {
            Ok(meta) if meta.is_dir() => resolve(&git, &real)?,
            Ok(meta) if meta.is_file() => linked(&real)?,
            _ => return Ok(None),
        }
    } else if found.is_file() {
        linked(&git)?
    } else {
        return Ok(None);
    };
    Ok(Some((common, None)))
}

/// The repository around `dir`, if it lists `dir` as its submodule. Most submodules have a `.git` file, which says so;
/// those cloned by hand or made by old versions of git have a directory.
fn superproject<'a>(dir: &'a Path, home: Option<&Path>) -> Result<Option<&'a Path>, Error> {
    let mut around = dir.ancestors().skip(1).filter(|above| above.parent().is_some() && Some(*above) != home);
    let above = loop {
        let Some(above) = around.next() else { return Ok(None) };
        let git = above.join(".git");
        match git.symlink_metadata() {
            Ok(_) => break above,
            // A file that we may not read belongs to somebody else.
            Err(e) if is_missing(&e) || e.kind() == io::ErrorKind::PermissionDenied => {}
            Err(source) => return Err(Error::Io { path: git, source }),
        }
    };
    let path = above.join(".gitmodules");
    let text = match fs::read(&path) {
        Err(e) if is_missing(&e) => return Ok(None),
        other => other.map_err(|source| Error::Io { path, source })?,
    };
    let own = dir.strip_prefix(above).unwrap_or(dir).as_os_str().as_bytes();
    let is_own = |line: &[u8]| {
        let value = line.trim_ascii().strip_prefix(b"path").map(<[u8]>::trim_ascii_start);
        value.and_then(|v| v.strip_prefix(b"=")).is_some_and(|value| value.trim_ascii() == own)
    };
    Ok(text.split(|byte| *byte == b'\n').any(is_own).then_some(above))
}

/// The target of a `.git` file.
fn linked(file: &Path) -> Result<PathBuf, Error> {
    let broken = |why: &str| Error::Broken { path: file.to_owned(), why: why.to_owned() };
    let text = read(file)?.ok_or_else(|| broken("is gone"))?;
    let path = text.strip_prefix(b"gitdir:").map(<[u8]>::trim_ascii).filter(|path| !path.is_empty());
    let path = path.ok_or_else(|| broken("has no `gitdir:`"))?;
    let dir = file.parent().unwrap_or(file).join(OsStr::from_bytes(path));
    resolve(file, &dir)
}

/// The common directory of a git directory, shared with its worktrees and its superproject.
fn resolve(file: &Path, dir: &Path) -> Result<PathBuf, Error> {
    let common = match read(&dir.join("commondir"))? {
        // The form that git writes for a worktree. It is short-cut because every part of a path costs a system call.
        Some(path) if path == b"../.." && dir.parent().is_some_and(|p| p.ends_with("worktrees")) => {
            real(file, dir.parent().and_then(Path::parent).unwrap_or(dir))?
        }
        Some(path) => real(file, &dir.join(OsStr::from_bytes(&path)))?,
        None => real(file, dir)?,
    };
    if !is_git_dir(&common) {
        let why = format!("leads to {}, which is not a repository", common.display());
        return Err(Error::Broken { path: file.to_owned(), why });
    }
    let modules = common.ancestors().filter(|above| above.file_name() == Some(OsStr::new("modules")));
    let superproject = modules.filter_map(Path::parent).find(|above| is_git_dir(above));
    superproject.map_or(Ok(common.clone()), |above| resolve(file, above))
}

fn is_ours(found: &Metadata) -> bool {
    static USER: OnceLock<u32> = OnceLock::new();
    found.uid() == *USER.get_or_init(|| rustix::process::geteuid().as_raw())
}

fn is_git_dir(dir: &Path) -> bool {
    dir.join("HEAD").symlink_metadata().is_ok()
}

/// Whether a directory is named like a bare repository and is one.
fn is_bare(dir: &Path) -> bool {
    let name = dir.file_name().and_then(OsStr::to_str).unwrap_or_default();
    (name == ".bare" || name.ends_with(".git")) && is_git_dir(dir) && dir.join("objects").is_dir()
}

fn real(file: &Path, path: &Path) -> Result<PathBuf, Error> {
    fs::canonicalize(path).map_err(|source| match is_missing(&source) {
        true => {
            let why = format!("leads to {}, which is not there", path.display());
            Error::Broken { path: file.to_owned(), why }
        }
        false => Error::Io { path: path.to_owned(), source },
    })
}

/// Reads a small file of git. `None` if it does not exist.
fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let io = |e: fault::Error| {
        let source = e.errno().map_or_else(|| io::Error::other(e.to_string()), io::Error::from);
        Error::Io { path: path.to_owned(), source }
    };
    Ok(glimpse(path).map_err(io)?.map(|text| text.trim_ascii_end().to_owned()))
}

fn is_missing(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Disk(tempfile::TempDir);

    impl Disk {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self, path: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(path)
        }

        fn dir(&self, path: &str) -> PathBuf {
            fs::create_dir_all(self.path(path)).unwrap();
            self.path(path)
        }

        fn file(&self, path: &str, text: &str) {
            self.dir(Path::new(path).parent().unwrap().to_str().unwrap());
            fs::write(self.path(path), text).unwrap();
        }

        /// A git directory.
        fn git(&self, path: &str) {
            self.file(&format!("{path}/HEAD"), "ref: refs/heads/main\n");
            self.dir(&format!("{path}/objects"));
        }

        fn common(&self, here: &str) -> Option<String> {
            let found = Repository::around(&self.dir(here), Some(&self.path("home"))).unwrap()?;
            Some(found.common.strip_prefix(self.path("")).unwrap().to_str().unwrap().to_owned())
        }
    }

    #[test]
    fn worktrees_and_subdirectories_share_their_repository() {
        let disk = Disk::new();
        disk.git("web/.git");
        disk.file("web/.git/worktrees/fix/commondir", "../..\n");
        disk.file("web/.git/worktrees/fix/HEAD", "x\n");
        disk.file("fix/.git", &format!("gitdir: {}\n", disk.path("web/.git/worktrees/fix").display()));
        for here in ["web", "web/src/deep", "fix", "fix/src"] {
            assert_eq!(disk.common(here).as_deref(), Some("web/.git"), "{here}");
        }
        assert_eq!(disk.common("elsewhere"), None);
    }

    #[test]
    fn a_submodule_has_the_room_of_its_superproject() {
        let disk = Disk::new();
        disk.git("web/.git");
        disk.git("web/.git/modules/lib");
        disk.git("web/.git/modules/lib/modules/deep");
        disk.file("web/lib/.git", "gitdir: ../.git/modules/lib\n");
        disk.file("web/lib/deep/.git", "gitdir: ../../.git/modules/lib/modules/deep\n");
        // A worktree of the superproject has git directories of its own for its submodules.
        disk.file("web/.git/worktrees/fix/commondir", "../..\n");
        disk.file("web/.git/worktrees/fix/HEAD", "x\n");
        disk.git("web/.git/worktrees/fix/modules/lib");
        disk.file("fix/lib/.git", "gitdir: ../../web/.git/worktrees/fix/modules/lib\n");
        for here in ["web/lib/src", "web/lib/deep", "fix/lib"] {
            assert_eq!(disk.common(here).as_deref(), Some("web/.git"), "{here}");
        }
    }

    #[test]
    fn bare_repositories_are_called_as_people_call_them() {
        let disk = Disk::new();
        disk.git("p/.bare");
        disk.file("p/.git", "gitdir: ./.bare\n");
        disk.git("x.git");
        disk.git("own/.git");
        let title = |here: &str| {
            Repository::around(&disk.dir(here), None).unwrap().map(|found| found.title().to_owned())
        };
        for (here, name) in
            [("p", "p"), ("p/.bare", "p"), ("x.git", "x"), ("x.git/hooks", "x"), ("own", "own")]
        {
            assert_eq!(title(here).as_deref(), Some(name), "{here}");
        }
    }

    #[test]
    fn a_directory_that_is_not_a_repository_is_passed_over() {
        let disk = Disk::new();
        disk.git("home/.git");
        disk.git("home/web/.git");
        disk.dir("home/web/empty/.git");
        assert_eq!(disk.common("home/notes"), None, "dotfiles");
        assert_eq!(disk.common("home/web/empty").as_deref(), Some("home/web/.git"));
    }

    #[test]
    fn a_git_file_that_leads_nowhere_is_an_error() {
        let disk = Disk::new();
        for (text, why) in [
            ("gitdir: ../gone\n", "not there"),
            ("hello\n", "no `gitdir:`"),
            ("gitdir: .\n", "not a repository"),
        ] {
            disk.file("broken/.git", text);
            let error = Repository::around(&disk.path("broken"), None).unwrap_err().to_string();
            assert!(error.contains("broken/.git") && error.contains(why), "{error}");
        }
    }
}
