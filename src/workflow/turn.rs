//! One turn of a carrier that holds the lock of a run: accept answers, send what follows.
//!
//! The order makes a crash harmless. One rename into `archive/` accepts an answer. Only then is what follows from it
//! sent, under a derived id. Any process that loads the run later finds every accepted answer, computes the same asks,
//! and sends again what may not have been sent; a mailbox that already has the message says so.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::carrier::{Carried, StartGate, no_run, shown};
use super::definition::{Definition, Gate};
use super::engine::{Answer, Ask, AskKind, Control, Engine, Phase, RunFacts, Status};
use super::failures::FailedFlow;
use super::mail::{self, Arrived};
use super::runs::{Record, Runs};
use super::{cancelling, gate, reading, session, state};
use crate::clock::Timestamp;
use crate::mailbox::Folder;
use crate::mailbox::claim::Attempt;
use crate::name::{MailboxId, MessageId};
use crate::post::SentStep;
use crate::post::{Error, Me, Post, Result, Said};

/// The time that a gate process has to take its lock.
const STARTING: Duration = Duration::from_secs(3);

/// A loaded run.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) record: Record,
    pub(super) me: Me,
    pub(super) engine: Engine,
    /// Asks to send, in order; `true`: certainly never sent before.
    pub(super) pending: VecDeque<(Ask, bool)>,
    pub(super) sent: HashMap<MessageId, Timestamp>,
    /// When the work on asks with a timeout began.
    pub(super) begun: HashMap<MessageId, Timestamp>,
    /// Asks that agents sent themselves.
    pub(super) adopted: HashMap<MessageId, SentStep>,
    starting: HashMap<MessageId, Duration>,
    shown: Vec<String>,
    /// The agents that got a request, in order.
    invoked: Vec<String>,
    pub(super) remarks: Vec<String>,
    desk: state::Desk,
}

