//! Git: runs the `git` program on one repository. The only place that does.
//!
//! The repository belongs to a project, and an agent may have written into its worktree, so nothing in either may start a
//! program. The directory of the repository is always named, never searched for: a `.git` in a worktree is not read. Hooks,
//! the file system monitor, filters, external diffs, signing, transports and the settings of the machine and the user are
//! off. The environment is empty apart from the search path, and a call takes a bounded time. Callers use plumbing commands
//! that never enter a nested repository, whose own settings could start programs.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use thiserror::Error as ThisError;

use super::child::Next;
use super::marked::GIT_MARK;
use crate::clock::Clock;
use crate::os::{Handle, await_end};

/// How long one call may take: the checkout of a large repository.
const LONGEST: Duration = Duration::from_secs(600);

/// How much of an output is kept.
const KEPT: u64 = 64 * 1024 * 1024;

/// What of its errors is told.
const TOLD: usize = 500;

/// Settings that win over those of the repository. An empty value is none.
const OFF: [(&str, &str); 18] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.splitIndex", "false"),
    ("core.sshCommand", "false"),
    ("core.askPass", ""),
    ("core.gitProxy", ""),
    ("core.alternateRefsCommand", ""),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("diff.ignoreSubmodules", "all"),
    ("submodule.recurse", "false"),
    ("commit.gpgSign", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("protocol.allow", "never"),
];

pub type Result<T> = std::result::Result<T, Error>;

/// Why git did not do what it was asked for.
#[derive(Debug, ThisError)]
pub enum Error {
    #[error("the program `git` is not there")]
    Missing,
    #[error("git {what} in {} failed: {said}", .repository.display())]
    Failed { what: String, repository: PathBuf, said: String },
    #[error("git {what} in {} took longer than {} s", .repository.display(), LONGEST.as_secs())]
    TooLong { what: String, repository: PathBuf },
    #[error("git {what} in {} was stopped", .repository.display())]
    Stopped { what: String, repository: PathBuf },
    #[error("git {what} in {} cannot be run: {source}", .repository.display())]
    Io { what: String, repository: PathBuf, source: io::Error },
    #[error("git {what} in {} answered something that is not understood: {said}", .repository.display())]
    Odd { what: String, repository: PathBuf, said: String },
}

/// A repository, or one worktree of it, for calls of git.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "functions have no text")]
pub struct Git<'c> {
    /// Its git directory.
    directory: PathBuf,
    worktree: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
    clock: &'c dyn Clock,
    /// Called again and again while git works, which may take long. It says whether git may go on.
    beat: Option<&'c dyn Fn() -> Next>,
}

impl<'c> Git<'c> {
    /// The repository with this common directory. `search` is the search path; every process is marked as one of the run.
    pub fn of(common: &Path, search: Option<&OsStr>, run: &str, clock: &'c dyn Clock) -> Result<Self> {
        let mut git = Self {
            directory: common.to_owned(),
            worktree: None,
            environment: usual(search, run),
            clock,
            beat: None,
        };
        git.override_with(OFF.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
        // Which filters there are is only known to the settings of the repository.
        let listed = git.call(&["config", "--null", "--name-only", "--get-regexp", r"^filter\..*"], b"");
        let names = match listed {
            Ok(names) => names,
            // There is none.
            Err(Error::Failed { said, .. }) if said.is_empty() => vec![],
            Err(e) => return Err(e),
        };
        let mut off: Vec<_> = OFF.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let name = String::from_utf8_lossy(name).into_owned();
            let value = if name.ends_with(".required") { "false" } else { "" };
            off.push((name, value.to_owned()));
        }
        git.override_with(off);
        Ok(git)
    }

    /// Calls a function again and again while git works, and ends git when it says so.
    pub fn beating(self, beat: &'c dyn Fn() -> Next) -> Self {
        Self { beat: Some(beat), ..self }
    }

    /// For calls in a worktree, whose own git directory is given.
    pub fn within(&self, directory: &Path, worktree: &Path) -> Self {
        Self { directory: directory.to_owned(), worktree: Some(worktree.to_owned()), ..self.clone() }
    }

