//! The two programs that are compared, and how a run of one is timed.
//!
//! Postroom is the static binary that is shipped. The floor has the same profile and is linked as usual, so that the reference
//! stays what it was. Both are installed by copying and started in the same bare environment: nothing of the session that runs
//! the bench may reach them. The time of a run is from before the spawn to after the wait, as a
//! shell or an agent sees it; output goes to /dev/null.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::dist::Release;
use crate::repo::Repo;
use crate::run;

/// How what is shipped is built.
pub(crate) const PROFILE: &str = "dist";

#[derive(Debug)]
pub(crate) struct Programs {
    postroom: PathBuf,
    floor: PathBuf,
    null: File,
}

impl Programs {
    /// Builds the floor, and Postroom unless a binary is given.
    pub(crate) fn build(repo: &Repo, binary: Option<PathBuf>) -> Result<Self, String> {
        let build = |package: &str, binary: &str| {
            run::run(repo.cargo().args([
                "build",
                "--profile",
                PROFILE,
                "--quiet",
                "--package",
                package,
                "--bin",
                binary,
            ]))
        };
        build("xtask", "floor")?;
        let postroom = match binary {
            Some(given) => given.canonicalize().map_err(|e| format!("{}: {e}", given.display()))?,
            None => Release::build(repo)?.path,
        };
        let installed = repo.target.join("bench");
        let postroom = install(&postroom, &installed)?;
        let floor = install(&repo.binary(PROFILE, "floor"), &installed)?;
        let null = File::options().read(true).write(true).open("/dev/null");
        Ok(Self { postroom, floor, null: null.map_err(|e| format!("/dev/null: {e}"))? })
    }

    pub(crate) fn postroom(&self, args: &[&OsStr]) -> Command {
        self.command(&self.postroom, args)
    }

    pub(crate) fn floor(&self, args: &[&OsStr]) -> Command {
        self.command(&self.floor, args)
    }

    /// Another program, in the environment of the two.
    pub(crate) fn command(&self, program: &Path, args: &[&OsStr]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", "/nonexistent")
            .env("LC_ALL", "C");
        command
    }

    /// Silences a command. The one open /dev/null is shared, so that the spawn opens nothing.
    pub(crate) fn silence(&self, command: &mut Command) -> Result<(), String> {
        let null = || self.null.try_clone().map(Stdio::from).map_err(|e| format!("/dev/null: {e}"));
        command.stdin(null()?).stdout(null()?).stderr(null()?);
        Ok(())
    }

    /// Runs a command to its end and says how long it took. Other exit codes than the given ones are errors.
    pub(crate) fn time(&self, mut command: Command, expected: &[i32]) -> Result<Duration, String> {
        self.silence(&mut command)?;
        Self::time_as_is(command, expected)
    }

    /// The same for a command that consumes mail only if somebody can see it: what it prints goes into a pipe, which
    /// must be able to hold it, because nobody reads it before the end.
    pub(crate) fn time_heard(&self, mut command: Command, expected: &[i32]) -> Result<Duration, String> {
        self.silence(&mut command)?;
        command.stdout(Stdio::piped());
        Self::time_as_is(command, expected)
    }

    fn time_as_is(mut command: Command, expected: &[i32]) -> Result<Duration, String> {
        let start = Instant::now();
        // The child is kept: with it the reading end of its output would be closed.
        let run = command.spawn().and_then(|mut child| child.wait().map(|status| (child, status)));
        let took = start.elapsed();
        let (_child, status) = run.map_err(|e| format!("cannot run {command:?}: {e}"))?;
        match status.code() {
            Some(code) if expected.contains(&code) => Ok(took),
            _ => Err(format!("{} ended with {status}", shown(&command))),
        }
    }

    /// Runs what only a person can say.
    pub(crate) fn by_person(&self, command: &Command) -> Result<(), String> {
        match crate::seat::run(command, b"", true) {
            (0, ..) => Ok(()),
            (code, _, said) => Err(format!("{} ended with {code}: {}", shown(command), said.trim())),
        }
    }

    /// Runs a command that must succeed, and hands back what it printed.
    pub(crate) fn output(&self, mut command: Command) -> Result<String, String> {
        let output = command.output().map_err(|e| format!("cannot run {}: {e}", shown(&command)))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(format!("{} ended with {}: {said}", shown(&command), output.status));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Copies a program to where it is run from, as an installation would.
///
/// The linker writes its output in small pieces, and the kernel keeps the file in memory as it was written: started from
/// there, a program of some megabytes takes a fifth longer than the same bytes copied or read from the disk.
fn install(program: &Path, dir: &Path) -> Result<PathBuf, String> {
    let told = |e: std::io::Error| format!("cannot install {}: {e}", program.display());
    let installed = dir.join(program.file_name().unwrap_or_default());
    fs::create_dir_all(dir).map_err(told)?;
    // A new file, so that nothing of an older one stays in memory.
    match fs::remove_file(&installed) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(told(e)),
        _ => fs::copy(program, &installed).map_err(told)?,
    };
    Ok(installed)
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy();
    let args: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
    format!("`{program} {}`", args.join(" "))
}
