//! The registry: the mailboxes that exist. `<root>/registry.json`, one entry per line, in the exact form of format.md §6.
//!
//! Any valid JSON object is read. The canonical form is written, by rename, under the lock `.registry.lock`. Invalid
//! entries (other programs may write anything) are kept as they are and never used. Each mailbox keeps its own entry in
//! `card.json`, so a lost registry can be rebuilt.

mod entry;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use thiserror::Error as ThisError;

pub use self::entry::Entry;
use crate::mailbox::lock::Lock;
use crate::mailbox::{self, Dir};
use crate::message::liberal::UNKNOWN;
use crate::name::{MailboxId, Name, fold, with_numbers};

/// The field of an entry with its name before the last rename. Nobody is addressed by it.
pub const WAS: &str = "was";

pub const FILE: &str = "registry.json";
pub use crate::mailbox::lock::ROOM as LOCK;
const LIMIT: u64 = 64 * 1024 * 1024;

/// Why the registry cannot be used.
#[derive(Debug, ThisError)]
pub enum Error {
    #[error("{path} is not a registry: {why}")]
    Corrupt { path: String, why: String },
    #[error("the name `{name}` fits several mailboxes: {}", .ids.join(", "))]
    Ambiguous { name: String, ids: Vec<String> },
    #[error(transparent)]
    Disk(#[from] mailbox::Error),
}

/// The keys of an object and their raw values, in order.
struct Lines<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Lines<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader<'a>(PhantomData<&'a ()>);

        impl<'de: 'a, 'a> Visitor<'de> for Reader<'a> {
            type Value = Lines<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a name for each mailbox")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Lines<'a>, A::Error> {
                let mut lines = vec![];
                while let Some(line) = map.next_entry()? {
                    lines.push(line);
                }
                Ok(Lines(lines))
            }
        }

        from.deserialize_map(Reader(PhantomData))
    }
}

/// All names of a room.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    pub entries: Vec<Entry>,
    /// Invalid entries from other programs, written back unchanged.
    pub strange: Vec<(String, Value)>,
}

impl Registry {
    /// Reads the registry of a room; without a file it is empty.
    pub fn load(root: &Dir) -> Result<Self, Error> {
        match Self::read(root) {
            // Other engines write the first registry in place while they hold the lock.
            Err(Error::Corrupt { .. }) => {
                let _lock = when_unlocked(root)?;
                Self::read(root)
            }
            other => other,
        }
    }