    /// The common directory, or that of the worktree.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// In the environment, because a key may contain an equals sign, and because calls of git by git inherit it.
    fn override_with(&mut self, settings: Vec<(String, String)>) {
        self.environment.retain(|(name, _)| !name.to_string_lossy().starts_with("GIT_CONFIG_COUNT"));
        self.environment.push(("GIT_CONFIG_COUNT".into(), settings.len().to_string().into()));
        for (at, (key, value)) in settings.into_iter().enumerate() {
            self.environment.push((format!("GIT_CONFIG_KEY_{at}").into(), key.into()));
            self.environment.push((format!("GIT_CONFIG_VALUE_{at}").into(), value.into()));
        }
    }

    /// Sets who made the commits of the calls that follow.
    pub fn by(mut self, name: &str, mail: &str) -> Self {
        for role in ["AUTHOR", "COMMITTER"] {
            self.environment.push((format!("GIT_{role}_NAME").into(), name.into()));
            self.environment.push((format!("GIT_{role}_EMAIL").into(), mail.into()));
        }
        self
    }

    /// Runs git, and returns what it printed.
    pub fn call(&self, words: &[&str], input: &[u8]) -> Result<Vec<u8>> {
        let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        self.call_with(&words, input)
    }

    /// As [`Git::call`], for arguments that need not be text.
    pub fn call_with(&self, words: &[&OsStr], input: &[u8]) -> Result<Vec<u8>> {
        let what = || words.first().map(|word| word.display().to_string()).unwrap_or_default();
        let failed = |source| Error::Io { what: what(), repository: self.directory.clone(), source };
        let mut command = Command::new("git");
        command.arg("--no-pager").arg("--git-dir").arg(&self.directory);
        if let Some(worktree) = &self.worktree {
            command.arg("--work-tree").arg(worktree).current_dir(worktree);
        }
        command.args(words).env_clear().envs(self.environment.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|e| match e.kind() {
            // A worktree that is gone looks the same.
            io::ErrorKind::NotFound if self.worktree.as_ref().is_none_or(|path| path.is_dir()) => {
                Error::Missing
            }
            _ => failed(e),
        })?;
        let (process, group) = (Handle::of_child(&child), Pid::from_child(&child));
        if let Some(mut stdin) = child.stdin.take() {
            let input = input.to_vec();
            thread::spawn(move || stdin.write_all(&input));
        }
        let out = child.stdout.take().map(|from| thread::spawn(move || all_of(from)));
        let err = child.stderr.take().map(|from| thread::spawn(move || all_of(from)));
        let start = self.clock.boot();
        let (mut too_long, mut is_unwanted) = (false, false);
        let status = loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                break status;
            }
            too_long = self.clock.boot().saturating_sub(start) >= LONGEST;
            is_unwanted |= self.beat.is_some_and(|beat| beat() == Next::Stop);
            if too_long || is_unwanted {
                let _ = kill_process_group(group, Signal::KILL);
            }
            await_end(process.as_ref(), Duration::from_millis(500));
        };
        // Nothing that it left behind may hold the pipes.
        let _ = kill_process_group(group, Signal::KILL);
        let [out, err] = [out, err].map(|reader| reader.and_then(|r| r.join().ok()).unwrap_or_default());
        let repository = self.directory.clone();
        match (too_long, status.success()) {
            (true, _) => Err(Error::TooLong { what: what(), repository }),
            (_, false) if is_unwanted => Err(Error::Stopped { what: what(), repository }),
            (_, false) => Err(Error::Failed { what: what(), repository, said: told(&err) }),
            (_, true) if out.len() as u64 >= KEPT => {
                Err(Error::Odd { what: what(), repository, said: "too much".to_owned() })
            }
            (_, true) => Ok(out),
        }
    }

    /// Runs git, and returns the one line that it printed.
    pub fn line(&self, words: &[&str]) -> Result<String> {
        let out = self.call(words, b"")?;
        let text = String::from_utf8_lossy(&out).trim_end().to_owned();
        match text.contains('\n') || text.is_empty() {
            true => Err(Error::Odd {
                what: words.first().copied().unwrap_or_default().to_owned(),
                repository: self.directory.clone(),
                said: told(&out),
            }),
            false => Ok(text),
        }
    }
}

