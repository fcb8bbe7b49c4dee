//! The project of an agent: only the agents of one project work for a mailbox.
//!
//! Projects may share a room and have agents of the same name, and mail does not name a project. So the first project
//! whose dispatcher works for a mailbox is noted in the mailbox's home. Another project is refused while the first one
//! exists and still has such an agent. A step of a run that another project began is also refused. All worktrees of a
//! repository are one project.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::supervisor::Agent;
use crate::mailbox::{self, Dir, IfAny};
use crate::message::Envelope;
use crate::name::MailboxId;
use crate::post::{Error, Post, Result};
use crate::repository::{self, Repository};
use crate::room::Room;
use crate::settings::{self, Project};

/// Finds the project in which a workflow run was started, by the run's id. `None` if it is not a run.
pub type ProjectOf = fn(&Room, &str) -> mailbox::fault::Result<Option<PathBuf>>;

/// The file in the home of a mailbox.
pub const FILE: &str = "project";
const LIMIT: u64 = 16 * 1024;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    v: u32,
    /// The common directory of its repository, else the project's own.
    project: PathBuf,
    /// Where its settings are.
    dir: PathBuf,
}

impl Note {
    fn of(dir: &Path) -> Result<Self> {
        let repository = Repository::around(dir, None).map_err(|e| match e {
            repository::Error::Io { .. } => Error::Failing { why: e.to_string() },
            repository::Error::Broken { path, why } => {
                Error::Unreadable { path: path.display().to_string(), why }
            }
        })?;
        let project = repository.map_or_else(|| dir.to_owned(), |repository| repository.common);
        Ok(Self { v: 1, project, dir: dir.to_owned() })
    }

    /// Whether its project still has an agent of this name. An unreadable project may have one.
    fn has(&self, name: &str) -> bool {
        let read = || Dir::outside(&self.dir)?.read(settings::FILE, settings::LARGEST);
        match read().if_any().map(Option::flatten) {
            Ok(None) => false,
            Ok(Some(text)) => {
                let project = Project::parse(&String::from_utf8_lossy(&text), "");
                project.map_or(true, |p| p.agents.keys().any(|key| key == name || key.contains(['*', '?'])))
            }
            Err(_) => true,
        }
    }
}

/// Refuses an agent for whose mailbox another project works.
pub(super) fn check(post: &Post, agents: &[(Agent, MailboxId)]) -> Result<()> {
    for (agent, id) in agents {
        differs(post, agent, id)?;
    }
    Ok(())
}

/// Notes the project of each agent's mailbox.
pub(super) fn note(post: &Post, agents: &[(Agent, MailboxId)]) -> Result<()> {
    for (agent, id) in agents {
        if let Some((home, note)) = differs(post, agent, id)? {
            home.replace_synced(FILE, &serde_json::to_vec(&note).unwrap_or_default())?;
        }
    }
    Ok(())
}

/// The note to write for an agent. `None` if it exists. An error if another project works for its mailbox.
fn differs(post: &Post, agent: &Agent, id: &MailboxId) -> Result<Option<(Dir, Note)>> {
    let Some(dir) = &agent.project else { return Ok(None) };
    let Some(home) = post.room().root().sub_if_any(id.as_str())? else { return Ok(None) };
    let ours = Note::of(dir)?;
    let noted: Option<Note> = home.read(FILE, LIMIT)?.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    match noted {
        Some(noted) if noted.project == ours.project => Ok(None),
        Some(noted) if noted.has(&agent.name) => Err(Error::TwoProjects {
            name: agent.name.clone(),
            one: noted.dir.display().to_string(),
            other: ours.dir.display().to_string(),
        }),
        _ => Ok(Some((home, ours))),
    }
}

/// Why this agent must not take a message: it is a step of another project's run.
pub(super) fn refuse(
    post: &Post,
    agent: &Agent,
    project_of: ProjectOf,
    envelope: &Envelope,
) -> Result<Option<String>> {
    let Some(dir) = &agent.project else { return Ok(None) };
    let Some(theirs) = project_of(post.room(), envelope.from.as_str())? else { return Ok(None) };
    let is_foreign = Note::of(&theirs)?.project != Note::of(dir)?.project;
    Ok(is_foreign.then(|| {
        let (theirs, ours) = (theirs.display(), dir.display());
        format!("it is a step of a run of {theirs}, but this agent belongs to {ours}")
    }))
}
