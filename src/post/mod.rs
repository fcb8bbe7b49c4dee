//! The verbs of mail, called by everything above (command line, MCP, views).
//!
//! A [`Post`] is one room seen by one caller. Each verb has its file; none of them prints, asks or reads the
//! environment. The order within a verb is always: check everything, act, record it in the journal.

mod address;
mod adopt;
mod answered;
mod ask;
mod attach;
mod browse;
mod candidates;
mod carried;
mod channel;
mod check;
mod claim;
mod collect;
mod directory;
mod error;
mod everywhere;
mod find;
mod finish_claim;
mod flow;
mod group;
mod handback;
mod held;
mod hints;
mod identity;
mod in_session;
mod legacy_shell;
pub mod line;
mod links;
mod locate;
mod mail_counts;
mod names;
mod notice;
mod offer;
mod on_the_way;
mod person;
mod prune;
mod read;
mod rename;
mod reply;
mod search;
mod send;
mod sent_step;
mod setup;
mod start;
mod stats;
mod symbols;
mod takeover;
mod thread;
mod trace;
mod tree;
mod undo;
mod wait;
mod walk;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use crate::clock::{Clock, Timestamp};
use crate::journal::Event;
use crate::mailbox::place::Reading;
use crate::mailbox::reading::{Header, Unreadable, if_message};
use crate::mailbox::{Folder, Mailbox, Maildir, UnreadCounts};
use crate::message::Message;
use crate::name::MailboxId;
use crate::network::Joined;
use crate::person::Person;
use crate::registry::{self, Registry};
use crate::room::{Extent, Room};
use crate::rooms::Rooms;
use crate::session::Session;
use crate::span;
use crate::wait::Watch;

pub use address::{FROM_NETWORK, FROM_ROOM};
pub use adopt::{Adopted, Adoption};
pub use answered::{Answered, SET_BACK};
pub use ask::{Asked, Fate, Question, Until};
pub use browse::{Browsed, BrowsedMessage};
pub use carried::CarriedLetter;
pub use check::{Checked, Filter, HEADERS, waiting_elsewhere};
pub use claim::{BOUNCE, Claimed, DeadLetter, LEASE};
pub use error::{Error, Failure, Result};
pub use everywhere::{Everywhere, Looked, There, Unread};
pub use find::FoundMessage;
pub use finish_claim::Told;
pub use flow::{Flow, FlowEdge, FlowNode};
pub use handback::{SPAWN, TasksGiven};
pub use held::Held;
pub use hints::own_mailbox;
pub use identity::{Me, Why};
pub use in_session::Attached;
pub use locate::Copy;
pub use names::{Listed, Names};
pub use notice::News;
pub use offer::Offer;
pub use on_the_way::{NetworkSeen, OnTheWay};
pub use person::{Said, USER, VIA};
pub use prune::{Doomed, RunsToPrune, Wanted};
pub use read::{Next, Opened};
pub use rename::Renamed;
pub use reply::Answer;
pub use search::{Hit, Line, Query};
pub(crate) use send::Sender;
pub use send::{Destination, HOPS, HOPS_VARIABLE, Letter, Outcome, Receipt, THREAD, THREAD_VARIABLE};
pub use sent_step::SentStep;
pub use setup::{NewMailbox, Setup};
pub use start::Prepared;
pub use stats::{Bottleneck, Figures, STEPS, StepFigures, quantile};
pub use takeover::TakenOver;
pub use thread::{Branch, Node, Sent};
pub use trace::{GivenAnswer, Located, MessageState, Trace};
pub use tree::{Chain, Shared, TreeStatus, clean_up, tree_status};
pub use undo::Trashed;
pub use wait::Awaited;

