//! One run in the hands of a carrier that holds its lock: accept what came, send what follows.
//!
//! The order is what makes a crash harmless. An answer is accepted by one rename into `archive/`; only then is what follows
//! from it sent, under an id that follows from it too. Whoever loads the run later finds every accepted answer, comes to
//! the same asks, and sends again what may not have been sent: a mailbox that has it already says so.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::carrier::{Carried, StartGate, no_run, shown};
use super::definition::{Definition, Gate};
use super::engine::{Answer, Ask, AskKind, Engine, Facts, Phase, Status};
use super::mail::{self, Arrived};
use super::runs::{Record, Runs};
use super::{gate, reading, session, state};
use crate::clock::Timestamp;
use crate::mailbox::Folder;
use crate::mailbox::claim::Attempt;
use crate::name::{MailboxId, MessageId};
use crate::post::SentStep;
use crate::post::{Error, Me, Post, Result, Said};

/// How long the process of a gate may take until it holds its lock.
const STARTING: Duration = Duration::from_secs(3);

/// A run, loaded.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) record: Record,
    pub(super) me: Me,
    pub(super) engine: Engine,
    /// What is to be sent, in order; `true`: nobody can have sent it before.
    pub(super) pending: VecDeque<(Ask, bool)>,
    pub(super) sent: HashMap<MessageId, Timestamp>,
    /// Asks that agents have sent themselves.
    pub(super) adopted: HashMap<MessageId, SentStep>,
    starting: HashMap<MessageId, Duration>,
    shown: Vec<String>,
    /// The agents that were given something, in order.
    invoked: Vec<String>,
    pub(super) remarks: Vec<String>,
    desk: state::Desk,
}

impl Turn {
    /// Computes a run from its mail.
    pub(super) fn load(post: &Post, runs: &Runs, run: &str) -> Result<Self> {
        let (record, text) = match (runs.record(run), runs.definition(run)) {
            (Some(record), Some(text)) => (record, text),
            _ => return Err(no_run(run)),
        };
        let definition = reading::parse(&text, &record.workflow).map_err(|problems| Error::Unreadable {
            path: run.to_owned(),
            why: problems.first().map(ToString::to_string).unwrap_or_default(),
        })?;
        let me = post.other(&MailboxId::parse(run).map_err(|_| no_run(run))?)?;
        let persons = persons(post, &definition);
        let (mut answers, mut controls) = (HashMap::new(), BTreeMap::new());
        let limit = post.room().limits().body_bytes;
        for name in me.mailbox.list(Folder::Archive, usize::MAX)?.names {
            // What was accepted and cannot be read any more would be waited for without end.
            let read = me.mailbox.message(Folder::Archive, &name, limit).map_err(|e| Error::Unreadable {
                path: format!("{run}/archive/{name}"),
                why: format!("the run has accepted it, and now it cannot be read: {}", e.why),
            })?;
            let Some((message, _)) = read else { continue };
            match mail::arrived(message, &name, run) {
                Arrived::Answer(id, answer) => {
                    let said = said(post, &persons, &id)?;
                    answers.entry(id).or_insert(Answer { said, ..answer });
                }
                Arrived::Control(number, control) => drop(controls.insert(number, control)),
                Arrived::Other => {}
            }
        }
        let facts = Facts {
            run: run.to_owned(),
            inputs: record.inputs.clone(),
            results: record.desk.join("shared").join("workflows").join(run),
            body_bytes: usize::try_from(limit).unwrap_or(usize::MAX),
            persons,
        };
        let sent = runs.sent(run)?;
        let mut turn = Self {
            engine: Engine::new(
                Arc::new(definition),
                facts,
                answers,
                controls,
                sent.keys().cloned().collect(),
            ),
            desk: state::Desk::new(&record.desk),
            pending: VecDeque::new(),
            adopted: HashMap::new(),
            starting: HashMap::new(),
            shown: vec![],
            invoked: vec![],
            remarks: vec![],
            record,
            me,
            sent,
        };
        turn.changes();
        turn.queue(false);
        Ok(turn)
    }

    pub(super) fn into_engine(self) -> Engine {
        self.engine
    }

    /// Each step that stands otherwise than before, and how.
    fn changes(&mut self) -> Vec<(usize, String)> {
        self.shown.resize(self.engine.steps().len(), String::new());
        let mut changes = vec![];
        for index in self.engine.take_touched() {
            let now = shown(&self.engine, index);
            if self.shown[index] != now {
                self.shown[index].clone_from(&now);
                changes.push((index, now));
            }
            for item in &self.engine.steps()[index].items {
                // Whoever was computed out of a result may be no name at all.
                let named = crate::name::Name::parse(&item.agent).is_ok();
                if named && !self.invoked.contains(&item.agent) {
                    self.invoked.push(item.agent.clone());
                }
            }
        }
        changes
    }

