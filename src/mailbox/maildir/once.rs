//! Delivery with an id that the sender chose: a retry must find the first delivery (format.md §4.4).
//!
//! Under `.deliver.lock` every folder that may hold the message is searched by file name, and only names with the same
//! eight digits are opened. The same bytes are success; other bytes under the same id are an error. Fresh ids skip
//! this, so the cost of an ordinary delivery does not depend on the size of the mailbox.

use std::collections::BTreeSet;

use super::{Layout, Maildir};
use crate::mailbox::delivery::DeliveryOutcome;
use crate::mailbox::disk::Dir;
use crate::mailbox::fault::{Durability, Error, IfAny, Result};
use crate::mailbox::folder::Folder;
use crate::message::{FileName, any, file_name, frontmatter};
use crate::name::MessageId;

impl Maildir {
    /// Delivers a message unless it is already here, in any state. `names`: its possible names if it was delivered
    /// before, if the caller knows them.
    pub fn deliver_once(
        &self,
        id: &MessageId,
        name: &FileName,
        bytes: &[u8],
        names: Option<&[FileName]>,
    ) -> Result<DeliveryOutcome> {
        let _lock = self.dir().lock(".deliver.lock")?;
        let mut used = BTreeSet::new();
        if let Some(found) = self.find_twin(id, bytes, &mut used, names, self)? {
            return Ok(found);
        }
        self.deliver_beside(name, bytes, &used)
    }

    /// Delivers under a name that is neither in `used` nor in the inbox: the wanted one, or that with a number. With
    /// the name of another message, a reader that saw the first would take the second for it.
    pub fn deliver_beside(
        &self,
        name: &FileName,
        bytes: &[u8],
        used: &BTreeSet<String>,
    ) -> Result<DeliveryOutcome> {
        let mut last = Error::Exists { path: self.path(Folder::Inbox, name.as_str()) };
        for name in name.candidates() {
            if used.contains(name.as_str()) {
                continue;
            }
            match self.publish(&name, bytes) {
                Err(e @ Error::Exists { .. }) => last = e,
                other => {
                    let name = name.as_str().to_owned();
                    return Ok(DeliveryOutcome::Delivered { how: other?, name, beside: false });
                }
            }
        }
        Err(last)
    }

