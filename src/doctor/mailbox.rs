//! The doctor on one mailbox: its directories, and every message in them.

use std::collections::HashMap;
use std::ffi::OsString;

use rustix::fs::FileType;

use super::{Doctor, Grade, entries};
use crate::mailbox::maildir::Folder;
use crate::mailbox::{Dir, Error, Maildir};
use crate::message::{Envelope, file_name};
use crate::name::{MailboxId, MessageId};

/// What lies in a mailbox beside its folders.
const KNOWN: [&str; 5] = ["card.json", "seen", ".alive", ".deliver.lock", ".answer.lock"];

impl Doctor<'_> {
    pub(super) fn mailbox(&mut self, id: &MailboxId) -> Result<(), Error> {
        let mailbox = match Maildir::open(self.room.root(), id) {
            Ok(mailbox) => mailbox,
            Err(e) => {
                self.find(
                    Grade::Fault,
                    "§2.2",
                    self.room.path().join(id.as_str()).display().to_string(),
                    e.to_string(),
                );
                return Ok(());
            }
        };
        let dir = mailbox.dir();
        for folder in ["tmp", "inbox", "archive"] {
            if dir.stat(folder).is_err_and(|e| e.is_missing()) {
                let path = dir.path().join(folder).display().to_string();
                self.mend(Grade::Fault, "§2.2", path, "is missing".into(), || {
                    dir.make_sub(folder).and_then(|_| dir.sync())
                });
            }
        }
        let mut ids = HashMap::new();
        for (name, kind) in entries(dir)? {
            let path = dir.path().join(&name).display().to_string();
            if let Ok(stat) = dir.stat(&name) {
                self.modes(dir, &name, &stat);
            }
            match (name.as_str(), kind) {
                ("tmp", FileType::Directory) => self.all_litter(&dir.sub("tmp")?)?,
                ("answering", FileType::Directory) => self.all_litter(&dir.sub("answering")?)?,
                ("inbox", FileType::Directory) => self.messages(&mailbox, Folder::Inbox, &mut ids)?,
                ("archive", FileType::Directory) => self.messages(&mailbox, Folder::Archive, &mut ids)?,
                ("quarantine", FileType::Directory) => {
                    let count = entries(&dir.sub("quarantine")?)?.len();
                    if count > 0 {
                        self.find(Grade::Note, "§5.3", path, format!("holds {count} that could not be read"));
                    }
                }
                (_, FileType::Symlink) => {
                    self.find(Grade::Fault, "§1.3", path, "is a symbolic link");
                }
                (known, FileType::RegularFile) if KNOWN.contains(&known) => {}
                (staged, FileType::RegularFile) if staged.starts_with('.') => self.litter(dir, &name),
                _ => {
                    self.find(Grade::Note, "§2.2", path, "is nothing that Postroom knows");
                }
            }
        }
        Ok(())
    }

    fn all_litter(&mut self, dir: &Dir) -> Result<(), Error> {
        for (name, _) in entries(dir)? {
            self.litter(dir, &name);
        }
        Ok(())
    }

    fn messages(
        &mut self,
        mailbox: &Maildir,
        folder: Folder,
        ids: &mut HashMap<MessageId, String>,
    ) -> Result<(), Error> {
        let dir = mailbox.dir().sub(folder.word())?;
        let listing = mailbox.list(folder, usize::MAX)?;
        for (name, what) in &listing.strange {
            let path = dir.path().join(name).display().to_string();
            self.put_aside(mailbox, folder, name, path, format!("is {what}"));
        }
        for name in &listing.names {
            let path = dir.path().join(name).display().to_string();
            if let Ok(stat) = dir.stat(name) {
                self.modes(&dir, name, &stat);
            }
            match mailbox.message(folder, name, self.room.limits().body_bytes) {
                Ok(None) => {}
                Ok(Some((message, _))) => {
                    self.envelope(mailbox.id(), &message.envelope, name, &path);
                    if let Some(other) = ids.insert(message.envelope.id, path.clone()) {
                        self.find(Grade::Fault, "§3.3", path, format!("has the id of {other}"));
                    }
                }
                Err(broken) if broken.is_settled(self.now()) => {
                    self.put_aside(mailbox, folder, &OsString::from(name), path, broken.why);
                }
                Err(_) => {}
            }
        }
        for (name, _) in
            entries(&dir)?.into_iter().filter(|(name, _)| !file_name::is_message(name.as_bytes()))
        {
            self.find(
                Grade::Note,
                "§2.2",
                dir.path().join(name).display().to_string(),
                "is not called *.md, so nobody reads it",
            );
        }
        Ok(())
    }

    fn envelope(&mut self, id: &MailboxId, envelope: &Envelope, name: &str, path: &str) {
        if !envelope.to.is_empty() && envelope.to != id.as_str() {
            self.find(Grade::Fault, "§3.1", path, format!("is addressed to {}", envelope.to));
        }
        if let (Some(named), Some(short)) = (file_name::short(name), envelope.id.short())
            && named != short
        {
            self.find(
                Grade::Fault,
                "§3.2",
                path,
                format!("carries the digits {named}, but its id is {}", envelope.id),
            );
        }
        if file_name::short(name).is_some() && file_name::priority(name.as_bytes()) != envelope.priority {
            self.find(
                Grade::Note,
                "§3.2",
                path,
                format!("has the priority {} inside and another in its name", envelope.priority),
            );
        }
    }

    fn put_aside(&mut self, mailbox: &Maildir, folder: Folder, name: &OsString, path: String, what: String) {
        if folder == Folder::Inbox {
            self.mend(Grade::Fault, "§5.3", path, what, || mailbox.quarantine(name));
        } else {
            // An archive is never changed; whatever it holds was readable once.
            self.find(Grade::Fault, "§5.3", path, what);
        }
    }
}
