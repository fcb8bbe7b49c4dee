//! Rust files: how they open, how long they are, what they are called, what is left over in them, and results within
//! results.

use super::Finding;
use super::files::File;

/// A file should be shorter than this; a longer one is a warning.
const LONG: usize = 300;
/// A file longer than this is a finding.
const TOO_LONG: usize = 400;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 7] = ["common", "handler", "helper", "manager", "service", "util", "misc"];

/// Spelled apart, so that this file is not its own finding.
const LEFT_OVER: [(&str, &str); 3] = [
    (concat!("#[ign", "ore"), "a test that never runs proves nothing"),
    (concat!("to", "do!"), "code that is missing"),
    (concat!("unimpl", "emented!"), "code that is missing"),
];

const RESULT: &str = "Result<";

pub(super) fn findings(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        findings.extend(opening(file));
        findings.extend(length(file));
        findings.extend(empty_name(file));
        findings.extend(left_over(file));
        findings.extend(nested_results(file));
    }
    findings
}

/// Files on their way to being too long.
pub(super) fn warnings(files: &[File]) -> Vec<Finding> {
    let long = |file: &&File| file.is_rust() && (LONG + 1..=TOO_LONG).contains(&count(file));
    let warn = |file| Finding::new(file, 1, format!("{} lines; aim at {LONG}", count(file)));
    files.iter().filter(long).map(warn).collect()
}

fn opening(file: &File) -> Option<Finding> {
    let in_source = file.path.split('/').rev().skip(1).any(|folder| folder == "src");
    let opens = file.text.starts_with("//! ");
    (in_source && !opens).then(|| Finding::new(file, 1, "does not open with `//!` and what this module is"))
}

fn length(file: &File) -> Option<Finding> {
    let lines = count(file);
    (lines > TOO_LONG).then(|| Finding::new(file, TOO_LONG + 1, format!("{lines} lines; at most {TOO_LONG}")))
}

fn count(file: &File) -> usize {
    file.text.lines().count()
}

fn empty_name(file: &File) -> Option<Finding> {
    let part = file.path.trim_end_matches(".rs").split('/').find(|part| {
        let singular = part.strip_suffix('s').unwrap_or(part);
        EMPTY_NAMES.contains(&singular)
    })?;
    Some(Finding::new(file, 1, format!("`{part}` names no idea; call it after what it does")))
}

fn left_over(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        for (mark, why) in LEFT_OVER {
            if line.contains(mark) {
                findings.push(Finding::new(file, number, format!("`{mark}`: {why}")));
            }
        }
    }
    findings
}

/// A result whose value is another result: no reader knows which of the two failed.
fn nested_results(file: &File) -> Vec<Finding> {
    let starts = file.text.match_indices(RESULT).map(|(start, _)| start);
    let nested = starts.filter(|start| {
        let value = file.text[start + RESULT.len()..].trim_start();
        let is_path = |character: char| character.is_alphanumeric() || matches!(character, '_' | ':');
        let path = &value[..value.find(|character| !is_path(character)).unwrap_or(value.len())];
        value[path.len()..].starts_with('<') && path.rsplit(':').next() == RESULT.strip_suffix('<')
    });
    let what = "a result within a result; one error enum, or an enum of what may come out";
    nested.map(|start| Finding::new(file, file.text[..start].split('\n').count(), what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        findings(&[File::new(path, text)]).into_iter().map(|finding| (finding.line, finding.what)).collect()
    }

    fn lines(count: usize) -> String {
        format!("//! Long.\n{}", "//\n".repeat(count - 1))
    }

    #[test]
    fn a_module_opens_with_its_header() {
        assert!(found("src/name.rs", "//! Names.\n").is_empty());
        assert!(found("tests/cli/main.rs", "use std::fs;\n").is_empty());
        for text in ["use std::fs;\n", "// Names.\n", "\n//! Names.\n", ""] {
            assert_eq!(found("src/cli/send.rs", text).len(), 1, "{text:?}");
            assert_eq!(found("xtask/src/main.rs", text).len(), 1, "{text:?}");
        }
    }

    #[test]
    fn four_hundred_lines_are_the_most() {
        assert!(found("src/post.rs", &lines(400)).is_empty());
        assert_eq!(found("src/post.rs", &lines(401)), [(401, "401 lines; at most 400".to_owned())]);
        assert!(found("docs/reference/format.md", &lines(401)).is_empty());
    }

    #[test]
    fn more_than_three_hundred_lines_are_a_warning() {
        let warned = |count| warnings(&[File::new("src/post.rs", &lines(count))]).len();
        assert_eq!([warned(300), warned(301), warned(400), warned(401)], [0, 1, 1, 0]);
    }

    #[test]
    fn a_name_says_what_is_inside() {
        for path in
            ["src/util.rs", "src/utils.rs", "tests/common/mod.rs", "src/cli/helper.rs", "src/managers.rs"]
        {
            assert_eq!(found(path, "//! Header.\n").len(), 1, "{path}");
        }
        assert!(found("src/commonmark.rs", "//! Header.\n").is_empty());
    }

    #[test]
    fn what_was_left_for_later_is_found() {
        for (mark, _) in LEFT_OVER {
            let text = format!("//! Header.\nfn f() {{}}\n    {mark}]\n");
            let [(line, what)] = found("src/name.rs", &text).try_into().unwrap();
            assert_eq!(line, 3);
            assert!(what.contains(mark));
        }
    }

    #[test]
    fn a_result_within_a_result_is_found_also_behind_a_path_or_a_line_break() {
        for inner in ["Result<", "std::result::Result<", "io::Result<", "\n    Result<"] {
            let text = format!("//! Header.\n\nfn f() -> {RESULT}{inner}String>, Error> {{}}\n");
            assert_eq!(found("src/name.rs", &text)[0].0, 3, "{inner:?}");
        }
        for fine in ["Option<Result<u8, E>>", "SomeResult<u8>, E>", "Vec<Result<u8, E>>", "Result"] {
            let text = format!("//! Header.\n\nfn f() -> {RESULT}{fine}, Error> {{}}\n");
            assert!(found("src/name.rs", &text).is_empty(), "{fine}");
        }
    }
}
