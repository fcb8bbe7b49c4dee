//! Paths for commands: paths that a person named, the nearest project and tree, programs on the search path.

use std::fs::{File, canonicalize};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use super::{Environment, Error, Result};
use crate::room;
use crate::settings::{self, Project};

/// A directory that a person named, with all links resolved once: after this none is followed.
pub fn whole_path(path: &Path) -> Result<PathBuf> {
    canonicalize(path).map_err(|source| Error::NoPath { path: path.to_owned(), source })
}

/// The directory of a room as named, without following a link at its end.
pub(super) fn absolute(path: &Path) -> Result<PathBuf> {
    let refuse = |why: io::Error| Error::BadRoot { path: path.to_owned(), why: why.to_string() };
    let full = std::path::absolute(path).map_err(refuse)?;
    if !full.components().any(|part| part == Component::ParentDir) {
        return Ok(full);
    }
    // `..` only means something once links are resolved; the last component is still checked later.
    match (full.parent(), full.file_name()) {
        (Some(parent), Some(last)) => Ok(canonicalize(parent).map_err(refuse)?.join(last)),
        _ => canonicalize(&full).map_err(refuse),
    }
}

/// The `.claude` directory: of the named directory, else the nearest one above the working directory that has inboxes.
pub fn tree(environment: &dyn Environment, named: Option<&Path>) -> Result<PathBuf> {
    let start = match named {
        Some(path) => whole_path(path)?,
        None => environment.here().map_err(|_| Error::NoTree { at: ".".into() })?,
    };
    let failed = |source| Error::Look { path: start.clone(), source };
    if start.ends_with(".claude") && is_tree(&start).map_err(failed)? {
        return Ok(start);
    }
    let above = start.ancestors().take(if named.is_some() { 1 } else { usize::MAX });
    tree_among(above).map_err(failed)?.ok_or_else(|| Error::NoTree { at: start.clone() })
}

/// The nearest `.claude` directory with inboxes, from the working directory upwards.
pub fn nearest_tree(environment: &dyn Environment) -> Option<PathBuf> {
    tree_among(environment.here().ok()?.ancestors()).ok()?
}

fn tree_among<'a>(dirs: impl Iterator<Item = &'a Path>) -> io::Result<Option<PathBuf>> {
    for claude in dirs.map(|dir| dir.join(".claude")) {
        if is_tree(&claude)? {
            return Ok(Some(claude));
        }
    }
    Ok(None)
}

fn is_tree(claude: &Path) -> io::Result<bool> {
    match claude.join("inboxes").metadata() {
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        // On the way up, another user's directory is skipped.
        Err(e) if e.kind() == ErrorKind::PermissionDenied => Ok(false),
        found => Ok(found?.is_dir()),
    }
}

/// Finds a program as starting it in a directory would: by its path, else on the search path.
pub fn program_from(environment: &dyn Environment, program: &str, from: &Path) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(from.join(program)).filter(|path| is_program(path));
    }
    programs_on_path(environment, program).into_iter().next()
}

