//! A person's decision at a gate: which gate is meant, and the word that lets its run go on or refuses the result.
//!
//! Only a person decides. The decision is recorded outside of the room ([`Post::say`]) before the request is answered, so
//! that a run believes no answer that a person did not give. A second decision that differs is refused.

use thiserror::Error as ThisError;

pub use super::approval::bare;
use super::carrier::look_at;
use super::engine::{Ask, AskKind, Engine};
use super::runs::Runs;
use super::start;
use crate::message::visible;
use crate::name::MessageId;
use crate::post::{self, Answer, Failure, Letter, Me, Post, USER};

/// How a person decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision<'a> {
    /// The comment goes into the answer; it may be empty.
    Approve { comment: &'a str },
    /// The agent reads the reason before its next attempt.
    Reject { why: &'a str },
}

impl Decision<'_> {
    /// The whole answer to the request.
    fn answer(self) -> String {
        match self {
            Self::Approve { comment } if comment.trim().is_empty() => "approve\n".to_owned(),
            Self::Approve { comment } => format!("approve\n\n{}\n", comment.trim()),
            Self::Reject { why } => format!("reject: {}\n", why.trim()),
        }
    }
}

/// A gate that waits for the person.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingGate {
    pub run: String,
    pub request: MessageId,
    /// What names it for people: `RUN/STEP`, or digits of its request if the step may ask several.
    pub word: String,
    pub subject: String,
    /// The question.
    pub body: String,
}

impl PendingGate {
    /// `None` if this asks an agent or a command.
    pub fn of(run: &str, engine: &Engine, ask: &Ask) -> Option<Self> {
        let AskKind::Approval { subject, body, .. } = &ask.kind else { return None };
        let (subject, body) = (subject.clone(), body.clone());
        let word = engine.name_of_ask(ask.step, &ask.id);
        Some(Self { run: run.to_owned(), request: ask.id.clone(), word, subject, body })
    }

    /// Whether a message shows this question. Anybody can write its file.
    pub fn is_shown_by(&self, body: &str) -> bool {
        self.body.trim() == body.trim()
    }
}

/// A decision that is recorded, and the answer that carries it.
#[derive(Debug)]
pub struct Decided {
    /// The mailbox of the person.
    pub by: Me,
    /// To be ended by [`Post::answered`] when it was shown.
    pub told: Answer,
    /// What was said, such as `approve`.
    pub answer: String,
}