/// The caller, from flags, environment and agent session. Filled in by the view.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// `--as`: a name, else an id.
    pub flag: Option<String>,
    /// `AGENT_MAILBOX_ID`: an id, else a name.
    pub environment: Option<String>,
    /// The session of the agent program this runs in.
    pub session: Option<Session>,
    /// Where sessions are bound. Without it there is no session.
    pub sessions: Option<PathBuf>,
    /// The rooms of this user.
    pub rooms: Option<Rooms>,
    /// The words of the command: whom it names is not the one who gives it.
    pub words: Vec<String>,
    /// The agent program's short name, for the registry.
    pub harness: String,
    /// The process to record as the agent; a note for people, never evidence.
    pub pid: u64,
    /// Inside a run of the dispatcher: the number of automatic steps that led to it.
    pub hops: Option<u32>,
    /// The number of the thread that led to it.
    pub thread: Option<String>,
    /// Finds the `.claude` tree around the working directory.
    pub tree: Option<fn() -> Option<PathBuf>>,
    /// The environment marks the caller as an agent.
    pub by_agent: bool,
    /// The command may act as the mailbox that its terminal is bound to.
    pub terminal: bool,
    /// It was started without a person, so nothing that it does later is the person's, whatever terminal it has by then.
    pub started_without_person: bool,
    /// Asks a person to type a name at the terminal; `false` if it was not typed.
    pub typed: Option<fn(&str) -> bool>,
    /// Records a step of a workflow run that was not sent by the run itself.
    pub step_sent: Option<fn(&Room, &str, &SentStep)>,
    /// The directory that records the person's decisions about requests.
    pub approvals: Option<PathBuf>,
    /// Where runs of agents have their git worktrees.
    pub worktrees: Option<Worktrees>,
    /// The counts of unread mail that a resident process remembers.
    pub unread_counts: Option<Arc<UnreadCounts>>,
}

/// Where runs of agents have their git worktrees, and where git is found.
#[derive(Debug, Clone)]
pub struct Worktrees {
    /// A directory of this user, outside of every room and project.
    pub dir: PathBuf,
    /// The search path for programs.
    pub search: Option<OsString>,
}

/// A room as one caller sees it.
#[derive(Debug)]
pub struct Post {
    room: Room,
    registry: std::result::Result<Registry, registry::Error>,
    /// The registry after inboxes made by hand were registered.
    renewed: OnceLock<Registry>,
    /// The person at this command, once verified.
    person: OnceLock<Person>,
    /// The watch of the last wait, to be closed later.
    last_watch: Mutex<Option<Watch>>,
    /// It holds mail on its way to a room of this network.
    network: Option<Joined>,
    caller: Caller,
}

impl Post {
    /// Opens an existing room.
    pub fn open(root: &Path, caller: Caller, clock: Arc<dyn Clock>) -> Result<Self> {
        Ok(Self::of(Room::open(root, clock)?, caller))
    }

    /// Opens a room, and makes it if there is none: only for verbs that set something up.
    pub fn open_or_make(root: &Path, caller: Caller, clock: Arc<dyn Clock>) -> Result<Self> {
        Ok(Self::of(Room::open_or_make(root, clock)?, caller))
    }

    fn of(room: Room, mut caller: Caller) -> Self {
        let room = room.with_sessions(caller.sessions.clone());
        caller.session = caller.session.filter(|_| caller.sessions.is_some());
        let registry = Registry::load(room.root());
        Self {
            room,
            registry,
            renewed: OnceLock::new(),
            person: OnceLock::new(),
            last_watch: Mutex::new(None),
            network: None,
            caller,
        }
    }

    pub fn room(&self) -> &Room {
        &self.room
    }

    /// This room, caller and person, with the current registry.
    pub fn again(&self) -> Result<Self> {
        let post = Self::open(self.room.path(), self.caller.clone(), self.room.shared_clock())?;
        Ok(Self { person: self.person.clone(), ..post })
    }

    /// Where runs of agents have their git worktrees.
    pub fn worktrees(&self) -> Option<&Worktrees> {
        self.caller.worktrees.as_ref()
    }

