//! What no lint checks: how files open, how long they are, what they are called, what is left over in them, and whether
//! the pages agree with the tree.
//!
//! Every check is a function from the files to findings. A finding is printed as `path:line: what`; any finding fails the
//! task. A warning is printed and fails nothing. Only files that git tracks, or would track, are looked at.

mod files;
mod graph;
mod links;
mod markdown;
mod matrix;
mod pages;
mod platform;
mod source;
mod text;
mod wording;

use std::fmt;
use std::path::Path;

use files::File;

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    what: String,
}

impl Finding {
    fn new(file: &File, line: usize, what: impl Into<String>) -> Self {
        Self { path: file.path.clone(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    match args.first() {
        Some(argument) => Err(format!("`cargo xtask tidy` takes no argument such as `{argument}`")),
        None => check(&crate::repo::root()?),
    }
}

pub(crate) fn check(root: &Path) -> Result<(), String> {
    let files = files::load(root)?;
    for warning in source::warnings(&files) {
        println!("    warning: {warning}");
    }
    let findings = findings(&files, &text::private_directories(root));
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("    {} files are tidy", files.len());
            Ok(())
        }
        1 => Err("1 finding".to_owned()),
        many => Err(format!("{many} findings")),
    }
}

fn findings(files: &[File], private: &[String]) -> Vec<Finding> {
    let mut findings = source::findings(files);
    findings.extend(text::findings(files, private));
    findings.extend(wording::findings(files));
    findings.extend(links::findings(files));
    findings.extend(pages::findings(files));
    findings.extend(graph::findings(files));
    findings.extend(platform::findings(files));
    findings.extend(matrix::findings(files));
    findings.sort();
    findings
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        directory
    }

    const TIDY: [(&str, &str); 4] = [
        ("README.md", "# Postroom\n\nSee [the map](ARCHITECTURE.md#map).\n"),
        ("ARCHITECTURE.md", "# Architecture\n\n## Map\n\n`src/lib.rs` lists the modules.\n"),
        ("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n"),
        ("src/lib.rs", "//! The library.\n"),
    ];

    #[test]
    fn a_tidy_tree_has_no_findings() {
        assert_eq!(check(tree(&TIDY).path()), Ok(()));
    }

    /// One untidy file for each module of checks, so that none of them can fall out of the list.
    #[test]
    fn every_kind_of_check_is_run() {
        for untidy in [
            ("src/lib.rs", "fn main() {}\n"),
            ("src/lib.rs", "//! Trailing space. \n"),
            ("src/lib.rs", concat!("//! Who", "ever reads it.\n")),
            ("README.md", "[nowhere](nowhere.md)\n"),
            ("CHANGELOG.md", "# Changelog\n"),
            ("src/lib.rs", "//! The library.\nuse rustix::fs::inotify;\n"),
        ] {
            let directory = tree(&TIDY);
            fs::write(directory.path().join(untidy.0), untidy.1).unwrap();
            assert_eq!(check(directory.path()), Err("1 finding".to_owned()), "{untidy:?}");
        }
    }

    #[test]
    fn a_finding_is_printed_with_path_and_line() {
        let file = File::new("src/name.rs", "");
        assert_eq!(Finding::new(&file, 7, "what").to_string(), "src/name.rs:7: what");
    }
}