#[derive(Debug, ThisError)]
pub enum Error {
    #[error("nothing called `{wanted}` waits for your approval")]
    NoGate { wanted: String },
    #[error("`{wanted}` fits several requests")]
    Several { wanted: String, fitting: Vec<PendingGate> },
    #[error("this message is not what the run {run} asks")]
    NotAsked { run: String, request: MessageId },
    #[error(transparent)]
    Post(#[from] post::Error),
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn code(&self) -> Failure {
        match self {
            Self::NoGate { .. } | Self::Several { .. } => Failure::Unknown,
            Self::NotAsked { .. } => Failure::Refused,
            Self::Post(e) => e.code(),
        }
    }
}

/// The one gate that waits for the person and is called so: by its run, by `RUN/STEP`, or by the first digits of its
/// request.
pub fn find(post: &Post, wanted: &str) -> Result<PendingGate> {
    let mut fitting = pending(post, wanted)?;
    let wanted = visible::clip(wanted, 80);
    match fitting.len() {
        1 => Ok(fitting.remove(0)),
        0 => Err(Error::NoGate { wanted }),
        _ => Err(Error::Several { wanted, fitting }),
    }
}

fn pending(post: &Post, wanted: &str) -> post::Result<Vec<PendingGate>> {
    let Some(runs) = Runs::existing(post.room())? else { return Ok(vec![]) };
    let (run, step) = wanted.split_once('/').map_or((wanted, None), |(run, step)| (run, Some(step)));
    let named = match <[String; 1]>::try_from(start::find(&runs, run)?) {
        Ok([run]) => Some(run),
        Err(_none_or_several) => None,
    };
    let open = match &named {
        Some(run) => vec![run.clone()],
        None => runs.open_ids()?,
    };
    let mut found = vec![];
    for run in open {
        let engine = look_at(post, &runs, &run)?;
        let is_meant = |ask: &&Ask| match &named {
            Some(_) => step.is_none_or(|step| engine.definition().steps[ask.step].name == step),
            None => wanted.len() >= 4 && ask.id.as_str().starts_with(wanted),
        };
        let asks = engine.asks_of_person();
        found.extend(asks.into_iter().filter(is_meant).filter_map(|ask| PendingGate::of(&run, &engine, ask)));
    }
    Ok(found)
}

/// Records the person's decision, then answers the request with it. Refuses everybody else.
pub fn decide(post: &Post, gate: &PendingGate, decision: Decision<'_>) -> Result<Decided> {
    post.person(&gate.run)?;
    let by = post.act_as(USER)?;
    let answer = decision.answer();
    let letter = Letter { body: answer.clone(), allow_secrets: true, ..Letter::default() };
    post.say(&gate.request, &gate.run, &answer)?;
    let told = post.reply(&by, gate.request.as_str(), letter)?;
    Ok(Decided { by, told, answer: answer.trim_end().to_owned() })
}

/// Records the person's answer by mail, if it answers a gate; returns whether it does. The mail must show what the run asks,
/// because anybody can write its file.
pub fn note_answer(post: &Post, run: &str, request: &MessageId, shown: &str, answer: &str) -> Result<bool> {
    match asked(post, run, request)? {
        None => Ok(false),
        Some(gate) if gate.is_shown_by(shown) => {
            post.say(request, run, answer)?;
            Ok(true)
        }
        Some(PendingGate { run, request, .. }) => Err(Error::NotAsked { run, request }),
    }
}

/// The gate that a run asks about with this request.
fn asked(post: &Post, run: &str, request: &MessageId) -> post::Result<Option<PendingGate>> {
    let Some(runs) = Runs::existing(post.room())? else { return Ok(None) };
    if !runs.ids()?.iter().any(|id| id == run) {
        return Ok(None);
    }
    let engine = look_at(post, &runs, run)?;
    let ask = engine.asks_of_person().into_iter().find(|ask| ask.id == *request);
    Ok(ask.and_then(|ask| PendingGate::of(run, &engine, ask)))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use super::*;
    use crate::clock::SystemClock;
    use crate::person::Person;
    use crate::post::{Caller, NewMailbox};
    use crate::workflow::carrier::Carrier;
    use crate::workflow::reading;

    const TEXT: &str = "steps:\n  a: {agent: one, prompt: x, gate: {approval: user}}\n  \
                        b: {agent: one, prompt: y, gate: {approval: user}}\n";

    fn open(base: &Path, flag: Option<&str>) -> Post {
        let (approvals, flag) = (Some(base.join("approvals")), flag.map(str::to_owned));
        let caller = Caller { flag, by_agent: true, approvals, ..Caller::default() };
        Post::open_or_make(&base.join("room"), caller, Arc::new(SystemClock)).unwrap()
    }

    /// A run whose two steps were answered, so that both ask the person.
    fn run(base: &Path) -> (Post, String) {
        let attended = |flag| open(base, flag).attended_by(Person::of_test());
        for name in ["user", "one"] {
            let wanted = NewMailbox { name: Some(name.into()), ..NewMailbox::default() };
            attended(None).setup(&wanted).unwrap();
        }
        let post = attended(Some("user"));
        let (definition, project) = (reading::parse(TEXT, "gated").unwrap(), PathBuf::from("/"));
        let inputs = serde_json::Map::new();
        let (text, tree, by) = (TEXT, None, "user");
        let begun = start::Beginning { definition: &definition, text, inputs, project, tree, by };
        let id = start::begin(&post, begun).unwrap();
        let runs = Runs::existing(post.room()).unwrap().unwrap();
        let carry = || Carrier::default().carry_in_turn(&post, &runs, &id, &|_, _| Ok(())).unwrap();
        carry();
        let one = open(base, Some("one"));
        let me = one.me().unwrap();
        for request in look_at(&post, &runs, &id).unwrap().open().keys() {
            one.reply(&me, request.as_str(), Letter { body: "done".into(), ..Letter::default() }).unwrap();
        }
        carry();
        (post, id)
    }

    #[test]
    fn a_gate_is_found_by_run_step_or_request_and_only_a_person_decides() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let (post, id) = run(&base);
        assert!(matches!(find(&post, &id), Err(Error::Several { fitting, .. }) if fitting.len() == 2));
        assert!(matches!(find(&post, "nothing"), Err(Error::NoGate { .. })));
        assert!(matches!(find(&post, &format!("{id}/c")), Err(Error::NoGate { .. })));
        let gate = find(&post, &format!("{id}/a")).unwrap();
        assert_eq!(find(&post, &gate.request.as_str()[..8]).unwrap(), gate);

        let agent = open(&base, Some("one"));
        let refused = decide(&agent, &gate, Decision::Approve { comment: "" });
        assert!(matches!(refused, Err(Error::Post(post::Error::NoPerson(_)))), "{refused:?}");
        assert_eq!(post.said(&gate.request).unwrap(), None);
        let decided = decide(&post, &gate, Decision::Reject { why: " too long " }).unwrap();
        assert_eq!(decided.answer, "reject: too long");
        assert_eq!(post.said(&gate.request).unwrap().unwrap().answer, "reject: too long\n");
        let again = decide(&post, &gate, Decision::Approve { comment: "" });
        assert!(matches!(again, Err(Error::Post(post::Error::SaidBefore { .. }))), "{again:?}");
    }

    #[test]
    fn an_answer_by_mail_counts_if_the_mail_shows_what_the_run_asks() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let (post, id) = run(&base);
        let gate = find(&post, &format!("{id}/b")).unwrap();
        let note = |run: &str, shown: &str| note_answer(&post, run, &gate.request, shown, "approve");
        note("another-run", &gate.body).unwrap();
        assert!(matches!(note(&id, "Do you like ice cream?"), Err(Error::NotAsked { .. })));
        assert_eq!(post.said(&gate.request).unwrap(), None);
        note(&id, &gate.body).unwrap();
        assert_eq!(post.said(&gate.request).unwrap().unwrap().answer, "approve");
    }
}
