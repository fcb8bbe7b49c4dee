//! Compares a project with its record: what of it may run now.

use std::collections::HashMap;
use std::path::Path;

use super::item::fingerprint;
use super::{Key, Look, Store};
use crate::settings::agents::{AgentSettings, DispatchSettings};

/// What may run of one project.
#[derive(Debug)]
pub struct Trusted {
    look: Look,
    /// The trusted fingerprints of each item.
    trusted: HashMap<String, Vec<String>>,
    known: HashMap<Key, bool>,
}

impl Trusted {
    pub fn of(store: &Store, project: &Path) -> Self {
        let look = Look::at(project);
        // What cannot be read is not trusted.
        let trusted = store.fingerprints(look.project()).unwrap_or_default();
        Self { look, trusted, known: HashMap::new() }
    }

    fn trusts(&self, key: &Key, description: &[String]) -> bool {
        let key = key.to_string();
        self.trusted.get(&key).is_some_and(|versions| versions.contains(&fingerprint(&key, description)))
    }

    /// Whether the limits of the settings file are trusted.
    pub fn limits(&self, limits: &DispatchSettings) -> bool {
        let item = self.look.limits(limits);
        self.trusts(&item.key, &item.description)
    }

    /// Whether an agent may be started: a table, or an agent of a tree with its own file.
    pub fn agent(&mut self, key: &Key, settings: &AgentSettings) -> bool {
        if let Some(known) = self.known.get(key) {
            return *known;
        }
        // What cannot be covered is not trusted.
        let description = self.look.agent_described(settings);
        let is_trusted = description.is_ok_and(|description| self.trusts(key, &description));
        self.known.insert(key.clone(), is_trusted);
        is_trusted
    }

    /// Whether an agent may be started in the directory of one run, which stands for its own ([`Look`]). `worktree`: the
    /// top of the repository that a worktree stands for, and the worktree.
    pub fn agent_in(
        &mut self,
        key: &Key,
        settings: &AgentSettings,
        cwd: &Path,
        worktree: Option<(&Path, &Path)>,
    ) -> bool {
        let description = self.look.agent_described_in(settings, cwd, worktree);
        description.is_ok_and(|description| self.trusts(key, &description))
    }

    /// Whether this text of a workflow may be run.
    pub fn workflow(&self, file: &str, text: &str) -> bool {
        let item = self.look.workflow(file, text);
        self.trusts(&item.key, &item.description)
    }
}
