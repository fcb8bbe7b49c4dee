//! What is in a directory, to be compared before and after.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Everything below a directory, by its path: a directory, where a link leads, or the mode and the bytes of a file.
pub(crate) fn picture(directory: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    look(directory, "", &mut all);
    all
}

fn look(directory: &Path, above: &str, all: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), format!("{above}/{}", entry.file_name().to_string_lossy()));
        let Ok(found) = path.symlink_metadata() else { continue };
        let what = if found.is_symlink() {
            format!("link to {}", fs::read_link(&path).unwrap_or_default().display())
        } else if found.is_dir() {
            look(&path, &name, all);
            "directory".to_owned()
        } else {
            let digest = fs::read(&path).map(|bytes| super::super::sha256(&bytes)).unwrap_or_default();
            format!("{:o} {digest}", found.permissions().mode() & 0o7777)
        };
        all.insert(name, what);
    }
}

/// What is new, gone or changed, one line each; an error if there is any.
pub(crate) fn compare(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Result<(), String> {
    let mut lines = vec![];
    for (path, what) in after {
        match before.get(path) {
            None => lines.push(format!("left behind: {path} ({what})")),
            Some(was) if was != what => lines.push(format!("changed: {path} ({was}, now {what})")),
            Some(_) => {}
        }
    }
    lines.extend(before.keys().filter(|path| !after.contains_key(*path)).map(|path| format!("gone: {path}")));
    if lines.is_empty() { Ok(()) } else { Err(lines.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/b"), "1").unwrap();
        fs::write(folder.path().join("c"), "1").unwrap();
        let before = picture(folder.path());
        assert_eq!(compare(&before, &picture(folder.path())), Ok(()));
        fs::write(folder.path().join("a/b"), "2").unwrap();
        fs::remove_file(folder.path().join("c")).unwrap();
        std::os::unix::fs::symlink("x", folder.path().join("d")).unwrap();
        let said = compare(&before, &picture(folder.path())).unwrap_err();
        for part in ["left behind: /d (link to x)", "changed: /a/b", "gone: /c"] {
            assert!(said.contains(part), "{said}");
        }
    }
}
