//! Destinations: the paths that a reply may go to. A path from a message is hostile until it is accepted here: a direct
//! child of a permitted inbox, reached without links.

use std::path::{Component, Path};

use rustix::fs::{FileType, Stat};

use super::MAILBOX;
use crate::mailbox::directory::Directory;
use crate::mailbox::disk::Dir;
use crate::mailbox::fault::{Error, IfAny, Result};
use crate::message::workspace::file_name_of;
use crate::name::MailboxId;

/// The directory and file name for a reply.
pub(super) fn destination(path: &str, request: &str, directory: &dyn Directory) -> Result<(Dir, String)> {
    let refuse = |why: &str| Error::Destination { path: path.to_owned(), why: why.to_owned() };
    let given = Path::new(path);
    let plain = given.components().all(|c| matches!(c, Component::RootDir | Component::Normal(_)));
    if !given.is_absolute() || !plain || path.split('/').any(|part| part == "." || part == "..") {
        return Err(refuse("it is not an absolute path without `.` and `..`"));
    }
    let in_workspace =
        |dir: &Path| dir.ends_with("inbox") && dir.parent().is_some_and(|p| p.ends_with(MAILBOX));
    // A path that names the inbox itself means the request's own file in it.
    let own = file_name_of(request);
    let (dir, name) =
        match (in_workspace(given) || directory.may_receive(given), given.parent(), given.file_name()) {
            (true, ..) => (given, own.as_str()),
            (false, Some(dir), Some(name)) => (dir, name.to_str().unwrap_or_default()),
            _ => return Err(refuse("it has no directory")),
        };
    MailboxId::parse(name).map_err(|why| refuse(&format!("its last part: {why}")))?;
    if !in_workspace(dir) && !directory.may_receive(dir) {
        return Err(refuse("it is in no inbox of a .mailbox, of the registry, or of `reply_destinations`"));
    }
    let dir = match Dir::outside(dir) {
        Err(e) if e.is_missing() => return Err(refuse("there is no such directory")),
        // A failing disk is not a reason to call the path wrong.
        Err(e @ Error::Io { .. }) if !e.is_forbidden() => return Err(e),
        Err(e) => return Err(refuse(&e.to_string())),
        Ok(dir) => dir,
    };
    let is_link = |stat: Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
    match dir.stat(name).if_any()?.is_some_and(is_link) {
        true => Err(refuse("it is a symbolic link")),
        false => Ok((dir, name.to_owned())),
    }
}
