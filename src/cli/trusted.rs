//! What the person trusts: repositories and rooms whose settings may start programs, each by what it said when the person
//! looked at it. The record lies outside of all rooms, where agents do not write.

use std::path::Path;

use rustix::fs::FileType;
use sha2::{Digest, Sha256};

use super::fail::Fail;
use super::surroundings;
use crate::mailbox::Dir;

/// What was read already, and is about to be run: it is looked at in place of what lies there by now.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Read<'a> {
    pub(super) settings: Option<&'a str>,
    /// A file in one of the places of workflows, relative to the project.
    pub(super) workflow: Option<(&'a Path, &'a str)>,
}

/// What a repository or a room would run: its settings, as they were read, the files of its agents and its workflows, as one number.
/// `None`: the workflow that was read is none of them.
fn fingerprint(project: &Path, read: Read<'_>) -> Result<Option<String>, Fail> {
    let dir = Dir::outside(project)?;
    let mut hash = Sha256::new();
    let mut add = |name: &str, bytes: Option<&[u8]>| {
        if let Some(bytes) = bytes {
            hash.update((name.len() as u64).to_le_bytes());
            hash.update(name);
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        }
    };
    let mut covered = read.workflow.is_none();
    match read.settings {
        // Read once: what is looked at must be what is run.
        Some(text) => add(crate::settings::FILE, Some(text.as_bytes())),
        None => add(crate::settings::FILE, dir.read(crate::settings::FILE, LIMIT)?.as_deref()),
    }
    for (folder, file) in PROGRAMS_OWN {
        let from = match folder {
            "" => Ok(None),
            folder => dir.sub(folder).map(Some),
        };
        match from {
            Err(e) if e.is_missing() => {}
            Err(e) => return Err(e.into()),
            Ok(sub) => add(file, sub.as_ref().unwrap_or(&dir).read(file, LIMIT)?.as_deref()),
        }
    }
    let agents = match dir.sub(".claude").and_then(|claude| claude.sub("agents")) {
        Err(e) if e.is_missing() => None,
        other => Some(other?),
    };
    for home in [".postroom", ".claude"] {
        // In a room a file has that name.
        if dir.stat(home).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile) {
            continue;
        }
        let workflows = match dir.sub(home).and_then(|home| home.sub("workflows")) {
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
            let told = format!("{home}/{name}");
            match read.workflow.filter(|(file, _)| *file == Path::new(home).join("workflows").join(name)) {
                Some((_, text)) => {
                    covered = true;
                    add(&told, Some(text.as_bytes()));
                }
                None => add(&told, workflows.read(name, LIMIT)?.as_deref()),
            }
        }
    }
    if let Some(agents) = agents {
        let mut names = vec![];
        agents.scan(|name, kind| {
            let name = str::from_utf8(name).ok().filter(|name| name.ends_with(".md"));
            names.extend(name.filter(|_| kind == FileType::RegularFile).map(str::to_owned));
        })?;
        names.sort();
        for name in &names {
            add(name, agents.read(name, LIMIT)?.as_deref());
        }
    }
    Ok(covered.then(|| hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
}

/// What agent programs themselves read in a repository and may run: hooks and servers. Claude Code's local settings are
/// not of the repository, and change with every permission that is given.
const PROGRAMS_OWN: [(&str, &str); 6] = [
    (".claude", "settings.json"),
    (".codex", "config.toml"),
    (".codex", "hooks.json"),
    (".gemini", "settings.json"),
    ("", ".mcp.json"),
    ("", "opencode.json"),
];

const LIMIT: u64 = 16 * 1024 * 1024;
const TRUSTED: &str = ".trusted";

fn record_of(project: &Path) -> String {
    let digest = Sha256::digest(project.as_os_str().as_encoded_bytes());
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Whether the person has said that a repository or a room may run what it says now. What cannot be looked at is not.
pub(super) fn is_trusted(project: &Path, read: Read<'_>) -> bool {
    let kept = || -> Result<bool, Fail> {
        let store = Dir::open(&surroundings::state()?.join(TRUSTED))?;
        let kept = store.read(&record_of(project), 1024)?.unwrap_or_default();
        Ok(fingerprint(project, read)?.is_some_and(|now| kept == now.as_bytes()))
    };
    kept().unwrap_or(false)
}

/// Notes that it may.
pub(super) fn trust(project: &Path) -> Result<(), Fail> {
    let store = Dir::make(&surroundings::state()?.join(TRUSTED))?;
    let now = fingerprint(project, Read::default())?.unwrap_or_default();
    store.replace(&record_of(project), now.as_bytes())?;
    store.sync_parents()?;
    Ok(())
}

/// Takes it back.
pub(super) fn distrust(project: &Path) -> Result<bool, Fail> {
    let store = match Dir::open(&surroundings::state()?.join(TRUSTED)) {
        Err(e) if e.is_missing() => return Ok(false),
        other => other?,
    };
    match store.remove(&record_of(project)) {
        Err(e) if e.is_missing() => Ok(false),
        // What was taken back stays so, also after a power cut.
        other => Ok(other.and_then(|()| store.sync()).map(|()| true)?),
    }
}
