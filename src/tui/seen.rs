//! What was read of a room for the screen, and what is wanted next. Plain data: texts are as they were found, and
//! `draw` makes them harmless.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::dispatch::runs::Run;
use crate::mailbox::Folder;
use crate::mailbox::unread_counts::Unread;
use crate::overview::Overview;
use crate::post::Trashed;
use crate::workflow::decision::PendingGate;

/// Something to read. The answer carries it along, so that one which comes too late is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Want {
    Room,
    /// The other rooms.
    Rooms,
    /// The newest messages of a mailbox.
    Mail {
        mailbox: String,
        tab: Tab,
        limit: usize,
    },
    /// One message, without its history.
    Glance {
        mailbox: String,
        file: String,
    },
    /// One message with everything about it.
    Letter {
        id: String,
    },
    Runs {
        agent: Option<String>,
        limit: usize,
    },
    Run {
        id: String,
    },
    Diff {
        run: String,
    },
    Flows,
    Flow {
        run: String,
    },
    Failed,
    Trash,
}

/// What was read, or why that could not be.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) want: Want,
    pub(super) found: Result<Found, Lost>,
}

/// Why nothing could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lost {
    /// The room itself is gone, or cannot be read.
    Room(String),
    Thing(String),
}

#[derive(Debug)]
pub(super) enum Found {
    Room(Box<RoomSeen>),
    Rooms(Vec<OtherRoom>),
    Mail(MailSeen),
    Letter(Box<LetterSeen>),
    Runs(Vec<Run>),
    Run(Box<RunSeen>),
    Diff(DiffSeen),
    Flows(FlowsSeen),
    Flow(Box<FlowSeen>),
    Failed(FailedSeen),
    Trash(Vec<Trashed>),
}

/// The parts of a mailbox, as people call them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tab {
    Unread,
    InWork,
    Archive,
    Failed,
}

impl Tab {
    pub(super) const ALL: [Self; 4] = [Self::Unread, Self::InWork, Self::Archive, Self::Failed];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Unread => "unread",
            Self::InWork => "in work",
            Self::Archive => "archive",
            Self::Failed => "failed",
        }
    }

    pub(super) fn of(folder: Folder) -> Self {
        match folder {
            Folder::Inbox => Self::Unread,
            Folder::Claimed(_) | Folder::Working | Folder::Carried => Self::InWork,
            Folder::Archive => Self::Archive,
            Folder::Failed | Folder::Quarantine => Self::Failed,
        }
    }
}

/// Another room, as far as it could be read.
#[derive(Debug)]
pub(super) struct OtherRoom {
    pub(super) name: String,
    /// The unread messages of all its mailboxes, and the time of the oldest.
    pub(super) unread: Option<Unread>,
    pub(super) is_running: bool,
}

/// The state of a room.
#[derive(Debug)]
pub(super) struct RoomSeen {
    pub(super) overview: Overview,
    pub(super) rooms: Vec<String>,
    /// The newest first.
    pub(super) feed: Vec<FeedLine>,
    /// Workflows that can be started.
    pub(super) workflows: Vec<String>,
}

/// A line of the journal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FeedLine {
    pub(super) time: Option<Timestamp>,
    pub(super) event: String,
    pub(super) by: String,
    pub(super) to: String,
    pub(super) what: String,
    /// The message, if it is about one.
    pub(super) id: Option<String>,
}

#[derive(Debug)]
pub(super) struct MailSeen {
    pub(super) rows: Vec<LetterRow>,
    pub(super) total: usize,
    pub(super) has_more: bool,
}

/// A message in a list.
#[derive(Debug)]
pub(super) struct LetterRow {
    pub(super) file: String,
    /// `None` if it cannot be read.
    pub(super) id: Option<String>,
    pub(super) from: String,
    pub(super) subject: String,
    pub(super) time: Option<Timestamp>,
    pub(super) marks: Vec<String>,
    /// It was put aside, and no agent will get it.
    pub(super) is_quarantined: bool,
}

/// One message.
#[derive(Debug)]
pub(super) struct LetterSeen {
    pub(super) id: String,
    pub(super) mailbox: String,
    pub(super) file: String,
    pub(super) subject: String,
    pub(super) from: String,
    /// Each recipient, and the state of its copy.
    pub(super) to: Vec<(String, String)>,
    pub(super) time: Timestamp,
    pub(super) via: Option<String>,
    pub(super) priority: &'static str,
    pub(super) body: String,
    pub(super) files: Vec<FileSeen>,
    pub(super) doubts: Vec<String>,
    pub(super) thread: Vec<ThreadRow>,
    pub(super) flow: Option<String>,
    /// Runs that worked on it, the newest first.
    pub(super) runs: Vec<String>,
    /// The newest of them whose worktree is still there.
    pub(super) changed_by: Option<String>,
    /// Where the copy is that is shown.
    pub(super) tab: Tab,
    /// The person has it, and can answer it.
    pub(super) is_mine: bool,
    /// It asks the person to approve something, and shows what that is.
    pub(super) gate: Option<GateSeen>,
}

