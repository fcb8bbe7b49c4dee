//! Errors of the verbs: one type, with the exit code and the next command to type.

use thiserror::Error as ThisError;

use super::line::counted;
use crate::mailbox::{self, Folder, fault};
use crate::message::envelope::BadValue;
use crate::name::BadName;
use crate::person::NoPerson;
use crate::{registry, room};

pub type Result<T> = std::result::Result<T, Error>;

/// The exit codes of the command line (design: "exit codes are a contract").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Failure {
    Nothing = 1,
    Usage = 2,
    Unknown = 3,
    Refused = 4,
    NotDone = 5,
    Unproven = 6,
}

/// Who typed a command, as far as can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typist {
    Agent,
    Person,
    /// A script, for example.
    Unknown,
}

#[derive(Debug, ThisError)]
pub enum Error {
    /// `is_group`: a group is called that.
    #[error("nobody here is called `{name}`")]
    UnknownName { name: String, nearest: Vec<String>, all: Vec<String>, is_group: bool },
    #[error("{one} and {other} both have an agent `{name}`, so it is unclear which one is meant")]
    TwoProjects { name: String, one: String, other: String },
    #[error("nobody in any room is called `{name}`")]
    NobodyAnywhere { name: String },
    #[error("this command has no identity, and no room has a mailbox `user`")]
    NowhereKnown,
    /// `names`: some names here, the most recently used first, and `more` others. `likely`: the first that the command itself does
    /// not name. `typist`: who seems to have typed the command.
    #[error("this command has no identity")]
    WhoAmI { names: Vec<String>, more: usize, likely: Option<String>, typist: Typist },
    /// `names`: those here, the most recently used first.
    #[error("{source_of_name} says `{name}`, but nobody here is called that")]
    NotMe { source_of_name: &'static str, name: String, nearest: Vec<String>, names: Vec<String> },
    #[error("the mailbox of `{name}` ({id}) is not in the room")]
    NoMailbox { id: String, name: String },
    #[error("the sender `{from}` has no mailbox here, so no reply is possible")]
    NoSender { from: String },
    #[error("no message begins with `{reference}`")]
    NoMessage { reference: String },
    #[error("`{reference}` fits several messages: {}", .matches.join(", "))]
    AmbiguousMessage { reference: String, matches: Vec<String> },
    #[error("`{reference}` is too short: four hex digits or more name a message")]
    ShortReference { reference: String },
    #[error("a question goes to one name")]
    AskOne,
    #[error("the search expression does not compile: {why}")]
    BadPattern { why: String },
    #[error("`{name}` is alive: its process exists, or it was here within the last ten minutes")]
    HolderAlive { name: String },
    #[error("`{name}` is in session already")]
    InSession { name: String, suggestions: Vec<String> },
    #[error("`{name}` had no conversation with {program} yet")]
    NoConversation { name: String, program: String },
    #[error("the mailbox of `{name}` was taken over by {by} at {since}; this session no longer holds it")]
    TakenOver { name: String, by: String, since: String },
    #[error("`{name}` is your own mailbox")]
    OwnMailbox { name: String },
    #[error("the run `{run}` cannot be removed: {why}")]
    NotOver { run: String, why: String },
    #[error("`{name}` has {}", counted(*.unread, "unread or claimed message"))]
    UnreadMail { name: String, unread: usize },
    #[error("nothing in the trash has the id `{id}`")]
    NotInTrash { id: String },
    #[error("the name `{name}` was taken meanwhile")]
    UndoTaken { name: String, bag: String, suggestions: Vec<String> },
    #[error("the messages of `{name}` are now registered as `{other}`")]
    InboxTaken { name: String, other: String },
    #[error("there is no group `@{name}`")]
    UnknownGroup { name: String, all: Vec<String> },
    #[error("`{member}` is not in the group `@{group}`")]
    NotAMember { group: String, member: String },
    #[error("the group `@{name}` would contain itself")]
    GroupInItself { name: String },
    #[error("nobody but you is in `@{name}`")]
    EmptyGroup { name: String },
    #[error("`{reference}` is not unread: it is in {folder}")]
    NotUnread { reference: String, folder: &'static str },
    #[error("there is no claim {token}{}", .why.as_ref().map(|w| format!(": {w}")).unwrap_or_default())]
    NoClaim { token: String, why: Option<String> },
    #[error("the claim {token} belongs to `{owner}`")]
    ForeignClaim { token: String, owner: String },
    /// `run`: the run of the dispatcher that works on it; `None` for a claim made by hand.
    #[error("`{reference}` is claimed by {} until {until}", holder(.owner, .run.as_deref()))]
    ClaimedBy { reference: String, owner: String, run: Option<String>, until: String },
    #[error("`{reference}` is not claimed any more: its lease ended at {until}")]
    LeaseEnded { reference: String, until: String },
    #[error("`{reference}` is not claimed: it is in {}", .folder.as_str())]
    NotClaimed { reference: String, folder: Folder },
    #[error("`{reference}` fits several claims: {}", .tokens.join(", "))]
    AmbiguousClaim { reference: String, tokens: Vec<String> },
    #[error("the messages of `{name}` are missing: {path} is not a mailbox")]
    NoPlace { name: String, path: String },
    #[error("there is no mailbox of any protocol at {path}")]
    NothingToAdopt { path: String },
    #[error("no request of the channel `{channel}` waits for an answer")]
    EmptyChannel { channel: String },
    #[error("the channel `{channel}` has requests of several senders: {}", .names.join(", "))]
    ManySenders { channel: String, names: Vec<String> },
    #[error("the message does not ask for a reply")]
    NoReplyWanted,
    #[error("{file}, line {line}: `{field}`: {why}")]
    Field { file: String, line: usize, field: &'static str, why: String },
    #[error("the message has no text")]
    EmptyBody,
    #[error("the text is over this room's limit of {limit} bytes")]
    BodyTooLarge { limit: u64 },
    #[error("the text is not UTF-8 (byte {at})")]
    BodyNotUtf8 { at: usize },
    #[error("{name} is over this room's limit of {limit} bytes for an attachment")]
    FileTooLarge { name: String, limit: u64 },
    #[error("a message in this room has at most {}", counted(*.limit, "attachment"))]
    TooManyFiles { limit: usize },
    #[error("{path} belongs to no mailbox in this room, so no file can be sent along")]
    NoHome { path: String },
    #[error("{place} looks like {what}")]
    Secret { what: &'static str, place: String },
    #[error("the mailbox of `{name}` is full: {}, limit {limit}", counted(*.count, "unread message"))]
    Full { name: String, count: usize, limit: usize },
    #[error("{what} `{}`: {why}", crate::message::visible::clip(.text, 80))]
    BadName { what: &'static str, text: String, why: BadName },
    #[error("{field}: {why}")]
    BadValue { field: &'static str, why: BadValue },
    #[error("`{name}` is a reserved word, so it cannot be a name")]
    Reserved { name: String },
    /// `is_left`: the caller's session may take over the mailbox, because nobody is there.
    #[error("the name `{name}` is taken")]
    Taken { name: String, suggestions: Vec<String>, is_left: bool },
    #[error("the name `user` is that of the person's mailbox and stays with it")]
    PersonsName,
    #[error("`{name}` already is the name of this mailbox's owner, not `{wanted}`")]
    AlreadyNamed { name: String, wanted: String },
    #[error("a message with the id {id} and other contents was sent before: {path}")]
    IdTaken { id: String, path: String },
    #[error("the request {id} has another response already: {path}")]
    Answered { id: String, path: String },
    #[error("{}: {why}", .path)]
    Unreadable { path: String, why: String },
    #[error("there is no room `{name}`")]
    UnknownRoom { name: String },
    #[error("this room has no name, so nobody in the room `{room}` could answer")]
    NoWayBack { room: String },
    #[error("{why}")]
    Failing { why: String },
    /// The notice of a failure is delivered, but may not survive a power cut.
    #[error("the sender is told, durability not proven: {why}")]
    Unproven { why: String },
    #[error("{0}")]
    Registry(String),
    #[error("{reason}")]
    AmbiguousName { reason: String },
    #[error("only a person at a terminal can do this: {0}")]
    NoPerson(#[from] NoPerson),
    #[error("you already answered the request {id} with another text")]
    SaidBefore { id: String, run: String },
    #[error("neither XDG_CONFIG_HOME nor HOME says where your settings are")]
    NoSettings,
    #[error(transparent)]
    Room(#[from] room::Error),
    #[error(transparent)]
    Disk(#[from] mailbox::Error),
}

impl From<registry::Error> for Error {
    fn from(e: registry::Error) -> Self {
        match e {
            registry::Error::Disk(e) => Self::Disk(e),
            e @ (registry::Error::Corrupt { .. } | registry::Error::Ambiguous { .. }) => {
                Self::from_registry(&e)
            }
        }
    }
}

impl Error {
    pub(super) fn from_registry(e: &registry::Error) -> Self {
        match e {
            registry::Error::Ambiguous { .. } => Self::AmbiguousName { reason: e.to_string() },
            // The disk failed, not the registry: the next read may succeed.
            registry::Error::Disk(disk) if disk_code(disk) == Failure::NotDone => {
                Self::Failing { why: e.to_string() }
            }
            registry::Error::Disk(_) | registry::Error::Corrupt { .. } => Self::Registry(e.to_string()),
        }
    }

    /// Whether the disk failed, so that the state of the mail is unknown.
    pub(super) fn hides_mail(&self) -> bool {
        match self {
            Self::Failing { .. } => true,
            Self::Disk(e) => e.is_transient(),
            _ => false,
        }
    }

    /// Lists every error, so that the compiler demands an exit code for a new one.
    pub fn code(&self) -> Failure {
        match self {
            Self::UnknownName { .. }
            | Self::NobodyAnywhere { .. }
            | Self::NowhereKnown
            | Self::WhoAmI { .. }
            | Self::NotMe { .. }
            | Self::NoMailbox { .. }
            | Self::NoPlace { .. }
            | Self::EmptyChannel { .. }
            | Self::NothingToAdopt { .. }
            | Self::NoSender { .. }
            | Self::NoClaim { .. }
            | Self::LeaseEnded { .. }
            | Self::UnknownGroup { .. }
            | Self::NotInTrash { .. }
            | Self::UnknownRoom { .. }
            | Self::NotAMember { .. }
            | Self::NoConversation { .. }
            | Self::NoMessage { .. } => Failure::Unknown,
            Self::Room(room::Error::NoRoom { .. }) => Failure::Unknown,
            Self::ShortReference { .. } | Self::AskOne | Self::BadPattern { .. } => Failure::Usage,
            Self::Failing { .. } => Failure::NotDone,
            Self::Unproven { .. } => Failure::Unproven,
            Self::Disk(e) | Self::Room(room::Error::Disk(e)) => disk_code(e),
            Self::Room(
                room::Error::NotEmpty { .. }
                | room::Error::BadPath { .. }
                | room::Error::Newer { .. }
                | room::Error::BadVersion { .. }
                | room::Error::Settings(_),
            ) => Failure::Refused,
            Self::TwoProjects { .. }
            | Self::AmbiguousMessage { .. }
            | Self::HolderAlive { .. }
            | Self::InSession { .. }
            | Self::TakenOver { .. }
            | Self::OwnMailbox { .. }
            | Self::NotOver { .. }
            | Self::UnreadMail { .. }
            | Self::UndoTaken { .. }
            | Self::InboxTaken { .. }
            | Self::GroupInItself { .. }
            | Self::EmptyGroup { .. }
            | Self::NotUnread { .. }
            | Self::ForeignClaim { .. }
            | Self::ClaimedBy { .. }
            | Self::NotClaimed { .. }
            | Self::AmbiguousClaim { .. }
            | Self::ManySenders { .. }
            | Self::NoReplyWanted
            | Self::Field { .. }
            | Self::EmptyBody
            | Self::BodyTooLarge { .. }
            | Self::BodyNotUtf8 { .. }
            | Self::FileTooLarge { .. }
            | Self::TooManyFiles { .. }
            | Self::NoHome { .. }
            | Self::Secret { .. }
            | Self::Full { .. }
            | Self::BadName { .. }
            | Self::BadValue { .. }
            | Self::Reserved { .. }
            | Self::Taken { .. }
            | Self::PersonsName
            | Self::AlreadyNamed { .. }
            | Self::IdTaken { .. }
            | Self::Answered { .. }
            | Self::Unreadable { .. }
            | Self::NoWayBack { .. }
            | Self::Registry(_)
            | Self::AmbiguousName { .. }
            | Self::NoPerson(_)
            | Self::SaidBefore { .. }
            | Self::NoSettings => Failure::Refused,
        }
    }
}

/// Who has a claim.
fn holder(owner: &str, run: Option<&str>) -> String {
    run.map_or_else(|| format!("`{owner}`"), |run| format!("the run {run} of `{owner}`"))
}

fn disk_code(e: &fault::Error) -> Failure {
    match e {
        fault::Error::Io { .. } | fault::Error::Locked { .. } | fault::Error::Busy { .. } => Failure::NotDone,
        fault::Error::Pruned { .. } => Failure::Unknown,
        fault::Error::Link { .. }
        | fault::Error::NotAFile { .. }
        | fault::Error::NotADirectory { .. }
        | fault::Error::OtherOwner { .. }
        | fault::Error::LooseParent { .. }
        | fault::Error::OtherParent { .. }
        | fault::Error::HardLink { .. }
        | fault::Error::TooLarge { .. }
        | fault::Error::Exists { .. }
        | fault::Error::Content { .. }
        | fault::Error::Unparsed { .. }
        | fault::Error::Unwritable(_)
        | fault::Error::Destination { .. } => Failure::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It was refused as if the registry were broken, and a script gave up.
    #[test]
    fn a_registry_that_another_process_holds_is_tried_again() {
        let (path, seconds) = ("/r/registry.json".into(), 10);
        let held = registry::Error::Disk(mailbox::Error::Locked { path, seconds });
        assert_eq!(Error::from_registry(&held).code(), Failure::NotDone);
        let corrupt = registry::Error::Corrupt { path: "/r/registry.json".into(), why: "no object".into() };
        assert_eq!(Error::from_registry(&corrupt).code(), Failure::Refused);
    }
}
