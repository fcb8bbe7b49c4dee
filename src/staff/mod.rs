//! The staff of a room: which program may work for which mailbox, from the room's settings, the project's, and the
//! files in `.claude/agents/`. A repository's settings are used only if the person trusts their current version.
//!
//! `gather` finds the agents; `changes` says when to do it again; `equip` sets the environment of one before its start.
//! `workflows` finds the workflows that can be started, and starts them.

mod changes;
mod equip;
mod gather;
mod workflows;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use thiserror::Error as ThisError;

pub use changes::stamp;
pub use equip::{equip, gate_environment};
pub use gather::gather;
pub use workflows::{FoundWorkflow, ReadyWorkflow, WorkflowError, all_workflows, find_workflow};

use crate::dispatch::supervisor::Agent;
use crate::hint::Hint;
use crate::message::visible;
use crate::name::MailboxId;
use crate::post::{self, Failure};
use crate::settings::agents::DispatchSettings;
use crate::surroundings;
use crate::trust::{Key, Store, Trusted};

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, ThisError)]
pub enum Error {
    #[error("[agents.{name}]: {why}")]
    Table { name: String, why: String },
    #[error(transparent)]
    Surroundings(#[from] surroundings::Error),
    #[error(transparent)]
    Post(#[from] post::Error),
}

impl Error {
    pub fn code(&self) -> Failure {
        match self {
            Self::Table { .. } => Failure::Refused,
            Self::Surroundings(e) => e.code(),
            Self::Post(e) => e.code(),
        }
    }
}

/// The agents that can be started, and their limits.
#[derive(Debug, Default)]
pub struct Staff {
    pub agents: Vec<(Agent, Option<MailboxId>)>,
    pub settings: DispatchSettings,
    pub untrusted: Vec<LeftOut>,
    /// Agents of trees without a configured program.
    pub vacant: Vec<(String, MailboxId)>,
    /// The table of each agent, and the directory that it belongs to.
    tables: BTreeMap<String, (Key, PathBuf)>,
}

/// An item that is skipped until the person has reviewed it.
#[derive(Debug)]
pub struct LeftOut {
    pub key: Key,
    /// The repository or the room.
    pub dir: PathBuf,
    /// The mailbox that it would work for.
    pub name: String,
    id: Option<MailboxId>,
}

impl Staff {
    /// Whether an agent may work in the directory of one run, which stands for its own ([`Trusted::agent_in`]).
    pub fn is_trusted_in(
        &self,
        store: &Store,
        agent: &Agent,
        cwd: &Path,
        worktree: Option<(&Path, &Path)>,
    ) -> bool {
        self.tables
            .get(&agent.name)
            .is_some_and(|(key, base)| Trusted::of(store, base).agent_in(key, &agent.settings, cwd, worktree))
    }

    /// The untrusted item because of which a mailbox is skipped.
    pub fn untrusted_for(&self, id: &MailboxId) -> Option<&LeftOut> {
        self.untrusted.iter().find(|left| left.id.as_ref() == Some(id))
    }

    /// The mailboxes among these for which no program is started here.
    pub fn without_program<'a>(
        &'a self,
        mailboxes: &'a [(String, MailboxId)],
    ) -> impl Iterator<Item = &'a (String, MailboxId)> {
        mailboxes.iter().filter(|(_, id)| !self.agents.iter().any(|(_, me)| me.as_ref() == Some(id)))
    }
}

/// The number of agents that one sentence names.
const NAMED: usize = 8;

