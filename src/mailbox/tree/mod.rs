//! A `.claude` tree: the mailboxes of the tree protocol in one project, where the field `status` is a message's state.
//!
//! ```text
//! .claude/inboxes/<agent>/<id>.md              requests (agent.rs, filing.rs)
//!        /outboxes/<agent>/<id>-response.md    what the agent answered
//!        /shared/<name>.md                     shared state (shared.rs)
//!        /archive/inboxes/<agent>/             finished chains (chain.rs)
//!        /archive/outboxes/<agent>/
//!        /.postroom/lock                       flocked around every change of ours
//!                  /sequence                   the last number of a day; a hint
//!                  /index/<tray>/<agent>.json  what was read of files that have not changed since (index.rs)
//!                  /claims/<agent>/            terms and attempts, as in a maildir (claim.rs)
//! ```
//!
//! People and agents write here by hand, so nothing is taken for granted: a file is changed only if it is still as it
//! was read, a name is taken only if it is free, and `.postroom` may be deleted whenever no command runs.

mod agent;
mod answers;
mod asked;
mod chain;
mod claim;
mod facts;
mod faults;
mod filing;
mod index;
mod life;
mod reading;
mod shared;
mod state;
mod status;
mod steps;

#[cfg(test)]
mod scene;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::FileType;

use super::disk::Dir;
use super::fault::{self, Error, IfAny, Result};
use super::lock::Lock;
use crate::message::{frontmatter, yaml};
use crate::name::MailboxId;

pub use agent::Agent;
pub use chain::Chain;
pub use facts::{Seen, TaskFacts, Tray};
pub use state::with_agent;
pub use status::{AgentStatus, Latest, TreeStatus};

/// How often a change is retried after a concurrent edit.
const TRIES: u32 = 8;

/// The longest file of a tree that is read implicitly.
const LIMIT: u64 = 16 * 1024 * 1024 + frontmatter::HEADER_LIMIT as u64;

/// A file whose change time is this close to the look may have changed again without a trace.
const RACY: Duration = Duration::from_secs(2);

/// One tree, open.
#[derive(Debug, Clone)]
pub struct Tree {
    dir: Arc<Dir>,
    racy: Duration,
}

/// The held lock of a tree; every change needs it.
#[derive(Debug)]
struct Held {
    own: Dir,
    _lock: Lock,
}

impl Tree {
    /// Opens the `.claude` directory at this absolute path, without following links.
    pub fn open(claude: &Path) -> Result<Self> {
        Ok(Self { dir: Arc::new(Dir::outside(claude)?), racy: RACY })
    }

    /// Creates a tree in a project and a mailbox for each agent; existing parts stay. Durable on return.
    pub fn make(project: &Path, agents: &[MailboxId]) -> Result<Self> {
        let project = Dir::outside(project)?;
        let dir = project.create_dir(".claude")?;
        let shared = dir.create_dir("shared")?;
        for (name, text) in [("session-context.md", SESSION), ("workflow-state.md", STATE)] {
            if shared.stat(name).if_any()?.is_none() {
                match shared.create_synced(name, text.as_bytes()) {
                    Err(Error::Exists { .. }) => {}
                    other => other?,
                }
            }
        }
        let tree = Self { dir: Arc::new(dir), racy: RACY };
        for tray in ["inboxes", "outboxes"] {
            let tray = tree.dir.create_dir(tray)?;
            for agent in agents {
                tray.create_dir(agent.as_str())?;
            }
            tray.sync()?;
        }
        // Synced even if it existed: the process that made it may have been interrupted.
        shared.sync()?;
        tree.dir.sync()?;
        project.sync()?;
        Ok(tree)
    }

    /// Opens the mailbox of an agent. An error if there is none.
    pub fn agent(&self, agent: &MailboxId) -> Result<Agent> {
        let inbox = self.dir.sub("inboxes")?.sub(agent.as_str())?;
        Ok(Agent::new(self.clone(), agent.clone(), inbox))
    }

