//! The queue: which messages wait for which agents, in the order of protocols §3.4: by priority, then by each mailbox's
//! own order (step, time, id). In a room, waiting raises the priority, so that no message starves; in a `.claude` tree
//! it does not.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use super::runs::{Runs, key};
use super::supervisor::Agent;
use crate::clock::Timestamp;
use crate::mailbox::Directory;
use crate::mailbox::collect::is_dir;
use crate::mailbox::place::Listing;
use crate::message::Priority;
use crate::name::MailboxId;
use crate::post::{Me, Post, Result};

/// A waiting message: its agent and its file.
pub type Key = (String, String);

/// A remark about an agent.
pub type Remark = (String, String);

/// In a room, the waiting time that raises a message to the next priority.
const AGEING: Duration = Duration::from_secs(15 * 60);

/// All waiting messages.
#[derive(Debug)]
pub(super) struct Waiting {
    /// The messages that may be started now, in order.
    pub(super) messages: Vec<Key>,
    /// The time until the next postponed message may be started.
    pub(super) due: Option<Duration>,
    /// Agents whose mailbox cannot be read, and why.
    pub(super) faults: Vec<Remark>,
    /// Messages that start no agent, and why.
    pub(super) remarks: Vec<Remark>,
}

/// All agents that can be started, and their waiting messages.
#[derive(Debug)]
pub struct Queue<'a> {
    pub(super) post: &'a Post,
    /// By their names.
    pub(super) agents: Vec<(Agent, MailboxId)>,
    /// Mailboxes that keep their messages elsewhere: only opening them tells whether something waits.
    elsewhere: HashSet<MailboxId>,
    /// Trees in which an agent may write by hand to a mailbox outside.
    trees: Vec<PathBuf>,
}

impl<'a> Queue<'a> {
    pub(super) fn new(post: &'a Post, mut agents: Vec<(Agent, MailboxId)>) -> Self {
        agents.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
        let entries = post.registry().map(|registry| registry.entries.as_slice()).unwrap_or_default();
        let elsewhere = entries.iter().filter(|entry| entry.text("protocol").is_some());
        Self {
            post,
            agents,
            elsewhere: elsewhere.map(|entry| entry.id.clone()).collect(),
            trees: post.trees(),
        }
    }

    pub(super) fn agent(&self, name: &str) -> Option<&(Agent, MailboxId)> {
        let at = self.agents.binary_search_by(|(agent, _)| agent.name.as_str().cmp(name)).ok()?;
        self.agents.get(at)
    }

    /// The messages that wait now.
    pub(super) fn waiting(&self, runs: &Runs) -> Result<Waiting> {
        let now = self.post.room().clock().now();
        let postponed: HashMap<String, Timestamp> =
            runs.postponed()?.into_iter().filter(|(_, until)| *until > now).collect();
        let mut waiting = Waiting {
            due: postponed.values().min().map(|until| until.since(now)),
            messages: vec![],
            faults: vec![],
            remarks: vec![],
        };
        let mut all = vec![];
        for (Agent { name, settings, .. }, id) in &self.agents {
            // If this cannot be checked, assume yes; opening the mailbox reports the error.
            let written_to = |tree: &PathBuf| !matches!(is_dir(&tree.join("inboxes").join(name)), Ok(false));
            if !self.elsewhere.contains(id) && self.post.is_still(id) && !self.trees.iter().any(written_to) {
                continue;
            }
            // Opened at each look, because there may be more mailboxes than a process may have open files.
            let (me, listing) = match self.look_into(id) {
                Ok(found) => found,
                // One unreadable mailbox must not block the others.
                Err(e) => {
                    waiting.faults.push((name.clone(), e.to_string()));
                    continue;
                }
            };
            let said = |(file, why): (String, String)| (name.clone(), format!("{file} {why}"));
            waiting
                .remarks
                .extend(self.unreadable(&me, listing.broken).into_iter().chain(listing.held_back).map(said));
            let starts = |file: &String| settings.starts_for_answers() || !listing.answers.contains(file);
            let mut latest: HashMap<u8, Timestamp> = HashMap::new();
            for (index, file) in listing.names.into_iter().filter(starts).enumerate() {
                if !postponed.is_empty() && postponed.contains_key(&key(me.id.as_str(), &file)) {
                    continue;
                }
                // Mailboxes are merged by time; within one its own order holds.
                let (rank, time) = match rank_of(&me, &file, now) {
                    Ok(Some(rank)) => rank,
                    Ok(None) => {
                        waiting
                            .remarks
                            .push((name.clone(), format!("{file} is doubtful and starts no agent; read it")));
                        continue;
                    }
                    // The other messages do not wait for it.
                    Err(e) => {
                        waiting.faults.push((name.clone(), e.to_string()));
                        continue;
                    }
                };
                let latest = latest.entry(rank).or_insert(time);
                *latest = time.max(*latest);
                all.push((rank, *latest, index, (name.clone(), file)));
            }
        }
        all.sort();
        waiting.messages = all.into_iter().map(|(.., key)| key).collect();
        Ok(waiting)
    }

    /// Updates a mailbox, and lists its waiting messages in its own order.
    fn look_into(&self, id: &MailboxId) -> Result<(Me, Listing)> {
        let me = self.post.other(id)?;
        self.post.look_into(&me)?;
        let listing = me.mailbox.next(usize::MAX)?;
        Ok((me, listing))
    }

    /// Unreadable files, each with the reason.
    fn unreadable(&self, me: &Me, files: Vec<String>) -> Vec<(String, String)> {
        let why = |file: String| {
            let broken = self.post.why_unreadable(me, &file)?;
            Some((file, format!("cannot be read: {broken}")))
        };
        files.into_iter().filter_map(why).collect()
    }

    /// The directories where mail arrives.
    pub(super) fn directories(&self) -> Vec<std::path::PathBuf> {
        let dirs = |(_, id): &(Agent, MailboxId)| {
            self.post.other(id).and_then(|me| self.post.watched(&me)).unwrap_or_default()
        };
        self.agents.iter().flat_map(dirs).collect()
    }
}

/// The priority of a message as a number, smaller for more urgent, and its time. `None` if it starts no agent.
fn rank_of(me: &Me, file: &str, now: Timestamp) -> Result<Option<(u8, Timestamp)>> {
    let Some(urgency) = me.mailbox.urgency(file)? else { return Ok(Some((2, now))) };
    let steps = (now.since(urgency.since).as_secs() / AGEING.as_secs()).min(3);
    let steps = u8::try_from(steps).ok().filter(|_| urgency.ages).unwrap_or(0);
    Ok((!urgency.is_doubtful).then(|| (rank(urgency.priority).saturating_sub(steps), urgency.since)))
}

fn rank(priority: Priority) -> u8 {
    match priority {
        Priority::Urgent => 0,
        Priority::High => 1,
        Priority::Normal => 2,
        Priority::Low => 3,
    }
}