    fn read(root: &Dir) -> Result<Self, Error> {
        match root.read(FILE, LIMIT)? {
            None => Ok(Self::default()),
            Some(bytes) => Self::parse(&bytes)
                .map_err(|why| Error::Corrupt { path: root.path().join(FILE).display().to_string(), why }),
        }
    }

    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut registry = Self::default();
        if bytes.trim_ascii().is_empty() {
            return Err("it is empty".to_owned());
        }
        let Lines(lines) = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        let mut places: HashMap<&str, usize> = HashMap::with_capacity(lines.len());
        let mut kept: Vec<(&str, &RawValue)> = Vec::with_capacity(lines.len());
        for (name, line) in &lines {
            // The last of two entries with one name wins, in the position of the first.
            match places.insert(name, kept.len()) {
                None => kept.push((name, line)),
                Some(place) => {
                    kept[place].1 = line;
                    places.insert(name, place);
                }
            }
        }
        for (name, line) in kept {
            match Entry::parse(name, line) {
                Ok(entry) => registry.entries.push(entry),
                Err(strange) => registry.strange.push((name.to_owned(), strange)),
            }
        }
        Ok(registry)
    }

    /// The canonical form, one entry per line, because other programs read it with `sed`.
    pub fn render(&self) -> String {
        let entries = self.entries.iter().map(|e| (&e.name, e.value()));
        let strange = self.strange.iter().map(|(name, value)| (name, value.clone()));
        let lines: Vec<String> = entries
            .chain(strange)
            .map(|(name, value)| format!("  {}: {value}", Value::from(name.as_str())))
            .collect();
        if lines.is_empty() { "{\n}\n".to_owned() } else { format!("{{\n{}\n}}\n", lines.join(",\n")) }
    }

    pub fn by_id(&self, id: &MailboxId) -> Option<&Entry> {
        self.entries.iter().find(|e| e.id == *id)
    }

    /// Sets the entry of a mailbox. Entries that give its id other names (from other engines) stay.
    pub fn set(&mut self, entry: Entry) {
        match self.entries.iter_mut().find(|e| e.id == entry.id) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
    }

    /// The display name of a mailbox: its name, else its id.
    pub fn name_of<'a>(&'a self, id: &'a str) -> &'a str {
        self.entries.iter().find(|e| e.id.as_str() == id).map_or(id, |e| e.name.as_str())
    }

    /// All entries by name and alias, for callers with many look-ups.
    pub fn by_names(&self) -> HashMap<&str, &Entry> {
        // Backwards, so that the first of two entries wins, as in `lookup`.
        self.entries.iter().rev().flat_map(|entry| entry.names().map(move |name| (name, entry))).collect()
    }

    /// Looks a name up: first exactly, then without case and Unicode form.
    pub fn lookup(&self, name: &str) -> Result<Option<&Entry>, Error> {
        if let Some(entry) = self.entries.iter().find(|e| e.names().any(|n| n == name)) {
            return Ok(Some(entry));
        }
        let wanted = fold(name);
        let mut found = self.entries.iter().filter(|e| e.names().any(|n| fold(n) == wanted));
        match (found.next(), found.next()) {
            (Some(a), Some(b)) => {
                Err(Error::Ambiguous { name: name.to_owned(), ids: vec![a.id.to_string(), b.id.to_string()] })
            }
            (first, _) => Ok(first),
        }
    }

    /// Whether a name is taken by anyone but `id`, in any case or form: as a name, an alias, an id, or an entry that
    /// only other programs understand.
    pub fn is_taken(&self, name: &str, id: Option<&MailboxId>) -> bool {
        let wanted = fold(name);
        // Unsigned messages show this name as their sender, so no mailbox may have it.
        if wanted == UNKNOWN {
            return true;
        }
        let is_of = |e: &Entry| fold(e.id.as_str()) == wanted || e.names().any(|n| fold(n) == wanted);
        self.entries.iter().any(|e| Some(&e.id) != id && is_of(e))
            || self.strange.iter().any(|(n, _)| fold(n) == wanted)
    }

    /// Names similar to this one, nearest first.
    pub fn nearest(&self, name: &str) -> Vec<String> {
        // A hostile name may be a megabyte; it gets no search.
        if name.len() > 256 {
            return vec![];
        }
        let wanted = fold(name);
        let was_called = |e: &&Entry| e.text(WAS).is_some_and(|was| fold(was) == wanted);
        let mut near: Vec<(usize, &str)> = self
            .entries
            .iter()
            .flat_map(Entry::names)
            .map(|n| (strsim::osa_distance(&wanted, &fold(n)), n))
            .filter(|(distance, n)| *distance <= 2.max(n.chars().count() / 3) || fold(n).starts_with(&wanted))
            .chain(self.entries.iter().filter(was_called).map(|e| (0, e.name.as_str())))
            .collect();
        near.sort();
        near.dedup_by_key(|(_, name)| *name);
        near.into_iter().take(3).map(|(_, n)| n.to_owned()).collect()
    }

    /// Three free names similar to this one.
    pub fn suggestions(&self, name: &Name) -> Vec<String> {
        // A name of full length leaves no space for a number.
        let stem: String = name.as_str().chars().take(Name::LIMIT - 6).collect();
        let stem = stem.trim_end_matches('.');
        with_numbers(stem)
            .skip(1)
            .filter(|s| Name::parse(s).is_ok() && !self.is_taken(s, None))
            .take(3)
            .collect()
    }
}

/// The registry while its lock is held, so that it does not change between read and write.
#[derive(Debug)]
pub struct Editing<'a> {
    root: &'a Dir,
    pub registry: Registry,
    _lock: Lock,
}

impl<'a> Editing<'a> {
    pub fn begin(root: &'a Dir) -> Result<Self, Error> {
        let lock = root.lock(LOCK)?;
        Ok(Self { root, registry: Registry::read(root)?, _lock: lock })
    }

    /// Writes the registry; durable on return.
    pub fn commit(self) -> Result<Registry, Error> {
        self.root.replace_synced(FILE, self.registry.render().as_bytes())?;
        Ok(self.registry)
    }
}

