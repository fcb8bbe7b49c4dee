//! Groups: named sets of mailboxes, in `<root>/groups.json` (format.md §6.4).
//!
//! A member is a mailbox id or another group, written `@name`. `@all` is everyone in the registry and is never stored.
//! A writer of the file holds the registry's lock.

use std::collections::BTreeMap;

use thiserror::Error as ThisError;

use crate::mailbox::{self, Dir};
use crate::name::{MailboxId, fold};

pub const FILE: &str = "groups.json";

/// The group that always exists.
pub const ALL: &str = "all";

const LIMIT: u64 = 4 * 1024 * 1024;

/// Why the groups cannot be used.
#[derive(Debug, ThisError)]
pub enum Error {
    #[error("{path}: {why}")]
    Corrupt { path: String, why: String },
    #[error(transparent)]
    Disk(#[from] mailbox::Error),
}

/// All groups of a room.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Groups(pub BTreeMap<String, Vec<String>>);

impl Groups {
    /// Reads the groups of a room; without a file there are none.
    pub fn load(root: &Dir) -> Result<Self, Error> {
        let Some(bytes) = root.read(FILE, LIMIT)? else { return Ok(Self::default()) };
        let path = || root.path().join(FILE).display().to_string();
        serde_json::from_slice(&bytes)
            .map(Self)
            .map_err(|e| Error::Corrupt { path: path(), why: e.to_string() })
    }

    /// Writes the groups; durable on return.
    pub fn save(&self, root: &Dir) -> Result<(), Error> {
        Ok(root.replace_synced(FILE, self.render().as_bytes())?)
    }

    fn render(&self) -> String {
        let line = |(name, members): (&String, &Vec<String>)| {
            format!("  {}: {}", serde_json::json!(name), serde_json::json!(members))
        };
        let lines: Vec<String> = self.0.iter().map(line).collect();
        if lines.is_empty() { "{\n}\n".to_owned() } else { format!("{{\n{}\n}}\n", lines.join(",\n")) }
    }

    /// The stored name of a group: an exact match first, else one without case.
    pub fn key(&self, name: &str) -> Option<String> {
        let folded = fold(name);
        let exact = self.0.get_key_value(name).map(|(key, _)| key.clone());
        exact.or_else(|| self.0.keys().find(|key| fold(key) == folded).cloned())
    }

    /// The mailboxes of a group and of the groups in it, each once.
    pub fn mailboxes(&self, name: &str) -> Vec<MailboxId> {
        let mut ids = vec![];
        self.walk(name, |member| {
            if let Ok(id) = MailboxId::parse(member)
                && !ids.contains(&id)
            {
                ids.push(id);
            }
        });
        ids
    }

    /// Whether a group contains itself, at any depth.
    pub fn contains_itself(&self, name: &str) -> bool {
        let itself = format!("@{name}");
        let mut found = false;
        self.walk(name, |member| found |= member == itself);
        found
    }

    /// Calls `see` with each member of a group and of the groups in it, in order, each group once.
    fn walk(&self, name: &str, mut see: impl FnMut(&str)) {
        let mut seen = vec![name];
        let mut open: Vec<&str> = self.members(name).rev().collect();
        while let Some(member) = open.pop() {
            see(member);
            if let Some(inner) = member.strip_prefix('@')
                && !seen.contains(&inner)
            {
                seen.push(inner);
                open.extend(self.members(inner).rev());
            }
        }
    }

    fn members(&self, name: &str) -> impl DoubleEndedIterator<Item = &str> {
        self.0.get(name).map(Vec::as_slice).unwrap_or_default().iter().map(String::as_str)
    }

    /// Removes a member from every group, and groups that become empty; returns each removed member with its group.
    pub fn forget(&mut self, member: &str) -> Vec<(String, String)> {
        let mut gone = vec![member.to_owned()];
        let mut taken = vec![];
        while let Some(member) = gone.pop() {
            for (name, group) in &mut self.0 {
                if group.contains(&member) {
                    group.retain(|m| *m != member);
                    taken.push((name.clone(), member.clone()));
                }
            }
            let empty: Vec<String> =
                self.0.iter().filter(|(_, m)| m.is_empty()).map(|(name, _)| name.clone()).collect();
            for name in empty {
                self.0.remove(&name);
                gone.push(format!("@{name}"));
            }
        }
        taken
    }

    /// Restores what [`Groups::forget`] removed.
    pub fn restore(&mut self, taken: Vec<(String, String)>) {
        for (name, member) in taken {
            let group = self.0.entry(name).or_default();
            if !group.contains(&member) {
                group.push(member);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(pairs: &[(&str, &[&str])]) -> Groups {
        let own = |list: &[&str]| list.iter().map(|m| (*m).to_owned()).collect();
        Groups(pairs.iter().map(|(name, members)| ((*name).to_owned(), own(members))).collect())
    }

    #[test]
    fn groups_in_groups_are_one_set() {
        let groups = groups(&[("team", &["a", "@seniors"]), ("seniors", &["b", "a"])]);
        let ids: Vec<String> = groups.mailboxes("team").iter().map(ToString::to_string).collect();
        assert_eq!(ids, ["a", "b"]);
        let inner_first = self::groups(&[("team", &["@seniors", "c"]), ("seniors", &["b", "a"])]);
        let ids: Vec<String> = inner_first.mailboxes("team").iter().map(ToString::to_string).collect();
        assert_eq!(ids, ["b", "a", "c"]);
        assert_eq!(groups.key("TEAM").as_deref(), Some("team"));
        assert!(!groups.contains_itself("team"));
    }

    #[test]
    fn a_loop_is_seen_and_ends() {
        let groups = groups(&[("a", &["@b"]), ("b", &["@c", "x"]), ("c", &["@a"])]);
        assert!(groups.contains_itself("a") && groups.contains_itself("c"));
        assert_eq!(groups.mailboxes("a").len(), 1);
    }

    #[test]
    fn what_is_gone_leaves_no_hole() {
        let mut groups = groups(&[("a", &["x"]), ("b", &["@a"]), ("c", &["@b", "y"])]);
        let before = groups.clone();
        let taken = groups.forget("x");
        assert_eq!(groups.0.keys().collect::<Vec<_>>(), ["c"]);
        assert_eq!(groups.0["c"], ["y"]);
        assert!(groups.forget("x").is_empty());
        groups.restore(taken);
        let members = |groups: &Groups| ["a", "b", "c"].map(|name| groups.mailboxes(name).len());
        assert_eq!(members(&groups), members(&before));
    }
}
