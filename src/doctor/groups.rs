//! The doctor's checks of groups: no group contains itself, and every member exists.

use super::{Doctor, Grade};
use crate::groups::{self, Groups};
use crate::mailbox::Error;
use crate::name::MailboxId;
use crate::random;
use crate::registry;

impl Doctor<'_> {
    pub(super) fn groups(&mut self, mailboxes: &[MailboxId]) -> Result<(), Error> {
        let root = self.room.root();
        let path = root.path().join(groups::FILE);
        let groups = match Groups::load(root) {
            Ok(groups) => groups,
            Err(groups::Error::Disk(e)) => return Err(e),
            Err(e) => {
                self.keep_broken(groups::FILE, "§6.4", e.to_string());
                return Ok(());
            }
        };
        for name in groups.0.keys().filter(|name| groups.contains_itself(name)) {
            self.find(Grade::Fault, "§6.4", &path, format!("the group `@{name}` contains itself"));
        }
        for (name, members) in &groups.0 {
            for member in members {
                let there = match member.strip_prefix('@') {
                    Some(group) => groups.0.contains_key(group),
                    None => mailboxes.iter().any(|id| id.as_str() == member),
                };
                if !there {
                    let what = format!("the group `@{name}` has the member `{member}`, which is not there");
                    self.repair(Grade::Note, "§6.4", &path, what, || {
                        let _lock = root.lock(registry::LOCK)?;
                        // Read again under the lock. If it became unreadable, the next check reports that.
                        let Ok(mut now) = Groups::load(root) else { return Ok(()) };
                        now.forget(member);
                        match now.save(root) {
                            Err(groups::Error::Disk(e)) => Err(e),
                            _ => Ok(()),
                        }
                    });
                }
            }
        }
        Ok(())
    }

    /// Moves an unreadable file aside, under another name.
    pub(super) fn keep_broken(&mut self, file: &'static str, rule: &'static str, why: String) {
        let room = self.room;
        self.repair(Grade::Fault, rule, room.path().join(file), why, || {
            let kept = format!("{file}.broken-{}-{}", room.clock().now().compact(), random::hex());
            room.root().publish(file, room.root(), &kept)?;
            room.root().sync()
        });
    }
}
