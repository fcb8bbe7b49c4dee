//! Pruning of finished runs: a run is removed as a whole, or not at all.
//!
//! The state of a run follows from its mail, so a message of a run is never old enough to be removed alone: without it
//! the run would ask again. A finished run is removed with its mailbox, its records and its shared files. If the
//! removal is interrupted, the record stays, and the next prune finds the run by it.

use std::collections::BTreeSet;

use super::carrier::look_at;
use super::engine::Status;
use super::runs::Runs;
use super::state::Desk;
use crate::clock::Timestamp;
use crate::mailbox::Folder;
use crate::mailbox::trash::Bag;
use crate::name::MailboxId;
use crate::post::{Error, Post, Result, RunsToPrune};

/// The runs of a room, for a prune.
#[derive(Debug, Clone, Copy)]
pub struct Workflows;

impl RunsToPrune for Workflows {
    fn mailboxes(&self, post: &Post) -> Result<BTreeSet<String>> {
        match Runs::existing(post.room())? {
            Some(runs) => Ok(runs.ids()?.into_iter().collect()),
            None => Ok(BTreeSet::new()),
        }
    }

    fn over(&self, post: &Post, run: &str) -> Result<(Timestamp, usize)> {
        let not_over = |why: String| Error::NotOver { run: run.to_owned(), why };
        let runs = Runs::existing(post.room())?.ok_or_else(|| not_over("it is gone".to_owned()))?;
        let began = runs.record(run).and_then(|record| Timestamp::parse(&record.started));
        let began = began.unwrap_or(post.room().clock().now());
        // A part of it is gone, or a prune was interrupted here: nobody can carry it on.
        let is_lost = runs.loss(post.room(), run)?.is_some();
        let Some(mailbox) = post.room().root().sub_if_any(run)? else { return Ok((began, 0)) };
        if !is_lost {
            let in_progress = || not_over("it is in progress".to_owned());
            if runs.is_open(run) {
                return Err(in_progress());
            }
            match look_at(post, &runs, run) {
                Ok(engine) if engine.status() == Status::InProgress => return Err(in_progress()),
                // What cannot be read is moved to the trash as it is.
                Ok(_) | Err(Error::Unreadable { .. }) => {}
                Err(e) => return Err(e),
            }
        }
        let ended =
            mailbox.stat(Folder::Archive.as_str()).map(|stat| Timestamp::from_parts(stat.st_mtime, 0));
        let me = post.other(&MailboxId::parse(run).map_err(|_| super::carrier::no_run(run))?)?;
        let mut messages = 0;
        for folder in me.mailbox.folders()? {
            messages += me.mailbox.list(folder, 0)?.total;
        }
        Ok((ended.unwrap_or(began), messages))
    }

    fn remove(
        &self,
        post: &Post,
        run: &str,
        bag: &Bag,
        mailbox: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let Some(runs) = Runs::existing(post.room())? else { return Ok(()) };
        let _lock = runs.lock_if_any(run)?;
        // It may have been started again since it was checked.
        self.over(post, run)?;
        if let Some(record) = runs.record(run) {
            // The shared files follow from the mail, and may already be gone from the tree.
            let _ = Desk::new(&record.desk).forget(run);
        }
        mailbox()?;
        runs.throw_away(run, bag)?;
        runs.forget_failed(run)?;
        Ok(runs.set_open(run, false)?)
    }

    fn bring_back(&self, post: &Post, bag: &Bag) -> Result<()> {
        for run in bag.runs()? {
            Runs::open(post.room())?.bring_back(&run, bag)?;
        }
        Ok(())
    }
}
