//! The trash of a room: pruned mail, kept for thirty days (format.md §15).
//!
//! ```text
//! <root>/.trash/<UTC time>-<8 hex>/            one prune; the digits are its id
//!                    /mailboxes/<id>/          a whole mailbox
//!                    /mailboxes/<id>.json      its names and groups, written before it is moved
//!                    /mail/<id>/<folder>/      finished mail, with its attempts in attempts/
//!                    /mail/<id>/attachments/<message>/    its attachments
//!                    /runs/<run>/              what was kept of a run of a workflow
//! ```
//!
//! All moves are renames. A mailbox that is here while its name is still registered comes from a prune that was
//! interrupted before it counted the new mail; [`return_unfinished`] moves it back.

use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::FileType;

use super::attachments;
use super::claim::ATTEMPTS;
use super::disk::Dir;
use super::fault::{Error, IfAny, Result};
use super::folder::Folder;
use super::maildir::Maildir;
use crate::clock::Timestamp;
use crate::message::file_name;
use crate::name::MailboxId;
use crate::random;

pub const FOLDER: &str = ".trash";
pub const MAIL: &str = "mail";
const MAILBOXES: &str = "mailboxes";
const RUNS: &str = "runs";

/// How long pruned mail can be restored.
pub const KEPT: Duration = Duration::from_secs(30 * 86_400);

/// The longest note of a mailbox that is read.
const NOTE_LIMIT: u64 = 1024 * 1024;

/// The trash of a room, open.
#[derive(Debug)]
pub struct Trash {
    dir: Dir,
}

/// A folder of a mailbox, as far as it is in a bag.
#[derive(Debug)]
pub struct TrashedFolder {
    pub mailbox: MailboxId,
    pub folder: String,
    /// Of its files; in `attachments/`, of its directories.
    pub names: Vec<String>,
}

/// The content of one prune.
#[derive(Debug)]
pub struct Bag {
    pub id: String,
    pub at: Timestamp,
    name: String,
    dir: Dir,
}

impl Trash {
    /// The trash of a room, if it ever had one.
    pub fn existing(root: &Dir) -> Result<Option<Self>> {
        Ok(root.sub_if_any(FOLDER)?.map(|dir| Self { dir }))
    }

    pub fn make(root: &Dir) -> Result<Self> {
        Ok(Self { dir: root.create_dir_synced(FOLDER)? })
    }

    /// An empty bag for a new prune. Durable on return.
    pub fn new_bag(&self, now: Timestamp) -> Result<Bag> {
        let id = random::hex();
        let name = format!("{}-{id}", now.compact());
        let dir = self.dir.create_dir_synced(&name)?;
        Ok(Bag { id, at: now, name, dir })
    }

    /// All bags, the newest first.
    pub fn bags(&self) -> Result<Vec<Bag>> {
        let mut bags = vec![];
        for name in names(&self.dir, FileType::Directory)? {
            let Some((at, id)) = name.split_once('-').and_then(|(at, id)| Some((Timestamp::parse(at)?, id)))
            else {
                continue;
            };
            let id = id.to_owned();
            // Another prune may be removing it.
            bags.extend(self.dir.sub_if_any(&name)?.map(|dir| Bag { id, at, name, dir }));
        }
        bags.sort_by(|a, b| b.name.cmp(&a.name));
        Ok(bags)
    }

    /// Deletes a bag.
    pub fn remove(&self, bag: &Bag) -> Result<()> {
        self.dir.remove_tree(&bag.name).if_any()?.map_or(Ok(()), |()| self.dir.sync())
    }

    /// Deletes the bags that are too old; returns their number.
    pub fn expire(&self, now: Timestamp) -> Result<usize> {
        let old: Vec<Bag> = self.bags()?.into_iter().filter(|bag| now.since(bag.at) >= KEPT).collect();
        old.iter().try_for_each(|bag| self.remove(bag))?;
        Ok(old.len())
    }
}

impl Bag {
    /// Records the names of a mailbox before it is moved here. Durable on return.
    pub fn note(&self, id: &MailboxId, note: &[u8]) -> Result<()> {
        self.dir.create_dir_synced(MAILBOXES)?.replace_synced(&format!("{id}.json"), note)
    }

    pub fn note_path(&self, id: &MailboxId) -> PathBuf {
        self.dir.path().join(MAILBOXES).join(format!("{id}.json"))
    }

