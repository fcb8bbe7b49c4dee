//! Next steps that agents send themselves: whoever does a step may hand its result on to the next agent, with the fields
//! `workflow` and `step` of the run (protocols: tree §3.6). Then the run does not ask again, and the answer counts as
//! if it had.
//!
//! Such a message is known by a note that sending it leaves (`by_agents.jsonl`), by the index of a tree, or by a look into a
//! short inbox. Its answer goes to whoever sent it; a copy is carried into the mailbox of the run, once, and accepted there
//! like any other.

use super::engine::{Ask, AskKind};
use super::mail;
use super::runs::{ByAgent, Runs};
use super::turn::Turn;
use crate::mailbox::Folder;
use crate::mailbox::tree::Tray;
use crate::message::tree::Status;
use crate::name::{MailboxId, MessageId};
use crate::post::{BOUNCE, Me, Post, Result, SET_BACK};

/// How many unread messages are opened to find one that was put there by hand.
const SHORT: usize = 64;

impl Turn {
    /// Finds next steps that agents sent, and carries their answers over; `true`: one came.
    pub(super) fn next_steps(&mut self, post: &Post, runs: &Runs) -> Result<bool> {
        let waiting: Vec<Ask> = self.unsent().cloned().collect();
        if !waiting.is_empty() {
            let notes = runs.by_agents(&self.record.id)?;
            for ask in waiting {
                if let Some(mut found) = self.sent_by_agent(post, &ask, &notes) {
                    if found.at.is_empty() {
                        found.at = post.room().clock().now().precise();
                    }
                    self.adopted.insert(ask.id.clone(), found);
                }
            }
        }
        let mut came = false;
        for (id, found) in self.adopted.clone() {
            if !self.engine.open().contains_key(&id) {
                self.adopted.remove(&id);
            } else if self.carry_answer(post, &id, &found)? {
                came = true;
            }
        }
        Ok(came)
    }

    /// The requests that nobody has sent yet, of steps that are one request each.
    fn unsent(&self) -> impl Iterator<Item = &Ask> {
        let single =
            |ask: &&Ask| self.engine.definition().steps[ask.step].foreach.is_none() && ask.attempt == 0;
        self.queued()
            .filter(|ask| matches!(ask.kind, AskKind::Work { .. }) && !self.adopted.contains_key(&ask.id))
            .filter(single)
    }

    fn sent_by_agent(&self, post: &Post, ask: &Ask, notes: &[ByAgent]) -> Option<ByAgent> {
        let AskKind::Work { to, .. } = &ask.kind else { return None };
        let step = &self.engine.definition().steps[ask.step];
        // Without a step before it there is nobody who could have sent it.
        if step.needs.is_empty() || self.engine.steps()[ask.step].round > 0 {
            return None;
        }
        let is_step = |given: &str| given == step.level.to_string() || given == step.name;
        let to = post.addressee(to).ok()?;
        let noted = |note: &&ByAgent| {
            let other = note.id != ask.id.as_str();
            note.to == to.as_str()
                && is_step(&note.step)
                && other
                && self.came_before(post, ask.step, &note.from)
        };
        if let Some(note) = notes.iter().rev().find(noted) {
            return Some(note.clone());
        }
        let agent = post.by_id(&to).ok()?;
        let own = |id: &str| id == ask.id.as_str();
        if let Some(place) = agent.mailbox.agent() {
            let seen = place.facts(Tray::Inbox).ok()?;
            let (_, facts) = seen.readable().find(|(_, facts)| {
                facts.workflow.as_deref() == Some(self.record.id.as_str())
                    && facts.step == Some(step.level.into())
                    && facts.request_id.is_none()
                    && !facts.msg_id.as_deref().is_some_and(own)
                    && self.came_before(post, ask.step, &facts.from)
            })?;
            let id = facts.msg_id.clone().unwrap_or_else(|| format!("{}@{}", facts.id, facts.to));
            return Some(ByAgent {
                id,
                from: facts.from.clone(),
                to: to.to_string(),
                step: step.name.clone(),
                at: String::new(),
            });
        }
        self.by_hand(post, &agent, ask, is_step)
    }

