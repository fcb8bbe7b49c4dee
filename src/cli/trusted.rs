//! What the person trusts: repositories and rooms whose settings may start programs, each by what it said when the person
//! looked at it. The record lies outside of all rooms, where agents do not write.

use std::path::Path;

use sha2::{Digest, Sha256};

pub(super) use super::covered::Read;
use super::covered::fingerprint;
use super::fail::Fail;
use super::surroundings;
use crate::mailbox::Dir;

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
