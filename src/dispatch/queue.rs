//! The queue: which messages wait for which agents, in the order of §3.4 of the protocols: by priority, then as each
//! mailbox orders its own (step, time, id). In a room waiting raises priority, so that nothing starves; in a `.claude` tree
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

/// A message that waits: its agent and its file.
pub type Key = (String, String);

/// Something to say about an agent.
pub type Remark = (String, String);

/// How long a message waits before it counts as of the next higher priority, in a room.
const AGEING: Duration = Duration::from_secs(15 * 60);

/// What waits for everyone.
#[derive(Debug)]
pub(super) struct Waiting {
    /// The messages that may be started now, in order.
    pub(super) messages: Vec<Key>,
    /// How long until the next that has to wait may be started.
    pub(super) due: Option<Duration>,
    /// Agents whose mailbox cannot be looked into, and why.
    pub(super) faults: Vec<Remark>,
    /// Messages that start nobody, and why.
    pub(super) remarks: Vec<Remark>,
}

/// Everyone who can be started, and what waits for them.
#[derive(Debug)]
pub struct Queue<'a> {
    pub(super) post: &'a Post,
    /// By their names.
    pub(super) agents: Vec<(Agent, MailboxId)>,
    /// Those whose messages lie elsewhere: only a look into their mailbox tells whether something waits.
    elsewhere: HashSet<MailboxId>,
    /// Trees in which an agent may write by hand to somebody outside.
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

    /// What waits now.
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
            // What cannot be looked at may be there; a look into the mailbox says what is wrong.
            let written_to = |tree: &PathBuf| !matches!(is_dir(&tree.join("inboxes").join(name)), Ok(false));
            if !self.elsewhere.contains(id) && self.post.is_still(id) && !self.trees.iter().any(written_to) {
                continue;
            }
            // Opened anew at each look: there may be more mailboxes than a process may have files open.
            let (me, listing) = match self.look_into(id) {
                Ok(found) => found,
                // One mailbox that cannot be looked into is no reason to leave the others alone.
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
                // Mailboxes are merged by time, and within one its own order holds.
                let (rank, time) = match rank_of(&me, &file, now) {
                    Ok(Some(rank)) => rank,
                    Ok(None) => {
                        waiting
                            .remarks
                            .push((name.clone(), format!("{file} is doubtful and starts no agent; read it")));
                        continue;
                    }
                    // The others need not wait for it.
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

    /// A mailbox brought up to date, and what waits in it, in its own order.
    fn look_into(&self, id: &MailboxId) -> Result<(Me, Listing)> {
        let me = self.post.other(id)?;
        self.post.look_into(&me)?;
        let listing = me.mailbox.next(usize::MAX)?;
        Ok((me, listing))
    }

    /// What cannot be read, each with the reason.
    fn unreadable(&self, me: &Me, files: Vec<String>) -> Vec<(String, String)> {
        let why = |file: String| {
            let broken = self.post.why_unreadable(me, &file)?;
            Some((file, format!("cannot be read: {broken}")))
        };
        files.into_iter().filter_map(why).collect()
    }

    /// Where mail arrives.
    pub(super) fn directories(&self) -> Vec<std::path::PathBuf> {
        let dirs = |(_, id): &(Agent, MailboxId)| {
            self.post.other(id).and_then(|me| self.post.watched(&me)).unwrap_or_default()
        };
        self.agents.iter().flat_map(dirs).collect()
    }
}

/// The priority of a message, as a number that is smaller the more urgent it is, and its time. `None`: it starts nobody.
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
