//! The end of a run in its worktree: what the agent left is committed, and a worktree without changes is removed.
//!
//! The agent may have written anything into the worktree: another `.git`, repositories inside of it with settings of their
//! own, links. Only plumbing is used, which reads the files and never enters such a repository: it is left out of the
//! commit. A branch on which the agent worked besides its own is left alone.

use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::{
    Held, Record, Result, RunWorktree, SWEEP, TURN, git_of, home, place, read, registered, said, tip, with,
    write,
};
use crate::clock::Clock;
use crate::mailbox::lock::Hold;
use crate::mailbox::{Dir, IfAny};
use crate::post::Worktrees;
use crate::process::git::{self, Git};
use crate::process::marked;

/// What is said of a worktree that somebody deleted under its agent.
const LOST: &str = "its worktree was removed while it ran, and what was not committed is lost";

/// Commits what the agent left, and removes the worktree if the run changed nothing.
pub(in crate::dispatch) fn settle(held: &mut Held<'_>) -> Result<RunWorktree> {
    let mut shown = held.shown();
    let own = registered(&held.record.repository, &held.path())?;
    // A repository may keep its branches in another way, and if a lock stays, git says so.
    let _ = unlock_branch(&held.record);
    // Somebody removed it, or it was never finished, so no agent worked in it. What is on its branch counts.
    if own.is_none() || !held.record.ready || !held.path().is_dir() {
        shown.head = tip(&held.git, &held.record.branch)?.unwrap_or_else(|| held.record.base.clone());
        shown.gone = shown.head == held.record.base;
        count(&held.git, &held.record.base, &mut shown)?;
        // Removed by git itself, it had nothing that was not committed.
        if held.record.ready && own.is_some() {
            LOST.clone_into(&mut shown.fault);
        }
        remove(held, shown.gone, own.is_some())?;
        return Ok(shown);
    }
    if let Some(own) = own {
        // Every process of the run has ended, and one that was killed while git worked left its locks behind.
        let own = Dir::outside(&own)?;
        for lock in ["index.lock", "HEAD.lock"] {
            own.remove(lock).if_any()?;
        }
    }
    let within = held.within()?;
    let Record { base, branch, .. } = &held.record;
    let name = format!("refs/heads/{branch}");
    let head = commit(held, &within)?;
    // The agent may have gone to another branch, or deleted its own.
    let own = tip(&held.git, branch)?;
    if own.as_ref().is_none_or(|own| own == base) && head != *base {
        held.git.call(&["update-ref", &name, &head], b"")?;
    }
    shown.head = tip(&held.git, branch)?.unwrap_or_else(|| base.clone());
    if shown.head == *base {
        shown.gone = true;
        remove(held, true, true)?;
        return Ok(shown);
    }
    count(&held.git, base, &mut shown)?;
    let path = held.path();
    let _turn = held.dir.lock(TURN)?;
    match held.git.call_with(&with(&["worktree", "unlock"], &path), b"") {
        // Somebody has unlocked it before.
        Err(git::Error::Failed { .. }) | Ok(_) => {}
        Err(e) => return Err(e.into()),
    }
    held.record.run.clear();
    write(&held.dir, &held.slug, &held.record)?;
    Ok(shown)
}

/// Removes the lock that a killed git left on the branch of a run. Every process of the run has ended, and no other run works
/// on its branch.
fn unlock_branch(record: &Record) -> Result<()> {
    let mut dir = Dir::outside(&record.repository)?.sub("refs")?.sub("heads")?;
    let (folders, name) = record.branch.rsplit_once('/').unwrap_or(("", &record.branch));
    for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
        dir = dir.sub(folder)?;
    }
    Ok(dir.remove(&format!("{name}.lock")).if_any().map(drop)?)
}

