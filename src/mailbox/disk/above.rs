//! The way down to a directory: who could put another one in its place.
//!
//! A user who can write to a directory can move what is in it, and so on up to `/`. So each directory above must belong to
//! this user or to root, and be writable by nobody else unless it is sticky, as /tmp is. [`check_above`] looks at all of
//! them, which is for commands that stay; [`check_holder`] judges one that was looked at anyway.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{self, FileType, Stat};
use rustix::io::Errno;

use super::is_ours;
use crate::mailbox::fault::{Error, Result};
use crate::os;

/// As many links as the kernel follows.
const LINKS: usize = 40;

/// Refuses a directory that holds another one if somebody else could swap that.
pub(super) fn check_holder(stat: &Stat, path: &Path) -> Result<()> {
    check_keeper(stat, path)?;
    if stat.st_mode & 0o022 != 0 && stat.st_mode & 0o1000 == 0 {
        return Err(Error::LooseParent { path: path.to_owned() });
    }
    Ok(())
}

fn check_keeper(stat: &Stat, path: &Path) -> Result<()> {
    match is_ours(stat) || stat.st_uid == 0 || os::is_unmapped(stat.st_uid) {
        true => Ok(()),
        false => Err(Error::OtherParent { path: path.to_owned(), owner: stat.st_uid }),
    }
}

/// Looks at every directory above this path, as far as there is one, also behind links.
pub fn check_above(path: &Path) -> Result<()> {
    let mut left = parts(path.parent().unwrap_or(path));
    let mut at = PathBuf::from("/");
    let mut links = 0;
    let root = fs::lstat(&at).map_err(|e| Error::io("look at", &at, e))?;
    check_holder(&root, &at)?;
    while let Some(part) = left.pop() {
        if part == ".." {
            at.pop();
            continue;
        }
        let next = at.join(part);
        let stat = match fs::lstat(&next) {
            // What is missing is made by this user.
            Err(Errno::NOENT) => return Ok(()),
            other => other.map_err(|e| Error::io("look at", &next, e))?,
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
            check_holder(&stat, &next)?;
            at = next;
            continue;
        }
        check_keeper(&stat, &next)?;
        links += 1;
        if links > LINKS {
            return Err(Error::io("look at", &next, Errno::LOOP));
        }
        let target = fs::readlink(&next, vec![]).map_err(|e| Error::io("look at", &next, e))?;
        let target = PathBuf::from(OsStr::from_bytes(target.to_bytes()));
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        left.append(&mut parts(&target));
    }
    Ok(())
}

/// The components of a path, the last first.
fn parts(path: &Path) -> Vec<OsString> {
    let part = |component: Component<'_>| match component {
        Component::Normal(_) | Component::ParentDir => Some(component.as_os_str().to_owned()),
        _ => None,
    };
    path.components().rev().filter_map(part).collect()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn every_directory_above_counts_and_what_is_behind_a_link() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("a/b/c")).unwrap();
        std::fs::create_dir_all(base.join("d")).unwrap();
        symlink("../a/b", base.join("d/link")).unwrap();
        let set = |path: &str, mode| {
            std::fs::set_permissions(base.join(path), PermissionsExt::from_mode(mode)).unwrap();
        };
        let loose = |room: &str| match check_above(&base.join(room)) {
            Ok(()) => None,
            Err(Error::LooseParent { path }) => Some(path),
            Err(e) => panic!("{e}"),
        };
        for room in ["a/b/c/room", "d/link/c/room", "d/link/missing/room"] {
            assert_eq!(loose(room), None, "{room}");
            for mode in [0o777, 0o770, 0o707] {
                set("a", mode);
                assert_eq!(loose(room), Some(base.join("a")), "{room} {mode:o}");
            }
            set("a", 0o1777);
            assert_eq!(loose(room), None, "{room}, sticky");
            set("a", 0o755);
        }
        // The room itself is judged where it is opened.
        set("a/b/c", 0o777);
        assert_eq!(loose("a/b/c"), None);
        symlink("loop", base.join("loop")).unwrap();
        assert!(matches!(check_above(&base.join("loop/room")), Err(Error::Io { .. })));
    }
}