impl Turn {
    /// Computes a run from its mail.
    pub(super) fn load(post: &Post, runs: &Runs, run: &str) -> Result<Self> {
        let (Some(record), Some(text)) = (runs.record(run), runs.definition(run)) else {
            return Err(no_run(run));
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
            // The run would wait without end for an accepted answer that is no longer readable.
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
        let facts = RunFacts {
            run: run.to_owned(),
            inputs: record.inputs.clone(),
            results: record.desk.join("shared").join("workflows").join(run),
            body_bytes: usize::try_from(limit).unwrap_or(usize::MAX),
            persons,
        };
        let (sent, begun) = (runs.sent(run)?, runs.begun(run)?);
        let asked = sent.keys().cloned().collect();
        let mut turn = Self {
            engine: Engine::new(Arc::new(definition), facts, answers, controls, asked),
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
            begun,
        };
        turn.changes();
        turn.queue(false);
        Ok(turn)
    }

    /// Steps whose state changed, with their new state.
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
                // A recipient computed from a result may not be a valid name.
                let named = crate::name::Name::parse(&item.agent).is_ok();
                if named && !self.invoked.contains(&item.agent) {
                    self.invoked.push(item.agent.clone());
                }
            }
        }
        changes
    }

    /// Queues the new asks of the engine.
    fn queue(&mut self, first: bool) {
        let mut fresh = self.engine.take_fresh();
        fresh.retain(|ask| !self.sent.contains_key(&ask.id));
        if !first {
            fresh.sort_by_key(|ask| (ask.step, ask.item));
        }
        self.pending.extend(fresh.into_iter().map(|ask| (ask, first)));
    }

    /// The asks to send.
    pub(super) fn queued(&self) -> impl Iterator<Item = &Ask> {
        self.pending.iter().map(|(ask, _)| ask)
    }

    /// Carries the run as far as possible now.
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
            let (late, next) = self.time_out(post, runs)?;
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

    /// The state of the run, with its changes.
    pub(super) fn told(&self, changes: Vec<(String, String)>) -> Carried {
        Carried {
            run: self.record.id.clone(),
            status: self.engine.status(),
            settled: self.engine.settled(),
            total: self.engine.steps().len(),
            moved: false,
            changes,
            remarks: vec![],
            asks: self
                .engine
                .asks_of_person()
                .iter()
                .map(|ask| self.engine.name_of_ask(ask.step, &ask.id))
                .collect(),
            due: None,
            busy: false,
        }
    }

    /// Steps whose state changed since the last report, by name.
    pub(super) fn changed_since(&self, told: &mut Vec<String>) -> Vec<(String, String)> {
        let steps = &self.engine.definition().steps;
        told.resize(steps.len(), Phase::Waiting.as_str().to_owned());
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

    /// Accepts answers from the inbox. `true` if there were any.
    fn take_in(&mut self, post: &Post) -> Result<bool> {
        let limit = post.room().limits().body_bytes;
        let mut any = false;
        loop {
            let mut strange = vec![];
            let mut accepted = false;
            for name in self.me.mailbox.next(usize::MAX)?.names {
                // An unreadable file stays where it is; the doctor reports it.
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
                            self.engine.add_control(number, control);
                            self.pending.clear();
                            self.queue(false);
                            accepted = true;
                        }
                    }
                    Arrived::Other => strange.push((name, "the run did not ask for this".to_owned())),
                }
            }
            any |= accepted;
            // Accepting one answer may create the ask that another one answers.
            if !accepted {
                for (name, why) in strange {
                    self.put_aside(post, &name, &why)?;
                }
                return Ok(any);
            }
        }
    }

    /// The single step that makes an answer count.
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
            // The verdict comes from the run itself, whichever process found it.
            AskKind::Command { .. } => (&self.record.id, "a verdict"),
        };
        // Only the recipient of an ask can answer it. The run's own notes are failures, or the verdict of its gate.
        let is_gate = matches!(ask.kind, AskKind::Command { .. });
        let own = answer.from == self.record.id && (answer.failed.is_some() || is_gate);
        let theirs = !is_gate && post.addressee(name).is_ok_and(|asked| asked.as_str() == answer.from);
        if !own && !theirs {
            let other = post.name_of(&answer.from);
            return Some(format!("`{name}` was asked for {what}, and not `{other}`"));
        }
        let recorded = own || what != "approval" || answer.said.is_some();
        (!recorded && self.engine.facts().persons.contains(name))
            .then(|| "it was not given by a person with `approve` or `reject`".to_owned())
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

    /// Keeps results that prompts refer to, before a prompt refers to them.
    fn keep_results(&mut self) -> Result<()> {
        for (file, text) in self.engine.take_kept() {
            self.desk.keep_result(&self.record.id, &file, &text)?;
        }
        Ok(())
    }

    /// Ensures that every open gate has a process. `true` if there are any gates.
    fn gates(&mut self, post: &Post, runs: &Runs, start: &StartGate<'_>) -> Result<bool> {
        let now = post.room().clock().boot();
        let commands = self.engine.open().values().filter(|ask| matches!(ask.kind, AskKind::Command { .. }));
        let asked: Vec<MessageId> = commands.map(|ask| ask.id.clone()).collect();
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

    /// The run is over: withdraws requests that have not begun, and ends gates. If a person cancelled it, agents at
    /// work are stopped.
    fn end(&mut self, post: &Post, runs: &Runs) -> Result<()> {
        let last = self.engine.controls().values().next_back();
        let stops = matches!(last, Some(Control::Cancel { let_finish: false }));
        for ask in self.engine.open().values() {
            match ask.kind {
                AskKind::Command { .. } => gate::end(runs, &self.record.id, &ask.id),
                _ if stops => {}
                _ => self.withdraw(post, ask),
            }
        }
        if stops && let Err(e) = cancelling::take_back(post, &self.me, &self.engine) {
            self.remarks.push(format!("not all of its agents could be stopped: {e}"));
        }
        // Before its mark goes, so that no look misses both.
        match self.engine.status() {
            Status::Failed => {
                runs.note_failed(&FailedFlow::of(&self.engine, post.room().clock().now()))?;
            }
            Status::Completed | Status::Cancelled | Status::InProgress => {
                runs.forget_failed(&self.record.id)?
            }
        }
        Ok(runs.set_open(&self.record.id, false)?)
    }

    /// Writes the files for people and agents. They are derived from the mail, so a failure here stops nothing.
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

/// The person's recorded word about a request, if the run asks the person anything.
fn said(post: &Post, persons: &[String], request: &MessageId) -> Result<Option<Box<Said>>> {
    if persons.is_empty() { Ok(None) } else { Ok(post.said(request)?.map(Box::new)) }
}
