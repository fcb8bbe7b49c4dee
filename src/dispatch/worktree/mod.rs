//! Worktrees: a run of an agent with `worktree` works in a git worktree of its own, on its own branch.
//!
//! ```text
//! <state>/worktrees/<repository>/<branch>/       the worktree; `/` in the branch is `+` here
//!                               /<branch>.json   its record: the run that works there, if any, and where it began
//!                               /<branch>.lock   flocked by the supervisor that works there
//!                               /.turn           flocked while git changes its list of worktrees
//!                               /.sweep          flocked while what killed supervisors left is settled
//! ```
//!
//! The record is written before git is called, and removed after the worktree. So a worktree with a run in its record and
//! nobody at its lock was left by a killed supervisor; the next process that looks settles it (`settle`). The directory is
//! outside of the project and of the room, so an agent in a sandbox cannot write beside its worktree: neither the record,
//! nor files that agent programs look for above their directory.

mod changes;
mod settle;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error as ThisError;

use crate::clock::Clock;
use crate::hex;
use crate::mailbox::lock::{Hold, Lock};
use crate::mailbox::{Dir, IfAny, fault};
use crate::message::visible;
use crate::name::with_numbers;
use crate::post::{Post, Worktrees};
use crate::process::child::Next;
use crate::process::git::{self, Git};
use crate::repository::{self, Repository};

pub use changes::changes;
pub use settle::kept;
pub(super) use settle::{settle, settle_left};

/// How many runs may have a branch of one name at once.
const SAME: usize = 1000;
const RECORD: u64 = 64 * 1024;

/// Held while git changes its list of worktrees: it fails if it meets one that another process is making.
const TURN: &str = ".turn";

/// Held while worktrees of killed supervisors are settled: their branches seem to be taken meanwhile, and are not.
const SWEEP: &str = ".sweep";

type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, ThisError)]
pub(super) enum Error {
    #[error("`worktree` needs a git repository, and there is none around {}", .path.display())]
    NoRepository { path: PathBuf },
    #[error("`worktree` needs a commit, and {} has none", .path.display())]
    NoCommit { path: PathBuf },
    #[error("`worktree` needs a directory for the user's state; set HOME or XDG_STATE_HOME")]
    NoState,
    #[error("the worktree {} is not registered in its repository", .path.display())]
    Unregistered { path: PathBuf },
    #[error(transparent)]
    Git(#[from] git::Error),
    #[error(transparent)]
    Disk(#[from] fault::Error),
    #[error(transparent)]
    Repository(#[from] repository::Error),
}

/// The worktree of a run, as its record and its asker know it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunWorktree {
    pub branch: String,
    pub path: String,
    /// The commit where the run began.
    pub base: String,
    /// The last commit of the branch, once the run has ended.
    #[serde(default)]
    pub head: String,
    /// What differs between the two.
    #[serde(default)]
    pub files: u64,
    #[serde(default)]
    pub added: u64,
    #[serde(default)]
    pub removed: u64,
    /// It had no changes, so neither the worktree nor a new branch is left.
    #[serde(default)]
    pub gone: bool,
    /// Why it could not be settled yet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fault: String,
}

impl RunWorktree {
    /// What the asker is told in the header of the answer. Not in its text, which another program may have to read.
    pub(super) fn fields(&self) -> Vec<(String, String)> {
        if self.gone {
            let lost =
                (!self.fault.is_empty()).then(|| ("changes".to_owned(), format!("none: {}", self.fault)));
            return lost.into_iter().collect();
        }
        let changes = if self.fault.is_empty() { self.size() } else { "not committed".to_owned() };
        let fields = [("branch", self.branch.clone()), ("worktree", self.path.clone()), ("changes", changes)];
        fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// What went wrong with it, also if the run itself went well.
    pub(super) fn complaint(&self) -> Option<String> {
        self.remark().filter(|_| !self.fault.is_empty())
    }

    /// A remark for the reason of a run that failed.
    pub(super) fn remark(&self) -> Option<String> {
        match self {
            Self { fault, path, .. } if !fault.is_empty() => {
                Some(format!("What it left in {path} could not be committed: {fault}"))
            }
            Self { gone: false, branch, .. } => {
                Some(format!("What it changed is on the branch {branch} ({}).", self.size()))
            }
            _ => None,
        }
    }

    /// The size of the changes: `2 files, +10 -3`.
    pub fn size(&self) -> String {
        let files = if self.files == 1 { "file" } else { "files" };
        format!("{} {files}, +{} -{}", self.files, self.added, self.removed)
    }
}

/// The record of a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    v: u32,
    /// The run that works there; empty when it has ended.
    run: String,
    /// The name of the agent.
    agent: String,
    /// The common directory of the repository.
    repository: PathBuf,
    branch: String,
    base: String,
    /// The branch did not exist before.
    created: bool,
    /// The files are there, so an agent may have worked with them.
    ready: bool,
}

/// A worktree that this process works in.
pub(super) struct Held<'c> {
    /// The directory around it.
    dir: Dir,
    slug: String,
    record: Record,
    git: Git<'c>,
    _lock: Lock,
}

/// The project's directory that a worktree stands for.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) repository: Repository,
    /// The top of the worktree that the project itself uses.
    pub(super) top: PathBuf,
}