    /// Whether the directory of a mailbox is here.
    pub fn has_mailbox(&self, id: &MailboxId) -> Result<bool> {
        Ok(self.dir.sub_if_any(MAILBOXES)?.map_or(Ok(None), |dir| dir.sub_if_any(id.as_str()))?.is_some())
    }

    /// Removes the note of a mailbox that was not pruned after all.
    pub fn forget(&self, id: &MailboxId) -> Result<()> {
        self.dir.create_dir_synced(MAILBOXES)?.remove(&format!("{id}.json")).if_any().map(|_| ())
    }

    /// Moves a mailbox here; `None` if it has no directory. Durable on return.
    pub fn take_mailbox(&self, root: &Dir, id: &MailboxId) -> Result<Option<Maildir>> {
        let mailboxes = self.dir.create_dir_synced(MAILBOXES)?;
        if root.rename_dir(id.as_str(), &mailboxes, id.as_str()).if_any()?.is_none() {
            return Ok(None);
        }
        mailboxes.sync()?;
        root.sync()?;
        Ok(Some(Maildir::at(mailboxes.sub(id.as_str())?, id)))
    }

    /// Moves a mailbox back to its place; `false` if it is not here. Durable on return.
    pub fn return_mailbox(&self, root: &Dir, id: &MailboxId) -> Result<bool> {
        let Some(mailboxes) = self.dir.sub_if_any(MAILBOXES)? else { return Ok(false) };
        match mailboxes.rename_dir(id.as_str(), root, id.as_str()) {
            Err(e) if e.is_missing() => return Ok(false),
            // The directory was made again by hand.
            Err(Error::Exists { .. }) => merge(&mailboxes.sub(id.as_str())?, &root.sub(id.as_str())?)?,
            other => other?,
        }
        root.sync()?;
        mailboxes.sync()?;
        Ok(true)
    }

    /// The mailboxes of this prune, each with its note.
    pub fn mailboxes(&self) -> Result<Vec<(MailboxId, Vec<u8>)>> {
        let Some(mailboxes) = self.dir.sub_if_any(MAILBOXES)? else { return Ok(vec![]) };
        let mut found = vec![];
        for name in names(&mailboxes, FileType::RegularFile)? {
            let Some(id) = name.strip_suffix(".json").and_then(|id| MailboxId::parse(id).ok()) else {
                continue;
            };
            found.extend(mailboxes.read(&name, NOTE_LIMIT)?.map(|note| (id, note)));
        }
        Ok(found)
    }

    /// The directory for finished mail of a mailbox. Durable once the caller has synced it.
    pub fn made_mail(&self, id: &MailboxId, folder: &str) -> Result<Dir> {
        self.dir.create_dir_synced(MAIL)?.create_dir_synced(id.as_str())?.create_dir_synced(folder)
    }

    /// The folders with finished mail.
    pub fn mail(&self) -> Result<Vec<TrashedFolder>> {
        let Some(mail) = self.dir.sub_if_any(MAIL)? else { return Ok(vec![]) };
        let mut found = vec![];
        for name in names(&mail, FileType::Directory)? {
            let Ok(id) = MailboxId::parse(&name) else { continue };
            let dir = mail.sub(&name)?;
            for folder in names(&dir, FileType::Directory)? {
                let kind = match folder == attachments::FOLDER {
                    true => FileType::Directory,
                    false => FileType::RegularFile,
                };
                let names = names(&dir.sub(&folder)?, kind)?;
                found.push(TrashedFolder { mailbox: id.clone(), folder, names });
            }
        }
        Ok(found)
    }

    /// The directory for stored runs.
    pub fn made_runs(&self) -> Result<Dir> {
        self.dir.create_dir_synced(RUNS)
    }

    /// The runs of this prune.
    pub fn runs(&self) -> Result<Vec<String>> {
        self.dir.sub_if_any(RUNS)?.map_or(Ok(vec![]), |runs| names(&runs, FileType::Directory))
    }

    /// The folders of one mailbox that may contain an earlier delivery.
    pub fn searched(&self, id: &MailboxId) -> Result<Vec<(Folder, Dir)>> {
        let Some(mail) = self.dir.sub_if_any(MAIL)? else { return Ok(vec![]) };
        let Some(own) = mail.sub_if_any(id.as_str())? else { return Ok(vec![]) };
        let mut dirs = vec![];
        for folder in [Folder::Archive, Folder::Failed] {
            dirs.extend(own.sub_if_any(folder.as_str())?.map(|dir| (folder, dir)));
        }
        Ok(dirs)
    }
}

