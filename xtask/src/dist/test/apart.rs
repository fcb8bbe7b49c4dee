//! Commands in namespaces of their own: without a network, and, if a root is given, with nothing but that root.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run;

/// How `unshare` is called on this machine.
#[derive(Debug)]
pub(crate) struct Apart {
    words: &'static [&'static str],
}

/// As root, and else as the only user of a namespace.
const WAYS: [&[&str]; 2] = [&["--net", "--mount"], &["--map-root-user", "--net", "--mount"]];

impl Apart {
    pub(crate) fn find() -> Result<Self, String> {
        let works = |words: &&[&str]| run::succeeds(Command::new("unshare").args(*words).arg("true"));
        let way = WAYS.into_iter().find(works);
        way.map(|words| Self { words }).ok_or_else(|| "`unshare` makes no namespaces here".to_owned())
    }

    /// A command without a network, at home in a place. Its environment has nothing else.
    pub(crate) fn command(&self, program: &str, place: &Path, path: &str) -> Command {
        let mut command = Command::new("unshare");
        command.args(self.words).arg("--").arg(program).env_clear().env("PATH", path);
        command.env("HOME", place.join("home")).env("TMPDIR", place.join("tmp"));
        command.current_dir(place.join("home"));
        command
    }

    /// A command in a root, which has `proc` for it to find itself.
    pub(crate) fn rooted(&self, root: &Path, program: &str) -> Command {
        let mut command = Command::new("unshare");
        command.args(self.words).args(["--pid", "--fork", "--mount-proc"]).arg("--root").arg(root);
        command.args(["--wd", "/", "--", program]).env_clear().env("HOME", "/home");
        command
    }
}

/// A place for one test, with a home and a directory for temporary files.
pub(crate) fn place() -> Result<tempfile::TempDir, String> {
    let place = tempfile::tempdir().map_err(|e| format!("cannot make a temporary directory: {e}"))?;
    for directory in ["home", "tmp"] {
        make(&place.path().join(directory))?;
    }
    Ok(place)
}

/// A place that is a root with these programs and their libraries, and nothing else.
pub(crate) fn bare_root(programs: &[&str]) -> Result<tempfile::TempDir, String> {
    let place = place()?;
    let root = place.path();
    for directory in ["proc", "dev"] {
        make(&root.join(directory))?;
    }
    fs::write(root.join("dev/null"), "").map_err(|e| format!("cannot make /dev/null: {e}"))?;
    for program in programs {
        let path = run::find_program(program).ok_or_else(|| format!("{program} is not installed"))?;
        let libraries =
            Command::new("ldd").arg(&path).output().map_err(|e| format!("cannot run ldd: {e}"))?;
        copy(&path, &root.join("bin").join(program))?;
        let libraries = String::from_utf8_lossy(&libraries.stdout).into_owned();
        for word in libraries.split_whitespace().filter(|word| word.starts_with('/')) {
            copy(Path::new(word), &root.join(word.trim_start_matches('/')))?;
        }
    }
    Ok(place)
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    to.parent().map_or(Ok(()), make)?;
    fs::copy(from, to).map(|_| ()).map_err(|e| format!("cannot copy {}: {e}", from.display()))
}

pub(crate) fn make(directory: &Path) -> Result<(), String> {
    fs::create_dir_all(directory).map_err(|e| format!("cannot make {}: {e}", directory.display()))
}
