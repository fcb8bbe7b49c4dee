//! Words that a reader stumbles over: phrases that nobody would say to a colleague, in prose, names and messages.
//!
//! A phrase is looked for as whole words, in any case; the `_` of a name counts as a space. CHANGELOG.md may quote what a
//! message said before. Phrases are spelled apart here, so that this file is not its own finding.

use super::Finding;
use super::files::File;

/// A phrase, and what to write instead.
const AVOIDED: [(&str, &str); 13] = [
    (concat!("who", "ever"), "name who it is"),
    (concat!("whom ", "it goes to"), "its recipient"),
    (concat!("what is ", "no"), "say what it is"),
    (concat!("told ", "of"), "reported, announced, or hears of"),
    (concat!("lies ", "in"), "is in"),
    (concat!("by ", "turns"), "in turn, or one after another"),
    (concat!("me", "nd"), "repair"),
    (concat!("me", "nds"), "repairs"),
    (concat!("me", "nded"), "repaired"),
    (concat!("me", "nding"), "repairing"),
    (concat!("all the ", "same"), "still, or nevertheless"),
    (concat!("it was not ", "asked"), "name who was asked what"),
    (concat!("stands ", "otherwise"), "differs"),
];

pub(super) fn findings(files: &[File]) -> Vec<Finding> {
    let is_checked = |file: &&File| {
        (file.is_rust() || file.is_markdown())
            && file.path != "CHANGELOG.md"
            && !super::text::is_verbatim(file)
    };
    let mut findings = Vec::new();
    for file in files.iter().filter(is_checked) {
        for (number, line) in file.lines() {
            let plain = line.to_lowercase().replace('_', " ");
            for (phrase, instead) in AVOIDED.iter().filter(|(phrase, _)| has_words(&plain, phrase)) {
                findings.push(Finding::new(file, number, format!("`{phrase}`: {instead}")));
            }
        }
    }
    findings
}

fn has_words(line: &str, phrase: &str) -> bool {
    line.match_indices(phrase).any(|(start, _)| {
        !line[..start].ends_with(char::is_alphanumeric)
            && !line[start + phrase.len()..].starts_with(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, line: &str) -> usize {
        findings(&[File::new(path, &format!("//! Header.\n{line}\n"))]).len()
    }

    #[test]
    fn an_avoided_phrase_is_found_in_prose_and_in_names() {
        for (phrase, _) in AVOIDED {
            let name = format!("fn a_test_{}_here() {{}}", phrase.replace(' ', "_"));
            for line in [format!("// Then {phrase}, too."), format!("// {}", phrase.to_uppercase()), name] {
                assert_eq!(count("tests/cli/mail/read.rs", &line), 1, "{line}");
                assert_eq!(count("docs/guides/queue.md", &line), 1, "{line}");
            }
        }
    }

    #[test]
    fn a_part_of_another_word_is_none() {
        for line in ["it relies in part on", "recommended", "what is normal", "told offline", "amends"] {
            assert_eq!(count("src/name.rs", line), 0, "{line}");
        }
        let phrase = AVOIDED[0].0;
        for path in ["CHANGELOG.md", "tests/golden/a.md", "src/agents/settings.toml"] {
            assert_eq!(count(path, phrase), 0, "{path}");
        }
    }
}