/// What every call gets: nothing of the machine, the user or a terminal.
fn usual(search: Option<&OsStr>, run: &str) -> Vec<(OsString, OsString)> {
    let fixed = [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        ("LC_ALL", "C"),
        (GIT_MARK, run),
    ];
    let mut all: Vec<(OsString, OsString)> = fixed.map(|(name, value)| (name.into(), value.into())).into();
    all.extend(search.map(|search| ("PATH".into(), search.to_owned())));
    all
}

/// The end of what it said, as one line.
fn told(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let skipped = line.chars().count().saturating_sub(TOLD);
    line.chars().skip(skipped).collect()
}

fn all_of(from: impl Read) -> Vec<u8> {
    let mut bytes = vec![];
    // What was read before an error is what there is.
    let _ = from.take(KEPT).read_to_end(&mut bytes);
    bytes
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use super::*;
    use crate::clock::SystemClock;

    fn repository() -> (tempfile::TempDir, PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap().join("web");
        let git = |words: &[&str]| {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=a", "-c", "user.email=a@b", "-C"]).arg(&top).args(words);
            assert!(command.output().unwrap().status.success(), "{words:?}");
        };
        std::fs::create_dir(&top).unwrap();
        git(&["init", "-q"]);
        std::fs::write(top.join("a.txt"), "one\n").unwrap();
        git(&["add", "."]);
        git(&["commit", "-qm", "first"]);
        (temp, top)
    }

    /// Every setting of a repository that starts a program: none of them is followed.
    #[test]
    fn nothing_of_the_repository_is_started() {
        let (temp, top) = repository();
        let mark = temp.path().join("pwned");
        let touch = format!("touch {}", mark.display());
        let hook = top.join(".git/hooks/post-checkout");
        std::fs::write(&hook, format!("#!/bin/sh\n{touch} hook\n")).unwrap();
        std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let hostile = format!(
            "[core]\n\tfsmonitor = {touch} fsmonitor\n\tsshCommand = {touch}\n[diff]\n\texternal = {touch}\n\
             [filter \"x=y\"]\n\tclean = {touch}\n\tsmudge = {touch}\n\trequired = true\n\
             [filter \"z\"]\n\tprocess = {touch}\n\trequired = true\n"
        );
        let path = top.join(".git/config");
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + &hostile).unwrap();
        std::fs::write(top.join(".git/info/attributes"), "a.txt filter=x=y\nb.txt filter=z\n").unwrap();
        let search = std::env::var_os("PATH");
        let git = Git::of(&top.join(".git"), search.as_deref(), "r", &SystemClock).unwrap();
        let place = temp.path().join("place");
        let words = ["worktree", "add", "-q", "-b", "new", place.to_str().unwrap(), "HEAD"];
        git.call(&words, b"").unwrap();
        assert_eq!(std::fs::read_to_string(place.join("a.txt")).unwrap(), "one\n");
        std::fs::write(place.join("b.txt"), "two\n").unwrap();
        let within = git.within(&top.join(".git/worktrees/place"), &place);
        within.call(&["update-index", "--add", "-z", "--stdin"], b"a.txt\0b.txt\0").unwrap();
        within.line(&["write-tree"]).unwrap();
        assert!(!mark.exists(), "{:?}", std::fs::read_dir(temp.path()).unwrap().collect::<Vec<_>>());
    }

    #[test]
    fn errors_name_what_was_asked_and_where() {
        let (_temp, top) = repository();
        let git = Git::of(&top.join(".git"), std::env::var_os("PATH").as_deref(), "r", &SystemClock).unwrap();
        let error = git.call(&["rev-parse", "--verify", "nothing"], b"").unwrap_err().to_string();
        assert!(
            error.starts_with("git rev-parse in ") && error.contains("Needed a single revision"),
            "{error}"
        );
        let nowhere = std::ffi::OsStr::new("/nowhere");
        let missing = Git::of(&top.join(".git"), Some(nowhere), "r", &SystemClock).err();
        assert!(matches!(missing, Some(Error::Missing)), "{missing:?}");
        assert!(git.line(&["rev-list", "--all", "--not", "--all"]).is_err(), "nothing is not a line");
    }
}
