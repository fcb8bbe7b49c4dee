//! Contact: what the courier saw last of server and rooms, kept for those who look on. Nothing depends on it.

use serde::{Deserialize, Serialize};

use crate::mailbox::{Dir, Error};

use crate::network::CONTACT as FILE;
const LIMIT: u64 = 1024 * 1024;

/// What is known about the durability of what the server acknowledges.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// The version of the server.
    #[serde(default)]
    pub version: String,
    /// How many servers keep the mail of this room.
    #[serde(default)]
    pub replicas: usize,
    /// Whether the stream is on a disk.
    #[serde(default)]
    pub on_disk: bool,
    /// Whether each write is synced before it is acknowledged; `None` if the configuration could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syncs_always: Option<bool>,
    /// Where what the server keeps for this room is not set up as the room wants it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_settings: Vec<String>,
}

impl Promise {
    /// What the server is known not to promise, in words.
    pub fn lacks(&self) -> Vec<String> {
        let mut lacks = vec![];
        if !self.on_disk {
            lacks.push("the server keeps mail in memory only".to_owned());
        }
        if self.syncs_always == Some(false) {
            lacks.push(
                "the server acknowledges mail before it is on disk: set `sync_interval: always` in its `jetstream` block"
                    .to_owned(),
            );
        }
        lacks.extend(self.other_settings.iter().cloned());
        lacks
    }

    /// What is not known about it, in words.
    pub fn doubts(&self) -> Option<String> {
        self.syncs_always.is_none().then(|| {
            "whether the server syncs before it acknowledges is unknown: `courier join … --monitor URL` lets the courier read \
             it"
            .to_owned()
        })
    }
}

/// What was seen of another room.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerSeen {
    pub room: String,
    /// The last error of sending to it, with the time of the first one in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The stream that took its mail: when that was made, and the last number in it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stream_made: String,
    #[serde(default)]
    pub last_number: u64,
    /// When its mail was last sent again, and how often without a receipt since.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sent_again: String,
    #[serde(default)]
    pub times: u32,
}

/// The last contact of the courier.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    pub v: u32,
    /// When the server was last heard.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at: String,
    #[serde(default)]
    pub connected: bool,
    /// The server of the last connection, which gives itself an id at each start.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub server_id: String,
    #[serde(default)]
    pub promise: Promise,
    /// [`Promise::lacks`], for those who do not know the promise.
    #[serde(default)]
    pub lacks: Vec<String>,
    /// How many parcels wait at the server for this room.
    #[serde(default)]
    pub lag: u64,
    /// Why there is no connection, and since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub since: String,
    #[serde(default)]
    pub peers: Vec<PeerSeen>,
    /// How many parcels were refused and not kept, because their room had too many.
    #[serde(default)]
    pub dropped: u64,
    /// Other things that a person may want to know, the last few.
    #[serde(default)]
    pub remarks: Vec<String>,
}

impl Contact {
    pub fn of(courier: &Dir) -> Result<Self, Error> {
        let bytes = courier.read(FILE, LIMIT)?.unwrap_or_default();
        // It is only a note; a broken one is as good as none.
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    pub(super) fn keep(&self, courier: &Dir) -> Result<(), Error> {
        courier.replace(FILE, &serde_json::to_vec(&Self { v: 1, ..self.clone() }).unwrap_or_default())
    }

    pub(super) fn peer(&mut self, room: &str) -> &mut PeerSeen {
        let at = self.peers.iter().position(|peer| peer.room == room).unwrap_or_else(|| {
            self.peers.push(PeerSeen { room: room.to_owned(), ..PeerSeen::default() });
            self.peers.len() - 1
        });
        &mut self.peers[at]
    }

    pub(super) fn remark(&mut self, text: String) {
        if self.remarks.last() != Some(&text) {
            self.remarks.push(text);
        }
        let many = self.remarks.len().saturating_sub(20);
        self.remarks.drain(..many);
    }
}
