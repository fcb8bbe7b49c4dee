//! Handback: the tasks that other agents began this one with. A result may be sent in parts, so an answered task stays one.

use super::{Answered, Error, Me, Post, Result, SET_BACK};
use crate::mailbox::Folder;
use crate::mailbox::reading::Header;
use crate::message::file_name;

/// How the subject of a first message begins.
pub const SPAWN: &str = "spawn:";

/// First messages, read or not, each list with the oldest first.
#[derive(Debug, Default)]
pub struct TasksGiven {
    pub open: Vec<Header>,
    pub answered: Vec<Header>,
}

impl TasksGiven {
    /// Which tasks a result may be for: those that `id` begins, else those without an answer, else the most recent.
    pub fn meant(&self, id: Option<&str>) -> Vec<&Header> {
        let Some(id) = id else {
            return match self.open.is_empty() {
                true => self.answered.iter().next_back().into_iter().collect(),
                false => self.open.iter().collect(),
            };
        };
        let is_meant =
            |header: &&Header| header.envelope.called(&header.name) == id || header.envelope.id.is_called(id);
        let open: Vec<&Header> = self.open.iter().filter(is_meant).collect();
        match open.is_empty() {
            true => self.answered.iter().filter(is_meant).collect(),
            false => open,
        }
    }
}

impl Post {
    pub fn tasks_given(&self, me: &Me) -> Result<TasksGiven> {
        self.refresh(&me.mailbox)?;
        let mut tasks = TasksGiven::default();
        for folder in me.mailbox.folders()?.into_iter().filter(|folder| *folder != Folder::Failed) {
            for name in me.mailbox.list(folder, usize::MAX)?.names {
                // Where the subject is part of the name, nothing else need be opened.
                if file_name::short(&name).is_some() && !name.contains("-spawn") {
                    continue;
                }
                let header = match self.header(&me.mailbox, folder, &name) {
                    Ok(Some(header)) => header,
                    Err(broken) if broken.passing => return Err(Error::Failing { why: broken.why }),
                    _ => continue,
                };
                if !header.envelope.subject.starts_with(SPAWN) {
                    continue;
                }
                match self.is_answered(me, &header.envelope, header.time.minus(SET_BACK))? {
                    Answered::No => tasks.open.push(header),
                    Answered::Yes | Answered::Failed(_) => tasks.answered.push(header),
                }
            }
        }
        for list in [&mut tasks.open, &mut tasks.answered] {
            list.sort_by(|a, b| (a.time, &a.name).cmp(&(b.time, &b.name)));
        }
        Ok(tasks)
    }
}
