//! The rooms of this person: `…/postroom/rooms/NAME/`, and the room of each repository.
//!
//! ```text
//! rooms/NAME/                a room
//!      /.repositories/p…     a repository by the path of its common directory: its room, path and identity
//!                    /i…     the same by device and inode
//!      /.lock                held while a room is given to a repository
//! ```
//!
//! A path keeps its room. A known directory at a new path is a repository that was moved, and keeps its room too. A copy is another
//! repository. `setup`, `install`, `rooms relink` and the `mb_*` functions that write give a repository its room; until then the root
//! of its room does not exist.

use std::path::{Path, PathBuf};

use crate::hex;
use serde::{Deserialize, Serialize};

use crate::mailbox::disk::glimpse;
use crate::mailbox::{Dir, Error, IfAny};
use crate::name::{RoomName, with_numbers};
use crate::repository::{Identity, Repository};

type Result<T> = std::result::Result<T, Error>;

/// The root of the seed's own shell engine: the room called `tmp`.
pub const SEED_ROOT: &str = "/tmp/agent-mailbox";

/// The room for everything outside a repository.
pub const MAIN: &str = "main";

const RESERVED: [&str; 2] = [MAIN, "tmp"];
const LINKS: &str = ".repositories";
const LOCK: &str = ".lock";
const TRASH: &str = ".trash";

/// The directory of the rooms.
#[derive(Debug, Clone)]
pub struct Rooms {
    dir: PathBuf,
}

/// The link from a repository to its room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    v: u32,
    pub room: String,
    /// The common directory.
    pub path: PathBuf,
    #[serde(flatten)]
    identity: Identity,
}

/// The result of [`Rooms::relink`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Relinked {
    Done,
    /// This repository still exists, and has the room.
    InUse {
        repository: PathBuf,
    },
    /// The repository has another room.
    HasRoom {
        room: String,
    },
}

/// The room that a command refers to.
#[derive(Debug, Clone)]
pub struct Located {
    pub root: PathBuf,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The earlier path of its repository.
    pub moved_from: Option<PathBuf>,
    /// A repository without a room: the root does not exist yet.
    waiting: Option<(Rooms, Repository)>,
}

impl Located {
    /// A room at a directory that the caller named.
    pub fn at(root: PathBuf) -> Self {
        Self { root, name: None, moved_from: None, waiting: None }
    }

    /// Its name, or its directory if it has none.
    pub fn shown(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.root.display().to_string())
    }

    /// Gives the repository a room, if it has none.
    pub fn assign(&mut self) -> Result<()> {
        if let Some((rooms, repository)) = self.waiting.take() {
            let name = rooms.assign(&repository)?;
            *self = rooms.named(&name);
        }
        Ok(())
    }

    /// Checks whether the repository was given a room meanwhile.
    pub fn look_again(&mut self) -> Result<()> {
        if let Some((rooms, repository)) = &self.waiting {
            *self = rooms.of(repository)?;
        }
        Ok(())
    }

    /// Whether the repository must be given a room first.
    pub fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }
}

impl Rooms {
    /// `state` is the directory of this person's state.
    pub fn new(state: &Path) -> Self {
        Self { dir: state.join("rooms") }
    }

    /// A room by its name.
    pub fn named(&self, name: &RoomName) -> Located {
        let root = match name.as_str() {
            "tmp" => PathBuf::from(SEED_ROOT),
            name => self.dir.join(name),
        };
        Located { name: Some(name.to_string()), ..Located::at(root) }
    }

    /// A room by its directory.
    pub fn at(&self, root: PathBuf) -> Located {
        let name = match root.parent() == Some(&self.dir) {
            true => root.file_name().and_then(|name| name.to_str()).map(str::to_owned),
            false => (root == Path::new(SEED_ROOT)).then(|| "tmp".to_owned()),
        };
        Located { name, ..Located::at(root) }
    }

    /// The room of a repository.
    pub fn of(&self, repository: &Repository) -> Result<Located> {
        if let Some(link) = self.link(&by_path(&repository.common))? {
            return self.linked(&link);
        }
        if let Some(link) = self.link(&by_identity(&repository.identity))?
            && link.identity == repository.identity
        {
            // If the old path still exists, this is the same directory by another path.
            let moved_from = link.is_gone().then(|| link.path.clone());
            // Recorded so that the move is reported once. If this write fails, it is reported again.
            let _ = self.note(repository, &link.room);
            return Ok(Located { moved_from, ..self.linked(&link)? });
        }
        let name = slug(repository.title());
        let root = self.dir.join(&name);
        Ok(Located { waiting: Some((self.clone(), repository.clone())), ..Located::at(root) })
    }

    fn linked(&self, link: &Link) -> Result<Located> {
        let name =
            RoomName::parse(&link.room).map_err(|why| self.broken(&by_path(&link.path), &why.to_string()))?;
        Ok(self.named(&name))
    }

    /// The error for a link that names no room. It must not count as a repository without a room.
    fn broken(&self, key: &str, why: &str) -> Error {
        Error::Content { path: self.dir.join(LINKS).join(key), why: why.to_owned() }
    }

    /// Gives a repository its own room, once.
    fn assign(&self, repository: &Repository) -> Result<RoomName> {
        let rooms = Dir::make(&self.dir)?;
        rooms.sync_parents()?;
        let _lock = rooms.lock(LOCK)?;
        if let Some(link) = self.link(&by_path(&repository.common))?
            && let Ok(name) = RoomName::parse(&link.room)
        {
            return Ok(name);
        }
        let taken: Vec<String> = self.links()?.into_iter().map(|link| link.room).collect();
        let base = slug(repository.title());
        for name in with_numbers(&base) {
            let is_free = !RESERVED.contains(&name.as_str())
                && !taken.contains(&name)
                && rooms.stat(&name).if_any()?.is_none();
            if let (true, Ok(name)) = (is_free, RoomName::parse(&name)) {
                self.note(repository, name.as_str())?;
                return Ok(name);
            }
        }
        Err(Error::Exists { path: self.dir.join(base) })
    }