/// The skipped items by project, each with the command that shows it.
pub fn left_out<'a>(all: impl IntoIterator<Item = &'a LeftOut>) -> Vec<(String, Hint)> {
    let mut projects: BTreeMap<&Path, Vec<&Key>> = BTreeMap::new();
    for left in all {
        let keys = projects.entry(&left.dir).or_default();
        if !keys.contains(&&left.key) {
            keys.push(&left.key);
        }
    }
    let told = |(dir, keys): (&Path, Vec<&Key>)| {
        let command = Hint::run(&["trust", &dir.display().to_string()]);
        let dir = visible::line(&dir.display().to_string());
        let agents: Vec<String> = keys
            .iter()
            .filter(|key| **key != &Key::Limits)
            .map(|key| format!("`{}`", visible::line(key.name())))
            .collect();
        let what = match agents.as_slice() {
            [] => format!("the limits of {dir} are left out until you have looked at them"),
            [one] => format!("the agent {one} of {dir} is left out until you have looked at it"),
            all => {
                let (named, more) = all.split_at(all.len().min(NAMED));
                let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
                let named = named.join(", ");
                format!("the agents {named}{more} of {dir} are left out until you have looked at them")
            }
        };
        (what, command.into())
    };
    projects.into_iter().map(told).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::SystemClock;
    use crate::post::{Caller, Post};
    use crate::surroundings::tests::Given;
    use crate::trust::Look;

    const TABLES: &str = "[agents.coder]\npreset = \"command\"\ncommand = [\"cat\"]\nenv = [\"TOKEN\"]\n\
                          [agents.\"test.*\"]\npreset = \"command\"\ncommand = [\"true\"]\n";

    struct Site {
        _temp: tempfile::TempDir,
        given: Given,
        post: Post,
        store: Store,
    }

    impl Site {
        /// A room with coder and test.unit, and a project with tables for them.
        fn new() -> Self {
            let temp = tempfile::tempdir().unwrap();
            let base = temp.path().canonicalize().unwrap();
            let project = base.join("project");
            std::fs::create_dir(&project).unwrap();
            std::fs::write(project.join("postroom.toml"), TABLES).unwrap();
            let post =
                Post::open_or_make(&base.join("room"), Caller::default(), Arc::new(SystemClock)).unwrap();
            for name in ["coder", "test.unit"] {
                let wanted = crate::post::NewMailbox { name: Some(name.into()), ..Default::default() };
                post.setup(&wanted).unwrap();
            }
            let variables = ["PATH", "TOKEN", "SECRET"].map(|name| (name, name.to_lowercase())).to_vec();
            let given = Given { variables, here: project, ..Given::default() };
            Self { post: post.again().unwrap(), store: Store::new(&base.join("config")), _temp: temp, given }
        }

        fn trust(&self, wanted: impl Fn(&Key) -> bool) {
            let mut record = self.store.record(&self.given.here).unwrap();
            let items = Look::at(&self.given.here).items().unwrap();
            items.iter().filter(|item| wanted(&item.key)).for_each(|item| record.trust(item));
            self.store.keep(&self.given.here, &record).unwrap();
        }

        fn gather(&self) -> Staff {
            gather(&self.given, self.store.clone(), &self.post, |_| true).unwrap()
        }
    }

    fn names(staff: &Staff) -> Vec<&str> {
        staff.agents.iter().map(|(agent, _)| agent.name.as_str()).collect()
    }

    #[test]
    fn nobody_works_for_a_project_before_the_person_has_looked_at_it() {
        let site = Site::new();
        let staff = site.gather();
        assert_eq!(names(&staff), [""; 0]);
        let (what, command) = left_out(&staff.untrusted).pop().unwrap();
        assert!(what.starts_with("the agents `coder`, `test.*` of "), "{what}");
        assert_eq!(command, Hint::run(&["trust", site.given.here.to_str().unwrap()]).into());
        site.trust(|key| *key != Key::Agent("test.*".to_owned()));
        let staff = site.gather();
        assert_eq!(names(&staff), ["coder"]);
        let unit = site.post.addressee("test.unit").unwrap();
        assert_eq!(staff.untrusted_for(&unit).map(|left| left.name.as_str()), Some("test.unit"));
        site.trust(|_| true);
        assert_eq!(names(&site.gather()), ["coder", "test.unit"], "a pattern stands for the names it fits");
    }

    #[test]
    fn a_program_gets_the_variables_it_was_allowed_and_no_other() {
        let site = Site::new();
        site.trust(|_| true);
        let (mut agent, id) = site.gather().agents.remove(0);
        let me = site.post.other(&id.unwrap()).unwrap();
        equip(&site.given, Path::new("/r"), &mut agent, &me);
        let mut names: Vec<_> = agent.environment.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, ["AGENT_HARNESS", "AGENT_MAILBOX_ID", "PATH", "POSTROOM_ROOT", "TOKEN"]);
        assert_eq!(gate_environment(&site.given, Path::new("/r")).len(), 2, "PATH and the room");
    }

    #[test]
    fn a_thousand_agents_are_one_sentence_that_can_be_read() {
        let left = |number| {
            let name = format!("a{number}");
            LeftOut { dir: "/p".into(), key: Key::Agent(name.clone()), name, id: None }
        };
        let told = |count: u32| left_out(&(0..count).map(left).collect::<Vec<_>>()).remove(0).0;
        assert_eq!(told(2), "the agents `a0`, `a1` of /p are left out until you have looked at them");
        assert!(told(8).contains("`a7` of /p"), "{}", told(8));
        assert!(told(1000).contains("`a7` and 992 more of /p"), "{}", told(1000));
    }
}
