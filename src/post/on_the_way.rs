//! On the way: mail of this room for rooms of other machines, by room, and what is known of those rooms.

use super::{Post, Result};
use crate::clock::Timestamp;
use crate::mailbox::Folder;
use crate::message::visible;
use crate::name::RoomName;
use crate::network::{self, ContactNote, Joined, News};
use crate::span;

/// A room of the network, and the mail on its way there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnTheWay {
    pub room: RoomName,
    /// Letters that wait for the network, and the time of the oldest.
    pub waiting: usize,
    pub oldest: Option<Timestamp>,
    /// Letters with the server, without a receipt.
    pub carried: usize,
    /// Letters that came to nothing.
    pub failed: usize,
    /// The last news of the room, if it can be read.
    pub news: Option<News>,
    /// A room of this machine has the same name, and its mail goes there.
    pub is_hidden: bool,
}

/// The network that a room has joined, as its courier saw it last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkSeen {
    pub network: String,
    /// The name of this room there.
    pub room: String,
    /// How many other rooms are known.
    pub rooms: usize,
    /// Letters that wait for the network, and the time of the oldest.
    pub waiting: usize,
    pub oldest: Option<Timestamp>,
    /// Letters with the server, without a receipt.
    pub carried: usize,
    /// When the server was last heard.
    pub contact: Option<Timestamp>,
    /// How many parcels waited there for this room then.
    pub lag: u64,
    /// Why there is no connection.
    pub trouble: Option<String>,
    /// Parcels that were not let in.
    pub refused: usize,
}

impl NetworkSeen {
    /// `2 rooms; 3 waiting since 5m, 1 without a receipt; last contact 10s ago, 4 at the server; 2 refused`
    pub fn said(&self, now: Timestamp) -> String {
        let counted = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            many => format!("{many} {what}s"),
        };
        let ago = |at: Timestamp| span::short(now.since(at));
        let since = self.oldest.map_or(String::new(), |oldest| format!(" since {}", ago(oldest)));
        let contact = self.contact.map_or("never".to_owned(), |at| format!("{} ago", ago(at)));
        let mut said = format!(
            "{}; {} waiting{since}, {} without a receipt; last contact {contact}, {} at the server",
            counted(self.rooms, "room"),
            self.waiting,
            self.carried,
            self.lag
        );
        if self.refused > 0 {
            said.push_str(&format!("; {} refused", self.refused));
        }
        if let Some(trouble) = &self.trouble {
            said.push_str(&format!("; {}", visible::clip(trouble, 200)));
        }
        said
    }
}

impl Post {
    /// The network of this room, with what is on its way there. `None` if it has joined none.
    pub fn network_seen(&self, on_the_way: &[OnTheWay]) -> Result<Option<NetworkSeen>> {
        let root = self.room.path();
        let Some(joined) = Joined::of(root)? else { return Ok(None) };
        let note = ContactNote::of(root)?.unwrap_or_default();
        Ok(Some(NetworkSeen {
            network: joined.network.to_string(),
            room: joined.room().to_owned(),
            rooms: on_the_way.len(),
            waiting: on_the_way.iter().map(|way| way.waiting).sum(),
            oldest: on_the_way.iter().filter_map(|way| way.oldest).min(),
            carried: on_the_way.iter().map(|way| way.carried).sum(),
            contact: Timestamp::parse(&note.at),
            lag: note.lag,
            trouble: note.trouble,
            refused: network::refused(root)? + usize::try_from(note.dropped).unwrap_or(usize::MAX / 2),
        }))
    }

    /// The rooms of the network that are known here. Opens no message.
    pub fn on_the_way(&self) -> Result<Vec<OnTheWay>> {
        let root = self.room.path();
        let mut all = vec![];
        let Some(Joined { network, .. }) = Joined::of(root)? else { return Ok(all) };
        for room in network::peers(root, &network)? {
            let Some(there) = self.on_network(&room)? else { continue };
            let (mut waiting, mut carried, mut failed, mut oldest) = (0, 0, 0, None);
            for id in there.mailbox_ids()? {
                let mailbox = there.mailbox(&id)?;
                let (count, first) = mailbox.unread()?;
                waiting += count;
                oldest = oldest.into_iter().chain(first).min();
                carried += mailbox.list(Folder::Carried, 0)?.total;
                failed += mailbox.list(Folder::Failed, 0)?.total;
            }
            let is_hidden = self.there(&room).is_ok_and(|post| !post.is_on_network());
            let news = News::of(root, &network, &room).ok().flatten();
            all.push(OnTheWay { room, waiting, oldest, carried, failed, news, is_hidden });
        }
        Ok(all)
    }
}