/// A question to the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GateSeen {
    /// Its id. A later question of the step has another, so that nothing is approved that was not shown.
    pub(super) request: String,
    /// What names it for people: `RUN/STEP`.
    pub(super) word: String,
}

impl GateSeen {
    pub(super) fn of(gate: &PendingGate) -> Self {
        Self { request: gate.request.to_string(), word: gate.word.clone() }
    }
}

/// An attachment.
#[derive(Debug)]
pub(super) struct FileSeen {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) wrong: Option<String>,
}

/// A message of a conversation.
#[derive(Debug)]
pub(super) struct ThreadRow {
    pub(super) depth: usize,
    pub(super) id: String,
    pub(super) who: String,
    pub(super) subject: String,
    pub(super) time: Option<Timestamp>,
}

/// A run and its transcript.
#[derive(Debug)]
pub(super) struct RunSeen {
    pub(super) run: Run,
    pub(super) flow: Option<String>,
    /// What about it could not be read.
    pub(super) fault: Option<String>,
    pub(super) model: String,
    pub(super) parts: Vec<Part>,
    pub(super) errors: String,
    pub(super) skipped: usize,
}

/// One part of a transcript.
#[derive(Debug)]
pub(super) enum Part {
    Said(String),
    Thought(String),
    Called {
        call: String,
        tool: String,
        about: String,
        end: Option<(&'static str, String)>,
    },
    Remarked(String),
    Ended(String),
    /// Earlier parts that are not shown.
    LeftOut(usize),
}

#[derive(Debug)]
pub(super) struct DiffSeen {
    pub(super) branch: String,
    pub(super) path: String,
    pub(super) size: String,
    pub(super) text: String,
    pub(super) is_cut: bool,
    pub(super) wrong: Option<String>,
}

#[derive(Debug)]
pub(super) struct FlowsSeen {
    pub(super) rows: Vec<FlowRow>,
    /// Runs that are not read.
    pub(super) older: usize,
    /// Workflows that can be started: name, and purpose or what is wrong.
    pub(super) known: Vec<(String, Result<String, String>)>,
}

/// A run of a workflow in a list.
#[derive(Debug)]
pub(super) struct FlowRow {
    pub(super) run: String,
    pub(super) status: String,
    pub(super) settled: usize,
    pub(super) total: usize,
    pub(super) started: Option<Timestamp>,
    pub(super) now: String,
}

/// A run of a workflow.
#[derive(Debug)]
pub(super) struct FlowSeen {
    pub(super) run: String,
    pub(super) status: String,
    pub(super) settled: usize,
    pub(super) total: usize,
    pub(super) inputs: Vec<(String, String)>,
    pub(super) steps: Vec<StepSeen>,
    pub(super) gates: Vec<PendingGate>,
}

#[derive(Debug)]
pub(super) struct StepSeen {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) status: &'static str,
    pub(super) how: String,
    pub(super) needs: Vec<String>,
    pub(super) items: Vec<ItemSeen>,
    /// The question to the person, if it asks one.
    pub(super) gate: Option<GateSeen>,
}

#[derive(Debug)]
pub(super) struct ItemSeen {
    pub(super) agent: String,
    pub(super) attempt: u32,
    pub(super) is_done: bool,
    pub(super) failure: Option<String>,
    pub(super) result: Option<String>,
    /// How long it took, or has taken.
    pub(super) asked: Option<Timestamp>,
    pub(super) ended: Option<Timestamp>,
}

#[derive(Debug)]
pub(super) struct FailedSeen {
    pub(super) rows: Vec<FailedRow>,
    /// Messages that are not read.
    pub(super) older: usize,
    pub(super) faults: Vec<String>,
}

/// A message that was given up, waits for a person, or could not be read.
#[derive(Debug)]
pub(super) struct FailedRow {
    pub(super) name: String,
    pub(super) mailbox: String,
    pub(super) file: String,
    pub(super) id: Option<String>,
    pub(super) subject: String,
    pub(super) why: String,
    pub(super) kind: FailedKind,
    pub(super) time: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailedKind {
    Dead(u32),
    Parked,
    Quarantined,
}
