//! The two tables of the page: views, which a GET shows and which change nothing, and deeds, which a POST does.
//!
//! Every address is below `/r/ROOM/`. A pattern is a list of words; `*` stands for one part, which is handed over decoded. A
//! deed needs a session of the person. No request is in both tables.

use std::collections::HashMap;
use std::sync::Arc;

use hyper::StatusCode;
use serde_json::Value;
use thiserror::Error as ThisError;

use super::guard::{Role, Visitor};
use super::markup::decoded;
use super::page::Page;
use super::transcripts::Transcripts;
use super::{deeds, views};
use crate::desk::Desk;
use crate::post::{self, Failure, Post};
use crate::staff::WorkflowError;

/// What a request asks for.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) desk: Arc<Desk>,
    pub(super) visitor: Visitor,
    /// The word for the room.
    pub(super) room: String,
    pub(super) post: Post,
    /// The parts that `*` stands for.
    pub(super) parts: Vec<String>,
    pub(super) query: HashMap<String, String>,
    /// What pages have already read of runs.
    pub(super) transcripts: Arc<Transcripts>,
}

/// Makes what a request asks for.
pub(super) struct Asker {
    pub(super) desk: Arc<Desk>,
    pub(super) transcripts: Arc<Transcripts>,
}

impl Asker {
    pub(super) fn ask(
        self,
        visitor: Visitor,
        room: String,
        parts: Vec<String>,
        query: &str,
    ) -> Result<Ask, Wrong> {
        let Self { desk, transcripts } = self;
        let root = desk.root_of(&room).ok_or_else(|| Wrong::NoRoom(room.clone()))?;
        let post = match visitor.role {
            Role::Person => desk.attended_post(&root)?,
            Role::Reader => desk.post(&root)?,
        };
        let pairs = query.split('&').filter_map(|pair| {
            let (key, value) = pair.split_once('=')?;
            Some((decoded(key)?, decoded(value)?))
        });
        Ok(Ask { visitor, room, post, parts, query: pairs.collect(), desk, transcripts })
    }
}

impl Ask {
    pub(super) fn part(&self, at: usize) -> &str {
        self.parts.get(at).map_or("", String::as_str)
    }

