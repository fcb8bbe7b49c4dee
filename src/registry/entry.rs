//! One entry of the registry: a name, its mailbox, and what others added to it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Registry;
use crate::name::MailboxId;

/// One named mailbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub name: String,
    pub id: MailboxId,
    pub harness: String,
    pub inbox: String,
    pub pid: u64,
    pub created: String,
    /// Flat strings and numbers after `created`: `about`, `aliases`, `protocol`, and those of others.
    pub extra: Map<String, Value>,
}

impl Entry {
    /// An entry with nothing but what every mailbox has.
    pub fn new(name: &str, id: MailboxId, inbox: String, created: String) -> Self {
        let (harness, extra) = (String::new(), Map::new());
        Self { name: name.to_owned(), id, harness, inbox, pid: 0, created, extra }
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.extra.get(key).and_then(Value::as_str)
    }

    pub fn aliases(&self) -> impl Iterator<Item = &str> {
        self.text("aliases").unwrap_or_default().split_whitespace()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.aliases())
    }

    pub(super) fn value(&self) -> Value {
        let mut map = Map::new();
        map.insert("id".into(), self.id.as_str().into());
        map.insert("harness".into(), self.harness.as_str().into());
        map.insert("inbox".into(), self.inbox.as_str().into());
        map.insert("pid".into(), self.pid.into());
        map.insert("created".into(), self.created.as_str().into());
        map.extend(self.extra.clone());
        Value::Object(map)
    }

    /// An entry of what its line says; given back as a value, if it is none.
    pub(super) fn parse(name: &str, line: &RawValue) -> Result<Self, Value> {
        // Most entries have nothing but this, and a room may have thousands.
        if let Ok(plain) = serde_json::from_str::<Plain<'_>>(line.get())
            && let Ok(id) = MailboxId::parse(&plain.id)
        {
            let entry = Self::new(name, id, plain.inbox.into_owned(), plain.created.into_owned());
            return Ok(Self { harness: plain.harness.into_owned(), pid: plain.pid, ..entry });
        }
        let value: Value = serde_json::from_str(line.get()).unwrap_or_default();
        let id = value.get("id").and_then(Value::as_str).and_then(|id| MailboxId::parse(id).ok());
        let (id, map) = match (id, value) {
            (Some(id), Value::Object(map)) => (id, map),
            (_, value) => return Err(value),
        };
        let mut entry = Self::new(name, id, String::new(), String::new());
        for (key, value) in map {
            match (key.as_str(), value) {
                ("id", _) => {}
                ("harness", Value::String(text)) => entry.harness = text,
                ("inbox", Value::String(text)) => entry.inbox = text,
                ("created", Value::String(text)) => entry.created = text,
                ("pid", value) => entry.pid = value.as_u64().unwrap_or(0),
                ("harness" | "inbox" | "created", _) => {}
                (_, value) => {
                    entry.extra.insert(key, value);
                }
            }
        }
        Ok(entry)
    }

    /// The card a mailbox keeps of itself: a registry of one entry.
    pub fn card(&self) -> Vec<u8> {
        let mut one = Registry::default();
        one.entries.push(self.clone());
        one.render().into_bytes()
    }
}

/// An entry without anything that others, or later versions, added.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    harness: Cow<'a, str>,
    #[serde(borrow)]
    inbox: Cow<'a, str>,
    pid: u64,
    #[serde(borrow)]
    created: Cow<'a, str>,
}
