//! Names, mailboxes that were created, taken over or adopted, and groups.

use serde::Serialize;

use super::check::{FailedRoom, RoomPlace};
use super::message::Pairs;
use crate::mailbox::presence::Presence;
use crate::post::{self, Adoption, Looked, Me};

/// A mailbox that was created or found again, printed by `setup`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Setup<'a> {
    /// Its name.
    pub name: &'a str,
    /// The id of the mailbox.
    pub id: &'a str,
    #[serde(flatten)]
    pub place: RoomPlace,
    /// Whether this call created the name.
    pub created: bool,
    /// Whether the mailbox is bound to this agent session or terminal.
    pub bound: bool,
    /// How many messages are unread; left out if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<usize>,
    /// The prompt for the new agent; with `--child` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<&'a str>,
    /// Whether no name was given, so that a free one was taken.
    pub chosen: bool,
}

impl<'a> Setup<'a> {
    pub fn of(place: RoomPlace, made: &'a post::Setup, prompt: Option<&'a str>) -> Self {
        let post::Setup { name, id, created, bound, unread, chosen, was: _ } = made;
        let (id, bound) = (id.as_str(), bound.is_some());
        Self { name, id, place, created: *created, bound, unread: *unread, prompt, chosen: *chosen }
    }
}

/// A mailbox that this session took over, printed by `takeover`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Takeover<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its id.
    pub id: &'a str,
    /// Whether it is bound to this agent session or terminal.
    pub bound: bool,
}

/// A mailbox with its new name, printed by `rename`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rename<'a> {
    /// Its name before.
    pub old: &'a str,
    /// Its name now.
    pub name: &'a str,
    /// Its id, which stays.
    pub id: &'a str,
}

/// The mailbox that a command acts as, printed by `whoami`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Whoami<'a> {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// Its id.
    pub id: &'a str,
    /// The source of this identity, in words.
    pub why: &'static str,
    #[serde(flatten)]
    pub place: RoomPlace,
    /// How many messages are unread.
    pub unread: usize,
}

impl<'a> Whoami<'a> {
    pub fn of(place: RoomPlace, me: &'a Me, unread: usize) -> Self {
        Self { name: me.name.as_deref(), id: me.id.as_str(), why: me.why.as_str(), place, unread }
    }
}

/// Whether the holder of a mailbox is alive.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Presences {
    Alive,
    Silent,
    NeverSeen,
}

/// One name.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Listed<'a> {
    /// The name.
    pub name: &'a str,
    /// Other names of the same mailbox.
    pub aliases: &'a [String],
    /// The id of the mailbox.
    pub id: &'a str,
    /// Its protocol.
    #[cfg_attr(test, schemars(extend("enum" = crate::message::Protocol::ALL.map(|protocol| protocol.as_str()))))]
    pub protocol: &'a str,
    /// The program that set it up.
    pub harness: &'a str,
    /// What this agent can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<&'a str>,
    /// How many messages are unread; left out if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<usize>,
    /// When the oldest of them was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<String>,
    /// Whether a process of its holder exists; left out if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence: Option<Presences>,
    /// When a silent holder was last seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent_since: Option<String>,
}

impl<'a> Listed<'a> {
    fn of(listed: &'a post::Listed) -> Self {
        let (presence, silent_since) = match listed.presence {
            _ if listed.in_session => (Some(Presences::Alive), None),
            Some(Presence::Recent(time) | Presence::SilentSince(time)) => {
                (Some(Presences::Silent), Some(time.to_string()))
            }
            Some(Presence::NeverSeen) => (Some(Presences::NeverSeen), None),
            Some(Presence::Waiting) | None => (None, None),
        };
        Self {
            name: &listed.name,
            aliases: &listed.aliases,
            id: listed.id.as_str(),
            protocol: &listed.protocol,
            harness: &listed.harness,
            about: listed.about.as_deref(),
            unread: listed.unread.map(|(count, _)| count),
            oldest: listed.unread.and_then(|(_, oldest)| oldest).map(|time| time.to_string()),
            presence,
            silent_since,
        }
    }

    fn all(names: &'a [post::Listed]) -> Vec<Self> {
        names.iter().map(Self::of).collect()
    }
}

/// The names of a room, printed by `names`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Names<'a> {
    #[serde(flatten)]
    pub place: RoomPlace,
    /// The names.
    pub names: Vec<Listed<'a>>,
}

