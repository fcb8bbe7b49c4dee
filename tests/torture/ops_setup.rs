//! Setting a mailbox up, as an operation: one name, one mailbox and one binding, however it is interrupted.

use serde_json::Value;

use crate::ops::Op;
use crate::place::{Place, names_in};
use crate::process::Ended;

impl Op {
    /// Whether dave is registered.
    pub(crate) fn is_set_up(self, place: &Place) -> bool {
        let registry = std::fs::read(place.root.join("registry.json")).unwrap_or_default();
        let entries: Value = serde_json::from_slice(&registry).unwrap_or_default();
        entries.get("dave").is_some()
    }

    pub(crate) fn judge_setup(self, place: &Place, first: &Ended, again: Option<&Ended>) -> Vec<String> {
        let mut problems = vec![];
        let registry = std::fs::read(place.root.join("registry.json")).unwrap_or_default();
        let entries: Value = match serde_json::from_slice(&registry) {
            Ok(entries) => entries,
            Err(_) if registry.is_empty() && self == Self::FirstSetup => Value::Null,
            Err(e) => return vec![format!("registry.json is broken: {e}")],
        };
        let named = entries.get("dave").and_then(|entry| entry["id"].as_str());
        let known = entries.as_object().map_or(0, serde_json::Map::len);
        let others = if self == Self::Setup { 3 } else { 0 };
        if self.acknowledged(first) && named.is_none() {
            problems.push("acknowledged, but the name is not registered".to_owned());
        }
        if known - usize::from(named.is_some()) != others {
            problems.push(format!("the registry knows {known} names"));
        }
        let mailboxes = names_in(&place.root).into_iter().filter(|name| name.starts_with("dave-")).count();
        if mailboxes > 1 {
            problems.push(format!("{mailboxes} mailboxes of dave"));
        }
        if let Some(again) = again {
            let sessions = names_in(&place.sessions()).into_iter().filter(|name| !name.starts_with('.'));
            let sessions = sessions.count();
            if !again.ok() || named.is_none() || mailboxes != 1 || sessions != 1 {
                let facts = format!("{mailboxes} mailboxes, {sessions} bindings, registered as {named:?}");
                problems.push(format!("after the second run: {facts}; {}", again.shown()));
            }
        }
        problems
    }
}
