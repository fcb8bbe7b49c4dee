//! Recent mail: the names of messages in a folder that may have arrived since a time, so that the others need not be opened.
//!
//! A name has the second in which its message was sent, by the sender's clock; for a name given by hand, the file's
//! modification time counts instead. On a disk of this machine the kernel also records when a file was last changed or
//! moved, by this machine's clock. A message is left out only if one of these says that it is older.

use std::time::Duration;

use rustix::fs::{FileType, Stat};

use super::Maildir;
use crate::clock::Timestamp;
use crate::mailbox::fault::Result;
use crate::mailbox::folder::Folder;
use crate::mailbox::reading::mtime;
use crate::os::is_dated_by_this_machine;

/// How far the clocks of two senders, or of two machines at one disk, may differ; also the resolution of a disk without
/// fractions of a second.
pub(in crate::mailbox) const APART: Duration = Duration::from_secs(2);

/// How far a time recorded by the kernel may lag behind its clock: several ticks of a slow one.
const TICKS: Duration = Duration::from_millis(100);

impl Maildir {
    pub(super) fn since(&self, folder: Folder, since: Timestamp) -> Result<Vec<String>> {
        let Some(dir) = self.folder_if_any(folder)? else { return Ok(vec![]) };
        let sent = since.minus(APART);
        let stamp = sent.compact();
        let mut names = dir.names(|name, kind| {
            let old = is_dated(name.as_bytes()) && *name < *stamp;
            kind == FileType::RegularFile && !old && self.is_message(name.as_bytes())
        })?;
        let local = !names.is_empty() && is_dated_by_this_machine(dir.path());
        let is_older = |name: &str, stat: Stat| match is_dated(name.as_bytes()) {
            true => local && changed(stat.st_ctime, stat.st_ctime_nsec) < since.minus(TICKS),
            false => mtime(&stat) < sent,
        };
        // The caller that opens an unreadable file handles the error.
        names.retain(|name| !dir.stat(name).is_ok_and(|stat| is_older(name, stat)));
        Ok(names)
    }
}

/// The latest possible time of a file's last write, move or mode change: the disk may have cut off the fraction of a second.
fn changed(seconds: i64, nanoseconds: impl TryInto<i32>) -> Timestamp {
    match nanoseconds.try_into().unwrap_or(0) {
        0 => Timestamp::from_parts(seconds, 0).plus(APART),
        fraction => Timestamp::from_parts(seconds, fraction),
    }
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
    use crate::mailbox::maildir::fresh as mailbox;
    use crate::mailbox::pause;

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
        let (long_ago, before) = (dated(now.minus(Duration::from_secs(60)), "a"), dated(now, "b"));
        for name in [&long_ago, &before] {
            put(&mailbox, Folder::Inbox, name);
        }
        pause(TICKS * 2);
        let since = SystemClock.now();
        // Its name is old although it arrived just now: the name decides.
        let (late, wrong) = (dated(since, "c"), dated(now.minus(Duration::from_secs(90)), "d"));
        for name in [&late, &wrong, "hand.md"] {
            put(&mailbox, Folder::Inbox, name);
        }
        let old = std::fs::File::create(mailbox.path(Folder::Inbox, "old.md")).unwrap();
        old.set_modified(std::time::SystemTime::now() - APART * 2).unwrap();
        // On a disk of another machine the name alone would decide.
        assert!(is_dated_by_this_machine(mailbox.dir().path()));
        assert_eq!(mailbox.since(Folder::Inbox, since).unwrap(), [late, "hand.md".to_owned()]);
        let early = now.minus(Duration::from_secs(1));
        assert_eq!(mailbox.since(Folder::Inbox, early).unwrap().len(), 3, "that of before too");
    }

    #[test]
    fn what_was_moved_or_written_since_counts_as_come() {
        let (_temp, mailbox) = mailbox();
        let name = dated(SystemClock.now(), "a");
        put(&mailbox, Folder::Inbox, &name);
        pause(TICKS * 2);
        let since = SystemClock.now();
        assert_eq!(mailbox.since(Folder::Inbox, since).unwrap(), Vec::<String>::new());
        mailbox.shift(&name, Folder::Inbox, Folder::Archive).unwrap().unwrap();
        assert_eq!(mailbox.since(Folder::Archive, since).unwrap(), [name.as_str()]);
        pause(TICKS * 2);
        let since = SystemClock.now();
        assert_eq!(mailbox.since(Folder::Archive, since).unwrap(), Vec::<String>::new());
        put(&mailbox, Folder::Archive, &name);
        assert_eq!(mailbox.since(Folder::Archive, since).unwrap(), [name]);
    }

    #[test]
    fn a_folder_that_was_not_needed_yet_has_nothing() {
        let (_temp, mailbox) = mailbox();
        assert_eq!(mailbox.since(Folder::Failed, SystemClock.now()).unwrap(), Vec::<String>::new());
    }

    /// ext2, ext3, HFS+: a file that arrives at 10.9 s has the time 10 s, and was not there before 10.5 s.
    #[test]
    fn a_time_without_a_fraction_may_have_been_cut_off() {
        let since = Timestamp::from_parts(10, 500_000_000);
        assert!(changed(10, 0) >= since && changed(9, 0) >= since);
        assert!(changed(8, 0) < since && changed(10, 400_000_000) < since);
    }
}
