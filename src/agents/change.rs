//! A change to the user's settings: one member put into an object, or one item added to a list, at a path of keys.
//!
//! Changes are made in the text (`jsonc`, `tables`), so that comments, order and spacing of everything else stay. A
//! change recognises its own traces, also those of an older version, and can remove them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error as ThisError;

use super::{jsonc, tables};

/// Why settings cannot be changed.
#[derive(Debug, ThisError, PartialEq, Eq)]
pub enum Error {
    #[error("line {line}, column {column}: {why}")]
    Syntax { line: usize, column: usize, why: String },
    #[error("`{key}` must be {wanted}, but is something else")]
    Kind { key: String, wanted: &'static str },
    #[error("`{key}` appears twice")]
    Twice { key: String },
}

impl Error {
    pub(super) fn kind(key: &str, wanted: &'static str) -> Self {
        Self::Kind { key: key.to_owned(), wanted }
    }
}

/// The format of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// With comments and trailing commas.
    Json,
    /// With comments, without trailing commas.
    Commented,
    /// Without either.
    Strict,
    Toml,
}

impl Language {
    /// The text with these changes made. Existing ones are left as they are. A text that its program would not load is an
    /// error.
    pub fn apply(self, text: &str, changes: &[Change]) -> Result<String, Error> {
        match self {
            Self::Json | Self::Commented | Self::Strict => {
                let text = if text.is_empty() { "{}\n" } else { text };
                jsonc::check(text, self != Self::Strict, self == Self::Json)?;
                jsonc::apply(text, changes)
            }
            Self::Toml => tables::apply(text, changes),
        }
    }

    /// The parsed value of the text.
    pub fn value(self, text: &str) -> Result<Value, Error> {
        match self {
            Self::Json | Self::Commented | Self::Strict => jsonc::value(text),
            Self::Toml => tables::value(text),
        }
    }

    /// The text without these changes, and with the values that `before` had in their place.
    pub fn undo(self, text: &str, changes: &[Change], before: &str) -> Result<String, Error> {
        let (now, before) = (self.value(text)?, self.value(before)?);
        let differs = |change: &&Change| change.found(&now) != change.found(&before);
        let made: Vec<Change> = changes.iter().filter(differs).cloned().collect();
        if made.is_empty() {
            return Ok(text.to_owned());
        }
        let left = self.remove(text, &made)?;
        let value = self.value(&left)?;
        let back = made.iter().flat_map(|change| change.back(&before));
        let back: Vec<Change> =
            back.chain(made.iter().flat_map(|change| change.narrowed(&value, &before))).collect();
        match self {
            _ if back.is_empty() => Ok(left),
            Self::Json | Self::Commented | Self::Strict => jsonc::apply(&left, &back),
            Self::Toml => tables::apply(&left, &back),
        }
    }

    /// The text without these changes.
    pub fn remove(self, text: &str, changes: &[Change]) -> Result<String, Error> {
        match self {
            Self::Json | Self::Commented | Self::Strict => jsonc::remove(text, changes),
            Self::Toml => tables::remove(text, changes),
        }
    }

    /// Whether the text holds no settings.
    pub fn is_empty(self, text: &str) -> bool {
        let members = self.value(text).ok().and_then(|value| value.as_object().map(serde_json::Map::len));
        members == Some(0) && !(self == Self::Toml && text.contains('#'))
    }
}

/// One change. Serialised into the record of an installation, so that it can be undone by a later version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The keys that lead to the object or list.
    pub at: Vec<String>,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// A member of an object. If a single string stands in place of an object on the path, it becomes the object's
    /// member `*`.
    Put { key: String, value: Value },
    /// An item of a list. `mark`: text that only items of this kind contain, in any version.
    Add { value: Value, mark: Option<String> },
}

/// The state of a change in the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    Current,
    /// It was made by another version, or by hand.
    Drifted,
    Missing,
}

impl FileState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Drifted => "drifted",
            Self::Missing => "missing",
        }
    }
}

impl Change {
    /// The keys of the objects on its path, and the key of the list, if it adds to one.
    pub(super) fn way(&self) -> (&[String], Option<&String>) {
        match (&self.what, self.at.split_last()) {
            (What::Add { .. }, Some((last, way))) => (way, Some(last)),
            _ => (&self.at, None),
        }
    }

    /// Whether an item of a list is this change, in any version.
    pub(super) fn is_own_item(&self, item: &Value) -> bool {
        match &self.what {
            What::Add { mark: Some(mark), .. } => holds(item, mark),
            What::Add { value, mark: None } => item == value,
            What::Put { .. } => false,
        }
    }

    /// The values in its place: the member, or the items that are this change in any version.
    fn found<'v>(&self, settings: &'v Value) -> Vec<&'v Value> {
        let Some(place) = self.at.iter().try_fold(settings, |value, key| value.get(key)) else {
            return vec![];
        };
        match &self.what {
            What::Put { key, .. } => place.get(key).into_iter().collect(),
            What::Add { .. } => {
                let items = place.as_array().map(Vec::as_slice).unwrap_or_default();
                items.iter().filter(|item| self.is_own_item(item)).collect()
            }
        }
    }

    /// The changes that restore what was in its place before.
    fn back(&self, before: &Value) -> Vec<Self> {
        let what = |value: &Value| match &self.what {
            What::Put { key, .. } => What::Put { key: key.clone(), value: value.clone() },
            What::Add { .. } => What::Add { value: value.clone(), mark: None },
        };
        self.found(before).into_iter().map(|value| Self { at: self.at.clone(), what: what(value) }).collect()
    }

    /// The changes that make a single string again of an object on its path that was one before, and has only that left.
    fn narrowed(&self, now: &Value, before: &Value) -> Vec<Self> {
        let at = |settings: &Value, way: &[String]| {
            way.iter().try_fold(settings, |value, key| value.get(key)).cloned()
        };
        let was = |way: &[String]| at(before, way).filter(Value::is_string);
        let alone = |word: &Value| serde_json::json!({"*": word});
        let ways = (1..=self.at.len()).map(|length| &self.at[..length]);
        let narrow = ways.filter_map(|way| {
            let word = was(way).filter(|word| at(now, way).as_ref() == Some(&alone(word)))?;
            let (key, above) = way.split_last()?;
            Some(Self { at: above.to_vec(), what: What::Put { key: key.clone(), value: word } })
        });
        narrow.collect()
    }

    /// The state of this change in parsed settings.
    pub fn state(&self, settings: &Value) -> FileState {
        let value = match &self.what {
            What::Put { value, .. } | What::Add { value, .. } => value,
        };
        match self.found(settings).as_slice() {
            [] => FileState::Missing,
            [one] if *one == value => FileState::Current,
            _ => FileState::Drifted,
        }
    }
}

/// Whether any string in a value contains this text.
fn holds(value: &Value, mark: &str) -> bool {
    match value {
        Value::String(text) => text.contains(mark),
        Value::Array(items) => items.iter().any(|item| holds(item, mark)),
        Value::Object(members) => members.values().any(|member| holds(member, mark)),
        _ => false,
    }
}
