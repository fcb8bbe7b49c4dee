//! Links inside the repository: the file is there, and so is the heading that the anchor names.
//!
//! Looked at are the pages at the root and below `docs/`, and what comments and hints in `src/` name as `docs/PAGE.md`. Links
//! to the outside are not followed.

use std::collections::BTreeMap;

use super::Finding;
use super::files::File;
use super::markdown::{anchors, links};

pub(super) fn findings(files: &[File]) -> Vec<Finding> {
    let known: BTreeMap<&str, &File> = files.iter().map(|file| (file.path.as_str(), file)).collect();
    let is_page =
        |file: &&File| file.is_markdown() && (!file.path.contains('/') || file.path.starts_with("docs/"));
    let mut findings = Vec::new();
    for page in files.iter().filter(is_page) {
        for (number, target) in links(page) {
            if let Err(why) = resolve(page, &target, &known) {
                findings.push(Finding::new(page, number, format!("link `{target}`: {why}")));
            }
        }
    }
    for file in files.iter().filter(|file| file.path.starts_with("src/")) {
        for (number, line) in file.lines() {
            for page in named_pages(line).filter(|page| !known.contains_key(page)) {
                findings.push(Finding::new(file, number, format!("there is no `{page}`")));
            }
        }
    }
    findings
}

/// The pages that a line of source names by their path.
fn named_pages(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("docs/").filter_map(|(start, _)| {
        let rest = &line[start..];
        rest.find(".md")
            .map(|end| &rest[..end + ".md".len()])
            .filter(|page| !page.contains(char::is_whitespace))
    })
}

fn resolve(page: &File, target: &str, known: &BTreeMap<&str, &File>) -> Result<(), String> {
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let path = if path.is_empty() { page.path.clone() } else { from_root(page, path)? };
    let Some(file) = known.get(path.as_str()) else {
        let folder = format!("{path}/");
        let is_folder = path.is_empty() || known.keys().any(|known| known.starts_with(&folder));
        return if is_folder { Ok(()) } else { Err(format!("there is no `{path}`")) };
    };
    match anchor {
        Some(anchor) if file.is_markdown() && !anchors(file).contains(anchor) => {
            Err(format!("`{path}` has no heading for it"))
        }
        _ => Ok(()),
    }
}

/// The linked path as one from the root of the repository.
fn from_root(page: &File, path: &str) -> Result<String, String> {
    let mut parts: Vec<&str> = page.path.split('/').collect();
    parts.pop();
    if path.starts_with('/') {
        parts.clear();
    }
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().ok_or("it leaves the repository")?;
            }
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "# Format\n\n## 1. The room: `tmp/`\n\n## See [more](page.md)\n\n## Twice\n\n## Twice ##\n\n\
                          <a id=\"own\"></a>\n\n```sh\n# no heading\n```\n";

    fn found(text: &str) -> Vec<usize> {
        let pages = [("docs/page.md", text), ("docs/format.md", FORMAT), ("src/lib.rs", "")];
        findings(&pages.map(|(path, text)| File::new(path, text)))
            .into_iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn a_link_leads_to_a_file_or_folder_of_the_repository() {
        for target in
            ["format.md", "./format.md", "../src/lib.rs", "/src/lib.rs", "../src", "../src/", "<format.md>"]
        {
            assert!(found(&format!("see [it]({target})\n")).is_empty(), "{target}");
            assert!(found(&format!("[it]: {target}\n")).is_empty(), "{target}");
        }
        for target in ["formats.md", "src/lib.rs", "../../format.md", "../sr", "format.md/x"] {
            assert_eq!(found(&format!("first line\nsee [it]({target})\n")), [2], "{target}");
            assert_eq!(found(&format!("first line\n[it]: {target}\n")), [2], "{target}");
        }
    }

    #[test]
    fn an_anchor_leads_to_a_heading() {
        for anchor in ["format", "1-the-room-tmp", "see-more", "twice", "twice-1", "own"] {
            assert!(found(&format!("[it](format.md#{anchor})\n")).is_empty(), "{anchor}");
        }
        for anchor in ["Format", "the-room", "twice-2", "no-heading", ""] {
            assert_eq!(found(&format!("[it](format.md#{anchor})\n")), [1], "{anchor}");
        }
        assert!(found("# Here I am\n[it](#here-i-am)\n").is_empty());
        assert_eq!(found("# Here I am\n[it](#there)\n"), [2]);
        assert!(found("[a line of code](../src/lib.rs#L10)\n").is_empty());
    }

    #[test]
    fn several_links_in_a_line_are_each_followed() {
        assert_eq!(found("[a](format.md), [b](b.md \"title\") and ![c](c(1).png)\n"), [1, 1]);
    }

    #[test]
    fn code_and_the_outside_are_left_alone() {
        for text in [
            "[it](https://example.net/x.md)",
            "[it](mailto:a@example.net)",
            "`[it](x.md)`",
            "``a`[i](x.md)``",
        ] {
            assert!(found(&format!("{text}\n")).is_empty(), "{text}");
        }
        assert!(found("```\n[it](x.md)\n```\n").is_empty());
        assert!(found("````md\n```\n[it](x.md)\n```\n````\n").is_empty());
        assert_eq!(found("```\n```\n[it](x.md)\n"), [3]);
        assert_eq!(found("`code` [it](x.md) `code`\n"), [1]);
    }

    #[test]
    fn a_page_that_source_names_is_there() {
        let found = |line: &str| {
            let files = [("docs/reference/format.md", "# Format\n"), ("src/lib.rs", line)];
            findings(&files.map(|(path, text)| File::new(path, text))).len()
        };
        for line in ["//! docs/reference/format.md §1\n", "// docs/ and README.md\n", "\"docs/schema\"\n"] {
            assert_eq!(found(line), 0, "{line}");
        }
        for line in ["//! docs/format.md §1\n", "\"(docs/reference/formats.md)\"\n"] {
            assert_eq!(found(line), 1, "{line}");
        }
    }

    #[test]
    fn only_pages_of_the_repository_are_read() {
        let broken = "[it](nowhere.md)\n";
        let count = |path| findings(&[File::new(path, broken)]).len();
        assert_eq!(
            ["README.md", "docs/a.md", "docs/a/b.md", "tests/a.md", "docs/a.txt"].map(count),
            [1, 1, 1, 0, 0]
        );
    }
}
