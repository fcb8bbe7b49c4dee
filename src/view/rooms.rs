//! Rooms as a whole: their list, their statistics, and the findings of the doctor.

use std::time::Duration;

use serde::Serialize;

use super::message::Party;
use crate::doctor::Finding;
use crate::post::{Figures, Post, quantile};

/// One room.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Room<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its directory.
    pub root: String,
    /// The common directories of the git repositories that it belongs to.
    pub repositories: Vec<String>,
    /// Whether it belongs to repositories that all no longer exist.
    pub gone: bool,
    /// How many messages are unread; left out if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<usize>,
    /// How many agents are running; left out if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<usize>,
}

/// The rooms of this user, printed by `rooms`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rooms<'a> {
    /// The rooms.
    pub rooms: Vec<Room<'a>>,
}

/// A room that was given to a repository, printed by `rooms relink`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Relink<'a> {
    /// The name of the room.
    pub room: &'a str,
    /// The common directory of the repository.
    pub repository: &'a str,
}

/// A room whose repository is gone.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GoneRoom<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its new directory; left out if it was not moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trash: Option<String>,
}

/// Rooms whose repository is gone, printed by `rooms prune`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RoomsPrune<'a> {
    /// False if it only shows what it would move.
    pub done: bool,
    /// The rooms.
    pub rooms: Vec<GoneRoom<'a>>,
}

/// The median and the 90th percentile of durations.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Quantiles {
    /// The median, in milliseconds; left out if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50: Option<u64>,
    /// The 90th percentile, in milliseconds; left out if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90: Option<u64>,
}

impl Quantiles {
    fn of(sorted: &[Duration]) -> Self {
        let ms = |share| quantile(sorted, share).map(|span| span.as_millis() as u64);
        Self { p50: ms(0.5), p90: ms(0.9) }
    }
}

/// The statistics of a mailbox.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MailboxStats<'a> {
    /// The mailbox.
    pub mailbox: Party<'a>,
    /// How many messages came.
    pub received: usize,
    /// How many it sent.
    pub sent: usize,
    /// How many were read or done.
    pub finished: usize,
    /// How many were given up.
    pub failed: usize,
    /// How long messages waited before they were shown or claimed.
    pub waiting_ms: Quantiles,
    /// How long they were worked on, from claimed to done.
    pub processing_ms: Quantiles,
    /// How many came in each of equal parts of the time window, the newest last.
    pub arrivals: Vec<usize>,
}

/// Statistics of the mail, printed by `stats`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Stats<'a> {
    /// The length of the time window.
    pub seconds: u64,
    /// The mailboxes with activity.
    pub mailboxes: Vec<MailboxStats<'a>>,
}

impl<'a> Stats<'a> {
    pub fn of(post: &'a Post, since: Duration, figures: &'a [Figures]) -> Self {
        let mailbox = |figures: &'a Figures| MailboxStats {
            mailbox: Party::of(post, &figures.mailbox),
            received: figures.received,
            sent: figures.sent,
            finished: figures.finished,
            failed: figures.failed,
            waiting_ms: Quantiles::of(&figures.waiting),
            processing_ms: Quantiles::of(&figures.processing),
            arrivals: figures.arrivals(),
        };
        Self { seconds: since.as_secs(), mailboxes: figures.iter().map(mailbox).collect() }
    }
}

/// A violated rule.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DoctorFinding<'a> {
    /// The severity: `fault`, `note` or `litter`.
    #[cfg_attr(test, schemars(extend("enum" = ["fault", "note", "litter"])))]
    pub grade: &'static str,
    /// The section of docs/reference/format.md.
    pub rule: &'static str,
    /// The file or directory.
    pub path: &'a str,
    /// What is wrong.
    pub what: &'a str,
    /// Whether it was repaired.
    pub fixed: bool,
}

/// The problems of a room, printed by `doctor`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Doctor<'a> {
    /// The directory of the room.
    pub root: &'a str,
    /// How many faults are left.
    pub faults: usize,
    /// All findings.
    pub findings: Vec<DoctorFinding<'a>>,
}

impl<'a> Doctor<'a> {
    pub fn of(root: &'a str, faults: usize, findings: &'a [Finding]) -> Self {
        let finding = |Finding { grade, rule, path, what, fixed }: &'a Finding| DoctorFinding {
            grade: grade.as_str(),
            rule,
            path,
            what,
            fixed: *fixed,
        };
        Self { root, faults, findings: findings.iter().map(finding).collect() }
    }
}

/// A checked file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VerifiedFile {
    /// Its path as given.
    pub file: String,
    /// Whether it is a valid message.
    pub valid: bool,
    /// Its protocol; left out if it cannot be determined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<&'static str>,
    /// What is wrong; left out if it is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The guesses that a reader has to make; left out if none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

/// Whether files are valid messages, printed by `tools verify`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verify {
    /// The files.
    pub files: Vec<VerifiedFile>,
}