    /// Puts what the engine asks anew behind what is to be sent.
    fn queue(&mut self, first: bool) {
        let mut fresh = self.engine.take_fresh();
        fresh.retain(|ask| !self.sent.contains_key(&ask.id));
        if !first {
            fresh.sort_by_key(|ask| (ask.step, ask.item));
        }
        self.pending.extend(fresh.into_iter().map(|ask| (ask, first)));
    }

    /// What is to be sent.
    pub(super) fn queued(&self) -> impl Iterator<Item = &Ask> {
        self.pending.iter().map(|(ask, _)| ask)
    }

    /// Carries the run on as far as it goes now.
    pub(super) fn carry(&mut self, post: &Post, runs: &Runs, start: &StartGate<'_>) -> Result<Carried> {
        self.remarks.clear();
        post.look_into(&self.me)?;
        let mut changed = false;
        let (mut due, mut busy) = (None, false);
        loop {
            changed |= self.take_in(post)?;
            if self.engine.status() != Status::InProgress {
                break;
            }
            self.keep_results()?;
            let mut learned = self.next_steps(post, runs)?;
            learned |= self.send(post, runs)?;
            let (late, next) = self.time_out(post)?;
            due = next;
            if !learned && !late {
                busy = self.gates(post, runs, start)?;
                break;
            }
        }
        let status = self.engine.status();
        if status != Status::InProgress {
            self.end(post, runs)?;
        }
        let changes = self.changes();
        self.write_state(post, changed || !changes.is_empty(), status);
        let name = |(index, now): (usize, String)| (self.engine.definition().steps[index].name.clone(), now);
        let changes = changes.into_iter().map(name).collect();
        let remarks = std::mem::take(&mut self.remarks);
        Ok(Carried { moved: changed, remarks, due, busy, ..self.told(changes) })
    }

    /// How the run stands, with what changed in it.
    pub(super) fn told(&self, changes: Vec<(String, String)>) -> Carried {
        let settled = self.engine.settled();
        let (run, status, total) = (self.record.id.clone(), self.engine.status(), self.engine.steps().len());
        Carried {
            run,
            status,
            settled,
            total,
            moved: false,
            changes,
            remarks: vec![],
            due: None,
            busy: false,
        }
    }

    /// Steps whose state changed since the last report, by name.
    pub(super) fn changed_since(&self, told: &mut Vec<String>) -> Vec<(String, String)> {
        let steps = &self.engine.definition().steps;
        told.resize(steps.len(), Phase::Waiting.word().to_owned());
        let mut changes = vec![];
        for (index, step) in steps.iter().enumerate() {
            let now = shown(&self.engine, index);
            if told[index] != now {
                told[index].clone_from(&now);
                changes.push((step.name.clone(), now));
            }
        }
        changes
    }

    /// Accepts what came and is an answer; `true`: there was any.
    fn take_in(&mut self, post: &Post) -> Result<bool> {
        let limit = post.room().limits().body_bytes;
        let mut any = false;
        loop {
            let mut strange = vec![];
            let mut accepted = false;
            for name in self.me.mailbox.next(usize::MAX)?.names {
                // What cannot be read is left where it lies; the doctor tells of it.
                let Ok(Some((message, _))) = self.me.mailbox.message(Folder::Inbox, &name, limit) else {
                    continue;
                };
                match mail::arrived(message, &name, &self.record.id) {
                    Arrived::Answer(id, answer) => {
                        let said = said(post, &self.engine.facts().persons, &id)?;
                        let answer = Answer { said, ..answer };
                        if let Some(why) = self.refuse(post, &id, &answer) {
                            strange.push((name, why));
                            continue;
                        }
                        let Some(file) = self.accept_file(&name)? else { continue };
                        self.make_way(post, &id, &answer);
                        accepted |= self.engine.accept(&id, Answer { file, ..answer });
                        self.queue(true);
                    }
                    Arrived::Control(number, control) => {
                        if self.accept_file(&name)?.is_some() {
                            self.control(number, control)?;
                            accepted = true;
                        }
                    }
                    Arrived::Other => strange.push((name, "the run did not ask for this".to_owned())),
                }
            }
            any |= accepted;
            // What one answer makes known may be what another one answers.
            if !accepted {
                for (name, why) in strange {
                    self.put_aside(post, &name, &why)?;
                }
                return Ok(any);
            }
        }
    }

    /// The one step that makes an answer count.
    fn accept_file(&self, name: &str) -> Result<Option<String>> {
        Ok(self.me.mailbox.shift(name, Folder::Inbox, Folder::Archive)?)
    }

