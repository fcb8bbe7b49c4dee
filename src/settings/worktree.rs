//! `worktree` in the table of an agent: whether each run works in a git worktree of its own, and the name of its branch.
//! Also the words `{agent}`, `{run}` and `{item}`, which stand for the run in that name and in `cwd`. Pure.
//!
//! None of the words contains text of a message: they are names that were checked, and hex digits.

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};

/// The branch of a run with `worktree = true`.
const USUAL: &str = "postroom/{agent}-{run}";

/// The longest name of a branch.
const LONGEST: usize = 200;

/// Where the runs of an agent work.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Worktree {
    /// In the agent's directory.
    #[default]
    No,
    /// Each in its own worktree, on a branch of this name.
    OnBranch(String),
}

/// What the words stand for in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunWords {
    pub agent: String,
    pub run: String,
    pub item: String,
}

impl RunWords {
    /// The words of a run. `name` is the agent's, if that can be a part of a path and of a branch; else its mailbox is.
    pub fn new(name: &str, mailbox: &str, run: &str, item: &str) -> Self {
        let agent = if is_word(name) { name.to_owned() } else { mailbox.replace('.', "-") };
        Self { agent, run: run.to_owned(), item: item.to_owned() }
    }

    pub fn fill(&self, text: &str) -> String {
        text.replace("{agent}", &self.agent).replace("{run}", &self.run).replace("{item}", &self.item)
    }
}

/// Whether a text has a word that stands for the run.
pub fn has_words(text: &str) -> bool {
    ["{agent}", "{run}", "{item}"].iter().any(|word| text.contains(word))
}

/// A word that is safe in a path and in the name of a branch.
fn is_word(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(plain)
        && !text.contains("..")
        && !text.ends_with('.')
        && !text.ends_with(".lock")
}

/// Why a text cannot be the name of a branch, apart from its words. Stricter than git.
fn refusal(template: &str) -> Option<&'static str> {
    let words = RunWords { agent: "x".into(), run: "x".into(), item: "x".into() };
    let name = words.fill(template);
    if name.contains(['{', '}']) {
        return Some("it may contain `{agent}`, `{run}` and `{item}`, and no other braces");
    }
    let fits = name.len() <= LONGEST && name.split('/').all(is_word);
    (!fits).then_some("it needs letters, digits, `-`, `_`, `.` and `/`, as in \"feature/{item}\"")
}

impl<'de> Deserialize<'de> for Worktree {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Given;

        impl Visitor<'_> for Given {
            type Value = Worktree;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("true, false, or the name of a branch such as \"feature/{item}\"")
            }

            fn visit_bool<E: serde::de::Error>(self, wanted: bool) -> Result<Worktree, E> {
                Ok(if wanted { Worktree::OnBranch(USUAL.to_owned()) } else { Worktree::No })
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Worktree, E> {
                match refusal(text) {
                    Some(why) => Err(E::custom(format!("a branch cannot be called \"{text}\": {why}"))),
                    None => Ok(Worktree::OnBranch(text.to_owned())),
                }
            }
        }

        from.deserialize_any(Given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Table {
        worktree: Worktree,
    }

    fn read(value: &str) -> Result<Worktree, String> {
        toml::from_str::<Table>(&format!("worktree = {value}")).map(|t| t.worktree).map_err(|e| e.to_string())
    }

    #[test]
    fn true_false_or_a_branch() {
        assert_eq!(read("false").unwrap(), Worktree::No);
        assert_eq!(read("true").unwrap(), Worktree::OnBranch(USUAL.to_owned()));
        assert_eq!(read("\"feature/{item}\"").unwrap(), Worktree::OnBranch("feature/{item}".to_owned()));
        for bad in [
            "\"\"",
            "\"-x\"",
            "\"a/../b\"",
            "\"a b\"",
            "\"a/.b\"",
            "\"x.lock\"",
            "\"{who}\"",
            "\"a~1\"",
            "\"/a\"",
            "3",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn words_are_safe_in_paths_and_branches() {
        let words = |name: &str| RunWords::new(name, "m.r-1a2b3c4d", "r1", "i1");
        assert_eq!(words("org.coder").fill("w/{agent}/{run}-{item}"), "w/org.coder/r1-i1");
        for odd in ["größe", "a b", "..", "a..b", "x.lock", "-f", ""] {
            assert_eq!(words(odd).agent, "m-r-1a2b3c4d", "{odd}");
        }
    }
}
