//! The desk: what a face for people knows of its surroundings, and how it opens a room for each look and each deed.
//!
//! The person was seen once, when the face was started at a terminal. Every room that is opened for the person has that
//! person as its witness; all others are opened without one, and refuse the person's mail and word.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::clock::Clock;
use crate::name::RoomName;
use crate::person::Person;
use crate::post::{Caller, Post, Result};
use crate::rooms::Rooms;
use crate::staff::{self, Staff, gather};
use crate::surroundings::{Elsewhere, Environment};
use crate::trust::Store;

/// The word for a room that has no name.
pub const UNNAMED: &str = "-";

/// The surroundings of a face. The command that starts it fills them in.
pub struct Desk {
    pub rooms: Rooms,
    /// The room in which the command was given, and its name if it has one.
    pub root: PathBuf,
    pub room: Option<String>,
    pub caller: Caller,
    pub clock: Arc<dyn Clock>,
    /// The person who started the face. `None`: nobody may act.
    pub person: Option<Person>,
    pub environment: Arc<dyn Environment + Send + Sync>,
    pub store: Store,
    /// Starts the command of a gate: the room, the run, and the request.
    pub start_gate: fn(&Path, &str, &str) -> std::io::Result<()>,
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").field("root", &self.root).field("person", &self.person).finish_non_exhaustive()
    }
}

impl Desk {
    /// The word for the room of the command.
    pub fn own(&self) -> &str {
        self.room.as_deref().unwrap_or(UNNAMED)
    }

    /// The words for all rooms, the own one first.
    pub fn all(&self) -> Result<Vec<String>> {
        let names = self.rooms.names()?;
        let others = names.iter().map(ToString::to_string).filter(|name| name != self.own());
        Ok(std::iter::once(self.own().to_owned()).chain(others).collect())
    }

    /// The directory of a room. `None` if there is no such room.
    pub fn root_of(&self, word: &str) -> Option<PathBuf> {
        if word == self.own() {
            return Some(self.root.clone());
        }
        let root = self.rooms.named(&RoomName::parse(word).ok()?).root;
        root.is_dir().then_some(root)
    }

    /// Opens a room for everybody.
    pub fn post(&self, root: &Path) -> Result<Post> {
        Post::open(root, self.caller.clone(), Arc::clone(&self.clock))
    }

    /// Opens a room for the person, if there is one.
    pub fn attended_post(&self, root: &Path) -> Result<Post> {
        let post = self.post(root)?;
        Ok(match &self.person {
            Some(person) => post.attended_by(person.clone()),
            None => post,
        })
    }

    /// The surroundings of a room: the settings of its agents are in its repository.
    pub fn around(&self, post: &Post) -> Result<Box<dyn Environment + '_>> {
        let root = post.room().path();
        let here = match *root == self.root {
            true => None,
            false => Some(self.project_of(root)?),
        };
        Ok(Box::new(Elsewhere { environment: &*self.environment, here }))
    }

    /// The directory of the repository that has this room; the room itself if none has it.
    fn project_of(&self, root: &Path) -> Result<PathBuf> {
        // A link that cannot be read may be the one of this room. Without it, its agents would seem to be unknown.
        let links = self.rooms.links()?;
        let link = links.iter().find(|link| self.rooms.dir().join(&link.room) == *root);
        Ok(link.and_then(|link| link.path.parent()).unwrap_or(root).to_owned())
    }

    /// The agents of a room.
    pub fn staff(&self, post: &Post) -> staff::Result<Staff> {
        gather(&*self.around(post)?, self.store.clone(), post, |_| true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::mailbox::Dir;
    use crate::surroundings::tests::Given;

    #[test]
    fn a_link_that_cannot_be_read_leaves_the_agents_of_another_room_unknown_and_not_absent() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let desk = Desk {
            rooms: Rooms::new(&base),
            root: base.join("rooms/own"),
            room: Some("own".to_owned()),
            caller: Caller::default(),
            clock: Arc::new(SystemClock),
            person: None,
            environment: Arc::new(Given { here: base.clone(), home: Some(base.clone()), ..Given::default() }),
            store: Store::new(&base),
            start_gate: |_, _, _| Ok(()),
        };
        let open = |name: &str| {
            let root = base.join("rooms").join(name);
            Post::open_or_make(&root, Caller::default(), Arc::new(SystemClock)).unwrap()
        };
        let (own, other) = (open("own"), open("other"));
        assert_eq!(desk.all().unwrap(), ["own", "other"]);
        assert_eq!(desk.around(&other).unwrap().here().unwrap(), *other.room().path());
        let links = Dir::open(&base.join("rooms")).unwrap().create_dir_synced(".repositories").unwrap();
        links.replace_synced("p0", b"{").unwrap();
        assert_eq!(desk.around(&own).unwrap().here().unwrap(), base);
        let unreadable = desk.staff(&other).unwrap_err().to_string();
        assert!(unreadable.contains(".repositories/p0"), "{unreadable}");
        links.remove("p0").unwrap();
        assert!(desk.staff(&other).is_ok());
    }
}
