//! The state of a `.claude` tree: how many messages of each agent are in which state, the latest of them, what its shared
//! files say, and what is wrong. Looking changes nothing.

use std::path::Path;

use super::{Error, Result};
use crate::clock::Timestamp;
use crate::mailbox::tree::{Tray, Tree};
use crate::message::workflow::Status;

/// What is in a tree.
#[derive(Debug)]
pub struct TreeStatus {
    pub agents: Vec<AgentStatus>,
    /// The newest messages, newest first.
    pub latest: Vec<Latest>,
    /// Shared files, with the scalar fields of each.
    pub shared: Vec<(String, Vec<(String, String)>)>,
    /// What cannot be read or does not fit together: file and reason.
    pub faults: Vec<(String, String)>,
}

/// One agent: its messages by state, and its responses.
#[derive(Debug)]
pub struct AgentStatus {
    pub agent: String,
    /// In the order of [`Status::ALL`].
    pub counts: [usize; 4],
    pub responses: usize,
}

/// One message.
#[derive(Debug)]
pub struct Latest {
    pub agent: String,
    pub id: String,
    pub from: String,
    pub status: Status,
    pub subject: String,
    pub time: Option<Timestamp>,
    pub duration: Option<u64>,
}

/// Looks at the tree whose `.claude` directory this is.
pub fn tree_status(claude: &Path, latest: usize) -> Result<TreeStatus> {
    let tree = Tree::open(claude)?;
    let mut status = TreeStatus { agents: vec![], latest: vec![], shared: vec![], faults: vec![] };
    for agent in tree.agents()? {
        let seen = tree.facts(Tray::Inbox, &agent)?;
        let answered = tree.facts(Tray::Outbox, &agent)?;
        let mut counts = [0; 4];
        let mut ids = vec![];
        let path =
            |tray: &str, name: &str| claude.join(tray).join(agent.as_str()).join(name).display().to_string();
        let fault = |path: String, why: &str| {
            let why = why.strip_prefix(&format!("{path}: ")).unwrap_or(why).to_owned();
            (path, why)
        };
        for (name, facts) in &seen.facts {
            let facts = match facts {
                Ok(facts) => facts,
                Err(why) => {
                    status.faults.push(fault(path("inboxes", name), why));
                    continue;
                }
            };
            if ids.contains(&facts.id) {
                let why = format!("line 2: `id`: {} is in this inbox twice", facts.id);
                status.faults.push((path("inboxes", name), why));
            }
            ids.push(facts.id.clone());
            counts[Status::ALL.iter().position(|s| *s == facts.status).unwrap_or(0)] += 1;
            let duration = answered.readable().find(|(_, r)| r.request_id.as_deref() == Some(&facts.id));
            status.latest.push(Latest {
                agent: agent.to_string(),
                id: facts.id.clone(),
                from: facts.from.clone(),
                status: facts.status,
                subject: facts.context.clone().unwrap_or_default(),
                time: facts.time(),
                duration: duration.and_then(|(_, response)| response.duration_seconds),
            });
        }
        for (name, facts) in &answered.facts {
            let request = facts.as_ref().ok().and_then(|facts| facts.request_id.as_deref());
            let request = request.or_else(|| name.strip_suffix("-response.md")).unwrap_or(name);
            match facts {
                Err(why) => status.faults.push(fault(path("outboxes", name), why)),
                Ok(_) if ids.iter().any(|id| id == request) => {}
                Ok(_) => {
                    let why = format!("`request_id`: the request {request} is not in the inbox of {agent}");
                    status.faults.push((path("outboxes", name), why));
                }
            }
        }
        status.agents.push(AgentStatus { agent: agent.to_string(), counts, responses: answered.facts.len() });
    }
    status.latest.sort_by(|a, b| (b.time, &b.id).cmp(&(a.time, &a.id)));
    status.latest.truncate(latest);
    for name in tree.shared_files()? {
        match tree.shared_fields(&name) {
            Ok(fields) => status.shared.push((name, fields)),
            Err(e) => status.faults.push((format!("shared/{name}"), e.to_string())),
        }
    }
    Ok(status)
}

/// A chain that was archived, or would be.
pub type Chain = crate::mailbox::tree::Chain;

/// Archives the finished chains of a tree; `dry`: only says which.
pub fn clean_up(claude: &Path, dry: bool) -> Result<Vec<Chain>> {
    Tree::open(claude)?.clean_up(dry).map_err(|e| Error::Disk(e.into()))
}

/// The shared files of a tree.
#[derive(Debug)]
pub struct Shared(Tree);

impl Shared {
    pub fn open(claude: &Path) -> Result<Self> {
        Ok(Self(Tree::open(claude)?))
    }

    pub fn files(&self) -> Result<Vec<String>> {
        Ok(self.0.shared_files()?)
    }

    /// A whole file, or one part of it: a field, or a section by its heading. `None`: there is no such thing.
    pub fn get(&self, name: &str, part: Option<&str>) -> Result<Option<String>> {
        match part {
            None => self.0.shared(name),
            Some(part) => self.0.get(name, part),
        }
        .map_err(|e| Error::Disk(e.into()))
    }

    pub fn set(&self, name: &str, field: &str, value: &str) -> Result<()> {
        self.0.set(name, field, value).map_err(|e| Error::Disk(e.into()))
    }

    pub fn append(&self, name: &str, part: &str, line: &str) -> Result<()> {
        self.0.append(name, part, line).map_err(|e| Error::Disk(e.into()))
    }
}
