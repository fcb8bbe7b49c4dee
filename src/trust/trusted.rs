//! Compares a project with its record: what of it may run now.

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
        // What cannot be read is not trusted.
        let record = store.record(look.project()).unwrap_or_default();
        Self { look, record, known: HashMap::new() }
    }

    /// Whether the limits of the settings file are trusted.
    pub fn limits(&self, limits: &DispatchSettings) -> bool {
        self.record.trusts(&self.look.limits(limits))
    }

    /// Whether an agent may be started: a table, or an agent of a tree with its own file.
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