impl Maildir {
    /// Moves finished mail and its attempts into a bag. Succeeds if they are already gone. Durable on return.
    pub fn throw_away(&self, folder: Folder, names: &[&str], bag: &Bag) -> Result<()> {
        for word in [folder.as_str(), ATTEMPTS] {
            let Some(from) = self.dir().sub_if_any(word)? else { continue };
            let to = bag.made_mail(self.id(), word)?;
            transfer(&from, names, &to)?;
            from.sync()?;
        }
        Ok(())
    }

    /// Moves mail of one folder back from a bag. Durable on return.
    pub fn bring_back(&self, folder: &str, names: &[String], bag: &Bag) -> Result<()> {
        let (from, to) = (bag.made_mail(self.id(), folder)?, self.made_folder(folder)?);
        transfer(&from, names, &to)?;
        from.sync()
    }

    /// The folders in the room's trash that hold finished mail of this mailbox.
    pub(super) fn thrown_away(&self) -> Result<Vec<(Folder, Dir)>> {
        let Some(dir) = self.dir().beside(FOLDER)? else { return Ok(vec![]) };
        let mut dirs = vec![];
        for bag in (Trash { dir }).bags()? {
            dirs.extend(bag.searched(self.id())?);
        }
        Ok(dirs)
    }
}

/// Moves back a mailbox that an interrupted prune left here. `false` if there is none. The caller holds the registry's
/// lock, and knows that the name is registered.
pub fn return_unfinished(root: &Dir, id: &MailboxId) -> Result<bool> {
    let Some(trash) = Trash::existing(root)? else { return Ok(false) };
    for bag in trash.bags()? {
        if bag.return_mailbox(root, id)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Moves files to another directory, durable there. Succeeds if they are already gone.
fn transfer(from: &Dir, names: &[impl AsRef<str>], to: &Dir) -> Result<()> {
    let mut moved = vec![];
    for name in names {
        moved.extend(transfer_one(from, name.as_ref(), to)?);
    }
    to.sync_all_moved(&moved)
}

fn transfer_one(from: &Dir, name: &str, to: &Dir) -> Result<Option<String>> {
    match from.publish_free(name, to, file_name::candidates(name)) {
        // A workspace may be on another disk than the room.
        Err(e) if e.errno() == Some(rustix::io::Errno::XDEV) => copy_over(from, name, to),
        other => other,
    }
}

fn copy_over(from: &Dir, name: &str, to: &Dir) -> Result<Option<String>> {
    let Some(bytes) = from.read(name, u64::MAX / 2)? else { return Ok(None) };
    match to.create_synced(name, &bytes) {
        // An interrupted run copied it before.
        Err(Error::Exists { .. }) if to.read(name, u64::MAX / 2)?.as_deref() == Some(&bytes) => {}
        other => other?,
    }
    from.remove(name)?;
    Ok(Some(name.to_owned()))
}

/// Moves everything into a directory of the same shape. A message whose name is taken there gets a number; any other
/// such file stays here.
fn merge(from: &Dir, to: &Dir) -> Result<()> {
    for name in names(from, FileType::Directory)? {
        merge(&from.sub(&name)?, &to.create_dir_synced(&name)?)?;
    }
    let mut moving = names(from, FileType::RegularFile)?;
    moving.retain(|name| file_name::is_message(name.as_bytes()) || to.stat(name).is_err());
    transfer(from, &moving, to)?;
    from.sync()
}

/// Moves a directory of files, durable in its new place. Succeeds if it is already gone.
pub(super) fn move_dir(from: &Dir, name: &str, to: &Dir) -> Result<()> {
    match from.rename_dir(name, to, name) {
        Err(e) if e.is_missing() => return Ok(()),
        // An interrupted run moved a part of it, or it is on another disk.
        Err(e) if matches!(e, Error::Exists { .. }) || e.errno() == Some(rustix::io::Errno::XDEV) => {
            let own = from.sub(name)?;
            merge(&own, &to.create_dir_synced(name)?)?;
            if own.is_empty()? {
                from.remove_dir(name)?;
            }
        }
        other => other?,
    }
    to.sync()?;
    from.sync()
}

fn names(dir: &Dir, wanted: FileType) -> Result<Vec<String>> {
    dir.names(|_, kind| kind == wanted)
}
