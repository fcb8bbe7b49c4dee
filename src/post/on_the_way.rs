//! On the way: mail of this room for rooms of other machines, by room, and what is known of those rooms.

use super::{Post, Result};
use crate::clock::Timestamp;
use crate::mailbox::Folder;
use crate::name::RoomName;
use crate::network::{self, News};

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

impl Post {
    /// The rooms of the network that are known here. Opens no message.
    pub fn on_the_way(&self) -> Result<Vec<OnTheWay>> {
        let root = self.room.path();
        let mut all = vec![];
        for room in network::peers(root)? {
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
            let news = News::of(root, &room).ok().flatten();
            all.push(OnTheWay { room, waiting, oldest, carried, failed, news, is_hidden });
        }
        Ok(all)
    }
}