impl Site {
    /// The repository around a directory.
    pub(super) fn around(here: &Path) -> Result<Self> {
        let none = || Error::NoRepository { path: here.to_owned() };
        let repository = Repository::around(here, None)?.ok_or_else(none)?;
        let is_top = |dir: &&Path| dir.join(".git").symlink_metadata().is_ok();
        let top = here.ancestors().find(is_top).ok_or_else(none)?.to_owned();
        Ok(Self { repository, top })
    }

    /// Its part of the path of worktrees: for people, and different for each repository.
    fn key(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
        let title: String = self.repository.title().chars().take(40).map(plain).collect();
        let title = title.trim_start_matches('-');
        format!("{title}-{}", hex::digest(self.repository.common.as_os_str().as_bytes(), 4))
    }

    /// The commit that is checked out in the project's directory.
    fn head(&self, git: &Git<'_>) -> Result<String> {
        let own = match self.top.join(".git").symlink_metadata().is_ok_and(|found| found.is_dir()) {
            true => self.repository.common.clone(),
            false => {
                registered(&self.repository.common, &self.top)?.unwrap_or(self.repository.common.clone())
            }
        };
        let head = git.within(&own, &self.top).line(&["rev-parse", "--verify", "-q", "HEAD^{commit}"]);
        head.map_err(|e| match e {
            git::Error::Failed { .. } => Error::NoCommit { path: self.top.clone() },
            e => e.into(),
        })
    }
}

/// Makes the worktree of a run, or goes on in the one that an earlier run with this branch left. If another run works on
/// the branch now, this one gets a branch of its own, with a number. `beat` is called again and again while git
/// works, and says whether it may go on.
pub(super) fn make<'c>(
    post: &'c Post,
    site: &Site,
    branch: &str,
    (agent, run): (&str, &str),
    beat: &'c dyn Fn() -> Next,
) -> Result<Held<'c>> {
    let state = post.worktrees().ok_or(Error::NoState)?;
    let common = &site.repository.common;
    let git = Git::of(common, state.search.as_deref(), run, post.room().clock())?.beating(beat);
    let made = Dir::make(&state.dir.join(site.key()))?;
    let dir = Dir::open(&home(state).join(site.key()))?;
    drop(made);
    settle::sweep(&dir, state, post.room().clock());
    let here = site.head(&git)?;
    let FreeBranch { name: branch, slug, lock } = free(&dir, branch)?;
    let mut record = Record {
        v: 1,
        run: run.to_owned(),
        agent: agent.to_owned(),
        repository: common.clone(),
        branch,
        base: here,
        created: true,
        ready: false,
    };
    let path = dir.path().join(&slug);
    let left = read(&dir, &slug)?.filter(|left| left.repository == *common && left.branch == record.branch);
    let tip = tip(&git, &record.branch)?;
    if let Some(tip) = &tip {
        (record.base, record.created) = (tip.clone(), false);
    }
    let turn = dir.lock(TURN)?;
    let own = registered(common, &path)?;
    let mut held = Held { dir, slug, record, git, _lock: lock };
    let is_kept = left.is_some_and(|left| left.ready) && path.join(".git").exists();
    held.record.ready = is_kept && own.as_ref().is_some_and(|own| held.is_on_branch(own));
    write(&held.dir, &held.slug, &held.record)?;
    let reason = format!("postroom run {run}");
    if held.record.ready {
        held.git.call_with(&with(&["worktree", "lock", "--reason", &reason], &path), b"")?;
        return Ok(held);
    }
    held.clear(own.is_some())?;
    let mut words = vec!["worktree", "add", "-q", "--no-checkout", "--lock", "--reason", &reason];
    words.extend(tip.is_none().then_some(["-b", &held.record.branch]).into_iter().flatten());
    let mut words = with(&words, &path);
    words.push(OsStr::new(if tip.is_none() { &held.record.base } else { &held.record.branch }));
    held.git.call_with(&words, b"")?;
    drop(turn);
    // Plumbing: it runs no hook, and enters no submodule.
    held.within()?.call(&["read-tree", "--reset", "-u", "HEAD"], b"")?;
    held.record.ready = true;
    write(&held.dir, &held.slug, &held.record)?;
    Ok(held)
}

/// The arguments of a call, with a path at the end.
fn with<'p>(words: &'p [&'p str], path: &'p Path) -> Vec<&'p OsStr> {
    words.iter().map(OsStr::new).chain([path.as_os_str()]).collect()
}

impl<'c> Held<'c> {
    pub(super) fn path(&self) -> PathBuf {
        self.dir.path().join(&self.slug)
    }

