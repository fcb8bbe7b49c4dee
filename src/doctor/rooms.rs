//! The doctor's checks of the root of a room: which entries may be there, and with which modes.

use rustix::fs::FileType;

use super::{Doctor, Grade, entries};
use crate::dispatch::runs;
use crate::journal;
use crate::mailbox::disk::check_above;
use crate::mailbox::{Dir, Error, IfAny};
use crate::name::MailboxId;
use crate::os::network;
use crate::registry::Registry;
use crate::room::{Extent, README};

/// Entries of a root that have a meaning.
const KNOWN: [&str; 11] = [
    ".postroom",
    "postroom.toml",
    "registry.json",
    "groups.json",
    ".registry.lock",
    ".journal",
    runs::FOLDER,
    crate::workflow::runs::FOLDER,
    ".staging",
    crate::mailbox::trash::FOLDER,
    crate::network::FOLDER,
];

impl Doctor<'_> {
    /// Checks the root and returns the ids of the mailboxes in it.
    pub(super) fn room_itself(&mut self) -> Result<Vec<MailboxId>, Error> {
        let root = self.room.root();
        if let Some(kind) = network(root.path()) {
            let what = format!(
                "lies on a network disk ({kind}): mail of other machines is found by looking every 2 s, and what \
                 survives a power cut, and whom a lock keeps out, is for its server to say"
            );
            self.find(Grade::Note, "§1.4", root.path(), what);
        }
        self.above();
        self.network()?;
        let mut mailboxes = vec![];
        for (name, kind) in entries(root)? {
            let path = root.path().join(&name);
            let Some(stat) = root.stat(&name).if_any()? else { continue };
            match (MailboxId::parse(&name), kind) {
                _ if KNOWN.contains(&name.as_str()) => self.modes(root, &name, &stat),
                (Ok(id), FileType::Directory) if self.is_mailbox(&id) => {
                    self.modes(root, &name, &stat);
                    mailboxes.push(id);
                }
                // A person may have written it, with a mode of their own.
                (_, FileType::RegularFile) if name == README => {}
                _ if name.starts_with(".registry.json.")
                    || name.starts_with(".README.md.")
                    || name.starts_with(".registry.tmp.")
                    || name.starts_with(".groups.json.")
                    || name.starts_with("..") =>
                {
                    self.litter(root, &name)
                }
                (_, FileType::Symlink) => {
                    self.find(Grade::Fault, "§1.3", path, "is a symbolic link");
                }
                _ if name.starts_with("registry.json.broken-") || name.starts_with("groups.json.broken-") => {
                    let what = "could not be read; it was kept when a new one was built";
                    self.find(Grade::Note, "§6.3", path, what);
                }
                _ => {
                    self.find(Grade::Note, "§1.1", path, "is unknown to Postroom");
                }
            }
        }
        if let Some(folder) = self.folder(".staging")? {
            self.all_litter(&folder)?;
        }
        self.journal()?;
        if let Some(folder) = self.folder(runs::FOLDER)? {
            self.dispatched(&folder, 0)?;
        }
        self.workflows()?;
        Ok(mailboxes)
    }

    /// Checks that no other user can move the room away (§1.2).
    fn above(&mut self) {
        let root = self.room.path();
        let Err(e) = check_above(root) else { return };
        let cure = match &e {
            Error::LooseParent { path } => format!(": chmod go-w {}", path.display()),
            _ => String::new(),
        };
        self.find(Grade::Fault, "§1.2", root, format!("can be moved away: {e}{cure}"));
    }

    /// Whether a directory is a mailbox, or must become one because it is registered.
    fn is_mailbox(&self, id: &MailboxId) -> bool {
        self.room.extent(id) != Extent::Absent
            || Registry::load(self.room.root()).is_ok_and(|registry| registry.by_id(id).is_some())
    }

    /// Repeats what the server of the network is known not to promise.
    fn network(&mut self) -> Result<(), Error> {
        let root = self.room.path().to_owned();
        for lack in crate::network::ContactNote::of(&root)?.into_iter().flat_map(|note| note.lacks) {
            self.find(Grade::Note, "§16", root.join(crate::network::FOLDER), lack);
        }
        Ok(())
    }

    fn folder(&self, name: &str) -> Result<Option<Dir>, Error> {
        self.room.root().sub_if_any(name)
    }

    /// Checks the dispatcher's files (§7.4). Files that an agent wrote into the directory of its run are its own.
    fn dispatched(&mut self, folder: &Dir, depth: usize) -> Result<(), Error> {
        for (name, kind) in entries(folder)? {
            let Some(stat) = folder.stat(&name).if_any()? else { continue };
            match kind {
                FileType::RegularFile if depth == 2 && name == "last" => {}
                FileType::RegularFile if name.starts_with('.') && !name.ends_with(".lock") => {
                    self.litter(folder, &name)
                }
                FileType::RegularFile => self.modes(folder, &name, &stat),
                FileType::Directory if depth < 2 => {
                    self.modes(folder, &name, &stat);
                    if let Some(below) = folder.sub_if_any(&name)? {
                        self.dispatched(&below, depth + 1)?;
                    }
                }
                FileType::Directory => {}
                _ => {
                    let path = folder.path().join(&name);
                    self.find(Grade::Fault, "§1.3", path, "is neither a file nor a directory");
                }
            }
        }
        Ok(())
    }

    fn journal(&mut self) -> Result<(), Error> {
        let Some(folder) = self.folder(".journal")? else { return Ok(()) };
        for (name, kind) in entries(&folder)? {
            if kind == FileType::RegularFile {
                self.modes_of(&folder, &name)?;
            } else {
                self.find(Grade::Fault, "§1.3", folder.path().join(&name), "is not a regular file");
            }
        }
        if self.fix {
            journal::prune(self.room)?;
        }
        Ok(())
    }
}
