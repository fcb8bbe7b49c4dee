//! Attachments: files beside the messages of a mailbox (format.md §3.5).
//!
//! ```text
//! <root>/<id>/attachments/<message>/NAME    one directory per message; nothing here says whose it is but its name
//!            /.attach.lock                  flocked while a delivery that may be a retry puts its files here
//! ```
//!
//! They are in the home of the mailbox, whatever its protocol; only a mailbox of another room has its home there. The files
//! are durable before the message is published, so a message that is there has its files. A delivery that fails takes
//! back what it made. What an interrupted one leaves is litter.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::disk::Dir;
use super::fault::{Error, Result};
use super::folder::Folder;
use super::lock::Lock;
use super::maildir::Maildir;
use super::place::Place;
use super::{Mailbox, TEXT_LIMIT, trash};
use crate::message::{Attachment, Envelope, any};
use crate::name::{MailboxId, MessageId};
use crate::random;

pub const FOLDER: &str = "attachments";
pub const LOCK: &str = ".attach.lock";

/// How much of a file is compared at once.
const PART: usize = 64 * 1024;

/// A file to send.
#[derive(Debug, Clone)]
pub struct FileToSend {
    pub attachment: Attachment,
    pub bytes: Arc<[u8]>,
}

/// An attachment as its reader finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    pub attachment: Attachment,
    pub state: FileState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// It is what was sent.
    Here(PathBuf),
    /// There is no such file: it was removed, or the field was written by hand.
    Missing,
    /// Other bytes, or something else than a file.
    Changed,
    /// The disk failed, so its state is unknown.
    Unreadable(String),
}

impl FoundFile {
    /// `NAME SIZE bytes PATH`, or what is wrong in the place of the path.
    pub fn line(&self) -> String {
        let Attachment { name, size, .. } = &self.attachment;
        let state = match &self.state {
            FileState::Here(path) => path.display().to_string(),
            FileState::Missing => "missing".to_owned(),
            FileState::Changed => "changed".to_owned(),
            FileState::Unreadable(why) => format!("unreadable: {why}"),
        };
        format!("{name} {} bytes {state}", grouped(*size))
    }
}

/// A number with a comma between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let comma = |at: usize| if at > 0 && (digits.len() - at).is_multiple_of(3) { "," } else { "" };
    digits.char_indices().map(|(at, digit)| format!("{}{digit}", comma(at))).collect()
}

/// The messages that attachments may belong to, by the directory of their files.
#[derive(Debug, Default)]
pub struct Owners {
    pub named: HashMap<MailboxId, Vec<Attachment>>,
    /// Messages in the trash. Their files are there too, unless their prune was interrupted.
    pub pruned: HashSet<MailboxId>,
    /// A file could not be read, so it may own anything.
    pub is_incomplete: bool,
}

impl Owners {
    pub fn add(&mut self, id: &MessageId, envelope: &Envelope) {
        self.named.extend(folder_of(id).map(|folder| (folder, Attachment::all(envelope))));
    }

    /// Adds all messages of a place, whatever their state.
    pub(super) fn add_all(&mut self, place: &dyn Place) -> Result<()> {
        let dirs = place.search_dirs()?;
        dirs.iter().try_for_each(|(_, dir)| self.add_dir(dir, |name| place.is_message(name)))
    }

    fn add_dir(&mut self, dir: &Dir, is_message: impl Fn(&[u8]) -> bool) -> Result<()> {
        for name in dir.names(|name, _| is_message(name.as_bytes()))? {
            match dir.read(&name, TEXT_LIMIT).map(|bytes| bytes.map(|bytes| any::parse_named(&bytes, &name)))
            {
                Ok(Some(Ok(message))) => self.add(&message.envelope.id, &message.envelope),
                // Another process moved it; the next look finds it.
                Ok(None) => {}
                Err(e @ Error::Io { .. }) => return Err(e),
                Ok(Some(Err(_))) | Err(_) => self.is_incomplete = true,
            }
        }
        Ok(())
    }
}

