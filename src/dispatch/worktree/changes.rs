//! What a run changed: the difference between the commit where it began and the last one of its branch, as git writes it.

use std::path::Path;

use super::{Error, Result, RunWorktree, read};
use crate::mailbox::Dir;
use crate::post::Post;
use crate::process::git::Git;

/// The most bytes of a difference that are shown.
const LIMIT: usize = 512 * 1024;

/// The changes of a run in its worktree, and whether more of them were left out. `None` if there are none, or if the worktree
/// was forgotten.
pub fn changes(post: &Post, worktree: &RunWorktree) -> std::result::Result<Option<(String, bool)>, String> {
    look(post, worktree).map_err(|e| e.to_string())
}

fn look(post: &Post, worktree: &RunWorktree) -> Result<Option<(String, bool)>> {
    let path = Path::new(&worktree.path);
    let (Some(worktrees), Some(dir), Some(slug)) =
        (post.worktrees(), path.parent(), path.file_name().and_then(|name| name.to_str()))
    else {
        return Ok(None);
    };
    if worktree.head.is_empty() || worktree.gone || !dir.starts_with(&worktrees.dir) {
        return Ok(None);
    }
    // The record says which repository it is; a file in the worktree may lie.
    let Some(record) = read(&Dir::open(dir)?, slug)? else { return Ok(None) };
    let is_commit = |text: &str| text.len() >= 40 && text.bytes().all(|b| b.is_ascii_hexdigit());
    if !is_commit(&worktree.base) || !is_commit(&worktree.head) {
        return Ok(None);
    }
    let git = Git::of(&record.repository, worktrees.search.as_deref(), "", post.room().clock())?;
    let words = [
        "diff-tree",
        "-r",
        "-p",
        "--no-color",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        &worktree.base,
        &worktree.head,
    ];
    let out = git.call(&words, b"").map_err(Error::from)?;
    let is_cut = out.len() > LIMIT;
    let text = String::from_utf8_lossy(&out[..out.len().min(LIMIT)]).into_owned();
    Ok(Some((text, is_cut)))
}
