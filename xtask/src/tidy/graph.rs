//! Which top-level module of `src/` uses which, compared with what ARCHITECTURE.md draws.
//!
//! The page has one line per module, `name → what it uses`, and what is used stands below: so there can be no cycle. An arrow that the
//! source has and the page has not is a finding, and so is one that is drawn and not there. Tests may use anything.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::files::File;

const PAGE: &str = "ARCHITECTURE.md";
const HEADING: &str = "## What may use what";

type Uses = BTreeMap<String, BTreeSet<String>>;

pub(super) fn findings(files: &[File]) -> Vec<Finding> {
    let Some(page) = files.iter().find(|file| file.path == PAGE) else { return vec![] };
    let found = of_source(files);
    if found.is_empty() {
        return vec![];
    }
    let Some(drawn) = drawn(&page.text) else {
        return vec![Finding::new(page, 1, format!("has no `{HEADING}` with a block of arrows"))];
    };
    let mut findings = vec![];
    let mut below: BTreeSet<&str> = drawn.iter().map(|(_, name, _)| name.as_str()).collect();
    for (line, name, uses) in &drawn {
        below.remove(name.as_str());
        for used in uses.iter().filter(|used| !below.contains(used.as_str())) {
            findings.push(Finding::new(
                page,
                *line,
                format!("`{name}` uses `{used}`, which is not below it"),
            ));
        }
        let real = found.get(name).cloned().unwrap_or_default();
        for gone in uses.difference(&real) {
            findings.push(Finding::new(page, *line, format!("`{name}` does not use `{gone}`")));
        }
    }
    for (name, uses) in &found {
        let line = drawn.iter().find(|(_, drawn, _)| drawn == name);
        let (at, known) = line.map_or((1, BTreeSet::new()), |(at, _, uses)| (*at, uses.clone()));
        if line.is_none() {
            findings.push(Finding::new(page, at, format!("the module `{name}` is not drawn")));
        }
        for used in uses.difference(&known) {
            findings.push(Finding::new(page, at, format!("`{name}` uses `{used}`, which is not drawn")));
        }
    }
    findings
}

/// The lines of the page: where, which module, and what it uses.
fn drawn(page: &str) -> Option<Vec<(usize, String, BTreeSet<String>)>> {
    let lines = page.lines().enumerate().skip_while(|(_, line)| *line != HEADING);
    let mut block = lines.skip_while(|(_, line)| !line.starts_with("```")).skip(1);
    let mut drawn = vec![];
    loop {
        let (at, line) = block.next()?;
        if line.starts_with("```") {
            return Some(drawn);
        }
        let (name, uses) = line.split_once('→').unwrap_or((line, ""));
        drawn.push((at + 1, name.trim().to_owned(), uses.split_whitespace().map(str::to_owned).collect()));
    }
}

fn of_source(files: &[File]) -> Uses {
    let sources = || files.iter().filter(|file| file.is_rust() && file.path.starts_with("src/"));
    let tests: BTreeSet<String> = sources().flat_map(test_files).collect();
    let mut uses = Uses::new();
    for file in sources().filter(|file| !tests.contains(&file.path)) {
        let top = file.path["src/".len()..].split('/').next().unwrap_or_default().trim_end_matches(".rs");
        if ["main", "lib"].contains(&top) {
            continue;
        }
        let of_top = uses.entry(top.to_owned()).or_default();
        of_top.extend(named(&without_tests(&file.text)).filter(|name| name != top));
    }
    let modules: BTreeSet<String> = uses.keys().cloned().collect();
    uses.values_mut().for_each(|used| used.retain(|name| modules.contains(name)));
    uses
}

/// The files that a file declares for tests alone.
fn test_files(file: &File) -> Vec<String> {
    let folder = match file.path.strip_suffix("/mod.rs").or(file.path.strip_suffix("/lib.rs")) {
        Some(folder) => folder.to_owned(),
        None => file.path.trim_end_matches(".rs").to_owned(),
    };
    let beside = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut found = vec![];
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| **line == "#[cfg(test)]") {
        let mut next = lines[at + 1..].iter();
        let path = lines[at + 1].strip_prefix("#[path = \"").and_then(|rest| rest.strip_suffix("\"]"));
        found.extend(path.map(|path| format!("{beside}/{path}")));
        let module = next.find(|line| !line.starts_with("#["));
        let name = module.and_then(|line| line.strip_suffix(';')).and_then(|line| line.rsplit_once("mod "));
        found.extend(name.map(|(_, name)| format!("{folder}/{name}.rs")));
    }
    found
}

/// The text up to its tests, without comments.
fn without_tests(text: &str) -> String {
    let text = text.split_once("\n#[cfg(test)]\nmod tests {").map_or(text, |(before, _)| before);
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// What stands behind `crate::`, in braces too.
fn named(text: &str) -> impl Iterator<Item = String> {
    text.split("crate::").skip(1).flat_map(|rest| {
        let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        match rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
            Some((inside, _)) => inside.split(',').map(|part| word(part.trim())).collect::<Vec<String>>(),
            None => vec![word(rest)],
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    fn judged(page: &str) -> Vec<String> {
        let files = [
            file(PAGE, &format!("# Map\n\n{HEADING}\n```text\n{page}\n```\n")),
            file(
                "src/top.rs",
                "use crate::{low, mid::x};\n#[cfg(test)]\nmod tests {\n    use crate::far;\n}\n",
            ),
            file("src/mid/mod.rs", "// crate::top\n#[cfg(test)]\nmod scene;\nfn f() { crate::low::g(); }\n"),
            file("src/mid/scene.rs", "use crate::top;\n"),
            file("src/low.rs", ""),
            file("src/far.rs", ""),
        ];
        findings(&files).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn the_arrows_of_the_source_are_those_of_the_page() {
        assert_eq!(judged("top → low mid\nmid → low\nlow\nfar"), Vec::<String>::new());
    }

    #[test]
    fn a_difference_is_found_in_both_directions() {
        assert_eq!(judged("top → mid\nmid → low\nlow\nfar"), ["`top` uses `low`, which is not drawn"]);
        assert_eq!(judged("top → low mid far\nmid → low\nlow\nfar"), ["`top` does not use `far`"]);
        assert_eq!(judged("top → low mid\nmid → low\nlow"), ["the module `far` is not drawn"]);
    }

    #[test]
    fn what_is_used_stands_below() {
        assert_eq!(judged("mid → low\ntop → low mid\nlow\nfar"), ["`top` uses `mid`, which is not below it"]);
    }
}
