//! Groups: named sets of mailboxes, in `<root>/groups.json` (format.md §6.4).
//!
//! A member is a mailbox id or another group, written `@name`. `@all` is everyone in the registry and is never
//! stored. Changes are made under the registry's lock.

use std::collections::BTreeMap;

use super::{Error, Me, Post, Result};
use crate::journal::Event;
use crate::mailbox::Dir;
use crate::name::{MailboxId, Name, fold};

const FILE: &str = "groups.json";
const LIMIT: u64 = 4 * 1024 * 1024;
const ALL: &str = "all";

type Groups = BTreeMap<String, Vec<String>>;

impl Post {
    /// All groups with their members, as names.
    pub fn groups(&self) -> Result<Vec<(String, Vec<String>)>> {
        let shown = |member: &String| {
            if member.starts_with('@') { member.clone() } else { self.name_of(member).to_owned() }
        };
        Ok(load(self.room.root())?
            .into_iter()
            .map(|(name, members)| (name, members.iter().map(shown).collect()))
            .collect())
    }

    /// Adds members to a group, making it if there is none.
    pub fn group_add(&self, name: &str, members: &[String]) -> Result<()> {
        let name = group_name(name)?;
        let new = members.iter().map(|m| self.member(m)).collect::<Result<Vec<_>>>()?;
        self.change_groups(|groups| {
            let name = key(groups, &name).unwrap_or(name);
            let new = new
                .into_iter()
                .map(|member| match member.strip_prefix('@') {
                    Some(group) if fold(group) == fold(&name) => Ok(format!("@{name}")),
                    Some(group) => {
                        key(groups, group).map(|key| format!("@{key}")).ok_or_else(|| unknown(groups, group))
                    }
                    None => Ok(member),
                })
                .collect::<Result<Vec<_>>>()?;
            let group = groups.entry(name.clone()).or_default();
            for member in new {
                if !group.contains(&member) {
                    group.push(member);
                }
            }
            if reaches(groups, &name, &name) {
                return Err(Error::GroupInItself { name: name.clone() });
            }
            Ok(())
        })
    }

    /// Takes members out of a group; without members, the group itself goes.
    pub fn group_remove(&self, name: &str, members: &[String]) -> Result<()> {
        let name = group_name(name)?;
        // Whoever is gone from the room can still be taken out by id.
        let leaving: Vec<String> =
            members.iter().map(|m| self.member(m).unwrap_or_else(|_| m.clone())).collect();
        self.change_groups(|groups| {
            let name = key(groups, &name).ok_or_else(|| unknown(groups, &name))?;
            let group = groups.get_mut(&name).map(std::mem::take).unwrap_or_default();
            let is = |a: &str, b: &str| fold(a) == fold(b);
            for (given, member) in members.iter().zip(&leaving) {
                if !group.iter().any(|m| is(m, member)) {
                    return Err(Error::NotAMember { group: name, member: given.clone() });
                }
            }
            let left: Vec<String> = group.into_iter().filter(|m| !leaving.iter().any(|l| is(m, l))).collect();
            if members.is_empty() || left.is_empty() {
                groups.remove(&name);
                forget(groups, &format!("@{name}"));
            } else {
                groups.insert(name, left);
            }
            Ok(())
        })
    }

    /// Takes a mailbox that is no more out of every group. The caller holds the registry's lock.
    pub(super) fn forget_in_groups(&self, id: &MailboxId) -> Result<()> {
        let root = self.room.root();
        let mut groups = load(root)?;
        if forget(&mut groups, id.as_str()) {
            root.replace(FILE, render(&groups).as_bytes())?;
        }
        Ok(())
    }

    /// The mailboxes that a recipient stands for: its own, or the members of a group without the sender.
    pub(super) fn recipients(&self, me: &Me, name: &str) -> Result<Vec<MailboxId>> {
        let Some(group) = name.strip_prefix('@') else { return Ok(vec![self.addressee(name)?]) };
        let mut ids = vec![];
        if fold(group) == ALL {
            ids.extend(self.registry()?.entries.iter().map(|e| e.id.clone()));
        } else {
            let groups = load(self.room.root())?;
            let key = key(&groups, group).ok_or_else(|| unknown(&groups, group))?;
            expand(&groups, &key, &mut vec![], &mut ids);
        }
        ids.retain(|id| *id != me.id);
        if ids.is_empty() { Err(Error::EmptyGroup { name: group.to_owned() }) } else { Ok(ids) }
    }

