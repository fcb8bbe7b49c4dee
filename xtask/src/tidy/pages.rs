//! Pages that speak about the tree: the changelog has a place for the next change, and the map in ARCHITECTURE.md shows
//! every entry of `src/` and none that is gone.

use std::collections::BTreeSet;

use super::Finding;
use super::files::File;

pub(super) fn findings(files: &[File]) -> Vec<Finding> {
    let mut findings = changelog(files);
    findings.extend(map(files));
    findings
}

fn changelog(files: &[File]) -> Vec<Finding> {
    let Some(page) = files.iter().find(|file| file.path == "CHANGELOG.md") else {
        return vec![missing("CHANGELOG.md")];
    };
    let has_section = page.lines().any(|(_, line)| line.trim_end() == "## [Unreleased]");
    if has_section { Vec::new() } else { vec![Finding::new(page, 1, "no section `## [Unreleased]`")] }
}

fn map(files: &[File]) -> Vec<Finding> {
    let Some(page) = files.iter().find(|file| file.path == "ARCHITECTURE.md") else {
        return vec![missing("ARCHITECTURE.md")];
    };
    let mut findings = Vec::new();
    for entry in entries(files) {
        if !is_mentioned(&page.text, &entry) {
            findings.push(Finding::new(page, 1, format!("the folder map does not mention `src/{entry}`")));
        }
    }
    for (number, line) in page.lines() {
        for path in source_paths(line).filter(|path| !exists(files, path)) {
            findings.push(Finding::new(page, number, format!("there is no `{path}`")));
        }
    }
    findings
}

fn missing(path: &str) -> Finding {
    Finding::new(&File::new(path, ""), 1, "there is no such page")
}

/// What lies directly in `src/`: files by their names, folders with a `/` at the end.
fn entries(files: &[File]) -> BTreeSet<String> {
    let below = files.iter().filter_map(|file| file.path.strip_prefix("src/"));
    below
        .map(|path| path.split_once('/').map_or(path.to_owned(), |(folder, _)| format!("{folder}/")))
        .collect()
}

/// Whether the map shows the entry, as `src/mailbox/` or, in a tree, as `mailbox/`; `tests/mailbox/` is another one.
fn is_mentioned(page: &str, entry: &str) -> bool {
    let joins = |character: char| character.is_alphanumeric() || "_-./".contains(character);
    page.match_indices(entry).any(|(start, _)| {
        let before = page[..start].strip_suffix("src/").unwrap_or(&page[..start]);
        !before.ends_with(joins)
    })
}

/// The paths of a line that begin with `src/` and go on.
fn source_paths(line: &str) -> impl Iterator<Item = &str> {
    let joins = |character: char| character.is_alphanumeric() || "_-./".contains(character);
    let starts = line.match_indices("src/").filter(move |(start, _)| !line[..*start].ends_with(joins));
    let paths = starts.map(move |(start, _)| {
        let rest = &line[start..];
        rest[..rest.find(|character| !joins(character)).unwrap_or(rest.len())].trim_end_matches('.')
    });
    paths.filter(|path| *path != "src/")
}

fn exists(files: &[File], path: &str) -> bool {
    let folder = format!("{}/", path.trim_end_matches('/'));
    files.iter().any(|file| file.path == path || file.path.starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(architecture: &str, changelog: &str) -> Vec<String> {
        let pages = [
            ("ARCHITECTURE.md", architecture),
            ("CHANGELOG.md", changelog),
            ("src/lib.rs", ""),
            ("src/wait.rs", ""),
            ("src/mailbox/disk.rs", ""),
        ];
        findings(&pages.map(|(path, text)| File::new(path, text))).iter().map(Finding::to_string).collect()
    }

    const UNRELEASED: &str = "# Changelog\n\n## [Unreleased]\n";
    const MAP: &str = "src/lib.rs\nsrc/wait.rs\nsrc/mailbox/\n";

    #[test]
    fn the_changelog_has_a_place_for_the_next_change() {
        assert!(found(MAP, UNRELEASED).is_empty());
        for changelog in ["# Changelog\n", "## Unreleased\n", "See [Unreleased].\n"] {
            assert_eq!(found(MAP, changelog), ["CHANGELOG.md:1: no section `## [Unreleased]`"]);
        }
    }

    #[test]
    fn the_map_shows_every_entry() {
        assert!(found("src/\n  lib.rs, wait.rs\n  mailbox/  where messages lie\n", UNRELEASED).is_empty());
        for (map, missing) in [
            ("src/lib.rs src/mailbox/\n", "wait.rs"),
            ("src/lib.rs src/mailbox/ tests/wait.rs\n", "wait.rs"),
            ("src/lib.rs src/mailbox/ await.rs\n", "wait.rs"),
            ("src/lib.rs src/wait.rs tests/mailbox/\n", "mailbox/"),
            ("src/lib.rs src/wait.rs, the mailbox\n", "mailbox/"),
        ] {
            let expected = format!("ARCHITECTURE.md:1: the folder map does not mention `src/{missing}`");
            assert_eq!(found(map, UNRELEASED), [expected], "{map}");
        }
    }

    #[test]
    fn the_map_shows_nothing_that_is_gone() {
        for path in ["src/gone.rs", "src/mailbox/gone.rs", "src/gone/"] {
            let expected = format!("ARCHITECTURE.md:4: there is no `{path}`");
            assert_eq!(found(&format!("{MAP}`{path}`.\n"), UNRELEASED), [expected]);
        }
        let fine = "`src/mailbox/disk.rs`, src/wait.rs. All of src/, src/*/x.rs and xtask/src/gone.rs.\n";
        assert!(found(&format!("{MAP}{fine}"), UNRELEASED).is_empty());
    }

    #[test]
    fn both_pages_must_be_there() {
        let paths: Vec<_> = findings(&[]).into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["CHANGELOG.md", "ARCHITECTURE.md"]);
    }
}
