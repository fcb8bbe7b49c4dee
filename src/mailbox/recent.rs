//! What came lately: the names of the messages in a folder that may have come since a time, so that nobody opens the others.
//!
//! A name tells the second in which its message was sent, by the sender's clock; the kernel tells when a file was last
//! changed or moved, which nobody can set back. A message is left out only if one of them says that it is older; a folder
//! to which nothing happened since is not even listed.

use std::time::Duration;

use rustix::fs::{FileType, Stat};

use super::disk::network;
use super::fault::Result;
use super::folder::Folder;
use super::maildir::Maildir;
use super::place::Mailbox;
use crate::clock::Timestamp;

/// How far the clocks of two senders, or of two machines at one disk, may be apart.
const APART: Duration = Duration::from_secs(2);

/// How far the time that a local disk writes down may be behind: several ticks of a slow kernel.
const TICKS: Duration = Duration::from_millis(100);

impl Mailbox {
    /// The messages in a folder that may have come since a time, by name. In a `.claude` tree, where names tell nothing and
    /// a message changes where it lies, these are all.
    pub fn since(&self, folder: Folder, since: Timestamp) -> Result<Vec<String>> {
        match self.maildir() {
            Some(maildir) => maildir.since(folder, since),
            None => Ok(self.list(folder, usize::MAX)?.names),
        }
    }
}

impl Maildir {
    fn since(&self, folder: Folder, since: Timestamp) -> Result<Vec<String>> {
        let Some(dir) = self.folder_if_any(folder)? else { return Ok(vec![]) };
        let slack = if network(dir.path()).is_some() { APART } else { TICKS };
        let (sent, since, mut names) = (since.minus(APART).compact(), since.minus(slack), vec![]);
        // Whatever comes changes the folder too.
        if dir.stat(".").is_ok_and(|stat| changed(&stat) < since) {
            return Ok(names);
        }
        dir.scan(|name, kind| {
            let old = is_dated(name) && name < sent.as_bytes();
            if kind == FileType::RegularFile && !old && self.is_message(name) {
                names.extend(str::from_utf8(name).map(str::to_owned));
            }
        })?;
        // What cannot be looked at is left to whoever opens it.
        names.retain(|name| !dir.stat(name).is_ok_and(|stat| changed(&stat) < since));
        names.sort();
        Ok(names)
    }
}

/// When a file was last written, moved, or given other rights; a directory, when anything came or went.
fn changed(stat: &Stat) -> Timestamp {
    Timestamp::from_parts(stat.st_ctime, i32::try_from(stat.st_ctime_nsec).unwrap_or(0))
}

/// Whether a name begins with a time: `20261115T023011Z-`.
fn is_dated(name: &[u8]) -> bool {
    name.len() > 17
        && name[..8].iter().all(u8::is_ascii_digit)
        && name[8] == b'T'
        && name[9..15].iter().all(u8::is_ascii_digit)
        && name[15] == b'Z'
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use super::*;
    use crate::clock::{Clock, SystemClock};
    use crate::mailbox::{Dir, pause};
    use crate::name::MailboxId;

    fn mailbox() -> (tempfile::TempDir, Maildir) {
        let temp = tempfile::tempdir().unwrap();
        let root = Dir::open(&temp.path().canonicalize().unwrap()).unwrap();
        let id = MailboxId::parse("alice-1").unwrap();
        Maildir::make(&root, &id, None).unwrap();
        let mailbox = Maildir::open(&root, &id).unwrap();
        (temp, mailbox)
    }

    fn put(mailbox: &Maildir, folder: Folder, name: &str) {
        std::fs::write(mailbox.path(folder, name), "x").unwrap();
    }

    fn dated(time: Timestamp, rest: &str) -> String {
        format!("{}-{rest}.md", time.compact())
    }

    #[test]
    fn only_what_may_have_come_since_is_named() {
        let (_temp, mailbox) = mailbox();
        let now = SystemClock.now();
        let (long_ago, before, by_hand) =
            (dated(now.minus(Duration::from_secs(60)), "a"), dated(now, "b"), "note.md");
        for name in [&long_ago, &before, by_hand] {
            put(&mailbox, Folder::Inbox, name);
        }
        pause(TICKS * 2);
        let since = SystemClock.now();
        // Dated long ago, it came just now all the same: then its name decides.
        let (late, wrong) = (dated(since, "c"), dated(now.minus(Duration::from_secs(90)), "d"));
        for name in [&late, &wrong, "hand.md"] {
            put(&mailbox, Folder::Inbox, name);
        }
        assert_eq!(mailbox.since(Folder::Inbox, since).unwrap(), [late, "hand.md".to_owned()]);
        let early = now.minus(Duration::from_secs(1));
        assert_eq!(mailbox.since(Folder::Inbox, early).unwrap().len(), 4, "both of before too");
    }

    #[test]
    fn what_was_moved_since_counts_as_come() {
        let (_temp, mailbox) = mailbox();
        let name = dated(SystemClock.now(), "a");
        put(&mailbox, Folder::Inbox, &name);
        pause(TICKS * 2);
        let since = SystemClock.now();
        put(&mailbox, Folder::Inbox, ".other");
        assert_eq!(mailbox.since(Folder::Inbox, since).unwrap(), Vec::<String>::new());
        mailbox.shift(&name, Folder::Inbox, Folder::Archive).unwrap().unwrap();
        assert_eq!(mailbox.since(Folder::Archive, since).unwrap(), [name]);
    }

    #[test]
    fn a_folder_to_which_nothing_happened_is_not_listed() {
        let (_temp, mailbox) = mailbox();
        put(&mailbox, Folder::Inbox, "hand.md");
        pause(TICKS * 2);
        let since = SystemClock.now();
        // Nothing came: what is written in place was there before.
        put(&mailbox, Folder::Inbox, "hand.md");
        assert_eq!(mailbox.since(Folder::Inbox, since).unwrap(), Vec::<String>::new());
        put(&mailbox, Folder::Inbox, "new.md");
        assert_eq!(mailbox.since(Folder::Inbox, since).unwrap(), ["hand.md", "new.md"]);
    }

    #[test]
    fn a_folder_that_was_not_needed_yet_has_nothing() {
        let (_temp, mailbox) = mailbox();
        assert_eq!(mailbox.since(Folder::Failed, SystemClock.now()).unwrap(), Vec::<String>::new());
    }
}
