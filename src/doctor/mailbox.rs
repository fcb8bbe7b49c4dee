//! The doctor's checks of one mailbox: its directories, and every message in them.

use std::collections::HashMap;
use std::ffi::OsString;

use rustix::fs::FileType;

use super::{Doctor, Grade, entries};
use crate::mailbox::attachments::{self, FOLDER};
use crate::mailbox::claim;
use crate::mailbox::maildir::CARD_LIMIT;
use crate::mailbox::workspace::{self, MAILBOX};
use crate::mailbox::{Error, Folder, IfAny, Maildir, Token};
use crate::message::{Envelope, file_name};
use crate::name::{MailboxId, MessageId};

/// Entries of a mailbox besides its folders.
const KNOWN: [&str; 7] =
    ["card.json", "project", "seen", ".alive", ".deliver.lock", ".answer.lock", attachments::LOCK];

impl Doctor<'_> {
    pub(super) fn mailbox(&mut self, id: &MailboxId) -> Result<(), Error> {
        let mailbox = match Maildir::open(self.room.root(), id) {
            Ok(mailbox) => mailbox,
            Err(e) => {
                self.find(Grade::Fault, "§2.2", self.room.path().join(id.as_str()), e.to_string());
                return Ok(());
            }
        };
        let dir = mailbox.dir();
        for folder in ["tmp", "inbox", "archive"] {
            if dir.stat(folder).is_err_and(|e| e.is_missing()) {
                self.repair(Grade::Fault, "§2.2", dir.path().join(folder), "is missing", || {
                    dir.create_dir(folder).and_then(|_| dir.sync())
                });
            }
        }
        let mut ids = HashMap::new();
        for (name, kind) in entries(dir)? {
            let path = dir.path().join(&name);
            self.modes_of(dir, &name)?;
            match (name.as_str(), kind) {
                ("tmp", FileType::Directory) => self.all_litter(&dir.sub("tmp")?)?,
                ("answering", FileType::Directory) => self.all_litter(&dir.sub("answering")?)?,
                // These files only record that something was shown; they never do harm.
                ("shown", FileType::Directory) => {}
                (".mailbox", FileType::Directory) => self.answers_by_hand(&mailbox)?,
                ("inbox", FileType::Directory) => self.messages(&mailbox, Folder::Inbox, &mut ids)?,
                ("archive", FileType::Directory) => self.messages(&mailbox, Folder::Archive, &mut ids)?,
                ("failed", FileType::Directory) => self.messages(&mailbox, Folder::Failed, &mut ids)?,
                ("claimed", FileType::Directory) => self.claims(&mailbox, &mut ids)?,
                (FOLDER, FileType::Directory) => self.attachments(id)?,
                ("attempts", FileType::Directory) => self.attempts(&mailbox)?,
                ("quarantine", FileType::Directory) => {
                    let count = entries(&dir.sub("quarantine")?)?.len();
                    if count > 0 {
                        self.find(Grade::Note, "§5.3", path, format!("holds unreadable files: {count}"));
                    }
                }
                (_, FileType::Symlink) => {
                    self.find(Grade::Fault, "§1.3", path, "is a symbolic link");
                }
                ("holder", FileType::RegularFile) => {
                    let holder = dir.read("holder", CARD_LIMIT)?.unwrap_or_default();
                    let said = serde_json::from_slice::<serde_json::Value>(&holder).ok();
                    if said.is_none_or(|said| !said["program"].is_string() || !said["session"].is_string()) {
                        let what = "names no session, so this mailbox has no holder";
                        self.repair(Grade::Note, "§7.1", path, what, || dir.remove("holder"));
                    }
                }
                (known, FileType::RegularFile) if KNOWN.contains(&known) => {}
                (staged, FileType::RegularFile) if staged.starts_with('.') => self.litter(dir, &name),
                _ => {
                    self.find(Grade::Note, "§2.2", path, "is unknown to Postroom");
                }
            }
        }
        Ok(())
    }

    /// Checks that every claim has terms and one message, unless it is being made or cleared.
    fn claims(&mut self, mailbox: &Maildir, ids: &mut HashMap<MessageId, String>) -> Result<(), Error> {
        let (claimed, clock) = (mailbox.dir().sub("claimed")?, self.room.clock());
        for (name, kind) in entries(&claimed)? {
            let path = claimed.path().join(&name);
            let Some(token) = Token::parse(&name).filter(|_| kind == FileType::Directory) else {
                self.find(Grade::Note, "§5.5", path, "is not a claim");
                continue;
            };
            let Some(own) = mailbox.folder_if_any(Folder::Claimed(token))? else { continue };
            let has_message = || -> Result<bool, Error> {
                Ok(entries(&own)?.iter().any(|(name, _)| file_name::is_message(name.as_bytes())))
            };
            let held = has_message()?;
            match mailbox.terms(token)? {
                // A claim that ends loses its message first, then its terms.
                terms if !held || terms.is_none() && !has_message()? => self.litter(&claimed, &name),
                Some(terms) if terms.is_over(clock)? => {
                    let ended = format!("is a claim that ended {}", terms.ends);
                    let what = format!("{ended}; the next look at the mailbox gives it back");
                    let give_back = || mailbox.return_expired(clock).map(drop);
                    self.repair(Grade::Litter, "§5.5", path, what, give_back);
                }
                Some(_) => self.messages(mailbox, Folder::Claimed(token), ids)?,
                None => {
                    let give_back = || mailbox.return_expired(clock).map(drop);
                    self.repair(Grade::Fault, "§5.5", path, "is a claim without terms", give_back);
                }
            }
        }
        Ok(())
    }

    /// Checks that attempts belong to a message that still exists.
    fn attempts(&mut self, mailbox: &Maildir) -> Result<(), Error> {
        let dir = mailbox.dir().sub(claim::ATTEMPTS)?;
        for (name, _) in entries(&dir)? {
            let mut there = false;
            for folder in mailbox.folders()? {
                if let Some(folder) = mailbox.folder_if_any(folder)? {
                    there |= folder.stat(&name).if_any()?.is_some();
                }
            }
            if !there {
                self.litter(&dir, &name);
                continue;
            }
            let path = dir.path().join(&name);
            match dir.open_file(&name) {
                Ok(opened) => {
                    self.modes(&dir, &name, &opened.stat);
                    let size = u64::try_from(opened.stat.st_size).unwrap_or(0);
                    if size > claim::LIMIT {
                        let what = format!("is {size} bytes: only the last {} count", claim::LIMIT);
                        self.find(Grade::Note, "§5.5", path, what);
                    }
                }
                Err(e) if e.is_missing() => {}
                Err(e) => {
                    self.find(Grade::Fault, "§5.5", path, format!("its message cannot be taken: {e}"));
                }
            }
        }
        Ok(())
    }

    /// Answers from a workspace stay in `.mailbox/inbox/` until the next command delivers them.
    fn answers_by_hand(&mut self, mailbox: &Maildir) -> Result<(), Error> {
        let own = mailbox.dir().sub(MAILBOX)?;
        for folder in ["inbox", "scratch", "archive"] {
            let Some(dir) = own.sub(folder).if_any()? else { continue };
            for (name, _) in entries(&dir)?.iter().filter(|(name, _)| name.starts_with('.')) {
                self.litter(&dir, name);
            }
        }
        for fault in workspace::faults_at(own, mailbox.id(), self.room.limits().body_bytes, self.now())? {
            self.find(Grade::Note, fault.rule, fault.path, format!("{} (left alone)", fault.why));
        }
        Ok(())
    }

    fn messages(
        &mut self,
        mailbox: &Maildir,
        folder: Folder,
        ids: &mut HashMap<MessageId, String>,
    ) -> Result<(), Error> {
        // A claim may have ended since it was seen.
        let Some(dir) = mailbox.folder_if_any(folder)? else { return Ok(()) };
        let listing = mailbox.list(folder, usize::MAX)?;
        for (name, what) in &listing.strange {
            let path = dir.path().join(name).display().to_string();
            self.put_aside(mailbox, folder, name, path, format!("is {what}"));
        }
        for name in &listing.names {
            let path = dir.path().join(name).display().to_string();
            self.modes_of(&dir, name)?;
            match mailbox.message(folder, name, self.room.limits().body_bytes) {
                Ok(None) => {}
                Ok(Some((message, _))) => {
                    self.envelope(mailbox.id(), &message.envelope, name, &path);
                    if let Some(other) = ids.insert(message.envelope.id, path.clone())
                        && are_both_there(&other, &path)
                    {
                        self.find(Grade::Fault, "§3.3", path, format!("has the id of {other}"));
                    }
                }
                Err(broken) if broken.is_quiescent(self.now()) && !broken.is_bare => {
                    self.put_aside(mailbox, folder, &OsString::from(name), path, broken.why);
                }
                Err(broken) if broken.transient => {
                    self.find(Grade::Fault, "§5.3", path, broken.why);
                }
                // It may still be growing.
                Err(_) => {}
            }
        }
        let others = entries(&dir)?.into_iter().filter(|(name, _)| !file_name::is_message(name.as_bytes()));
        for (name, _) in others {
            // The terms of a claim, and their staging file.
            if matches!(folder, Folder::Claimed(_))
                && (name == "claim.json" || name.starts_with(".claim.json."))
            {
                self.modes_of(&dir, &name)?;
                continue;
            }
            self.find(Grade::Note, "§2.2", dir.path().join(name), "Ignored: not a .md file.");
        }
        Ok(())
    }

    fn envelope(&mut self, id: &MailboxId, envelope: &Envelope, name: &str, path: &str) {
        // Other protocols address differently, and have no digits or priority in the file name.
        if !envelope.is_native() {
            return;
        }
        if !envelope.to.is_empty() && envelope.to != id.as_str() {
            self.find(Grade::Fault, "§3.1", path, format!("is addressed to {}", envelope.to));
        }
        if let (Some(named), Some(short)) = (file_name::short(name), envelope.id.short())
            && named != short
        {
            let what = format!("carries the digits {named}, but its id is {}", envelope.id);
            self.find(Grade::Fault, "§3.2", path, what);
        }
        if file_name::short(name).is_some() && file_name::priority(name.as_bytes()) != envelope.priority {
            let what = format!("has the priority {} inside and another in its name", envelope.priority);
            self.find(Grade::Note, "§3.2", path, what);
        }
    }

    fn put_aside(&mut self, mailbox: &Maildir, folder: Folder, name: &OsString, path: String, what: String) {
        if folder == Folder::Inbox {
            self.repair(Grade::Fault, "§5.3", path, what, || mailbox.quarantine(name));
        } else {
            // An archive is never changed; its files were readable once.
            self.find(Grade::Fault, "§5.3", path, what);
        }
    }
}

/// Whether both files exist at once: a message that moves during the check is seen twice.
fn are_both_there(one: &str, other: &str) -> bool {
    let there = |path: &str| std::path::Path::new(path).symlink_metadata().is_ok();
    there(one) && there(other)
}