    /// Why an answer does not count.
    fn refuse(&self, post: &Post, id: &MessageId, answer: &Answer) -> Option<String> {
        let Some(ask) = self.engine.open().get(id) else {
            return Some(match self.engine.answer(id) {
                Some(Answer { from, failed: Some(why), .. }) if *from == self.record.id => {
                    format!("it came after the run had given it up: {why}")
                }
                Some(_) => "another answer was accepted before".to_owned(),
                None => "the run does not wait for this answer".to_owned(),
            });
        };
        let (name, what) = match &ask.kind {
            AskKind::Work { to, .. } => (to, "this"),
            AskKind::Approval { by, .. } => (by, "approval"),
            // The verdict is the run's own, whoever's process came to it.
            AskKind::Command { .. } => (&self.record.id, "a verdict"),
        };
        // Only whoever was asked can answer; what the run notes for itself is a failure, or the verdict of its gate.
        let is_gate = matches!(ask.kind, AskKind::Command { .. });
        let own = answer.from == self.record.id && (answer.failed.is_some() || is_gate);
        let theirs = !is_gate && post.addressee(name).is_ok_and(|asked| asked.as_str() == answer.from);
        if !own && !theirs {
            let other = post.name_of(&answer.from);
            return Some(format!("`{name}` was asked for {what}, and not `{other}`"));
        }
        let recorded = own || what != "approval" || answer.said.is_some();
        (!recorded && self.engine.facts().persons.contains(name))
            .then(|| format!("it was not given by a person's command: postroom approve {id}"))
    }

    fn put_aside(&mut self, post: &Post, name: &str, why: &str) -> Result<()> {
        let attempt = Attempt {
            v: 1,
            time: post.room().clock().now().to_string(),
            token: String::new(),
            owner: self.record.id.clone(),
            how: "failed".to_owned(),
            why: why.to_owned(),
        };
        self.me.mailbox.note_attempt(name, &attempt)?;
        if self.me.mailbox.shift(name, Folder::Inbox, Folder::Failed)?.is_some() {
            self.remarks.push(format!("{name} was put aside: {why}"));
        }
        Ok(())
    }

    /// Another word of a person: the run is computed anew.
    fn control(&mut self, number: u32, control: super::engine::Control) -> Result<()> {
        let empty = Engine::new(
            Arc::new(self.engine.definition().clone()),
            self.engine.facts().clone(),
            HashMap::new(),
            BTreeMap::new(),
            HashSet::new(),
        );
        let engine = std::mem::replace(&mut self.engine, empty);
        self.engine = engine.with_control(number, control);
        self.pending.clear();
        self.queue(false);
        Ok(())
    }

    /// Keeps results that prompts refer to, before anybody is sent to them.
    fn keep_results(&mut self) -> Result<()> {
        for (file, text) in self.engine.take_kept() {
            self.desk.keep_result(&self.record.id, &file, &text)?;
        }
        Ok(())
    }

    /// Sees to it that every gate that is asked has a process; `true`: there are any.
    fn gates(&mut self, post: &Post, runs: &Runs, start: &StartGate<'_>) -> Result<bool> {
        let now = post.room().clock().boot();
        let asked: Vec<MessageId> = self
            .engine
            .open()
            .values()
            .filter(|ask| matches!(ask.kind, AskKind::Command { .. }))
            .map(|ask| ask.id.clone())
            .collect();
        self.starting.retain(|id, since| asked.contains(id) && now.saturating_sub(*since) < STARTING);
        for id in &asked {
            if self.starting.contains_key(id) || runs.gate(&self.record.id, id)?.is_none() {
                continue;
            }
            match start(&self.record.id, id.as_str()) {
                Ok(()) => drop(self.starting.insert(id.clone(), now)),
                Err(e) => self.remarks.push(format!("a gate cannot be started: {e}")),
            }
        }
        Ok(!asked.is_empty())
    }

    /// The run is over: nobody is left with a request of it that has not begun, and no gate runs for nothing.
    fn end(&mut self, post: &Post, runs: &Runs) -> Result<()> {
        for ask in self.engine.open().values() {
            match ask.kind {
                AskKind::Command { .. } => gate::end(runs, &self.record.id, &ask.id),
                _ if self.sent.contains_key(&ask.id) => self.withdraw(post, ask),
                _ => {}
            }
        }
        runs.set_open(&self.record.id, false)?;
        Ok(())
    }

    /// Writes what people and agents look at. It follows from the mail, so a failure here stops nothing.
    fn write_state(&mut self, post: &Post, changed: bool, status: Status) {
        let clock = post.room().clock();
        let over = status != Status::InProgress;
        let written = self.desk.write(&self.engine, &self.record, changed, over, clock.boot());
        let session = session::update(&mut self.desk, &self.engine, &self.record, &self.invoked, over);
        for outcome in [written, session] {
            match outcome {
                Ok(remark) => self.remarks.extend(remark),
                Err(e) => self.remarks.push(format!("the shared state could not be written: {e}")),
            }
        }
    }
}

/// The names in the gates of a workflow that mean the person.
fn persons(post: &Post, definition: &Definition) -> Vec<String> {
    let gates = definition.steps.iter().flat_map(|step| &step.gates);
    let asked = gates.filter_map(|gate| match gate {
        Gate::Approval { by, .. } => Some(by),
        _ => None,
    });
    asked.filter(|by| post.asks_person(by)).cloned().collect()
}

/// What the person has said about a request of a run that asks the person anything.
fn said(post: &Post, persons: &[String], request: &MessageId) -> Result<Option<Box<Said>>> {
    if persons.is_empty() { Ok(None) } else { Ok(post.said(request)?.map(Box::new)) }
}
