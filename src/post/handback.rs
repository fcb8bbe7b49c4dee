//! Handback: the tasks that other agents began this one with, and that it has not answered yet.

use super::{Answered, Me, Post, Result, SET_BACK};
use crate::mailbox::Folder;
use crate::mailbox::reading::Header;

/// How the subject of a first message begins.
pub const SPAWN: &str = "spawn:";

impl Post {
    /// Unanswered first messages, the oldest first; read or not.
    pub fn tasks_given(&self, me: &Me) -> Result<Vec<Header>> {
        self.refresh(&me.mailbox)?;
        let mut open = vec![];
        for folder in [Folder::Inbox, Folder::Archive] {
            for name in me.mailbox.list(folder, usize::MAX)?.names {
                // The subject is part of the name, so nothing else need be opened.
                if !name.contains("-spawn") {
                    continue;
                }
                let Ok(Some(header)) = self.header(&me.mailbox, folder, &name) else { continue };
                if header.envelope.subject.starts_with(SPAWN)
                    && self.is_answered(me, &header.envelope, header.time.minus(SET_BACK))? == Answered::No
                {
                    open.push(header);
                }
            }
        }
        open.sort_by(|a, b| (a.time, &a.name).cmp(&(b.time, &b.name)));
        Ok(open)
    }
}
