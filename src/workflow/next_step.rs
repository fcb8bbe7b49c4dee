//! Next steps that agents send themselves: the agent of a step may hand its result to the next agent, with the fields
//! `workflow` and `step` of the run (protocols: tree §3.6). Then the run does not send its own request, and the answer
//! counts as if it had.
//!
//! Such a message is found through a note that sending it leaves (`by_agents.jsonl`), through the index of a tree, or
//! by looking into a short inbox. Its answer goes to its sender. A copy is carried once into the mailbox of the run,
//! and accepted there like any other answer.

use super::engine::{Ask, AskKind};
use super::mail;
use super::run_mail;
use super::runs::Runs;
use super::turn::Turn;
use crate::name::{MailboxId, MessageId};
use crate::post::SentStep;
use crate::post::{BOUNCE, Me, Post, Result, SET_BACK};

impl Turn {
    /// Finds next steps that agents sent, and carries their answers over. `true` if one came.
    pub(super) fn next_steps(&mut self, post: &Post, runs: &Runs) -> Result<bool> {
        let waiting: Vec<Ask> = self.unsent().cloned().collect();
        if !waiting.is_empty() {
            let notes = runs.by_agents(&self.record.id)?;
            for ask in waiting {
                if let Some(mut found) = self.sent_by_agent(post, &ask, &notes)? {
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

    /// The unsent requests of steps that consist of one request.
    fn unsent(&self) -> impl Iterator<Item = &Ask> {
        let single =
            |ask: &&Ask| self.engine.definition().steps[ask.step].foreach.is_none() && ask.attempt == 0;
        self.queued()
            .filter(|ask| matches!(ask.kind, AskKind::Work { .. }) && !self.adopted.contains_key(&ask.id))
            .filter(single)
    }

    fn sent_by_agent(&self, post: &Post, ask: &Ask, notes: &[SentStep]) -> Result<Option<SentStep>> {
        let AskKind::Work { to, .. } = &ask.kind else { return Ok(None) };
        let step = &self.engine.definition().steps[ask.step];
        // Only the agent of an earlier step could have sent it.
        if step.needs.is_empty() || self.engine.steps()[ask.step].round > 0 {
            return Ok(None);
        }
        let is_step = |given: &str| given == step.level.to_string() || given == step.name;
        let Ok(to) = post.addressee(to) else { return Ok(None) };
        let noted = |note: &&SentStep| {
            let other = note.id != ask.id.as_str();
            note.to == to.as_str()
                && is_step(&note.step)
                && other
                && self.came_before(post, ask.step, &note.from)
        };
        if let Some(note) = notes.iter().rev().find(noted) {
            return Ok(Some(note.clone()));
        }
        match post.other(&to) {
            Ok(agent) => self.by_hand(post, &agent, ask, is_step),
            Err(_) => Ok(None),
        }
    }

    /// Whether the sender did one of the steps that this one needs: nobody else can hand it on.
    fn came_before(&self, post: &Post, step: usize, from: &str) -> bool {
        let did = |name: &str| name == from || post.addressee(name).is_ok_and(|id| id.as_str() == from);
        let needs = &self.engine.definition().steps[step].needs;
        needs.iter().flat_map(|need| &self.engine.steps()[*need].items).any(|item| did(&item.agent))
    }

    /// A message of this run that was put into an inbox by hand, without a Postroom command.
    fn by_hand(
        &self,
        post: &Post,
        agent: &Me,
        ask: &Ask,
        is_step: impl Fn(&str) -> bool,
    ) -> Result<Option<SentStep>> {
        let found = agent.mailbox.of_run(&self.record.id, post.room().limits().body_bytes)?;
        Ok(found.into_iter().find_map(|envelope| {
            let step = envelope.extra("step").filter(|step| is_step(step))?.to_owned();
            let other = envelope.id != ask.id && envelope.reply_to.is_none();
            (other && self.came_before(post, ask.step, envelope.from.as_str())).then(|| SentStep {
                id: envelope.id.to_string(),
                from: envelope.from.to_string(),
                to: agent.id.to_string(),
                at: String::new(),
                step,
            })
        }))
    }

    /// Carries the answer to a next step into the mailbox of the run, if it has arrived.
    fn carry_answer(&self, post: &Post, ask: &MessageId, found: &SentStep) -> Result<bool> {
        let Ok(to) = MailboxId::parse(&found.to) else { return Ok(false) };
        let agent = post.other(&to)?;
        let Some((body, failed)) = self.answer_of(post, &agent, found)? else { return Ok(false) };
        let mut letter = mail::note(&format!("re: {}", found.step), ask, &body, failed);
        letter.extra.push(("adopted".to_owned(), found.id.clone()));
        let id = MessageId::derived(format!("adopted {ask} {}", found.id).as_bytes());
        run_mail::check_sent(run_mail::send(post, &agent, &self.me.id, &letter, &id, false)?)?;
        Ok(true)
    }

    fn answer_of(&self, post: &Post, agent: &Me, found: &SentStep) -> Result<Option<(String, bool)>> {
        if agent.mailbox.keeps_answers() {
            let asked = agent.mailbox.of_run(&self.record.id, post.room().limits().body_bytes)?;
            let Some(asked) = asked.into_iter().find(|e| e.id.as_str() == found.id) else { return Ok(None) };
            let kept = agent.mailbox.kept_answer(&asked)?;
            return Ok(kept.map(|kept| (kept.message.body, kept.failed.is_some())));
        }
        let (Ok(asked), Ok(asker)) = (MessageId::parse_lenient(&found.id), MailboxId::parse(&found.from))
        else {
            return Ok(None);
        };
        let since = crate::clock::Timestamp::parse(&self.record.started).map(|began| began.minus(SET_BACK));
        let answer = run_mail::answer_to(post, &asked, &asker, &agent.id, since)?;
        Ok(answer.map(|message| (message.body.clone(), message.envelope.extra(BOUNCE) == Some("1"))))
    }
}
