//! Clean-up: moves finished chains to the archive (protocols: tree §3.4).
//!
//! ```text
//! outboxes/<agent>/<id>-response.md  →  archive/outboxes/<agent>/
//! inboxes/<agent>/<id>.md            →  archive/inboxes/<agent>/
//! ```
//!
//! A chain is a request with its responses; an answer that was routed to an agent of the tree goes to the archive when
//! it is read. A chain is finished when all of them are completed and no open message refers to it: by `request_id`, as
//! a routed answer does, or as a step of the same workflow run. The responses move first and are durable before the
//! request moves. So after an interruption the next run finds the chain by its request and finishes it.

use std::collections::{HashMap, HashSet};

use super::agent::{Agent, read};
use super::facts::{Seen, TaskFacts, Tray};
use super::{Held, LIMIT, Tree};
use crate::mailbox::disk::Dir;
use crate::mailbox::fault::{Error, IfAny, Result};
use crate::message::file_name;
use crate::message::tree::Status;
use crate::name::MailboxId;

/// A request and its responses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    pub agent: MailboxId,
    pub id: String,
    /// The file of the request.
    pub request: String,
    /// The files of its responses that are still in the outbox.
    pub responses: Vec<String>,
}

/// The ids and runs that open messages refer to.
#[derive(Debug, Default)]
struct Open {
    ids: HashSet<String>,
    runs: HashSet<String>,
}

impl Tree {
    /// Archives the finished chains and returns them; `dry` only returns them. Durable on return.
    pub fn clean_up(&self, dry: bool) -> Result<Vec<Chain>> {
        let held = if dry { None } else { Some(self.hold()?) };
        let mut inboxes = vec![];
        let mut open = Open::default();
        for agent in self.agents()? {
            let seen = self.facts(Tray::Inbox, &agent)?;
            for (_, facts) in seen.readable().filter(|(_, facts)| facts.is_open()) {
                open.ids.extend(facts.request_id.clone());
                open.runs.extend(facts.workflow.clone());
            }
            inboxes.push((agent, seen));
        }
        let mut chains = vec![];
        for (agent, seen) in &inboxes {
            let mut found = self.finished(agent, seen, &inboxes, &open)?;
            if held.is_some() && !found.is_empty() {
                found = self.archive(agent, found)?;
            }
            chains.extend(found);
        }
        Ok(chains)
    }

    /// The finished chains of one agent.
    fn finished(
        &self,
        agent: &MailboxId,
        inbox: &Seen,
        inboxes: &[(MailboxId, Seen)],
        open: &Open,
    ) -> Result<Vec<Chain>> {
        let candidates: Vec<_> = inbox
            .readable()
            .filter(|(_, f)| f.status == Status::Completed && !f.is_unread_answer())
            .collect();
        if candidates.is_empty() {
            return Ok(vec![]);
        }
        let (outbox, archived) = (self.facts(Tray::Outbox, agent)?, self.facts(Tray::ArchivedOutbox, agent)?);
        let (here, away) = (by_request(&outbox), by_request(&archived));
        let mut chains = vec![];
        for (name, facts) in candidates {
            let here = here.get(facts.id.as_str()).map_or(&[][..], Vec::as_slice);
            let away = away.get(facts.id.as_str()).map_or(&[][..], Vec::as_slice);
            // In the archive, a failure belongs to an earlier try.
            let away = away.iter().filter(|(_, r)| r.is_none_or(|r| r.status != Status::Failed));
            let mut all = here.iter().chain(away);
            let answered = all.clone().next().is_some();
            let done = all
                .clone()
                .all(|(_, response)| response.is_some_and(|response| response.status == Status::Completed));
            let in_use = open.ids.contains(&facts.id)
                || facts.workflow.as_ref().is_some_and(|run| open.runs.contains(run))
                || all.any(|(_, response)| response.is_some_and(|response| open.ids.contains(&response.id)));
            // A chain stays while its answer is unread, or has not reached its asker in the tree.
            if answered && done && !in_use && self.is_read(inboxes, agent, facts)? {
                chains.push(Chain {
                    agent: agent.clone(),
                    id: facts.id.clone(),
                    request: name.to_owned(),
                    responses: here.iter().map(|(name, _)| (*name).to_owned()).collect(),
                });
            }
        }
        Ok(chains)
    }

    /// Whether the asker, if it is an agent of this tree, has read the answer. Reading an answer archives it.
    fn is_read(&self, inboxes: &[(MailboxId, Seen)], agent: &MailboxId, request: &TaskFacts) -> Result<bool> {
        let asker = inboxes.iter().find(|(id, _)| id.as_str() == request.from);
        let Some((asker, inbox)) = asker else { return Ok(true) };
        let is_it = |facts: &TaskFacts| {
            facts.from == agent.as_str() && facts.request_id.as_ref() == Some(&request.id)
        };
        if inbox.readable().any(|(_, facts)| is_it(facts)) {
            return Ok(false);
        }
        Ok(self.facts(Tray::ArchivedInbox, asker)?.readable().any(|(_, facts)| is_it(facts)))
    }