/// Waits until the registry's lock is free, at most a second. Makes no lock file, because readers call it.
fn when_unlocked(root: &Dir) -> Result<Option<Lock>, Error> {
    for _ in 0..100 {
        if root.stat(LOCK).is_err_and(|e| e.is_missing()) {
            break;
        }
        if let Some(lock) = root.try_left_lock(LOCK)? {
            return Ok(Some(lock));
        }
        mailbox::pause(Duration::from_millis(10));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    fn entry(name: &str, id: &str) -> Entry {
        Entry {
            name: name.into(),
            id: MailboxId::parse(id).unwrap(),
            harness: "claude".into(),
            inbox: format!("/r/{id}/inbox"),
            pid: 12,
            created: "2026-06-11T21:10:03Z".into(),
            extra: Map::new(),
        }
    }

    #[test]
    fn the_canonical_form() {
        let mut bob = entry("bob", "bob-1");
        bob.extra.insert("about".into(), "reviews \"Rust\"".into());
        let registry = Registry { entries: vec![bob, entry("alice", "alice-2")], strange: vec![] };
        let text = registry.render();
        assert_eq!(
            text,
            "{\n  \"bob\": {\"id\":\"bob-1\",\"harness\":\"claude\",\"inbox\":\"/r/bob-1/inbox\",\"pid\":12,\
             \"created\":\"2026-06-11T21:10:03Z\",\"about\":\"reviews \\\"Rust\\\"\"},\n  \
             \"alice\": {\"id\":\"alice-2\",\"harness\":\"claude\",\"inbox\":\"/r/alice-2/inbox\",\"pid\":12,\
             \"created\":\"2026-06-11T21:10:03Z\"}\n}\n"
        );
        assert_eq!(Registry::parse(text.as_bytes()).unwrap().entries, registry.entries);
    }

    #[test]
    fn any_json_object_is_read_and_strangers_are_kept() {
        let text = r#"{"my bob":{"pid":1,"id":"x"}, "evil":{"id":"../../etc"}, "n": 7}"#;
        let registry = Registry::parse(text.as_bytes()).unwrap();
        assert_eq!(registry.entries[0].name, "my bob");
        assert_eq!(registry.strange.len(), 2);
        assert!(registry.is_taken("EVIL", None));
        assert!(registry.render().contains("\"evil\": {\"id\":\"../../etc\"},\n  \"n\": 7\n"));
        let twice = r#"{"a":{"id":"a1","pid":1}, "b":{"id":"b1","harness":"h","inbox":"i","pid":2,"created":"c"}, "a":{"id":"a2"}}"#;
        let registry = Registry::parse(twice.as_bytes()).unwrap();
        let ids: Vec<&str> = registry.entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids, ["a2", "b1"]);
        assert_eq!((registry.entries[1].harness.as_str(), registry.entries[1].pid), ("h", 2));
        for bad in ["", "[]", "{", "{\"a\":1}x"] {
            assert!(Registry::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "another engine writes it by hand")]
    fn a_registry_that_another_engine_is_writing_is_read_when_it_is_done() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap();
        let root = Dir::open(&path).unwrap();
        std::fs::write(path.join(FILE), "").unwrap();
        assert!(matches!(Registry::load(&root), Err(Error::Corrupt { .. })));
        let lock = root.lock(LOCK).unwrap();
        let reader = std::thread::spawn({
            let path = path.clone();
            move || Registry::load(&Dir::open(&path).unwrap())
        });
        std::fs::write(path.join(FILE), "{\"bob\": {\"id\":\"b\"}}").unwrap();
        drop(lock);
        assert_eq!(reader.join().unwrap().unwrap().entries[0].name, "bob");
    }

    #[test]
    fn a_second_name_of_one_id_stays() {
        let mut registry =
            Registry { entries: vec![entry("bob", "a"), entry("bobby", "a")], strange: vec![] };
        registry.set(Entry { pid: 7, ..entry("bob", "a") });
        registry.set(entry("carol", "c"));
        let names: Vec<(&str, u64)> = registry.entries.iter().map(|e| (e.name.as_str(), e.pid)).collect();
        assert_eq!(names, [("bob", 7), ("bobby", 12), ("carol", 12)]);
    }

    #[test]
    fn look_up_is_exact_first_then_without_case() {
        let mut other = entry("Bob", "b");
        other.extra.insert("aliases".into(), "bobby rob".into());
        let registry = Registry { entries: vec![entry("bob", "a"), other], strange: vec![] };
        assert_eq!(registry.lookup("Bob").unwrap().unwrap().id.as_str(), "b");
        assert_eq!(registry.lookup("ROB").unwrap().unwrap().id.as_str(), "b");
        assert_eq!(registry.by_names()["rob"].id.as_str(), "b");
        assert!(matches!(registry.lookup("BOB"), Err(Error::Ambiguous { .. })));
        assert!(registry.lookup("carol").unwrap().is_none());
    }

    #[test]
    fn taken_names_have_free_neighbours() {
        let registry = Registry { entries: vec![entry("bob", "a"), entry("bob-2", "b")], strange: vec![] };
        assert_eq!(registry.suggestions(&Name::parse("bob").unwrap()), ["bob-3", "bob-4", "bob-5"]);
        assert_eq!(registry.suggestions(&Name::parse(&"x".repeat(64)).unwrap()).len(), 3);
        assert_eq!(registry.nearest("bbo"), ["bob"]);
        assert!(registry.nearest("zebra").is_empty());
        assert!(registry.is_taken("BOB", None));
        assert!(!registry.is_taken("BOB", Some(&MailboxId::parse("a").unwrap())));
    }
}
