//! What the person trusts: repositories and rooms whose settings may start programs, each by what it said when the person
//! looked at it. The record is among the person's settings, where agents in a sandbox cannot write.

use std::path::Path;

use sha2::{Digest, Sha256};

pub(super) use super::covered::Read;
use super::covered::fingerprint;
use super::fail::Fail;
use super::surroundings;
use crate::mailbox::Dir;
use crate::message::visible;

const TRUSTED: &str = "trusted";

fn record_of(project: &Path) -> String {
    let digest = Sha256::digest(project.as_os_str().as_encoded_bytes());
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Whether the person has said that a repository or a room may run what it says now. What cannot be looked at is not.
pub(super) fn is_trusted(project: &Path, read: Read<'_>) -> bool {
    let kept = || -> Result<bool, Fail> {
        let store = Dir::open(&surroundings::config()?.join(TRUSTED))?;
        let kept = store.read(&record_of(project), 8192)?.unwrap_or_default();
        let kept = String::from_utf8_lossy(&kept);
        let kept = kept.lines().find(|line| !line.starts_with('#')).unwrap_or_default();
        Ok(fingerprint(project, read)?.is_some_and(|now| kept == now))
    };
    kept().unwrap_or(false)
}

/// Notes that it may.
pub(super) fn trust(project: &Path, record: &str) -> Result<(), Fail> {
    let store = Dir::make(&surroundings::config()?.join(TRUSTED))?;
    store.replace(&record_of(project), record.as_bytes())?;
    store.sync_parents()?;
    Ok(())
}

/// The record that says so: the file that [`trust`] writes, for a machine on which nobody has a terminal.
pub(super) fn record(project: &Path) -> Result<String, Fail> {
    let now = fingerprint(project, Read::default())?.unwrap_or_default();
    let shown = visible::line(&project.display().to_string());
    Ok(format!("# ~/.config/postroom/trusted/{}: trust in {shown}\n{now}\n", record_of(project)))
}

/// Takes it back.
pub(super) fn distrust(project: &Path) -> Result<bool, Fail> {
    let store = match Dir::open(&surroundings::config()?.join(TRUSTED)) {
        Err(e) if e.is_missing() => return Ok(false),
        other => other?,
    };
    match store.remove(&record_of(project)) {
        Err(e) if e.is_missing() => Ok(false),
        // What was taken back stays so, also after a power cut.
        other => Ok(other.and_then(|()| store.sync()).map(|()| true)?),
    }
}
