//! `postroom failed retry`: dead letters are unread again, and parked messages are released by a person.

use clap::Args;

use super::context::Context;
use super::fail::Fail;
use super::failed::called;
use super::retriable::{Mailboxes, Retriable};
use crate::dispatch::runs::Runs;
use crate::mailbox::Folder;
use crate::post::Post;
use crate::view::claim as view;

#[derive(Debug, Args)]
pub(super) struct Retry {
    #[arg(required_unless_present_any = ["all", "agent", "reason"], conflicts_with_all = ["all", "reason"], value_name = "ID")]
    ids: Vec<String>,
    /// Those of every mailbox of the room
    #[arg(long, conflicts_with = "agent")]
    all: bool,
    /// Those of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Those whose reason contains this text; in every mailbox, unless an agent is named
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Retry {
    /// The mailboxes that are meant, and what is meant there.
    fn chosen(&self, context: &mut Context) -> Result<(&'static Post, Vec<Retriable>), Fail> {
        if !self.ids.is_empty() {
            return self.named(context);
        }
        let has = |why: &str| self.reason.as_deref().is_none_or(|text| why.contains(text));
        let (post, mailboxes) = match &self.agent {
            Some(name) => {
                let post = context.post()?;
                (post, vec![post.other(&post.addressee(name)?)?])
            }
            None => {
                let post = context.post()?;
                let ids = post.registry()?.entries.iter().map(|entry| &entry.id);
                let mut mailboxes = vec![];
                for id in ids.filter(|id| !post.is_persons(id)) {
                    mailboxes.push(post.other(id)?);
                }
                (post, mailboxes)
            }
        };
        let mut chosen = vec![];
        for me in mailboxes {
            let mut all = Retriable::of(post, me)?;
            all.letters.retain(|letter| has(letter.reason()));
            all.parked.retain(|parked| has(&parked.why));
            chosen.push(all);
        }
        Ok((post, chosen))
    }

    /// What the ids name. Fails if one names nothing.
    fn named(&self, context: &mut Context) -> Result<(&'static Post, Vec<Retriable>), Fail> {
        let (post, mut mailboxes) = Mailboxes::of(context, self.agent.as_deref())?;
        let mut names = vec![];
        for id in &self.ids {
            let (at, found) = mailboxes.find(post, id, "retry")?;
            names.push((at, found.name));
        }
        let mut chosen = mailboxes.looked_at;
        for (at, all) in chosen.iter_mut().enumerate() {
            let is_named =
                |name: &String| names.iter().any(|(mailbox, named)| *mailbox == at && named == name);
            all.letters.retain(|letter| is_named(&letter.name));
            all.parked.retain(|parked| is_named(&parked.file));
        }
        Ok((post, chosen))
    }

    pub(super) fn run(&self, context: &mut Context) -> Result<(), Fail> {
        let (post, chosen) = self.chosen(context)?;
        if chosen.iter().all(|one| one.is_empty()) {
            return Err(context.nothing("nothing to retry"));
        }
        if chosen.iter().any(|one| !one.parked.is_empty()) {
            // A limit that agents could lift would limit nobody.
            post.person("retry")?;
        }
        let (mut again, mut lines) = (vec![], vec![]);
        let runs = Runs::existing(post.room())?;
        for Retriable { me, letters, parked } in &chosen {
            for letter in letters {
                again.push(post.retry(me, &letter.name)?);
                lines.push(format!("unread again {}", called(&letter.name)));
                context.done = true;
            }
            for one in parked {
                if let Some(runs) = &runs {
                    runs.unpark(one)?;
                    runs.hurry(&one.mailbox, &one.file);
                }
                again.push(post.open_in(me, &one.file, Folder::Inbox)?.message.envelope.id.to_string());
                lines.push(format!("released {}", called(&one.file)));
                context.done = true;
            }
        }
        context.output.receipt(&view::FailedRetry { retried: again }, lines);
        Ok(())
    }
}