    /// Archives these chains, and returns those that moved: a request stays if a response stays.
    fn archive(&self, agent: &MailboxId, mut chains: Vec<Chain>) -> Result<Vec<Chain>> {
        let responses = chains.iter().flat_map(|chain| &chain.responses);
        let left = self.carry(agent, Tray::Outbox, Tray::ArchivedOutbox, responses)?;
        chains.retain(|chain| !chain.responses.iter().any(|name| left.contains(name)));
        let requests = chains.iter().map(|chain| &chain.request);
        let left = self.carry(agent, Tray::Inbox, Tray::ArchivedInbox, requests)?;
        chains.retain(|chain| !left.contains(&chain.request));
        Ok(chains)
    }

    /// Moves files from one tray to another, and returns those that stay; durable on return.
    fn carry<'a>(
        &self,
        agent: &MailboxId,
        from: Tray,
        to: Tray,
        names: impl Iterator<Item = &'a String>,
    ) -> Result<HashSet<String>> {
        let (mut left, mut moved) = (HashSet::new(), vec![]);
        let Some(source) = self.tray(from, agent)? else { return Ok(left) };
        let target = self.made_tray(to, agent)?;
        for name in names {
            // It may have been reopened by hand since the look, or is no longer a task.
            match read(&source, name, LIMIT) {
                Ok(Some(found)) if found.task.status == Status::Completed => {
                    moved.extend(move_beside(&source, &target, name)?);
                }
                Ok(Some(_)) | Err(Error::Unparsed { .. }) => drop(left.insert(name.clone())),
                Ok(None) => {}
                Err(e) => return Err(e),
            }
        }
        target.sync_all_moved(&moved)?;
        Ok(left)
    }
}

impl Agent {
    /// Moves a finished file out of the inbox. Durable on return.
    pub fn put_away(&self, name: &str) -> Result<()> {
        let held = self.tree().hold()?;
        self.put_away_held(&held, name)
    }

    pub(super) fn put_away_held(&self, _held: &Held, name: &str) -> Result<()> {
        self.forget_fresh();
        let archive = self.tree().made_tray(Tray::ArchivedInbox, self.id())?;
        let moved = move_beside(self.dir(), &archive, name)?;
        archive.sync_all_moved(moved.as_slice())
    }
}

/// Moves one file, under another name if its own is taken, and returns its name. `None` if it is gone, so this may be a
/// second run.
fn move_beside(source: &Dir, target: &Dir, name: &str) -> Result<Option<String>> {
    // Where a move is a link and an unlink, a kill in between leaves one file with two names.
    let inode = |dir: &Dir| dir.stat(name).if_any().map(|stat| stat.map(|stat| (stat.st_dev, stat.st_ino)));
    if let Some(there) = inode(target)?
        && inode(source)? == Some(there)
    {
        return source.remove(name).map(|()| Some(name.to_owned()));
    }
    source.publish_free(name, target, file_name::candidates(name))
}

