//! The state of a `.claude` tree: the number of messages per agent and state, the latest messages, the fields of the
//! shared files, and faults. Reading it changes nothing.

use std::collections::HashMap;

use super::{Agent, Tray, Tree};
use crate::clock::Timestamp;
use crate::mailbox::disk::Dir;
use crate::mailbox::fault::{Error, Result};
use crate::mailbox::place::PlaceFault;
use crate::message::tree::Status;

/// The content of a tree.
#[derive(Debug)]
pub struct TreeStatus {
    pub agents: Vec<AgentStatus>,
    /// The newest messages, newest first.
    pub latest: Vec<Latest>,
    /// Shared files, with the scalar fields of each.
    pub shared: Vec<(String, Vec<(String, String)>)>,
    /// Unreadable or inconsistent files, each with the reason.
    pub faults: Vec<(String, String)>,
}

/// One agent: its messages by state, and its responses.
#[derive(Debug)]
pub struct AgentStatus {
    pub agent: String,
    /// In the order of [`Status::ALL`].
    pub counts: [usize; 4],
    pub responses: usize,
    /// The median time to answer, in seconds.
    pub median: Option<u64>,
    /// The time of its oldest pending message.
    pub oldest: Option<Timestamp>,
    /// This agent has more waiting messages than any other, and more than one.
    pub piles_up: bool,
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
    /// The step it waits for.
    pub waits: Option<String>,
}

impl Tree {
    /// The state of the tree, with so many of its newest messages.
    pub fn status(&self, latest: usize) -> Result<TreeStatus> {
        let tree = self;
        let mut status = TreeStatus { agents: vec![], latest: vec![], shared: vec![], faults: vec![] };
        for agent in tree.agents()? {
            let seen = tree.facts(Tray::Inbox, &agent)?;
            let answered = tree.facts(Tray::Outbox, &agent)?;
            let mut counts = [0; 4];
            let responses = answered.readable().filter_map(|(_, response)| {
                Some((response.request_id.as_deref()?, response.duration_seconds))
            });
            let durations: HashMap<&str, Option<u64>> = responses.collect();
            let mut held_back = tree.agent(&agent)?.held_back()?;
            for (name, facts) in seen.readable() {
                counts[Status::ALL.iter().position(|s| *s == facts.status).unwrap_or(0)] += 1;
                status.latest.push(Latest {
                    agent: agent.to_string(),
                    id: facts.id.clone(),
                    from: facts.from.clone(),
                    status: facts.status,
                    subject: facts.subject.clone(),
                    time: facts.time(),
                    duration: durations.get(facts.id.as_str()).copied().flatten(),
                    waits: held_back.remove(name),
                });
            }
            let faults = tree.faults(&agent, &seen, &answered);
            status
                .faults
                .extend(faults.into_iter().map(|fault| (fault.path.display().to_string(), fault.why)));
            let mut took: Vec<u64> = answered.readable().filter_map(|(_, r)| r.duration_seconds).collect();
            took.sort_unstable();
            let pending = seen.readable().filter(|(_, facts)| facts.status == Status::Pending);
            status.agents.push(AgentStatus {
                agent: agent.to_string(),
                counts,
                responses: answered.facts.len(),
                median: took.get(took.len() / 2).copied(),
                oldest: pending.filter_map(|(_, facts)| facts.time()).min(),
                piles_up: false,
            });
        }
        let most = status.agents.iter().map(|agent| agent.counts[0]).max().unwrap_or(0);
        for agent in &mut status.agents {
            agent.piles_up = most > 1 && agent.counts[0] == most;
        }
        for (name, why) in tree.strange_agents()? {
            status.faults.push((tree.path().join("inboxes").join(name).display().to_string(), why));
        }
        status.latest.sort_by(|a, b| (b.time, &b.id).cmp(&(a.time, &a.id)));
        status.latest.truncate(latest);
        for name in tree.shared_files()? {
            match tree.shared_fields(&name) {
                Ok(fields) => status.shared.push((name, fields)),
                Err(e) => {
                    let path = tree.path().join("shared").join(&name);
                    let why = match e {
                        Error::Unparsed { source, .. } => source.to_string(),
                        e => e.to_string(),
                    };
                    status.faults.push((path.display().to_string(), why));
                }
            }
        }
        Ok(status)
    }
}

impl Agent {
    /// Left-over files of interrupted changes in the trays: after a kill, such a file may be the only copy of a user's file.
    pub(super) fn left_over(&self) -> Result<Vec<PlaceFault>> {
        let mut found = vec![];
        for tray in [Tray::Inbox, Tray::Outbox] {
            let Some(dir) = self.tree().tray(tray, self.id())? else { continue };
            dir.scan(|name, _| {
                if name.starts_with(b".") {
                    found.push(left_over(&dir, &String::from_utf8_lossy(name)));
                }
            })?;
        }
        Ok(found)
    }
}

fn left_over(dir: &Dir, name: &str) -> PlaceFault {
    let why = "is left over from an interrupted change; check it, then remove it".to_owned();
    PlaceFault { path: dir.path().join(name), why, rule: "§11.3", is_litter: true }
}