    /// Finds this message, or another one under its id, in all folders. Adds all names with its digits to `used`.
    ///
    /// Another process may be moving it meanwhile. Mail goes from the inbox through a claim to `failed` or the archive,
    /// and the folders are searched in that order, so that it cannot slip past; twice, because some of it comes back.
    /// The archive is the only folder that grows without limit. It is not listed if it contains none of `names`. Pruned
    /// mail was also sent before: it is in the trash of the room of `home`.
    pub fn find_twin(
        &self,
        id: &MessageId,
        bytes: &[u8],
        used: &mut BTreeSet<String>,
        names: Option<&[FileName]>,
        home: &Self,
    ) -> Result<Option<DeliveryOutcome>> {
        for _ in 0..2 {
            if let Some(found) = self.twin_in(Folder::Inbox, id, bytes, used)? {
                return Ok(Some(found));
            }
            // Only now: this includes a claim made while the inbox was read.
            let claims = self.tokens()?.into_iter().map(Folder::Claimed);
            for folder in claims.chain([Folder::Carried, Folder::Failed]) {
                if let Some(found) = self.twin_in(folder, id, bytes, used)? {
                    return Ok(Some(found));
                }
            }
            if self.may_be_archived(names)?
                && let Some(found) = self.twin_in(Folder::Archive, id, bytes, used)?
            {
                return Ok(Some(found));
            }
            for (folder, dir) in home.thrown_away()? {
                let mut twins = vec![];
                dir.scan(|name, _| twins.extend(self.if_twin(name, id)))?;
                if let Some(found) = self.same_among(&dir, folder, twins, id, bytes)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    fn may_be_archived(&self, names: Option<&[FileName]>) -> Result<bool> {
        let Some(names) = names else { return Ok(true) };
        let Some(dir) = self.folder_if_any(Folder::Archive)? else { return Ok(false) };
        // A file that cannot be examined may be there.
        Ok(names.iter().any(|name| !dir.stat(name.as_str()).is_err_and(|e| e.is_missing())))
    }

    fn twin_in(
        &self,
        folder: Folder,
        id: &MessageId,
        bytes: &[u8],
        used: &mut BTreeSet<String>,
    ) -> Result<Option<DeliveryOutcome>> {
        let twins = self.twins(folder, id)?;
        used.extend(twins.iter().cloned());
        if twins.is_empty() {
            return Ok(None);
        }
        // A claim may end between two looks, and its directory with it.
        let Some(dir) = self.folder_if_any(folder)? else { return Ok(None) };
        self.same_among(&dir, folder, twins, id, bytes)
    }

    /// Finds this message, or another one under its id, among files with its digits.
    fn same_among(
        &self,
        dir: &Dir,
        folder: Folder,
        twins: Vec<String>,
        id: &MessageId,
        bytes: &[u8],
    ) -> Result<Option<DeliveryOutcome>> {
        for twin in twins {
            let found = match dir.read(&twin, bytes.len() as u64 + READ_SLACK) {
                Ok(Some(found)) => found,
                // It moved on meanwhile, or cannot be a message.
                Ok(None) | Err(Error::TooLarge { .. } | Error::Link { .. } | Error::NotAFile { .. }) => {
                    continue;
                }
                Err(e) => return Err(e),
            };
            if found == bytes {
                // The process that put it here may have been interrupted before the sync.
                return Ok(Some(match dir.sync() {
                    Ok(()) => DeliveryOutcome::Already { folder, name: twin },
                    Err(e) => {
                        DeliveryOutcome::Delivered { how: Durability::Unproven(e), name: twin, beside: false }
                    }
                }));
            }
            if any::parse(&found).is_ok_and(|m| m.envelope.id == *id) {
                return Ok(Some(DeliveryOutcome::Taken { path: dir.path().join(&twin) }));
            }
        }
        Ok(None)
    }

    /// The names in a folder that have the digits of an id.
    pub fn twins(&self, folder: Folder, id: &MessageId) -> Result<Vec<String>> {
        let mut names = vec![];
        let Some(dir) = self.folder(folder).if_any()? else { return Ok(names) };
        dir.scan_once(|name, _| names.extend(self.if_twin(name, id)))?;
        Ok(names)
    }

    /// The name of a file, if the message with this id may be in it.
    fn if_twin(&self, name: &[u8], id: &MessageId) -> Option<String> {
        let name = str::from_utf8(name).ok()?;
        let fits = match self.layout() {
            Layout::ProtocolFields => id.short().is_some_and(|short| file_name::short(name) == Some(&short)),
            // A reply has the name of the request it answers, so in a workspace the name does not tell.
            Layout::Workspace => id.short().is_some() && self.is_message(name.as_bytes()),
        };
        fits.then(|| name.to_owned())
    }
}

/// A twin may differ in its header; it is only compared, so a little more than our own size is enough.
const READ_SLACK: u64 = (2 * frontmatter::HEADER_LIMIT + 16 * 1024 * 1024) as u64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::mailbox::maildir::fresh as mailbox;
    use crate::message::{Envelope, Origin, Priority, ProtocolFields, maildir};

    struct Letter {
        id: MessageId,
        name: FileName,
        bytes: String,
    }

    impl Letter {
        fn new(number: u32, second: i64) -> Self {
            let id = MessageId::derived(number.to_string().as_bytes());
            let envelope = Envelope {
                id: id.clone(),
                from: Origin::mailbox("bob-1"),
                to: "alice-1".into(),
                subject: "re: it".into(),
                reply_to: None,
                priority: Priority::Normal,
                channel: None,
                extra: vec![],
                native: ProtocolFields::Maildir,
                doubts: vec![],
            };
            let short = id.short().unwrap();
            let name = FileName::new(Timestamp::from_parts(second, 0), &short, "re: it", Priority::Normal);
            Self { name, bytes: maildir::render(&envelope, "done\n").unwrap(), id }
        }

        fn deliver(&self, to: &Maildir, asked: Option<&Self>) -> DeliveryOutcome {
            let names = asked.and_then(|asked| self.name.since(asked.name.as_str()));
            to.deliver_once(&self.id, &self.name, self.bytes.as_bytes(), names.as_deref()).unwrap()
        }
    }

    #[test]
    fn an_answer_finds_itself_in_the_archive_by_the_names_it_may_have() {
        let (_temp, mailbox) = mailbox();
        let (asked, first) = (Letter::new(1, 100_000), Letter::new(2, 100_003));
        assert!(matches!(first.deliver(&mailbox, Some(&asked)), DeliveryOutcome::Delivered { .. }));
        mailbox.shift(first.name.as_str(), Folder::Inbox, Folder::Archive).unwrap().unwrap();
        for later in [100_003, 100_008, 100_001, 100_400, 99_000] {
            let again = Letter::new(2, later).deliver(&mailbox, Some(&asked));
            assert!(
                matches!(again, DeliveryOutcome::Already { folder: Folder::Archive, .. }),
                "{later}: {again:?}"
            );
        }
        let other = Letter { bytes: first.bytes.replace("done", "other"), ..Letter::new(2, 100_005) };
        assert!(matches!(other.deliver(&mailbox, Some(&asked)), DeliveryOutcome::Taken { .. }));
    }

    #[test]
    fn a_reader_that_knows_the_names_does_not_list_the_archive() {
        let (_temp, mailbox) = mailbox();
        let (asked, first) = (Letter::new(1, 100_000), Letter::new(2, 90_000));
        first.deliver(&mailbox, None);
        mailbox.shift(first.name.as_str(), Folder::Inbox, Folder::Archive).unwrap().unwrap();
        let again = Letter::new(2, 100_003);
        assert!(matches!(again.deliver(&mailbox, None), DeliveryOutcome::Already { .. }));
        assert!(matches!(again.deliver(&mailbox, Some(&asked)), DeliveryOutcome::Delivered { .. }));
    }

    /// A move of the message, forward or back, does not hide it from a retry.
    #[test]
    fn a_message_that_is_moved_meanwhile_is_found() {
        for (from, to) in [(Folder::Inbox, Folder::Archive), (Folder::Archive, Folder::Inbox)] {
            let (_temp, mailbox) = mailbox();
            for number in 0..400 {
                let letter = Letter::new(number, 100_000);
                letter.deliver(&mailbox, None);
                let name = letter.name.as_str();
                if from != Folder::Inbox {
                    mailbox.shift(name, Folder::Inbox, from).unwrap().unwrap();
                }
                let again = std::thread::scope(|scope| {
                    let mover = scope.spawn(|| mailbox.shift(name, from, to).unwrap());
                    let again = letter.deliver(&mailbox, None);
                    mover.join().unwrap().unwrap();
                    again
                });
                assert!(matches!(again, DeliveryOutcome::Already { .. }), "{number}: {again:?}");
            }
        }
    }
}
