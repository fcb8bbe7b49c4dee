//! A choice: the items of a project that the person names, and the record after that.

use super::look::PLACES;
use super::{Error, Item, Key, Record, Result};

/// The given names. Without any, everything is chosen.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    pub agents: Vec<String>,
    pub workflows: Vec<String>,
    /// Forget versions that were trusted before.
    pub only: bool,
}

impl Choice {
    fn is_everything(&self) -> bool {
        self.agents.is_empty() && self.workflows.is_empty()
    }

    /// The chosen items. The limits go with any agent, because agents run under them.
    pub fn of(&self, items: Vec<Item>) -> Result<Vec<Item>> {
        if self.is_everything() {
            return Ok(items);
        }
        let keys = self.keys();
        let missing = |kind: &'static str, names: &[String]| {
            let is_of =
                |key: &Key| matches!(key, Key::Workflow(_)) == (kind == "workflow") && *key != Key::Limits;
            let has = |name: &String| items.iter().any(|item| is_of(&item.key) && item.key.name() == name);
            match names.iter().find(|name| !has(name)) {
                Some(name) => Err(Error::Unknown { kind, name: name.clone() }),
                None => Ok(()),
            }
        };
        missing("agent", &self.agents)?;
        missing("workflow", &self.workflows)?;
        let limits = !self.agents.is_empty();
        let meant = |item: &Item| keys.contains(&item.key) || item.key == Key::Limits && limits;
        Ok(items.into_iter().filter(meant).collect())
    }

    /// The record after the person agreed to these items.
    pub fn agreed(&self, before: &Record, items: &[Item]) -> Record {
        // Items that no longer exist are earlier versions too.
        let anew = self.only && self.is_everything();
        let mut after = if anew { Record::default() } else { before.clone() };
        for item in items {
            if self.only {
                after.revoke(&item.key);
            }
            after.trust(item);
        }
        after
    }

    /// The record after the person revoked the chosen items.
    pub fn revoked(&self, before: &Record) -> Record {
        if self.is_everything() {
            return Record::default();
        }
        let mut after = before.clone();
        self.keys().iter().for_each(|key| after.revoke(key));
        after
    }

    /// All keys that these names may mean.
    fn keys(&self) -> Vec<Key> {
        let mut keys = vec![];
        for name in &self.agents {
            keys.extend([Key::Agent(name.clone()), Key::Described(name.clone())]);
        }
        for name in &self.workflows {
            let files =
                PLACES.iter().flat_map(|place| ["yaml", "yml"].map(|end| format!("{place}/{name}.{end}")));
            keys.extend(files.map(Key::Workflow));
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::super::What;
    use super::*;

    fn items(line: &str) -> Vec<Item> {
        let keys = [
            Key::Limits,
            Key::Agent("a".into()),
            Key::Described("b".into()),
            Key::Workflow(".claude/workflows/a.yml".into()),
        ];
        let item = |key| Item { key, what: What::Limits, description: vec![line.to_owned()] };
        keys.map(item).into()
    }

    fn choice(agents: &[&str], workflows: &[&str], only: bool) -> Choice {
        let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Choice { agents: all(agents), workflows: all(workflows), only }
    }

    #[test]
    fn names_mean_items_and_limits_go_with_agents() {
        let meant = |choice: Choice| {
            let items = choice.of(items("x"));
            items.map(|items| items.iter().map(|item| item.key.to_string()).collect::<Vec<_>>().join("|"))
        };
        assert_eq!(meant(choice(&["a"], &[], false)).unwrap(), "limits|agent a");
        assert_eq!(meant(choice(&["b"], &[], false)).unwrap(), "limits|agent b (.claude/agents/b.md)");
        assert_eq!(meant(choice(&[], &["a"], false)).unwrap(), "workflow a (.claude/workflows/a.yml)");
        assert!(meant(choice(&[], &["b"], false)).is_err(), "an agent is no workflow");
        assert_eq!(meant(choice(&[], &[], false)).unwrap().split('|').count(), 4);
    }

    #[test]
    fn only_drops_what_was_before() {
        let (old, new) = (items("old"), items("new"));
        let all = choice(&[], &[], false);
        let both = all.agreed(&all.agreed(&Record::default(), &old), &new);
        assert!(old.iter().chain(&new).all(|item| both.trusts(item)));
        let one = choice(&["a"], &[], true).agreed(&both, &new[1..2]);
        assert!(!one.trusts(&old[1]) && one.trusts(&new[1]) && one.trusts(&old[2]));
        let now = choice(&[], &[], true).agreed(&both, &new[..1]);
        assert!(now.trusts(&new[0]) && !now.trusts(&new[1]), "what is gone is dropped too");
        let revoked = choice(&["a"], &["a"], false).revoked(&both);
        assert!(!revoked.trusts(&new[1]) && !revoked.trusts(&new[3]) && revoked.trusts(&new[2]));
    }
}
