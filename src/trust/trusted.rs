//! A project held against its record: what of it may run now.

use std::collections::HashMap;
use std::path::Path;

use super::{Key, Look, Record, Store};
use crate::settings::agents::{AgentSettings, DispatchSettings};

/// What may run of one project.
#[derive(Debug)]
pub struct Trusted {
    look: Look,
    record: Record,
    known: HashMap<Key, bool>,
}

impl Trusted {
    pub fn of(store: &Store, project: &Path) -> Self {
        let look = Look::at(project);
        // What cannot be looked at is not trusted.
        let record = store.record(look.project()).unwrap_or_default();
        Self { look, record, known: HashMap::new() }
    }

    /// What may run of the same project in a worktree: asked after its checkout, because a branch may bring other files.
    pub fn in_worktree(&self, worktree: &Path) -> Self {
        Self { look: Look::at(worktree), record: self.record.clone(), known: HashMap::new() }
    }

    /// Whether the limits of the file of settings hold.
    pub fn limits(&self, limits: &DispatchSettings) -> bool {
        self.record.trusts(&self.look.limits(limits))
    }

    /// Whether an agent may be started: a table, or an agent of a tree with a file of its own.
    pub fn agent(&mut self, key: &Key, settings: &AgentSettings) -> bool {
        if let Some(known) = self.known.get(key) {
            return *known;
        }
        // What cannot be covered is not trusted.
        let is_trusted = self.look.agent(key, settings).is_ok_and(|item| self.record.trusts(&item));
        self.known.insert(key.clone(), is_trusted);
        is_trusted
    }

    /// Whether this text of a workflow may be run.
    pub fn workflow(&self, file: &str, text: &str) -> bool {
        self.record.trusts(&self.look.workflow(file, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_is_held_against_the_record_of_its_project() {
        let temp = tempfile::tempdir().unwrap();
        let [project, worktree] = ["project", "tree"].map(|name| temp.path().join(name));
        for place in [&project, &worktree] {
            std::fs::create_dir_all(place.join("sub")).unwrap();
            std::fs::write(place.join(".git"), "gitdir: elsewhere").unwrap();
            std::fs::write(place.join("CLAUDE.md"), "x").unwrap();
        }
        let settings =
            AgentSettings { preset: "claude".into(), cwd: Some("sub".into()), ..AgentSettings::default() };
        let key = Key::Agent("a".to_owned());
        let mut record = Record::default();
        record.trust(&Look::at(&project).agent(&key, &settings).unwrap());
        let store = Store::new(temp.path());
        store.keep(&project.canonicalize().unwrap(), &record).unwrap();
        let trusted = Trusted::of(&store, &project);
        assert!(trusted.in_worktree(&worktree).agent(&key, &settings));
        for (file, text) in [("sub/.mcp.json", "{}"), ("CLAUDE.md", "y")] {
            let path = worktree.join(file);
            let before = std::fs::read(&path);
            std::fs::write(&path, text).unwrap();
            assert!(!trusted.in_worktree(&worktree).agent(&key, &settings), "{file}");
            match before {
                Ok(before) => std::fs::write(&path, before).unwrap(),
                Err(_) => std::fs::remove_file(&path).unwrap(),
            }
        }
        assert!(trusted.in_worktree(&worktree).agent(&key, &settings), "as it was");
    }
}
