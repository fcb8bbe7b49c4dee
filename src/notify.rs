//! Telling the person what happened, without being asked: which events there are to tell, each once.
//!
//! A dispatcher looks at every turn; other commands look for dead dispatchers. What was told is remembered in the room
//! (`dispatch/told.rs`). The process that makes that file tells it, so nothing is told twice. If it is killed before it
//! starts the command, the event is not told; `check`, `failed` and `runs` still show it. This module finds events and
//! starts nothing: a face starts the command, in a process of its own, so that it never holds up mail.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::dispatch::background::{Background, Progress};
use crate::dispatch::paused::PauseKind;
use crate::dispatch::runs::{Run, RunState, Runs};
use crate::mailbox::Folder;
use crate::message::Envelope;
use crate::name::MailboxId;
use crate::post::{Error, Me, Post, Result, USER};
use crate::settings::personal::NotifyEvent;
use crate::workflow;

/// How long ago a workflow run may have failed to be told.
const DAY: Duration = Duration::from_secs(86_400);

/// Something that happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fact {
    /// The agent or dispatcher it is about, by name or directory.
    pub about: Option<String>,
    pub message: Option<String>,
    pub from: Option<String>,
    pub subject: Option<String>,
    pub run: Option<String>,
    pub why: Option<String>,
    pub since: Option<String>,
    pub until: Option<String>,
}

/// All new facts of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    pub event: NotifyEvent,
    pub facts: Vec<Fact>,
}

/// Finds what is to be told, and remembers what it has seen.
#[derive(Debug)]
pub struct Notifier {
    events: Vec<NotifyEvent>,
    seen: HashSet<String>,
    has_looked: bool,
}

impl Notifier {
    pub fn new(events: &[NotifyEvent]) -> Self {
        Self { events: events.to_vec(), seen: HashSet::new(), has_looked: false }
    }

    /// Tells only these events from now on.
    pub fn want(&mut self, events: Vec<NotifyEvent>) {
        self.events = events;
    }

    /// What a dispatcher finds: mail and gates for the person, parked messages, failed workflow runs, paused agents, dead
    /// dispatchers.
    pub fn look(&mut self, post: &Post) -> Result<Vec<News>> {
        let mut news = vec![];
        if self.wants(NotifyEvent::Mail) || self.wants(NotifyEvent::Gate) {
            news.extend(self.mail(post)?);
        }
        let runs = Runs::open(post.room())?;
        if !std::mem::replace(&mut self.has_looked, true) {
            runs.forget_told(post.room().clock().now())?;
        }
        if self.wants(NotifyEvent::Parked) {
            news.extend(self.parked(post, &runs)?);
        }
        if self.wants(NotifyEvent::Workflow) {
            news.extend(self.workflows(post, &runs)?);
        }
        if self.wants(NotifyEvent::Paused) {
            news.extend(self.paused(&runs)?);
        }
        news.extend(self.dead(&runs)?);
        Ok(news)
    }

    /// A run that ended: news if its message was given up.
    pub fn ended(&mut self, post: &Post, run: &Run) -> Result<Option<News>> {
        let is_news = run.state == RunState::Failed && self.wants(NotifyEvent::Failed);
        let runs = Runs::open(post.room())?;
        if !is_news || !self.is_new(&runs, &format!("failed {} {}", run.mailbox, run.id))? {
            return Ok(None);
        }
        let fact = Fact {
            about: Some(run.agent.clone()),
            message: Some(run.message.clone()),
            from: Some(run.from.clone()),
            run: Some(run.id.clone()),
            why: Some(run.why.clone()),
            since: Some(run.ended.clone()),
            ..Fact::default()
        };
        Ok(Some(News { event: NotifyEvent::Failed, facts: vec![fact] }))
    }

    /// Dispatchers that died since somebody last looked.
    pub fn dead(&self, runs: &Runs) -> Result<Option<News>> {
        let fact = |dead: crate::dispatch::watchers::Watcher| Fact {
            about: Some(dead.project).filter(|project| !project.is_empty()),
            since: Some(dead.since).filter(|since| !since.is_empty()),
            why: Some("it ended without being stopped".to_owned()),
            ..Fact::default()
        };
        let facts: Vec<Fact> = runs.take_dead_watchers()?.into_iter().map(fact).collect();
        let is_news = !facts.is_empty() && self.wants(NotifyEvent::Dispatcher);
        Ok(is_news.then_some(News { event: NotifyEvent::Dispatcher, facts }))
    }

    fn mail(&mut self, post: &Post) -> Result<Vec<News>> {
        let Some(me) = person(post)? else { return Ok(vec![]) };
        let (mut mail, mut gates) = (vec![], vec![]);
        let runs = Runs::open(post.room())?;
        let unread = me.mailbox.list(Folder::Inbox, usize::MAX)?.names;
        for file in unread {
            let key = format!("mail {} {file}", me.id);
            if self.seen.contains(&key) {
                continue;
            }
            // What cannot be read is the doctor's business, and another look tries again.
            let Ok(Some(header)) = post.header(&me.mailbox, Folder::Inbox, &file) else { continue };
            let is_gate = is_gate(&header.envelope);
            let event = if is_gate { NotifyEvent::Gate } else { NotifyEvent::Mail };
            if !self.wants(event) || !self.is_new(&runs, &key)? {
                continue;
            }
            let fact = Fact {
                message: Some(header.envelope.id.to_string()),
                from: Some(post.sender_shown(&header.envelope)),
                subject: Some(header.envelope.subject.clone()),
                run: is_gate.then(|| header.envelope.from.to_string()),
                ..Fact::default()
            };
            if is_gate { gates.push(fact) } else { mail.push(fact) }
        }
        let all = [(NotifyEvent::Mail, mail), (NotifyEvent::Gate, gates)];
        let all = all.into_iter().filter(|(_, facts)| !facts.is_empty());
        Ok(all.map(|(event, facts)| News { event, facts }).collect())
    }

