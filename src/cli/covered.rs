//! What a person's trust covers: everything that decides what is run, as one number.
//!
//! That is the settings, the workflows, and each file that an agent program reads where an agent would run: in its
//! directory (`cwd`) and in those above it, up to the top of the repository. Which files those are is in the one table of
//! programs. Each counts by its path and its content, so that a file that was changed, moved, added or removed gives
//! another number. Behind a link counts what it leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::fail::Fail;
use super::surroundings;
use crate::agents::programs::PROGRAMS;
use crate::mailbox::Dir;
use crate::post::Failure;

/// What was read already, and is about to be run: it is looked at in place of what lies there by now.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Read<'a> {
    pub(super) settings: Option<&'a str>,
    /// A file in one of the places of workflows, relative to the project.
    pub(super) workflow: Option<(&'a Path, &'a str)>,
}

/// The largest file, how many there may be, and how deep they may lie: a look at them must end.
const LIMIT: u64 = 16 * 1024 * 1024;
const FILES: usize = 10_000;
const DEPTH: usize = 12;

/// What a repository or a room would run, as one number. `None`: the workflow that was read is none of them.
pub(super) fn fingerprint(project: &Path, read: Read<'_>) -> Result<Option<String>, Fail> {
    let dir = Dir::outside(project)?;
    let settings = match read.settings {
        // Read once: what is looked at must be what is run.
        Some(text) => Some(text.as_bytes().to_vec()),
        None => dir.read(crate::settings::FILE, LIMIT)?,
    };
    let mut covered = Covered { hash: Sha256::new(), files: 0 };
    if let Some(settings) = &settings {
        covered.add(&project.join(crate::settings::FILE), b"file", settings)?;
    }
    for place in places(project, settings.as_deref().unwrap_or_default()) {
        covered.place(&place)?;
    }
    let found = covered.workflows(&dir, read.workflow)?;
    let digest = covered.hash.finalize();
    Ok(found.then(|| digest.iter().map(|byte| format!("{byte:02x}")).collect()))
}

/// The directories in which agents of these settings would look for files.
fn places(project: &Path, settings: &[u8]) -> BTreeSet<PathBuf> {
    #[derive(Deserialize, Default)]
    struct Said {
        #[serde(default)]
        agents: BTreeMap<String, Agent>,
    }
    #[derive(Deserialize)]
    struct Agent {
        cwd: Option<PathBuf>,
    }
    // What cannot be read starts nobody.
    let said: Said = toml::from_str(&String::from_utf8_lossy(settings)).unwrap_or_default();
    let cwds = said.agents.into_values().filter_map(|agent| Some(project.join(agent.cwd?)));
    let mut places = BTreeSet::new();
    for cwd in cwds.chain([project.to_owned()]) {
        // In one that is not there, nothing is read; when it is, it counts.
        let Some(cwd) = surroundings::real_path(&cwd) else { continue };
        let top = cwd.ancestors().find(|dir| dir.join(".git").exists());
        let top = top.or_else(|| cwd.ancestors().find(|dir| *dir == project)).unwrap_or(&cwd);
        places.extend(cwd.ancestors().take_while(|dir| dir.starts_with(top)).map(Path::to_owned));
    }
    places
}

struct Covered {
    hash: Sha256,
    files: usize,
}

impl Covered {
    fn add(&mut self, path: &Path, kind: &[u8], bytes: &[u8]) -> Result<(), Fail> {
        self.files += 1;
        if self.files > FILES {
            return Err(too_much(path));
        }
        for part in [kind, path.as_os_str().as_encoded_bytes(), bytes] {
            self.hash.update((part.len() as u64).to_le_bytes());
            self.hash.update(part);
        }
        Ok(())
    }

    /// Everything that some agent program reads in a directory.
    fn place(&mut self, path: &Path) -> Result<(), Fail> {
        let dir = match Dir::outside(path) {
            Err(e) if e.is_missing() => return Ok(()),
            other => other?,
        };
        let all: BTreeSet<&str> = PROGRAMS.iter().flat_map(|program| program.reads).copied().collect();
        all.into_iter().try_for_each(|path| self.entry(&dir, path, 0))
    }