    /// The number of automatic steps that led to the messages of this command.
    pub fn hops(&self) -> Option<u32> {
        self.caller.hops
    }

    fn registered(&self) -> std::result::Result<&Registry, &registry::Error> {
        self.renewed.get().map_or(self.registry.as_ref(), Ok)
    }

    /// The registry, if it can be read.
    pub fn registry(&self) -> Result<&Registry> {
        match self.registered() {
            Ok(registry) => Ok(registry),
            Err(e) => Err(Error::from_registry(e)),
        }
    }

    /// Fails if the disk kept the registry from being read: names would be shown as ids. Without a registry, or with a
    /// broken one, ids are correct.
    pub fn names_are_known(&self) -> Result<()> {
        match self.registry() {
            Err(e) if e.hides_mail() => Err(e),
            _ => Ok(()),
        }
    }

    /// The display name of a mailbox: its id, if the registry cannot be read.
    pub fn name_of<'a>(&'a self, id: &'a str) -> &'a str {
        self.registered().map_or(id, |registry| registry.name_of(id))
    }

    /// How long ago a time was, as short as it can be said: `2m`, `5d`.
    pub fn age(&self, time: Timestamp) -> String {
        span::short(self.now().since(time))
    }

    fn now(&self) -> Timestamp {
        self.room.clock().now()
    }

    /// A mailbox, wherever its messages are.
    pub(crate) fn mailbox(&self, id: &MailboxId) -> Result<Mailbox> {
        self.placed(self.home(id)?)
    }

    /// The home of a mailbox in this room. It is completed if another engine only registered it or made a part of it.
    fn home(&self, id: &MailboxId) -> Result<Maildir> {
        let is_known = self.registered().is_ok_and(|registry| registry.by_id(id).is_some());
        let has_folders = || self.room.root().dirs_at(id.as_str()).is_some_and(|dirs| dirs >= 3);
        let extent = if is_known && has_folders() { Extent::Whole } else { self.room.extent(id) };
        let home = match extent {
            Extent::Whole => Some(Maildir::open(self.room.root(), id)),
            Extent::Part if self.room.may_write().is_err() => Some(Maildir::open(self.room.root(), id)),
            Extent::Part | Extent::Absent => match self.make_home(id) {
                // It is being removed right now.
                Err(Error::Disk(e)) if e.is_missing() => None,
                made => made?.map(Ok),
            },
        };
        match home {
            Some(Err(e)) if !e.is_missing() => Err(e.into()),
            Some(Ok(home)) => Ok(home),
            _ => Err(Error::NoMailbox { id: id.to_string(), name: self.name_of(id.as_str()).to_owned() }),
        }
    }

    /// The envelope of a message, completed from this room.
    pub(crate) fn header(&self, mailbox: &Mailbox, folder: Folder, name: &str) -> Reading<Header> {
        mailbox.read_header(folder, name, self, self.now())
    }

    /// As [`Post::header`]; `None` also for a file that is not a message. A failing disk is an error.
    pub(crate) fn header_if_message(
        &self,
        mailbox: &Mailbox,
        folder: Folder,
        name: &str,
    ) -> Result<Option<Header>> {
        let read = if_message(self.header(mailbox, folder, name));
        read.map_err(|failing| Error::Failing { why: failing.why })
    }

    /// A whole message, completed from this room.
    pub(crate) fn message(
        &self,
        mailbox: &Mailbox,
        folder: Folder,
        name: &str,
    ) -> Reading<(Message, Timestamp)> {
        let mut read = mailbox.read_message(folder, name, self, self.now())?;
        if let Some((message, _)) = &mut read {
            let completed = self.complete_answer(&mut message.envelope, &message.body);
            completed.map_err(|e| Unreadable::failing(name, e.to_string()))?;
        }
        Ok(read)
    }

    pub(crate) fn record(&self, event: Event) {
        event.record(&self.room);
    }
}