    /// What is known of it while the run goes on.
    pub(super) fn shown(&self) -> RunWorktree {
        RunWorktree {
            branch: self.record.branch.clone(),
            path: self.path().display().to_string(),
            base: self.record.base.clone(),
            ..RunWorktree::default()
        }
    }

    /// Git in the worktree. Where its git directory is, is asked of the repository: a file in the worktree may lie.
    fn within(&self) -> Result<Git<'c>> {
        let path = self.path();
        let own = registered(&self.record.repository, &path)?;
        let own = own.ok_or_else(|| Error::Unregistered { path: path.clone() })?;
        Ok(self.git.within(&own, &path))
    }

    fn is_on_branch(&self, own: &Path) -> bool {
        let head = self.git.within(own, &self.path()).line(&["symbolic-ref", "-q", "HEAD"]);
        head.is_ok_and(|head| head == format!("refs/heads/{}", self.record.branch))
    }

    /// Removes the worktree, and what the repository knows of it.
    fn clear(&self, is_registered: bool) -> Result<()> {
        self.dir.remove_tree(&self.slug).if_any()?;
        if is_registered {
            let path = self.path();
            self.git.call_with(&with(&["worktree", "remove", "--force", "--force"], &path), b"")?;
        }
        Ok(())
    }
}

/// A branch that no run works on, with the lock of its worktree.
struct FreeBranch {
    name: String,
    slug: String,
    lock: Lock,
}

/// The first free branch of this name.
fn free(dir: &Dir, branch: &str) -> Result<FreeBranch> {
    let parts = |name: &str| {
        let slug = name.replace('/', "+");
        let lock = format!("{slug}.lock");
        (slug, lock)
    };
    let mut last = branch.to_owned();
    for name in with_numbers(branch).take(SAME) {
        let (slug, lock) = parts(&name);
        if let Some(lock) = dir.try_lock(&lock, Hold::Alone)? {
            return Ok(FreeBranch { name, slug, lock });
        }
        let sweep = dir.lock(SWEEP)?;
        if let Some(lock) = dir.try_lock(&lock, Hold::Alone)? {
            return Ok(FreeBranch { name, slug, lock });
        }
        drop(sweep);
        last = name;
    }
    // Runs work on all of them: this one waits for the last.
    let (slug, lock) = parts(&last);
    Ok(FreeBranch { lock: dir.lock(&lock)?, name: last, slug })
}

fn read(dir: &Dir, slug: &str) -> Result<Option<Record>> {
    let bytes = dir.read(&format!("{slug}.json"), RECORD)?;
    // One that cannot be read is that of no worktree: git says whether there is one.
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

fn write(dir: &Dir, slug: &str, record: &Record) -> Result<()> {
    Ok(dir.replace_synced(&format!("{slug}.json"), &serde_json::to_vec(record).unwrap_or_default())?)
}

/// The last commit of a branch, if it exists.
fn tip(git: &Git<'_>, branch: &str) -> Result<Option<String>> {
    let name = format!("refs/heads/{branch}");
    match git.line(&["rev-parse", "--verify", "-q", &name]) {
        Ok(tip) => Ok(Some(tip)),
        Err(git::Error::Failed { said, .. }) if said.is_empty() => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// The git directory of a worktree, by the repository's own list.
fn registered(common: &Path, worktree: &Path) -> Result<Option<PathBuf>> {
    let Some(list) = Dir::outside(common)?.sub_if_any("worktrees")? else { return Ok(None) };
    for name in list.names(|_, kind| kind == rustix::fs::FileType::Directory)? {
        let Some(own) = list.sub(&name).if_any()? else { continue };
        let Some(text) = own.read("gitdir", 16 * 1024).if_any()?.flatten() else { continue };
        let file = own.path().join(OsStr::from_bytes(text.trim_ascii_end()));
        if crate::settings::lexical(&file).parent() == Some(worktree) {
            return Ok(Some(own.path().to_owned()));
        }
    }
    Ok(None)
}

/// An error in words for the sender of a message.
pub(super) fn said(e: &Error) -> String {
    visible::clip(&e.to_string(), 600)
}

/// The directory of all worktrees, with links resolved, as git knows it.
fn home(state: &Worktrees) -> PathBuf {
    std::fs::canonicalize(&state.dir).unwrap_or_else(|_| state.dir.clone())
}

/// A worktree by its path: the directory around it, and its name there.
fn place<'p>(state: &Worktrees, path: &'p Path) -> Option<(Dir, &'p str)> {
    let slug = path.file_name()?.to_str()?;
    let around = path.parent()?;
    // The record of a run is in the room, where agents can write: only a worktree of ours is touched.
    if around.parent()? != home(state) {
        return None;
    }
    Some((Dir::open(around).ok()?, slug))
}

/// Git for a repository, as a record names it.
fn git_of<'c>(state: &Worktrees, record: &Record, clock: &'c dyn Clock) -> Result<Git<'c>> {
    Ok(Git::of(&record.repository, state.search.as_deref(), &record.run, clock)?)
}