    /// The agents that have an inbox here, sorted by name.
    pub fn agents(&self) -> Result<Vec<MailboxId>> {
        self.names(&["inboxes"])
    }

    /// Entries among the inboxes that cannot belong to an agent, with the reason; plain files are ignored.
    pub fn strange_agents(&self) -> Result<Vec<(OsString, String)>> {
        let mut found = vec![];
        if let Some(dir) = self.walk(&["inboxes"])? {
            dir.scan_once(|name, kind| {
                let text = String::from_utf8_lossy(name);
                let why = match (kind, MailboxId::parse(&text)) {
                    _ if name.starts_with(b".") => None,
                    (FileType::Directory, Err(why)) => Some(format!("not a valid agent name: {why}")),
                    (FileType::Symlink, _) => Some(format!("it is {}", fault::kind(kind))),
                    _ => None,
                };
                found.extend(why.map(|why| (OsString::from_vec(name.to_vec()), why)));
            })?;
        }
        found.sort();
        Ok(found)
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The path of the inbox of an agent of this name; it need not exist.
    pub(super) fn inbox_path(&self, agent: &str) -> PathBuf {
        self.path().join("inboxes").join(agent)
    }

    /// The description of an agent, from its own file `agents/<agent>.md`.
    pub fn about(&self, agent: &MailboxId) -> Option<String> {
        let bytes = self.walk(&["agents"]).ok()??.read(&format!("{agent}.md"), LIMIT).ok()??;
        let split = frontmatter::split(frontmatter::text(&bytes).ok()?).ok()?;
        let fields = yaml::fields(split.header).ok()?;
        let description = fields.into_iter().find(|field| field.key == "description")?.value?;
        // It may have several long lines; a list of names has space for one.
        let line = description.lines().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.chars().take(200).collect::<String>().trim_end().to_owned())
    }

    /// The directories in a directory of the tree whose names may be an agent's, sorted.
    fn names(&self, way: &[&str]) -> Result<Vec<MailboxId>> {
        let mut names = vec![];
        if let Some(dir) = self.walk(way)? {
            dir.scan_once(|name, kind| {
                let name = str::from_utf8(name).ok().filter(|_| kind == FileType::Directory);
                names.extend(name.and_then(|name| MailboxId::parse(name).ok()));
            })?;
        }
        names.sort();
        Ok(names)
    }

    /// A subdirectory, if it exists.
    fn walk(&self, way: &[&str]) -> Result<Option<Dir>> {
        let mut at: Option<Dir> = None;
        for step in way {
            let Some(next) = at.as_ref().unwrap_or(&self.dir).sub(step).if_any()? else { return Ok(None) };
            at = Some(next);
        }
        Ok(at)
    }

    /// The path of one of the directories of an agent; it need not exist.
    fn tray_path(&self, tray: Tray, agent: &MailboxId) -> PathBuf {
        let way = tray.way().iter().copied().chain([agent.as_str()]);
        self.path().join(way.collect::<PathBuf>())
    }

    /// One of the directories of an agent, if it exists.
    fn tray(&self, tray: Tray, agent: &MailboxId) -> Result<Option<Dir>> {
        self.walk(&[tray.way(), &[agent.as_str()]].concat())
    }

    /// One of the directories of an agent, made if missing, and durable.
    fn made_tray(&self, tray: Tray, agent: &MailboxId) -> Result<Dir> {
        let way = [tray.way(), &[agent.as_str()]].concat();
        let mut at = self.dir.create_dir_synced(way[0])?;
        for step in &way[1..] {
            at = at.create_dir_synced(step)?;
        }
        Ok(at)
    }

    /// Postroom's own directory, made if it is missing.
    fn own(&self) -> Result<Dir> {
        self.dir.create_dir_synced(".postroom")
    }

