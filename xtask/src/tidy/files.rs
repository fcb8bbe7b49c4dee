//! The files of the repository: those that git tracks, or would track if they were added.
//!
//! Without git, or outside a checkout, every file counts but those below `target` and `.git`.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

/// A file, its path from the root of the repository with `/` between the parts, and its text.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: String,
    pub(super) text: String,
}

impl File {
    pub(super) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(super) fn is_markdown(&self) -> bool {
        self.path.ends_with(".md")
    }

    /// The lines with their numbers, from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.split('\n').enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// All files in order of their paths. What is not text (not UTF-8, or with a NUL) has an empty one.
pub(super) fn load(root: &Path) -> Result<Vec<File>, String> {
    let mut paths = match tracked(root) {
        Some(paths) => paths,
        None => walk(root, "").map_err(|source| format!("cannot list {}: {source}", root.display()))?,
    };
    paths.sort();
    paths.dedup();
    let mut files = Vec::new();
    for path in paths {
        let full = root.join(&path);
        // Links are git's to keep; a file may be tracked and already removed.
        if !fs::symlink_metadata(&full).is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        let bytes = fs::read(&full).map_err(|source| format!("cannot read {path}: {source}"))?;
        let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).unwrap_or_default();
        files.push(File { path, text });
    }
    Ok(files)
}

fn tracked(root: &Path) -> Option<Vec<String>> {
    if !root.join(".git").exists() {
        return None;
    }
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let output = git.output().ok().filter(|output| output.status.success())?;
    let listing = String::from_utf8_lossy(&output.stdout);
    Some(listing.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

fn walk(root: &Path, below: &str) -> io::Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if !entry.file_type()?.is_dir() {
            paths.push(path);
        } else if name != ".git" && name != "target" {
            paths.extend(walk(root, &path)?);
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn paths(root: &Path) -> Vec<String> {
        load(root).unwrap().into_iter().map(|file| file.path).collect()
    }

    /// Says that a test did not run, to who watches and to `cargo xtask test`.
    fn skip(line: &str) {
        println!("{line}");
        if let Some(path) = std::env::var_os("POSTROOM_SKIPPED") {
            let mut record = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
            writeln!(record, "{line}").unwrap();
        }
    }

    #[test]
    fn every_file_is_found_but_those_that_were_built() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for folder in ["src/mailbox", "target/debug", ".config"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for path in ["README.md", "src/mailbox/disk.rs", "target/debug/postroom", ".config/nextest.toml"] {
            fs::write(root.join(path), "text\n").unwrap();
        }
        std::os::unix::fs::symlink("README.md", root.join("link.md")).unwrap();
        assert_eq!(paths(root), [".config/nextest.toml", "README.md", "src/mailbox/disk.rs"]);
    }

    #[test]
    fn in_a_checkout_ignored_files_are_left_out_and_new_ones_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let initialised = Command::new("git").current_dir(root).args(["init", "--quiet"]).status();
        if !initialised.is_ok_and(|status| status.success()) {
            skip("skipped: tidy::files in a checkout: git is not installed");
            return;
        }
        for (path, text) in [(".gitignore", "/built\n"), ("built", ""), ("new.md", "")] {
            fs::write(root.join(path), text).unwrap();
        }
        assert_eq!(paths(root), [".gitignore", "new.md"]);
    }

    #[test]
    fn what_is_not_text_has_none() {
        let directory = tempfile::tempdir().unwrap();
        for (name, bytes) in [("binary", b"\xff \n".as_slice()), ("nul", b"\0 \n"), ("text", b"text\n")] {
            fs::write(directory.path().join(name), bytes).unwrap();
        }
        let texts: Vec<_> = load(directory.path()).unwrap().into_iter().map(|file| file.text).collect();
        assert_eq!(texts, ["", "", "text\n"]);
    }
}