    fn member(&self, name: &str) -> Result<String> {
        match name.strip_prefix('@') {
            Some(group) => Ok(format!("@{}", group_name(group)?)),
            None => self.addressee(name).map(|id| id.to_string()),
        }
    }

    fn change_groups(&self, change: impl FnOnce(&mut Groups) -> Result<()>) -> Result<()> {
        self.room.may_write()?;
        let root = self.room.root();
        let _lock = root.lock(crate::registry::LOCK)?;
        let mut groups = load(root)?;
        change(&mut groups)?;
        root.replace(FILE, render(&groups).as_bytes())?;
        self.record(Event {
            note: groups.keys().cloned().collect::<Vec<_>>().join(" "),
            ..Event::new("groups", "")
        });
        Ok(())
    }
}

fn group_name(name: &str) -> Result<String> {
    let bare = name.strip_prefix('@').unwrap_or(name);
    let bad = |why| Error::BadName { what: "the group", text: name.to_owned(), why };
    let checked = Name::parse(bare).map_err(bad)?;
    if fold(checked.as_str()) == ALL {
        Err(Error::GroupInItself { name: ALL.to_owned() })
    } else {
        Ok(checked.to_string())
    }
}

fn key(groups: &Groups, name: &str) -> Option<String> {
    let folded = fold(name);
    groups
        .get_key_value(name)
        .map(|(k, _)| k.clone())
        .or_else(|| groups.keys().find(|k| fold(k) == folded).cloned())
}

fn unknown(groups: &Groups, name: &str) -> Error {
    Error::UnknownGroup {
        name: crate::message::visible::clip(name, 80),
        all: groups.keys().cloned().collect(),
    }
}

/// Takes a member out of every group, and what is empty then with it; `true` if anything changed.
fn forget(groups: &mut Groups, member: &str) -> bool {
    let mut gone = vec![member.to_owned()];
    let mut changed = false;
    while let Some(member) = gone.pop() {
        for group in groups.values_mut() {
            let before = group.len();
            group.retain(|m| *m != member);
            changed |= group.len() != before;
        }
        let empty: Vec<String> =
            groups.iter().filter(|(_, m)| m.is_empty()).map(|(name, _)| name.clone()).collect();
        for name in empty {
            groups.remove(&name);
            gone.push(format!("@{name}"));
        }
    }
    changed
}

fn expand(groups: &Groups, name: &str, seen: &mut Vec<String>, ids: &mut Vec<MailboxId>) {
    if seen.iter().any(|s| s == name) {
        return;
    }
    seen.push(name.to_owned());
    for member in groups.get(name).into_iter().flatten() {
        match member.strip_prefix('@') {
            Some(group) => expand(groups, group, seen, ids),
            None => {
                if let Ok(id) = MailboxId::parse(member)
                    && !ids.contains(&id)
                {
                    ids.push(id);
                }
            }
        }
    }
}

/// Whether a group contains `target`, at whatever depth.
fn reaches(groups: &Groups, from: &str, target: &str) -> bool {
    let mut seen: Vec<&str> = vec![];
    let mut open: Vec<&str> = vec![from];
    while let Some(name) = open.pop() {
        for group in groups.get(name).into_iter().flatten().filter_map(|m| m.strip_prefix('@')) {
            if group == target {
                return true;
            }
            if !seen.contains(&group) {
                seen.push(group);
                open.push(group);
            }
        }
    }
    false
}

fn load(root: &Dir) -> Result<Groups> {
    let Some(bytes) = root.read(FILE, LIMIT)? else { return Ok(Groups::new()) };
    serde_json::from_slice(&bytes)
        .map_err(|e| Error::Registry(format!("{}: {e}", root.path().join(FILE).display())))
}

fn render(groups: &Groups) -> String {
    let line = |(name, members): (&String, &Vec<String>)| {
        format!("  {}: {}", serde_json::json!(name), serde_json::json!(members))
    };
    let lines: Vec<String> = groups.iter().map(line).collect();
    if lines.is_empty() { "{\n}\n".to_owned() } else { format!("{{\n{}\n}}\n", lines.join(",\n")) }
}
