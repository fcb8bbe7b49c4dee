//! The person's decisions: for each item of a project the trusted fingerprints, and the description of the last one, to
//! show the difference when it changes.
//!
//! ```text
//! ~/.config/postroom/trusted/<32 hex of SHA-256 of the path>
//!   # a remark that names this file and the project
//!   {"item":"agent NAME","trusted":[FINGERPRINT, …],"last":[LINE, …]}
//! ```
//!
//! Sandboxed agents cannot write there. A line that cannot be read trusts nothing.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use super::item::{Item, Key};
use super::{Result, difference};
use crate::hex;
use crate::mailbox::{Dir, IfAny};
use crate::message::visible;

/// The longest description that is kept for a difference.
const DESCRIPTION: usize = 256 * 1024;

/// The largest record that is read.
const LIMIT: u64 = 64 * 1024 * 1024;

/// The records of this person.
#[derive(Debug, Clone)]
pub struct Store {
    path: PathBuf,
}

impl Store {
    /// In the directory of the person's settings.
    pub fn new(config: &Path) -> Self {
        Self { path: config.join("trusted") }
    }

    /// Where the records are.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The record of a project; empty if there is none.
    pub fn record(&self, project: &Path) -> Result<Record> {
        Ok(Record { entries: lines(&self.text(project)?).collect() })
    }

    /// The trusted fingerprints of each item of a project: what every start of an agent asks for, without the descriptions.
    pub fn fingerprints(&self, project: &Path) -> Result<HashMap<String, Vec<String>>> {
        #[derive(Deserialize)]
        struct Versions {
            item: String,
            trusted: Vec<String>,
            #[serde(default, rename = "last")]
            _last: Option<Vec<IgnoredAny>>,
        }
        let mut all = HashMap::new();
        for Versions { item, trusted, .. } in lines(&self.text(project)?) {
            all.entry(item).or_insert(trusted);
        }
        Ok(all)
    }

    fn text(&self, project: &Path) -> Result<String> {
        let Some(dir) = Dir::open(&self.path).if_any()? else { return Ok(String::new()) };
        let bytes = dir.read(&file_of(project), LIMIT)?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Writes a record; an empty one is removed. Durable on return.
    pub fn keep(&self, project: &Path, record: &Record) -> Result<()> {
        if !record.entries.is_empty() {
            let dir = Dir::make(&self.path)?;
            dir.replace_synced(&file_of(project), record.text(project).as_bytes())?;
            dir.sync_parents()?;
            return Ok(());
        }
        let Some(dir) = Dir::open(&self.path).if_any()? else { return Ok(()) };
        if dir.remove(&file_of(project)).if_any()?.is_some() {
            // A revocation must survive a power cut.
            dir.sync()?;
        }
        Ok(())
    }
}

/// The lines of a record that can be read.
fn lines<T: DeserializeOwned>(text: &str) -> impl Iterator<Item = T> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok())
}

fn file_of(project: &Path) -> String {
    hex::digest(project.as_os_str().as_encoded_bytes(), 16)
}

/// The record of one item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Entry {
    item: String,
    trusted: Vec<String>,
    /// Omitted if it is too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<Vec<String>>,
}

/// The decisions about one project.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record {
    entries: Vec<Entry>,
}

/// The state of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustState {
    New,
    /// With the difference to the last trusted version; empty if that was too long to keep.
    Changed(Vec<String>),
    Unchanged,
}

impl TrustState {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed(_) => "changed",
            Self::Unchanged => "unchanged",
        }
    }
}

impl Record {
    /// The text of the record file, also for use on a machine without a terminal.
    pub fn text(&self, project: &Path) -> String {
        let shown = visible::line(&project.display().to_string());
        let mut text = format!("# ~/.config/postroom/trusted/{}: trust in {shown}\n", file_of(project));
        for entry in &self.entries {
            text.push_str(&visible::json(entry));
            text.push('\n');
        }
        text
    }

    fn entry(&self, key: &Key) -> Option<&Entry> {
        let key = key.to_string();
        self.entries.iter().find(|entry| entry.item == key)
    }

    /// Whether the person has reviewed this version of an item.
    pub fn trusts(&self, item: &Item) -> bool {
        self.entry(&item.key).is_some_and(|entry| entry.trusted.contains(&item.fingerprint()))
    }

    pub fn state(&self, item: &Item) -> TrustState {
        match self.entry(&item.key) {
            None => TrustState::New,
            Some(_) if self.trusts(item) => TrustState::Unchanged,
            Some(entry) => {
                let changes = entry.last.as_ref().map(|last| difference(last, &item.description));
                TrustState::Changed(changes.unwrap_or_default())
            }
        }
    }

    /// Trusts an item as it is now; earlier versions stay trusted.
    pub fn trust(&mut self, item: &Item) {
        let (key, now) = (item.key.to_string(), item.fingerprint());
        let size: usize = item.description.iter().map(|line| line.len() + 1).sum();
        let last = (size <= DESCRIPTION).then(|| item.description.clone());
        match self.entries.iter_mut().find(|entry| entry.item == key) {
            Some(entry) => {
                entry.last = last;
                if !entry.trusted.contains(&now) {
                    entry.trusted.push(now);
                }
            }
            None => self.entries.push(Entry { item: key, trusted: vec![now], last }),
        }
    }

    /// Revokes every version of an item.
    pub fn revoke(&mut self, key: &Key) {
        let key = key.to_string();
        self.entries.retain(|entry| entry.item != key);
    }
}

#[cfg(test)]
mod tests {
    use super::super::item::What;
    use super::*;

    fn item(lines: &[&str]) -> Item {
        let description = lines.iter().map(|line| (*line).to_owned()).collect();
        Item { key: Key::Agent("a".to_owned()), what: What::Limits, description }
    }

    #[test]
    fn versions_stay_until_they_are_revoked() {
        let (one, two, other) = (item(&["1"]), item(&["2"]), item(&["3"]));
        let mut record = Record::default();
        assert_eq!(record.state(&one), TrustState::New);
        record.trust(&one);
        assert_eq!(record.state(&two), TrustState::Changed(vec!["- 1".to_owned(), "+ 2".to_owned()]));
        record.trust(&two);
        assert!(record.trusts(&one) && record.trusts(&two) && !record.trusts(&other));
        record.revoke(&one.key);
        assert_eq!(record, Record::default());
    }

    #[test]
    fn a_record_is_kept_and_what_cannot_be_read_trusts_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let (store, project) = (Store::new(temp.path()), Path::new("/srv/x"));
        let mut record = Record::default();
        record.trust(&item(&["a \u{9b}2J\u{202e} line"]));
        store.keep(project, &record).unwrap();
        assert_eq!(store.record(project).unwrap(), record);
        assert_eq!(store.record(Path::new("/srv/y")).unwrap(), Record::default());
        assert!(!record.text(project).contains(['\u{9b}', '\u{202e}']));
        let old = "# ~/.config/postroom/trusted/x: trust in /srv/x\n0123456789abcdef\n";
        assert_eq!(lines::<Entry>(old).count(), 0);
        store.keep(project, &Record::default()).unwrap();
        assert_eq!(std::fs::read_dir(temp.path().join("trusted")).unwrap().count(), 0);
    }

    #[test]
    fn what_is_too_long_is_trusted_without_a_difference() {
        let (long, short) = (item(&["x".repeat(DESCRIPTION).as_str(), "y"]), item(&["a", "b"]));
        let mut record = Record::default();
        record.trust(&long);
        assert!(record.trusts(&long));
        assert_eq!(record.state(&short), TrustState::Changed(vec![]));
    }
}