/// The responses of a tray by the request they answer, by field and by file name. An unreadable one comes without
/// facts, by its name alone.
fn by_request(seen: &Seen) -> HashMap<&str, Vec<(&str, Option<&TaskFacts>)>> {
    let mut found: HashMap<&str, Vec<_>> = HashMap::new();
    for (name, facts) in &seen.facts {
        let facts = facts.as_ref().ok();
        let called = name.strip_suffix("-response.md");
        let said = facts.and_then(|facts| facts.request_id.as_deref());
        for request in called.into_iter().chain(said.filter(|said| Some(*said) != called)) {
            found.entry(request).or_default().push((name.as_str(), facts));
        }
    }
    found
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use super::super::scene::*;
    use super::*;
    use crate::mailbox::{Folder, Place};

    fn answer(scene: &Scene, agent: &str, id: &str, status: &str) {
        let text = format!(
            "---\nid: {id}-response\nrequest_id: {id}\nfrom: {agent}\nto: user\nstatus: {status}\ncreated: 2026-11-15T10:05:00Z\n---\n\nDone.\n"
        );
        std::fs::write(scene.path(&format!("outboxes/{agent}/{id}-response.md")), text).unwrap();
    }

    fn ids(chains: &[Chain]) -> Vec<&str> {
        chains.iter().map(|chain| chain.id.as_str()).collect()
    }

    #[test]
    fn a_request_was_archived_without_the_response_that_could_not_be_read() {
        let scene = Scene::new(&["a"]);
        let id = "2026-11-15-001";
        scene.put("a", id, "status: completed\n");
        answer(&scene, "a", id, "completed");
        let chains = scene.tree.clean_up(true).unwrap();
        assert_eq!(ids(&chains), [id]);
        let response = scene.path(&format!("outboxes/a/{id}-response.md"));
        std::fs::write(&response, "no task any more").unwrap();
        let agent = chains[0].agent.clone();
        assert_eq!(scene.tree.archive(&agent, chains).unwrap(), []);
        assert!(response.exists() && scene.path(&format!("inboxes/a/{id}.md")).exists());
    }

    #[test]
    fn only_finished_chains_that_nobody_needs_are_archived() {
        let scene = Scene::new(&["a", "b"]);
        let done = "status: completed\n";
        let put = |id: &str, fields: &str| scene.put("a", id, fields);
        put("2026-11-15-001", done);
        put("2026-11-15-002", done); // It has no response.
        put("2026-11-15-003", done); // Its response failed.
        put("2026-11-15-004", "status: failed\n");
        put("2026-11-15-005", "status: in_progress\n");
        put("2026-11-15-006", done); // Its answer was routed and waits.
        put("2026-11-15-007", &format!("{done}workflow: w\nstep: 1\n"));
        put("2026-11-15-008", &format!("{done}workflow: v\nstep: 1\n"));
        for (id, status) in
            [(1, "completed"), (3, "failed"), (4, "completed"), (5, "completed"), (6, "completed")]
        {
            answer(&scene, "a", &format!("2026-11-15-00{id}"), status);
        }
        answer(&scene, "a", "2026-11-15-007", "completed");
        answer(&scene, "a", "2026-11-15-008", "completed");
        scene.put("b", "2026-11-15-009", "request_id: 2026-11-15-006\n");
        scene.put("b", "2026-11-15-010", "workflow: w\nstep: 2\n");
        assert_eq!(ids(&scene.tree.clean_up(true).unwrap()), ["2026-11-15-001", "2026-11-15-008"]);
        assert!(!scene.path("archive").exists());
        assert_eq!(ids(&scene.tree.clean_up(false).unwrap()), ["2026-11-15-001", "2026-11-15-008"]);
        assert!(scene.path("archive/inboxes/a/2026-11-15-001.md").exists());
        assert!(scene.path("archive/outboxes/a/2026-11-15-001-response.md").exists());
        assert!(!scene.path("inboxes/a/2026-11-15-001.md").exists());
        assert_eq!(scene.tree.clean_up(false).unwrap(), []);
        let a = scene.agent("a");
        assert!(a.response("2026-11-15-001").unwrap().is_some());
        assert!(a.list(Folder::Archive, 10).unwrap().names.contains(&"2026-11-15-001.md".to_owned()));
        assert!(a.read_task(Folder::Archive, "2026-11-15-001.md", 100).unwrap().is_some());
        assert_eq!(
            a.path(Folder::Archive, "2026-11-15-001.md"),
            scene.path("archive/inboxes/a/2026-11-15-001.md")
        );
        let b = scene.agent("b");
        b.set_status("2026-11-15-009.md", Status::Pending, Status::Completed, None).unwrap();
        assert_eq!(ids(&scene.tree.clean_up(false).unwrap()), ["2026-11-15-006"]);
    }

    #[test]
    fn an_interrupted_clean_up_is_finished_by_the_next() {
        let scene = Scene::new(&["a"]);
        scene.put("a", "2026-11-15-001", "status: completed\n");
        answer(&scene, "a", "2026-11-15-001", "completed");
        let chains = scene.tree.clean_up(true).unwrap();
        scene.tree.carry(&id("a"), Tray::Outbox, Tray::ArchivedOutbox, chains[0].responses.iter()).unwrap();
        let again = scene.tree.clean_up(false).unwrap();
        assert_eq!((ids(&again), &again[0].responses), (vec!["2026-11-15-001"], &vec![]));
        assert!(scene.path("archive/inboxes/a/2026-11-15-001.md").exists());
        assert_eq!(scene.tree.clean_up(false).unwrap(), []);
    }

    #[test]
    fn an_archived_message_is_never_replaced() {
        let scene = Scene::new(&["a"]);
        scene.put("a", "2026-11-15-001", "status: completed\n");
        answer(&scene, "a", "2026-11-15-001", "completed");
        std::fs::create_dir_all(scene.path("archive/inboxes/a")).unwrap();
        let there = scene.path("archive/inboxes/a/2026-11-15-001.md");
        std::fs::write(&there, "old").unwrap();
        assert_eq!(scene.tree.clean_up(false).unwrap().len(), 1);
        assert_eq!(std::fs::read_to_string(&there).unwrap(), "old");
        assert!(scene.path("archive/inboxes/a/2026-11-15-001-2.md").exists());
        // One file under both names comes from an interrupted move.
        scene.put("a", "2026-11-15-003", "status: completed\n");
        answer(&scene, "a", "2026-11-15-003", "completed");
        let (from, to) = ("inboxes/a/2026-11-15-003.md", "archive/inboxes/a/2026-11-15-003.md");
        std::fs::hard_link(scene.path(from), scene.path(to)).unwrap();
        assert_eq!(scene.tree.clean_up(false).unwrap().len(), 1);
        assert!(!scene.path(from).exists() && scene.path(to).exists());
        assert!(!scene.path("archive/inboxes/a/2026-11-15-003-2.md").exists());
    }
}
