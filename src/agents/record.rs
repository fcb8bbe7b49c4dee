//! A record of the ledger: what is known of one file that something was put into. It knows which texts are ours, and what is
//! to stand in the file once ours is taken out. Pure; `ledger` keeps it on the disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::hex;
use serde::{Deserialize, Serialize};

use super::change::{self, Change, Language};
use super::ledger::Done;
use super::pieces::Form;

/// What is known of one file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) v: u32,
    pub(super) path: PathBuf,
    /// The project it is for; absent for the whole user.
    pub(super) project: Option<PathBuf>,
    /// For which programs it is there, and what each was installed with.
    pub(super) programs: BTreeMap<String, With>,
    /// What stood there; absent: there was no file.
    pub(super) before: Option<String>,
    /// The digest of what was left there.
    pub(super) after: String,
    /// The digest of what an earlier installation had left, which stands there until the new text does.
    pub(super) earlier: Option<String>,
    /// Directories that were made for it, the outermost first.
    pub(super) made: Vec<PathBuf>,
    /// What was put there: the changes of settings, or a text of its own.
    pub(super) form: Kept,
}

/// What a later look has to know to expect the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct With {
    pub roots: Vec<PathBuf>,
    pub name: Option<String>,
}

/// What a record keeps of a form.
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

    /// Whether a text with this digest is one that is written there: ours, or what stood there before.
    pub(super) fn wrote(&self, found: &str) -> bool {
        self.is_ours(found) || self.before.as_deref().map(digest).as_deref() == Some(found)
    }

    /// A text that somebody has changed, without what is ours in it.
    pub(super) fn taken_out(&self, now: &str) -> Result<String, change::Error> {
        match &self.form {
            Kept::Settings(language, changes) if self.before.as_deref() != Some(now) => {
                language.undo(now, changes, self.before.as_deref().unwrap_or_default())
            }
            _ => Ok(now.to_owned()),
        }
    }

    /// What is to stand there once it is taken out, and what that means.
    pub(super) fn restored(&self, now: Option<&str>) -> Result<(Option<String>, Done), change::Error> {
        let Some(now) = now else { return Ok((None, Done::Restored)) };
        if self.is_ours(&digest(now)) || self.before.as_deref() == Some(now) {
            return Ok((self.before.clone(), Done::Restored));
        }
        let Kept::Settings(language, _) = &self.form else { return Ok((Some(now.to_owned()), Done::Left)) };
        let left = self.taken_out(now)?;
        let is_empty = self.before.is_none() && language.is_empty(&left);
        Ok((Some(left).filter(|_| !is_empty), Done::TakenOut))
    }
}

/// The name of the file that holds the record of a path.
pub(super) fn name(path: &Path) -> String {
    format!("{}.json", &digest(&path.to_string_lossy())[..32])
}

pub(super) fn digest(text: &str) -> String {
    hex::digest(text, 32)
}
