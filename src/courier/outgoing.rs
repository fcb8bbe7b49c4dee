//! Outgoing: the mail on its way to one room of the network, and its states on the disk.
//!
//! A letter waits in `inbox`. Once the server has acknowledged it, it is moved to `carried`; the receipt of its room moves it to
//! `archive` or `failed`. None of these moves is synced: after a power cut a letter is back in an earlier state, is sent again,
//! and the mailbox of its recipient knows it.

use std::collections::{BTreeMap, HashMap};

use super::Result;
use super::parcel::{LetterContent, LetterNames, ReceiptItem, ReceiptState, letter_key};
use crate::clock::Timestamp;
use crate::journal::Event;
use crate::mailbox::attachments::FileToSend;
use crate::mailbox::claim::Attempt;
use crate::mailbox::reading::mtime;
use crate::mailbox::{Dir, Folder, IfAny, Mailbox};
use crate::message::{Envelope, file_name};
use crate::name::{MailboxId, MessageId, RoomName};
use crate::network::NetworkName;
use crate::post::Post;

/// The mail on its way to one room.
#[derive(Debug)]
pub(super) struct Outgoing<'a> {
    /// This room.
    pub(super) here: &'a Post,
    /// The mail for the other one.
    pub(super) there: Post,
    pub(super) room: RoomName,
    pub(super) network: NetworkName,
}

/// A letter on the disk.
#[derive(Debug, Clone)]
pub(super) struct LetterFile {
    pub(super) mailbox: MailboxId,
    pub(super) name: String,
    pub(super) time: Timestamp,
    pub(super) folder: Folder,
}

/// A letter that can be sent.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) file: LetterFile,
    pub(super) content: LetterContent,
    pub(super) body: String,
    pub(super) files: Vec<FileToSend>,
}

impl Ready {
    pub(super) fn key(&self) -> String {
        letter_key(&self.content.id, &self.content.to)
    }

    /// Letters with the same sender and recipient keep their order.
    pub(super) fn pair(&self) -> (String, String) {
        (self.content.from.clone(), self.content.to.clone())
    }
}

impl<'a> Outgoing<'a> {
    /// `None` if the room is not known here.
    pub(super) fn of(here: &'a Post, network: &NetworkName, room: &RoomName) -> Result<Option<Self>> {
        let there = here.on_network(room)?;
        Ok(there.map(|there| Self { here, there, room: room.clone(), network: network.clone() }))
    }

    pub(super) fn mailboxes(&self) -> Result<Vec<MailboxId>> {
        let names = self.there.room().root().names(|_, kind| kind == rustix::fs::FileType::Directory)?;
        Ok(names.iter().filter_map(|name| MailboxId::parse(name).ok()).collect())
    }

    /// The letters of a folder, in the order in which they were written; at most about `limit`.
    pub(super) fn letters(&self, folder: Folder, limit: usize) -> Result<Vec<LetterFile>> {
        let mut found = vec![];
        for id in self.mailboxes()? {
            let Some(dir) = self.there.mailbox(&id)?.home().folder_if_any(folder)? else { continue };
            let names = first(&dir, limit)?;
            for name in names {
                let Some(stat) = dir.stat(&name).if_any()? else { continue };
                found.push(LetterFile { mailbox: id.clone(), name, time: mtime(&stat), folder });
            }
        }
        found.sort_by(|a, b| (a.time, &a.name).cmp(&(b.time, &b.name)));
        Ok(found)
    }