/// All programs of this name on the search path, in its order.
pub fn programs_on_path(environment: &dyn Environment, program: &str) -> Vec<PathBuf> {
    let path = environment.variable("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|dir| dir.join(program)).filter(|path| is_program(path)).collect()
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The settings of the nearest `postroom.toml` at or above a directory.
pub(super) fn project(here: &Path) -> Result<Option<Project>> {
    let Some((path, text)) = project_file_above(here)? else { return Ok(None) };
    Ok(Some(Project::parse(&text, &path.display().to_string())?))
}

/// The project file around the working directory, and its text.
pub fn project_file(environment: &dyn Environment) -> Result<Option<(PathBuf, String)>> {
    environment.here().map_or(Ok(None), |here| project_file_above(&here))
}

#[allow(clippy::disallowed_methods, reason = "it only reads, and a person may have made it a link")]
fn project_file_above(here: &Path) -> Result<Option<(PathBuf, String)>> {
    // A pipe of that name would block every command.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    for directory in here.ancestors() {
        let path = directory.join(settings::FILE);
        let failed = |source: io::Error| Error::Unreadable { path: path.clone(), source };
        let file = match File::options().read(true).custom_flags(nonblocking).open(&path) {
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
            other => other.map_err(failed)?,
        };
        // In a room the file of this name holds its limits, and is read there.
        if directory.join(room::VERSION_FILE).is_file() {
            continue;
        }
        let found = file.metadata().map_err(failed)?;
        if !found.is_file() || found.len() > settings::LARGEST {
            return Err(Error::Odd { path });
        }
        let mut text = String::new();
        file.take(settings::LARGEST).read_to_string(&mut text).map_err(failed)?;
        return Ok(Some((path, text)));
    }
    Ok(None)
}

/// The working directory and those above it.
pub fn above(environment: &dyn Environment) -> Vec<PathBuf> {
    environment.here().map(|here| here.ancestors().map(Path::to_owned).collect()).unwrap_or_default()
}

/// The project around the working directory.
pub fn project_dir(environment: &dyn Environment) -> Result<PathBuf> {
    let here = environment.here().and_then(canonicalize).map_err(Error::NoHere)?;
    Ok(project_around(&here))
}

/// The project around a directory: the nearest directory with a repository or settings, else itself.
pub fn project_around(here: &Path) -> PathBuf {
    let is_project = |dir: &&Path| dir.join(".git").exists() || dir.join(settings::FILE).exists();
    here.ancestors().find(is_project).unwrap_or(here).to_owned()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use super::*;
    use crate::surroundings::tests::Given;

    fn given() -> (tempfile::TempDir, Given) {
        let temp = tempfile::tempdir().unwrap();
        let here = temp.path().canonicalize().unwrap().join("project/deep");
        std::fs::create_dir_all(&here).unwrap();
        (temp, Given { here, ..Given::default() })
    }

    #[test]
    fn the_nearest_settings_of_a_project_are_read_and_those_of_a_room_are_not() {
        let (temp, given) = given();
        assert_eq!(project_file(&given).unwrap(), None);
        let base = temp.path().canonicalize().unwrap();
        std::fs::write(base.join("postroom.toml"), "room = \"far\"\n").unwrap();
        std::fs::write(base.join("project/postroom.toml"), "room = \"near\"\n").unwrap();
        assert_eq!(project(&given.here).unwrap().unwrap().room.unwrap().as_str(), "near");
        assert_eq!(project_dir(&given).unwrap(), base.join("project"));
        std::fs::write(base.join("project/.postroom"), "postroom 1\n").unwrap();
        assert_eq!(project(&given.here).unwrap().unwrap().room.unwrap().as_str(), "far");
        std::fs::create_dir(given.here.join("postroom.toml")).unwrap();
        assert!(matches!(project_file(&given), Err(Error::Odd { .. })));
    }

    #[test]
    fn a_tree_is_the_nearest_one_with_inboxes_and_a_named_one_is_no_other() {
        let (temp, given) = given();
        let project = temp.path().canonicalize().unwrap().join("project");
        assert_eq!(nearest_tree(&given), None);
        std::fs::create_dir_all(project.join(".claude/inboxes")).unwrap();
        std::fs::create_dir_all(given.here.join(".claude")).unwrap();
        assert_eq!(nearest_tree(&given), Some(project.join(".claude")));
        assert_eq!(tree(&given, None).unwrap(), project.join(".claude"));
        assert_eq!(tree(&given, Some(&project.join(".claude"))).unwrap(), project.join(".claude"));
        assert!(matches!(tree(&given, Some(&given.here)), Err(Error::NoTree { .. })));
        assert!(matches!(tree(&given, Some(&project.join("none"))), Err(Error::NoPath { .. })));
    }

    #[test]
    fn a_program_is_what_can_be_started() {
        let (_temp, mut given) = given();
        let program = given.here.join("agent");
        given.variables = vec![("PATH", format!("/nowhere:{}", given.here.display()))];
        std::fs::write(&program, "").unwrap();
        assert_eq!(program_from(&given, "agent", Path::new("/")), None);
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(program_from(&given, "agent", Path::new("/")), Some(program.clone()));
        assert_eq!(program_from(&given, "./agent", &given.here), Some(given.here.join("./agent")));
        assert_eq!(program_from(&given, "./agent", Path::new("/")), None);
    }
}
