//! Shared parts of the tests of a tree: a project in a temporary directory, and a clock that the test moves.

#![allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{Agent, Tree};
use crate::clock::{Clock, Timestamp};
use crate::message::Priority;
use crate::message::tree::{Status, Task};
use crate::name::MailboxId;

/// A tree of its own.
pub(super) struct Scene {
    pub(super) project: PathBuf,
    pub(super) tree: Tree,
    _temp: tempfile::TempDir,
}

impl Scene {
    pub(super) fn new(agents: &[&str]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let project = temp.path().canonicalize().unwrap();
        let agents: Vec<_> = agents.iter().map(|agent| id(agent)).collect();
        let tree = Tree::make(&project, &agents).unwrap();
        Self { project, tree, _temp: temp }
    }

    pub(super) fn path(&self, below: &str) -> PathBuf {
        self.project.join(".claude").join(below)
    }

    pub(super) fn agent(&self, name: &str) -> Agent {
        self.tree.agent(&id(name)).unwrap()
    }

    /// Puts a pending message into an inbox by hand.
    pub(super) fn put(&self, agent: &str, name: &str, fields: &str) {
        let created = if fields.contains("created:") { "" } else { "created: 2026-11-15T10:00:00Z\n" };
        let status = if fields.contains("status:") { "" } else { "status: pending\n" };
        let text =
            format!("---\nid: {name}\nfrom: user\nto: {agent}\n{status}{created}{fields}---\n\nText.\n");
        std::fs::write(self.path(&format!("inboxes/{agent}/{name}.md")), text).unwrap();
    }

    pub(super) fn text(&self, below: &str) -> String {
        std::fs::read_to_string(self.path(below)).unwrap()
    }
}

pub(super) fn id(text: &str) -> MailboxId {
    MailboxId::parse(text).unwrap()
}

/// A request whose id and time are not set yet.
pub(super) fn task(to: &str, body: &str) -> Task {
    Task {
        id: String::new(),
        from: "user".into(),
        to: to.into(),
        status: Status::Pending,
        created: String::new(),
        priority: Priority::Normal,
        context: None,
        workflow: None,
        step: None,
        request_id: None,
        duration_seconds: None,
        error: None,
        extra: vec![],
        body: body.into(),
        doubts: vec![],
    }
}

/// 2026-11-15T10:00:00Z.
pub(super) fn noon() -> Timestamp {
    Timestamp::parse("2026-11-15T10:00:00Z").unwrap()
}

/// Seconds since noon, moved by the test.
#[derive(Debug, Default)]
pub(super) struct Hand(AtomicU64);

impl Hand {
    pub(super) fn pass(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_parts(noon().seconds() + self.boot().as_secs() as i64, 0)
    }

    fn boot(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
    }

    fn boot_id(&self) -> std::io::Result<String> {
        Ok("boot".into())
    }

    fn host(&self) -> String {
        "host".into()
    }
}