    /// Gives a room to a repository, and takes it from the repositories that had it. Without `force` it changes nothing if
    /// one of those still exists, or if the repository has another room.
    pub fn relink(&self, name: &RoomName, repository: &Repository, force: bool) -> Result<Relinked> {
        let rooms = Dir::make(&self.dir)?;
        let _lock = rooms.lock(LOCK)?;
        let is_same = |link: &Link| link.path == repository.common || link.identity == repository.identity;
        let links = self.links()?;
        let mut others = links.iter().filter(|link| link.room == name.as_str() && !is_same(link));
        if let Some(owner) = others.find(|link| !force && !link.is_gone()) {
            return Ok(Relinked::InUse { repository: owner.path.clone() });
        }
        let own = links.iter().find(|link| link.path == repository.common && link.room != name.as_str());
        if let Some(own) = own.filter(|_| !force) {
            return Ok(Relinked::HasRoom { room: own.room.clone() });
        }
        self.forget(name.as_str())?;
        self.note(repository, name.as_str())?;
        Ok(Relinked::Done)
    }

    /// Moves a room into the trash beside the rooms, and returns its new path.
    pub fn throw_away(&self, name: &RoomName) -> Result<PathBuf> {
        let rooms = Dir::open(&self.dir)?;
        let _lock = rooms.lock(LOCK)?;
        let trash = rooms.create_dir_synced(TRASH)?;
        let new = format!("{name}-{}", crate::random::hex());
        rooms.rename_dir(name.as_str(), &trash, &new)?;
        trash.sync()?;
        rooms.sync()?;
        self.forget(name.as_str())?;
        Ok(trash.path().join(new))
    }

    /// The names of all rooms here, sorted.
    pub fn names(&self) -> Result<Vec<RoomName>> {
        let Some(rooms) = Dir::look(&self.dir).if_any()? else { return Ok(vec![]) };
        let names = rooms.names(|_, kind| kind == rustix::fs::FileType::Directory)?;
        Ok(names.iter().filter_map(|name| RoomName::parse(name).ok()).collect())
    }

    /// All rooms, with `tmp`, where the seed's own shell engine keeps its mail.
    pub fn all(&self) -> Result<Vec<RoomName>> {
        // Any user of this machine may own it.
        let is_another = |e: Error| e.is_missing() || matches!(e, Error::OtherOwner { .. });
        let is_ours = !Dir::look(Path::new(SEED_ROOT)).is_err_and(is_another);
        let seed = RoomName::parse("tmp").ok().filter(|_| is_ours);
        Ok(self.names()?.into_iter().chain(seed).collect())
    }

    /// The directory around the rooms.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Every repository that has a room, by path.
    pub fn links(&self) -> Result<Vec<Link>> {
        let Some(links) = Dir::look(&self.dir.join(LINKS)).if_any()? else { return Ok(vec![]) };
        let mut found = vec![];
        for name in links.names(|name, _| name.starts_with('p'))? {
            found.extend(self.link(&name)?);
        }
        found.sort_by(|a, b| (&a.room, &a.path).cmp(&(&b.room, &b.path)));
        Ok(found)
    }

    fn link(&self, key: &str) -> Result<Option<Link>> {
        let bytes = glimpse(&self.dir.join(LINKS).join(key))?;
        let parsed = bytes.map(|bytes| serde_json::from_slice(&bytes)).transpose();
        parsed.map_err(|e| self.broken(key, &e.to_string()))
    }

    /// Records the room of a repository; durable on return.
    fn note(&self, repository: &Repository, room: &str) -> Result<()> {
        let links = Dir::open(&self.dir)?.create_dir_synced(LINKS)?;
        let Repository { common: path, identity } = repository.clone();
        let link = Link { v: 1, room: room.to_owned(), path, identity };
        let bytes = serde_json::to_vec(&link).unwrap_or_default();
        links.replace_synced(&by_identity(&link.identity), &bytes)?;
        links.replace_synced(&by_path(&link.path), &bytes)
    }

    fn forget(&self, room: &str) -> Result<()> {
        let Some(links) = Dir::open(&self.dir.join(LINKS)).if_any()? else { return Ok(()) };
        for key in links.names(|_, _| true)? {
            if self.link(&key)?.is_some_and(|link| link.room == room) {
                links.remove(&key).if_any()?;
            }
        }
        links.sync()
    }
}

impl Link {
    /// Whether there is nothing at the path of its repository. A path that cannot be read is not gone, and another
    /// clone there keeps the room.
    pub fn is_gone(&self) -> bool {
        Repository::is_nothing_at(&self.path)
    }
}

fn by_path(path: &Path) -> String {
    format!("p{}", hex::digest(path.as_os_str().as_encoded_bytes(), 16))
}

fn by_identity(identity: &Identity) -> String {
    format!("i{:x}-{:x}", identity.device, identity.inode)
}

/// A room name for a directory with this title.
fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars().map(|c| c.to_ascii_lowercase()) {
        match c.is_ascii_alphanumeric() || matches!(c, '.' | '_') {
            true => slug.push(c),
            false if !slug.ends_with('-') => slug.push('-'),
            false => {}
        }
    }
    let slug: String = slug.trim_matches(['-', '.', '_']).chars().take(48).collect();
    if slug.is_empty() { "room".to_owned() } else { slug }
}