/// The files of a message that is not delivered yet.
#[derive(Debug)]
pub struct PlacedFiles<'a> {
    keeper: &'a Maildir,
    folder: MailboxId,
    /// Those that were not there before.
    made: Vec<String>,
    _turn: Option<Lock>,
}

impl Mailbox {
    /// Puts the files of a message into this mailbox; durable on return. A message that `is_there` keeps the files it has. With
    /// `retry` the id may have been used before, and other deliveries with it wait.
    pub fn place_files<E: From<Error>>(
        &self,
        id: &MessageId,
        files: &[FileToSend],
        retry: bool,
        is_there: impl FnOnce() -> std::result::Result<bool, E>,
    ) -> std::result::Result<PlacedFiles<'_>, E> {
        let keeper = self.keeper();
        let wrong = || Error::Content {
            path: keeper.dir().path().to_owned(),
            why: format!("the id {id} cannot be the name of a directory, which attachments need"),
        };
        let folder = folder_of(id).ok_or_else(wrong)?;
        let turn = retry.then(|| keeper.dir().lock(LOCK)).transpose()?;
        let mut placed = PlacedFiles { keeper, folder, made: vec![], _turn: turn };
        let written = placed.write(files, is_there);
        match written {
            Ok(()) => Ok(placed),
            Err(e) => {
                placed.take_back();
                Err(e)
            }
        }
    }

    /// The attachments that a message of this mailbox names, each compared with its file.
    pub fn files_of(&self, envelope: &Envelope) -> Vec<FoundFile> {
        let found = |attachment| FoundFile { state: self.state_of(&envelope.id, &attachment), attachment };
        Attachment::all(envelope).into_iter().map(found).collect()
    }

    fn state_of(&self, id: &MessageId, attachment: &Attachment) -> FileState {
        let found = self.files_at(id).and_then(|own| match own {
            Some(own) => Ok((own.path().join(&attachment.name), compare(&own, attachment)?)),
            None => Ok((PathBuf::new(), Compared::Missing)),
        });
        match found {
            Ok((path, Compared::Same)) => FileState::Here(path),
            Ok((_, Compared::Other)) => FileState::Changed,
            Ok((_, Compared::Missing)) => FileState::Missing,
            Err(e) => FileState::Unreadable(e.to_string()),
        }
    }

    /// The attachments of a message of this mailbox that are here as they were sent, to send them on.
    pub fn files_to_send(&self, id: &MessageId, envelope: &Envelope) -> Result<Vec<FileToSend>> {
        let mut files = vec![];
        for attachment in Attachment::all(envelope) {
            let Some(own) = self.files_at(id)? else { continue };
            // Without its file it is only text.
            if compare(&own, &attachment)? == Compared::Same
                && let Some(bytes) = own.read(&attachment.name, attachment.size)?
                && attachment.is(&bytes)
            {
                files.push(FileToSend { attachment, bytes: bytes.into() });
            }
        }
        Ok(files)
    }

    /// The directory with the files of a message.
    fn files_at(&self, id: &MessageId) -> Result<Option<Dir>> {
        match (folder_of(id), self.attachments()?) {
            (Some(folder), Some(all)) => all.sub_if_any(folder.as_str()),
            _ => Ok(None),
        }
    }

    /// The messages that the attachments of this mailbox belong to: here, at its home, and in the trash. Looks twice,
    /// because a message may be moving.
    pub fn owners_of_files(&self) -> Result<Owners> {
        let mut owners = Owners::default();
        for _ in 0..2 {
            self.owners(&mut owners)?;
            if !self.is_home() {
                owners.add_all(self.home())?;
            }
            let mut pruned = Owners::default();
            for (_, dir) in self.home().thrown_away()? {
                pruned.add_dir(&dir, |name| self.is_message(name))?;
            }
            owners.pruned.extend(pruned.named.into_keys());
            owners.is_incomplete |= pruned.is_incomplete;
        }
        let quarantine = self.home().folder_if_any(Folder::Quarantine)?;
        owners.is_incomplete |= quarantine.is_some_and(|dir| !dir.is_empty().unwrap_or(false));
        Ok(owners)
    }

    /// The folder of all attachments, if there is one.
    pub fn attachments(&self) -> Result<Option<Dir>> {
        self.keeper().dir().sub_if_any(FOLDER)
    }

    /// Moves the attachments of messages into a bag of the trash. Durable on return.
    pub fn throw_files_away(&self, messages: &[MessageId], bag: &trash::Bag) -> Result<()> {
        let Some(from) = self.attachments()?.filter(|_| !messages.is_empty()) else { return Ok(()) };
        let to = bag.made_mail(self.id(), FOLDER)?;
        messages.iter().filter_map(folder_of).try_for_each(|own| trash::move_dir(&from, own.as_str(), &to))
    }

    /// Moves attachments back from a bag. Durable on return.
    pub fn bring_files_back(&self, messages: &[String], bag: &trash::Bag) -> Result<()> {
        let (from, to) = (bag.made_mail(self.id(), FOLDER)?, self.keeper().made_folder(FOLDER)?);
        messages.iter().try_for_each(|own| trash::move_dir(&from, own, &to))
    }
}