    /// A file below a directory, or all in a folder there if the path ends with `/`.
    fn entry(&mut self, dir: &Dir, path: &str, depth: usize) -> Result<(), Fail> {
        let (name, rest) = path.split_once('/').map_or((path, None), |(name, rest)| (name, Some(rest)));
        let full = dir.path().join(name);
        if depth > DEPTH {
            return Err(too_much(&full));
        }
        let kind = match dir.stat(name) {
            Err(e) if e.is_missing() => return Ok(()),
            other => FileType::from_raw_mode(other?.st_mode),
        };
        match (kind, rest) {
            (FileType::RegularFile, None) => {
                let bytes = dir.read(name, LIMIT)?.unwrap_or_default();
                self.add(&full, b"file", &bytes)
            }
            (FileType::Directory, Some("")) => self.folder(&dir.sub(name)?, depth),
            (FileType::Directory, Some(rest)) => self.entry(&dir.sub(name)?, rest, depth + 1),
            (FileType::Symlink, _) => self.link(&full, rest, depth),
            // A program that wants the one does not read the other; in a room, `.postroom` is a file.
            (FileType::RegularFile, Some(_)) | (FileType::Directory, None) => Ok(()),
            _ => Err(too_much(&full)),
        }
    }

    fn folder(&mut self, dir: &Dir, depth: usize) -> Result<(), Fail> {
        let mut names = vec![];
        dir.scan(|name, kind| {
            let name = String::from_utf8_lossy(name).into_owned();
            names.push(if kind == FileType::Directory { name + "/" } else { name });
        })?;
        names.sort();
        names.iter().try_for_each(|name| self.entry(dir, name, depth + 1))
    }

    fn link(&mut self, path: &Path, rest: Option<&str>, depth: usize) -> Result<(), Fail> {
        let Some(real) = surroundings::real_path(path) else {
            return self.add(path, b"link", b"");
        };
        self.add(path, b"link", real.as_os_str().as_encoded_bytes())?;
        let (Some(above), Some(name)) = (real.parent(), real.file_name().and_then(|name| name.to_str()))
        else {
            return Err(too_much(path));
        };
        let path = match rest {
            Some(rest) => format!("{name}/{rest}"),
            None if real.is_dir() => format!("{name}/"),
            None => name.to_owned(),
        };
        self.entry(&Dir::outside(above)?, &path, depth + 1)
    }

    /// The workflows of a project. Whether the one that was read is among them, or there is none.
    fn workflows(&mut self, project: &Dir, read: Option<(&Path, &str)>) -> Result<bool, Fail> {
        let mut found = read.is_none();
        for home in [".postroom", ".claude"] {
            // In a room a file has that name.
            if project
                .stat(home)
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
            {
                continue;
            }
            let workflows = match project.sub(home).and_then(|home| home.sub("workflows")) {
                Err(e) if e.is_missing() => continue,
                other => other?,
            };
            let mut names = vec![];
            workflows.scan(|name, kind| {
                let name = str::from_utf8(name).ok();
                let name = name.filter(|name| name.ends_with(".yaml") || name.ends_with(".yml"));
                names.extend(name.filter(|_| kind == FileType::RegularFile).map(str::to_owned));
            })?;
            names.sort();
            for name in &names {
                let path = workflows.path().join(name);
                match read.filter(|(file, _)| project.path().join(file) == path) {
                    Some((_, text)) => {
                        found = true;
                        self.add(&path, b"file", text.as_bytes())?;
                    }
                    None => {
                        let bytes = workflows.read(name, LIMIT)?.unwrap_or_default();
                        self.add(&path, b"file", &bytes)?;
                    }
                }
            }
        }
        Ok(found)
    }
}

fn too_much(path: &Path) -> Fail {
    Fail::told(
        Failure::Refused,
        format!("{} cannot be covered by trust", path.display()),
        "agent programs read it: leave plain files there, not too many and not too deep",
    )
}