    /// A value of the query that is not empty.
    pub(super) fn value(&self, key: &str) -> Option<&str> {
        self.query.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// Why there is no page, or nothing was done.
#[derive(Debug, ThisError)]
pub(super) enum Wrong {
    #[error("there is no such page")]
    NoPage,
    #[error("there is no room `{0}`")]
    NoRoom(String),
    #[error("{0}")]
    Unknown(String),
    #[error("this page is for looking only: it was started without a person at a terminal")]
    ReadOnly,
    #[error("`{0}` is missing")]
    Missing(&'static str),
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    NotDone(String),
    #[error(transparent)]
    Post(#[from] post::Error),
    #[error(transparent)]
    Deed(#[from] crate::deeds::Error),
    #[error(transparent)]
    Workflow(#[from] WorkflowError),
    #[error(transparent)]
    Disk(#[from] crate::mailbox::Error),
    #[error(transparent)]
    Template(#[from] askama::Error),
}

impl Wrong {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::NoPage | Self::NoRoom(_) | Self::Unknown(_) => StatusCode::NOT_FOUND,
            Self::ReadOnly | Self::Refused(_) => StatusCode::FORBIDDEN,
            Self::Missing(_) => StatusCode::BAD_REQUEST,
            Self::NotDone(_) | Self::Disk(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Template(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Workflow(e) => status_of(e.code()),
            Self::Deed(e) => status_of(e.code()),
            Self::Post(e) => status_of(e.code()),
        }
    }
}

fn status_of(failure: Failure) -> StatusCode {
    match failure {
        Failure::Nothing | Failure::Unknown => StatusCode::NOT_FOUND,
        Failure::Usage => StatusCode::BAD_REQUEST,
        Failure::Refused => StatusCode::FORBIDDEN,
        Failure::NotDone | Failure::Unproven => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// What a browser keeps for this server alone, once it has shown the code.
#[derive(Debug, serde::Serialize)]
pub(super) struct Entered {
    pub(super) token: String,
}

/// What was done, in words, and where to go now.
#[derive(Debug, Default, serde::Serialize)]
pub(super) struct Done {
    pub(super) said: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<String>,
}

impl Done {
    pub(super) fn said(said: impl Into<String>) -> Self {
        Self { said: said.into(), next: None }
    }
}

/// A file of a message, to be kept by the person.
#[derive(Debug)]
pub(super) struct Download {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

pub(super) type View = fn(&Ask) -> Result<Page, Wrong>;
pub(super) type Load = fn(&Ask) -> Result<Download, Wrong>;
pub(super) type Deed = fn(&Ask, &Value) -> Result<Done, Wrong>;

pub(super) const VIEWS: &[(&str, View)] = &[
    ("now", views::now::page),
    ("mail", views::mail::page),
    ("mail/*", views::mail::mailbox),
    ("message/*", views::message::page),
    ("compose", views::message::compose),
    ("search", views::search::page),
    ("flow", views::flow::page),
    ("numbers", views::numbers::page),
    ("failed", views::failed::page),
    ("runs", views::runs::page),
    ("runs/*", views::runs::one),
    ("runs/*/diff", views::runs::diff),
    ("workflows", views::workflows::page),
    ("workflows/*", views::workflows::one),
    ("workflows/*/start", views::workflow_form::page),
];

/// Whether a view is computed of every event of a span of time.
pub(super) fn counts_events(path: &[String]) -> bool {
    matches!(path, [view] if view == "numbers" || view == "flow")
}

/// What a GET gives as a file.
pub(super) const FILES: &[(&str, Load)] = &[("file/*/*", views::message::file)];

pub(super) const DEEDS: &[(&str, Deed)] = &[
    ("send", deeds::send),
    ("reply", deeds::reply),
    ("archive", deeds::archive),
    ("approve", deeds::approve),
    ("reject", deeds::reject),
    ("stop", deeds::stop),
    ("pause", deeds::pause),
    ("resume", deeds::resume),
    ("retry", deeds::retry),
    ("workflow/start", deeds::workflow_start),
    ("workflow/cancel", deeds::workflow_cancel),
    ("workflow/retry", deeds::workflow_retry),
];

/// The entry of a table that fits a path, and what its `*` stand for.
pub(super) fn find<T: Copy>(table: &[(&str, T)], path: &[String]) -> Option<(T, Vec<String>)> {
    table.iter().find_map(|(pattern, what)| {
        let pattern: Vec<&str> = pattern.split('/').collect();
        let fits = |(word, part): (&&str, &String)| *word == "*" && !part.is_empty() || word == part;
        (pattern.len() == path.len() && pattern.iter().zip(path).all(fits)).then(|| {
            let parts = pattern.iter().zip(path).filter(|(word, _)| **word == "*");
            (*what, parts.map(|(_, part)| part.clone()).collect())
        })
    })
}

/// A text of a request.
pub(super) fn text<'v>(body: &'v Value, key: &'static str) -> Result<&'v str, Wrong> {
    body.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).ok_or(Wrong::Missing(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_take_parts() {
        let table = [("mail", 1), ("mail/*", 2), ("mail/*/x", 3)];
        let path = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(find(&table, &path("mail")), Some((1, vec![])));
        assert_eq!(find(&table, &path("mail/bob")), Some((2, vec!["bob".to_owned()])));
        assert_eq!(find(&table, &path("mail/bob/x")), Some((3, vec!["bob".to_owned()])));
        assert_eq!(find(&table, &path("mail/bob/y")), None);
        assert_eq!(find(&table, &path("mail/")), None);
    }

    /// An untrusted workflow was answered with 400, as if the form were wrong, and a lost run too.
    #[test]
    fn an_error_of_a_deed_has_the_status_of_its_exit_code() {
        use crate::deeds::Error;
        use crate::workflow::{decision, order};
        let untrusted =
            WorkflowError::Untrusted { name: "x".into(), project: "/p".into(), shown: "x.yaml".into() };
        let wrong = WorkflowError::Wrong { name: "x".into(), lines: vec![] };
        let unknown = WorkflowError::Unknown { name: "x".into() };
        let inputs = WorkflowError::Inputs { wrong: vec![], known: vec![] };
        let lost = order::Error::Lost { run: "x-1".into(), why: "its mail is gone".into() };
        let over = order::Error::NothingFailed { run: "x-1".into() };
        let request = crate::name::MessageId::derived(b"x");
        let other = decision::Error::NotAsked { run: "x-1".into(), request };
        for (error, status) in [
            (Error::from(untrusted), StatusCode::FORBIDDEN),
            (Error::from(wrong), StatusCode::FORBIDDEN),
            (Error::from(unknown), StatusCode::NOT_FOUND),
            (Error::from(inputs), StatusCode::BAD_REQUEST),
            (Error::from(lost), StatusCode::SERVICE_UNAVAILABLE),
            (Error::from(over), StatusCode::FORBIDDEN),
            (Error::from(other), StatusCode::FORBIDDEN),
        ] {
            let said = error.to_string();
            assert_eq!(Wrong::from(error).status(), status, "{said}");
        }
        let view = WorkflowError::NotCovered { shown: "x.yaml".into() };
        assert_eq!(Wrong::from(view).status(), StatusCode::FORBIDDEN);
    }

    #[test]
    fn no_pattern_is_both_a_view_and_a_deed() {
        for (pattern, _) in DEEDS {
            assert!(VIEWS.iter().all(|(view, _)| view != pattern), "{pattern}");
        }
    }
}
