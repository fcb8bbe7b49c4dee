//! Arrivals: the messages of an inbox in the order in which they came.
//!
//! Names tell the second in which a message was written, and files when it was published. So only files whose names share a second are
//! examined; all of them, because their names do not tell which is first.

use std::collections::BTreeMap;

use super::{Layout, Listing, Maildir, see_all};
use crate::mailbox::fault::Result;
use crate::mailbox::folder::Folder;
use crate::mailbox::reading::mtime;
use crate::message::{Priority, file_name};

impl Maildir {
    /// The first `limit` messages in order of arrival: by priority, then by the second in the name, then by the time of
    /// the file.
    pub(super) fn arrivals(&self, limit: usize) -> Result<Listing> {
        if limit == 0 || self.layout == Layout::Workspace {
            return self.list(Folder::Inbox, limit);
        }
        let (mut groups, mut count): (BTreeMap<(Priority, String), Vec<String>>, usize) = Default::default();
        let mut listing = see_all(self.folder(Folder::Inbox)?, |priority, name| {
            let second = file_name::second(name);
            let is_behind =
                |(last, _): (&(Priority, String), _)| (priority, second) > (last.0, last.1.as_str());
            if count >= limit && groups.last_key_value().is_some_and(is_behind) {
                return;
            }
            groups.entry((priority, second.to_owned())).or_default().push(name.to_owned());
            count += 1;
            // A second is kept as a whole, or not at all.
            while let Some(last) = groups.last_entry()
                && count - last.get().len() >= limit
            {
                count -= last.remove().len();
            }
        })?;
        let mut open = None;
        for group in groups.values_mut().filter(|group| group.len() > 1) {
            let dir = match open.take() {
                Some(dir) => dir,
                None => self.folder(Folder::Inbox)?,
            };
            group.sort_by_cached_key(|name| (dir.stat(name).ok().map(|stat| mtime(&stat)), name.clone()));
            open = Some(dir);
        }
        listing.names = groups.into_values().flatten().take(limit).collect();
        Ok(listing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::mailbox::maildir::fresh;
    use crate::message::FileName;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]
    fn of_many_messages_of_one_second_the_first_is_read_first() {
        let (_temp, mailbox) = fresh();
        // Names that sort against the order in which they came.
        for number in (0..200_u32).rev() {
            let second = if number < 190 { 100 } else { 99 };
            let name = FileName::new(
                Timestamp::from_parts(second, 0),
                &format!("{number:08x}"),
                "s",
                Priority::Normal,
            );
            mailbox.publish(&name, b"x").unwrap();
            let came = std::time::UNIX_EPOCH + std::time::Duration::from_millis(u64::from(1000 - number));
            let file = std::fs::File::open(mailbox.path(Folder::Inbox, name.as_str())).unwrap();
            file.set_modified(came).unwrap();
        }
        let first = |limit: usize| {
            let names = mailbox.arrivals(limit).unwrap().names;
            names.iter().map(|name| file_name::short(name).unwrap().to_owned()).collect::<Vec<_>>()
        };
        let wanted: Vec<String> = (0..200).rev().map(|number| format!("{number:08x}")).collect();
        for limit in [1, 9, 10, 11, 12, 100, 200, 300] {
            assert_eq!(first(limit), wanted[..limit.min(200)], "{limit}");
        }
        assert_eq!(mailbox.arrivals(1).unwrap().total, 200);
    }
}
