//! The verbs of groups: add, remove, list, and the recipients of `@name`.

use super::{Error, Me, Post, Result};
use crate::groups::{self, ALL, Groups};
use crate::journal::Event;
use crate::name::{MailboxId, Name, fold};
use crate::registry::Editing;

impl From<groups::Error> for Error {
    fn from(e: groups::Error) -> Self {
        match e {
            groups::Error::Disk(e) => Self::Disk(e),
            e @ groups::Error::Corrupt { .. } => Self::Registry(e.to_string()),
        }
    }
}

impl Post {
    /// All groups with their members, as names.
    pub fn groups(&self) -> Result<Vec<(String, Vec<String>)>> {
        self.names_are_known()?;
        Ok(self.named(Groups::load(self.room.root())?))
    }

    fn named(&self, groups: Groups) -> Vec<(String, Vec<String>)> {
        let shown = |member: &String| match member.starts_with('@') {
            true => member.clone(),
            false => self.name_of(member).to_owned(),
        };
        groups.0.into_iter().map(|(name, members)| (name, members.iter().map(shown).collect())).collect()
    }

    /// Whether a group is called that. Groups that cannot be read are none, which is enough for a suggestion.
    pub(super) fn is_group(&self, name: &str) -> bool {
        fold(name) == ALL || Groups::load(self.room.root()).is_ok_and(|groups| groups.key(name).is_some())
    }

    /// Adds members to a group, and makes it if there is none. Returns all groups.
    pub fn group_add(&self, name: &str, members: &[String]) -> Result<Vec<(String, Vec<String>)>> {
        let name = group_name(name)?;
        let new = members.iter().map(|m| self.member(m)).collect::<Result<Vec<_>>>()?;
        self.change_groups(|groups| {
            let name = groups.key(&name).unwrap_or(name);
            for member in new {
                let member = match member.strip_prefix('@') {
                    Some(group) if fold(group) == fold(&name) => return Err(Error::GroupInItself { name }),
                    Some(group) => format!("@{}", groups.key(group).ok_or_else(|| unknown(groups, group))?),
                    None => member,
                };
                let group = groups.0.entry(name.clone()).or_default();
                if !group.contains(&member) {
                    group.push(member);
                }
            }
            if groups.contains_itself(&name) { Err(Error::GroupInItself { name }) } else { Ok(()) }
        })
    }

    /// Removes members from a group; without members, removes the group. Returns the remaining groups.
    pub fn group_remove(&self, name: &str, members: &[String]) -> Result<Vec<(String, Vec<String>)>> {
        let name = group_name(name)?;
        // A mailbox that has left the room can still be removed by id.
        let leaving: Vec<String> =
            members.iter().map(|m| self.member(m).unwrap_or_else(|_| m.clone())).collect();
        self.change_groups(|groups| {
            let name = groups.key(&name).ok_or_else(|| unknown(groups, &name))?;
            let Some(group) = groups.0.get_mut(&name) else { return Ok(()) };
            let is = |a: &str, b: &str| fold(a) == fold(b);
            for (given, member) in members.iter().zip(&leaving) {
                if !group.iter().any(|m| is(m, member)) {
                    return Err(Error::NotAMember { group: name, member: given.clone() });
                }
            }
            group.retain(|m| !leaving.iter().any(|l| is(m, l)));
            if members.is_empty() || group.is_empty() {
                groups.0.remove(&name);
                groups.forget(&format!("@{name}"));
            }
            Ok(())
        })
    }

    /// The mailboxes of a recipient: its own, or the members of a group without the sender.
    pub(super) fn recipients(&self, me: &Me, name: &str) -> Result<Vec<MailboxId>> {
        let Some(group) = name.strip_prefix('@') else { return Ok(vec![self.addressee(name)?]) };
        let mut ids = if fold(group) == ALL {
            self.registry()?.entries.iter().map(|e| e.id.clone()).collect()
        } else {
            let groups = Groups::load(self.room.root())?;
            groups.mailboxes(&groups.key(group).ok_or_else(|| unknown(&groups, group))?)
        };
        ids.retain(|id| *id != me.id);
        if ids.is_empty() { Err(Error::EmptyGroup { name: group.to_owned() }) } else { Ok(ids) }
    }

    fn member(&self, name: &str) -> Result<String> {
        match name.strip_prefix('@') {
            Some(group) => Ok(format!("@{}", group_name(group)?)),
            None => self.addressee(name).map(|id| id.to_string()),
        }
    }

    /// Whether a mailbox was registered when this command began, and is not now.
    fn is_pruned(&self, now: &Editing<'_>, id: &MailboxId) -> bool {
        now.registry.by_id(id).is_none() && self.registered().is_ok_and(|before| before.by_id(id).is_some())
    }

    fn change_groups(
        &self,
        change: impl FnOnce(&mut Groups) -> Result<()>,
    ) -> Result<Vec<(String, Vec<String>)>> {
        self.room.may_write()?;
        let root = self.room.root();
        let editing = Editing::begin(root)?;
        let mut groups = Groups::load(root)?;
        let before = groups.clone();
        change(&mut groups)?;
        // Pruned since the look-up.
        let new = |member: &&String| !before.0.values().any(|members| members.contains(*member));
        let mut added = groups.0.values().flatten().filter(|member| !member.starts_with('@')).filter(new);
        if let Some(gone) =
            added.find(|id| MailboxId::parse(id).is_ok_and(|id| self.is_pruned(&editing, &id)))
        {
            return Err(Error::NoMailbox { id: gone.clone(), name: self.name_of(gone).to_owned() });
        }
        groups.save(root)?;
        let note = groups.0.keys().cloned().collect::<Vec<_>>().join(" ");
        self.record(Event { note, ..Event::new("groups", "") });
        Ok(self.named(groups))
    }
}

fn group_name(name: &str) -> Result<String> {
    let bare = name.strip_prefix('@').unwrap_or(name);
    let bad = |why| Error::BadName { what: "the group", text: name.to_owned(), why };
    let checked = Name::parse(bare).map_err(bad)?;
    match fold(checked.as_str()) == ALL {
        true => Err(Error::GroupInItself { name: ALL.to_owned() }),
        false => Ok(checked.to_string()),
    }
}

fn unknown(groups: &Groups, name: &str) -> Error {
    Error::UnknownGroup {
        name: crate::message::visible::clip(name, 80),
        all: groups.0.keys().cloned().collect(),
    }
}
