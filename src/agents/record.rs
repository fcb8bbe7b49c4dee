//! A record of the ledger: what was put into one file. It knows which texts are ours, and what the file has to hold
//! once ours is removed. Pure; `ledger` keeps it on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::hex;
use serde::{Deserialize, Serialize};

use super::change::{self, Change, Language};
use super::install_files::Form;
use super::ledger::Done;

/// The record of one file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) v: u32,
    pub(super) path: PathBuf,
    /// The project it is for; absent for the whole user.
    pub(super) project: Option<PathBuf>,
    /// The programs that use it, and the options of each installation.
    pub(super) programs: BTreeMap<String, InstallOptions>,
    /// The former text. `None` if there was no file.
    pub(super) before: Option<String>,
    /// The digest of the text we left there.
    pub(super) after: String,
    /// The digest of the text of an earlier installation, which is there until the new text is.
    pub(super) earlier: Option<String>,
    /// Directories that were made for it, outermost first.
    pub(super) made: Vec<PathBuf>,
    /// What was put there: changes to settings, or a whole text.
    pub(super) form: Kept,
}

/// The options that a later check needs to expect the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallOptions {
    pub roots: Vec<PathBuf>,
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bodies: Option<usize>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub types: bool,
    /// Whether the MCP server is registered; an earlier version always did that.
    #[serde(default = "always")]
    pub mcp: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
}

fn always() -> bool {
    true
}

/// The part of a form that a record keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kept {
    Settings(Language, Vec<Change>),
    Whole,
}

impl Form {
    pub(super) fn kept(&self) -> Kept {
        match self {
            Self::Settings(language, changes) => Kept::Settings(*language, changes.clone()),
            Self::Whole(_) => Kept::Whole,
        }
    }
}

impl Record {
    /// Whether a text with this digest is one that we left there.
    pub(super) fn is_ours(&self, digest: &str) -> bool {
        self.after == digest || self.earlier.as_deref() == Some(digest)
    }

    /// Whether we write a text with this digest: ours, or the former one.
    pub(super) fn wrote(&self, found: &str) -> bool {
        self.is_ours(found) || self.before.as_deref().map(digest).as_deref() == Some(found)
    }

    /// Whether all that was put into the file is in this text.
    pub(super) fn is_in(&self, now: &str) -> bool {
        match &self.form {
            Kept::Whole => true,
            Kept::Settings(language, changes) => language.value(now).is_ok_and(|value| {
                changes.iter().all(|change| change.state(&value) != change::FileState::Missing)
            }),
        }
    }

    /// A text that somebody has changed, with our part removed.
    pub(super) fn taken_out(&self, now: &str) -> Result<String, change::Error> {
        match &self.form {
            Kept::Settings(language, changes) if self.before.as_deref() != Some(now) => {
                language.undo(now, changes, self.before.as_deref().unwrap_or_default())
            }
            _ => Ok(now.to_owned()),
        }
    }

    /// What the file has to hold after the removal, and the outcome.
    pub(super) fn restored(&self, now: Option<&str>) -> Result<(Option<String>, Done), change::Error> {
        let Some(now) = now else { return Ok((None, Done::Removed)) };
        if self.is_ours(&digest(now)) || self.before.as_deref() == Some(now) {
            let done = if self.before.is_some() { Done::Restored } else { Done::Removed };
            return Ok((self.before.clone(), done));
        }
        let Kept::Settings(language, _) = &self.form else { return Ok((Some(now.to_owned()), Done::Left)) };
        let left = self.taken_out(now)?;
        match self.before.is_none() && language.is_empty(&left) {
            true => Ok((None, Done::Removed)),
            false => Ok((Some(left), Done::TakenOut)),
        }
    }
}

/// The file name of a path's record. Several projects may each have their part in a file outside of them.
pub(super) fn name(path: &Path, project: Option<&Path>) -> String {
    let shared = project.filter(|project| !path.starts_with(project));
    let of = shared.map(|project| format!("\0{}", project.display())).unwrap_or_default();
    format!("{}.json", &digest(&format!("{}{of}", path.display()))[..32])
}

pub(super) fn digest(text: &str) -> String {
    hex::digest(text, 32)
}
