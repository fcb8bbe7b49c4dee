//! The files that a fingerprint covers: those that an agent program reads by itself in the agent's working directory
//! and above it, up to the top of the repository.
//!
//! The table of programs lists these files. Each gives a line with its path and the digest of its content, so a file
//! that is changed, moved, added or removed changes the description. Links count, and so do their targets.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::item::plain;
use super::{Error, Result};
use crate::agents::programs::{self, PROGRAMS};
use crate::hex;
use crate::mailbox::{Dir, IfAny};

/// The largest file, the number of files, and the depth: the search must end.
pub(super) const LIMIT: u64 = 16 * 1024 * 1024;
const FILES: usize = 10_000;
const DEPTH: usize = 12;

/// The lines of all files that one program reads in a directory.
#[derive(Debug)]
struct ReadBy {
    /// The program's word; a command has none.
    program: Option<&'static str>,
    lines: Vec<String>,
}

/// The files of a project; paths inside it are relative to it.
#[derive(Debug)]
pub(super) struct Covered {
    pub(super) project: PathBuf,
    /// The top of its repository.
    top: PathBuf,
    files: usize,
    /// Results by directory and path, because many agents work in one directory.
    seen: HashMap<(PathBuf, &'static str), Vec<String>>,
    /// The whole results, by directory.
    read: HashMap<OsString, Vec<ReadBy>>,
    /// Directories that a run has in the place of others: the one that is meant, and its own. The first that fits counts.
    pub(super) moved: Vec<(PathBuf, PathBuf)>,
}

impl Covered {
    pub(super) fn new(project: &Path) -> Self {
        // A missing project has nothing to read.
        let project = std::fs::canonicalize(project).unwrap_or_else(|_| project.to_owned());
        let top = top(&project).unwrap_or(&project).to_owned();
        Self { project, top, files: 0, seen: HashMap::new(), read: HashMap::new(), moved: vec![] }
    }

    /// The path that is meant by a path of a run.
    pub(super) fn meant(&self, path: &Path) -> PathBuf {
        let meant = |(meant, own): &(PathBuf, PathBuf)| {
            let rest = path.strip_prefix(own).ok()?;
            Some(meant.join(rest).components().collect())
        };
        self.moved.iter().find_map(meant).unwrap_or_else(|| path.to_owned())
    }

    /// A path relative to the project if it is in the same repository, so that it is the same in every worktree.
    pub(super) fn shown(&self, path: &Path) -> String {
        let path = &self.meant(path);
        let above = self.project.ancestors().take_while(|dir| dir.starts_with(&self.top)).enumerate();
        let relative = above.into_iter().find_map(|(up, dir)| {
            let rest = path.strip_prefix(dir).ok()?;
            Some(std::iter::repeat_n(Path::new(".."), up).collect::<PathBuf>().join(rest))
        });
        let shown = relative.unwrap_or_else(|| path.to_owned());
        // The join above may leave a slash at the end.
        let shown: PathBuf = shown.components().collect();
        if shown.as_os_str().is_empty() { ".".to_owned() } else { shown.to_string_lossy().into_owned() }
    }

    /// The topmost directory whose files count for an agent that works in `directory`.
    pub(super) fn above<'a>(&'a self, directory: &'a Path) -> &'a Path {
        match directory.starts_with(&self.top) {
            // Also if it is in a nested repository: programs look further up.
            true => &self.top,
            false => top(directory).unwrap_or(directory),
        }
    }

    /// The lines of all files that a program reads in a directory and above it.
    pub(super) fn read_by(&mut self, preset: &str, directory: &Path) -> Result<Vec<String>> {
        let program = programs::find(preset);
        let word = program.map(|program| program.word);
        let mut known = self.read.get(directory.as_os_str()).into_iter().flatten();
        if let Some(known) = known.find(|known| known.program == word) {
            return Ok(known.lines.clone());
        }
        let mut reads: Vec<&'static str> = match program {
            Some(program) => program.reads.to_vec(),
            // A command can be anything, and may start any of the programs.
            None => PROGRAMS.iter().flat_map(|program| program.reads).copied().collect(),
        };
        reads.sort_unstable();
        reads.dedup();
        let above = self.above(directory).to_owned();
        let mut lines = vec![];
        for place in directory.ancestors().take_while(|dir| dir.starts_with(&above)) {
            let Some(dir) = Dir::outside(place).if_any()? else { continue };
            // Programs keep several files in one folder, and most directories have none of these folders.
            for paths in reads.chunk_by(|one, other| first(one) == first(other)) {
                if dir.stat(first(paths[0])).if_any()?.is_none() {
                    continue;
                }
                for path in paths {
                    let key = (place.to_owned(), *path);
                    if !self.seen.contains_key(&key) {
                        let mut found = vec![];
                        self.entry(&dir, path, 0, &mut found)?;
                        self.seen.insert(key.clone(), found);
                    }
                    lines.extend_from_slice(&self.seen[&key]);
                }
            }
        }
        lines.sort();
        lines.dedup();
        self.read
            .entry(directory.as_os_str().to_owned())
            .or_default()
            .push(ReadBy { program: word, lines: lines.clone() });
        Ok(lines)
    }

