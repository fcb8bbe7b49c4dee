//! What a person wants of a run, in one call each: which run is meant, carrying it once, and cancel or retry.
//!
//! A run whose records or mail are lost cannot go on; cancelling it takes away its mark, so that nobody tries again.

use thiserror::Error as ThisError;

use super::cancelling::stop_agents;
use super::carrier::{Carried, Carrier, StartGate, close_lost, look_at, no_run};
use super::engine::{Engine, Status};
use super::runs::{Record, Runs};
use super::start::{self, Order, Refused};
use crate::dispatch::stop::Stopped;
use crate::message::visible;
use crate::post::{self, Failure, Post, USER};

#[derive(Debug, ThisError)]
pub enum Error {
    #[error("there is no run `{}`", visible::clip(.wanted, 80))]
    NoRun { wanted: String },
    #[error("`{}` fits several runs", visible::clip(.wanted, 80))]
    SeveralRuns { wanted: String, fitting: Vec<String> },
    #[error("the run {run} cannot go on: {why}")]
    Lost { run: String, why: String },
    #[error("there is no such step")]
    NoStep { steps: Vec<String> },
    #[error("nothing failed in the run {run}")]
    NothingFailed { run: String },
    /// It is to be cancelled.
    #[error("the run {run} is {}", .status.as_str())]
    Over { run: String, status: Status },
    /// It is to be retried.
    #[error("the run {run} is {}", .status.as_str())]
    InProgress { run: String, status: Status },
    #[error(transparent)]
    Post(#[from] post::Error),
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn code(&self) -> Failure {
        match self {
            Self::NoRun { .. } | Self::SeveralRuns { .. } | Self::NoStep { .. } => Failure::Unknown,
            Self::Lost { .. } => Failure::NotDone,
            Self::NothingFailed { .. } | Self::Over { .. } | Self::InProgress { .. } => Failure::Refused,
            Self::Post(e) => e.code(),
        }
    }
}

/// A run that was meant, with its record.
#[derive(Debug)]
pub struct MeantRun {
    pub runs: Runs,
    pub id: String,
    pub record: Record,
}

/// What became of an order.
#[derive(Debug)]
pub enum Obeyed {
    /// The run was lost, and is not open any more.
    Ended {
        run: String,
        why: String,
    },
    Carried {
        run: String,
        engine: Box<Engine>,
        carried: Carried,
        stopped: Vec<Stopped>,
    },
}

/// The run that is called so: by its whole id, its beginning, or the digits at its end. One that cannot go on is an error.
pub fn meant(post: &Post, wanted: &str) -> Result<MeantRun> {
    let (runs, id) = meant_or_lost(post, wanted)?;
    match (runs.record(&id), runs.loss(post.room(), &id)?) {
        (Some(record), None) => Ok(MeantRun { runs, id, record }),
        (_, why) => {
            let why = why.unwrap_or("its records cannot be read").to_owned();
            Err(Error::Lost { run: id, why })
        }
    }
}

/// As [`meant`], also one that cannot go on.
pub fn meant_or_lost(post: &Post, wanted: &str) -> Result<(Runs, String)> {
    let none = || Error::NoRun { wanted: wanted.to_owned() };
    let runs = Runs::existing(post.room()).map_err(post::Error::from)?.ok_or_else(none)?;
    let mut fitting = start::find(&runs, wanted)?;
    match fitting.len() {
        0 => Err(none()),
        1 => Ok((runs, fitting.remove(0))),
        _ => Err(Error::SeveralRuns { wanted: wanted.to_owned(), fitting }),
    }
}

/// Carries a run once, so that everything possible is sent when this returns. A dispatcher may be carrying it; then this
/// waits for its turn.
pub fn carry_once(post: &Post, run: &str, gate: &StartGate<'_>) -> post::Result<(Carried, Engine)> {
    let runs = Runs::existing(post.room())?.ok_or_else(|| no_run(run))?;
    let carried = Carrier::default().carry_in_turn(post, &runs, run, gate)?;
    Ok((carried, look_at(post, &runs, run)?))
}

/// Writes an order into the mail of a run, and carries it. A cancelled run waits until its agents have ended.
pub fn give(post: &Post, wanted: &str, order: &Order, gate: &StartGate<'_>) -> Result<Obeyed> {
    if matches!(order, Order::Cancel { .. })
        && let Some((run, why)) = end_lost(post, wanted)?
    {
        return Ok(Obeyed::Ended { run, why });
    }
    let MeantRun { runs, id, .. } = meant(post, wanted)?;
    let by = post.me().map_or_else(|_| USER.to_owned(), |me| me.shown().to_owned());
    start::control(post, &runs, &id, order, &format!("by {by}")).map_err(|refused| {
        let run = id.clone();
        match (refused, order) {
            (Refused::NoStep(steps), _) => Error::NoStep { steps },
            (Refused::NothingFailed, _) => Error::NothingFailed { run },
            (Refused::Post(e), _) => Error::Post(e),
            (Refused::Stands(status), Order::Cancel { .. }) => Error::Over { run, status },
            (Refused::Stands(status), Order::Retry { .. }) => Error::InProgress { run, status },
        }
    })?;
    let (carried, engine) = carry_once(post, &id, gate)?;
    let stopped = match order {
        Order::Cancel { let_finish: false } => stop_agents(post, &engine)?,
        Order::Cancel { let_finish: true } | Order::Retry { .. } => vec![],
    };
    Ok(Obeyed::Carried { run: id, engine: Box::new(engine), carried, stopped })
}

/// Takes the mark from a run that cannot be computed any more. Returns its id, and why; `None` if it can.
fn end_lost(post: &Post, wanted: &str) -> Result<Option<(String, String)>> {
    let (runs, id) = meant_or_lost(post, wanted)?;
    if let Some(why) = close_lost(post, &runs, &id)? {
        return Ok(Some((id, why.to_owned())));
    }
    match look_at(post, &runs, &id) {
        Err(e @ post::Error::Unreadable { .. }) => {
            runs.set_open(&id, false)?;
            Ok(Some((id, e.to_string())))
        }
        other => Ok(other.map(|_| None)?),
    }
}

impl From<crate::mailbox::Error> for Error {
    fn from(e: crate::mailbox::Error) -> Self {
        Self::Post(e.into())
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use super::*;
    use crate::clock::SystemClock;
    use crate::post::{Caller, NewMailbox};
    use crate::workflow::reading;

    const TEXT: &str = "steps:\n  a: {agent: one, prompt: x}\n  b: {agent: one, needs: a, prompt: y}\n";

    fn room(base: &Path) -> Post {
        let open =
            || Post::open_or_make(&base.join("room"), Caller::default(), Arc::new(SystemClock)).unwrap();
        open().setup(&NewMailbox { name: Some("one".into()), ..NewMailbox::default() }).unwrap();
        open()
    }

    fn begin(post: &Post) -> String {
        let (definition, project) = (reading::parse(TEXT, "two").unwrap(), PathBuf::from("/"));
        let inputs = serde_json::Map::new();
        let (text, tree, by) = (TEXT, None, "user");
        let begun = start::Beginning { definition: &definition, text, inputs, project, tree, by };
        start::begin(post, begun).unwrap()
    }

    #[test]
    fn an_order_is_refused_where_it_means_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let post = room(&temp.path().canonicalize().unwrap());
        let gate: &StartGate<'_> = &|_, _| Ok(());
        let (cancel, retry) = (Order::Cancel { let_finish: false }, Order::Retry { from: None, all: false });
        assert!(matches!(meant(&post, "two"), Err(Error::NoRun { .. })), "there was no run at all");
        let (one, other) = (begin(&post), begin(&post));
        assert!(
            matches!(meant(&post, "two-"), Err(Error::SeveralRuns { fitting, .. }) if fitting.len() == 2)
        );
        assert!(matches!(meant(&post, "none"), Err(Error::NoRun { .. })));
        assert_eq!(meant(&post, &one[one.len() - 6..]).unwrap().id, one);

        let (_, engine) = carry_once(&post, &one, gate).unwrap();
        assert_eq!((engine.status(), engine.open().len()), (Status::InProgress, 1));
        assert!(matches!(give(&post, &one, &retry, gate), Err(Error::InProgress { .. })));
        let obeyed = give(&post, &one, &cancel, gate).unwrap();
        let Obeyed::Carried { run, engine, stopped, .. } = obeyed else { panic!("{obeyed:?}") };
        assert_eq!((&run, engine.status(), stopped.len()), (&one, Status::Cancelled, 0));
        assert!(matches!(give(&post, &one, &cancel, gate), Err(Error::Over { .. })));
        let from = Order::Retry { from: Some("c".into()), all: false };
        assert!(
            matches!(give(&post, &one, &from, gate), Err(Error::NoStep { steps }) if steps == ["a", "b"])
        );

        std::fs::remove_dir_all(post.room().path().join(&other)).unwrap();
        assert!(matches!(meant(&post, &other), Err(Error::Lost { .. })));
        let obeyed = give(&post, &other, &cancel, gate).unwrap();
        assert!(matches!(&obeyed, Obeyed::Ended { run, .. } if *run == other), "{obeyed:?}");
        let open = Runs::existing(post.room()).unwrap().unwrap().open_ids().unwrap();
        assert!(!open.contains(&other), "{open:?}");
    }
}