impl<'a> Names<'a> {
    pub fn of(place: RoomPlace, names: &'a [post::Listed]) -> Self {
        Self { place, names: Listed::all(names) }
    }
}

/// The names of one of several rooms.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RoomNames<'a> {
    /// The name of the room.
    pub room: String,
    /// The names in it.
    pub names: Vec<Listed<'a>>,
}

/// The names of all rooms, printed by `names --all`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NamesAll<'a> {
    /// The rooms.
    pub rooms: Vec<RoomNames<'a>>,
    /// Rooms of other machines, each as a room of this machine knows it; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<NetworkNames<'a>>,
    /// Rooms that could not be read.
    pub failed: Vec<FailedRoom>,
}

impl<'a> NamesAll<'a> {
    pub fn of(looked: &'a Looked<Vec<post::Listed>>, network: &'a [post::There<post::OnTheWay>]) -> Self {
        let rooms = looked.found.iter();
        let rooms = rooms.map(|t| RoomNames { room: t.room.shown(), names: Listed::all(&t.what) });
        let network = network.iter().map(|t| NetworkNames::of(t.room.shown(), &t.what)).collect();
        Self { rooms: rooms.collect(), network, failed: FailedRoom::all(&looked.failed) }
    }
}

/// The names of a room of another machine.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NetworkNames<'a> {
    /// The name of the room.
    pub room: &'a str,
    /// The room of this machine from which it can be written to.
    pub from: String,
    /// When its names came here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard: Option<&'a str>,
    /// The names in it.
    pub names: Vec<NetworkName<'a>>,
}

/// Somebody in a room of another machine.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NetworkName<'a> {
    /// The name.
    pub name: &'a str,
    /// The id of the mailbox.
    pub id: &'a str,
    /// The program of the agent.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub harness: &'a str,
    /// What the agent can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<&'a str>,
    /// Whether it was in a session then.
    pub in_session: bool,
}

impl<'a> NetworkNames<'a> {
    fn of(from: String, way: &'a post::OnTheWay) -> Self {
        let name = |resident: &'a crate::network::Resident| NetworkName {
            name: &resident.name,
            id: &resident.id,
            harness: &resident.harness,
            about: resident.about.as_deref(),
            in_session: resident.in_session,
        };
        Self {
            room: way.room.as_str(),
            from,
            heard: way.news.as_ref().map(|news| news.heard.as_str()),
            names: way.news.iter().flat_map(|news| news.names.iter().map(name)).collect(),
        }
    }
}

/// The outcome for a mailbox in another place.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Adopted<'a> {
    /// The name that it should get.
    pub name: &'a str,
    /// Its protocol.
    #[cfg_attr(test, schemars(extend("enum" = crate::message::Protocol::ALL.map(|protocol| protocol.as_str()))))]
    pub protocol: &'static str,
    /// The directory of its inbox.
    pub inbox: String,
    /// `adopted`, `already here`, `taken` or `bad name`; for the last two the exit code is 4.
    #[cfg_attr(test, schemars(extend("enum" = ["adopted", "already here", "taken", "bad name"])))]
    pub state: &'static str,
    /// Its id here; left out if it could not be named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a str>,
}

impl<'a> Adopted<'a> {
    pub fn of(one: &'a post::Adopted) -> Self {
        let (state, id) = match &one.state {
            Adoption::New(id) => ("adopted", Some(id.as_str())),
            Adoption::Already(id) => ("already here", Some(id.as_str())),
            Adoption::Taken(_) => ("taken", None),
            Adoption::BadName(_) => ("bad name", None),
        };
        Self {
            name: &one.name,
            protocol: one.protocol.as_str(),
            inbox: one.inbox.display().to_string(),
            state,
            id,
        }
    }
}

/// Mailboxes in another place, printed by `adopt` and `setup --tree`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Adoptions<'a> {
    /// The mailboxes.
    pub adopted: Vec<Adopted<'a>>,
}

/// All groups, printed by `group`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Groups<'a> {
    /// The members of each group, by its name.
    pub groups: Pairs<'a, &'a [String]>,
}

impl<'a> Groups<'a> {
    pub fn of(groups: &'a [(String, Vec<String>)]) -> Self {
        Self {
            groups: Pairs(groups.iter().map(|(name, members)| (name.as_str(), members.as_slice())).collect()),
        }
    }
}