/// Commits all files of the worktree on top of what is checked out there. Returns that commit, or the one before if
/// nothing differs.
fn commit(held: &Held<'_>, within: &Git<'_>) -> Result<String> {
    let head = within.line(&["rev-parse", "--verify", "HEAD^{commit}"])?;
    let listed =
        within.call(&["ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard"], b"")?;
    let mut files = vec![];
    // A name with a slash at its end is a repository of its own.
    for file in listed.split(|byte| *byte == 0).filter(|file| !file.is_empty() && !file.ends_with(b"/")) {
        files.extend_from_slice(file);
        files.push(0);
    }
    if !files.is_empty() {
        within.call(&["update-index", "--add", "--remove", "--replace", "-z", "--stdin"], &files)?;
    }
    let tree = within.line(&["write-tree"])?;
    if tree == within.line(&["rev-parse", "--verify", "HEAD^{tree}"])? {
        return Ok(head);
    }
    let Record { agent, run, branch, .. } = &held.record;
    let by = within.clone().by(&format!("{agent} (postroom)"), "agent@postroom.invalid");
    let text = format!("{agent}: changes of a run\n\nPostroom-Run: {run}\n");
    let made = by.call(&["commit-tree", &tree, "-p", &head, "-F", "-"], text.as_bytes())?;
    let made = String::from_utf8_lossy(&made).trim_end().to_owned();
    let name = format!("refs/heads/{branch}");
    match within.line(&["symbolic-ref", "-q", "HEAD"]) {
        Ok(checked_out) if checked_out == name => within.call(&["update-ref", &name, &made, &head], b"")?,
        _ => within.call(&["update-ref", "--no-deref", "HEAD", &made, &head], b"")?,
    };
    Ok(made)
}

/// Counts the changed files, and the added and removed lines, since `base`.
fn count(git: &Git<'_>, base: &str, shown: &mut RunWorktree) -> Result<()> {
    let words =
        ["diff-tree", "-r", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", base, &shown.head];
    let out = git.call(&words, b"")?;
    (shown.files, shown.added, shown.removed) = (0, 0, 0);
    for line in String::from_utf8_lossy(&out).lines() {
        let mut parts = line.split('\t');
        // A binary file has `-` in the place of numbers.
        let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok()).unwrap_or(0);
        shown.files += 1;
        shown.added += number();
        shown.removed += number();
    }
    Ok(())
}

/// Removes the worktree, its branch if this run made it and nothing is on it, and its record.
fn remove(held: &Held<'_>, is_unchanged: bool, is_registered: bool) -> Result<()> {
    let _turn = held.dir.lock(TURN)?;
    held.clear(is_registered)?;
    if held.record.created && is_unchanged && tip(&held.git, &held.record.branch)?.is_some() {
        let name = format!("refs/heads/{}", held.record.branch);
        held.git.call(&["update-ref", "-d", &name, &held.record.base], b"")?;
    }
    held.dir.remove(&format!("{}.json", held.slug)).if_any()?;
    held.dir.remove(&format!("{}.lock", held.slug)).if_any()?;
    Ok(())
}

/// Settles the worktree of a run whose supervisor was killed, also if the record of the run does not name it yet. `None` if
/// there is none, or somebody works in it.
pub(in crate::dispatch) fn settle_left(
    state: &Worktrees,
    worktree: Option<&RunWorktree>,
    run: &str,
    clock: &dyn Clock,
) -> Option<RunWorktree> {
    let is_its = |record: &Record| record.run == run;
    let Some(worktree) = worktree else {
        let home = Dir::open(&home(state)).ok()?;
        let all = home.names(|_, kind| kind == FileType::Directory).unwrap_or_default();
        let found = all.iter().filter_map(|name| {
            let dir = home.sub(name).ok()?;
            slugs(&dir).iter().find_map(|slug| settle_one(&dir, slug, is_its, state, clock).ok()?)
        });
        return found.last();
    };
    let (dir, slug) = place(state, Path::new(&worktree.path))?;
    let settled = settle_one(&dir, slug, is_its, state, clock);
    settled.unwrap_or_else(|e| Some(RunWorktree { fault: said(&e), ..worktree.clone() }))
}

