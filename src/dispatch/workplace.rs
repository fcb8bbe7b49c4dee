//! The workplace of a run: the directory that its agent works in.
//!
//! Usually that is the agent's `cwd`. It may contain words that stand for the run, and with `worktree` it is in a git
//! worktree of its own. In both cases the files that agent programs read there need not be those that the person has
//! trusted, so they are compared again before the agent is started.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::guards;
use super::supervisor::Agent;
use super::work::{Job, Work};
use super::worktree::{self, Held, RunWorktree, Site};
use crate::hex;
use crate::mailbox::{Dir, IfAny};
use crate::message::Envelope;
use crate::process::child::Next;
use crate::settings::worktree::{RunWords, Worktree, has_words};

/// Whether an agent may work in a directory that stands for its own. With a worktree: the directory that it stands for,
/// and its own.
pub type StillTrusted<'a> = &'a dyn Fn(&Path, Option<(&Path, &Path)>) -> bool;

type Said<T> = std::result::Result<T, String>;

/// Where one run works.
pub(super) struct Workplace<'c> {
    /// The agent, with the directory of this run.
    pub(super) agent: Agent,
    held: Option<Held<'c>>,
}

impl<'c> Workplace<'c> {
    /// The place of a run; made if it is one of its own. `None`: it works in the directory of its agent. `beat` is called
    /// again and again while git works, and says whether it may go on.
    pub(super) fn prepare(job: &Job<'c>, work: &[&Work], beat: &'c dyn Fn() -> Next) -> Said<Option<Self>> {
        let settings = &job.agent.settings;
        let cwd = crate::settings::lexical(&job.agent.cwd);
        let has_words = cwd.to_str().is_some_and(has_words);
        if settings.worktree == Worktree::No && !has_words {
            return Ok(None);
        }
        let item = item(job, work.first().map(|work| work.envelope()));
        let words = RunWords::new(&job.agent.name, job.me.id.as_str(), &job.open.id, &item);
        let Worktree::OnBranch(branch) = &settings.worktree else {
            let cwd = fill(&words, &cwd)?;
            let place = Self { agent: moved(job.agent, create(&cwd)?), held: None };
            place.check(job, None)?;
            return Ok(Some(place));
        };
        let (here, rest) = existing(&cwd);
        let site = Site::around(&here).map_err(|e| worktree::said(&e))?;
        let made =
            worktree::make(job.post, &site, &words.fill(branch), (&job.agent.name, &job.open.id), beat);
        let mut held = made.map_err(|e| worktree::said(&e))?;
        let below = here.strip_prefix(&site.top).unwrap_or(Path::new(""));
        let prepared = fill(&words, &held.path().join(below).join(rest)).and_then(|cwd| match has_words {
            true => create(&cwd),
            false if cwd.is_dir() => Ok(cwd),
            false => {
                Err(format!("its directory {} is not in the commit {}", cwd.display(), held.shown().base))
            }
        });
        let place = prepared.map(|cwd| moved(job.agent, cwd));
        let checked = place.and_then(|agent| {
            let place = Self { agent, held: None };
            place.check(job, Some((&site.top, &held.path())))?;
            Ok(place)
        });
        match checked {
            Ok(place) => Ok(Some(Self { held: Some(held), ..place })),
            Err(why) => {
                let _ = worktree::settle(&mut held);
                Err(why)
            }
        }
    }

    fn check(&self, job: &Job<'_>, worktree: Option<(&Path, &Path)>) -> Said<()> {
        match (job.is_trusted)(&self.agent.cwd, worktree) {
            true => Ok(()),
            false => Err(format!(
                "the files that its program reads in {} are not those that you have looked at: {}",
                self.agent.cwd.display(),
                match worktree {
                    Some((top, _)) =>
                        format!("commit those of {}, or trust those of its last commit", top.display()),
                    None => "remove them, or set `cwd` without {agent}, {run} and {item}".to_owned(),
                }
            )),
        }
    }

    /// Its worktree, as it is known while the run goes on.
    pub(super) fn worktree(&self) -> Option<RunWorktree> {
        self.held.as_ref().map(Held::shown)
    }

    /// Commits what the agent left. `None` without a worktree.
    pub(super) fn settle(&mut self) -> Option<RunWorktree> {
        let held = self.held.as_mut()?;
        Some(
            worktree::settle(held)
                .unwrap_or_else(|e| RunWorktree { fault: worktree::said(&e), ..held.shown() }),
        )
    }
}

/// What `{item}` stands for: an item of a workflow run, else the thread of the message. Digits and letters of ours, not of
/// the message.
fn item(job: &Job<'_>, envelope: Option<&Envelope>) -> String {
    let Some(envelope) = envelope else { return "none".to_owned() };
    let run = envelope.from.as_str();
    if !matches!((job.project_of)(job.post.room(), run), Ok(Some(_))) {
        return guards::thread(envelope)[..8].to_owned();
    }
    let number = envelope.extra("item").and_then(|number| number.parse::<u32>().ok());
    let run = hex::digest(run, 4);
    number.map_or_else(|| run.clone(), |number| format!("{run}-{number}"))
}

fn moved(agent: &Agent, cwd: PathBuf) -> Agent {
    Agent { cwd: Arc::from(cwd), ..agent.clone() }
}

fn fill(words: &RunWords, path: &Path) -> Said<PathBuf> {
    let text = path.to_str().ok_or_else(|| format!("its directory {} is not text", path.display()))?;
    Ok(PathBuf::from(words.fill(text)))
}

/// The part of a path that exists, with links resolved, and the rest.
fn existing(path: &Path) -> (PathBuf, PathBuf) {
    for above in path.ancestors() {
        if let Ok(real) = std::fs::canonicalize(above) {
            return (real, path.strip_prefix(above).unwrap_or(Path::new("")).to_owned());
        }
    }
    (path.to_owned(), PathBuf::new())
}

/// Makes a directory for this run below one that exists.
fn create(path: &Path) -> Said<PathBuf> {
    let (here, rest) = existing(path);
    let make = || {
        let mut dir = Dir::outside(&here)?;
        for name in rest.iter().filter_map(|name| name.to_str()) {
            dir = match dir.sub(name).if_any()? {
                Some(dir) => dir,
                None => dir.create_dir_synced(name)?,
            };
        }
        Ok::<_, crate::mailbox::fault::Error>(dir.path().to_owned())
    };
    make().map_err(|e| format!("its directory cannot be made: {e}"))
}