    /// Shows every letter of a folder, in no order, without holding all their names.
    pub(super) fn each(&self, folder: Folder, mut see: impl FnMut(LetterFile) -> Result<()>) -> Result<()> {
        for id in self.mailboxes()? {
            let Some(dir) = self.there.mailbox(&id)?.home().folder_if_any(folder)? else { continue };
            let mut seen: Result<()> = Ok(());
            dir.scan(|name, _| {
                let Some(text) = str::from_utf8(name).ok().filter(|_| file_name::is_message(name)) else {
                    return;
                };
                if seen.is_ok() {
                    seen = dir.stat(text).if_any().map_err(Into::into).and_then(|stat| {
                        let Some(stat) = stat else { return Ok(()) };
                        see(LetterFile {
                            mailbox: id.clone(),
                            name: text.to_owned(),
                            time: mtime(&stat),
                            folder,
                        })
                    });
                }
            })?;
            seen?;
        }
        Ok(())
    }

    /// Reads a letter. `None` if it is gone, or is no message.
    pub(super) fn read(&self, file: &LetterFile) -> Result<Option<Ready>> {
        let mailbox = self.there.mailbox(&file.mailbox)?;
        let (message, _) = match self.there.message(&mailbox, file.folder, &file.name) {
            Ok(Some(read)) => read,
            Ok(None) => return Ok(None),
            Err(broken) if broken.transient => {
                return Err(crate::post::Error::Failing { why: broken.why }.into());
            }
            // A file that was put here by hand, and is no message.
            Err(_) => return Ok(None),
        };
        let envelope = &message.envelope;
        let files = mailbox.files_to_send(&envelope.id, envelope)?;
        let name = self.here.name_of(envelope.from.as_str()).to_owned();
        let names = LetterNames { to: file.mailbox.as_str(), from_name: &name, file: &file.name };
        let content = LetterContent::of(envelope, &names);
        Ok(Some(Ready { file: file.clone(), content, body: message.body, files }))
    }

    /// The key of a letter, and its pair, without its body. `None` if it is gone, or is no message.
    pub(super) fn identify(&self, file: &LetterFile) -> Result<Option<(String, (String, String))>> {
        let mailbox = self.there.mailbox(&file.mailbox)?;
        let Some(envelope) = self.envelope(&mailbox, file.folder, &file.name)? else { return Ok(None) };
        let to = file.mailbox.to_string();
        let key = letter_key(envelope.id.as_str(), &to);
        Ok(Some((key, (envelope.from.as_str().to_owned(), to))))
    }

    /// The server has these letters.
    pub(super) fn carried(&self, letters: &[(LetterFile, String)]) -> Result<()> {
        let mut open: HashMap<&MailboxId, Mailbox> = HashMap::new();
        for (letter, id) in letters.iter().filter(|(letter, _)| letter.folder == Folder::Inbox) {
            if !open.contains_key(&letter.mailbox) {
                open.insert(&letter.mailbox, self.there.mailbox(&letter.mailbox)?);
            }
            let Some(mailbox) = open.get(&letter.mailbox) else { continue };
            self.moved(mailbox, Folder::Inbox, &letter.name, Folder::Carried)?;
            self.record("carried", &letter.mailbox, (id, &letter.name), "");
        }
        Ok(())
    }

    /// Moves a letter without sync; `false` if it is not there.
    fn moved(&self, mailbox: &Mailbox, from: Folder, name: &str, to: Folder) -> Result<bool> {
        let home = mailbox.home();
        let Some(source) = home.folder_if_any(from)? else { return Ok(false) };
        let target = home.made_folder(to.as_str())?;
        match source.publish(name, &target, name) {
            Ok(()) => Ok(true),
            Err(e) if e.is_missing() => Ok(false),
            // It came back in the meantime, for one reason or another: the later state counts.
            Err(crate::mailbox::Error::Exists { .. }) => {
                source.remove(name).if_any()?;
                Ok(true)
            }
            Err(e) => Err(e.into()),
        }
    }

    fn record(&self, event: &str, mailbox: &MailboxId, (id, file): (&str, &str), note: &str) {
        self.there.record(Event {
            id: id.to_owned(),
            file: file.to_owned(),
            note: note.to_owned(),
            ..Event::new(event, mailbox.as_str())
        });
    }

