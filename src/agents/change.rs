//! A change of somebody's settings: one member put into an object, or one item added to a list, at a path of keys.
//!
//! Changes are made in the text (`jsonc`, `tables`), so that comments, order and spacing of everything else stay. A
//! change knows its own traces, also of an older version of itself, and can take them out again.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error as ThisError;

use super::{jsonc, tables};

/// Why settings cannot be changed.
#[derive(Debug, ThisError, PartialEq, Eq)]
pub enum Error {
    #[error("line {line}, column {column}: {why}")]
    Syntax { line: usize, column: usize, why: String },
    #[error("`{key}` is {found}, where {wanted} must be")]
    Kind { key: String, found: &'static str, wanted: &'static str },
    #[error("`{key}` stands there twice")]
    Twice { key: String },
}

/// A language that settings are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// As people write it: with comments and trailing commas.
    Json,
    Toml,
}

impl Language {
    /// The text with these changes made. What is there already is left as it is.
    pub fn apply(self, text: &str, changes: &[Change]) -> Result<String, Error> {
        match self {
            Self::Json => jsonc::apply(if text.is_empty() { "{}\n" } else { text }, changes),
            Self::Toml => tables::apply(text, changes),
        }
    }

    /// What the text says.
    pub fn value(self, text: &str) -> Result<Value, Error> {
        match self {
            Self::Json => jsonc::value(text),
            Self::Toml => tables::value(text),
        }
    }

    /// The text without these changes, and with what stood in their place in the text before them.
    pub fn undo(self, text: &str, changes: &[Change], before: &str) -> Result<String, Error> {
        let (now, before) = (self.value(text)?, self.value(before)?);
        let differs = |change: &&Change| change.found(&now) != change.found(&before);
        let made: Vec<Change> = changes.iter().filter(differs).cloned().collect();
        if made.is_empty() {
            return Ok(text.to_owned());
        }
        let left = match self {
            Self::Json => jsonc::remove(text, &made),
            Self::Toml => tables::remove(text, &made),
        }?;
        let back: Vec<Change> = made.iter().flat_map(|change| change.back(&before)).collect();
        if back.is_empty() { Ok(left) } else { self.apply(&left, &back) }
    }

    /// Whether the text says nothing.
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
    /// A member of an object. Where a single word stands instead of the object on the way, it becomes its member `*`.
    Put { key: String, value: Value },
    /// An item of a list. `mark`: text that only items of this kind hold, whatever else they say.
    Add { value: Value, mark: Option<String> },
}

/// What settings say about a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Current,
    /// It was made by another version, or by hand.
    Drifted,
    Missing,
}

impl State {
    pub fn word(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Drifted => "drifted",
            Self::Missing => "missing",
        }
    }
}

impl Change {
    /// Whether an item of a list is this change, in whatever version.
    pub(super) fn is_own_item(&self, item: &Value) -> bool {
        match &self.what {
            What::Add { mark: Some(mark), .. } => holds(item, mark),
            What::Add { value, mark: None } => item == value,
            What::Put { .. } => false,
        }
    }

    /// What stands in its place: the member, or the items that are this change in whatever version.
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

    /// The changes that put back what stood in its place before.
    fn back(&self, before: &Value) -> Vec<Self> {
        let what = |value: &Value| match &self.what {
            What::Put { key, .. } => What::Put { key: key.clone(), value: value.clone() },
            What::Add { .. } => What::Add { value: value.clone(), mark: None },
        };
        self.found(before).into_iter().map(|value| Self { at: self.at.clone(), what: what(value) }).collect()
    }

    /// What settings, read as one value, say about it.
    pub fn state(&self, settings: &Value) -> State {
        let value = match &self.what {
            What::Put { value, .. } | What::Add { value, .. } => value,
        };
        match self.found(settings).as_slice() {
            [] => State::Missing,
            [one] if *one == value => State::Current,
            _ => State::Drifted,
        }
    }
}

/// Whether any string in a value holds this text.
fn holds(value: &Value, mark: &str) -> bool {
    match value {
        Value::String(text) => text.contains(mark),
        Value::Array(items) => items.iter().any(|item| holds(item, mark)),
        Value::Object(members) => members.values().any(|member| holds(member, mark)),
        _ => false,
    }
}
