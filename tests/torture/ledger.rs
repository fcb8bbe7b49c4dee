//! The ledger: what was meant, what was acknowledged, what arrived; and the verdict over the three.
//!
//! Every body carries its own key and ends with the checksum of all that comes before it, so a partial
//! message is told from a whole one without asking its sender. Messages are taken apart here by hand and
//! not by the library that is under test.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Mutex;

use sha2::{Digest, Sha256};

/// A body with this key, of some two kilobytes, which ends with its own checksum.
pub(crate) fn body(key: &str) -> String {
    let mut text = format!("key {key}\n");
    for line in 0..40 {
        text.push_str(&format!("{line:02} what was acknowledged is there afterwards: {key}\n"));
    }
    let sum = sha256(text.as_bytes());
    text.push_str(&format!("sum {sum}\n"));
    text
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The key of a body, if the body is whole.
pub(crate) fn key_of(body: &str) -> Result<String, String> {
    let at = body.rfind("sum ").ok_or("the body has no checksum")?;
    let (text, sum) = body.split_at(at);
    if sum != format!("sum {}\n", sha256(text.as_bytes())) {
        return Err(format!("the checksum of the body is wrong ({} bytes)", body.len()));
    }
    let first = text.lines().next().and_then(|line| line.strip_prefix("key "));
    first.map(str::to_owned).ok_or_else(|| "the body has no key".to_owned())
}

/// A message as its file says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) key: String,
    pub(crate) id: String,
    pub(crate) fields: BTreeMap<String, String>,
}

/// Takes a message file apart; an error if any of it is missing.
pub(crate) fn whole(name: &str, bytes: &[u8]) -> Result<Seen, String> {
    let text = str::from_utf8(bytes).map_err(|_| format!("{name}: not UTF-8"))?;
    let rest = text
        .strip_prefix("---\n")
        .ok_or_else(|| format!("{name}: no frontmatter ({} bytes)", bytes.len()))?;
    let (head, body) =
        rest.split_once("\n---\n\n").ok_or_else(|| format!("{name}: frontmatter not closed"))?;
    let fields: BTreeMap<String, String> = head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let id = fields.get("msg_id").cloned().ok_or_else(|| format!("{name}: no msg_id"))?;
    let digits: String = id.chars().filter(char::is_ascii_hexdigit).take(8).collect();
    if !name.contains(&format!("-{digits}-")) {
        return Err(format!("{name}: holds the message {id}"));
    }
    let key = key_of(body).map_err(|why| format!("{name}: {why}"))?;
    Ok(Seen { key, id, fields })
}

/// What was meant, acknowledged and received, by key.
#[derive(Default)]
pub(crate) struct Ledger(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    intents: BTreeMap<String, String>,
    acked: BTreeSet<String>,
    got: Vec<(String, String)>,
    partial: Vec<String>,
}

impl Ledger {
    pub(crate) fn intent(&self, key: &str, body: &str) {
        self.with(|e| e.intents.insert(key.to_owned(), sha256(body.as_bytes())));
    }

    pub(crate) fn acked(&self, key: &str) {
        self.with(|e| e.acked.insert(key.to_owned()));
    }

    /// A body that reached a reader, whatever it is.
    pub(crate) fn got(&self, body: &str) {
        let sum = sha256(body.as_bytes());
        match key_of(body) {
            Ok(key) => self.with(|e| e.got.push((key, sum))),
            Err(why) => self.with(|e| e.partial.push(why)),
        }
    }

    fn with<R>(&self, act: impl FnOnce(&mut Entries) -> R) -> R {
        act(&mut self.0.lock().expect("no thread panicked here"))
    }

    /// Counts what should not be.
    pub(crate) fn tally(&self) -> Tally {
        self.with(|e| {
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            let mut changed = vec![];
            for (key, sum) in &e.got {
                *counts.entry(key).or_default() += 1;
                if e.intents.get(key) != Some(sum) {
                    changed.push(format!("{key} arrived with other bytes than were sent"));
                }
            }
            Tally {
                acked: e.acked.len(),
                received: e.got.len(),
                lost: e.acked.iter().filter(|key| !counts.contains_key(key.as_str())).cloned().collect(),
                partial: e.partial.iter().cloned().chain(changed).collect(),
                duplicates: counts
                    .iter()
                    .filter(|(_, n)| **n > 1)
                    .map(|(key, _)| (*key).to_owned())
                    .collect(),
            }
        })
    }
}

/// The verdict.
pub(crate) struct Tally {
    pub(crate) acked: usize,
    pub(crate) received: usize,
    pub(crate) lost: Vec<String>,
    pub(crate) partial: Vec<String>,
    pub(crate) duplicates: Vec<String>,
}

impl Tally {
    pub(crate) fn problems(&self) -> Vec<String> {
        let named =
            |what: &str, keys: &[String]| keys.iter().map(|key| format!("{what}: {key}")).collect::<Vec<_>>();
        [named("lost", &self.lost), named("partial", &self.partial), named("duplicate", &self.duplicates)]
            .concat()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lost, partial, duplicates) = (self.lost.len(), self.partial.len(), self.duplicates.len());
        let (acked, received) = (self.acked, self.received);
        write!(
            f,
            "{acked} acknowledged, {received} received, {lost} lost, {partial} partial, {duplicates} duplicates"
        )
    }
}

/// The ledger has to be able to say no: each kind of fault is fed to it once.
pub(crate) fn self_check() -> Vec<String> {
    let ledger = Ledger::default();
    for key in ["there", "lost", "twice", "cut"] {
        ledger.intent(key, &body(key));
        ledger.acked(key);
    }
    ledger.got(&body("there"));
    ledger.got(&body("twice"));
    ledger.got(&body("twice"));
    ledger.got(&body("cut")[..900]);
    let tally = ledger.tally();
    let right = tally.lost == ["cut", "lost"] && tally.partial.len() == 1 && tally.duplicates == ["twice"];
    if right { vec![] } else { vec![format!("the ledger misjudges a known case: {tally}")] }
}