    /// Whether somebody did one of the steps that this one needs: nobody else can hand it on.
    fn came_before(&self, post: &Post, step: usize, from: &str) -> bool {
        let did = |name: &str| name == from || post.addressee(name).is_ok_and(|id| id.as_str() == from);
        let needs = &self.engine.definition().steps[step].needs;
        needs.iter().flat_map(|need| &self.engine.steps()[*need].items).any(|item| did(&item.agent))
    }

    /// A message that was put into a short inbox without any command of ours.
    fn by_hand(&self, post: &Post, agent: &Me, ask: &Ask, is_step: impl Fn(&str) -> bool) -> Option<ByAgent> {
        let listing = agent.mailbox.list(Folder::Inbox, SHORT).ok()?;
        if listing.total > SHORT {
            return None;
        }
        let limit = post.room().limits().body_bytes;
        listing.names.iter().find_map(|name| {
            let envelope = agent.mailbox.header(Folder::Inbox, name, limit).ok()??.envelope;
            let ours = envelope.extra("workflow") == Some(self.record.id.as_str());
            let step = envelope.extra("step").is_some_and(&is_step);
            let other = envelope.id != ask.id && envelope.reply_to.is_none();
            (ours && step && other && self.came_before(post, ask.step, &envelope.from)).then(|| ByAgent {
                id: envelope.id.to_string(),
                from: envelope.from,
                to: agent.id.to_string(),
                at: String::new(),
                step: envelope
                    .extra
                    .iter()
                    .find(|(key, _)| key == "step")
                    .map(|(_, s)| s.clone())
                    .unwrap_or_default(),
            })
        })
    }

    /// Carries the answer to a next step into the mailbox of the run, if it is there.
    fn carry_answer(&self, post: &Post, ask: &MessageId, found: &ByAgent) -> Result<bool> {
        let Ok(to) = MailboxId::parse(&found.to) else { return Ok(false) };
        let agent = post.by_id(&to)?;
        let Some((body, failed)) = self.answer_of(post, &agent, found)? else { return Ok(false) };
        let mut letter = mail::note(&format!("re: {}", found.step), ask, &body, failed);
        letter.extra.push(("adopted".to_owned(), found.id.clone()));
        let id = MessageId::derived(format!("adopted {ask} {}", found.id).as_bytes());
        post.send_errand(&agent, &self.me.id, &letter, &id, false)?;
        Ok(true)
    }

    fn answer_of(&self, post: &Post, agent: &Me, found: &ByAgent) -> Result<Option<(String, bool)>> {
        if let Some(place) = agent.mailbox.agent() {
            let Ok(seen) = place.facts(Tray::Inbox) else { return Ok(None) };
            let is_it = |facts: &crate::mailbox::tree::Facts| {
                facts.msg_id.as_deref() == Some(&found.id) || format!("{}@{}", facts.id, facts.to) == found.id
            };
            let Some((_, facts)) = seen.readable().find(|(_, facts)| is_it(facts)) else { return Ok(None) };
            let response = place.response(&facts.id).map_err(|e| crate::post::Error::Disk(e.into()))?;
            return Ok(response.map(|(task, _)| (task.body, task.status == Status::Failed)));
        }
        let (Ok(asked), Ok(asker)) = (MessageId::found(&found.id), MailboxId::parse(&found.from)) else {
            return Ok(None);
        };
        let since = crate::clock::Timestamp::parse(&self.record.started).map(|began| began.minus(SET_BACK));
        let answer = post.answer_to(&asked, &asker, &agent.id, since)?;
        Ok(answer.map(|message| (message.body.clone(), message.envelope.extra(BOUNCE) == Some("1"))))
    }
}