    fn add(&mut self, path: &Path, kind: &str, value: &str, lines: &mut Vec<String>) -> Result<()> {
        self.files += 1;
        if self.files > FILES || path.to_str().is_none() {
            return Err(uncovered(path));
        }
        lines.push(format!("{kind} {} {value}", plain(&self.shown(path))));
        Ok(())
    }

    /// A file below a directory, or everything in a folder there if the path ends with `/`.
    fn entry(&mut self, dir: &Dir, path: &str, depth: usize, lines: &mut Vec<String>) -> Result<()> {
        let (name, rest) = path.split_once('/').map_or((path, None), |(name, rest)| (name, Some(rest)));
        let full = dir.path().join(name);
        if depth > DEPTH {
            return Err(uncovered(&full));
        }
        let Some(stat) = dir.stat(name).if_any()? else { return Ok(()) };
        match (FileType::from_raw_mode(stat.st_mode), rest) {
            (FileType::RegularFile, None) => {
                let bytes = dir.read(name, LIMIT)?.unwrap_or_default();
                let digest = format!("sha256:{}", hex::digest(&bytes, 32));
                self.add(&full, "reads", &digest, lines)
            }
            (FileType::Directory, Some("")) => self.folder(&dir.sub(name)?, depth, lines),
            (FileType::Directory, Some(rest)) => self.entry(&dir.sub(name)?, rest, depth + 1, lines),
            (FileType::Symlink, _) => self.link(&full, rest, depth, lines),
            // A program that expects a file does not read a folder, and vice versa; in a room, `.postroom` is a file.
            (FileType::RegularFile, Some(_)) | (FileType::Directory, None) => Ok(()),
            _ => Err(uncovered(&full)),
        }
    }

    fn folder(&mut self, dir: &Dir, depth: usize, lines: &mut Vec<String>) -> Result<()> {
        let (mut names, mut unnamed) = (vec![], false);
        dir.scan(|name, kind| match str::from_utf8(name) {
            Ok(name) if kind == FileType::Directory => names.push(format!("{name}/")),
            Ok(name) => names.push(name.to_owned()),
            Err(_) => unnamed = true,
        })?;
        if unnamed {
            // A description could not tell it from other names.
            return Err(uncovered(dir.path()));
        }
        names.sort();
        names.iter().try_for_each(|name| self.entry(dir, name, depth + 1, lines))
    }

    fn link(&mut self, path: &Path, rest: Option<&str>, depth: usize, lines: &mut Vec<String>) -> Result<()> {
        let Ok(real) = std::fs::canonicalize(path) else { return self.add(path, "link", "nowhere", lines) };
        if real.to_str().is_none() {
            return Err(uncovered(path));
        }
        let target = format!("to {}", plain(&self.shown(&real)));
        self.add(path, "link", &target, lines)?;
        let (Some(above), Some(name)) = (real.parent(), real.file_name().and_then(|name| name.to_str()))
        else {
            return Err(uncovered(path));
        };
        let path = match rest {
            Some(rest) => format!("{name}/{rest}"),
            None if real.is_dir() => format!("{name}/"),
            None => name.to_owned(),
        };
        self.entry(&Dir::outside(above)?, &path, depth + 1, lines)
    }
}

/// The top of the repository or worktree around a directory.
fn top(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|dir| dir.join(".git").exists())
}

/// The first part of a relative path.
fn first(path: &str) -> &str {
    path.split('/').next().unwrap_or_default()
}

fn uncovered(path: &Path) -> Error {
    Error::Uncovered { path: path.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn paths_are_relative_within_the_repository() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap().join("repo");
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        write(&top.join(".git/HEAD"), "x");
        let covered = Covered::new(&top.join("a/b"));
        for (path, shown) in
            [("a/b", "."), ("a/b/c", "c"), ("a", ".."), ("a/x", "../x"), ("", "../.."), ("y/z", "../../y/z")]
        {
            assert_eq!(covered.shown(&top.join(path)), shown, "{path}");
        }
        assert_eq!(covered.shown(Path::new("/etc")), "/etc");
        let alone = Covered::new(temp.path());
        assert_eq!(alone.shown(Path::new("/")), "/");
    }

    #[test]
    fn each_program_has_its_own_files_and_a_command_all() {
        let temp = tempfile::tempdir().unwrap();
        let project = temp.path().canonicalize().unwrap();
        write(&project.join(".gemini/settings.json"), "{}");
        write(&project.join("sub/.claude/settings.json"), "{}");
        let mut covered = Covered::new(&project);
        let mut names = |preset: &str, place: &str| {
            let lines = covered.read_by(preset, &project.join(place)).unwrap();
            let path = |line: &String| line.split(' ').nth(1).unwrap().to_owned();
            lines.iter().map(path).collect::<Vec<_>>()
        };
        assert_eq!(names("gemini", "sub"), [".gemini/settings.json"]);
        assert_eq!(names("claude", "sub"), ["sub/.claude/settings.json"]);
        assert!(names("claude", "").is_empty());
        assert_eq!(names("command", "sub"), [".gemini/settings.json", "sub/.claude/settings.json"]);
    }
}