    /// Takes a receipt of the room: evidence about one of the letters that went there. `false` if there is no such letter.
    pub(super) fn receipt(&self, item: &ReceiptItem) -> Result<bool> {
        let Ok(id) = MailboxId::parse(&item.to) else { return Ok(false) };
        let is_its = MessageId::parse_lenient(&item.id)
            .is_ok_and(|id| id.short().as_deref() == file_name::short(&item.file));
        let can_be_file = item.file.len() <= 255 && !item.file.contains(['/', '\0']);
        if !is_its || !can_be_file || !file_name::is_message(item.file.as_bytes()) {
            return Ok(false);
        }
        if self.there.room().extent(&id) == crate::room::Extent::Absent {
            return Ok(false);
        }
        let mailbox = self.there.mailbox(&id)?;
        if item.state == ReceiptState::Failed {
            return Ok(
                self.given_up(&mailbox, &item.file, &item.why)? || self.given_up_there(&mailbox, item)?
            );
        }
        let mut is_here = false;
        for from in [Folder::Carried, Folder::Inbox] {
            is_here = is_here || self.moved(&mailbox, from, &item.file, Folder::Archive)?;
        }
        if is_here {
            // Its copy is kept for a while from now, however long it was on its way.
            mailbox.home().folder(Folder::Archive)?.touch(&item.file)?;
        }
        if !is_here && !in_archive(&mailbox, &item.file)? {
            return Ok(false);
        }
        let why = crate::message::visible::clip(&item.why, 200);
        self.record(item.state.as_str(), &id, (&item.id, &item.file), &why);
        Ok(true)
    }

    /// Gives up a letter that can never be carried.
    pub(super) fn give_up(&self, letter: &LetterFile, why: &str) -> Result<bool> {
        self.given_up(&self.there.mailbox(&letter.mailbox)?, &letter.name, why)
    }

    /// Tells the sender of a letter that it came to nothing, then moves it to `failed`: an interruption repeats both. `false` if
    /// it is not on its way.
    fn given_up(&self, mailbox: &Mailbox, file: &str, why: &str) -> Result<bool> {
        let why = crate::message::visible::clip(why, 300);
        for folder in [Folder::Carried, Folder::Inbox] {
            let Some(envelope) = self.envelope(mailbox, folder, file)? else { continue };
            self.tell(mailbox.id(), &envelope, &why)?;
            mailbox.note_attempt(file, &self.failed_attempt(mailbox, &why))?;
            self.moved(mailbox, folder, file, Folder::Failed)?;
            self.record("failed", mailbox.id(), (envelope.id.as_str(), file), &why);
            return Ok(true);
        }
        Ok(false)
    }

    /// A letter that had arrived was given up in its room, which tells the sender itself.
    fn given_up_there(&self, mailbox: &Mailbox, item: &ReceiptItem) -> Result<bool> {
        let why = crate::message::visible::clip(&item.why, 300);
        let is_there = in_archive(mailbox, &item.file)?;
        if is_there {
            mailbox.note_attempt(&item.file, &self.failed_attempt(mailbox, &why))?;
            self.moved(mailbox, Folder::Archive, &item.file, Folder::Failed)?;
            self.record("failed", mailbox.id(), (&item.id, &item.file), &why);
        }
        Ok(is_there)
    }

    fn failed_attempt(&self, mailbox: &Mailbox, why: &str) -> Attempt {
        Attempt {
            v: 1,
            time: self.there.room().clock().now().to_string(),
            token: crate::mailbox::Token::fresh().to_string(),
            owner: mailbox.id().to_string(),
            how: "failed".to_owned(),
            why: why.to_owned(),
        }
    }

