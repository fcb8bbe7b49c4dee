//! A change of somebody's settings: one member put into an object, or one item added to a list, at a path of keys.
//!
//! Changes are made in the text (`jsonc`, `tables`), so that comments, order and spacing of everything else stay. A
//! change knows its own traces, also of an older version of itself, and can take them out again.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error as ThisError;

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

impl Change {
    /// Whether an item of a list is this change, in whatever version.
    pub(super) fn is_own_item(&self, item: &Value) -> bool {
        match &self.what {
            What::Add { mark: Some(mark), .. } => holds(item, mark),
            What::Add { value, mark: None } => item == value,
            What::Put { .. } => false,
        }
    }

    /// What settings, read as one value, say about it.
    pub fn state(&self, settings: &Value) -> State {
        let Some(place) = self.at.iter().try_fold(settings, |value, key| value.get(key)) else {
            return State::Missing;
        };
        match &self.what {
            What::Put { key, value } => match place.get(key) {
                Some(found) if found == value => State::Current,
                Some(_) => State::Drifted,
                None => State::Missing,
            },
            What::Add { value, .. } => {
                let items = place.as_array().map(Vec::as_slice).unwrap_or_default();
                let own: Vec<&Value> = items.iter().filter(|item| self.is_own_item(item)).collect();
                match own.as_slice() {
                    [] => State::Missing,
                    [one] if *one == value => State::Current,
                    _ => State::Drifted,
                }
            }
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
