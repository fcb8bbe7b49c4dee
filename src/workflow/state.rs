//! The shared state of a run, for people and agents: a check-list of its steps and their results, in the form of the
//! tree protocol (§3.5).
//!
//! ```text
//! <desk>/shared/workflow-state.md        the run that moved last
//!              /workflows/<run>.md       one such file per run
//!                        /<run>/         results that were too large for a prompt
//! ```
//!
//! The mail is the truth, and these files are derived from it. Lost files are written again. If somebody edited a
//! derived part, the edited text is set aside and reported. Other sections and fields of the files are kept.

mod parts;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FileType;

use self::parts::{Parts, digest, frontmatter_value, is_edited, merged};
use super::engine::Engine;
use super::runs::Record;
use crate::mailbox::Dir;
use crate::mailbox::fault::Result;
use crate::mailbox::tree::Tree;

/// The file of the run that moved last.
pub const STATE: &str = "workflow-state";

/// The largest state file that is read.
const LIMIT: u64 = 16 * 1024 * 1024;

/// A run with more steps than `MANY` writes its state at most once per `REST`, because the state is as long as the run.
const MANY: usize = 200;
const REST: Duration = Duration::from_millis(250);

/// The directory of a run's shared state.
#[derive(Debug)]
pub struct Desk {
    path: PathBuf,
    tree: Option<Tree>,
    written: Option<Duration>,
    /// Something changed that is not written yet.
    behind: bool,
    /// Entries already added to the session, so that none is added twice.
    pub(super) told: Vec<String>,
}

impl Desk {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), tree: None, written: None, behind: true, told: vec![] }
    }

    pub(super) fn tree(&mut self) -> Result<&Tree> {
        match &mut self.tree {
            Some(tree) => Ok(tree),
            unopened => Ok(unopened.insert(Tree::open(&self.path)?)),
        }
    }

    /// Keeps a result that is too large for a prompt. Durable on return.
    pub fn keep_result(&mut self, run: &str, file: &str, text: &str) -> Result<()> {
        let dir = self.tree()?.shared_runs()?.create_dir_synced(run)?;
        match dir.stat(file) {
            Ok(_) => Ok(()),
            Err(_) => dir.replace_synced(file, text.as_bytes()),
        }
    }

    /// Removes the files of a run, but not `workflow-state.md`, which may be about another run.
    pub fn forget(&mut self, run: &str) -> Result<()> {
        let dir = self.tree()?.shared_runs()?;
        let mut ours = vec![];
        dir.scan(|name, kind| {
            let rest = str::from_utf8(name).ok().and_then(|name| Some((name, name.strip_prefix(run)?)));
            let own = |rest: &str| matches!(rest, "" | ".md") || rest.starts_with(".edited-");
            ours.extend(rest.filter(|(_, rest)| own(rest)).map(|(name, _)| (name.to_owned(), kind)));
        })?;
        for (name, kind) in ours {
            match kind {
                FileType::Directory => dir.remove_tree(&name)?,
                _ => dir.remove(&name)?,
            }
        }
        Ok(())
    }

    /// Updates the state if something changed or it is missing. Returns remarks for a person.
    pub fn write(
        &mut self,
        engine: &Engine,
        record: &Record,
        changed: bool,
        over: bool,
        now: Duration,
    ) -> Result<Option<String>> {
        self.behind |= changed;
        let file = format!("{}.md", record.id);
        let dir = self.tree()?.shared_runs()?;
        let lost = dir.stat(&file).is_err();
        let rests =
            engine.steps().len() > MANY && self.written.is_some_and(|at| now.saturating_sub(at) < REST);
        if !lost && !over && (!self.behind || rests) {
            return Ok(None);
        }
        let ours = Parts::of(engine, record);
        let existing = dir.read(&file, LIMIT)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let mut remark = None;
        if let Some(existing) = &existing
            && is_edited(existing)
        {
            let kept = put_beside(&dir, &record.id, existing)?;
            remark = Some(format!(
                "{} was changed by hand; it was rebuilt from the mail, and the changed text is kept beside it as {kept}",
                dir.path().join(&file).display()
            ));
        }
        let text = merged(existing.as_deref().unwrap_or_default(), &ours);
        if existing.as_deref() != Some(&text) {
            dir.replace(&file, text.as_bytes())?;
        }
        let by_hand = std::cell::RefCell::new(None);
        self.tree()?.rewrite(STATE, |existing| {
            // A file of another run, or a new one, is not an edit of ours.
            let same = frontmatter_value(existing, "workflow_id").as_deref() == Some(record.id.as_str());
            by_hand.replace((same && is_edited(existing)).then(|| existing.to_owned()));
            Ok(merged(existing, &ours))
        })?;
        if let Some(changed) = by_hand.into_inner() {
            let kept = put_beside(&dir, &record.id, &changed)?;
            remark.get_or_insert(format!(
                "{STATE}.md was changed by hand; it was rebuilt from the mail, and the changed text is kept in workflows/{kept}"
            ));
        }
        (self.written, self.behind) = (Some(now), false);
        Ok(remark)
    }
}

/// Keeps an edited text beside the state of its run, and returns its file name.
fn put_beside(dir: &Dir, run: &str, text: &str) -> Result<String> {
    let kept = format!("{run}.edited-{}.md", &digest(text)[..8]);
    dir.replace(&kept, text.as_bytes())?;
    Ok(kept)
}