    /// Messages that something else than a person parked.
    fn parked(&mut self, post: &Post, runs: &Runs) -> Result<Option<News>> {
        let mut facts = vec![];
        for parked in runs.parked()?.into_iter().filter(|parked| !parked.is_by_person()) {
            let key = format!("parked {} {} {}", parked.mailbox, parked.file, parked.since);
            if self.seen.contains(&key) {
                continue;
            }
            let Ok(id) = MailboxId::parse(&parked.mailbox) else { continue };
            // A run may hold it just now, or it is gone; another look tells.
            let header = post.mailbox(&id).map(|mailbox| post.header(&mailbox, Folder::Inbox, &parked.file));
            let Ok(Ok(Some(header))) = header else { continue };
            if !self.is_new(runs, &key)? {
                continue;
            }
            facts.push(Fact {
                about: Some(post.name_of(&parked.mailbox).to_owned()),
                message: Some(header.envelope.id.to_string()),
                from: Some(post.sender_shown(&header.envelope)),
                subject: Some(header.envelope.subject.clone()),
                why: Some(parked.why),
                since: Some(parked.since),
                ..Fact::default()
            });
        }
        Ok((!facts.is_empty()).then_some(News { event: NotifyEvent::Parked, facts }))
    }

    /// Workflow runs that failed within a day.
    fn workflows(&mut self, post: &Post, runs: &Runs) -> Result<Option<News>> {
        let Some(flows) = workflow::runs::Runs::existing(post.room())? else { return Ok(None) };
        let mut facts = vec![];
        for flow in flows.failed_since(post.room().clock().now().minus(DAY))? {
            if self.is_new(runs, &format!("workflow {} {}", flow.run, flow.at))? {
                let (about, run) = (Some(flow.workflow), Some(flow.run));
                facts.push(Fact { about, run, why: Some(flow.why), since: Some(flow.at), ..Fact::default() });
            }
        }
        Ok((!facts.is_empty()).then_some(News { event: NotifyEvent::Workflow, facts }))
    }

    /// Agents that something else than a person pauses.
    fn paused(&mut self, runs: &Runs) -> Result<Option<News>> {
        let mut facts = vec![];
        for (mailbox, pause) in runs.all_pauses()? {
            let key = format!("paused {mailbox} {} {}", pause.kind.as_str(), pause.since);
            if pause.kind == PauseKind::Person || !self.is_new(runs, &key)? {
                continue;
            }
            facts.push(Fact {
                about: Some(pause.agent),
                why: Some(pause.why),
                since: Some(pause.since),
                until: pause.until,
                ..Fact::default()
            });
        }
        Ok((!facts.is_empty()).then_some(News { event: NotifyEvent::Paused, facts }))
    }

    fn wants(&self, event: NotifyEvent) -> bool {
        self.events.contains(&event)
    }

    /// Whether nobody has told this before. From now on, this process has.
    fn is_new(&mut self, runs: &Runs, key: &str) -> Result<bool> {
        Ok(self.seen.insert(key.to_owned()) && runs.tell_once(key)?)
    }
}

/// The mailbox of the person, if this room has one.
fn person(post: &Post) -> Result<Option<Me>> {
    match post.addressee(USER) {
        Err(Error::UnknownName { .. }) => Ok(None),
        id => post.other(&id?).map(Some),
    }
}

/// Whether a message is the question of a run.
pub fn is_gate(envelope: &Envelope) -> bool {
    envelope.extra("workflow") == Some(envelope.from.as_str()) && envelope.subject.starts_with("approve? ")
}

/// The background work of a dispatcher that also tells the person.
pub struct Noticing<'a, B> {
    pub work: B,
    pub notifier: Notifier,
    /// What the person wants to be told now; `None`: nothing.
    pub events: &'a dyn Fn() -> Option<Vec<NotifyEvent>>,
    pub tell: &'a dyn Fn(&News),
}

impl<B: std::fmt::Debug> std::fmt::Debug for Noticing<'_, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Noticing").field("work", &self.work).finish_non_exhaustive()
    }
}

impl<B: Background> Background for Noticing<'_, B> {
    type News = B::News;

    fn look(&mut self, post: &Post) -> Result<Progress<B::News>> {
        let mut progress = self.work.look(post)?;
        if let Some(events) = (self.events)() {
            self.notifier.want(events);
            // Mail goes on if the person cannot be told.
            match self.notifier.look(post) {
                Ok(news) => news.iter().for_each(|news| (self.tell)(news)),
                Err(e) => progress.faults.push((USER.to_owned(), format!("the person cannot be told: {e}"))),
            }
        }
        Ok(progress)
    }

    fn arrivals(&self, post: &Post) -> Result<Box<dyn Fn() -> Vec<PathBuf> + Send>> {
        let work = self.work.arrivals(post)?;
        let inbox = person(post)?.map(|me| me.mailbox.inbox());
        // Nothing can be watched beside one that is not there.
        let inbox = move || inbox.clone().filter(|dir| dir.is_dir());
        Ok(Box::new(move || work().into_iter().chain(inbox()).collect()))
    }
}