    /// Takes the lock of the tree, which every change needs.
    fn hold(&self) -> Result<Held> {
        let own = self.own()?;
        let lock = own.lock("lock")?;
        Ok(Held { own, _lock: lock })
    }

    /// Retries while `attempt` returns `None` (a concurrent edit).
    fn persist<T>(
        &self,
        path: impl Fn() -> PathBuf,
        mut attempt: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        for number in 0..TRIES {
            if let Some(done) = attempt()? {
                return Ok(done);
            }
            // Gives a person who writes by hand a moment to finish.
            super::pause(Duration::from_millis(1 << number));
        }
        Err(Error::Busy { path: path() })
    }
}

/// The project of a tree's inbox; `None` if it is in none.
pub fn project_of(inbox: &Path) -> Option<PathBuf> {
    let above = inbox.parent().filter(|above| above.ends_with(".claude/inboxes"))?;
    above.parent()?.parent().map(Path::to_owned)
}

/// The project of an agent that has its own file, `.claude/agents/<agent>.md`. A link does not count.
pub fn described_in(inbox: &Path) -> Option<PathBuf> {
    let project = project_of(inbox)?;
    let agents = Dir::outside(&project.join(".claude")).ok()?.sub("agents").ok()?;
    let file = agents.stat(&format!("{}.md", inbox.file_name()?.to_str()?)).ok()?;
    (FileType::from_raw_mode(file.st_mode) == FileType::RegularFile).then_some(project)
}

/// The empty shared files of a new tree (protocols: tree §3.5).
pub const SESSION: &str = "---\nsession_id:\nstarted:\nuser_goal:\nagents_invoked:\n---\n\n## Current State\n\n## Decisions Made\n\n## Open Questions\n";
const STATE: &str =
    "---\nworkflow_id:\nstatus:\ncurrent_step:\ntotal_steps:\n---\n\n## Steps\n\n## Accumulated Results\n";

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use super::scene::*;
    use super::*;

    #[test]
    fn a_tree_is_laid_out_once_and_kept() {
        let scene = Scene::new(&["writer", "explore"]);
        let shared = scene.path("shared/session-context.md");
        assert_eq!(std::fs::read_to_string(&shared).unwrap(), SESSION);
        std::fs::write(&shared, "mine").unwrap();
        let again = Tree::make(&scene.project, &[id("tester")]).unwrap();
        assert_eq!(std::fs::read_to_string(&shared).unwrap(), "mine");
        std::fs::create_dir(scene.path("inboxes/.hidden")).unwrap();
        std::fs::write(scene.path("inboxes/file"), "").unwrap();
        assert_eq!(again.agents().unwrap(), [id("explore"), id("tester"), id("writer")]);
        assert!(scene.path("outboxes/tester").is_dir());
        assert!(again.agent(&id("nobody")).is_err());
        assert!(Tree::open(Path::new("relative/.claude")).is_err());
    }

    #[test]
    fn a_change_that_never_gets_its_turn_says_so() {
        let scene = Scene::new(&[]);
        let mut tries = 0;
        let never = scene.tree.persist(
            || scene.path("x"),
            || {
                tries += 1;
                Ok(None::<()>)
            },
        );
        let wanted =
            format!("{} keeps being changed by others; nothing was written", scene.path("x").display());
        assert_eq!((never.unwrap_err().to_string(), tries), (wanted, TRIES));
    }

    #[test]
    fn a_tree_is_reached_through_no_link() {
        let scene = Scene::new(&["a"]);
        let link = scene.project.join("link");
        std::os::unix::fs::symlink(scene.path(""), &link).unwrap();
        assert!(matches!(Tree::open(&link), Err(Error::Link { .. })));
        std::os::unix::fs::symlink(scene.path("inboxes/a"), scene.path("inboxes/b")).unwrap();
        assert_eq!(scene.tree.agents().unwrap(), [id("a")]);
        assert!(scene.tree.agent(&id("b")).is_err());
    }
}
