//! A picture of a directory: every path below it with kind, mode and content, so that "nothing was changed"
//! is a comparison of two pictures.

use std::collections::BTreeMap;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

pub(crate) type Tree = BTreeMap<String, String>;

/// All that lies below `root`. What commands touch whatever they do, and what says nothing about mail, is
/// left out: the mark of last sight, and the files that locks are taken on.
pub(crate) fn tree(root: &Path) -> Tree {
    let mut found = Tree::new();
    if root.is_dir() {
        look(root, root, &mut found);
    }
    found
}

fn look(root: &Path, directory: &Path, found: &mut Tree) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name == "seen" || name == ".alive" || name.ends_with(".lock") {
            continue;
        }
        let stat = path.symlink_metadata().unwrap();
        let mode = stat.permissions().mode() & 0o7777;
        let kind = stat.file_type();
        let what = if kind.is_dir() {
            format!("directory {mode:o}")
        } else if kind.is_symlink() {
            format!("link to {}", path.read_link().unwrap().display())
        } else if kind.is_fifo() {
            "fifo".to_owned()
        } else if stat.len() > 4 * 1024 * 1024 {
            // A sparse giant is told by its size.
            format!("file {mode:o} of {} bytes", stat.len())
        } else {
            let content = std::fs::read(&path).unwrap();
            format!("file {mode:o}: {}", content.escape_ascii())
        };
        let below = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        found.insert(below, what);
        if kind.is_dir() {
            look(root, &path, found);
        }
    }
}
