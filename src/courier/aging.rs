//! Aging: mail on its way that waited too long comes back to its sender, and copies of what arrived are removed after a while.
//!
//! Folders may have a million letters. So they are read name by name, only some are dealt with at once, and a look says when the
//! next one is due.

use std::time::Duration;

use super::Result;
use super::outgoing::{LetterFile, Outgoing};
use crate::clock::Timestamp;
use crate::journal;
use crate::mailbox::attachments;
use crate::mailbox::{Folder, IfAny, Mailbox};

/// How long a letter may wait for the network.
pub const EXPIRY: Duration = Duration::from_secs(7 * 24 * 3600);
/// How long the copy of a letter is kept after it arrived.
const KEPT: Duration = EXPIRY;
/// How many letters of a folder are dealt with at once.
const MOST: usize = 1000;
/// Times of files can be changed by hand, so no look is put off for longer.
const LONGEST: Duration = Duration::from_secs(3600);

impl Outgoing<'_> {
    /// Gives up what waited too long and forgets old copies. Returns when to look again.
    pub(super) fn age(&self) -> Result<Timestamp> {
        let now = self.there.room().clock().now();
        let (mut due, mut failed) = (now.plus(LONGEST), Ok(()));
        for (folder, limit, why) in [
            (Folder::Inbox, EXPIRY, "the network could not be reached for a week"),
            (Folder::Carried, 2 * EXPIRY, "its room gave no receipt for two weeks"),
        ] {
            let (old, oldest) = self.older(folder, now.minus(limit))?;
            for letter in old {
                // One whose sender cannot be told now keeps none of the others.
                if let Err(e) = self.give_up(&letter, why) {
                    failed = Err(e);
                }
            }
            due = oldest.map_or(due, |oldest| due.min(oldest.plus(limit)));
        }
        let (old, oldest) = self.older(Folder::Archive, now.minus(KEPT))?;
        for letter in old {
            let mailbox = self.there.mailbox(&letter.mailbox)?;
            // Before the letter: an interruption leaves no files without one.
            self.forget_files(&mailbox, &letter.name)?;
            mailbox.home().folder(Folder::Archive)?.remove(&letter.name).if_any()?;
        }
        // The journal still knows them, as long as the room keeps it.
        journal::prune(self.there.room())?;
        failed?;
        Ok(oldest.map_or(due, |oldest| due.min(oldest.plus(KEPT))))
    }

    /// Some letters of a folder that are at least as old as this, oldest first, and the time of the oldest of all others.
    fn older(&self, folder: Folder, than: Timestamp) -> Result<(Vec<LetterFile>, Option<Timestamp>)> {
        let (mut old, mut oldest): (Vec<LetterFile>, Option<Timestamp>) = (vec![], None);
        self.each(folder, |letter| {
            match letter.time <= than && old.len() < MOST {
                true => old.push(letter),
                false => oldest = Some(oldest.map_or(letter.time, |oldest| oldest.min(letter.time))),
            }
            Ok(())
        })?;
        old.sort_by(|a, b| (a.time, &a.name).cmp(&(b.time, &b.name)));
        Ok((old, oldest))
    }

    /// Removes the attachments of a letter in the archive, if it is not on its way again.
    fn forget_files(&self, mailbox: &Mailbox, file: &str) -> Result<()> {
        let Some(files) = mailbox.attachments()? else { return Ok(()) };
        let Some(envelope) = self.envelope(mailbox, Folder::Archive, file)? else { return Ok(()) };
        let Some(own) = attachments::folder_of(&envelope.id) else { return Ok(()) };
        for folder in [Folder::Carried, Folder::Inbox] {
            if !mailbox.twins(folder, &envelope.id)?.is_empty() {
                return Ok(());
            }
        }
        files.remove_tree(own.as_str()).if_any()?;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use std::sync::Arc;
    use std::time::SystemTime;

    use super::*;
    use crate::clock::{Clock, SystemClock};
    use crate::courier::keys::RoomKey;
    use crate::courier::names;
    use crate::mailbox::maildir::Maildir;
    use crate::name::MailboxId;
    use crate::network::{Joined, NetworkName, News, network_room};
    use crate::post::{Caller, Post};

    const HOUR: u64 = 3600;

    /// Puts a letter into a folder of the mail on its way, that many hours ago.
    fn put(outgoing: &Outgoing<'_>, folder: &str, number: usize, hours: u64) {
        let home = outgoing.there.room().path().join("bob-1").join(folder);
        std::fs::create_dir_all(&home).unwrap();
        let id = format!("0193d7a0-0000-7000-8000-{number:012x}");
        let path = home.join(format!("20260101T000000Z-0193d7a0-s{number}.md"));
        let text = format!("---\nid: {id}\nfrom: alice-1\nto: bob-1\nsubject: s\n---\ntext\n");
        std::fs::write(&path, text).unwrap();
        let then = SystemTime::now() - Duration::from_secs(hours * HOUR);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
    }

    fn count(outgoing: &Outgoing<'_>, folder: Folder) -> usize {
        let mut count = 0;
        let counted = outgoing.each(folder, |_| {
            count += 1;
            Ok(())
        });
        counted.unwrap();
        count
    }

    #[test]
    fn old_mail_is_dealt_with_in_parts_and_the_next_look_is_due_when_the_oldest_is() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("room");
        let post = Post::open_or_make(&root, Caller::default(), Arc::new(SystemClock)).unwrap();
        let (team, build) = (NetworkName::parse("team").unwrap(), network_room("build").unwrap());
        Joined::new(team.clone(), &network_room("anna").unwrap()).keep(post.room().root()).unwrap();
        let key = RoomKey::from_seed(&[1; 32]).unwrap().public();
        let news = News {
            v: 1,
            network: "team".into(),
            room: "build".into(),
            key: key.as_str().to_owned(),
            at: String::new(),
            names: vec![],
            heard: String::new(),
        };
        names::keep(&post, (&team, &build), (news, key), None).unwrap();
        let outgoing = Outgoing::of(&post, &team, &build).unwrap().unwrap();
        Maildir::make(outgoing.there.room().root(), &MailboxId::parse("bob-1").unwrap(), None).unwrap();
        let now = SystemClock.now();
        let due = |next: Timestamp| next.since(now).as_secs() / 60;
        assert!((59..=60).contains(&due(outgoing.age().unwrap())));
        put(&outgoing, "inbox", 1, 8 * 24);
        put(&outgoing, "inbox", 2, 24);
        put(&outgoing, "carried", 3, 13 * 24);
        put(&outgoing, "carried", 4, 15 * 24);
        outgoing.age().unwrap();
        let states = [Folder::Inbox, Folder::Carried, Folder::Failed].map(|folder| count(&outgoing, folder));
        assert_eq!(states, [1, 1, 2]);
        for number in 0..MOST + 5 {
            put(&outgoing, "archive", 100 + number, 8 * 24);
        }
        assert!(outgoing.age().unwrap() <= SystemClock.now(), "the rest is due at once");
        assert_eq!(count(&outgoing, Folder::Archive), 5);
        put(&outgoing, "archive", 5, 7 * 24 - 1);
        put(&outgoing, "inbox", 6, 7 * 24 - 1);
        assert!((58..=60).contains(&due(outgoing.age().unwrap())));
        assert_eq!(count(&outgoing, Folder::Archive), 1);
    }
}