    fn tell(&self, to: &MailboxId, envelope: &Envelope, why: &str) -> Result<()> {
        // A notice is not answered by another.
        if envelope.extra(crate::post::BOUNCE).is_some() {
            return Ok(());
        }
        let name = self.called(to);
        match self.here.tell_uncarried(&self.network, &self.room, (to, &name), envelope, why) {
            // Its sender is gone; the dead letter is all there is to see.
            Err(crate::post::Error::NoSender { .. } | crate::post::Error::NoMailbox { .. }) => Ok(()),
            Ok(receipt) => match receipt.outcome {
                crate::post::Outcome::Failed(e) => Err(e.into()),
                _ => Ok(()),
            },
            Err(e) => Err(e.into()),
        }
    }

    /// The name of a recipient, also of one that is gone there: its mailbox keeps the name.
    fn called(&self, id: &MailboxId) -> String {
        let known = self.there.name_of(id.as_str());
        let card = || {
            let home = self.there.room().root().sub(id.as_str()).ok()?;
            let card = home.read("card.json", crate::mailbox::maildir::CARD_LIMIT).ok()??;
            Some(crate::registry::Registry::parse(&card).ok()?.entries.first()?.name.clone())
        };
        if known == id.as_str() { card().unwrap_or_else(|| known.to_owned()) } else { known.to_owned() }
    }

    pub(super) fn envelope(&self, mailbox: &Mailbox, folder: Folder, file: &str) -> Result<Option<Envelope>> {
        Ok(self.there.header_if_message(mailbox, folder, file)?.map(|header| header.envelope))
    }

    /// Finds a letter by its key, in the folders from which it can be sent.
    pub(super) fn find(&self, key: &str) -> Result<Option<LetterFile>> {
        let Some((id, to)) = key.split_once('/') else { return Ok(None) };
        let (Ok(id), Ok(to)) = (MessageId::parse_lenient(id), MailboxId::parse(to)) else { return Ok(None) };
        if self.there.room().extent(&to) == crate::room::Extent::Absent {
            return Ok(None);
        }
        let mailbox = self.there.mailbox(&to)?;
        for folder in [Folder::Carried, Folder::Inbox] {
            for name in mailbox.twins(folder, &id)? {
                if self.envelope(&mailbox, folder, &name)?.is_some_and(|envelope| envelope.id == id) {
                    let time = self.there.room().clock().now();
                    return Ok(Some(LetterFile { mailbox: to, name, time, folder }));
                }
            }
        }
        Ok(None)
    }

    /// The directories in which a letter may arrive.
    pub(super) fn watched(&self) -> Result<Vec<std::path::PathBuf>> {
        let root = self.there.room().path().to_owned();
        let inboxes = self.mailboxes()?.into_iter().map(|id| root.join(id.as_str()).join("inbox"));
        Ok(inboxes.chain([root.clone()]).collect())
    }
}

/// The first names of a folder by the second in them, at least `limit`. All of one second, or none: the order within it is in the
/// times of the files.
fn first(dir: &Dir, limit: usize) -> Result<Vec<String>> {
    let (mut groups, mut total): (BTreeMap<String, Vec<String>>, usize) = (BTreeMap::new(), 0);
    dir.scan(|name, _| {
        let Some(text) = str::from_utf8(name).ok().filter(|_| file_name::is_message(name)) else { return };
        let second = file_name::second(text);
        if total >= limit && groups.last_key_value().is_none_or(|(last, _)| second > last.as_str()) {
            return;
        }
        groups.entry(second.to_owned()).or_default().push(text.to_owned());
        total += 1;
        while let Some(last) = groups.last_entry()
            && total - last.get().len() >= limit
        {
            total -= last.remove().len();
        }
    })?;
    Ok(groups.into_values().flatten().collect())
}

/// Whether a letter is in the archive. A failing disk is an error: the receipt comes again.
fn in_archive(mailbox: &Mailbox, file: &str) -> Result<bool> {
    let dir = mailbox.home().folder_if_any(Folder::Archive)?;
    Ok(dir.map(|dir| dir.stat(file).if_any()).transpose()?.flatten().is_some())
}