impl PlacedFiles<'_> {
    fn write<E: From<Error>>(
        &mut self,
        files: &[FileToSend],
        is_there: impl FnOnce() -> std::result::Result<bool, E>,
    ) -> std::result::Result<(), E> {
        let all = self.keeper.made_folder(FOLDER)?;
        let own = all.create_dir(self.folder.as_str())?;
        let mut is_there = Some(is_there);
        for FileToSend { attachment, bytes } in files {
            let name = &attachment.name;
            match compare(&own, attachment)? {
                Compared::Same => {}
                Compared::Missing => {
                    let staged = format!(".{name}.{}", random::unique_hex());
                    own.stage(&staged, bytes)?;
                    own.publish(&staged, &own, name).inspect_err(|_| drop(own.remove(&staged)))?;
                    self.made.push(name.clone());
                }
                Compared::Other => {
                    // Its message decides: without one, an interrupted delivery left the file.
                    if let Some(true) = is_there.take().map(|is_there| is_there()).transpose()? {
                        return Ok(());
                    }
                    own.replace_synced(name, bytes)?;
                }
            }
        }
        // An earlier run may have been interrupted before these.
        own.sync()?;
        Ok(all.sync()?)
    }

    /// Removes what was made, because the message was not delivered.
    pub fn take_back(self) {
        let remove = || -> Result<()> {
            let Some(all) = self.keeper.dir().sub_if_any(FOLDER)? else { return Ok(()) };
            let own = all.sub(self.folder.as_str())?;
            self.made.iter().try_for_each(|name| own.remove(name))?;
            match own.is_empty()? {
                true => all.remove_dir(self.folder.as_str()),
                false => Ok(()),
            }
        };
        // What stays is litter, and the doctor removes it.
        drop(remove());
    }
}

/// What is under the name of an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    Same,
    /// Other bytes, or something else than a file of this user.
    Other,
    Missing,
}

/// Compares an attachment with the file of its name, part by part: a field by hand may claim any size.
pub fn compare(dir: &Dir, attachment: &Attachment) -> Result<Compared> {
    let mut opened = match dir.open_file(&attachment.name) {
        Err(e) if e.is_missing() => return Ok(Compared::Missing),
        Err(e @ Error::Io { .. }) => return Err(e),
        Err(_) => return Ok(Compared::Other),
        Ok(opened) => opened,
    };
    let same = attachment.is_made_of(|| opened.head(PART))?;
    Ok(if same { Compared::Same } else { Compared::Other })
}

/// The directory of a message. Ids that Postroom writes are path components; one that is not has no attachments.
pub fn folder_of(id: &MessageId) -> Option<MailboxId> {
    MailboxId::parse(id.as_str()).ok()
}
