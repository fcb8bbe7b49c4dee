//! Deeds: what a person does in a face that stays open. Each is one verb of the library, said in words afterwards.
//!
//! The faces have their own forms and keys for them. What a deed leaves out, and whether a run goes on after it, is decided here,
//! so that it is the same in a browser and in a terminal.

use thiserror::Error as ThisError;

use crate::desk::Desk;
use crate::dispatch::retriable::{self, Retriable, RetriableMailboxes};
use crate::dispatch::{pausing, stop};
use crate::mailbox::Folder;
use crate::message::visible;
use crate::name::MailboxId;
use crate::post::line::{counted, of_receipt};
use crate::post::{self, Failure, Letter, Outcome, Post, Receipt, USER};
use crate::staff::{self, WorkflowError, find_workflow};
use crate::workflow::decision::{self, Decision};
use crate::workflow::order::{self, Obeyed};
use crate::workflow::start::Order;
use crate::workflow::unawaited::leave_out;

/// What the person did, in words.
pub type Said = Result<String, Error>;

/// Why a deed was not done.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The letter reached nobody.
    #[error("{said}")]
    Undelivered { said: String },
    /// No run waits for any of the messages that were to be tried again.
    #[error("{said}")]
    Unawaited { said: String },
    #[error(transparent)]
    Staff(#[from] staff::Error),
    #[error(transparent)]
    Post(#[from] post::Error),
    #[error(transparent)]
    Decision(#[from] decision::Error),
    #[error(transparent)]
    Stop(#[from] stop::Error),
    #[error(transparent)]
    Retry(#[from] retriable::Error),
    #[error(transparent)]
    Workflow(#[from] WorkflowError),
    #[error(transparent)]
    Order(#[from] order::Error),
}

impl Error {
    pub fn code(&self) -> Failure {
        match self {
            Self::Undelivered { .. } => Failure::NotDone,
            Self::Unawaited { .. } => Failure::Refused,
            Self::Staff(e) => e.code(),
            Self::Post(e) => e.code(),
            Self::Decision(e) => e.code(),
            Self::Stop(e) => e.code(),
            Self::Retry(e) => e.code(),
            Self::Workflow(e) => e.code(),
            Self::Order(e) => e.code(),
        }
    }
}

/// The person at a face, in one room.
#[derive(Debug, Clone, Copy)]
pub struct Deeds<'a> {
    pub desk: &'a Desk,
    pub post: &'a Post,
    /// Where the person is: `on the page`. It is recorded as the reason of what has no other.
    pub place: &'static str,
}

impl Deeds<'_> {
    pub fn send(&self, to: &[String], subject: &str, body: &str) -> Said {
        let me = self.post.act_as(USER)?;
        let subject = Some(subject.trim()).filter(|subject| !subject.is_empty()).map(str::to_owned);
        let letter = Letter { to: to.to_vec(), subject, body: body.to_owned(), ..Letter::default() };
        delivered(&self.post.send(&me, &letter)?)
    }

    /// Answers a message of the person. The answer to a gate is the person's decision.
    pub fn reply(&self, id: &str, body: &str) -> Said {
        let me = self.post.act_as(USER)?;
        let letter = Letter { body: body.to_owned(), ..Letter::default() };
        let asked = self.post.open_message(&me, id, true)?.message;
        let run = asked.envelope.extra("workflow").unwrap_or_default();
        let is_gate = decision::note_answer(self.post, run, &asked.envelope.id, &asked.body, &letter.body)?;
        let answer = self.post.reply(&me, id, letter)?;
        self.post.answered(&me, &answer);
        let said = delivered(std::slice::from_ref(&answer.receipt))?;
        Ok(if is_gate { format!("{said}{}", self.carried(run)) } else { said })
    }

    /// Takes a message of the person out of the unread mail, or puts it back.
    pub fn move_to(&self, id: &str, to: Folder) -> Result<(), Error> {
        let me = self.post.act_as(USER)?;
        Ok(self.post.move_to(&me, id, to).map(drop)?)
    }

    /// Lets a run pass a gate, or refuses its result.
    pub fn decide(&self, gate: &str, decision: Decision<'_>) -> Said {
        let gate = decision::find(self.post, gate)?;
        let decided = decision::decide(self.post, &gate, decision)?;
        self.post.answered(&decided.by, &decided.told);
        let answer = decided.answer.lines().next().unwrap_or_default();
        Ok(format!("{}: {answer}{}", gate.run, self.carried(&gate.run)))
    }

    /// Lets a run go on with an answer that it has, also if no dispatcher runs. Returns a remark if it could not: the answer
    /// stands, and the next dispatcher takes it.
    fn carried(&self, run: &str) -> &'static str {
        match order::carry_once(self.post, run, &self.gate()) {
            Ok(_) => "",
            Err(_) => "; the run goes on when a dispatcher runs",
        }
    }

    /// Stops a run, a message or an agent. `mailbox`: only what is done or waits there.
    pub fn stop(&self, mailbox: Option<&str>, what: &str) -> Said {
        let staff = self.desk.staff(self.post)?;
        let agents: Vec<(String, MailboxId)> =
            staff.agents.into_iter().filter_map(|(agent, id)| Some((agent.name, id?))).collect();
        let mailbox = mailbox.map(mailbox_id).transpose()?;
        let halted = stop::stop_meant(self.post, &agents, mailbox.as_ref(), what, self.place)?;
        Ok(match halted.runs.as_slice() {
            [] => format!("{} parked", counted(halted.parked.len(), "message")),
            runs if runs.iter().any(|stopped| stopped.is_unanswered) => {
                "its agent is ended; its supervisor does not answer yet".to_owned()
            }
            runs => {
                format!("stopped {}; the message is parked until it is retried", counted(runs.len(), "run"))
            }
        })
    }

    /// Keeps an agent from being started.
    pub fn pause(&self, agent: &str, why: &str) -> Said {
        let why = if why.is_empty() { self.place } else { why };
        pausing::pause(self.post, agent, why)?;
        Ok(format!("{agent} is paused; its mail waits"))
    }

    /// Lets an agent be started again.
    pub fn resume(&self, agent: &str) -> Said {
        let resumed = pausing::resume(self.post, agent)?;
        Ok(match (resumed.was_paused, resumed.left.first()) {
            (_, Some(left)) => format!("{agent} {}", left.line()),
            (true, None) => format!("{agent} goes on"),
            (false, None) => format!("{agent} was not paused"),
        })
    }

    /// Tries messages again that were given up or parked. The mailbox that is looked at comes first.
    pub fn retry(&self, mailbox: Option<&str>, ids: &[String]) -> Said {
        let first = mailbox.and_then(|id| MailboxId::parse(id).ok());
        let first = first.map(|id| self.post.other(&id)).transpose()?;
        self.again(RetriableMailboxes::of(self.post, first, true)?.named(self.post, ids)?)
    }

    /// Tries a message of this mailbox again, and no copy elsewhere.
    pub fn retry_in(&self, mailbox: &str, id: &str) -> Said {
        let first = self.post.other(&mailbox_id(mailbox)?)?;
        let ids = [id.to_owned()];
        self.again(RetriableMailboxes::of(self.post, Some(first), false)?.named(self.post, &ids)?)
    }

    /// Tries all messages of agents again that were given up or parked.
    pub fn retry_all(&self) -> Said {
        self.again(Retriable::of_agents(self.post)?)
    }

    fn again(&self, mut chosen: Vec<Retriable>) -> Said {
        let left = leave_out(self.post, &mut chosen)?;
        let left = left.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        if chosen.iter().all(Retriable::is_empty) && !left.is_empty() {
            return Err(Error::Unawaited { said: left });
        }
        let again = retriable::retry(self.post, &chosen)?;
        let said = format!("{} unread again", counted(again.len(), "message"));
        Ok(if left.is_empty() { said } else { format!("{said}; {left}") })
    }

    /// Begins a run of a workflow. Returns its id.
    pub fn start_flow(&self, name: &str, inputs: &[(String, String)]) -> Said {
        let around = self.desk.around(self.post)?;
        let run = find_workflow(&*around, name)?.ready(&*around, inputs)?.begin(self.post)?;
        order::carry_once(self.post, &run, &self.gate())?;
        Ok(run)
    }

    /// Ends a run and its agents.
    pub fn cancel_flow(&self, run: &str) -> Said {
        self.give(run, &Order::Cancel { let_finish: false })
    }

    /// Repeats what failed in a run.
    pub fn retry_flow(&self, run: &str) -> Said {
        self.give(run, &Order::Retry { from: None, all: false })
    }

    fn give(&self, run: &str, order: &Order) -> Said {
        Ok(match order::give(self.post, run, order, &self.gate())? {
            Obeyed::Ended { run, why } => format!("run {run} ended: {}", visible::line(&why)),
            Obeyed::Carried { stopped, .. } if stopped.iter().any(|stopped| stopped.is_unanswered) => {
                "its agents are ended; a supervisor does not answer yet".to_owned()
            }
            Obeyed::Carried { run, engine, .. } => {
                format!("run {run} {}", engine.status().as_str().replace('_', " "))
            }
        })
    }

    /// Starts the commands of gates in this room.
    fn gate(&self) -> impl Fn(&str, &str) -> std::io::Result<()> + '_ {
        |run, id| (self.desk.start_gate)(self.post.room().path(), run, id)
    }
}

fn mailbox_id(text: &str) -> post::Result<MailboxId> {
    MailboxId::parse(text).map_err(|_| post::Error::NoMailbox { id: text.to_owned(), name: text.to_owned() })
}

/// What became of a letter. One that was delivered to nobody is an error, so that the face keeps its text.
fn delivered(receipts: &[Receipt]) -> Said {
    let said = receipts.iter().map(of_receipt).collect::<Vec<_>>().join(", ");
    match receipts.iter().all(|receipt| matches!(receipt.outcome, Outcome::Failed(_))) {
        true => Err(Error::Undelivered { said }),
        false => Ok(said),
    }
}
