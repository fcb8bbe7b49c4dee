//! What the person does here: one deed is one verb of the library. And what was told about it.

/// A deed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Deed {
    Send {
        to: Vec<String>,
        subject: String,
        body: String,
    },
    Reply {
        id: String,
        body: String,
    },
    Archive {
        id: String,
    },
    Unarchive {
        id: String,
    },
    Approve {
        gate: String,
        comment: String,
    },
    Reject {
        gate: String,
        why: String,
    },
    Stop {
        /// Only what is done or waits in this mailbox.
        mailbox: Option<String>,
        what: String,
    },
    Pause {
        agent: String,
        why: String,
    },
    Resume {
        agent: String,
    },
    Retry {
        mailbox: String,
        file: String,
    },
    RetryAll,
    /// Gives back a message that the person holds.
    Release {
        id: String,
    },
    PruneMessage {
        mailbox: String,
        file: String,
    },
    PruneMailbox {
        name: String,
    },
    Undo {
        bag: String,
    },
    StartFlow {
        name: String,
        inputs: Vec<(String, String)>,
    },
    CancelFlow {
        run: String,
    },
    RetryFlow {
        run: String,
    },
}

impl Deed {
    /// What goes on while it is done.
    pub(super) fn doing(&self) -> &'static str {
        match self {
            Self::Send { .. } | Self::Reply { .. } => "sending",
            Self::Archive { .. } | Self::Unarchive { .. } => "moving",
            Self::Approve { .. } | Self::Reject { .. } => "deciding",
            Self::Stop { .. } | Self::CancelFlow { .. } => "stopping",
            Self::Pause { .. } | Self::Resume { .. } => "pausing",
            Self::Retry { .. } | Self::RetryAll | Self::RetryFlow { .. } | Self::Release { .. } => "retrying",
            Self::PruneMessage { .. } | Self::PruneMailbox { .. } => "moving to the trash",
            Self::Undo { .. } => "bringing back",
            Self::StartFlow { .. } => "starting",
        }
    }
}

/// How a deed ended.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) deed: Deed,
    pub(super) said: Result<String, String>,
    pub(super) made: Made,
}

/// What there is since a deed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Made {
    Nothing,
    /// A run of a workflow.
    Flow(String),
    /// A bag in the trash.
    Bag(String),
}
