//! Handback: the tasks that other agents started this agent with. A result may be sent in parts, so an answered task
//! remains a task.

use super::{Answered, Me, Post, Result, SET_BACK};
use crate::mailbox::Folder;
use crate::mailbox::reading::Header;
use crate::message::file_name;

/// The prefix of a first message's subject.
pub const SPAWN: &str = "spawn:";

/// First messages, read or not, oldest first in each list.
#[derive(Debug, Default)]
pub struct TasksGiven {
    pub open: Vec<Header>,
    pub answered: Vec<Header>,
}

impl TasksGiven {
    /// The tasks that a result may be for: those with the prefix `id`, else those without an answer, else the most recent.
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
                // If the name contains the subject, other files need not be opened.
                if file_name::short(&name).is_some() && !name.contains("-spawn") {
                    continue;
                }
                let Some(header) = self.header_if_message(&me.mailbox, folder, &name)? else { continue };
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