fn settle_one(
    dir: &Dir,
    slug: &str,
    wanted: impl Fn(&Record) -> bool,
    state: &Worktrees,
    clock: &dyn Clock,
) -> Result<Option<RunWorktree>> {
    let Some(_) = named(dir, slug, &wanted)? else { return Ok(None) };
    let _sweep = dir.lock(SWEEP)?;
    left(dir, slug, wanted, state, clock)?.map(|mut held| settle(&mut held)).transpose()
}

/// The worktrees of a repository that have a record.
fn slugs(dir: &Dir) -> Vec<String> {
    let records = dir.names(|name, _| name.ends_with(".json")).unwrap_or_default();
    records.iter().filter_map(|name| name.strip_suffix(".json")).map(str::to_owned).collect()
}

/// Settles all worktrees of a repository whose supervisors were killed, and forgets those that somebody has removed. What
/// fails now is tried again later.
pub(super) fn sweep(dir: &Dir, state: &Worktrees, clock: &dyn Clock) {
    // Another process that sweeps does the same.
    let Ok(Some(_sweep)) = dir.try_lock(SWEEP, Hold::Alone) else { return };
    for slug in slugs(dir) {
        if let Ok(Some(mut held)) = left(dir, &slug, |_| true, state, clock) {
            let _ = settle(&mut held);
        }
        let _ = forget_removed(dir, &slug);
    }
}

/// Removes the record of a worktree that somebody has removed after its run.
fn forget_removed(dir: &Dir, slug: &str) -> Result<()> {
    let is_removed = || -> Result<bool> {
        let has_ended = read(dir, slug)?.is_some_and(|record| record.run.is_empty());
        Ok(has_ended && dir.stat(slug).if_any()?.is_none())
    };
    if is_removed()?
        && let Some(_lock) = dir.try_left_lock(&format!("{slug}.lock"))?
        && is_removed()?
    {
        dir.remove(&format!("{slug}.json")).if_any()?;
        dir.remove(&format!("{slug}.lock")).if_any()?;
    }
    Ok(())
}

/// The record of a worktree, if it names a run that is wanted.
fn named(dir: &Dir, slug: &str, wanted: impl Fn(&Record) -> bool) -> Result<Option<Record>> {
    Ok(read(dir, slug)?.filter(|record| !record.run.is_empty() && wanted(record)))
}

/// A worktree whose record names a run, and in which nobody works.
fn left<'c>(
    dir: &Dir,
    slug: &str,
    wanted: impl Fn(&Record) -> bool,
    state: &Worktrees,
    clock: &'c dyn Clock,
) -> Result<Option<Held<'c>>> {
    // Without the lock at first: a run that wants this branch must not find it taken by a mere look.
    let Some(_) = named(dir, slug, &wanted)? else { return Ok(None) };
    let Some(lock) = dir.try_left_lock(&format!("{slug}.lock"))? else { return Ok(None) };
    let Some(record) = named(dir, slug, &wanted)? else { return Ok(None) };
    // Its agent has outlived its supervisor. The recovery of its own room ends it first.
    if marked::lives(&record.run) {
        return Ok(None);
    }
    let git = git_of(state, &record, clock)?;
    let dir = Dir::open(dir.path())?;
    Ok(Some(Held { dir, slug: slug.to_owned(), record, git, _lock: lock }))
}

/// The worktrees that are kept, with their changes, after their runs have ended.
pub fn kept(state: &Worktrees) -> Vec<PathBuf> {
    let Ok(home) = Dir::open(&home(state)) else { return vec![] };
    let all = home.names(|_, kind| kind == FileType::Directory).unwrap_or_default();
    let mut found = vec![];
    for dir in all.iter().filter_map(|name| home.sub(name).ok()) {
        let has_ended = |slug: &String| matches!(read(&dir, slug), Ok(Some(record)) if record.run.is_empty());
        let is_there = |slug: &String| dir.stat(slug).is_ok();
        let own = slugs(&dir).into_iter().filter(|slug| has_ended(slug) && is_there(slug));
        found.extend(own.map(|slug| dir.path().join(slug)));
    }
    found.sort();
    found
}
